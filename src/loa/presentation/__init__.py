"""Figures and report: they draw what is in the results and compute nothing."""
