"""Saved algorithms: the same bits after a round trip, complete or absent, and nothing that runs code."""

import dataclasses
import json
import resource
import struct
import subprocess
import sys
import types
import zipfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from classes import Bowls
from rich.console import Console

import loa
from loa.architectures import DenseCurvature, LearnedLasso, LearnedQuadratics, LearnedQuasiNewton
from loa.experiments.experiment import Experiment, LearningSetup, Recipe, Task
from loa.experiments.recipes import trained, tuned, unrolled
from loa.problems.role import Role
from loa.run.training import train_experiment
from loa.storage import public_classes, saved_algorithms
from loa.storage.public_classes import PUBLIC, classes_in, classes_of
from loa.storage.saved_algorithms import SUFFIX

KEY = jax.random.key(0)
SPACE = {"step_size": (0.1, 1.8), "momentum": (0.0, 0.9)}


class Typed(loa.GradientDescent):
    """An algorithm with an array of some type, a NumPy array, a list, a nested module and plain values."""

    array: jax.Array
    table: np.ndarray
    parts: list[eqx.Module]
    name: str = eqx.field(static=True, default="typed")
    limit: float = eqx.field(static=True, default=float("inf"))
    nothing: int | None = None


def typed(dtype):
    values = np.array([0.1, -2.0, 3.5]).astype(dtype)
    return Typed(0.1, jnp.asarray(values), np.asfortranarray(np.outer(values, values)), [loa.HeavyBall(0.1, 0.9)])


@pytest.fixture
def path(tmp_path):
    return tmp_path / f"algorithm{SUFFIX}"


# Round trips


@pytest.mark.parametrize(
    "algorithm",
    [
        loa.FISTA(restart=False),
        loa.HeavyBall(0.1, 0.9),
        loa.LBFGS(memory=3),
        LearnedLasso(key=KEY),
        LearnedQuasiNewton(DenseCurvature.of(np.diag([1.0, 2.0])), 0.0, 1.0, 0.5, memory=7),
        loa.stack([loa.HeavyBall(0.1, 0.9), loa.HeavyBall(0.2, 0.9)], weights=[0.25, 0.75]),
        loa.stack([LearnedLasso(key=KEY), LearnedLasso(key=jax.random.key(1))]),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_a_round_trip_changes_nothing(algorithm, path):
    loa.save(path, algorithm, {"seed": 3})
    assert eqx.tree_equal(loa.load(path), algorithm, typematch=True)
    assert loa.provenance(path) == {"seed": 3}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, jnp.bfloat16, np.int64, np.int8, np.uint32, bool], ids=str
)
def test_bits_of_every_type_return(dtype, path):
    algorithm = typed(dtype)
    loa.save(path, algorithm)
    again = loa.load(path, classes=[Typed])
    assert eqx.tree_equal(again, algorithm, typematch=True)
    for before, after in ((algorithm.array, again.array), (algorithm.table, again.table)):
        assert after.dtype == dtype
        assert np.asarray(after).tobytes() == np.asarray(before).tobytes()


def test_numpy_arrays_keep_their_bits_where_jax_has_only_32(path):
    loa.save(path, typed(np.float64))
    with jax.enable_x64(False):
        again = loa.load(path, classes=[Typed])
    assert (again.array.dtype, again.table.dtype) == (np.float32, np.float64)


