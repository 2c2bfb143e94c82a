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
from loa.experiments.from_file import experiment_for, from_file
from loa.experiments.own_file import OwnFileError

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

def learn(lesson):
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
CRITERION, HORIZON = "criterion = loa.loss_below(1e-6)", "horizon = 20"
BASELINES = 'baselines = {"gradient descent": loa.GradientDescent(0.1)}'
SIZES = 'sizes = {"prior": 8, "posterior": 10, "held-out": 12, "test": 8}'
PROX = "    def prox(self, x, step_size, problem):  # here\n        return x\n"


def instead(old, new):
    """The file with something replaced; "# here" marks the line that the sentence must name."""
    assert old in BOWLS
    return BOWLS.replace(old, new)


def inside(method):
    """The file with another method in its class."""
    return instead("    def optimal_loss", f"{method}\n    def optimal_loss")


SLIPS = {
    # the file itself
    "empty": ("", "must be one subclass of loa.ProblemClass (found: none)"),
    "no class": ("x = 1", "found: none"),
    "two classes": (BOWLS + "\nclass More(Bowls):\n    pass\n", "found: Bowls, More"),
    "not a subclass": (instead("(loa.ProblemClass)", ""), "found: none"),
    "missing module": ("import loa\nimport nowhere_at_all  # here\n", "No module named 'nowhere_at_all' (install"),
    "missing name": ("from loa import Newton  # here\n", "ImportError: cannot import name 'Newton'"),
    "syntax": ("import loa\n\nx = (  # here\n", "SyntaxError: '(' was never closed (correct the syntax)"),
    "indentation": ("import loa\nif True:\nx = 1  # here\n", "IndentationError: expected an indented block"),
    "raises": ("import loa\n\n1 / 0  # here\n", "ZeroDivisionError: division by zero"),
    "raises without words": ("raise KeyError  # here\n", "KeyError"),
    "exits": ("import sys\n\nsys.exit(0)  # here\n", "sys.exit is called (remove the call"),
    "exits in the loss": (instead(LOSS, "        raise SystemExit  # here"), "sys.exit is called"),
    "Latin letters": ("x = 'Grüße'\n".encode("latin-1"), "'utf-8' codec can't decode byte"),
    "null bytes": (b"x = 1\0\n", "null bytes"),
    "loa's own refusal": ("import loa\nloa.loss_below(-1)  # here\n", "tolerance of a criterion must be positive, got -1"),
    # the problem class
    "a class for an instance": (BOWLS + "problem_class = Bowls  # here", "must be an instance of loa.ProblemClass"),
    "needs arguments": (
        instead("class Bowls(loa.ProblemClass):", "class Bowls(loa.ProblemClass):  # here\n    size: int\n"),
        "cannot be made without arguments",
    ),
    "no loss": (
        instead("class Bowls(loa.ProblemClass):", "class Bowls(loa.ProblemClass):  # here").replace("def loss", "def los"),
        "Bowls must define `loss`.",
    ),
    "sample of strings": (instead(SAMPLE, "        return ['a', 'b']").replace("sample(self, key):", "sample(self, key):  # here"), "Bowls.sample must return one array"),
    "sample of nothing": (instead("def sample(self, key):", "def sample(self, key):  # here").replace(SAMPLE, "        pass"), "must return one array or a tuple, list or dictionary of arrays, got None"),
    "sample that raises": (instead(SAMPLE, "        return key.nothing  # here"), "AttributeError"),
    "sample without key": (instead("def sample(self, key):", "def sample(self):  # here"), "write `def sample(self, key):`"),
    "sample without self": (instead("def sample(self, key):", "def sample(key):  # here"), "Bowls.sample must take self, key"),
    "np.random": (
        instead(SAMPLE, "        return np.random.uniform(1, 10, 4)").replace("sample(self, key):", "sample(self, key):  # here"),
        "use jax.random with the key, and not np.random",
    ),
    "np.random in a part": (
        instead(SAMPLE, "        return jax.random.normal(key, (4,)) ** 2 + np.random.uniform()").replace("sample(self, key):", "sample(self, key):  # here"),
        "gives different results for one and the same key",
    ),
    "np.random in the start": (
        instead(START, "        return jnp.asarray(np.random.normal(size=4))").replace("start(self, problem, key):", "start(self, problem, key):  # here"),
        "Bowls.start gives different results",
    ),
    "one problem": (
        instead(SAMPLE, "        return jnp.ones(4)").replace("sample(self, key):", "sample(self, key):  # here"),
        "Bowls.sample gives the same problem in 64 draws",
    ),
    "few problems": (
        instead(SAMPLE, "        return jnp.ones(4) * jax.random.randint(key, (), 1, 5)").replace("sample(self, key):", "sample(self, key):  # here"),
        "Bowls.sample gives only 4 different problems in 64 draws",
    ),
    "loss that raises": (instead(LOSS, "        raise RuntimeError('oh')  # here"), "RuntimeError: oh"),
    "loss with a wrong name": (instead(LOSS, "        return jnp.summe(x)  # here"), "has no attribute 'summe'"),
    "loss with if": (instead(LOSS, "        return x[0] if x[0] > 0 else -x[0]  # here"), "use jnp.where"),
    "loss in NumPy": (instead(LOSS, "        return np.sum(np.asarray(x))  # here"), "use the function of jax.numpy"),
    "loss with float": (instead(LOSS, "        return float(x[0])  # here"), "float(), int() and shapes"),
    "loss that is a vector": (instead(LOSS, "        return x**2").replace("problem):\n        return x**2", "problem):  # here\n        return x**2"), "a floating-point scalar, but at the start it is float64[4]; sum it up."),
    "loss that is None": (instead(LOSS, "        pass").replace("problem):\n        pass", "problem):  # here\n        pass"), "Bowls.loss must return a floating-point scalar, but at the start it is None."),
    "loss that is complex": (instead(LOSS, "        return jnp.sum(x) + 1j").replace("problem):\n        return jnp.sum(x) + 1j", "problem):  # here\n        return jnp.sum(x) + 1j"), "it is complex128[]"),
    "loss without problem": (instead("def loss(self, x, problem):", "def loss(self, x):  # here"), "write `def loss(self, x, problem):`"),
    "loss that is infinite": (instead(LOSS, "        return jnp.sum(problem * x) / 0.0").replace("def loss(self, x, problem):", "def loss(self, x, problem):  # here"), "Bowls.loss is inf at the start of all"),
    "start that is a dict": (instead(START, "        return {'x': jnp.ones(4)}").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "must return one floating-point array, got a dict: join its parts"),
    "start that is an integer": (instead(START, "        return 1").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "must return one floating-point array, got 1: make it"),
    "start of integers": (instead(START, "        return jnp.arange(4)").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "got int64[4]: make it"),
    "start that is None": (instead(START, "        pass").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "one floating-point array, got None."),
    "start of a wrong shape": (instead(START, "        return jnp.ones(3)").replace(LOSS, LOSS + "  # here"), "Bowls.loss fails at the point of shape (3,) that Bowls.start returns"),
    "start that raises": (instead(START, "        return jnp.ones(4) / [1][7]  # here"), "IndexError"),
    "start at the solution": (instead(START, "        return jnp.zeros(4)").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "is already a solution of all of 64 sample problems"),
    "prox without smooth": (inside(PROX), "define also `def smooth(self, x, problem)`"),
    "prox without smoothness": (inside(f"{PROX}\n    def smooth(self, x, problem):\n        return jnp.sum(x)\n"), "define also `def smoothness(self, problem)`"),
    "gradient of a wrong shape": (inside("    def gradient(self, x, problem):\n        return x[:2]\n").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "Bowls.gradient there has shape (2,)"),
    "stochastic without criterion": (inside("    def stochastic_loss(self, x, problem, key):  # here\n        return jnp.sum(x)\n").replace(CRITERION, ""), "define one in the file, such as `criterion"),
    # what else the file may say
    "criterion that is a number": (instead(CRITERION, "criterion = 1e-3  # here"), "must be a loa.Criterion such as loa.loss_below(1e-6), got 0.001"),
    "criterion that is a function": (instead(CRITERION, "criterion = loa.loss_below  # here"), "must be a loa.Criterion"),
    "criterion that asks for too much": (instead("class Bowls(loa.ProblemClass):", "class Bowls(loa.ProblemClass):").replace(CRITERION, "criterion = loa.distance_below(0.1)"), "has no known solution: define"),
    "criterion of a vector": (instead(CRITERION, "criterion = loa.gap_below(0.1, lambda pc, x, problem: x)"), "its gap must return a scalar"),
    "criterion met at the start": (instead(CRITERION, "criterion = loa.loss_below(1e6)").replace("start(self, problem, key):", "start(self, problem, key):  # here"), "`criterion` (loss < 1e+06) is met there"),
    "no criterion at a solution": (instead(CRITERION, "").replace(START, "        return jnp.zeros(4)"), "starts at points where the gap is 0.0"),
    "horizon in words": (instead(HORIZON, "horizon = 'many'  # here"), "`horizon` must be a whole number and at least 1, got many"),
    "horizon 0": (instead(HORIZON, "horizon = 0  # here"), "at least 1, got 0"),
    "horizon 2.5": (instead(HORIZON, "horizon = 2.5  # here"), "whole number and at least 1, got 2.5"),
    "baselines in a list": (instead(BASELINES, "baselines = [loa.LBFGS()]  # here"), "must be a dictionary of algorithms by name"),
    "baselines in words": (instead(BASELINES, "baselines = {'Adam': 'adam'}  # here"), "'Adam' must be an instance of loa.Algorithm, got 'adam'"),
    "baselines that are classes": (instead(BASELINES, "baselines = {'CG': loa.ConjugateGradient}  # here"), "'CG' must be an instance of loa.Algorithm"),
    "baseline called learned": (instead(BASELINES, "baselines = {'learned': loa.LBFGS()}  # here"), "may be called 'learned'"),
    "baseline called Learned ": (instead(BASELINES, "baselines = {'Learned ': loa.LBFGS()}  # here"), "may be called 'Learned '"),
    "baseline without a name": (instead(BASELINES, "baselines = {'': loa.LBFGS()}  # here"), "must be a text that is not empty"),
    "baseline with a number": (instead(BASELINES, "baselines = {1: loa.LBFGS()}  # here"), "must be a text that is not empty, got 1"),
    "baseline that needs a prox": (instead(BASELINES, "baselines = {'ISTA': loa.ProximalGradient(0.1)}  # here"), "'ISTA' in `baselines` does not work on the problems"),
    "functionals that are classes": (BOWLS + "functionals = [loa.LargestGap]  # here", "a list of instances of loa.Functional"),
    "functionals in words": (BOWLS + "functionals = 'time'  # here", "a list of instances of loa.Functional, got 't'"),
    "one functional": (BOWLS + "functionals = loa.LargestGap()  # here", "a list of instances of loa.Functional"),
    "functional called outcome": (BOWLS + "functionals = [loa.LargestGap(name='outcome')]  # here", "may be called 'outcome'"),
    "functional called twice": (BOWLS + "functionals = [loa.Gap(3), loa.Gap(3)]  # here", "two functionals are called 'gap_3'"),
    "functional that is there": (BOWLS + "functionals = [loa.StoppingTime()]  # here", "two functionals are called 'stopping_time'"),
    "functional past the horizon": (BOWLS + "functionals = [loa.Gap(30)]  # here", "needs 30 steps, but the horizon is 20"),
    "sizes of no role": (instead(SIZES, "sizes = {'tests': 10}  # here"), "held-out, test, but not for 'tests'"),
    "sizes for training": (instead(SIZES, "sizes = {'training': 10}  # here"), "but not for 'training'"),
    "sizes in a list": (instead(SIZES, "sizes = [10, 20]  # here"), "must be a dictionary of numbers of problems by role"),
    "sizes of 0": (instead(SIZES, "sizes = {'test': 0}  # here"), "the number of test problems in `sizes` must be a whole number and at least"),
    "sizes of 2.5": (instead(SIZES, "sizes = {'prior': 2.5}  # here"), "got 2.5"),
    "learn that is no function": (instead("def learn(lesson):\n" + LEARN, "learn = 3  # here"), "`learn` must be a function of a lesson, got 3"),
    "learn without lesson": (instead("def learn(lesson):", "def learn():  # here"), "write `def learn(lesson):`"),
    "learn that returns None": (instead("def learn(lesson):", "def learn(lesson):  # here").replace(LEARN, "    pass"), "`learn` must return an instance of loa.Algorithm, got None"),
    "learn that returns a class": (instead("def learn(lesson):", "def learn(lesson):  # here").replace(LEARN, "    return loa.HeavyBall"), "`learn` must return an instance of loa.Algorithm"),
    "learn that raises": (instead(LEARN, "    return loa.HeavyBall(lesson.rate, 0.2)  # here"), "AttributeError: 'Lesson' object has no attribute 'rate'"),
    "learn that reads a missing file": (instead(LEARN, "    open('/no/such/file')  # here"), "FileNotFoundError"),
    "learn of what does not fit": (instead("def learn(lesson):", "def learn(lesson):  # here").replace(LEARN, "    return loa.ProximalGradient(0.1)"), "what `learn` returns does not work on the problems"),
    "experiment that is none": ("experiment = 3  # here\n", "must be a loa.experiments.experiment.Experiment, got 3"),
}  # fmt: skip


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


