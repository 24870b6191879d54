"""What an adversary is: cases from a random generator, and a check that each must pass."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from random import Random
from traceback import walk_tb
from types import TracebackType

import morello
from morello.errors import MorelloError

PASSED, REFUSED, OVER_BUDGET = "passed", "refused", "out of budget"
"""What may come of a case. Refused is what Morello says no to, as it may."""

_HOME = Path(morello.__file__).parent
_PARTICULARS = re.compile(r"'[^']*'|[-+]?\d[\d.]*(?:e[-+]?\d+)?|\b(?:nan|inf)\b|\S*/\S*")


class FaultError(Exception):
    """A broken promise. Shrinking keeps its `sort`; `detail` says what was seen."""

    def __init__(self, sort: str, detail: str) -> None:
        super().__init__(f"{sort}: {detail}")
        self.sort, self.detail = sort, detail


class Adversary(ABC):
    """A kind of attack. A case is one line of text, which says all there is to say of it."""

    name: str
    what: str
    """The promise that it tries to break."""
    patience_s: float = 60.0
    """A case that takes longer than this hangs."""
    share: float = 1.0
    """Of the time, relative to the other kinds."""

    @abstractmethod
    def case(self, random: Random) -> str:
        """A random case."""

    @abstractmethod
    def check(self, case: str) -> str:
        """What came of a case; raises `FaultError`, or whatever Morello should not have."""

    def smaller(self, case: str) -> Iterator[str]:
        """Cases to try in the place of one that fails, the simplest first."""
        yield from ()


def fault_of(error: BaseException) -> FaultError:
    """An error that nobody should see as a fault, known by its type and where Morello raised it.

    What Morello says itself is told apart by its reason as well.
    """
    if isinstance(error, FaultError):
        return error
    sort = f"{type(error).__name__} in {_place(error.__traceback__)}"
    if isinstance(error, MorelloError):
        sort = f"{sort}: {_reason(str(error))}"
    return FaultError(sort, str(error)[:500])


def _reason(message: str) -> str:
    """What a message says of any case: a compiler's error, or the end of its first line."""
    lines = message.splitlines() or [""]
    line = next((one for one in lines if "error: " in one), lines[0])
    reason = line.partition("error: ")[2] or line.rpartition(": ")[2]
    return _PARTICULARS.sub("_", reason)[:80]


def _place(trace: TracebackType | None) -> str:
    """The innermost function of Morello's in a traceback, or else the innermost at all."""
    codes = [frame.f_code for frame, _ in walk_tb(trace)]
    paths = [Path(code.co_filename) for code in codes]
    own = [i for i, path in enumerate(paths) if path.is_relative_to(_HOME)]
    if not own:
        return f"{paths[-1].name}:{codes[-1].co_name}" if codes else "?"
    return f"{paths[own[-1]].relative_to(_HOME)}:{codes[own[-1]].co_name}"


def from_morello(error: BaseException) -> bool:
    """Whether an error came by way of Morello."""
    frames = walk_tb(error.__traceback__)
    return any(Path(frame.f_code.co_filename).is_relative_to(_HOME) for frame, _ in frames)


def numbered(kind: str, seed: int, number: int) -> Random:
    """The generator of a case: by its number alone, whatever was run before."""
    return Random(f"{kind}:{seed}:{number}")
