"""Output of the commands: times and sizes as text, JSON, and a line on what they are doing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from morello.cli.process import offering_interrupts
from morello.ir.tensor import LINE_BYTES
from morello.search.budget import BudgetError, Watch
from morello.status_line import StatusLine

if TYPE_CHECKING:
    from rich.table import Table

REGISTERS: Final = "registers"
"""The level whose capacity counts registers, on all targets."""


def readable(seconds: float) -> str:
    """A time with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def size_text(count: int) -> str:
    """A number of bytes with a suitable unit."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def amount(level: str, capacity: int) -> str:
    """A capacity of a memory level: so many lines, or registers."""
    if level == REGISTERS:
        return f"{capacity:,} {level}"
    return f"{size_text(capacity * LINE_BYTES)} of {level}"


def grid(*headings: str) -> Table:
    """A table without lines; columns with a heading are aligned on the right."""
    from rich.table import Table  # slow to import

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        if heading:
            table.add_column(heading, justify="right")
        else:
            table.add_column(overflow="fold")
    return table


def print_json(data: object) -> None:
    print(json.dumps(data, indent=2))


class SearchProgress(StatusLine):
    """A line on the terminal, which ends searches when the command is interrupted."""

    interrupted = False

    def __call__(self, specs: int, rewrites: int) -> None:
        if self.interrupted:
            raise BudgetError("the search was interrupted") from KeyboardInterrupt()
        super().__call__(specs, rewrites)

    def interrupt(self) -> bool:
        """End the search that is running, if there is one, as if its budget were used up.

        Returns whether it will end; if it is interrupted again, it may take too long for the user.
        """
        if self.interrupted or not Watch.called:
            return False
        self.interrupted = True
        return True


@contextmanager
def progress() -> Iterator[SearchProgress]:
    """Shows the progress of the body on the terminal.

    Gives the function that searches report to. The first interrupt of a search ends it with its
    best program so far.
    """
    with SearchProgress() as report, offering_interrupts(report.interrupt):
        yield report
