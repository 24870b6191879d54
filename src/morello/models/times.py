"""The times of kernels as a table of text, no wider than a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello.measure.bounds import Bound, percent

WIDTH = 100
LEAST = 20
"""The least width that a text is cut to."""


@dataclass(frozen=True)
class KernelReport:
    """An expression that kernels compute so many times, and the seconds of all of them.

    `seconds` are predicted by the affine cost, and `measured` on this machine, if they were timed.
    `bound` is the sum of their rooflines, and what takes most of it, if the peak of this machine is
    known.
    """

    expression: str
    times: int
    seconds: float
    measured: float | None = None
    bound: Bound | None = None

    @property
    def taken(self) -> float:
        """The seconds that were measured, or else predicted."""
        return self.seconds if self.measured is None else self.measured


def kernel_table(kernels: Sequence[KernelReport], call: float | None) -> list[str]:
    """A line for each expression, and their sum; with what is lost between kernels in a `call`.

    Times are in microseconds, of all kernels with the expression. Columns that nothing is known of
    are left out. There are no lines if there are no kernels.
    """
    if not kernels:
        return []
    timed, bounded = call is not None, all(kernel.bound for kernel in kernels)
    total = _sum(kernels, timed)
    whole = total.taken if call is None else call
    rows = [_row(kernel, whole) for kernel in kernels]
    if len(rows) > 1 or timed:
        rows.append(_row(total, whole))
    if call is not None:
        lost = call - total.taken
        rows.append([percent(lost / whole), "", _us(lost), *[""] * 4, "between kernels"])
        rows.append(["", "", _us(call), *[""] * 4, "a call"])
    titles = ["share", "runs", "measured", "predicted", "bound", "of it", "by", "in microseconds"]
    shown = [True, True, timed, True, bounded, bounded and timed, bounded, True]
    table = [
        [cell for cell, wanted in zip(row, shown, strict=True) if wanted] for row in (titles, *rows)
    ]
    return _aligned(table)


def _sum(kernels: Sequence[KernelReport], timed: bool) -> KernelReport:
    bounds = [kernel.bound.seconds for kernel in kernels if kernel.bound]
    return KernelReport(
        "all kernels",
        sum(kernel.times for kernel in kernels),
        sum(kernel.seconds for kernel in kernels),
        sum(kernel.taken for kernel in kernels) if timed else None,
        Bound(sum(bounds), "") if bounds else None,
    )


def _row(kernel: KernelReport, whole: float) -> list[str]:
    bound, measured = kernel.bound, kernel.measured
    return [
        percent(kernel.taken / whole),
        str(kernel.times),
        "" if measured is None else _us(measured),
        _us(kernel.seconds),
        "" if bound is None else _us(bound.seconds),
        "" if bound is None else percent(bound.share(kernel.taken)),
        "" if bound is None else bound.by,
        kernel.expression,
    ]


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The columns with numbers to the right; the last is words, cut to the width that is left."""
    *widths, _ = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if title == "by" else cell.rjust(width)
            for title, cell, width in zip(table[0], row, widths, strict=False)
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
