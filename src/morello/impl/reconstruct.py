"""From the search's decisions to a readable Impl: chains of small loops are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from morello.base.errors import RewriteError
from morello.impl.tree import Impl, ImplNode, replay
from morello.ir.spec import Spec
from morello.rewrites.rewrite import Rewrite, apply
from morello.rewrites.tile import Split, Tile
from morello.targets.target import Target

Loop = Tile | Split


def reconstruct(spec: Spec, target: Target, decisions: Sequence[Rewrite]) -> Impl:
    """The Impl of these decisions, with chains of loops merged. Its cost is the same."""
    return replay(spec, target, merge_loops(replay(spec, target, decisions)))


def merge_loops(impl: Impl) -> list[Rewrite]:
    """The Impl's decisions in pre-order, with chains of exact loops merged.

    An exact loop has no remainder. A chain becomes one loop per dimension where that leads to the
    same Spec.
    """
    loops, end = chain(ImplNode(impl))
    merged: list[Rewrite] = []
    if loops:
        rewrites = [loop.impl.rewrite for loop in loops]
        specs = [node.impl.spec for node in (*loops, end)]
        merged += _merged(specs, cast("list[Loop]", rewrites), impl.target)
    if end.impl.rewrite is not None:
        merged.append(end.impl.rewrite)
    for child in end.impl.children:
        merged += merge_loops(child.impl)
    return merged


def chain(node: ImplNode) -> tuple[list[ImplNode], ImplNode]:
    """The chain of exact loops that begins at a node, and the node in the last of them."""
    loops: list[ImplNode] = []
    while isinstance(node.impl.rewrite, Tile | Split) and len(node.impl.children) == 1:
        loops.append(node)
        (node,) = node.children
    return loops, node


def before_merging(decisions: Impl, merged: Impl) -> dict[int, list[int]]:
    """The nodes of an Impl of all decisions that each node of the merged one stands for.

    Both by their numbers in pre-order. If loops of a chain were merged, the first of the chain
    stands for all, and the others for none.
    """
    pairs: dict[int, list[int]] = {}

    def pair(before: ImplNode, after: ImplNode) -> None:
        (loops, end), (merged_loops, merged_end) = chain(before), chain(after)
        numbers = [[loop.number] for loop in loops]
        if len(loops) != len(merged_loops):
            numbers = [[loop.number for loop in loops], *([] for _ in merged_loops[1:])]
        pairs.update({loop.number: n for loop, n in zip(merged_loops, numbers, strict=True)})
        pairs[merged_end.number] = [end.number]
        for child, merged_child in zip(end.children, merged_end.children, strict=True):
            pair(child, merged_child)

    pair(ImplNode(decisions), ImplNode(merged))
    return pairs


def _merged(specs: Sequence[Spec], chain: Sequence[Loop], target: Target) -> list[Loop]:
    """Fewer loops that lead to the same Spec as the chain, in order of first appearance.

    The Specs are those of the loops, and the one inside.
    """
    merged: list[Loop] = []
    start = 0
    while start < len(chain):
        for end in range(len(chain), start, -1):  # mostly, the whole chain can be merged
            group = list({loop.dim: loop for loop in chain[start:end]}.values())
            if end == start + 1 or _reaches(specs[start], group, target) == specs[end]:
                break
        merged += group
        start = end
    return merged


def _reaches(spec: Spec, loops: Sequence[Loop], target: Target) -> Spec | None:
    """The Spec inside these loops, or None if they are not all legal and exact."""
    try:
        for loop in loops:
            step = apply(loop, spec, target)
            if len(step.holes) != 1:
                return None
            spec = step.holes[0].spec
    except RewriteError:
        return None
    return spec
