"""Measures of a distribution of values."""

from . import measures as measures
