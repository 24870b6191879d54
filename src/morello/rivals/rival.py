"""An expression that frameworks are raced on, and a framework that is ready to compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from morello.frontends.text import CallSequence
from morello.runtime.argument import Array


@dataclass(frozen=True)
class RacedExpression:
    """An expression call by call, with arrays for its inputs."""

    sequence: CallSequence
    inputs: Sequence[Array]
    out: Array
    """An array for the result, of a rival that writes to one."""
    threads: int


@dataclass(frozen=True)
class Rival:
    """A framework that is ready to compute the expression."""

    version: str
    call: Callable[[], Any]
    array: Callable[[Any], Array]
    """Converts the result of `call` to an array of NumPy."""
