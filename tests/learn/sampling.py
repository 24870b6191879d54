"""Random programs of small goals, whose largest graph is small enough to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from morello.search import sample


@contextmanager
def from_one_graph() -> Iterator[None]:
    """Build the graph with the most slack alone: samples of small goals come from it anyway."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "SLACKS", sample.SLACKS[-1:])
        yield
