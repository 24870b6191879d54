"""Which cases of long lists tests run: some of them; those of `make test-release` run every one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")

EVERY_CASE = os.environ.get("EVERY_CASE", "") not in ("", "0")


def some(cases: Iterable[Case], one_in: int) -> list[Case]:
    """One case in so many, the first among them; all of them for `make test-release`."""
    return list(cases)[:: 1 if EVERY_CASE else one_in]


rare = pytest.mark.skipif(not EVERY_CASE, reason="only `make test-release` runs it")
"""For a test that is another case of what a test that takes less does."""
