"""The times of kernels as a table of text, no wider than a terminal or a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from morello.measure.bounds import Bound

WIDTH = 100
LEAST = 20
"""The least width that an expression is shortened to."""


class Timed(Protocol):
    """An expression that kernels compute so many times: their predicted and measured seconds."""

    @property
    def expression(self) -> str: ...
    @property
    def times(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def measured(self) -> float | None: ...
    @property
    def taken(self) -> float: ...
    @property
    def bound(self) -> Bound | None: ...


def kernel_table(kernels: Sequence[Timed], call: float | None) -> list[str]:
    """A line for each expression, and their sum; with what is lost between kernels in a `call`.

    Times are in microseconds, of all kernels with the expression. Columns that nothing is known of
    are left out. There are no lines if there are no kernels.
    """
    if not kernels:
        return []
    whole = call or sum(kernel.taken for kernel in kernels)
    timed, bounded = call is not None, all(kernel.bound for kernel in kernels)
    rows = [_row(kernel, whole, kernel.expression) for kernel in kernels]
    if len(rows) > 1 or timed:
        rows.append(_row(_Sum(kernels), whole, "all kernels"))
    if call is not None:
        between = call - sum(kernel.taken for kernel in kernels)
        rows.append([_percent(between / whole), "", _us(between), *[""] * 4, "between kernels"])
        rows.append(["", "", _us(call), *[""] * 4, "a call"])
    titles = ["share", "runs", "measured", "predicted", "bound", "of it", "by", "in microseconds"]
    shown = [True, True, timed, True, bounded, bounded and timed, bounded, True]
    table = [
        [cell for cell, wanted in zip(row, shown, strict=True) if wanted] for row in (titles, *rows)
    ]
    return _aligned(table)


class _Sum:
    """The sums of several rows."""

    expression = ""

    def __init__(self, kernels: Sequence[Timed]) -> None:
        self.times = sum(kernel.times for kernel in kernels)
        self.seconds = sum(kernel.seconds for kernel in kernels)
        self.taken = sum(kernel.taken for kernel in kernels)
        self.measured = self.taken
        bounds = [kernel.bound.seconds for kernel in kernels if kernel.bound]
        self.bound = Bound(sum(bounds), "") if bounds else None


def _row(kernel: Timed, whole: float, what: str) -> list[str]:
    bound, measured = kernel.bound, kernel.measured
    return [
        _percent(kernel.taken / whole),
        str(kernel.times),
        "" if measured is None else _us(measured),
        _us(kernel.seconds),
        "" if bound is None else _us(bound.seconds),
        "" if bound is None else _percent(bound.share(kernel.taken)),
        "" if bound is None else bound.by,
        what,
    ]


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The columns to the right, but for the last two, which are words; the last is shortened."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)][:-1]
    words = len(widths) - 1 if table[0][-2] == "by" else len(widths)
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if number == words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        begun = "  ".join(["", *cells, ""])
        lines.append((begun + shortened(row[-1], len(begun))).rstrip())
    return lines


def shortened(text: str, taken: int) -> str:
    """The text, cut to fit in a line beside so many other characters."""
    room = max(LEAST, WIDTH - taken)
    return text if len(text) <= room else f"{text[: room - 3]}..."


def text_of(seconds: float) -> str:
    """A time with its unit."""
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def _us(seconds: float) -> str:
    """Microseconds with three digits, or all before the point."""
    value = seconds * 1e6
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(part: float) -> str:
    return f"{round(100 * part)} %"
