"""Limits on a search's time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from typing import TYPE_CHECKING

from morello.base.errors import SearchError, quoted
from morello.base.memory import free_memory

if TYPE_CHECKING:
    import psutil

Progress = Callable[[int, int], None]
"""Called during a search with the numbers of Specs and rewrites expanded so far; may raise."""

SECONDS = 20.0
"""The default time limit of a search."""

INTERVAL_S = 0.02
"""The least time between two checks of the clock and of the memory in use, in seconds."""


class BudgetError(SearchError):
    """A search used up its budget."""


@dataclass(frozen=True)
class Budget:
    """The limits of one search: seconds, and a share of the memory that is free at its start."""

    seconds: float = SECONDS
    memory: float = 0.5

    def __post_init__(self) -> None:
        number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if not number or isnan(self.seconds) or self.seconds <= 0:
            raise SearchError(
                "the budget of a search is a positive number of seconds, "
                f"not {quoted(self.seconds)}."
            )

    def start(self, report: Progress | None = None) -> Watch:
        """Start the clock; progress is passed on to `report`."""
        free = int(self.memory * free_memory())
        now = time.monotonic()
        most = _in_use(_this_process()) + free
        return Watch(now, now + self.seconds, most, free, report)


UNTIMED = Budget(inf)
"""No time limit."""


class Watch:
    """A running budget: a `Progress` that raises `BudgetError` once the budget is used up."""

    def __init__(
        self, began: float, ends: float, most: int, free: int, report: Progress | None
    ) -> None:
        """Times are those of `time.monotonic`, in seconds.

        `most` is the memory that this process may use, and `free` how much of that was not in
        use when the budget started, in bytes.
        """
        self._began, self._ends, self._most, self._free = began, ends, most, free
        self._report = report
        self._looked = 0.0
        self._process = _this_process()

    def __call__(self, specs: int, rewrites: int) -> None:
        now = time.monotonic()
        if now - self._looked < INTERVAL_S:
            return
        self._looked = now
        if now > self._ends:
            raise BudgetError(f"the search found no program in {self._ends - self._began:.3g} s")
        if _in_use(self._process) > self._most:
            raise BudgetError(
                f"the search found no program in {self._free / 2**30:.1f} GiB of memory"
            )
        if self._report is not None:
            self._report(specs, rewrites)

    def part(self, share: float) -> Watch:
        """A watch with this share of the time left."""
        now = time.monotonic()
        ends = now + share * max(0.0, self._ends - now)
        return Watch(self._began, ends, self._most, self._free, self._report)

    def untimed(self) -> Watch:
        """A watch with the same memory limit and no time limit."""
        return Watch(self._began, inf, self._most, self._free, self._report)


def _in_use(process: psutil.Process) -> int:
    """The memory that a process uses, in bytes."""
    return int(process.memory_info().rss)


def _this_process() -> psutil.Process:
    import psutil  # slow to import, and not needed by who knows the program

    return psutil.Process()
