"""Runs what takes seconds in steps: a search goes on only while it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from threading import Semaphore, Thread
from typing import TypeVar

from morello.search.budget import BudgetError, Progress

T = TypeVar("T")


def stepwise(work: Callable[[Progress], T]) -> Generator[None, None, T]:
    """The steps of `work`, which calls what it is given again and again; gives its result.

    It runs in a thread, which waits between two steps. If there is no next step, because the
    generator is closed, the work ends with a `BudgetError`.
    """
    wanted, done = Semaphore(0), Semaphore(0)
    result: Future[T] = Future()
    closed = False

    def pause(specs: int, rewrites: int) -> None:
        done.release()
        wanted.acquire()
        if closed:
            raise BudgetError("nobody waits for its result any more")

    def run() -> None:
        wanted.acquire()
        try:
            result.set_result(work(pause))
        except BaseException as error:  # to be raised where the result is wanted
            result.set_exception(error)
        done.release()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            wanted.release()
            done.acquire()
            if result.done():
                return result.result()
            yield
    finally:
        closed = True
        wanted.release()
        thread.join()