def test_the_same_algorithm_gives_the_same_file(path):
    written = set()
    for _ in range(3):
        loa.save(path, typed(np.float32), {"seed": 3, "sizes": {"test": 5}})
        written.add(path.read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("kind", PUBLIC.values(), ids=lambda kind: kind.__name__)
def test_files_hold_public_names(kind):
    """A class under another name than the one in its module could not be found again."""
    assert any(getattr(room, kind.__name__, None) is kind for room in (loa.algorithms, loa.architectures))


# Classes of one's own


class HeavyBall(loa.GradientDescent):
    """Not the heavy ball of loa."""


def test_a_class_of_ones_own_must_be_handed_over(path):
    loa.save(path, typed(np.float32))
    with pytest.raises(
        ValueError, match=r"a class 'Typed' that is not one of loa's, and it was not handed over: load it"
    ):
        loa.load(path)
    assert isinstance(loa.load(path, classes=iter([Bowls, Typed])), Typed)
    assert isinstance(loa.load(path, classes=classes_of(typed(np.float32))), Typed)
    assert isinstance(loa.load(path, classes=classes_in(sys.modules[__name__])), Typed)


def test_a_class_with_a_name_of_loas_is_not_mistaken_for_it(path):
    loa.save(path, HeavyBall(0.1))
    with pytest.raises(ValueError, match="it was not handed over"):
        loa.load(path)
    assert type(loa.load(path, classes=[HeavyBall])) is HeavyBall
    loa.save(path, loa.HeavyBall(0.1, 0.9))
    assert type(loa.load(path, classes=[HeavyBall])) is loa.HeavyBall


def test_two_classes_of_one_name_are_refused(path):
    other = types.new_class("Typed", (loa.GradientDescent,))
    algorithm = eqx.tree_at(lambda typed: typed.parts[0], typed(np.float32), other(0.1))
    with pytest.raises(TypeError, match="two classes of the algorithm have the name Typed"):
        loa.save(path, algorithm)
    loa.save(path, typed(np.float32))
    with pytest.raises(ValueError, match="several of the classes handed over have that name"):
        loa.load(path, classes=[Typed, other])


@pytest.mark.wrong_types
@pytest.mark.parametrize("classes", [[print], ["Typed"], [dict], Typed, 3])
def test_what_is_handed_over_must_be_classes(classes, path):
    loa.save(path, loa.HeavyBall(0.1, 0.9))
    with pytest.raises(TypeError, match="classes must be"):
        loa.load(path, classes=classes)


def test_loading_imports_nothing(tmp_path, path):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    for name in ("evil:Algorithm", "evil.Algorithm", "evil"):
        write(path, {"own class": name, "fields": {}}, {})
        script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import loa; loa.load({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert "ValueError" in done.stderr
        assert "not handed over" in done.stderr


# What came later


def test_a_class_that_was_renamed_is_found(path, monkeypatch):
    monkeypatch.setitem(public_classes.RENAMED, "Polyak", "HeavyBall")
    write(path, HEAVY | {"class": "Polyak"}, ARRAYS)
    assert isinstance(loa.load(path), loa.HeavyBall)


def test_a_field_that_was_added_has_the_value_that_files_without_it_mean(path, monkeypatch):
    write(path, {"class": "LBFGS", "fields": {"memory": {"value": 4}}}, {})
    with pytest.raises(ValueError, match="the field flatness of LBFGS is missing"):
        loa.load(path)
    monkeypatch.setitem(public_classes.ADDED, "LBFGS", {"flatness": 0.5})
    assert loa.load(path) == loa.LBFGS(memory=4, flatness=0.5)


def test_a_parameter_that_was_added_is_an_array(path, monkeypatch):
    write(path, DESCENT | {"fields": {}}, {})
    monkeypatch.setitem(public_classes.ADDED, "GradientDescent", {"step_size": 0.5})
    assert eqx.tree_equal(loa.load(path), loa.GradientDescent(0.5))


def test_the_tables_of_changes_name_what_exists():
    assert set(public_classes.RENAMED.values()) <= set(PUBLIC)
    assert not set(public_classes.RENAMED) & set(PUBLIC)
    for name, fields in public_classes.ADDED.items():
        assert set(fields) <= {field.name for field in dataclasses.fields(PUBLIC[name])}


# Tampered files

HEAVY = {"class": "HeavyBall", "fields": {"step_size": {"array": "step_size"}, "momentum": {"array": "momentum"}}}
ARRAYS = {"step_size": np.array(0.1), "momentum": np.array(0.9)}
DESCENT = {"class": "GradientDescent", "fields": {"step_size": {"array": "step_size"}}}
STEPS = {"step_size": np.array([0.1, 0.2])}


def write(path, tree, arrays, checksum=None, **changes):
    """A file of the format with any content, whose checksum is right unless another is given."""
    content = {"loa": "1", "algorithm": tree, "provenance": {}} | changes
    content = {name: value for name, value in content.items() if value is not ...}
    description = content | {"checksum": checksum or saved_algorithms._checksum(content, arrays)}
    path.write_bytes(safetensors.numpy.save(arrays, {"description": json.dumps(description)}))


def heavy(**fields):
    """The tree of a heavy ball with other fields; those that are ... are left out."""
    fields = HEAVY["fields"] | fields
    return {"class": "HeavyBall", "fields": {name: field for name, field in fields.items() if field is not ...}}


def stacked(algorithms=DESCENT, weights=None, common=None):
    parts = dict(algorithms=algorithms, weights=weights or {"value": None}, common=common or {"value": None})
    return {"class": "Stack", "fields": parts}


def lbfgs(memory):
    return {"class": "LBFGS", "fields": {"memory": memory, "flatness": {"value": 0.9}}}


def nested(depth):
    node = {"value": 1}
    for _ in range(depth):
        node = {"tuple": [node]}
    return node


def network(weights):
    return {"class": "CoordinateNetwork", "fields": {"weights": weights, "activated": {"tuple": [{"value": True}]}}}


TREES = {
    "unknown class": ({"class": "NoSuch", "fields": {}}, {}, "a class 'NoSuch', which is unknown"),
    "module and class": (HEAVY | {"class": "loa.algorithms:HeavyBall"}, ARRAYS, "which is unknown"),
    "class of Python": ({"class": "Path", "fields": {}}, {}, "which is unknown"),
    "abstract class": ({"class": "Algorithm", "fields": {}}, {}, "which is unknown"),
    "problem class": ({"class": "Quadratics", "fields": {}}, {}, "which is unknown"),
    "own class": ({"own class": "HeavyBall", "fields": {}}, {}, "was not handed over"),
    "name that is no string": ({"class": 3, "fields": {}}, {}, "neither a module"),
    "not an algorithm": (
        {"class": "DiagonalCurvature", "fields": {"spectrum": {"array": "spectrum"}}}, {"spectrum": np.ones(2)},
        "describes a DiagonalCurvature instead",
    ),
    "array alone": ({"array": "step_size"}, STEPS, "instead of an algorithm"),
    "value alone": ({"value": 3}, {}, "describes a int instead"),
    "nothing": (None, {}, "neither a module"),
    "unknown kind": (heavy(momentum={"pickle": "gASV"}), ARRAYS, "neither a module"),
    "two kinds": (heavy(momentum={"value": 1, "array": "momentum"}), ARRAYS, "neither a module"),
    "more than a class": (HEAVY | {"args": []}, ARRAYS, "neither a module"),
    "fields in a list": ({"class": "HeavyBall", "fields": []}, {}, "neither a module"),
    "value that is an object": (heavy(momentum={"value": {}}), ARRAYS, "neither a module"),
    "unknown field": (heavy(extra={"value": 1}), ARRAYS, "a field 'extra', which HeavyBall does not have"),
    "method as field": (heavy(step={"value": 1}), ARRAYS, "a field 'step', which HeavyBall does not have"),
    "class as field": (heavy(__class__={"value": 1}), ARRAYS, "a field '__class__'"),
    "missing field": (heavy(momentum=...), ARRAYS, "the field momentum of HeavyBall is missing"),
    "string for an array": (heavy(momentum={"value": "a"}), STEPS, "momentum of HeavyBall cannot be a str"),
    "string in a network": (
        {"class": "CompactImages", "fields": {"weights": network({"tuple": [{"value": "a"}]})}}, {},
        "weights of CoordinateNetwork cannot be a tuple",
    ),
    "array for a network": (
        {"class": "CompactImages", "fields": {"weights": {"array": "step_size"}}}, STEPS,
        "weights of CompactImages cannot be a",
    ),
    "static array": (lbfgs({"array": "step_size"}), STEPS, "static fields is not a plain value"),
    "static class": (lbfgs({"tuple": [HEAVY]}), ARRAYS, "static fields is not a plain value"),
    "static string": (lbfgs({"value": "ten"}), {}, "memory of LBFGS cannot be a str"),
    "invariant": (lbfgs({"value": 0}), {}, "LBFGS refuses its fields .memory must be a whole number"),
    "no transformation": (
        {"class": "FromOptax", "fields": {"transformation": {"value": 1}, "stochastic": {"value": False}}}, {},
        "FromOptax refuses its fields",
    ),
    "array nobody uses": (HEAVY, ARRAYS | {"more": np.zeros(9)}, "an array 'more' that is not part"),
    "array used twice": (heavy(momentum={"array": "step_size"}), ARRAYS, "'step_size' is missing or is used twice"),
    "array that is absent": (heavy(momentum={"array": "other"}), ARRAYS, "'other' is missing or is used twice"),
    "nested deeply": (heavy(momentum=nested(41)), ARRAYS, "nested more than 40 deep"),
    "stack of nothing": (stacked({"value": None}), {}, "algorithms of Stack cannot be a NoneType"),
    "stack of arrays": (stacked({"array": "step_size"}), STEPS, "algorithms of Stack cannot be a"),
    "stack without an axis": (stacked(), {"step_size": np.array(0.1)}, "one entry per candidate"),
    "stack of unequal numbers": (stacked(HEAVY), {"step_size": np.ones(2), "momentum": np.ones(3)}, "one entry per"),
    "weights of others": (stacked(weights={"numpy": "w"}), STEPS | {"w": np.ones(3) / 3}, "impossible weights"),
    "weights of words": (stacked(weights={"tuple": [{"value": "a"}]}), STEPS, "weights of Stack cannot be a tuple"),
    "weights that are negative": (stacked(weights={"numpy": "w"}), STEPS | {"w": np.array([2.0, -1])}, "negative"),
    "others in common": (stacked(common=lbfgs({"value": 3})), STEPS, "have in common does not fit them"),
    "string in a candidate": (stacked(heavy(momentum={"value": "a"})), STEPS, "momentum of HeavyBall cannot be a str"),
}  # fmt: skip


@pytest.mark.parametrize("case", TREES)
def test_a_tree_that_is_no_algorithm_is_refused_with_a_sentence(case, path):
    tree, arrays, sentence = TREES[case]
    write(path, tree, arrays)
    with pytest.raises(ValueError, match=rf"algorithm\.safetensors cannot be loaded: .*{sentence}.*\.$") as refusal:
        loa.load(path)
    assert "\n" not in str(refusal.value)


def with_header(header, body=b""):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + body


def tensor(**changes):
    return with_header({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]} | changes}, bytes(8))


def described(description, arrays=ARRAYS):
    return safetensors.numpy.save(arrays, {"description": description})


FILES = {
    "empty": b"",
    "three bytes": b"abc",
    "HTML": b"<!DOCTYPE html><html><body>Not found</body></html>" * 20,
    "header longer than the file": struct.pack("<Q", 2**20) + b"{}",
    "header of exabytes": struct.pack("<Q", 2**63) + b"{}",
    "header of brackets": with_header(b"[" * 200_000),
    "header longer than allowed": with_header(b"{" + b" " * 2**22 + b"}"),
    "no metadata": tensor(),
    "array of 80 TB": tensor(shape=[10**13]),
    "array of 80 TB, offsets too": tensor(shape=[10**13], data_offsets=[0, 8 * 10**13]),
    "array whose size overflows": tensor(shape=[2**40, 2**40]),
    "empty array of enormous shape": tensor(shape=[0, 2**62], data_offsets=[0, 0]),
    "array of a hundred dimensions": tensor(shape=[1] * 100),
    "negative shape": tensor(shape=[-1]),
    "unknown type": tensor(dtype="O"),
    "type of 8 bits": tensor(dtype="F8_E4M3", shape=[8]),
    "overlapping arrays": with_header(
        {name: {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]} for name in "ab"}, bytes(8)
    ),
    "bytes behind the arrays": described("{}") + b"more",
    "description of nothing": described(""),
    "description that is no JSON": described("import os"),
    "description that is a list": described("[]"),
    "description of brackets": described("[" * 100_000),
    "description of a huge number": described('{"loa": ' + "9" * 10_000 + "}"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_not_of_the_format_is_refused_with_a_sentence(case, path):
    path.write_bytes(FILES[case])
    for read in (loa.load, loa.provenance):
        with pytest.raises(ValueError, match=r"algorithm\.safetensors is not an algorithm saved by loa, or is damaged"):
            read(path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (dict(loa="2"), "its format is '2', and this version of loa reads format '1'"),
        (dict(loa=...), "does not name a version"),
        (dict(provenance=...), "incomplete"),
        (dict(provenance=[]), "incomplete"),
        (dict(algorithm=...), "incomplete"),
        (dict(more=1), "incomplete"),
        (dict(checksum="0" * 64), "checksum is wrong"),
    ],
    ids=str,
)
def test_a_description_that_is_not_of_the_format_is_refused(changes, sentence, path):
    write(path, HEAVY, ARRAYS, **changes)
    with pytest.raises(ValueError, match=sentence):
        loa.load(path)


def test_a_file_of_the_former_format_is_refused(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("content.npy", bytes(100))
    with pytest.raises(ValueError, match="not an algorithm saved by loa"):
        loa.load(path)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is a directory and not a file"):
        loa.load(tmp_path)


def test_no_flipped_bit_goes_unnoticed(path):
    loa.save(path, loa.HeavyBall(0.1, 0.9), {"seed": 3})
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            loa.load(path)
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged"):
            loa.load(path)


def test_refusing_a_file_takes_no_memory(path):
    """An array of 80 TB that the header declares, or 4 GB of zeros in a former file, must not be made."""
    path.write_bytes(FILES["array of 80 TB, offsets too"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="damaged"):
        loa.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


# What cannot be saved


class WithFunction(loa.GradientDescent):
    function: object = eqx.field(static=True, default=print)


class WithStaticArray(loa.GradientDescent):
    table: object = eqx.field(static=True, default=None)


class WithAnything(loa.GradientDescent):
    part: object = None


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WithFunction(0.1), "function is a builtin_function_or_method, which cannot be saved"),
        (lambda: WithStaticArray(0.1, (np.ones(2),)), r"the static field table\.0 holds a ndarray and cannot be saved"),
        (lambda: WithStaticArray(0.1, loa.HeavyBall(0.1, 0.9)), "the static field table holds a HeavyBall"),
        (lambda: WithAnything(0.1, {"a": 1}), "part is a dict, which cannot be saved"),
        (lambda: WithAnything(0.1, KEY), "part is a .*, which cannot be saved"),
        (lambda: WithAnything(0.1, np.ones(2, complex)), "part is a ndarray, which cannot be saved"),
        (Bowls, "must be a loa.Algorithm or a stack"),
    ],
    ids=["function", "static array", "static module", "dict", "key", "complex", "problem class"],
)
@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
def test_what_cannot_be_saved_leaves_no_file(make, sentence, path):
    algorithm = make()
    with pytest.raises(TypeError, match=sentence):
        loa.save(path, algorithm)
    assert list(path.parent.iterdir()) == []


