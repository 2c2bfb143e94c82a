"""Experiments that a user's file defines, with defaults for what it leaves out."""

from .problem_class import experiment_for as experiment_for
