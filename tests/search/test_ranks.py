"""Every rewrite of the search lowers the part of the rank that its class says."""

from __future__ import annotations

from tests.rewrites.rewritten import kinds
from tests.search.walks import stops

from morello.ir.batch import Batch
from morello.rewrites import Rewrite
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space


def rank(batch: Batch, space: Space) -> SpecRank:
    encoding = space.encoding(batch)
    (extent,) = encoding.extents(encoding.keys(batch), space.target)
    return (*common_rank(encoding.kind), int(extent))


def test_a_rewrite_lowers_what_it_says() -> None:
    seen: set[str] = set()
    needed: dict[type[Rewrite], int] = {}
    for stop in stops():
        before = rank(stop.batch, stop.space)
        for rewrite, edges in stop.searched():
            seen.add(type(rewrite).__name__)
            for child in edges.children:
                after = rank(child.batch, stop.space)
                assert after[: rewrite.lowers + 1] < before[: rewrite.lowers + 1], (
                    rewrite, stop.spec, child.batch.spec(),
                )  # fmt: skip
                lowered = next(i for i, part in enumerate(after) if part < before[i])
                needed[type(rewrite)] = max(needed.get(type(rewrite), 0), lowered)
    assert {kind: kind.lowers for kind in needed} == needed
    assert seen == kinds() - {"Overlap", "Parallel", "Split", "Tile"}
