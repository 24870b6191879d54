"""From the search's decisions to a readable Impl: chains of small loops are merged."""

from __future__ import annotations

from collections.abc import Sequence

from morello.base.errors import RewriteError
from morello.impl.tree import Impl, replay
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
    chain: list[Loop] = []
    node = impl
    while isinstance(node.rewrite, Tile | Split) and len(node.children) == 1:
        chain.append(node.rewrite)
        node = node.children[0].impl
    merged: list[Rewrite] = list(_merged(impl.spec, chain, impl.target)) if chain else []
    if node.rewrite is not None:
        merged.append(node.rewrite)
    for child in node.children:
        merged += merge_loops(child.impl)
    return merged


def _merged(spec: Spec, chain: Sequence[Loop], target: Target) -> list[Loop]:
    """Fewer loops that lead to the same Spec as the chain, in order of first appearance."""
    done: list[Loop] = []
    group: list[Loop] = []
    start, end = spec, spec
    for loop in chain:
        end = apply(loop, end, target).holes[0].spec
        candidate = [loop if g.dim == loop.dim else g for g in group]
        if loop not in candidate:
            candidate.append(loop)
        if _reaches(start, candidate, target) == end:
            group = candidate
        else:
            done += group
            for finished in group:
                start = apply(finished, start, target).holes[0].spec
            group = [loop]
    return done + group


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
