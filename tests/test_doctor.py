"""`loa doctor`: the page about an installation, and a self-test that can fail."""

import subprocess
import sys

import pytest

import loa.doctor
from loa.doctor import self_test, surroundings
from loa.messages import extras


@pytest.mark.slow
def test_the_page_of_a_healthy_installation():
    done = subprocess.run([sys.executable, "-m", "loa", "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("Python", "jaxlib", "devices", "cores", "precision", "cache", "Everything is in order."):
        assert word in done.stdout
    assert done.stdout.count(" ok ") == len(self_test.TESTS)


def test_a_failed_test_is_counted_and_named(capsys):
    def broken():
        raise AssertionError("2 is not 1")

    assert self_test.main((self_test.certificate, broken)) == 1
    assert "broken               FAILED  AssertionError: 2 is not 1" in capsys.readouterr().out


def test_a_wrong_number_is_noticed(monkeypatch):
    monkeypatch.setattr(loa.certificates, "clopper_pearson_upper", lambda *_: 0.14)
    with pytest.raises(AssertionError, match=r"but it is 0\.139"):
        self_test.certificate()


def test_a_self_test_that_hangs_is_stopped():
    said = []
    assert not loa.doctor.examine(said.append, patience=0.05)
    assert said[-1] == "The self-test did not end within 0.05 seconds and was stopped."


def test_a_missing_extra_is_listed(monkeypatch):
    monkeypatch.setattr(surroundings, "find_spec", lambda name: None if name == "plotly" else True)
    (line,) = (line for line in surroundings.describe() if line.startswith("extras"))
    assert line.endswith("not installed: run (without plotly)")


def test_the_extra_that_brings_a_module_is_named(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"this needs xarray, which is not installed: pip install 'loa\[run\]'"
    ):
        extras.require("xarray")
