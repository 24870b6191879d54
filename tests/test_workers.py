"""Functions in processes of their own: results, errors, crashes, limits, and who outlives whom."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S, comes_true, ends_soon

from morello.base.errors import MorelloError, SearchError, VerificationError
from morello.base.workers import (
    START_S,
    CrashError,
    PausedWorker,
    StartError,
    Worker,
    local_workers,
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def base_name(worker: Worker) -> str:
    """The answer of the worker to a task, which shows that it works: "b"."""
    name: str = worker.run(os.path.basename, "a/b", seconds=PATIENCE_S)
    return name


def comes_to(pid: int, *states: str) -> bool:
    """Whether a process comes to one of these states of Linux; "" is none."""

    def is_there() -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            state = ""
        return state in states

    return comes_true(is_there)


def is_gone(pid: int) -> bool:
    """Whether a process ends; one that is nobody's child is no zombie."""
    return comes_to(pid, "", "Z")


# ---- results and errors


def wrong() -> None:
    raise VerificationError("it is wrong")


def test_a_worker_gives_results_and_errors(worker: Worker) -> None:
    assert base_name(worker) == "b"
    pid = worker.pid
    with pytest.raises(VerificationError, match="it is wrong"):
        worker.run(wrong, seconds=PATIENCE_S)
    assert base_name(worker) == "b" and worker.pid == pid


class UnpicklableError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def unexpected(text: str) -> None:
    raise UnpicklableError(text, "!") if text else KeyError("none")


def unpicklable() -> Iterator[int]:
    return (n for n in range(3))


def test_unexpected_errors_show_where_they_come_from(worker: Worker) -> None:
    with pytest.raises(KeyError) as caught:
        worker.run(unexpected, "", seconds=PATIENCE_S)
    assert any("in unexpected" in note for note in caught.value.__notes__)
    with pytest.raises(RuntimeError, match=r"in unexpected(.|\n)*UnpicklableError: oh!"):
        worker.run(unexpected, "oh", seconds=PATIENCE_S)
    with pytest.raises(TypeError, match="pickle"):
        worker.run(unpicklable, seconds=PATIENCE_S)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        worker.run(lambda: 1, seconds=PATIENCE_S)
    assert base_name(worker) == "b"


def printing() -> int:
    print("printed", flush=True)
    os.system("echo by a child")
    return len(sys.stdin.read())


def test_what_is_printed_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with Worker() as worker:
        assert worker.run(printing, seconds=PATIENCE_S) == 0
    assert capfd.readouterr() == ("", "printed\nby a child\n")


def countdown(count: int) -> Iterator[int]:
    yield from range(count, 0, -1)
    print("out of luck", file=sys.stderr, flush=True)
    os._exit(3)


def test_results_come_one_by_one(worker: Worker) -> None:
    assert list(worker.stream(range, 3, seconds=PATIENCE_S)) == [0, 1, 2]
    for item in worker.stream(range, 3, seconds=PATIENCE_S):
        assert item == 0
        break
    assert base_name(worker) == "b"


# ---- crashes and limits


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def test_a_worker_outlives_crashes_and_ends_what_hangs(worker: Worker) -> None:
    with pytest.raises(CrashError, match="ended with SIGSEGV") as crashed:
        worker.run(crash, seconds=PATIENCE_S)
    assert crashed.value.how == "SIGSEGV"
    assert base_name(worker) == "b"
    pid = worker.pid
    with pytest.raises(CrashError, match="still running after 1 s") as hung:
        worker.run(time.sleep, 60, seconds=1)
    assert hung.value.how == "" and is_gone(pid)
    assert base_name(worker) == "b"


def test_imports_do_not_count_as_time_of_a_function() -> None:
    limits: list[float] = []

    class Timed(Worker):
        def time_limit(self, seconds: float) -> Callable[[], bool]:
            limits.append(seconds)
            return super().time_limit(seconds)

    with Timed() as worker:
        base_name(worker)
    start, imports, *answers = limits
    assert start == imports == START_S and {*answers} == {PATIENCE_S}


def test_the_last_words_of_a_crash_are_told(tmp_path: Path) -> None:
    got = []
    with Worker(log=tmp_path / "log") as worker:
        with pytest.raises(CrashError, match="ended with code 3: out of luck") as crashed:
            for item in worker.stream(countdown, 2, seconds=PATIENCE_S):
                got.append(item)
        assert got == [2, 1] and crashed.value.written == ("out of luck",)
        base_name(worker)
        assert (tmp_path / "log").read_text() == ""


def allocate(count: int) -> int:
    return len(bytearray(count))


