"""What a run says beforehand about how long it will take."""

import dataclasses
import re

import loa
from loa.experiments.from_file.problem_class import experiment_for
from loa.run.forecast import FIXED, PROGRAMS, Pace, announced, forecast, measured_pace, runs_ahead

SETTING = dict(criterion=loa.gradient_norm_below(1e-2), horizon=50, baselines={"descent": loa.GradientDescent(0.01)})
CLASS = loa.problems.Quadratics(dimension=3)


def test_the_pace_is_measured_and_a_sentence_says_what_follows():
    experiment = experiment_for(CLASS, name="bowls", **SETTING).at("quick")
    pace = measured_pace(experiment, 0)
    assert 0 < pace.running < pace.compiling
    sentence = announced(experiment, experiment.recipe.learned["loa"], 0)
    assert sentence is not None
    assert re.fullmatch(r"this run will take about \d+ (s|min), if the machine does not become busier", sentence)


def test_nothing_is_said_of_learning_that_is_not_a_race():
    own = experiment_for(CLASS, name="bowls", learn=lambda setup: loa.GradientDescent(0.01), **SETTING)
    assert announced(own, own.recipe.learned["loa"], 0) is None


def test_more_problems_take_longer():
    experiment = experiment_for(CLASS, name="bowls", **SETTING)
    more = dict(experiment.sizes) | {"held-out": experiment.sizes["held-out"] + 700}
    larger = dataclasses.replace(experiment, recipe=dataclasses.replace(experiment.recipe, sizes=more))
    assert runs_ahead(larger) - runs_ahead(experiment) == 700
    assert forecast(experiment, Pace(0.0, 0.0)) == FIXED
    assert forecast(experiment, Pace(2.0, 0.0)) == FIXED + 2 * PROGRAMS
    assert runs_ahead(experiment.at("quick")) < runs_ahead(experiment)
