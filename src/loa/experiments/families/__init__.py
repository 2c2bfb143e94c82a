"""Families of algorithms that race for a problem class, and the scales on which they are searched."""
