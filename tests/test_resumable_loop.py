"""Long compiled loops that are killed between two pieces, and resume to the same bits."""

import jax
import numpy as np
import pytest
from classes import Bowls

import loa
from loa.storage import resuming
from loa.storage.resuming import EvaluationCheckpoint
from loa.trajectory import resumable_loop
from loa.trajectory.kernels import evolution, iterates_after

KEY, BOWLS = jax.random.key(0), Bowls()
PROBLEMS = BOWLS.draw(KEY, 7)
SETTING = dict(criterion=loa.loss_below(1e-6), horizon=20, key=KEY)


def gaps(**options):
    return evolution(loa.Adam(0.1), BOWLS, PROBLEMS, gap=loa.gaps.loss, horizon=20, key=KEY, batch=2, **options)


def points(**options):
    return np.asarray(iterates_after(loa.Adam(0.1), BOWLS, PROBLEMS, steps=20, key=KEY, batch=2, **options))


def curvature(**options):
    options |= dict(teacher=loa.Adam(0.1), times=(0, 3), key=KEY)
    return loa.learning.average_curvature(BOWLS, PROBLEMS, **options)


def langevin(**options):
    options |= dict(size=4, chains=2, thinning=5, step_size=1e-6, batch=4, **SETTING)
    support = loa.learning.langevin_support(loa.GradientDescent(0.5), BOWLS, PROBLEMS, **options)
    return np.asarray(support.stack.algorithms.step_size)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("compute", [gaps, points, curvature, langevin])
def test_what_was_killed_resumes_to_the_same_bits(compute, monkeypatch, tmp_path):
    whole = compute()
    monkeypatch.setattr(resuming, "EVERY", 0.0)
    monkeypatch.setattr(resuming, "SHARE", np.inf)
    monkeypatch.setattr(resumable_loop, "SECONDS_PER_PIECE", 0.0)  # one index at a time
    done, save = [], EvaluationCheckpoint.save

    def save_and_die(self, progress, width, seconds, finished):
        save(self, progress, width, seconds, finished)
        if width == 0:  # not of an evaluation
            done.append(int(progress[1]))
            if done == [1, 2, 3]:
                raise Killed

    monkeypatch.setattr(EvaluationCheckpoint, "save", save_and_die)
    with pytest.raises(Killed):
        compute(checkpoints=tmp_path)
    np.testing.assert_array_equal(compute(checkpoints=tmp_path), whole)
    assert done[3] == 4
