"""Helpers of products."""

from __future__ import annotations

import re

import pytest

from morello.targets.helpers.row_sums import BLOCK_READINGS, ROW_READINGS, RowReading

READINGS = [reading for reading in (*ROW_READINGS, *BLOCK_READINGS) if reading.fetched]


@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize(("n", "step"), [(64, 64), (96, 5632), (400, 400), (1000, 1000)])
def test_what_is_prefetched_lies_so_many_columns_ahead(
    reading: RowReading, n: int, step: int
) -> None:
    """The columns of a block of rows are followed by those of the next block."""
    text = " ".join(reading.start("f32"))
    for column in range(0, n, 16):
        block, after = divmod(column + reading.ahead // 4, n)
        place = block * reading.rows * step + after
        assert column + _ahead(text, column, n, step) == place


def _ahead(text: str, i: int, n: int, step: int) -> int:
    """The value of `ahead` after these statements of C."""
    values = {"i": i, "n": n, "step": step}
    for name, expression in re.findall(r"(\w+) = ([^;]+?)(?:, (?=\w+ =)|;)", text):
        python = re.sub(r"\((.+) \? (.+) : (.+)\)", r"(\2 if \1 else \3)", expression)
        values[name] = eval(python.replace("/", "//"), {}, values)
    return values["ahead"]
