"""Slow tests: `slow.txt` lists them, `make test` runs all others, and `make test-slow` these.

A test is slow if its cases take more than 0.2 s of CPU time each, in the mean, but for the
fastest test of its module. The list is written by `pytest --update-slow`, from what is run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean

SLOW_S = 0.2

FILE = Path(__file__).with_name("slow.txt")
SLOW = frozenset(FILE.read_text().split())


def without_parameters(case: str) -> str:
    """The test of a case, without its parameters."""
    return case.partition("[")[0]


def slow_tests(seconds: Iterable[tuple[str, float]]) -> set[str]:
    """The slow tests among these cases and the CPU seconds that each took."""
    by_test: Mapping[str, list[float]] = defaultdict(list)
    for case, taken in seconds:
        by_test[without_parameters(case)].append(taken)
    by_module: Mapping[str, list[tuple[float, str]]] = defaultdict(list)
    for test, each in by_test.items():
        by_module[test.partition("::")[0]].append((mean(each), test))
    return {
        test for tests in by_module.values() for taken, test in sorted(tests)[1:] if taken > SLOW_S
    }


def update(seconds: Sequence[tuple[str, float]]) -> None:
    """Write the list anew; tests that did not run stay as they are."""
    run = {without_parameters(case) for case, _ in seconds}
    FILE.write_text("\n".join([*sorted(SLOW - run | slow_tests(seconds)), ""]))
