"""Work that is shared with workers: all of it is done, wherever, and nobody is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.test_workers import is_gone
from tests.waiting import PATIENCE_S, comes_true, ends_soon

from morello.base import sharing
from morello.base.errors import SpecError
from morello.base.sharing import SharedWork, same_workers
from morello.base.workers import CrashError, StartError, Worker

Done = tuple[int, int]
"""An item, and the process that did it."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", 0.0)


def quick(item: int) -> Done:
    return item, os.getpid()


def refused(item: int) -> Done:
    if item % 2:
        raise SpecError(f"{item} is odd.")
    return quick(item)


def fatal(item: int) -> Done:
    os.kill(os.getpid(), signal.SIGKILL)
    return item, 0


def wrong(item: int) -> Done:
    raise ZeroDivisionError


def very_slow(item: int) -> Done:
    time.sleep(PATIENCE_S)
    return item, os.getpid()


def work(
    count: int,
    there: Callable[[int], Done] = quick,
    here: Callable[[int], Done] = quick,
    movable: Callable[[int], bool] = lambda item: True,
) -> SharedWork[int, Done]:
    return SharedWork(range(count), here, there, movable)


def shared_work(
    folder: Path,
    count: int,
    there: Callable[[int], Done] = quick,
    here: Callable[[int], Done] = quick,
) -> SharedWork[int, Done]:
    """Work of which nothing is done here before a worker has begun an item.

    However long a worker takes to start, there is something left for it.
    """

    def late(item: int) -> Done:
        assert comes_true(lambda: any(folder.iterdir()))
        return here(item)

    return work(count, partial(announced, there, folder), late)


def announced(function: Callable[[int], Done], folder: Path, item: int) -> Done:
    """The result of a function; a file shows that it was begun."""
    (folder / str(item)).touch()
    return function(item)


def test_all_is_done_here_and_in_workers(tmp_path: Path) -> None:
    shared = shared_work(tmp_path, 24)
    shared.do(2, waiting=lambda: None)
    done = [shared.results[n] for n in range(24)]
    items, processes = zip(*(one for one in done if isinstance(one, tuple)), strict=True)
    assert items == tuple(range(24))
    assert os.getpid() in processes and len(set(processes)) > 1
    assert all(is_gone(process) for process in set(processes) - {os.getpid()})


def test_workers_stay_for_more_work(tmp_path: Path) -> None:
    with same_workers():
        first, second = (_workers(tmp_path / name) for name in ("first", "second"))
    assert len(first) == 1 and first == second
    assert all(map(is_gone, first))


def _workers(folder: Path) -> set[int]:
    """The processes of the workers that do some of the work."""
    folder.mkdir()
    shared = shared_work(folder, 9)
    shared.do(1, waiting=lambda: None)
    return {done[1] for done in shared.results.values() if isinstance(done, tuple)} - {os.getpid()}


def test_little_work_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", PATIENCE_S)
    started: list[Worker] = []
    monkeypatch.setattr(Worker, "start", started.append)
    shared = work(2)
    with ends_soon():
        shared.do(3, waiting=lambda: None)
    assert shared.results == {n: (n, os.getpid()) for n in range(2)}
    assert started == []


def test_what_cannot_move_is_done_here() -> None:
    shared = work(12, movable=lambda item: item % 3 == 0)
    shared.do(1, waiting=lambda: None)
    moved = {n for n, done in shared.results.items() if done != (n, os.getpid())}
    assert len(shared.results) == 12 and moved <= {0, 3, 6, 9}


def test_an_error_is_the_result_of_its_item(tmp_path: Path) -> None:
    shared = shared_work(tmp_path, 16, there=refused, here=refused)
    shared.do(1, waiting=lambda: None)
    for item, done in shared.results.items():
        assert isinstance(done, SpecError) if item % 2 else not isinstance(done, Exception)
    assert len(shared.results) == 16


def test_a_worker_that_ends_loses_its_item_only(tmp_path: Path) -> None:
    shared = shared_work(tmp_path, 8, there=fatal)
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
def test_what_is_no_error_of_the_house_ends_the_work(place: str, tmp_path: Path) -> None:
    shared = shared_work(tmp_path, 20, **{place: wrong})
    with pytest.raises(ZeroDivisionError):
        shared.do(1, waiting=lambda: None)


def test_what_is_called_while_waiting_may_end_the_work(tmp_path: Path) -> None:
    def ending() -> None:
        raise ZeroDivisionError

    shared = shared_work(tmp_path, 2, there=very_slow)
    with ends_soon(), pytest.raises(ZeroDivisionError):
        shared.do(1, waiting=ending)


def test_an_interrupt_ends_the_workers(tmp_path: Path) -> None:
    def interrupted(item: int) -> Done:
        raise KeyboardInterrupt

    shared = shared_work(tmp_path, 3, there=very_slow, here=interrupted)
    with ends_soon(), pytest.raises(KeyboardInterrupt):
        shared.do(2, waiting=lambda: None)
