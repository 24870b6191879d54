"""The interface of a fuzzer: a generator of random cases, and a check that each must pass."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from random import Random
from traceback import walk_tb
from types import TracebackType

import morello
from morello.base.errors import MorelloError

PASSED, REFUSED, OVER_BUDGET = "passed", "refused", "out of budget"
"""The outcomes of a case without a fault; "refused" means a `MorelloError` that is allowed."""

_HOME = Path(morello.__file__).parent
_PARTICULARS = re.compile(r"'[^']*'|[-+]?\d[\d.]*(?:e[-+]?\d+)?|\b(?:nan|inf)\b|\S*/\S*")


class FaultError(Exception):
    """A property that a case violates. Shrinking keeps its `sort`; `detail` is the observation."""

    def __init__(self, sort: str, detail: str) -> None:
        super().__init__(f"{sort}: {detail}")
        self.sort, self.detail = sort, detail


class Adversary(ABC):
    """A fuzzer. A case is one line of text that reproduces it completely."""

    name: str
    what: str
    """The property that it checks."""
    patience_s: float = 60.0
    """A case that takes longer, in seconds, counts as hung."""
    share: float = 1.0
    """Its share of the time, relative to the other kinds."""

    @abstractmethod
    def case(self, random: Random) -> str:
        """A random case."""

    @abstractmethod
    def check(self, case: str) -> str:
        """Run a case; returns its outcome, and raises `FaultError` or any unexpected exception."""

    def smaller(self, case: str) -> Iterator[str]:
        """Simpler cases to try in place of a failing one, the simplest first."""
        yield from ()


def fault_of(error: BaseException) -> FaultError:
    """An unexpected exception as a fault, identified by its type and where Morello raised it.

    Morello's own errors are identified by their reason as well.
    """
    if isinstance(error, FaultError):
        return error
    sort = f"{type(error).__name__} in {_place(error.__traceback__)}"
    if isinstance(error, MorelloError):
        sort = f"{sort}: {_reason(str(error))}"
    return FaultError(sort, str(error)[:500])


def _reason(message: str) -> str:
    """The part of a message that does not depend on the case: a compiler's error, or the end of
    its first line."""
    lines = message.splitlines() or [""]
    line = next((text for text in lines if "error: " in text), lines[0])
    reason = line.partition("error: ")[2] or line.rpartition(": ")[2]
    return _PARTICULARS.sub("_", reason)[:80]


def _place(trace: TracebackType | None) -> str:
    """The innermost function of Morello in a traceback; if there is none, the innermost of all."""
    codes = [frame.f_code for frame, _ in walk_tb(trace)]
    paths = [Path(code.co_filename) for code in codes]
    own = [i for i, path in enumerate(paths) if path.is_relative_to(_HOME)]
    if not own:
        return f"{paths[-1].name}:{codes[-1].co_name}" if codes else "?"
    return f"{paths[own[-1]].relative_to(_HOME)}:{codes[own[-1]].co_name}"


def from_morello(error: BaseException) -> bool:
    """Whether an exception passed through Morello."""
    frames = walk_tb(error.__traceback__)
    return any(Path(frame.f_code.co_filename).is_relative_to(_HOME) for frame, _ in frames)


def numbered(kind: str, seed: int, number: int) -> Random:
    """The random generator of a case, determined by its kind, seed and number alone."""
    return Random(f"{kind}:{seed}:{number}")
