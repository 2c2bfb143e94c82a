"""Quadratic and nonlinear programs: objectives under constraints, with multipliers and residuals."""
