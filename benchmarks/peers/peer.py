"""What a peer is: something that may know how to do some work, its best way or several."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, Protocol

from benchmarks.native import Loop
from benchmarks.work import Array, Work

Language = Literal["C", "Python"]
"""Where calls are made from."""


class UnavailableError(Exception):
    """A peer that is not here, or cannot do the work: why."""


@dataclass(frozen=True)
class Options:
    """What peers are told: threads to use, and what the command line said for some."""

    threads: int = 1
    table: str | None = None
    measure: int = 1
    weights: str = "plain"
    trials: int = 0
    library: str | None = None


@dataclass(frozen=True)
class Candidate:
    """One way to do some work: called from where, what `setting`, and where its result is."""

    language: Language
    setting: str
    loop: Loop
    result: Callable[[], Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    narrows: bool = True
    """Whether it may be faster on one thread than on all, as small work is in many libraries."""


class Peer(Protocol):
    """Made from `Options` in a process of its own; raises `UnavailableError` if it is not here."""

    def version(self) -> str:
        """What it is, exactly."""

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        """Ways to do the work, the fastest of which counts; raises `UnavailableError`."""


def from_python(
    setting: str, function: Callable[[], Any], result: Callable[[Any], Any] = lambda made: made
) -> Candidate:
    """The candidate that calls a function; `result` makes a NumPy array of what it gives."""

    def loop(calls: int) -> float:
        rounds = repeat(None, calls)
        began = time.perf_counter_ns()
        for _ in rounds:
            function()
        return 1e-9 * (time.perf_counter_ns() - began)

    return Candidate("Python", setting, loop, lambda: result(function()))


def unable(peer: str, work: Work) -> UnavailableError:
    """A peer has nothing for a kind of work."""
    return UnavailableError(f"{peer} has no function for {type(work).__name__.lower()} {work.size}")
