"""Output of the commands: times as text, JSON, and a progress bar."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """Reports the progress of a search: a bar on the terminal after `PATIENCE_S`."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("searching"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[specs]:,} Specs, {task.fields[rewrites]:,} rewrites"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=None, specs=0, rewrites=0)
    began = time.perf_counter()

    def report(specs: int, rewrites: int) -> None:
        if time.perf_counter() - began > PATIENCE_S and not bar.live.is_started:
            bar.start()
        bar.update(task, specs=specs, rewrites=rewrites)

    try:
        yield report
    finally:
        bar.stop()
