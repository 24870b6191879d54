"""Commands as processes: whatever ends them, they leave a sentence, a code, and nothing else."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import some
from tests.waiting import PATIENCE_S, comes_true

from fuzz.launch import Command, command_line, marked
from morello.base.errors import MorelloError, TableError
from morello.cli.clock import CommandClock
from morello.cli.parser import main
from morello.cli.program import budget_of
from morello.memo import Table
from morello.request import Request, answer
from morello.search.budget import LEAST_S, WAITING

SMALL = "f32[8,8] @ f32[8,8]"
FILLED = "fill_zero(f32[4])"
"""For commands that only have to come to an end."""


def chained(error: Exception, cause: BaseException | None, context: BaseException) -> Exception:
    error.__cause__, error.__context__ = cause, context
    return error


def test_a_budget_counts_from_the_start_of_a_command() -> None:
    assert CommandClock().used() == 0  # of no process of its own
    clock = CommandClock(time.monotonic() - 8.0)
    assert clock.used() >= 8 * WAITING
    arguments = argparse.Namespace(budget=1.0, gap=0.1, clock=clock)
    budget = budget_of(arguments)
    assert (budget.seconds, budget.gap, budget.left) == (1.0, 0.1, LEAST_S)


def test_calibrating_uses_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(name: str) -> None:
        assert name == "avx2"
        clock.start = time.monotonic() - 4000.0

    budgets = []

    def answering(request: Request) -> Any:
        budgets.append(request.budget.left)
        return answer(request)

    clock = CommandClock(time.monotonic())
    monkeypatch.setattr("morello.cli.program.measure_once", measure)
    monkeypatch.setattr("morello.cli.synthesis.answer", answering)
    assert main(["synth", SMALL, "--target", "avx2", "--budget", "900"], clock) == 0
    assert budgets[0] > 100


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        chained(SystemError("returned a result with an exception set"), None, KeyboardInterrupt()),
        chained(SystemError("and so on"), KeyboardInterrupt(), ValueError()),
        chained(
            TableError("cannot roll back"), None, chained(OSError(), None, KeyboardInterrupt())
        ),
    ],
    ids=repr,
)
def test_what_came_of_an_interrupt_is_one(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("morello.search.session.Session.solve", interrupt)
    assert main(["explain", SMALL]) == 130
    assert capsys.readouterr().err == "morello: interrupted.\n"


def test_what_is_a_bug_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemError("of another cause")

    monkeypatch.setattr("morello.search.session.Session.solve", fail)
    with pytest.raises(SystemError):
        main(["explain", SMALL])


START = """
import os, signal, sys, time
from morello.__main__ import run
from morello.cli import parser
from morello.base.errors import MorelloError
def instead(work):
    "Any command does this."
    parser._run = work
"""


LIKE_A_TERMINAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
"""The dispositions of signals there: under `nohup` or in the background, some are ignored."""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, after some code that may change things."""
    return subprocess.run(
        [sys.executable, "-c", f"{LIKE_A_TERMINAL}{START}\n{code}\nsys.exit(run())", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("imports", [1, 20, 100, 200, 400])
def test_interrupts_while_modules_are_imported(imports: int) -> None:
    code = f"""
left = {imports}
def count(event, _):
    global left
    left -= event == "import"
    if event == "import" and left == 0:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(count)
"""
    done = run(code, "explain", SMALL)
    assert (done.returncode, done.stderr) == (130, "morello: interrupted.\n")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated"),
        (signal.SIGHUP, "ended"),
    ],
)
def test_interrupts_that_python_drops_come_again(number: int, said: str) -> None:
    code = f"""
class Dropping:
    def __del__(self):
        signal.raise_signal({int(number)})
def drop(_):
    Dropping()
    time.sleep({PATIENCE_S})
instead(drop)
"""
    done = run(code, "explain", SMALL)
    assert (done.returncode, done.stderr) == (128 + number, f"morello: {said}.\n")