def test_what_is_nested_too_deeply_is_not_saved(path):
    part = 1
    for _ in range(50):
        part = (part,)
    with pytest.raises(ValueError, match="nested more than 40 deep"):
        loa.save(path, WithAnything(0.1, part))


@pytest.mark.wrong_types
def test_provenance_is_what_json_can_represent(path):
    with pytest.raises(TypeError, match="provenance must be a dict that JSON can represent"):
        loa.save(path, loa.HeavyBall(0.1, 0.9), {"made by": print})
    with pytest.raises(ValueError, match="provenance is too long"):
        loa.save(path, loa.HeavyBall(0.1, 0.9), {"text": "a" * 2**22})
    loa.save(path, loa.HeavyBall(0.1, 0.9), {1: "a", "1": "b", "worst": float("nan"), "sizes": (1, 2)})
    assert loa.provenance(path)["sizes"] == [1, 2]


def test_an_unknown_name_lists_those_that_ship():
    with pytest.raises(FileNotFoundError, match=r"there is no file no-such, and no algorithm.*lasso, lasso-paper"):
        loa.load("no-such")


# Those that ship, and learning


def test_what_ships_is_small():
    weights = saved_algorithms._weights()
    assert len(list(weights.rglob(f"*{SUFFIX}"))) == len([file for file in weights.rglob("*") if file.is_file()])
    assert sum(file.stat().st_size for file in weights.rglob("*") if file.is_file()) < 1.5e6


