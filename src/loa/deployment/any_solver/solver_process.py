"""A process that runs a solver again and again, each time in a child that can be killed. Started by `killable`.

This file is run as a script and imports nothing but the standard library, so that solvers find a clean process. It
reads tasks from its standard input and writes results to its standard output, both as pickles with their lengths in
front. Every task is run in a fork of this process, which has one thread and has imported the solver already. If
standard input ends, the child that is running is killed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import io
import os
import pickle
import pkgutil
import resource
import select
import signal
import struct
import sys
import tempfile
import time
from typing import Any, BinaryIO

KEPT = 2000
"""The number of characters at the end of a solver's output that are kept."""


def write(stream: BinaryIO, value: Any) -> None:
    """One message."""
    content = pickle.dumps(value, protocol=5)
    stream.write(struct.pack("<Q", len(content)) + content)
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """One message; EOFError if there is none."""
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("<Q", header)[0]))


def found(reference: dict[str, Any]) -> Any:
    """The function that a reference names: in a file, in a module, or pickled."""
    if reference.get("pickled") is not None:
        return pickle.loads(reference["pickled"])
    name, file = reference["module"], reference["file"]
    if file is not None:
        sys.path.insert(0, os.path.dirname(file))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return pkgutil.resolve_name(f"{name}:{reference['qualname']}")


def run(function: Any, task: dict[str, Any], parent: int, answers: int, output: io.FileIO) -> None:
    """The child: call the solver, write what it reports and how long it took, and end."""
    os.setsid()
    _die_with(parent)
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    if task["memory"] is not None:
        resource.setrlimit(resource.RLIMIT_AS, (task["memory"], task["memory"]))
    wall, before = time.perf_counter(), _cpu()
    try:
        reported, error = function(task["instance"], **task["parameters"]), None
    except BaseException as problem:
        reported, error = None, f"{type(problem).__name__}: {' '.join(str(problem).split())}"
    seconds, cpu = time.perf_counter() - wall, _cpu() - before
    sys.stdout.flush()
    with os.fdopen(answers, "wb") as stream:
        answer = {"seconds": seconds, "cpu_seconds": cpu, "reported": _numbers(reported), "error": error}
        write(stream, answer)
    os._exit(0)


def _cpu() -> float:
    """Seconds of processors, of this process and of those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _numbers(reported: Any) -> dict[str, float | bool]:
    """What a solver reports: the numbers in a dictionary, or one number under the name `value`."""
    named = reported if isinstance(reported, dict) else {"value": reported}
    numbers = {}
    for name, value in named.items():
        try:
            numbers[str(name)] = _truth(value) if str(name) == "solved" else float(value)
        except (TypeError, ValueError):
            continue
    return numbers


def _truth(value: Any) -> bool:
    """Whether a solver says that it has solved the instance; a word counts as yes only if it says so."""
    return value.strip().lower() in ("true", "yes", "1", "solved") if isinstance(value, str) else bool(value)


def _die_with(parent: int) -> None:
    """End this process when its parent ends, or now if that has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def watched(function: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Run a task in a child, and kill it if it takes too long or nobody waits for it any more."""
    incoming, outgoing = os.pipe()
    with tempfile.TemporaryFile(buffering=0) as output:
        parent, child = os.getpid(), os.fork()
        if child == 0:
            os.close(incoming)
            run(function, task, parent, outgoing, output)
        os.close(outgoing)
        begun, answer = time.perf_counter(), None
        with os.fdopen(incoming, "rb") as stream:
            timeout = task["timeout"] + 0.05  # a run that is slightly too long says itself how long it was
            ready, _, _ = select.select([stream, sys.stdin.buffer], [], [], timeout)
            if stream in ready:
                try:
                    answer = read(stream)
                except EOFError:
                    answer = None
        late = not ready
        _kill(child)
        _, status, used = os.wait4(child, 0)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - KEPT))
        text = output.read().decode(errors="replace")
    if answer is None:
        ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"code {status >> 8}"
        error = "it was stopped at the time limit" if late else f"its process ended unexpectedly ({ended})"
        elapsed = time.perf_counter() - begun
        cpu = used.ru_utime + used.ru_stime  # without that of processes which the child has started and not waited for
        answer = {"seconds": elapsed, "cpu_seconds": cpu, "reported": {}, "error": error}
    return {**answer, "late": late, "output": text}


def _kill(child: int) -> None:
    """End the child and all that it has started."""
    for end in (os.killpg, os.kill):
        try:
            end(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def serve() -> None:
    """Run tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints while it is imported must not be taken for an answer
    first = read(sys.stdin.buffer)
    sys.path[:] = first["path"]
    try:
        function = found(first["function"])
    except BaseException as error:
        write(answers, f"{type(error).__name__}: {error}")
        return
    write(answers, None)
    while True:
        try:
            task = read(sys.stdin.buffer)
        except EOFError:
            return
        try:
            write(answers, watched(function, task))
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(0)


if __name__ == "__main__":
    serve()
