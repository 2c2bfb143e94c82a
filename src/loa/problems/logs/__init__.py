"""Logged problems: instances from files, and what each of them may be used for."""
