"""Problems from a log: reading them, giving each one role, and certificates about the stream they come from."""

import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loa
from loa.certificates import Mean
from loa.certificates.bounds.betting import betting_bound
from loa.certificates.draws import Draw, OverlapError, check_disjoint
from loa.certificates.goal import of_stream
from loa.certificates.plan import Plan
from loa.certificates.sentences import EXCHANGEABLE
from loa.experiments.from_file.problem_class import experiment_for, from_file
from loa.problems import Instances, Log, from_files
from loa.problems.from_functions import of_log
from loa.problems.role import Role

KEY = jax.random.key(0)
ROLES = ("training", "validation", "prior", "posterior", "held-out", "test")


def instance(k, rows=3):
    generator = np.random.default_rng(k)
    return {"a": generator.normal(size=(rows, 2)), "b": generator.normal(size=rows), "t": float(k)}


def write_folder(folder, count=300):
    folder.mkdir()
    for k in range(count):
        np.savez(folder / f"problem-{k}.npz", **instance(k))
    return folder


def same(first, second):
    return jax.tree.all(jax.tree.map(lambda x, y: bool(np.allclose(x, y)), first, second))


# Reading.


def test_all_kinds_of_files_hold_the_same_instances(tmp_path):
    instances = [instance(k) for k in range(20)]
    stack = jax.tree.map(lambda *leaves: np.stack(leaves), *instances)
    plain = [{name: np.asarray(leaf).tolist() for name, leaf in each.items()} for each in instances]
    np.savez(tmp_path / "stack.npz", **stack)
    (tmp_path / "list.json").write_text(json.dumps(plain))
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, plain)))
    columns = [f"b_{j}" for j in range(3)]
    rows = [[json.dumps(each["a"]), *map(repr, each["b"]), repr(each["t"])] for each in plain]
    lines = [["a", *columns, "t"], *rows]
    (tmp_path / "table.csv").write_text("\n".join(",".join(f'"{cell}"' for cell in row) for row in lines))
    found = [from_files(tmp_path / name) for name in ("stack.npz", "list.json", "lines.jsonl", "table.csv")]
    found += [from_files(str(write_folder(tmp_path / "folder", 20) / "*.npz")), from_files(tmp_path / "folder")]
    found += [Instances.of(iter(instances)), Instances.of(stack)]
    for each in found:
        assert len(each) == 20
        assert same(each.problems, stack)
    assert found[-3].names[10] == "problem-10.npz"  # after problem-9, not after problem-1


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    table = {"b": [[1.0, 2.0], [3.0, 4.0]], "c": [5.0, 6.0]}
    parquet.write_table(pyarrow.table(table), tmp_path / "log.parquet")
    assert same(from_files(tmp_path / "log.parquet").problems, {"b": np.array(table["b"]), "c": np.array(table["c"])})


def test_a_folder_with_one_bad_file_in_a_hundred_names_it(tmp_path):
    folder = write_folder(tmp_path / "log", 200)
    np.savez(folder / "problem-7.npz", **(instance(7) | {"b": np.array([1.0, np.nan, 2.0])}))
    (folder / "problem-8.npz").write_text("this is no archive")
    with pytest.warns(UserWarning, match=r"2 of 200 instances are left out: .*problem-7.npz \(NaN in the field 'b'\)"):
        found = from_files(folder)
    assert len(found) == 198
    assert "problem-8.npz: it cannot be read as npz (it is not a NumPy file)" in "; ".join(found.skipped)
    np.savez(folder / "problem-9.npz", other=1.0)
    with pytest.raises(ValueError, match=r"3 of 200 .* more than 1%.*problem-9.npz \(it has the fields other instead"):
        from_files(folder)


def test_equal_instances_are_counted_and_named():
    instances = [instance(k) for k in range(100)]
    copied = [*instances[:99], instances[3]]
    with pytest.warns(UserWarning, match=r"1 of 100 .* instance 99 \(equal to instance 3\); each is used once"):
        assert len(Instances.of(copied)) == 99
    many = [*instances[:50], *instances[:50]]
    with pytest.raises(ValueError, match=r"50 of 100 instances are equal to others.*repeats='keep'"):
        Instances.of(many)
    assert len(Instances.of(many, repeats="keep")) == 100
    assert len(Instances.of(many, repeats="drop")) == 50


def test_unequal_shapes_are_refused_in_words_or_padded_with_a_mask():
    instances = [instance(k, rows=2 + k % 3) for k in range(30)]
    with pytest.raises(ValueError, match=r"unequal shapes \(a \(2, 2\) and b \(2,\) in 10, .*pad=True"):
        Instances.of(instances)
    found = Instances.of(instances, pad=True)
    assert found.problems["b"].shape == (30, 4)
    masks = found.problems["b_mask"].sum(axis=1)
    assert masks.tolist() == [2 + k % 3 for k in range(30)]
    for k, each in enumerate(instances):
        assert np.array_equal(found[k]["a"][found[k]["a_mask"]], each["a"].ravel())
        assert not found[k]["a"][~found[k]["a_mask"]].any()


