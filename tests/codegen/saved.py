"""Programs of the golden files, for tests of the code and not of what the search chooses."""

from __future__ import annotations

import json

from tests.codegen.test_golden_c import EXPRESSIONS
from tests.conftest import GOLDEN

from morello.impl.saved import load
from morello.impl.tree import Impl


def saved_programs(target: str) -> dict[str, Impl]:
    """The saved programs of a target by their expressions."""
    lines = (GOLDEN / f"programs-{target}.jsonl").read_text().splitlines()
    impls = [load(json.loads(line)) for line in lines]
    return dict(zip(EXPRESSIONS, impls, strict=True))
