"""Measures of a distribution of values, and comparison of algorithms on the same problems."""

from . import measures as measures