@pytest.mark.parametrize("name", loa.shipped())
def test_a_shipped_algorithm_does_what_its_provenance_says(name):
    """On some of the test problems: the very stopping times, up to rounding, where some are noted.

    Else their mean; the tolerance is five standard errors of a mean over these, and a step.
    """
    provenance = loa.provenance(name)
    experiment = loa.experiments.get(provenance["experiment"])
    assert {"seed", "sizes", "commit", "versions", "seconds", "test"} <= set(provenance)
    size = {"images": 2, "stochastic-network": 25}.get(experiment.name, 50)
    assert provenance["keys"] == "former"  # for the draws of weights that were learned before keys of roles changed
    times = loa.evaluate(
        loa.load(name),
        experiment.problem_class,
        experiment.problem_class.draw(Role.test.former_key(provenance["seed"]), size),
        criterion=experiment.criterion,
        horizon=experiment.horizon,
        key=KEY,
    )["stopping_time"]
    claimed = provenance["test"]["learned"]
    if "first" in claimed:
        noted = np.array(claimed["first"])[:size]
        assert np.median(np.abs(times[: len(noted), 0] - noted)) <= 1 + 0.05 * np.median(noted)
        return
    assert abs(times.mean() - claimed["mean"]) < 5 * times.std() / np.sqrt(size) + 1
    assert (times < experiment.horizon).mean() > claimed["solved"] - 0.15


