"""Memory for what a stage computes and only it reads, shared by what is never needed at once."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from morello.graph.graph import Node
from morello.models.schedule import PlacedCall, PlacedStage
from morello.runtime.argument import CACHE_LINE


@dataclass(frozen=True)
class Arena:
    """One block of memory: its size in bytes, and where in it each node is stored."""

    bytes: int
    offsets: Mapping[Node, int]


@dataclass(frozen=True)
class _Lifetime:
    """The calls, by number, from the first that writes a node to the last that reads it."""

    node: Node
    first: int
    last: int

    def overlaps(self, other: _Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


def arena_of(stage: PlacedStage) -> Arena:
    """The memory for what only the stage reads."""
    given = {*stage.inputs, *stage.outputs}
    inner = dict.fromkeys(call.output.base for call in stage.calls)
    return arena(stage.calls, [node for node in inner if node not in given])


def arena(calls: Sequence[PlacedCall], nodes: Sequence[Node]) -> Arena:
    """Places for these nodes: the largest first, each at the lowest offset where it fits.

    Nodes that are needed at the same time do not overlap.
    """
    lifetimes = _lifetimes(calls)
    sizes = {node: _size(node) for node in nodes}
    offsets: dict[Node, int] = {}
    placed: list[tuple[int, int, _Lifetime]] = []  # begin, end and calls, by where they begin
    for node in sorted(nodes, key=lambda node: -sizes[node]):
        lifetime, size, offset = lifetimes[node], sizes[node], 0
        for begin, end, other in placed:
            if offset < end and begin < offset + size and lifetime.overlaps(other):
                offset = end
        offsets[node] = offset
        insort(placed, (offset, offset + size, lifetime), key=itemgetter(0))
    return Arena(max((end for _, end, _ in placed), default=0), offsets)


def _lifetimes(calls: Sequence[PlacedCall]) -> dict[Node, _Lifetime]:
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    for number, call in enumerate(calls):
        for view in (*call.inputs, call.output):
            first.setdefault(view.base, number)
            last[view.base] = number
    return {node: _Lifetime(node, begin, last[node]) for node, begin in first.items()}


def _size(node: Node) -> int:
    """The bytes of a node, up to whole cache lines."""
    return -(-node.type.bytes // CACHE_LINE) * CACHE_LINE