def test_what_is_no_file_is_one_sentence(tmp_path):
    assert refused("run", tmp_path / "no.py") == f"loa: there is no file {tmp_path / 'no.py'}."
    assert "is a directory: give the Python file" in refused("run", tmp_path)
    (tmp_path / "folder.py").mkdir()
    assert "is a directory: give the Python file" in refused("run", tmp_path / "folder.py")
    (tmp_path / "bowls.txt").write_text(BOWLS)
    assert "its name must end in .py" in refused("run", tmp_path / "bowls.txt")
    (tmp_path / "numpy.py").write_text(BOWLS)
    assert "has the name of the module numpy, which loa needs: rename" in refused("run", tmp_path / "numpy.py")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "lasso", "--seed", -1), "--seed must be a whole number from 0 to 2**63 - 1, got -1."),
        (("run", "lasso", "--seed", 2**63), "--seed must be a whole number"),
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
    assert done.stderr.splitlines()[-1].startswith("loa.experiments.own_file.OwnFileError: in bowls.py, line 10, ")


def process(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "loa", *arguments], capture_output=True, text=True, **options)


def bowls(sample, **attributes):
    return type("Bowls", (loa.FromFunctions,), attributes)(sample, lambda x, a: a * jnp.sum(x**2), jnp.ones(2))


def test_draws_that_coincide_are_noticed():
    key = jax.random.key(0)
    with pytest.raises(
        ValueError, match="Bowls.sample gives the same problem in 20 draws: draw every problem from the"
    ):
        bowls(lambda key: np.random.uniform()).draw(key, 20)
    with pytest.warns(UserWarning, match="Bowls.sample gives only 3 different problems in 64 draws"):
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
    with pytest.raises(ValueError, match="`criterion` must be a loa.Criterion"):
        experiment_for(problem_class, name="mine", criterion=1e-3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="no algorithm in `baselines` may be called 'learned'"):
        experiment_for(problem_class, name="mine", baselines={"learned": loa.LBFGS()})
    with pytest.raises(OwnFileError, match="line 2, `horizon` must be a whole number"):
        from_file(written(tmp_path, "import loa\nhorizon = -1\nproblem_class = loa.problems.Quadratics(dimension=3)\n"))
