"""Output of the commands: times as text, JSON, and a progress bar."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from morello.cli.process import offering_interrupts
from morello.search.budget import BudgetError, Watch

PATIENCE_S = 1.0
"""Searches that take longer show their progress."""


def readable(seconds: float) -> str:
    """A time with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2))


class SearchProgress:
    """Shows the progress of searches as a bar, and ends them when the command is interrupted."""

    interrupted = False

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("searching"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[specs]:,} Specs, {task.fields[rewrites]:,} rewrites"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, specs=0, rewrites=0)
        self._began = time.perf_counter()

    def __call__(self, specs: int, rewrites: int) -> None:
        if self.interrupted:
            raise BudgetError("the search was interrupted") from KeyboardInterrupt()
        if time.perf_counter() - self._began > PATIENCE_S and not self._bar.live.is_started:
            self._bar.start()
        self._bar.update(self._task, specs=specs, rewrites=rewrites)

    def interrupt(self) -> bool:
        """End the search that is running, if there is one, as if its budget were used up.

        Returns whether it will end; if it is interrupted again, it may take too long for the user.
        """
        if self.interrupted or not Watch.called:
            return False
        self.interrupted = True
        return True

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()


@contextmanager
def progress() -> Iterator[SearchProgress]:
    """Shows the progress of the searches in the body as a bar, once they take `PATIENCE_S`.

    Gives the function that they report to. The first interrupt of a search ends it with its best
    program so far.
    """
    report = SearchProgress()
    try:
        with offering_interrupts(report.interrupt):
            yield report
    finally:
        report.stop()
