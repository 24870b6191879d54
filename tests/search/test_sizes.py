"""Sizes reachable by tiling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.search.sizes import Sizes, cuts, is_smooth, steps

sizes = st.integers(1, 5000)


@given(st.lists(sizes, min_size=1, max_size=4))
def test_every_step_leads_to_known_and_shallower_sizes(several: list[int]) -> None:
    known = Sizes(several)
    values = known.values.tolist()
    assert values == sorted(set(values))
    assert {1, *several} <= set(values)
    for rank, size in enumerate(values):
        assert known.index[size] == rank
        assert known.smooth[rank] == is_smooth(size)
        assert size == 1 or steps(size)
        for step in steps(size):
            for part in step:
                assert part in values
                assert known.depth[part] < known.depth[size]
    assert known.depth[1] == 0
    np.testing.assert_array_equal(known.is_smooth(known.values), known.smooth)


@given(sizes)
def test_a_cut_leaves_a_loop_and_a_smaller_remainder(size: int) -> None:
    assert bool(cuts(size)) != is_smooth(size)
    for tile in cuts(size):
        assert 0 < tile < size
        assert is_smooth(tile)


@pytest.mark.parametrize("size", [1, 2, 3, 48, 2048, 1536])
def test_smooth(size: int) -> None:
    assert is_smooth(size)
    assert not is_smooth(size * 5)