def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup` ignores signals in this way."""
    code = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
def go_on(_):
    signal.raise_signal(signal.SIGHUP)
    raise MorelloError("went on.")
instead(go_on)
"""
    done = run(code, "explain", SMALL)
    assert (done.returncode, done.stderr) == (2, "morello: went on.\n")


def test_a_file_that_is_being_written_when_it_is_terminated(tmp_path: Path) -> None:
    code = """
def fsync(_):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(3600)
os.fsync = fsync
"""
    path = tmp_path / "x.c"
    path.write_text("old")
    done = run(code, "synth", FILLED, "-o", str(path))
    assert (done.returncode, done.stderr) == (143, "morello: terminated.\n")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


PRINTING = f"""{START}
import select, stat
def output(arguments):
    "A line, in either way that commands print; into a pipe, once nobody reads it any more."
    if stat.S_ISFIFO(os.fstat(1).st_mode):
        left = select.poll()
        left.register(1, 0)
        left.poll()
    if arguments.command == "explain":
        raise MorelloError("nonsense.")
    if arguments.json:
        from morello.cli.output import print_json
        print_json({{}})
    else:
        from rich.console import Console
        Console().print("a line")
instead(output)
sys.exit(run())
"""


def redirected(command: str, streams: str, unbuffered: str, code: str | None) -> tuple[int, str]:
    """The exit code and the standard error of a command, or of code that does as one."""
    start = "-m morello" if code is None else '-c "$1"'
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "$0" {start} {command} {streams}', sys.executable]
        + ([] if code is None else [code]),
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "streams", "code", "said", "unbuffered"),
    some(
        [
            ("targets", ">&-", 2, "standard output: Bad file descriptor", ""),
            ("targets --json", ">&-", 2, "standard output: Bad file descriptor", "1"),
            ("targets", ">/dev/full", 2, "standard output: No space left", ""),
            ("targets", ">/dev/full", 2, "standard output: No space left", "1"),
            ("explain nonsense --json", ">/dev/full", 2, "nonsense", ""),
            ("explain nonsense --json", ">/dev/full", 2, "nonsense", "1"),
            ("explain nonsense", ">&-", 2, "nonsense", ""),
            ("targets", ">&- 2>&-", 2, "", "1"),
            ("targets", ">&- <&- 2>/dev/full", 2, "", ""),
            ("targets", "| true", 0, "", ""),
            ("targets", "| true", 0, "", "1"),
        ],
        4,
    ),
)
def test_output_that_cannot_be_written(
    command: str, streams: str, code: int, said: str, unbuffered: str
) -> None:
    """Unbuffered output fails at the write, buffered output when it is flushed at exit."""
    ended, errors = redirected(command, streams, unbuffered, PRINTING)
    assert ended == code and said in errors
    assert errors.count("morello:") == (1 if said else 0)


def test_output_of_a_command_that_cannot_be_written() -> None:
    full = redirected("targets", ">/dev/full", "", None)
    assert full == (2, "morello: standard output: No space left on device.\n")
    assert redirected("targets", "| true", "1", None) == (0, "")


def test_nothing_is_said_to_a_closed_output(tmp_path: Path) -> None:
    """A command that prints nothing runs without standard output; no file takes its number."""
    path = tmp_path / "x.c"
    command = f'"$0" -m morello synth "{FILLED}" -o "$1" --db "$2" >&- 2>&-'
    arguments = [sys.executable, str(path), str(tmp_path / "t.db")]
    subprocess.run(["bash", "-c", command, *arguments], check=True)
    assert path.read_text().startswith("/*")
    with Table(tmp_path / "t.db", create=False) as table:
        assert table.check() == []


def precomputing(path: Path) -> subprocess.Popen[str]:
    """A process with workers, which have its standard error too, in a group of their own.

    Each task is a single goal.
    """
    code = (
        f"{LIKE_A_TERMINAL}import sys; from morello import precompute; "
        "from morello.__main__ import run; precompute.WEIGHT = 0.0; sys.exit(run())"
    )
    sizes = ["m=1024..1279+1", "n=1024..1087+1"]
    options = ["--db", str(path), "--target", "avx2", "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", code, "precompute", "fill_zero(f32[m,n])", *sizes, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def done_tasks(path: Path) -> set[str]:
    with suppress(MorelloError), Table(path, create=False) as table:
        return table.done()
    return set()


@pytest.mark.parametrize(
    ("number", "all_of_them", "said"),
    some(
        [
            (signal.SIGINT, True, "morello: interrupted.\n"),
            (signal.SIGKILL, False, ""),
            (signal.SIGTERM, False, "morello: terminated.\n"),
        ],
        3,
    ),
)
def test_workers_do_not_outlive_their_parent(
    number: int, all_of_them: bool, said: str, tmp_path: Path
) -> None:
    """Their own processes end as well, silently; finished tasks are in the table."""
    path = tmp_path / "t.db"
    process = precomputing(path)
    try:
        assert comes_true(lambda: bool(done_tasks(path)))
        before = done_tasks(path)
        send = os.killpg if all_of_them else os.kill
        send(process.pid, number)
        # Which ends only when nobody has its standard error any more.
        output, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert (output, errors) == ("", said)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    with Table(path, create=False) as table:
        assert table.check() == [] and before <= table.done()


@pytest.mark.parametrize(
    "arguments",
    [
        ("tune", "f32[64,64] @ f32[64,64]", "--seconds", "60", "--order", "affine"),
        ("precompute", "f32[m,n] @ f32[n,m]", "m=64..128+1", "n=64..128+1", "--db", "t.db",
         "--target", "avx2", "--workers", "2"),
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_no_process_is_left_after_an_interrupt(
    arguments: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is left even for a moment."""
    monkeypatch.setenv("MORELLO_CALIBRATION", "off")
    command = Command.start(("-m", "morello", *arguments), tmp_path)
    try:
        assert comes_true(lambda: bool(worker_processes(command)))
        command.process.send_signal(signal.SIGINT)
        command.process.wait(PATIENCE_S)
        assert marked(command.mark) == []
    finally:
        command.end()
    assert command.process.returncode == 130


def worker_processes(command: Command) -> list[int]:
    """The processes with a worker that a command has started."""
    return [pid for pid in marked(command.mark) if "sys.path[:]" in command_line(pid)]


def interrupted(arguments: Sequence[str], after: float) -> tuple[int, str]:
    """The exit status and errors of a command that is interrupted `after` seconds of work."""
    code = (
        f"{LIKE_A_TERMINAL}import sys; from morello.__main__ import run; print(flush=True); "
        "sys.exit(run())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


@pytest.mark.parametrize("after", [0.2, 0.9])
def test_interrupts_at_any_moment(after: float) -> None:
    """It has no program by then, on the fastest machine."""
    spec = (
        "x = f32[509,503]; softmax(x @ f32[503,499] + f32[499]) @ f32[499,491] + x @ f32[503,491]"
    )
    search = ["explain", spec, "--budget", "600"]
    assert interrupted(search, after) == (130, "morello: interrupted.\n")


AGAIN = """
import os, signal, sys, threading, time
class Interrupting:
    def find_spec(self, name, *_):
        if name == "morello.cli.parser":
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from morello.__main__ import run
code = run()
time.sleep(0.3)
sys.exit(code)
"""


def test_an_interrupt_while_loading_may_come_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AGAIN], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (130, "morello: interrupted.\n")


@pytest.mark.parametrize("module", ["morello.cli.process", "morello.cli.parser"])
def test_an_interrupt_while_a_string_is_executed_ends_with_130(module: str, tmp_path: Path) -> None:
    """As dataclasses do when they are imported; `sitecustomize` is loaded before any module."""
    (tmp_path / "sitecustomize.py").write_text(f"""
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "{module}":
            exec("raise KeyboardInterrupt")
sys.meta_path.insert(0, Interrupting())
""")
    done = subprocess.run(
        [sys.executable, "-m", "morello", "explain", SMALL],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "morello: interrupted.\n")
