"""Parts that do not fit together get one sentence that names the culprit; single bad arguments: test_bad_input.py."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls

import loa

pytestmark = pytest.mark.wrong_types

KEY = jax.random.key(0)


def evaluate(algorithm=None, problem_class=None, problems=None, **options):
    problem_class = problem_class or Bowls()
    problems = problem_class.draw(KEY, 4) if problems is None else problems
    options = {"criterion": loa.loss_below(1e-6), "horizon": 10, "key": KEY} | options
    return loa.evaluate(algorithm or loa.GradientDescent(0.1), problem_class, problems, **options)


class VectorLoss(Bowls):
    def loss(self, x, problem):
        return problem * x**2


class WholeNumberLoss(Bowls):
    def loss(self, x, problem):
        return jnp.zeros((), int)


class StartOfTheWrongShape(Bowls):
    def start(self, problem, key):
        return jnp.zeros(3)


class StartThatBroadcasts(Bowls):
    def start(self, problem, key):
        return jnp.zeros(1)

    def gradient(self, x, problem):
        return problem * x


class StartOfWholeNumbers(Bowls):
    def start(self, problem, key):
        return jnp.zeros(4, int)


class OnlyBoth(Bowls):
    def value_and_gradient(self, x, problem):
        return self.loss(x, problem), problem * x


class OnlyProx(loa.ProblemClass):
    sample, start = Bowls.sample, Bowls.start
    dimension = 4

    def loss(self, x, problem):
        return jnp.sum(problem * x**2) + jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, problem):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0.0)


class VectorResult(loa.Functional):
    name: str = "vector"

    def init(self, record):
        return record.iterate

    def update(self, carry, record):
        return record.iterate

    def result(self, carry, end):
        return carry


class Growing(VectorResult):
    name: str = "growing"

    def update(self, carry, record):
        return jnp.append(carry, 0.0)


class NegativeLoss(Bowls):
    def loss(self, x, problem):
        return super().loss(x, problem) - 1.0


class Forgetful(loa.Algorithm):
    step_size: float = eqx.field(converter=jnp.asarray)

    def init(self, oracle, x0):
        return x0, x0

    def step(self, oracle, state, key):
        return state[0] - self.step_size * oracle.gradient(state[0])

    def iterate(self, state):
        return state[0]


class Flattened(loa.GradientDescent):
    def iterate(self, state):
        return jnp.sum(state)


class Uncounted(loa.GradientDescent):
    def step(self, oracle, state, key):
        return jax.lax.fori_loop(0, 3, lambda _, x: x - self.step_size * oracle.gradient(x), state)


CASES = {
    "loss that is not scalar": (dict(problem_class=VectorLoss()), r"VectorLoss.loss must return .*scalar.*\[4\]"),
    "loss that is not a float": (dict(problem_class=WholeNumberLoss()), "WholeNumberLoss.loss must return a float"),
    "problems that are not stacked": (dict(problems=np.float64(3.0)), "stacked along a leading axis"),
    "start of the wrong shape": (dict(problem_class=StartOfTheWrongShape()), r"fails at the point of shape \(3,\)"),
    "start that broadcasts": (dict(problem_class=StartThatBroadcasts()), r"shape \(1,\), but .*gradient .* \(4,\)"),
    "start of whole numbers": (dict(problem_class=StartOfWholeNumbers()), "must return a floating-point array"),
    "no prox": (dict(criterion=loa.prox_residual_below(1e-3)), "Bowls has no prox: define `def prox"),
    "no stochastic loss": (dict(algorithm=loa.SGD(0.1)), "Bowls has no stochastic loss"),
    "gap beyond the horizon": (dict(functionals=[loa.Gap(step=11)]), "gap_11 needs 11 steps, but the horizon is 10"),
    "two functionals of one name": (dict(functionals=[loa.StoppingTime()] * 2), "different names"),
    "state that changes its form": (dict(algorithm=Forgetful(0.1)), "Forgetful.step must return a state like"),
    "iterate that is no point": (dict(algorithm=Flattened(0.1)), "Flattened.iterate must return a point like"),
    "calls that cannot be counted": (dict(algorithm=Uncounted(0.1)), "use oracle.while_loop"),
    "both without a gradient": (dict(problem_class=OnlyBoth()), "OnlyBoth has its own value_and_gradient: define also"),
    "prox without a smooth part": (dict(problem_class=OnlyProx()), "OnlyProx.prox belongs to a part of the loss"),
    "one problem for a stack": (dict(problems=np.ones(4)), r"is float64\[\], where Bowls.sample gives float64\[4\]"),
    "functional that is no scalar": (dict(functionals=[VectorResult()]), "result of VectorResult 'vector' must be a"),
    "functional that changes its form": (dict(functionals=[Growing()]), "update of Growing 'growing' must return"),
    "predicate in plain Python": (
        dict(functionals=[loa.Indicator("middling", lambda time: 10 < time < 50)]),
        "must work on JAX arrays",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_clear_sentence(case):
    arguments, sentence = CASES[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        evaluate(**arguments)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: loa.loss_below(1e-8) | 3, "unsupported operand"),
        (lambda: loa.stack([loa.GradientDescent(0.1), loa.HeavyBall(0.1, 0.2)]), "algorithms of the same class"),
        (lambda: loa.stack([loa.GradientDescent(0.1), loa.GradientDescent(jnp.ones(2))]), "the same shapes"),
        (lambda: loa.FromInstances({"a": np.ones(3), "b": np.ones(4)}, lambda x, p: x, 0.0), "leading axes"),
    ],
)
def test_a_clear_sentence_at_construction(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_an_unknown_functional_is_named():
    with pytest.raises(KeyError, match="there are stopping_time"):
        evaluate()["contraction"]


def test_a_criterion_below_float32_is_warned_of():
    with jax.enable_x64(False), pytest.warns(UserWarning, match="loss < 1e-08 is below what float32 resolves"):
        evaluate(criterion=loa.loss_below(1e-8) | loa.gradient_norm_below(1e-2))
    with pytest.warns(UserWarning, match="float64 resolves .* use a larger tolerance"):
        evaluate(criterion=loa.gradient_norm_below(1e-18))


@pytest.mark.filterwarnings("error")
def test_no_warning_without_reason():
    evaluate(criterion=loa.loss_below(1e-14), functionals=[loa.ContractionFactor()])
    with jax.enable_x64(False):
        evaluate(criterion=loa.gradient_norm_below(1e-4))


def test_a_loss_below_its_optimum_is_warned_of_and_stays_visible():
    functionals, criterion = [loa.ContractionFactor(), loa.StoppingTime()], loa.distance_below(1e-9)
    with pytest.warns(UserWarning, match=r"contraction_factor .* below NegativeLoss.optimal_loss"):
        result = evaluate(problem_class=NegativeLoss(), functionals=functionals, criterion=criterion)
    assert np.isnan(result["contraction_factor"]).any()
    assert (result["stopping_time"] == 10).all()


def test_a_list_of_problems_is_no_stack():
    problem_class = loa.FromFunctions(
        lambda key: {"a": jax.random.uniform(key)}, lambda x, problem: (x - problem["a"]) ** 2, start=0.0
    )
    words = r"not str \(problem 0 is \[\{'a': .*\}\], where FromFunctions.sample gives \{'a': float64\[\]\}\)"
    with pytest.raises(ValueError, match=words):
        evaluate(problem_class=problem_class, problems=[{"a": np.ones(3)}])


def test_an_optimum_that_is_not_stated_is_warned_of():
    problem_class = loa.FromFunctions(lambda key: jax.random.uniform(key), lambda x, a: (x - a) ** 2 + 1, start=0.0)
    with pytest.warns(UserWarning, match="gap_3 measures the loss above its minimum, which FromFunctions does not"):
        evaluate(problem_class=problem_class, functionals=[loa.Gap(step=3)])
    with pytest.warns(UserWarning, match="the criterion loss_gap < 0.1 measures the loss above its minimum, which"):
        evaluate(problem_class=problem_class, criterion=loa.gap_below(0.1))


def test_a_start_may_be_a_plain_number_or_numpy_array():
    class Plain(Bowls):
        def start(self, problem, key):
            return np.ones(4)

    with jax.enable_x64(False):
        assert evaluate(problem_class=Plain(), criterion=loa.loss_below(1e-2))["stopping_time"].shape == (4, 1)
