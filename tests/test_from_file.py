"""What can be wrong with a user's own file, and with the options of a command: one sentence each, never a traceback."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import loa
from loa import cli
from loa.experiments.from_file.errors import OwnFileError
from loa.experiments.from_file.misspelled import near_misses
from loa.experiments.from_file.problem_class import experiment_for, from_file, imported
from loa.experiments.from_file.rehearsal import rehearse

pytestmark = pytest.mark.wrong_types

BOWLS = """
import jax, jax.numpy as jnp, loa
import numpy as np

class Bowls(loa.ProblemClass):
    def sample(self, key):
        return jax.random.uniform(key, (4,), minval=1.0, maxval=10.0)

    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem * x**2)

    def start(self, problem, key):
        return jnp.ones(4)

    def optimal_loss(self, problem):
        return 0.0

def learn(setup):
    return loa.HeavyBall(0.15, 0.2)

criterion = loa.loss_below(1e-6)
horizon = 20
baselines = {"gradient descent": loa.GradientDescent(0.1)}
sizes = {"prior": 8, "posterior": 10, "held-out": 12, "test": 8}
"""

SAMPLE = "        return jax.random.uniform(key, (4,), minval=1.0, maxval=10.0)"
LOSS = "        return 0.5 * jnp.sum(problem * x**2)"
START = "        return jnp.ones(4)"
LEARN = "    return loa.HeavyBall(0.15, 0.2)"


def body(head, old, new):
    """The file with another body of a function. "# here" marks the line to be named: that of the head by default."""
    assert f"{head}\n{old}" in BOWLS
    new = old[: len(old) - len(old.lstrip())] + new
    return BOWLS.replace(f"{head}\n{old}", f"{head}\n{new}" if "# here" in new else f"{head}  # here\n{new}")


def sample(new):
    return body("    def sample(self, key):", SAMPLE, new)


def loss(new):
    return body("    def loss(self, x, problem):", LOSS, new)


def start(new):
    return body("    def start(self, problem, key):", START, new)


def learn(new):
    return body("def learn(setup):", LEARN, new)


def instead(old, new):
    """The file with a line replaced, which is the one to be named."""
    (line,) = [line for line in BOWLS.splitlines() if line.strip().startswith(old)]
    return BOWLS.replace(line, f"{new}  # here")


def unmarked(content):
    """No line is named, as loa cannot tell it."""
    return content.replace("  # here", "")


def inside(*methods):
    """The file with further methods in its class, each given by head and body; the first head is to be named."""
    text = "\n".join(f"    def {head}\n        return {value}\n" for head, value in methods)
    return BOWLS.replace("    def optimal_loss", text.replace(":\n", ":  # here\n", 1) + "\n    def optimal_loss")


CLASS = "class Bowls(loa.ProblemClass):"
PROX = ("prox(self, x, step_size, problem):", "x")
FIELD = "    def sample(self, key):"
LOSS_HEAD = "    def loss(self, x, problem):"
OPTIMUM = "    def optimal_loss(self, problem):"


def own(line):
    """The file with one more line in its class, which is to be named."""
    return BOWLS.replace(FIELD, f"{line}  # here\n\n{FIELD}", 1)


def smooth(*methods):
    """The file with a smooth part of its loss, and methods that go with it."""
    return inside(*methods).replace("def loss", "def smooth")


THE_FILE = {
    "empty": ("", "must be one subclass of loa.ProblemClass (found: none)"),
    "no class": ("x = 1", "found: none"),
    "two classes": (f"{BOWLS}\nclass More(Bowls):\n    pass\n", "found: Bowls, More"),
    "not a subclass": (BOWLS.replace("(loa.ProblemClass)", ""), "found: none"),
    "missing module": ("import loa\nimport nowhere_at_all  # here\n", "No module named 'nowhere_at_all' (install"),
    "missing name": ("from loa import Newtons  # here\n", "ImportError: cannot import name 'Newtons'"),
    "syntax": ("import loa\n\nx = (  # here\n", "SyntaxError: '(' was never closed (correct the syntax)"),
    "indentation": ("import loa\nif True:\nx = 1  # here\n", "IndentationError: expected an indented block"),
    "raises": ("import loa\n\n1 / 0  # here\n", "ZeroDivisionError: division by zero"),
    "raises without words": ("raise KeyError  # here\n", "KeyError (correct this, or add --traceback"),
    "exits": ("import sys\n\nsys.exit(0)  # here\n", "sys.exit is called (remove the call"),
    "Latin letters": ("x = 'Grüße'\n".encode("latin-1"), "'utf-8' codec can't decode byte"),
    "null bytes": (b"x = 1\0\n", "null bytes"),
    "refused by loa": ("import loa\nloa.loss_below(-1)  # here\n", "tolerance of a criterion must be positive, got -1"),
    "reads an answer": ("name = input()  # here\n", "(correct this, or add --traceback"),
    "arguments": ("import sys\nn = int(sys.argv[70])  # here\n", "IndexError: list index out of range"),
    "class inside a function": (
        "def make():\n    import loa\n    class Bowls(loa.ProblemClass): pass\n",
        "found: none",
    ),
    "no import": (BOWLS.replace(", loa\n", "\n").replace(CLASS, f"{CLASS}  # here"), "NameError: name 'loa' is not"),
    "no experiment": ("experiment = 3  # here\n", "must be a loa.experiments.experiment.Experiment, got 3"),
    "experiment that raises": ("def experiment():\n    return 1 / 0  # here\n", "ZeroDivisionError"),
}
THE_CLASS = {
    "a class, no instance": (f"{BOWLS}problem_class = Bowls  # here", "must be an instance of loa.ProblemClass"),
    "needs arguments": (
        instead(CLASS, CLASS).replace("# here", "# here\n    size: int"),
        "cannot be made without arguments",
    ),
    "no loss": (instead(CLASS, CLASS).replace("def loss", "def los"), "Bowls must define `loss`."),
    "sample of strings": (sample("return ['a', 'b']"), "Bowls.sample must return one array or a tuple, list or"),
    "sample of nothing": (sample("pass"), "list or dictionary of arrays, got None"),
    "sample that raises": (sample("return key.nothing  # here"), "AttributeError"),
    "sample without key": (instead("def sample", "    def sample(self):"), "write `def sample(self, key):`"),
    "sample without self": (instead("def sample", "    def sample(key):"), "Bowls.sample must take self, key"),
    "np.random": (sample("return np.random.uniform(1, 10, 4)"), "use jax.random with the key, and not np.random"),
    "np.random in a part": (
        sample("return jax.random.normal(key, (4,)) + np.random.uniform()"),
        "Bowls.sample gives different results for one and the same key",
    ),
    "np.random in the start": (
        start("return jnp.asarray(np.random.normal(size=4))"),
        "Bowls.start gives different results for one and the same key",
    ),
    "one problem": (sample("return jnp.ones(4)"), "Bowls.sample gives the same problem in 64 draws"),
    "few problems": (
        sample("return jnp.ones(4) * jax.random.randint(key, (), 1, 5)"),
        "Bowls.sample gives only 4 different problems in 64 draws",
    ),
    "loss that raises": (loss("raise RuntimeError('oh')  # here"), "RuntimeError: oh"),
    "loss that exits": (loss("raise SystemExit  # here"), "sys.exit is called"),
    "loss with a wrong name": (loss("return jnp.summe(x)  # here"), "has no attribute 'summe'"),
    "loss with if": (loss("return x[0] if x[0] > 0 else -x[0]  # here"), "use jnp.where"),
    "loss in NumPy": (loss("return np.sum(np.asarray(x))  # here"), "use the function of jax.numpy"),
    "loss with float": (loss("return float(x[0])  # here"), "float(), int() and shapes must not depend"),
    "loss that is a vector": (loss("return x**2"), "a floating-point scalar, but at the start it is float64[4]; sum"),
    "loss that is None": (loss("pass"), "a floating-point scalar, but at the start it is None."),
    "loss that is a list": (loss("return [jnp.sum(x)]"), "but at the start it is [float64[]]."),
    "loss that is complex": (loss("return jnp.sum(x) + 1j"), "it is complex128[]"),
    "loss without problem": (instead("def loss", "    def loss(self, x):"), "write `def loss(self, x, problem):`"),
    "loss that is infinite": (loss("return jnp.sum(problem * x) / 0.0"), "Bowls.loss is inf at the start of all"),
    "start that is a dict of integers": (
        start("return {'x': jnp.ones(4), 'y': jnp.arange(4)}"),
        "pytree of such, got int64[4] at ['y']: make it",
    ),
    "start that is a dict, and a loss of arrays": (
        instead("return 0.5", LOSS).replace(START, "        return {'x': jnp.ones(4)}"),
        "Bowls.loss fails at the point of shape {'x': (4,)} that Bowls.start returns",
    ),
    "start that is an empty dict": (start("return {}"), "pytree of such, got {}."),
    "start that is an integer": (start("return 1"), "pytree of such, got 1: make it"),
    "start in single precision": (
        start("return jnp.ones(4, jnp.float32)"),
        "start returns float32, but Bowls.loss there is float64: let points and problems have one type",
    ),
    "start of integers": (start("return jnp.arange(4)"), "got int64[4]: make it"),
    "start that is None": (start("pass"), "pytree of such, got None."),
    "start of a wrong shape": (
        instead("return 0.5", LOSS).replace(START, "        return jnp.ones(3)"),
        "Bowls.loss fails at the point of shape (3,) that Bowls.start returns",
    ),
    "start that raises": (start("return jnp.ones(4) / [1][7]  # here"), "IndexError"),
    "start at the solution": (start("return jnp.zeros(4)"), "is already a solution of all of 64 sample problems"),
    "prox without smooth": (inside(PROX), "define also `def smooth(self, x, problem)`"),
    "gradient of a wrong shape": (
        unmarked(inside(("gradient(self, x, problem):", "x[:2]"))),
        "Bowls.gradient there has shape (2,)",
    ),
    "a list as a field": (unmarked(own("    rates: list = [1, 2]")), "mutable default"),
    "sets a field": (
        own("    def __init__(self):").replace("  # here\n", "\n        self.a = 1  # here\n", 1),
        "problem classes are frozen",
    ),
    "loss that is a number": (
        unmarked(BOWLS.replace(f"{LOSS_HEAD}\n{LOSS}", "    loss = 3")),
        "must be a method, got 3: write `def loss(",
    ),
    "start that is an array": (
        unmarked(BOWLS.replace(f"    def start(self, problem, key):\n{START}", "    start = jnp.ones(4)")),
        "Bowls.start must be a method, got Array",
    ),
    "loss in another order": (
        instead("def loss", "    def loss(self, problem, x):"),
        "arguments in another order than",
    ),
    "start in another order": (instead("def start", "    def start(self, key, problem):"), "in another order than loa"),
    "loss that calls itself": (unmarked(loss("return self.loss(x, problem)")), "RecursionError"),
    "loss in place": (loss("x[0] = 1.0; return jnp.sum(x)  # here"), "use x = x.at[idx].set(y)"),
    "loss of some": (loss("return jnp.sum(x[x > 0])  # here"), "use jnp.where(condition, value, 0.0)"),
    "loss with math": (loss("import math; return math.exp(x[0])  # here"), "float(), int() and shapes must not depend"),
    "loss that asserts": (loss("assert x.sum() > 0; return jnp.sum(x)  # here"), "use jnp.where"),
    "loss of a field": (loss("return problem['a'] * jnp.sum(x)  # here"), "does not support string indexing"),
    "loss that is a tuple": (loss("return jnp.sum(x), 1"), "a floating-point scalar, but at the start it is ("),
    "loss that is true": (loss("return jnp.all(x > 0)"), "a floating-point scalar, but at the start it is bool[]"),
    "loss of shape 1": (loss("return jnp.sum(x)[None]"), "at the start it is float64[1]; sum it up"),
    "sample in NumPy": (sample("return np.asarray(jax.random.uniform(key))  # here"), "use the function of jax.numpy"),
    "sample of many shapes": (
        sample("return jnp.ones(int(jax.random.randint(key, (), 1, 5)))  # here"),
        "shapes must not depend on the values",
    ),
    "start of complex numbers": (start("return jnp.ones(4, complex)"), "got complex128[4]: make it one of floating"),
    "prox of a wrong shape": (
        unmarked(inside(PROX, ("smooth(self, x, problem):", "jnp.sum(x)")).replace("return x\n", "return x[:2]\n")),
        "Bowls.prox must return a point like the start, float64[4], got float64[2].",
    ),
    "a class as constraint": (
        own("    constraint = loa.sets.Simplex").replace("def loss", "def smooth").replace("  # here", ""),
        "Bowls.constraint must be an instance of a class of loa.sets: write `Simplex(…)`.",
    ),
    "a constraint beside a loss": (
        unmarked(own("    constraint = loa.sets.Simplex()")),
        "call the other part `smooth` instead of `loss`",
    ),
    "gradient of another sign": (
        inside(("gradient(self, x, problem):", "-problem * x")),
        "Bowls.gradient does not agree with the loss: along some",
    ),
    "gradient that is None": (
        inside(("gradient(self, x, problem):", "None")),
        "a point like the start, float64[4], got",
    ),
    "product of another sign": (
        inside(("hessian_product(self, x, direction, problem):", "-problem * direction")),
        "the curvature is",
    ),
    "residuals of another loss": (
        inside(("residuals(self, x, problem):", "problem * x")),
        "half of their squared norm is",
    ),
    "smoothness of 0": (inside(("smoothness(self, problem):", "0.0")), "Bowls.smoothness must be positive, because"),
    "smoothness of a vector": (
        inside(("smoothness(self, problem):", "problem")),
        "must return a number, float64[], got",
    ),
    "solution of a wrong shape": (
        inside(("solution(self, problem):", "jnp.ones(7)")),
        "Bowls.solution must return a point",
    ),
    "solution that is none": (
        inside(("solution(self, problem):", "9 * jnp.ones(4)")),
        "must be a minimizer of the loss",
    ),
    "optimal loss above the loss": (
        body(OPTIMUM, "        return 0.0", "return 100.0"),
        "Bowls.optimal_loss must be the smallest value of the loss",
    ),
    "optimal loss of a vector": (
        body(OPTIMUM, "        return 0.0", "return problem"),
        "must return a number, float64[]",
    ),
    "optimal loss that is None": (body(OPTIMUM, "        return 0.0", "pass"), "a number, float64[], got None"),
    "stochastic, no criterion": (
        inside(("stochastic_loss(self, x, problem, key):", "jnp.sum(x)")).replace("criterion = ", "other = "),
        "define one in the file, such as `criterion",
    ),
}
WHAT_ELSE = {
    "criterion is a number": (instead("criterion", "criterion = 1e-3"), "loa.loss_below(1e-6), got 0.001"),
    "criterion is a function": (instead("criterion", "criterion = loa.loss_below"), "must be a loa.Criterion"),
    "criterion asks too much": (
        unmarked(instead("criterion", "criterion = loa.distance_below(0.1)")),
        "has no known solution: define",
    ),
    "criterion of a vector": (
        unmarked(instead("criterion", "criterion = loa.gap_below(0.1, lambda problem_class, x, problem: x)")),
        "its gap must return a scalar",
    ),
    "criterion that raises": (
        instead("criterion", "criterion = loa.gap_below(0.1, lambda problem_class, x, problem: 1 / 0)"),
        "ZeroDivisionError",
    ),
    "criterion met at the start": (
        unmarked(instead("criterion", "criterion = loa.loss_below(1e6)")),
        "`criterion` (loss < 1e+06) is met there",
    ),
    "no criterion at a solution": (
        unmarked(start("return jnp.zeros(4)")).replace("criterion = ", "other = "),
        "starts at points where the gradient norm is 0.0, so no criterion can be derived from it: define one",
    ),
    "no criterion where the loss is infinite": (
        unmarked(loss("return -jnp.sum(jnp.log(x - 1))")).replace("criterion = ", "other = "),
        "starts at points where the gradient norm is inf, so no criterion can be derived from it: start where it is",
    ),
    "horizon in words": (instead("horizon", "horizon = 'many'"), "a whole number and at least 1, got 'many'"),
    "horizon 0": (instead("horizon", "horizon = 0"), "at least 1, got 0"),
    "horizon 2.5": (instead("horizon", "horizon = 2.5"), "whole number and at least 1, got 2.5"),
    "baselines in a list": (instead("baselines", "baselines = [loa.LBFGS()]"), "a dictionary of algorithms by name"),
    "baselines in words": (
        instead("baselines", "baselines = {'A': 'adam'}"),
        "'A' must be an instance of loa.Algorithm",
    ),
    "baselines are classes": (instead("baselines", "baselines = {'A': loa.LBFGS}"), "'A' must be an instance"),
    "baseline called learned": (
        instead("baselines", "baselines = {'learned': loa.LBFGS()}"),
        "may be called 'learned'",
    ),
    "baseline Learned": (
        instead("baselines", "baselines = {'Learned ': loa.LBFGS()}"),
        "may be called 'Learned '",
    ),
    "baseline without a name": (instead("baselines", "baselines = {'': loa.LBFGS()}"), "a text that is not empty"),
    "baseline with a number": (instead("baselines", "baselines = {1: loa.LBFGS()}"), "not empty, got 1"),
    "baseline needs a prox": (
        instead("baselines", "baselines = {'ISTA': loa.ProximalGradient(0.1)}"),
        "'ISTA' in `baselines` does not work on the problems",
    ),
    "criterion in a tuple": (
        instead("criterion", "criterion = loa.loss_below(1e-6),"),
        "such as loa.loss_below(1e-6), got (",
    ),
    "criteria joined by or": (
        instead("criterion", "criterion = loa.loss_below(1e-6) or loa.loss_below(1e-3)"),
        "combine criteria with | and &",
    ),
    "horizon that is true": (instead("horizon", "horizon = True"), "whole number and at least 1, got True"),
    "horizon of 2**31": (instead("horizon", "horizon = 2**31"), "a whole number of at most 2147483647"),
    "baseline of two lines": (
        instead("baselines", "baselines = {'a\\nb': loa.LBFGS()}"),
        "must fit into a line of at most",
    ),
    "baseline of 5000 letters": (instead("baselines", "baselines = {'a' * 5000: loa.LBFGS()}"), "must fit into a line"),
    "baseline of optax": (
        instead("baselines", "import optax; baselines = {'a': optax.adam(1e-3)}"),
        "an instance of loa.Al",
    ),
    "sizes of 10**12": (instead("sizes", "sizes = {'test': 10**12}"), "a whole number of at most 2147483647"),
    "sizes of nothing": (instead("sizes", "sizes = {'test': None}"), "at least 1, got None"),
    "functionals in a dictionary": (
        f"{BOWLS}functionals = {{'a': loa.LargestGap()}}  # here",
        "must be a list of instances",
    ),
    "functional of two lines": (
        f"{BOWLS}functionals = [loa.LargestGap(name='a\\nb')]  # here",
        "must fit into a line of",
    ),
    "indicator that raises": (
        f"{BOWLS}functionals = [loa.Indicator('x', lambda v: 1 / 0)]  # here",
        "ZeroDivisionError",
    ),
    "instances that are nowhere": (
        f"{BOWLS}instances = 'nowhere'  # here",
        "`instances` cannot be used: there is no file",
    ),
    "instances that are a number": (
        f"{BOWLS}instances = 3  # here",
        "`instances` cannot be used: problems must be stacked",
    ),
    "order without instances": (f"{BOWLS}order = 'time'  # here", "`order` is for logged problems"),
    "functionals are classes": (f"{BOWLS}functionals = [loa.LargestGap]  # here", "instances of loa.Functional"),
    "functionals in words": (f"{BOWLS}functionals = 'time'  # here", "instances of loa.Functional, got 't'"),
    "one functional": (f"{BOWLS}functionals = loa.LargestGap()  # here", "a list of instances of loa.Functional"),
    "functional called outcome": (
        f"{BOWLS}functionals = [loa.LargestGap(name='outcome')]  # here",
        "may be called 'outcome'",
    ),
    "functional called twice": (f"{BOWLS}functionals = [loa.Gap(3), loa.Gap(3)]  # here", "are called 'gap_3'"),
    "functional that is there": (f"{BOWLS}functionals = [loa.StoppingTime()]  # here", "are called 'stopping_time'"),
    "functional past the end": (f"{BOWLS}functionals = [loa.Gap(30)]  # here", "needs 30 steps, but the horizon is 20"),
    "sizes of no role": (instead("sizes", "sizes = {'tests': 10}"), "held-out, test, but not for 'tests'"),
    "sizes for training": (instead("sizes", "sizes = {'training': 10}"), "but not for 'training'"),
    "sizes in a list": (instead("sizes", "sizes = [10, 20]"), "a dictionary of numbers of problems by role"),
    "sizes of 0": (instead("sizes", "sizes = {'test': 0}"), "test problems in `sizes` must be a whole number and at"),
    "sizes of 2.5": (instead("sizes", "sizes = {'prior': 2.5}"), "got 2.5"),
    "learn is no function": (f"{BOWLS}learn = 3  # here", "a function of the learning setup, got 3"),
    "learn without setup": (instead("def learn", "def learn():"), "write `def learn(setup):`"),
    "learn returns None": (learn("pass"), "`learn` must return an instance of loa.Algorithm, got None"),
    "learn returns a class": (learn("return loa.HeavyBall"), "`learn` must return an instance of loa.Algorithm"),
    "learn raises": (
        learn("return setup.rate  # here"),
        "AttributeError: 'LearningSetup' object has no attribute 'rate'",
    ),
    "learn exits": (learn("raise SystemExit('bye')  # here"), "sys.exit is called"),
    "learn reads a missing file": (learn("open('/no/such/file')  # here"), "FileNotFoundError"),
    "learn does not fit": (learn("return loa.ProximalGradient(0.1)"), "`learn` returns does not work on the problems"),
}
SLIPS = THE_FILE | THE_CLASS | WHAT_ELSE


def refused(*arguments):
    """The only line on stderr of a command that is refused."""
    done = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("loa: ")
    return line


def written(directory, content):
    path = directory / "bowls.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_file_is_one_sentence_with_the_line(slip, tmp_path):
    content, words = SLIPS[slip]
    path = written(tmp_path, content)
    line = refused("run", path, "--out", tmp_path / "out")
    assert words in line
    assert line.startswith(f"loa: in {path}, ")
    marked = [number for number, text in enumerate(str(content).splitlines(), 1) if "# here" in text]
    for number in marked:
        assert line.startswith(f"loa: in {path}, line {number}, ")
    assert not (tmp_path / "out" / "plan.json").exists()


MISSPELLED = {
    "horzion": BOWLS.replace("horizon =", "horzion ="),
    "Criterion": BOWLS.replace("criterion =", "Criterion ="),
    "Bowls.optimum_loss": BOWLS.replace("def optimal_loss", "def optimum_loss"),
}


@pytest.mark.parametrize("name", MISSPELLED)
def test_names_that_were_probably_misspelled_are_said(name, tmp_path):
    module = imported(written(tmp_path, MISSPELLED[name]))
    (sentence,) = near_misses(module)
    assert sentence.startswith(f"`{name}` is not a ")
    constants = "SIZE = 4\nsize = 5\n"
    assert list(near_misses(imported(written(tmp_path, BOWLS.replace("sizes", "sises") + constants)))) == [
        "`sises` is not a name that loa reads: `sizes` was probably meant."
    ]


def test_a_formula_that_fits_is_taken_also_at_a_kink(tmp_path):
    kink = BOWLS.replace(LOSS, "        return jnp.sum(problem * jnp.abs(x - 1)) + jnp.sum(x**2)")
    methods = ("gradient(self, x, problem):", "problem * jnp.where(x > 1, 1.0, -1.0) + 2 * x")
    from_file(
        written(
            tmp_path,
            kink.replace(
                "    def optimal_loss", f"    def {methods[0]}\n        return {methods[1]}\n\n    def optimal_loss"
            ),
        )
    )


def test_what_is_no_file_is_one_sentence(tmp_path):
    assert refused("run", tmp_path / "no.py") == f"loa: there is no file {tmp_path / 'no.py'}."
    assert "is a directory: give the Python file" in refused("run", tmp_path)
    (tmp_path / "folder.py").mkdir()
    assert "is a directory: give the Python file" in refused("run", tmp_path / "folder.py")
    (tmp_path / "bowls.txt").write_text(BOWLS)
    assert "its name must end in .py" in refused("run", tmp_path / "bowls.txt")
    (tmp_path / "numpy.py").write_text(BOWLS)
    for module in ("numpy", "plotly", "html"):  # also those that loa imports later, or never
        (tmp_path / f"{module}.py").write_text(BOWLS)
        assert f"has the name of the module {module}, which loa may need" in refused("run", tmp_path / f"{module}.py")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "lasso", "--seed", -1), "--seed must be a whole number from 0 to 2**63 - 1, got -1."),
        (("run", "lasso", "--seed", 2**63), "--seed must be a whole number"),
        (("run", "lasso", "--resume", "--overwrite"), "--resume continues an earlier run, and --overwrite removes it"),
        (("run", "nothing"), "there is no experiment 'nothing'"),
        (("run", "lasso", "--preset", "huge"), "there is no preset 'huge'"),
        (("run", "lasso", "--how", "magic"), "lasso has no recipe 'magic'"),
        (("train", "lasso", "--seed", -1), "--seed must be"),
        (("train", "lasso", "--effort", -1), "--effort must be a positive number, got -1."),
        (("train", "lasso", "--effort", 0), "--effort must be a positive number, got 0."),
        (("train", "lasso", "--effort", "nan"), "--effort must be a positive number, got nan."),
        (("train", "lasso", "--effort", "inf"), "--effort must be a positive number, got inf."),
        (("compare", "lasso", "--seed", -1), "--seed must be"),
        (("compare", "lasso", "--problems", -5), "--problems must be at least 1, got -5."),
        (("compare", "lasso", "--problems", 0), "--problems must be at least 1, got 0."),
        (("compare", "lasso", "--horizon", 0), "--horizon must be at least 1, got 0."),
        (("compare", "lasso", "--horizon", -3), "--horizon must be at least 1, got -3."),
        (("compare", "nothing"), "there is no experiment 'nothing'"),
        (("report", "/no/such/run"), "does not hold a finished run"),
    ],
)
def test_impossible_options_are_one_sentence(arguments, words):
    assert words in refused(*arguments)


def test_options_that_do_not_go_with_a_file_are_one_sentence(tmp_path):
    path = written(tmp_path, BOWLS)
    assert "leave out --pretrained" in refused("run", path, "--pretrained")
    assert "--images is for the experiment images" in refused("run", path, "--images", tmp_path)
    assert "bowls has no recipe 'paper'" in refused("run", path, "--how", "paper")
    (tmp_path / "in the way").touch()
    line = refused("run", path, "--out", tmp_path / "in the way" / "below")
    assert line.startswith(f"loa: could not write to {tmp_path / 'in the way' / 'below'}: ")


def test_a_file_in_order_is_taken(tmp_path):
    experiment = from_file(written(tmp_path, BOWLS))
    assert experiment.horizon == 20
    assert experiment.sizes["validation"] == 250


@pytest.mark.parametrize("criterion", [None, loa.gap_below(1e-6)])
def test_optimal_losses_that_are_computed_later_are_no_slip(criterion):
    rehearse(experiment_for(loa.problems.Lasso(rows=4, columns=6), name="mine", criterion=criterion))


@pytest.mark.parametrize("slip", ["exits", "syntax", "loss that raises", "np.random", "few problems"])
def test_a_slip_is_one_sentence_in_a_process_of_its_own(slip, tmp_path):
    content, words = SLIPS[slip]
    done = process("run", written(tmp_path, content).name, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("loa: in bowls.py, line ")
    assert words in line


def test_the_whole_error_is_shown_if_wanted(tmp_path):
    path = written(tmp_path, SLIPS["loss that raises"][0])
    done = process("run", path.name, "--traceback", cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "raise RuntimeError('oh')  # here" in done.stderr
    last = "loa.experiments.from_file.errors.OwnFileError: in bowls.py, line 10, "
    assert done.stderr.splitlines()[-1].startswith(last)


def process(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "loa", *arguments], capture_output=True, text=True, **options)


def bowls(sample, **attributes):
    return type("Bowls", (loa.FromFunctions,), attributes)(sample, lambda x, a: a * jnp.sum(x**2), jnp.ones(2))


def test_draws_that_coincide_are_noticed():
    key = jax.random.key(0)
    with pytest.raises(ValueError, match=r"Bowls.sample gives the same problem in 20 draws: draw every"):
        bowls(lambda key: np.random.uniform()).draw(key, 20)
    with pytest.warns(UserWarning, match=r"Bowls.sample gives only 3 different problems in 64 draws"):
        bowls(lambda key: jax.random.randint(key, (), 0, 3)).draw(key, 100)


@pytest.mark.filterwarnings("error")
def test_problems_that_differ_or_may_coincide_are_drawn():
    key = jax.random.key(0)
    bowls(lambda key: 1.0).draw(key, 7)  # too few to tell
    bowls(lambda key: 1.0, finite=True).draw(key, 20)
    bowls(lambda key: jax.random.randint(key, (), 0, 3), finite=True).draw(key, 100)
    shared = bowls(lambda key: {"matrix": jnp.ones((2, 2)), "number": jax.random.normal(key), "key": key})
    shared.draw(key, 100)
    jax.eval_shape(lambda key: bowls(lambda key: 1.0).draw(key, 20), key)


def test_everything_a_file_says_is_checked_in_python_as_well(tmp_path):
    problem_class = loa.problems.Quadratics(dimension=3)
    with pytest.raises(ValueError, match=r"`criterion` must be a loa.Criterion"):
        experiment_for(problem_class, name="mine", criterion=1e-3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="no algorithm in `baselines` may be called 'learned'"):
        experiment_for(problem_class, name="mine", baselines={"learned": loa.LBFGS()})
    with pytest.raises(OwnFileError, match="line 2, `horizon` must be a whole number"):
        from_file(written(tmp_path, "import loa\nhorizon = -1\nproblem_class = loa.problems.Quadratics(dimension=3)\n"))
