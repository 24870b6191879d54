"""The interface of peers: other implementations, each with one or several ways to do some work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from benchmarks.native import Loop
from benchmarks.work import Array, Work
from morello.measure.timing import runner

Language = Literal["C", "Python"]
"""Where calls are made from."""


class UnavailableError(Exception):
    """The reason why a peer is not installed, or cannot do some work."""


@dataclass(frozen=True)
class Options:
    """The options of peers: threads to use, and what the command line set for some of them."""

    threads: int = 1
    table: str | None = None
    measure: int = 1
    weights: str = "plain"
    trials: int = 0
    library: str | None = None


@dataclass(frozen=True)
class Candidate:
    """One way to do some work: the calling language, a name (`setting`), and the result."""

    language: Language
    setting: str
    loop: Loop
    result: Callable[[], Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    narrows: bool = True
    """Whether work may be faster on one thread than on all, as small work is in many libraries."""


class Peer(Protocol):
    """Made from `Options` in a separate process; raises `UnavailableError` if not installed."""

    def version(self) -> str:
        """Its name and version."""

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        """Ways to do the work, the fastest of which counts; raises `UnavailableError`."""


def from_python(
    setting: str, function: Callable[[], Any], result: Callable[[Any], Any] = lambda value: value
) -> Candidate:
    """A candidate that calls a function; `result` converts what it returns to a NumPy array."""
    nanoseconds = runner(function)
    return Candidate(
        "Python", setting, lambda calls: 1e-9 * nanoseconds(calls), lambda: result(function())
    )


def unable(peer: str, work: Work) -> UnavailableError:
    """The error that a peer has no function for a kind of work."""
    return UnavailableError(f"{peer} has no function for {type(work).__name__.lower()} {work.size}")
