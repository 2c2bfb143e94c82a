"""What a run has deployed solves new problems: `loa solve`."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from runs import example
from typer.testing import CliRunner

import loa
from loa.cli import app
from loa.deployment.files.instances import read_instances
from loa.run import deployed
from loa.run.identity import of_file

FILE = """
import jax, jax.numpy as jnp
import loa

class Bowls(loa.ProblemClass):
    def sample(self, key):
        return {"curvature": jax.random.uniform(key, (2,), minval=0.5, maxval=1.5), "shift": jax.random.normal(key)}
    def loss(self, x, problem):
        return 0.5 * jnp.sum(problem["curvature"] * (x - problem["shift"]) ** 2)
    def start(self, problem, key):
        return jnp.full(2, 9.0)

criterion, horizon = loa.gradient_norm_below(1e-6), 100
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The directory of a run, with made-up numbers, and the file that it was made from."""
    place = tmp_path_factory.mktemp("run")
    file = place / "own_bowls.py"
    file.write_text(FILE)
    results = example()
    origin = {**results.summary.provenance, "file": of_file(file)}
    summary = dataclasses.replace(results.summary, experiment="own_bowls", provenance=origin)
    dataclasses.replace(results, summary=summary).save(place)
    loa.save(place / "algorithm.safetensors", loa.GradientDescent(0.7))
    return place


@pytest.fixture(scope="module")
def found(run):
    return deployed(run)


@pytest.fixture(scope="module")
def instances(run):
    generator = np.random.default_rng(0)
    path = run / "new.npz"
    np.savez(path, curvature=generator.uniform(0.5, 1.5, (7, 2)), shift=generator.normal(size=7))
    return path


def call(*arguments):
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.output


def test_solutions_of_a_file(run, instances, found):
    code, said = call("solve", run, "--instances", instances)
    assert code == 0, said
    assert said.strip() == f"Wrote {run}/new-solutions.npz: 7 solved."
    rows, problems = np.load(run / "new-solutions.npz"), np.load(instances)
    np.testing.assert_allclose(rows["x"], np.repeat(problems["shift"][:, None], 2, axis=1), atol=1e-5)
    np.testing.assert_array_equal(found.solve(dict(problems)).steps, rows["steps"])


def test_a_solver_for_the_same(found):
    solver, problem = found.solver(), found.problem_class.sample(jax.random.key(3))
    one = solver(problem)
    assert one.outcome == "solved"
    np.testing.assert_allclose(one.x, problem["shift"], atol=1e-5)


def test_parts_are_written_one_after_the_other(run, instances, found, monkeypatch):
    monkeypatch.setattr("loa.run.deployed_algorithm.PART", 4)
    counts = found.solve_file(instances, run / "parts.jsonl")
    assert {outcome: count for outcome, count in counts.items() if count} == {"solved": 7}
    assert len((run / "parts.jsonl").read_text().splitlines()) == 7


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"curvature": np.ones((3, 2))}, "must hold arrays named curvature, shift, got curvature."),
        ({"curvature": np.ones((3, 3)), "shift": np.ones(3)}, "must have shape [number of problems, 2], got"),
        ({"curvature": np.ones((3, 2)), "shift": np.ones(4)}, "the leading axes of a stack of problems must agree"),
        ({"curvature": np.ones((0, 2)), "shift": np.ones(0)}, "the stack of problems is empty."),
        ({"curvature": np.full((3, 2), "a"), "shift": np.ones(3)}, "must be arrays of numbers"),
    ],
)  # fmt: skip
def test_instances_that_do_not_fit(tmp_path, arrays, sentence, found):
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises((TypeError, ValueError)) as caught:
        read_instances(tmp_path / "odd.npz", found.problem_class.sample(jax.random.key(0)))
    assert sentence in str(caught.value)


def test_files_that_are_not_there(run, instances, tmp_path):
    assert call("solve", tmp_path, "--instances", instances)[1].startswith("loa: ")
    code, said = call("solve", run, "--instances", tmp_path / "none.npz")
    assert code == 1
    assert said == f"loa: there is no file {tmp_path}/none.npz.\n"
    code, said = call("solve", run, "--instances", instances, "--out", tmp_path / "solutions.csv")
    assert code == 1
    assert "solutions are written to files with the suffix .npz, .parquet, .jsonl" in said
    code, said = call("solve", run, "--instances", instances, "--file", tmp_path / "own_bowls.py")
    assert code == 1
    assert "say where it is (--file my_problem.py)" in said


def test_a_file_that_has_changed_is_named(run, instances, tmp_path):
    (tmp_path / "own_bowls.py").write_text(FILE + "\n# changed\n")
    code, said = call("solve", run, "--instances", instances, "--file", tmp_path / "own_bowls.py")
    assert code == 0
    assert "has changed since the run, so its certificates may not hold." in said


def test_a_tuple_may_be_saved_by_position(tmp_path):
    first, second = np.ones((3, 2)), np.arange(3.0)
    np.savez(tmp_path / "instances.npz", first, second)
    found = read_instances(tmp_path / "instances.npz", (first[0], second[0]))
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], second)


ROWS = {"curvature": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan]]), "shift": np.array([7.0, 8.0, 9.0])}


def rows_in(path):
    """The same three problems in every kind of file that `loa solve` reads."""
    each = [{name: np.nan_to_num(column[n], nan=0.5).tolist() for name, column in ROWS.items()} for n in range(3)]
    if path.suffix == ".json":
        path.write_text(json.dumps(each))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in each))
    elif path.suffix == ".csv":
        path.write_text("curvature_0,curvature_1,shift\n1,2,7\n3,4,8\n5,0.5,9\n")
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(each), path)
    else:
        path.mkdir()
        for n, row in enumerate(each):
            np.savez(path / f"problem-{n}.npz", **row)
    return path


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv", "rows.parquet", "folder"])
def test_problems_come_from_files_of_all_kinds(name, tmp_path):
    found = read_instances(rows_in(tmp_path / name), {"curvature": np.zeros(2), "shift": np.zeros(())})
    np.testing.assert_array_equal(found["curvature"], np.nan_to_num(ROWS["curvature"], nan=0.5))
    np.testing.assert_array_equal(found["shift"], ROWS["shift"])


def test_no_problem_is_left_out(tmp_path):
    (tmp_path / "states.csv").write_text("position,velocity\n1,2\n3,\n5,6\n")
    found = read_instances(tmp_path / "states.csv", np.zeros(2))
    np.testing.assert_array_equal(found, [[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    (tmp_path / "lines.jsonl").write_text('{"a": [1, 2]}\n{"a": [1]}\n')
    with pytest.raises(ValueError, match="the problems must all have the same shapes"):
        read_instances(tmp_path / "lines.jsonl", {"a": np.zeros(2)})
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n{"b": 1}\n')
    with pytest.raises(ValueError, match="line 2 has b, but the first problem a"):
        read_instances(tmp_path / "other.jsonl", {"a": np.zeros(())})
    (tmp_path / "unlike.jsonl").write_text('[1, 2]\n{"b": 1}\n')
    with pytest.raises(ValueError, match="line 2 has b, but the first problem no names"):
        read_instances(tmp_path / "unlike.jsonl", {"a": np.zeros(())})
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a"\n')
    with pytest.raises(ValueError, match="line 2 is not a problem: it is not JSON"):
        read_instances(tmp_path / "broken.jsonl", {"a": np.zeros(())})
