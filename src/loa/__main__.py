"""`python -m loa` is `loa`."""

from .cli import app

app()
