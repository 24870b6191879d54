"""The status of the work, such as its phase: reported where it is done, for listeners to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

Phase = Literal["bound", "search", "build", "verify", "time", "prove", "check", "train", "read"]
"""A lower bound is computed, programs are searched, built, compared with NumPy, or timed, a
certificate is made or checked, models are trained, or tables are read."""


@dataclass(frozen=True)
class Status:
    """The phase of the work, and what is known of it.

    `cost` is that of the best program so far, in cycles, and `gap` how much more than the cheapest
    it may cost, as a fraction. The phase ends by the time `ends`, and it is `now`, by a clock of
    its own. `done` are finished, of `count` parts of the whole work. A `note` may say more.
    """

    phase: Phase | None = None
    cost: float = inf
    gap: float = inf
    ends: float = inf
    now: float = 0.0
    done: int = 0
    count: int = 0
    note: str = ""

    @property
    def left(self) -> float:
        """The seconds that are left; infinite if there is no limit."""
        return max(0.0, self.ends - self.now)


Listener = Callable[[Status], object]


class _Telling:
    """A listener, and the status that it was told last."""

    def __init__(self, listener: Listener) -> None:
        self.listener, self.status = listener, Status()


_current: ContextVar[_Telling | None] = ContextVar("_current", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tells the listener each change of the status of this thread's work in the body."""
    token = _current.set(_Telling(listener))
    try:
        yield
    finally:
        _current.reset(token)


def tell(**changes: Any) -> None:
    """Change fields of the status; without a listener, nothing happens."""
    telling = _current.get()
    if telling is not None:
        telling.status = replace(telling.status, **changes)
        telling.listener(telling.status)
