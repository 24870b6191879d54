"""Waiting for what other processes and threads do: as long as that takes on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 300.0
"""How long tests wait for what is sure to come, on the slowest machine, before they fail."""


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether a condition is true, or becomes so while it is waited for."""
    until = time.monotonic() + PATIENCE_S
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


@contextmanager
def ends_soon() -> Iterator[None]:
    """The body does not wait for what takes `PATIENCE_S`."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < PATIENCE_S
