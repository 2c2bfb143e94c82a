"""Evaluations on disk: the numbers of `loa.evaluate`, part by part, resumed, and refused where they do not belong."""

import json
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from classes import Bowls

import loa
from loa.trajectory import on_disk

pytest.importorskip("pyarrow", reason="Parquet files need pyarrow: pip install 'loa[tables]'")

KEY = jax.random.key(1)
SETTING = dict(criterion=loa.loss_below(1e-4), horizon=60, key=KEY, functionals=[loa.StoppingTime(), loa.Gap(step=5)])
DRAWN = loa.problems.Drawn(jax.random.key(0), 40)
STACK = loa.stack([loa.HeavyBall(step, 0.4) for step in (0.2, 0.4, 0.6)])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Eight problems in a part; two candidates are read together."""
    monkeypatch.setattr(on_disk, "TRAJECTORIES", 48)
    monkeypatch.setattr(on_disk, "GROUP", 40)


def stored(path, problems=DRAWN, **more):
    return loa.evaluate_on_disk(path, STACK, Bowls(), problems, replicates=2, **SETTING, **more)


def test_the_numbers_are_those_of_evaluate(tmp_path):
    bowls = Bowls()
    expected = loa.evaluate(STACK, bowls, bowls.draw(DRAWN.key, DRAWN.number), replicates=2, **SETTING)
    found = stored(tmp_path / "here")
    assert len(found.files) == 5
    assert found.shape == (3, 40, 2)
    parts = list(found.parts())
    for name in ("stopping_time", "gap_5"):
        whole = np.concatenate([part[name] for part in parts], axis=1)
        np.testing.assert_allclose(whole, expected[name], rtol=1e-12)
        np.testing.assert_allclose(found.means(name), expected[name].mean(axis=(1, 2)), rtol=1e-12)
        for candidate in range(3):
            one = loa.Stored.at(tmp_path / "here").performance(candidate)
            np.testing.assert_allclose(one[name], expected[name][candidate], rtol=1e-12)
            assert (one.outcome == expected.outcome[candidate]).all()
    assert found.outcomes().sum(axis=1).tolist() == [80] * 3
    assert found.outcomes()[:, 0].tolist() == (expected.outcome == "solved").sum(axis=(1, 2)).tolist()
    assert loa.certify(one, "stopping_time").bound > expected["stopping_time"][2].mean()


def test_a_part_that_is_missing_is_computed_again_and_no_other(tmp_path):
    first = stored(tmp_path)
    contents = [path.read_bytes() for path in first.files]
    first.files[3].unlink()
    with pytest.raises(ValueError, match="1 of 5 parts are missing: make the same call"):
        loa.Stored.at(tmp_path)
    times = [path.stat().st_mtime_ns for path in first.files if path != first.files[3]]
    again = stored(tmp_path)
    assert [path.stat().st_mtime_ns for path in again.files if path != again.files[3]] == times
    assert (again.performance(1)["gap_5"] == first.performance(1)["gap_5"]).all()
    assert len(contents[3]) == pytest.approx(again.files[3].stat().st_size, rel=0.05)


def test_a_stack_of_problems_and_workers_give_the_same(tmp_path):
    bowls = Bowls()
    problems = bowls.draw(DRAWN.key, DRAWN.number)
    with ThreadPoolExecutor(2) as executor:
        found = stored(tmp_path / "stack", problems, executor=executor)
    np.testing.assert_allclose(found.performance(2)["gap_5"], stored(tmp_path / "drawn").performance(2)["gap_5"])


def test_what_does_not_belong_there_is_refused(tmp_path):
    stored(tmp_path)
    with pytest.raises(ValueError, match="holds another evaluation"):
        stored(tmp_path, loa.problems.Drawn(jax.random.key(2), 40))
    with pytest.raises(ValueError, match="holds another evaluation"):
        loa.evaluate_on_disk(tmp_path, STACK, Bowls(), DRAWN, replicates=2, **SETTING | {"horizon": 61})
    facts = json.loads((tmp_path / "about.json").read_text())
    (tmp_path / "about.json").write_text(json.dumps(facts | {"format": 99}))
    with pytest.raises(ValueError, match="has the format 99"):
        loa.Stored.at(tmp_path)
    (tmp_path / "about.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        loa.Stored.at(tmp_path)
    with pytest.raises(ValueError, match="holds no evaluation"):
        loa.Stored.at(tmp_path / "nothing")
    with pytest.raises(ValueError, match="number must be a whole number"):
        loa.problems.Drawn(KEY, 0)