def test_training_an_experiment_learns_measures_and_saves(tmp_path):
    experiment = Experiment(
        Task(
            name="bowls",
            problem_class=Bowls(),
            criterion=loa.loss_below(1e-6),
            horizon=300,
            functionals=(),
            baselines={"slow": loa.GradientDescent(0.1)},
        ),
        Recipe(
            learned={"loa": lambda setup: tuned(setup, loa.HeavyBall, SPACE, problems=20, candidates=8, rounds=2)},
            sizes={"test": 30, "validation": 20},
        ),
    )
    path = tmp_path / f"bowls{SUFFIX}"
    train_experiment(LearningSetup(experiment, seed=3), "loa", path, Console())
    provenance = loa.provenance(path)
    assert provenance["seed"] == 3
    numbers = provenance["test"]
    assert numbers["learned"]["mean"] < 0.5 * numbers["slow"]["mean"]
    assert numbers["learned"]["solved"] == 1.0
    assert isinstance(loa.load(path), loa.HeavyBall)
    with pytest.raises(ValueError, match="no role 'exam'"):
        experiment.draw("exam", 0)


def test_training_of_a_network_says_how_and_leaves_no_checkpoints(tmp_path):
    """Imitation, training over single steps and then over segments; killed in between, it resumes to the same bits."""

    def learn(setup):
        network, teacher = LearnedQuadratics(key=setup.key), loa.GradientDescent(0.3)
        first = trained(setup, network, teacher, steps=20, checks=2, learning_rate=1e-3, batch=4, imitation_steps=10)
        if setup.checkpoint.stem == "killed" and not setup.second_checkpoint.exists():
            setup.second_checkpoint.touch()
            raise KeyboardInterrupt
        setup.second_checkpoint.unlink(missing_ok=True)
        return unrolled(setup, first, loa.gaps.loss, length=3, steps=10, checks=2, learning_rate=1e-4, batch=4)

    task = Task("bowls", Bowls(), loa.loss_below(1e-6), horizon=30, functionals=(), baselines={})
    experiment = Experiment(task, Recipe(learned={"paper": learn}, sizes={"test": 5, "validation": 6}))

    def go(name):
        setup = LearningSetup(experiment, 0, 1.0, tmp_path / f"{name}.checkpoint")
        train_experiment(setup, "paper", tmp_path / f"{name}{SUFFIX}", Console(quiet=True))

    go("whole")
    with pytest.raises(KeyboardInterrupt):
        go("killed")
    go("killed")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"killed{SUFFIX}", f"whole{SUFFIX}"]
    assert eqx.tree_equal(loa.load(tmp_path / f"killed{SUFFIX}"), loa.load(tmp_path / f"whole{SUFFIX}"))
    learning = loa.provenance(tmp_path / f"whole{SUFFIX}")["learning"]
    assert (learning["teacher"], learning["imitation_steps"]) == ("GradientDescent", 10)
    assert learning["training"]["validation"] == learning["unrolled"]["validation"] == 6
    assert (learning["training"]["steps"], learning["unrolled"]["steps"]) == (20, 10)
