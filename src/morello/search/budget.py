"""When a search ends before its program is proven: limits on its time and memory, and its gap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import TYPE_CHECKING, ClassVar, Self

from morello.base.errors import SearchError, quoted
from morello.base.memory import free_memory
from morello.base.status import tell

if TYPE_CHECKING:
    import psutil

Progress = Callable[[int, int], None]
"""Called during a search with the numbers of Specs and rewrites expanded so far.

It may raise: `BudgetError` ends the search as if its budget were used up.
"""

SECONDS = 20.0
"""The default time limit of a search."""

BOUND = 0.5
"""The share of the time of a search that its lower bound may take."""

LEAST_S = 1e-3
"""The least seconds of a budget that is a share of another: that one is used up by then."""

INTERVAL_S = 0.02
"""The least time between two checks of the memory in use, or two reports, in seconds."""


WAITING = 0.25
"""How much of the time in which a search waits for the processor counts against its budget."""


def clock() -> float:
    """A clock for budgets, in seconds: of the processor, and `WAITING` of those without it.

    So a search finds no worse program because the machine is busy, or this process may only use a
    part of it, unless it has to wait for very long.
    """
    return seconds_since(0.0)


def seconds_since(start: float) -> float:
    """The seconds by `clock` since this thread started, which was at that `time.monotonic`."""
    return (1 - WAITING) * time.thread_time() + WAITING * (time.monotonic() - start)


class BudgetError(SearchError):
    """A search used up its budget."""


@dataclass(frozen=True)
class Budget:
    """The limits of one search: seconds, and a share of the memory that is free at its start.

    The search may also end once its program is proven to cost at most `gap`, a fraction, more than
    the cheapest. With a gap of 0 it has to prove that no program is cheaper. Of the seconds, some
    may be `used` up before it starts.
    """

    seconds: float = SECONDS
    memory: float = 0.5
    gap: float = 0.0
    used: float = 0.0

    def __post_init__(self) -> None:
        if not _is_number(self.seconds) or self.seconds <= 0:
            raise SearchError(
                "the budget of a search is a positive number of seconds, "
                f"not {quoted(self.seconds)}."
            )
        if not _is_number(self.gap) or self.gap < 0:
            raise SearchError(
                "the gap of a search is a number of at least 0, such as 0.02 for 2 %, "
                f"not {quoted(self.gap)}."
            )

    @property
    def left(self) -> float:
        """The seconds for the search; `LEAST_S` if they are used up."""
        return self.seconds if not self.used else max(LEAST_S, self.seconds - self.used)

    def start(self, report: Progress | None = None) -> Watch:
        """Start the clock; progress is passed on to `report`."""
        free = int(self.memory * free_memory())
        now = clock()
        most = _in_use(_this_process()) + free
        ends = now + self.left
        tell(cost=inf, gap=inf, ends=ends, now=now, note="")
        return Watch(now, ends, most, free, report, self.gap)

    def shares(self, count: int) -> Iterator[Budget]:
        """The budgets of `count` searches, one after the other, that share this one's time.

        Each has an equal share of the time that is left when it is asked for, and `LEAST_S` once
        there is none.
        """
        ends = clock() + self.left
        for number in range(count):
            left = (ends - clock()) / (count - number)
            yield replace(self, seconds=max(left, LEAST_S), used=0.0)


def _is_number(value: object) -> bool:
    """Whether a value is a number, which nan, booleans and the hugest integers are not."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and not isnan(value)
    except OverflowError:
        return False


UNTIMED = Budget(inf)
"""No time limit."""


@dataclass(eq=False)
class Watch:
    """A running budget: a `Progress` that raises `BudgetError` once the budget is used up.

    In the body of `with watch:` it is called again and again, so that its `report` can end the
    search. `began` and `ends` are times of `clock`, `most` the memory that this process may use,
    and `free` how much of that was not in use when the budget started, in bytes.
    """

    began: float
    ends: float
    most: int
    free: int
    report: Progress | None
    gap: float = 0.0
    _looked: float = field(default=0.0, init=False)
    _process: psutil.Process = field(default_factory=lambda: _this_process(), init=False)

    called: ClassVar[int] = 0
    """How many bodies of `with watch:`, of watches that report, this process is in."""

    def __enter__(self) -> Self:
        Watch.called += self.report is not None
        return self

    def __exit__(self, *_: object) -> None:
        Watch.called -= self.report is not None

    def __call__(self, specs: int, rewrites: int) -> None:
        now = clock()
        if now > self.ends:
            raise BudgetError(f"the search found no program in {self.ends - self.began:.3g} s")
        if now - self._looked < INTERVAL_S:
            return
        self._looked = now
        tell(now=now)
        if _in_use(self._process) > self.most:
            raise BudgetError(
                f"the search found no program in {self.free / 2**30:.1f} GiB of memory"
            )
        if self.report is not None:
            self.report(specs, rewrites)

    @property
    def timed(self) -> bool:
        """Whether there is a time limit."""
        return self.ends < inf

    @property
    def left(self) -> float:
        """The seconds until the time is used up."""
        return self.ends - clock()

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return self.left < 0

    def within(self, seconds: float) -> Watch:
        """A watch with the time left, but at most so many seconds."""
        now = clock()
        return replace(self, began=now, ends=min(self.ends, now + seconds))

    def at_least(self, seconds: float) -> Watch:
        """A watch with the time left, and in any case with so many seconds."""
        return replace(self, ends=max(self.ends, clock() + seconds))

    def part(self, share: float) -> Watch:
        """A watch with this share of the time left."""
        now = clock()
        return replace(self, ends=now + share * max(0.0, self.ends - now))

    def after(self, begins: Watch, action: Callable[[], object]) -> Watch:
        """A watch like this one that also does something, once the time of another is used up.

        It does so once, while it is called, if its own time is not used up by then.
        """
        waiting = [action]

        def report(specs: int, rewrites: int) -> None:
            if self.report is not None:
                self.report(specs, rewrites)
            if waiting and begins.over:
                waiting.pop()()

        return replace(self, report=report)

    def untimed(self) -> Watch:
        """A watch with the same memory limit and no time limit."""
        return replace(self, ends=inf)


def _in_use(process: psutil.Process) -> int:
    """The memory that a process uses, in bytes."""
    return int(process.memory_info().rss)


def _this_process() -> psutil.Process:
    import psutil  # slow to import, and not needed by who knows the program

    return psutil.Process()
