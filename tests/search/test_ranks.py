"""Every rewrite of the search lowers the part of the rank that its class says."""

from __future__ import annotations

from tests.rewrites.rewritten import kinds
from tests.search.walks import stops

from morello.rewrites import Rewrite
from morello.space.ranks import SpecRank, ranks


def test_a_rewrite_lowers_what_it_says() -> None:
    seen: set[str] = set()
    needed: dict[type[Rewrite], int] = {}
    for stop in stops():
        target, sizes = stop.space.target, stop.space.sizes
        common, extents = ranks(stop.batch, target, sizes)
        before: SpecRank = (*common, int(extents[0]))
        for rewrite, edges in stop.searched():
            seen.add(type(rewrite).__name__)
            for child in edges.children:
                common, extents = ranks(child.batch, target, sizes)
                after: SpecRank = (*common, int(extents[0]))
                assert after[: rewrite.lowers + 1] < before[: rewrite.lowers + 1], (
                    rewrite, stop.spec, child.batch.spec(),
                )  # fmt: skip
                lowered = next(i for i, part in enumerate(after) if part < before[i])
                needed[type(rewrite)] = max(needed.get(type(rewrite), 0), lowered)
    assert {kind: kind.lowers for kind in needed} == needed
    assert seen == kinds() - {"Parallel", "Split", "Tile"}
