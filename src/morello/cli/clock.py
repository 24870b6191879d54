"""How much of its budget a command has used: the time of its process counts from the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CommandClock:
    """The seconds that a command's process has used, but for those that are spared.

    The process began at `start`, by `time.monotonic`. Without one, none are used: a program that
    calls a command has its own time.
    """

    def __init__(self, start: float | None = None) -> None:
        self.start = start
        self._spared = 0.0

    def used(self) -> float:
        """The seconds used so far."""
        from morello.search.budget import seconds_since  # slow to import

        return 0.0 if self.start is None else seconds_since(self.start) - self._spared

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """Time in the body is not used of a budget."""
        before = self.used()
        try:
            yield
        finally:
            self._spared += self.used() - before
