"""The cost of an operation's steps beyond that of each alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from morello.frontends.text import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.batch import Batch
from morello.ir.placements import Placements
from morello.rewrites.decompose import Decompose
from morello.search.session import search
from morello.targets.caches import sized
from morello.targets.cpu import Cache
from morello.targets.x86 import AVX512

ROWS, LINES_OF_ROW = 8, 16384  # more than L2 holds
GOAL = f"softmax(f32[{ROWS},{LINES_OF_ROW * 16}])"


@pytest.mark.parametrize("scheme", ["to_softmax_parts", "to_softmax_parts_recompute"])
def test_a_later_step_pays_for_what_the_last_cache_could_not_keep(scheme: str) -> None:
    """Both schemes have two steps, and one tensor (x or out) in common."""
    batch = Batch.of([parse(GOAL)], Placements())
    whole = 2 * ROWS * LINES_OF_ROW
    for shared, again in ((0, 0), (whole, 0), (whole - 1, ROWS * LINES_OF_ROW)):
        target = replace(AVX512, last_cache=8 * shared, refetch=2.5)
        (edges,) = Decompose(scheme, "L1").edges(batch, target)
        assert np.all(edges.cost == 2.5 * again)


def test_few_rows_go_through_all_steps_at_a_time() -> None:
    few = replace(AVX512, last_cache=8 * 4 * LINES_OF_ROW)
    best = [search(parse(GOAL), target) for target in (AVX512, few)]
    assert best[0].cost == pytest.approx(best[1].cost, rel=0.01)
    impl = reconstruct(parse(GOAL), few, best[1].decisions)
    assert 0 < max(lines_in_memory(impl)) <= few.usable_cache


def lines_in_memory(impl: Impl) -> list[int]:
    """The lines of rows in memory of an operation that is done in steps."""
    found = [n for child in impl.children for n in lines_in_memory(child.impl)]
    if isinstance(impl.rewrite, Decompose):
        rows, length = impl.spec.sizes
        places = [
            impl.spec.levels[i]
            for i, o in enumerate(impl.spec.operation.operands)
            if len(o.dims) == 2
        ]
        found.append(sum(level == 0 for level in places) * rows * length // 16)
    return found


def test_most_of_the_last_cache_is_left_to_others() -> None:
    last = Cache(level=3, kind="unified", size=32 << 20, ways=16, line=64)
    assert sized(AVX512, None, None, last).usable_cache == (4 << 20) // 64
    assert sized(AVX512, None, None).usable_cache == 0
