"""Rows of small integers as one integer each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.base.errors import SearchError
from morello.engine import keys
from morello.engine.keys import Keys, Numbering
from morello.ir.placements import Ints

bits = st.lists(st.integers(1, 12), min_size=1, max_size=24)


def columns(widths: list[int], seed: int, rows: int) -> list[Ints]:
    """Columns of so many bits, most rows of which are there several times."""
    random = np.random.default_rng(seed)
    chosen = random.integers(0, max(1, rows // 3), rows)
    return [random.integers(0, 1 << width, rows)[chosen] for width in widths]


@given(bits, st.integers(0, 99), st.integers(1, 200))
def test_keys_tell_rows_apart_and_give_them_back(widths: list[int], seed: int, rows: int) -> None:
    packing = Keys(widths)
    before, after = columns(widths, seed, rows), columns(widths, seed + 1, rows)
    first = packing.pack(before)
    packing.pack(after)
    assert first.min() >= 0
    np.testing.assert_array_equal(packing.pack(before), first)
    np.testing.assert_array_equal(np.stack(packing.unpack(first)), np.stack(before))
    assert len(np.unique(first)) == len(np.unique(np.stack(before), axis=1).T)


@given(st.lists(st.lists(st.integers(0, 2**62), max_size=40), max_size=6))
def test_numbers_are_given_in_order_and_never_change(parts: list[list[int]]) -> None:
    numbering = Numbering()
    known = list(dict.fromkeys(value for part in parts for value in part))
    for part in parts:
        found = numbering.numbers(np.array(part, np.int64))
        assert found.tolist() == [known.index(value) for value in part]
    assert numbering.values.tolist() == known


def test_more_numbers_than_keys_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_NUMBER_BITS", 4)
    numbering = Numbering()
    numbering.numbers(np.arange(16))
    with pytest.raises(SearchError, match="too many sizes and operands"):
        numbering.numbers(np.arange(17))
