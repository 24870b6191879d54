"""Shrinking a failing case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

C = TypeVar("C")
T = TypeVar("T")


def shrink(case: C, smaller: Callable[[C], Iterable[C]], fails: Callable[[C], bool]) -> C:
    """Replace a case by the first smaller case that fails as well, until there is none.

    `fails` is called once for each case; to end early, it returns False from then on.
    """
    seen = {case}
    going = True
    while going:
        going = False
        for candidate in smaller(case):
            if candidate in seen:
                continue
            seen.add(candidate)
            if fails(candidate):
                case, going = candidate, True
                break
    return case


def without_runs(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items without a contiguous run: halves first, then ever shorter runs."""
    length = len(items) // 2 or len(items)
    while length:
        for start in range(0, len(items), length):
            yield [*items[:start], *items[start + length :]]
        length //= 2
