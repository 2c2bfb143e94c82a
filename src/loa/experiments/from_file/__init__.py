"""What a file of the user's says about an experiment, and what it leaves out."""

from .problem_class import experiment_for as experiment_for
