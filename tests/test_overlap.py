"""Problems and samples that were used before are recognized, in whatever form they come back."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.certificates import Draw, OverlapError, check_disjoint
from loa.certificates.draws import log_probability
from loa.experiments.experiment import LearningSetup
from loa.problems.role import Role, own_key
from loa.storage.saved_algorithms import provenance


class Problem(NamedTuple):
    matrix: Any
    regularization: Any
    optimal_loss: Any = None


def some(seed: int, size: int = 20) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(rng.normal(size=(size, 3, 2)), rng.uniform(size=size))


CHANGES = {
    "with optimal losses": lambda problems: problems._replace(optimal_loss=problems.regularization**2),
    "in single precision": lambda problems: jax.tree.map(lambda leaf: leaf.astype(np.float32), problems),
    "on the device": lambda problems: jax.tree.map(jnp.asarray, problems),
    "fewer of them": lambda problems: jax.tree.map(lambda leaf: leaf[:7], problems),
    "a slice in another order": lambda problems: jax.tree.map(lambda leaf: leaf[15:4:-1], problems),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("role", ["training", "prior", "posterior", "test"])
def test_the_same_problems_are_recognized(change, role):
    again = Draw.of(CHANGES[change](some(0)), "held-out")
    with pytest.raises(OverlapError, match=f"{len(again)} problems are both in the {role} draw"):
        check_disjoint(Draw.of(some(0), role), again)
    check_disjoint(Draw.of(some(1), role), again)


def test_numbers_that_differ_in_double_precision_only_are_different_problems():
    """A single random number coincides in single precision now and then: only copies count as copies."""
    values = 1.0 + np.arange(2000) * 1e-12
    draw = Draw.of(values, "posterior")
    check_disjoint(draw, Draw.of(values + 1e-12 / 2, "held-out"))
    assert draw.shared(Draw.of(values[:3], "test")) == 3


def test_another_size_of_a_draw_of_finitely_many_problems_is_recognized():
    rng = np.random.default_rng(3)
    long = rng.integers(0, 5, size=200).astype(float)
    with pytest.raises(OverlapError):
        check_disjoint(Draw.of(long, "posterior", finite=True), Draw.of(long[:90], "held-out", finite=True))
    other = rng.integers(0, 5, size=90).astype(float)
    check_disjoint(Draw.of(long, "posterior", finite=True), Draw.of(other, "held-out", finite=True))
    ones = np.ones(200)  # a class with one problem: nothing can be told
    check_disjoint(Draw.of(ones, "posterior", finite=True), Draw.of(ones[:90], "held-out", finite=True))


def test_the_probability_of_a_sequence_is_that_of_its_frequencies():
    assert log_probability([1, 1, 2, 3]) == pytest.approx(np.log(0.5**2 * 0.25**2))


def test_no_splitting_of_the_users_key_gives_the_key_of_a_role():
    first = jax.random.split(jax.random.key(0), 2**14)
    second = jax.vmap(lambda key: jax.random.split(key, 16))(first[:256]).ravel()
    users = {row.tobytes() for row in np.asarray(jax.random.key_data(jnp.concatenate([first, second])))}
    roles = {np.asarray(jax.random.key_data(role.key(0))).tobytes() for role in Role}
    others = {np.asarray(jax.random.key_data(own_key(0, number))).tobytes() for number in (0x1EA7, 0x2BAD, 0xC401)}
    assert len(roles) == len(Role)
    assert not users & (roles | others)
    former = {np.asarray(jax.random.key_data(role.former_key(0))).tobytes() for role in Role}
    assert former < users  # what was wrong before


def test_loa_compare_does_not_test_shipped_weights_on_their_training_problems():
    """With the former keys, `loa compare lasso` drew 250 of 250 problems that LASSO's weights were learned from."""
    lasso = loa.experiments.get("lasso")
    training = Draw.from_dict(provenance("lasso")["learning"]["draw"])
    assert len(training) == 1000
    draw_key, _ = jax.random.split(jax.random.key(0))
    before = Draw.of(lasso.problem_class.draw(draw_key, 250), "test")
    assert training.shared(before) == 250
    now = Draw.of(lasso.draw(Role.comparison, 0, 250), "test")
    assert training.shared(now) == 0
    check_disjoint(training, now)


@pytest.mark.parametrize("name", [name for name in loa.shipped() if "draw" in provenance(name).get("learning", {})])
def test_shipped_training_draws_can_be_drawn_again(name):
    origin = provenance(name)
    problem_class = loa.experiments.get(origin["experiment"]).problem_class
    noted = Draw.from_dict(origin["learning"]["draw"])
    again = Draw.of(problem_class.draw(Role.training.former_key(origin["seed"]), 4), "training")
    assert noted.shared(again) == 4


def test_learning_notes_the_longest_draw_that_it_saw():
    quadratics = loa.experiments.get("quadratics")
    setup = LearningSetup(quadratics, seed=5)
    for size in (3, 6, 2):
        setup.problems(size)
    noted = Draw.from_dict(setup.facts["draw"])
    assert (noted.role, len(noted)) == ("training", 6)
    with pytest.raises(OverlapError, match="in the training draw"):
        check_disjoint(noted, Draw.of(quadratics.draw("training", 5, 4), "held-out"))
    check_disjoint(noted, Draw.of(quadratics.draw("held-out", 5, 4), "held-out"))
