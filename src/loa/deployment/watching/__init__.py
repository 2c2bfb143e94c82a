"""A watch over a solver at work: tests that may stop at any time."""
