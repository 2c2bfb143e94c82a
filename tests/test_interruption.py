"""Commands that are told to end while compiled code runs."""

import os
import signal
import subprocess
import sys
import time

import pytest

ENDLESS = """
import jax

print("ready", flush=True)
jax.block_until_ready(jax.jit(lambda x: jax.lax.while_loop(lambda x: x >= 0, lambda x: x * 0.5, x))(1.0))
"""


def ended(command, number):
    """Seconds from a signal to the end of a process that is inside of compiled code, its exit code and its words."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(3.0)  # for the compiler
        assert process.poll() is None
        started = time.monotonic()
        process.send_signal(number)
        _, words = process.communicate(timeout=60)
        return time.monotonic() - started, process.returncode, words
    finally:
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_in_an_endless_step(number, tmp_path):
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS)
    program = "from loa.cli import app; app()"
    command = [sys.executable, "-c", program, "run", str(file), "--out", str(tmp_path / "out")]
    seconds, code, words = ended(command, number)
    assert code == 128 + number
    assert seconds < 5.0  # two seconds on a machine that is not busy
    assert words.startswith("loa: interrupted; `loa run ")
    assert words.endswith("--resume` continues from here.\n")
    assert words.count("interrupted") == 1


def test_an_ignored_signal_stays_ignored(tmp_path):
    program = (
        "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from loa.storage.interruption import end_on_signals; end_on_signals('ended.');"
        "print('ready', flush=True); signal.raise_signal(signal.SIGHUP); time.sleep(2.5); print('alive')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == 0
    assert done.stdout.split() == ["ready", "alive"]


def test_a_main_thread_that_has_ended_is_not_contradicted():
    """It waits for another thread, as when JAX still computes; the process ends all the same, without more words."""
    program = (
        "import signal, threading, time\n"
        "from loa.storage.interruption import end_on_signals; end_on_signals('ended.')\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "try: signal.raise_signal(signal.SIGTERM)\nexcept KeyboardInterrupt: print('told')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "told\n", "")


@pytest.mark.parametrize(
    "caught",
    [
        "class Waste:\n    def __del__(self): signal.raise_signal(signal.SIGTERM)\nWaste()\ntime.sleep(60)",
        "try: signal.raise_signal(signal.SIGTERM)\nexcept KeyboardInterrupt: sys.exit(1)",
    ],
    ids=["in a garbage collection", "by somebody who says nothing"],
)
def test_an_interrupt_that_is_lost_ends_the_process_all_the_same(caught):
    start = "import signal, sys, time\nfrom loa.storage.interruption import end_on_signals; end_on_signals('ended.')\n"
    done = subprocess.run(
        [sys.executable, "-c", start + caught], capture_output=True, text=True, timeout=30, env=os.environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "loa: ended.\n")


WAITS = """
import os, sys, time
import loa
from concurrent.futures import ThreadPoolExecutor

def endless(instance):
    open(sys.argv[1], "w").close()
    while True:
        pass

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as executor:
        loa.measure(endless, list(range(8)), timeout=60.0, executor=executor)
"""


def test_ctrl_c_ends_solvers_that_threads_wait_for(tmp_path):
    """The threads of an executor would otherwise wait for the time limit of every run that was begun."""
    file, begun = tmp_path / "waits.py", tmp_path / "begun"
    file.write_text(WAITS.replace("sys.argv[1]", repr(str(begun))))
    process = subprocess.Popen([sys.executable, str(file)], stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.05)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=30)
        assert time.monotonic() - started < 10.0
        assert words.strip().endswith("KeyboardInterrupt")
    finally:
        process.kill()


IMPORTING = """
import signal, sys, types
from loa.storage.interruption import end_on_signals

end_on_signals("ended.")
sys.meta_path.insert(0, types.SimpleNamespace(find_spec=lambda *_: signal.raise_signal(signal.SIGINT)))
try:
    import colorsys
finally:
    print("half of a module")
"""


def test_a_signal_during_an_import_leaves_no_half_of_a_module():
    """In NumPy and JAX, what comes after it would be a recursion without end, or a crash."""
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=60, env=os.environ)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "loa: ended.\n")
