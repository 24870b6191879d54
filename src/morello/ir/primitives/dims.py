"""The dimensions of operations on tensors of any rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from morello.ir.operation import Operation

MAX_RANK = 6

SINGLE = "r"
"""The dimension, of size 1, that a result has if all others were reduced."""

UNITS = (SINGLE, "s", "t", "u", "v", "w")
"""The dimensions of size 1 that an operand of a map has and the result has not."""

_NAMES = ("i", "j", "k", "l", "m", "n")


def named(rank: int) -> tuple[str, ...]:
    """The names of this many dimensions."""
    return _NAMES[:rank]


def scanned(rank: int, scan: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """All dimensions, those that remain without the scanned one, and any extra dimension.

    Where no dimension remains, `SINGLE` is both the remaining and the extra one.
    """
    dims = named(rank)
    rows = tuple(d for d in dims if d != dims[scan])
    extra = () if rows else (SINGLE,)
    return dims, rows or extra, extra


def each_rank(make: Callable[[int], Operation]) -> Callable[[Operation], Iterator[Operation]]:
    """The variants of a primitive whose only parameter is a rank."""
    return lambda _: (make(rank) for rank in range(1, MAX_RANK + 1))


def each_scan(make: Callable[[int, int], Operation]) -> Callable[[Operation], Iterator[Operation]]:
    """The variants of a primitive whose parameters are a rank and a dimension to scan."""
    return lambda _: (make(rank, dim) for rank in range(1, MAX_RANK + 1) for dim in range(rank))
