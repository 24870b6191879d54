"""A line on the terminal while the kernels of a model are compiled."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from morello.search.budget import Progress

PATIENCE_S = 2.0
"""The seconds after which the line appears."""

PERIOD_S = 0.2
"""The least seconds between two lines."""

_CLEAR = "\r\x1b[K"


@contextmanager
def announced(kernels: int) -> Iterator[Progress]:
    """Within it, standard error has a line on so many kernels, if it is a terminal.

    Gives the function that searches report their numbers of Specs and rewrites to.
    """
    began = last = time.monotonic()

    def report(specs: int, _: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - began < PATIENCE_S or now - last < PERIOD_S or not sys.stderr.isatty():
            return
        last = now
        what = f"{kernels} kernel{'s' if kernels > 1 else ''}"
        text = f"morello: compiling {what}, {specs:,} Specs searched, {now - began:.0f} s"
        print(_CLEAR + text, end="", file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        if last > began:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
