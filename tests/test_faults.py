"""The fault suite at a small size; `python -m benchmarks.faults` runs it at full size."""

import random

import pytest
import runs
from benchmarks.faults import damaged_runs, files
from benchmarks.faults.counts import Count, table

GENERATOR = random.Random(0)


@pytest.mark.slow
def test_kills_in_the_middle_of_writes():
    assert files.kills_in_writes(60, GENERATOR).lost == ()


@pytest.mark.slow
def test_full_disks():
    assert files.full_disks(60, GENERATOR).lost == ()


@pytest.mark.slow
def test_bits_that_flip():
    for count in files.flipped_bits(100, GENERATOR):
        assert count.lost == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of xarray, on what it finds in damaged files
def test_damaged_runs_get_a_sentence(tmp_path, monkeypatch):
    from loa.presentation import figures

    monkeypatch.setattr(figures, "draw_all", lambda results, directory: [])  # seconds each, for reports that succeed
    run = tmp_path / "run"
    run.mkdir()
    runs.example().save(run)
    wrong = {
        damage.name: verdict
        for damage in damaged_runs.damages(run, wrong_values=60)
        if (verdict := damaged_runs.verdict(damage, run, tmp_path / "copy"))
    }
    assert not wrong


def test_the_table_counts_what_was_lost():
    counts = [Count("a kill", "resumes", 3, ("run 2: other numbers",)), Count("a flip", "refused", 5, ())]
    assert table(counts).splitlines()[2:] == [
        "| a kill | resumes | 3 | 2 | 1 |",
        "| a flip | refused | 5 | 5 | 0 |",
        "| **all** | | **8** | **7** | **1** |",
    ]
