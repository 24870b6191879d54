"""Items of work that this process shares with worker processes, to use all cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from threading import Event
from typing import Generic, TypeVar

from morello.base.errors import MorelloError
from morello.base.workers import POLL_S, StartError, Worker

I = TypeVar("I")  # noqa: E741 - an item
T = TypeVar("T")

PATIENCE_S = 0.5
"""The seconds of work after which workers are started: one takes a second to start."""


_workers: ContextVar[list[Worker] | None] = ContextVar("workers", default=None)


@contextmanager
def same_workers() -> Iterator[list[Worker]]:
    """Shares all work in the body with the same workers, which are ended after it.

    A nested context has the workers of the outer one.
    """
    known = _workers.get()
    if known is not None:
        yield known
        return
    workers: list[Worker] = []
    token = _workers.set(workers)
    try:
        yield workers
    finally:
        _workers.reset(token)
        for worker in workers:
            worker.kill()
            worker.end()


@dataclass
class SharedWork(Generic[I, T]):
    """Items of work, each to be done by this process (`here`) or in a worker (`there`).

    `here` and `there` give the result of an item. What `there` is, takes and gives must be
    picklable. Items that are not `movable` are done here. `results` are those so far, by the number
    of their items: what was given, or the `MorelloError` that was raised.
    """

    items: Sequence[I]
    here: Callable[[I], T]
    there: Callable[[I], T]
    movable: Callable[[I], bool]
    results: dict[int, T | Exception] = field(default_factory=dict)

    def do(self, workers: int, waiting: Callable[[], object]) -> None:
        """Do all items, with so many workers, which are started if it takes long.

        `waiting` is called now and then while there is nothing to do here. What it raises ends the
        work, and so does an exception of an item that is no `MorelloError`.
        """
        numbers = range(len(self.items))
        self._left = deque(n for n in numbers if self.movable(self.items[n]))
        own = deque(n for n in numbers if not self.movable(self.items[n]))
        self._over, self._news, self._ready = Event(), Event(), set[Worker]()
        self._faults: list[Exception] = []  # what was raised that is no `MorelloError`
        count = min(workers, len(self._left))
        with same_workers() as crew, ThreadPoolExecutor(max(count, 1)) as threads:
            crew += [Worker() for _ in range(count - sum(not each.killed for each in crew))]
            helping = [worker for worker in crew if not worker.killed][:count]
            for worker in helping:
                threads.submit(self._help, worker)
            try:
                self._do_here(own, waiting)
            finally:
                self._over.set()
                self._left.clear()
                done = len(self.results) == len(self.items)
                for worker in helping:
                    if not (done and worker in self._ready):
                        worker.kill()

    def _do_here(self, own: deque[int], waiting: Callable[[], object]) -> None:
        """Do the items that are not movable, and others, until workers have done the rest."""
        while len(self.results) < len(self.items):
            number = _first(own, self._left)
            if number is None:
                self._news.wait(POLL_S)
                self._news.clear()
                waiting()
            else:
                self._do(number, self.here)
            self._check()
        self._check()  # what a worker did last may have failed since

    def _check(self) -> None:
        if self._faults:
            raise self._faults[0]

    def _do(self, number: int, function: Callable[[I], T]) -> None:
        try:
            self.results[number] = function(self.items[number])
        except StartError:
            raise
        except Exception as error:
            if not isinstance(error, MorelloError):
                self._faults.append(error)
            self.results[number] = error

    def _help(self, worker: Worker) -> None:
        """Do items in a worker, until there are none left."""
        if not worker.alive and self._over.wait(PATIENCE_S):
            return

        def there(item: I) -> T:
            return worker.run(self.there, item, seconds=inf)

        number = None
        try:
            worker.run(_imported, self.there, seconds=inf)  # before an item waits for it
            self._ready.add(worker)
            while (number := _first(self._left)) is not None:
                self._do(number, there)
                self._news.set()
        except MorelloError:  # it does not start, or is not needed any more
            if number is not None:
                self._left.append(number)


def _first(*queues: deque[int]) -> int | None:
    """The first number of the first queue that has one; it is taken out."""
    for queue in queues:
        try:
            return queue.popleft()
        except IndexError:
            continue
    return None


def _imported(function: object) -> None:
    """Do nothing: to unpickle the function imports its module, before that is needed."""
