"""A line on the terminal that says what Morello is doing, while that takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Self

from morello.base.status import Status, listening
from morello.impl.tree import cycles

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from morello.search.budget import Progress

PATIENCE_S = 1.0
"""The seconds after which the line appears."""

PERIOD_S = 0.2
"""The seconds from one drawing of the line to the next."""

DOING = {
    "bound": "finding a lower bound",
    "search": "searching",
    "build": "building",
    "verify": "verifying",
    "time": "timing",
    "prove": "making the certificate",
    "check": "checking the certificate",
    "train": "training models",
    "read": "reading the table",
}
"""The phases in words."""

COUNTED = {"bound": "relaxed Specs", "search": "Specs"}
"""The unit that a search counts in each phase."""

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class StatusLine:
    """A line on standard error, if it is a terminal: a `Progress` that shows the status, too.

    In the body of `with line:` it is drawn again and again, by a thread of its own. While programs
    are timed, that would disturb them: then it is drawn when they tell how far they are. What the
    work is `about` may be set as well.
    """

    about = ""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console
        self._live: Live | None = None
        self._status, self._specs = Status(), 0
        self._began = self._drawn = time.monotonic()
        self._over, self._drawing, self._exits = Event(), RLock(), ExitStack()

    def __enter__(self) -> Self:
        if self._console.is_terminal if self._console else _on_terminal():
            self._exits.enter_context(listening(self.hear))
            self._exits.callback(self._remove)
            drawer = Thread(target=self._draw_again, daemon=True)
            self._exits.callback(drawer.join)
            drawer.start()
            self._exits.callback(self._over.set)
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def __call__(self, specs: int, rewrites: int) -> None:
        """Take note of the counts of a search.

        A search also reports of smaller parts of its graph, which it solves alone.
        """
        self._specs = max(self._specs, specs)

    def hear(self, status: Status) -> None:
        """Take note of a status."""
        before, self._status = self._status, status
        if status.phase != before.phase:
            self._specs = 0
        if status.phase == "time":
            news = (status.phase, status.note) != (before.phase, before.note)
            if news or time.monotonic() - self._drawn > PERIOD_S:
                self.draw()

    def draw(self) -> None:
        """Draw the line anew."""
        with self._drawing:
            self._drawn = time.monotonic()
            if self._drawn - self._began < PATIENCE_S:
                return
            if self._live is None:
                self._live = self._started()
            self._live.refresh()

    def text(self) -> Text:
        """The text of the line."""
        from rich.text import Text  # slow to import, and only needed if it takes long

        status, seconds = self._status, time.monotonic() - self._began
        doing = DOING[status.phase] if status.phase else "working"
        parts = [f"{seconds:.0f} s", *([self.about] if self.about else [])]
        if status.count > 1:
            parts.append(f"{status.done:,} of {status.count:,}")
        if status.cost < inf and status.phase != "bound":
            parts.append(f"best {cycles(status.cost)} cycles{_gap_text(status.gap)}")
        if status.note:
            parts.append(status.note)
        if self._specs and status.phase in COUNTED:
            parts.append(f"{self._specs:,} {COUNTED[status.phase]}")
        if status.left < inf and status.phase in ("bound", "search", "time"):
            parts.append(f"{_time_left(status.left)} left")
        frame = FRAMES[int(seconds / PERIOD_S) % len(FRAMES)]
        return Text.assemble(
            (frame, "cyan"), " ", (doing, "bold"), "  ", "  ".join(parts),
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip

    def _started(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        # what is printed to standard output may be for another program
        live = Live(
            get_renderable=self.text, console=self._console or Console(stderr=True),
            auto_refresh=False, transient=True, redirect_stdout=False,
        )  # fmt: skip
        live.start()
        return live

    def _draw_again(self) -> None:
        while not self._over.wait(PERIOD_S):
            if self._status.phase != "time":
                self.draw()

    def _remove(self) -> None:
        if self._live is not None:
            self._live.stop()


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """The receiver of the body's progress reports: a line if that is wanted, or what is given."""
    if progress is True:
        with StatusLine() as line:
            yield line
    else:
        yield None if progress is False else progress


def _on_terminal() -> bool:
    """Whether standard error is a terminal on which a line can be drawn anew."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _gap_text(gap: float) -> str:
    if gap == 0:
        return ", proven cheapest"
    return f", at most {max(gap, 0.001):.1%} above the cheapest" if gap < inf else ""


def _time_left(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