def test_a_paused_worker_is_stopped_between_functions() -> None:
    with PausedWorker() as worker:
        for _ in range(2):
            assert base_name(worker) == "b"
            assert comes_to(worker.pid, "T")
        with pytest.raises(VerificationError):
            worker.run(wrong, seconds=PATIENCE_S)
        assert comes_to(worker.pid, "T")
        pid = worker.pid
    assert is_gone(pid)


def test_memory_is_bounded() -> None:
    with Worker(memory=1 << 30) as worker:
        assert worker.run(allocate, 1 << 20, seconds=PATIENCE_S) == 1 << 20
        with pytest.raises(MemoryError):
            worker.run(allocate, 1 << 30, seconds=PATIENCE_S)


def test_it_works_in_its_folder_and_environment(tmp_path: Path) -> None:
    with Worker(folder=tmp_path, environment={"ONLY": "this"}) as worker:
        assert worker.run(os.getcwd, seconds=PATIENCE_S) == str(tmp_path)
        assert worker.run(os.getenv, "ONLY", seconds=PATIENCE_S) == "this"
        assert worker.run(os.getenv, "HOME", seconds=PATIENCE_S) is None


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("morello.base.workers._BOOT", "raise SystemExit(5)")
    with pytest.raises(StartError, match="no process can be started: its process ended with code"):
        base_name(Worker())
    with pytest.raises(StartError, match=r"no process can be started: .*nowhere"):
        base_name(Worker(folder=Path("nowhere")))


# ---- its end


def busy(begun: Path) -> None:
    """Work without end, of which a file shows that it has begun."""
    begun.touch()
    time.sleep(3600)


def test_another_thread_may_end_it(tmp_path: Path) -> None:
    worker, begun = Worker(), tmp_path / "begun"
    base_name(worker)
    pid = worker.pid

    def kill() -> None:
        if comes_true(begun.exists):
            worker.kill()

    threading.Thread(target=kill).start()
    with pytest.raises(CrashError, match="SIGKILL"):
        worker.run(busy, begun, seconds=PATIENCE_S)
    with pytest.raises(CrashError, match="told to end"):
        base_name(worker)
    assert is_gone(pid)


PARENT = """
import os, signal, sys, time
from pathlib import Path
from morello.base.workers import Worker
from tests.test_workers import busy
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
worker, begun = Worker(), Path(sys.argv[2])
child = worker.run(os.spawnlp, os.P_NOWAIT, "sleep", "sleep", "3600", seconds=3600)
print(worker.pid, child, flush=True)
if sys.argv[1] == "stopped":
    os.kill(worker.pid, signal.SIGSTOP)
    busy(begun)
try:
    worker.run(busy, begun, seconds=3600)
except KeyboardInterrupt:
    print(worker.alive, flush=True)
    time.sleep(3600)
"""


@pytest.mark.parametrize("state", ["busy", "stopped"])
def test_a_worker_never_outlives_its_parent(state: str, tmp_path: Path) -> None:
    """Nor does what it started."""
    begun = tmp_path / "begun"
    command = [sys.executable, "-c", PARENT, state, str(begun)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert comes_true(begun.exists)
        parent.kill()
    assert all(map(is_gone, pids)) and len(pids) == 2


def test_an_interrupt_ends_the_worker_at_once(tmp_path: Path) -> None:
    """Of a terminal, which sends it to the whole process group of the parent."""
    begun = tmp_path / "begun"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "busy", str(begun)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert parent.stdout is not None
    parent.stdout.readline()
    assert comes_true(begun.exists)
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.stdout.readline() == b"False\n"
    parent.kill()
    assert parent.communicate(timeout=PATIENCE_S)[1] == b""


# ---- pools


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def test_a_pool_has_its_tasks_done_by_processes() -> None:
    with local_workers(2) as workers:
        pids = list(workers.map(pid_after, [0.3] * 4))
        with pytest.raises(MorelloError, match="it is wrong"):
            workers.submit(wrong).result()
    assert len({*pids}) == 2 and os.getpid() not in pids
    assert all(map(is_gone, pids))


def test_a_pool_whose_body_fails_is_killed() -> None:
    with ends_soon(), pytest.raises(KeyboardInterrupt), local_workers(2) as workers:
        pids = [workers.submit(pid_after, 0).result()]
        waiting = [workers.submit(pid_after, PATIENCE_S) for _ in range(4)]
        raise KeyboardInterrupt
    assert all(future.done() for future in waiting) and all(map(is_gone, pids))


def test_a_process_of_a_pool_that_is_killed() -> None:
    with pytest.raises(SearchError, match="most likely for want of memory"), local_workers(1) as w:
        w.submit(os.abort).result()
