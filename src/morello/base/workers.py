"""Worker processes on this machine, which never outlive their parent process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from threading import Thread
from typing import Any

from morello.base.errors import SearchError, TargetError, quoted

MOST_WORKERS = 1024


@contextmanager
def local_workers(count: int) -> Iterator[Executor]:
    """A pool of `count` worker processes; they are terminated if the body raises.

    Raises `TargetError` if the number of processes is out of range, and `SearchError` if one of
    them is killed.
    """
    if not 1 <= count <= MOST_WORKERS:
        raise TargetError(f"there can be 1 to {MOST_WORKERS} workers, not {quoted(count)}.")
    others = set(active_children())
    _start_tracker()
    workers = _Workers(count, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        yield workers
    except BrokenProcessPool:
        raise SearchError(
            "a worker was ended by something else, most likely for want of memory; "
            "start again with fewer workers, from where this left off."
        ) from None
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        workers.shutdown()


class _Workers(ProcessPoolExecutor):
    """A process pool that leaves keyboard interrupts, which all processes get, to the parent."""

    def submit(self, *task: Any, **options: Any) -> Any:
        """Submits with SIGINT blocked, as the processes that this starts inherit the mask."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(*task, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Start the resource tracker of `multiprocessing`, with its warnings turned off."""
    saved = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        if saved is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = saved


def end_with_parent() -> None:
    """Make this process exit as soon as its parent has ended."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()
