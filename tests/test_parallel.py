"""Executors: the same bits with any number of workers, also if one of them dies; failures are named."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from classes import Bowls

import loa
from loa.parallel import Processes, tasks
from loa.parallel.sending import packed
from loa.parallel.tasks import TaskError, as_they_come

OPTIONS = dict(criterion=loa.loss_below(1e-4), horizon=60, functionals=[loa.StoppingTime(), loa.Gap(step=5)])


def evaluated(executor, **more):
    """One evaluation with random starts; the number of problems is no multiple of the size of a chunk."""
    bowls = Bowls()
    problems = bowls.draw(jax.random.key(0), 67)
    return loa.evaluate(
        loa.HeavyBall(0.5, 0.4), bowls, problems, key=jax.random.key(1), executor=executor, **OPTIONS, **more
    )


def bits(performance):
    return {name: value.tobytes() for name, value in performance.values.items()}, performance.outcome.tolist()


@pytest.fixture(scope="module")
def expected():
    with ThreadPoolExecutor(1) as threads:
        return bits(evaluated(threads))


def dying_once(flag, function, arguments):
    """A task whose process is killed the first time."""
    if not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments)


def always_dying():
    os.kill(os.getpid(), signal.SIGKILL)


class Interrupted(Processes):
    """Processes one of which is killed while it has a task."""

    def __init__(self, workers, flag):
        super().__init__(workers)
        self.flag = str(flag)

    def submit(self, fn, /, *args):
        return super().submit(dying_once, self.flag, fn, args)


def test_the_same_bits_on_one_thread_and_on_two_processes_one_of_which_is_killed(expected, tmp_path):
    with Interrupted(2, tmp_path / "killed") as executor:
        assert bits(evaluated(executor)) == expected
        assert len(executor._started) > 2  # one was replaced
    assert (tmp_path / "killed").exists()


def test_without_an_executor_the_same_numbers(expected):
    here = evaluated(None)
    with ThreadPoolExecutor(2) as threads:
        there = evaluated(threads)
    assert (here["stopping_time"] == there["stopping_time"]).all()
    np.testing.assert_allclose(here["gap_5"], there["gap_5"], rtol=1e-12)
    assert bits(there) == expected


class Counting(ThreadPoolExecutor):
    """An executor that counts tasks and fails after some of them."""

    def __init__(self, most=10**9):
        super().__init__(1)
        self.count, self.most = 0, most

    def submit(self, fn, /, *args, **kwargs):
        self.count += 1
        if self.count > self.most:
            raise InterruptedError("the scheduler is gone")
        return super().submit(fn, *args, **kwargs)


def test_results_are_saved_as_they_come_and_not_computed_again(expected, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "OUTSTANDING", 1)
    with Counting(most=6) as executor, pytest.raises(InterruptedError):
        evaluated(executor, checkpoints=tmp_path)
    saved = sorted(tmp_path.glob("*.checkpoint"))
    assert len(saved) == 6
    saved[0].write_bytes(saved[0].read_bytes()[:-1])
    with Counting() as executor:
        with pytest.warns(UserWarning, match="is damaged and was ignored"):
            assert bits(evaluated(executor, checkpoints=tmp_path)) == expected
        assert executor.count == 23 - 5  # 67 problems in chunks of three, without those that were saved


def test_solve_and_compare_and_tune_and_candidates_give_the_same_with_an_executor():
    bowls = Bowls()
    problems, key = bowls.draw(jax.random.key(0), 9), jax.random.key(1)
    setting = dict(criterion=loa.loss_below(1e-4), horizon=60, key=key)
    stack = loa.stack([loa.GradientDescent(step) for step in (0.3, 0.6)])
    descent = loa.GradientDescent(0.5)

    def numbers(executor):
        yield loa.solve(descent, bowls, problems, **setting, executor=executor).x
        yield loa.evaluate(stack, bowls, problems, **setting, executor=executor)["stopping_time"]
        compared = loa.compare({"a": descent}, bowls, problems, **setting, executor=executor)
        yield compared.performances["a"]["stopping_time"]
        space = {"step_size": (0.1, 0.9)}
        tuned = loa.tune(
            loa.GradientDescent, space, bowls, problems, **setting, candidates=2, rounds=1, executor=executor
        )
        yield np.array([tuned.value, *tuned.parameters.values()])

    with ThreadPoolExecutor(2) as executor:
        for here, there in zip(numbers(None), numbers(executor), strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-12)


def test_a_worker_with_other_versions_is_refused(monkeypatch):
    monkeypatch.setattr(tasks, "software", lambda: {"jax": "0.0.1"})
    with ThreadPoolExecutor(1) as executor, pytest.raises(TaskError, match=r"has jax .* instead of 0\.0\.1: install"):
        list(as_they_come(executor, pow, [(0, (2, 3))], str))


class Brittle(Bowls):
    """A loss that fails on some problems."""

    def loss(self, x, problem):
        def checked(value):
            if (value < 0).any():
                raise ArithmeticError("negative curvature")
            return value

        return super().loss(x, jax.pure_callback(checked, problem, problem, vmap_method="broadcast_all"))

    def gradient(self, x, problem):
        return problem * x


def test_a_task_that_fails_names_problem_and_parameters():
    problems = jnp.ones((70, 4)).at[41].set(-1.0)
    words = r"GradientDescent\(step_size=0.5\) on problems 39 to 41 of Brittle .* \(problem 41 fails alone as well\)"
    with ThreadPoolExecutor(1) as executor, pytest.raises(TaskError, match=words):
        loa.evaluate(
            loa.GradientDescent(0.5), Brittle(), problems, criterion=loa.loss_below(1e-4), horizon=5,
            key=jax.random.key(0), executor=executor,
        )  # fmt: skip


def test_a_task_that_kills_its_worker_is_given_up_and_others_are_not():
    with Processes(1) as executor:
        with pytest.raises(TaskError, match=r"the bad one was given up: .* died 3 times"):
            list(as_they_come(executor, always_dying, [(0, ())], lambda number: "the bad one"))
        assert executor.submit(pow, 2, 3).result() == 8
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(TaskError, match="given up"):
        list(as_they_come(pool, always_dying, [(0, ())], lambda number: "the bad one"))


def test_a_class_of_a_session_is_refused_with_a_sentence(monkeypatch):
    made = type("Mine", (Bowls,), {"__module__": "__main__", "__qualname__": "Mine"})
    monkeypatch.delattr("__main__.__file__", raising=False)
    with pytest.raises(ValueError, match="Mine cannot be sent to another process"):
        packed(made())


def test_dask_gives_the_same_bits_although_a_worker_is_killed(expected, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'loa[cluster]'")
    import dask

    dask.config.set({"distributed.worker.daemon": True})
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        executor = client.get_executor()
        flag = tmp_path / "killed"
        original = executor.submit
        executor.submit = lambda fn, *args: original(dying_once, str(flag), fn, args)
        assert bits(evaluated(executor)) == expected
        assert flag.exists()