def test_the_field_for_time_sorts_and_leaves():
    found = Instances.of([instance(k) for k in (3, 1, 2)], time="t")
    assert found.order == "time"
    assert found.names == ("instance 1", "instance 2", "instance 0")
    assert set(found.problems) == {"a", "b"}
    with pytest.raises(ValueError, match="'when' is none of a, b, t"):
        Instances.of([instance(1), instance(2)], time="when")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("nowhere/*.npz", "no file matches the pattern"),
        ("nowhere", "there is no file or folder nowhere"),
        ("log.txt", "its name must end in"),
        ("bad.csv", "row 2 has 1 cells, but there are 2 columns"),
        ("text.csv", "the column 'city' holds text"),
        ("empty", "has no files that end in"),
        (7, "files must be a folder"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path, monkeypatch, files, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.txt").write_text("?")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "text.csv").write_text("a,city\n1,Rome\n2,Oslo\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises((ValueError, TypeError), match=words):
        from_files(files)


# One role each.


@pytest.mark.parametrize("order", ["shuffled", "time"])
@pytest.mark.parametrize("count", [10, 30, 300, 1001])
def test_each_instance_has_one_role(count, order):
    log = Log(Instances.of(np.arange(float(count))), order=order)
    for seed in (0, 1):
        places = np.concatenate([log.indices(Role.named(role), seed) for role in ROLES])
        assert sorted(places) == list(range(count))
        assert (log.roles(seed) != "").all()
    assert sum(log.sizes.values()) == count
    assert min(log.sizes.values()) >= 1
    if order == "time":
        assert (np.diff(places) > 0).all()
    else:
        assert np.array_equal(log.indices(Role.training, 0), log.indices(Role.training, 1))
        assert count == 10 or not np.array_equal(log.indices(Role.test, 0), log.indices(Role.test, 1))
    joined = log.indices(Role.posterior, 0, 10**6)
    assert np.array_equal(joined, np.concatenate([log.indices(Role.posterior, 0), log.indices(Role.held_out, 0)]))


def test_sizes_are_respected_or_refused():
    instances = Instances.of(np.arange(100.0))
    log = Log(instances, {"test": 40})
    assert log.sizes["test"] == 40
    assert sum(log.sizes.values()) == 100
    with pytest.raises(ValueError, match="asks for 98 of 100 instances, which leaves too few for"):
        Log(instances, {"test": 98})
    with pytest.raises(ValueError, match="there are 9 instances, but at least 10 are needed"):
        Log(Instances.of(np.arange(9.0)))
    with pytest.raises(ValueError, match="`order` must be"):
        Log(instances, order="alphabet")


def fits():
    def loss(x, problem):
        return jnp.sum((problem["a"] @ x - problem["b"]) ** 2) + 0.1 * jnp.sum(x**2)

    return loss


def test_an_experiment_on_a_log_never_shows_learning_more_than_training_instances():
    stack = Instances.of([instance(k) for k in range(100)])
    experiment = experiment_for(loa.FromInstances(stack, fits(), jnp.zeros(2)), name="fits")
    training = set(np.asarray(experiment.draw("training", 5)["t"]).tolist())
    assert set(np.asarray(experiment.problem_class.draw(KEY, 20)["t"]).tolist()) == training
    assert len(training) == 20
    others = {role: set(np.asarray(experiment.draw(role, 5)["t"]).tolist()) for role in ROLES[1:]}
    assert sum(map(len, others.values())) == 80 == len(set().union(*others.values()) - training)
    draws = [Draw.of(experiment.draw(role, 5), role, logged=True) for role in ("prior", "posterior", "held-out")]
    check_disjoint(*draws)
    with pytest.raises(OverlapError):  # negative control: another seed divides the same instances otherwise
        check_disjoint(draws[1], Draw.of(experiment.draw("held-out", 6), "held-out"))


def test_a_file_names_a_folder_beside_it(tmp_path, monkeypatch):
    write_folder(tmp_path / "folder", 40)
    (tmp_path / "my_fits.py").write_text(
        "import jax.numpy as jnp, loa\n"
        "instances = 'folder'\norder = 'time'\ncriterion = loa.gradient_norm_below(1e-4)\n"
        "class Fits(loa.ProblemClass):\n"
        "    def loss(self, x, problem):\n"
        "        return jnp.sum((problem['a'] @ x - problem['b']) ** 2) + jnp.sum(x**2)\n"
        "    def start(self, problem, key):\n"
        "        return jnp.zeros(2)\n"
    )
    experiment = from_file(tmp_path / "my_fits.py")
    assert type(experiment.problem_class).__name__ == "Fits"
    assert np.asarray(experiment.draw("test", 0)["t"]).tolist() == list(range(32, 40))
    assert "40 logged instances, in the order of time" in experiment.presentation.notes[0]
    text = (tmp_path / "my_fits.py").read_text()
    (tmp_path / "other_fits.py").write_text(text.replace("instances = 'folder'\norder = 'time'\n", ""))
    with pytest.raises(ValueError, match="Fits must define `sample`"):
        from_file(tmp_path / "other_fits.py")
    (tmp_path / "third_fits.py").write_text(text.replace("'folder'", "'no folder'"))
    with pytest.raises(ValueError, match=r"third_fits.py.*there is no file or folder .*no folder"):
        from_file(tmp_path / "third_fits.py")
    (tmp_path / "fourth_fits.py").write_text(text.replace("instances = 'folder'\n", ""))
    with pytest.raises(ValueError, match=r"`order` is for logged problems|must define `sample`"):
        from_file(tmp_path / "fourth_fits.py")


def test_a_class_on_a_log_answers_as_before():
    class Fits(loa.ProblemClass):
        def loss(self, x, problem):
            return fits()(x, problem)

        def start(self, problem, key):
            return jnp.zeros(2)

        def smoothness(self, problem):
            return jnp.sum(problem["a"] ** 2)

    logged = of_log(Fits(), Instances.of([instance(k) for k in range(12)]))
    assert type(logged).__name__ == "Fits"
    assert isinstance(logged, Fits), "so that a log of programs is treated as programs"
    assert logged.has("smoothness")
    assert not logged.has("prox")
    assert logged.at_most(100) == 12
    with pytest.raises(TypeError, match="Fits has no way to draw a problem"):
        Fits().draw(KEY, 3)
    result = loa.evaluate(
        loa.GradientDescent(0.01), logged, logged.draw(KEY, 12), criterion=loa.loss_below(1e-9), horizon=3, key=KEY
    )
    assert result["stopping_time"].shape == (12, 1)


def test_a_log_of_quadratic_programs_is_treated_as_programs():
    class Logged(loa.problems.QuadraticPrograms):
        def program(self, problem):
            return loa.problems.Program(np.eye(2), problem["q"], np.eye(2), np.zeros(2), np.ones(2))

    instances = Instances.of([{"q": np.random.default_rng(k).normal(size=2)} for k in range(20)])
    found = experiment_for(Logged(), name="logged", instances=instances)
    assert list(found.baselines) == ["ADMM", "PDHG"]
    assert repr(found.criterion) == repr(loa.residuals_below(1e-4, 1e-4))


# The stream.


def test_certificates_about_a_stream_say_so():
    problems, values = np.arange(200.0), {"stopping_time": np.tile([10.0, 30.0], 100)}
    plan = Plan({"time": Mean("stopping_time", 50.0)})
    (logged,) = plan.certify(values, Draw.of(problems, "held-out", logged=True))
    (drawn,) = plan.certify(values, Draw.of(problems, "held-out"))
    assert "on new instances of the stream that these 200 come from" in str(logged)
    assert EXCHANGEABLE in logged.assumptions
    assert EXCHANGEABLE not in drawn.assumptions
    assert not any("independent draws" in each for each in logged.assumptions)
    assert "drawn like these 200" in str(drawn)
    assert logged.bound == drawn.bound
    assert type(logged).from_json(logged.to_json()) == logged


def miss_rate(pool, *, replacement, repetitions=200, candidates=16):
    """How often a nominal 95% bound on the mean over the stream fails, for roles with or without replacement.

    There are many candidates without any merit, each with its own luck on each instance. The best one on the training
    instances is chosen and certified: what is seen twice makes the luck of the chosen one look like merit.
    """
    generator, missed, half = np.random.default_rng(0), 0, pool // 2
    for _ in range(repetitions):
        table = generator.uniform(size=(pool, candidates))
        if replacement:
            training, held_out = generator.integers(0, pool, half), generator.integers(0, pool, 100)
        else:
            training, held_out = np.split(generator.permutation(pool), [half])
        best = int(np.argmin(table[training].mean(axis=0)))
        missed += betting_bound(table[held_out, best], 0.05, 1.0) < 0.5
    return missed / repetitions


@pytest.mark.parametrize("pool", [30, 100, 300])
def test_bounds_hold_for_new_instances_of_the_stream(pool):
    assert miss_rate(pool, replacement=False) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


def test_with_replacement_they_do_not_hold():
    """Negative control: the rule that loa had before, read as a promise about new instances."""
    assert miss_rate(30, replacement=True) > 0.2


def test_of_stream_keeps_the_other_assumptions():
    certificate = Mean("x", 1.0).certify(np.full(10, 0.5), 0.95)
    assert len(of_stream(certificate).assumptions) == len(certificate.assumptions)


def test_no_warning_without_a_reason(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not from_files(write_folder(tmp_path / "log", 12)).skipped
