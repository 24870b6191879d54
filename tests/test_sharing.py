"""Work that is shared with workers: all of it is done, wherever, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from tests.test_workers import is_gone

from morello.base import sharing
from morello.base.errors import SpecError
from morello.base.sharing import SharedWork, same_workers
from morello.base.workers import CrashError, StartError, Worker

Done = tuple[int, int]
"""An item, and the process that did it."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", 0.0)


def slow(item: int) -> Done:
    time.sleep(0.3)
    return item, os.getpid()


def refused(item: int) -> Done:
    if item % 2:
        raise SpecError(f"{item} is odd.")
    return slow(item)


def fatal(item: int) -> Done:
    os.kill(os.getpid(), signal.SIGKILL)
    return item, 0


def wrong(item: int) -> Done:
    raise ZeroDivisionError


def rather_slow(item: int) -> Done:
    """So slow that a worker has begun the next item."""
    time.sleep(4)
    return item, os.getpid()


def very_slow(item: int) -> Done:
    time.sleep(60)
    return item, os.getpid()


def work(
    count: int,
    there: Callable[[int], Done] = slow,
    here: Callable[[int], Done] = slow,
    movable: Callable[[int], bool] = lambda item: True,
) -> SharedWork[int, Done]:
    return SharedWork(range(count), here, there, movable)


def test_all_is_done_here_and_in_workers() -> None:
    shared = work(24)
    shared.do(2, waiting=lambda: None)
    done = [shared.results[n] for n in range(24)]
    items, processes = zip(*(one for one in done if isinstance(one, tuple)), strict=True)
    assert items == tuple(range(24))
    assert os.getpid() in processes and len(set(processes)) > 1
    assert all(is_gone(process) for process in set(processes) - {os.getpid()})


def test_workers_stay_for_more_work() -> None:
    with same_workers():
        processes = {done[1] for done in [*_done(9), *_done(9)]} - {os.getpid()}
    assert len(processes) == 1
    assert all(map(is_gone, processes))


def _done(count: int) -> list[Done]:
    shared = work(count)
    shared.do(1, waiting=lambda: None)
    return [done for done in shared.results.values() if isinstance(done, tuple)]


def test_little_work_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", 30.0)
    started: list[Worker] = []
    monkeypatch.setattr(Worker, "start", started.append)
    shared = work(2)
    began = time.monotonic()
    shared.do(3, waiting=lambda: None)
    assert shared.results == {n: (n, os.getpid()) for n in range(2)}
    assert time.monotonic() - began < 10 and started == []


def test_what_cannot_move_is_done_here() -> None:
    shared = work(12, movable=lambda item: item % 3 == 0)
    shared.do(1, waiting=lambda: None)
    moved = {n for n, done in shared.results.items() if done != (n, os.getpid())}
    assert len(shared.results) == 12 and moved <= {0, 3, 6, 9}


def test_an_error_is_the_result_of_its_item() -> None:
    shared = work(16, there=refused, here=refused)
    shared.do(1, waiting=lambda: None)
    for item, done in shared.results.items():
        assert isinstance(done, SpecError) if item % 2 else not isinstance(done, Exception)
    assert len(shared.results) == 16


def test_a_worker_that_ends_loses_its_item_only() -> None:
    shared = work(8, there=fatal)
    shared.do(1, waiting=lambda: None)
    failed = [done for done in shared.results.values() if isinstance(done, Exception)]
    assert len(shared.results) == 8 and 1 <= len(failed) < 8
    assert all(isinstance(error, CrashError) for error in failed)


def test_without_workers_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(worker: Worker) -> None:
        raise StartError("no process can be started.")

    monkeypatch.setattr(Worker, "start", start)
    shared = work(4)
    shared.do(2, waiting=lambda: None)
    assert shared.results == {n: (n, os.getpid()) for n in range(4)}


@pytest.mark.parametrize("place", ["here", "there"])
def test_what_is_no_error_of_the_house_ends_the_work(place: str) -> None:
    shared = work(20, there=wrong) if place == "there" else work(20, here=wrong)
    with pytest.raises(ZeroDivisionError):
        shared.do(1, waiting=lambda: None)


def test_what_is_called_while_waiting_may_end_the_work() -> None:
    def ending() -> None:
        raise ZeroDivisionError

    began = time.monotonic()
    shared = work(2, there=very_slow, here=rather_slow)
    with pytest.raises(ZeroDivisionError):
        shared.do(1, waiting=ending)
    assert time.monotonic() - began < 40


def test_an_interrupt_ends_the_workers() -> None:
    def interrupted(item: int) -> Done:
        time.sleep(1)
        raise KeyboardInterrupt

    began = time.monotonic()
    shared = work(3, there=very_slow, here=interrupted)
    with pytest.raises(KeyboardInterrupt):
        shared.do(2, waiting=lambda: None)
    assert time.monotonic() - began < 30
