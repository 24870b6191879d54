"""Parts of groups of programs, such as halves whose orders are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from morello.learn.groups import ProgramGroup


def part_of(group: ProgramGroup, chosen: Sequence[int]) -> ProgramGroup:
    """The programs of a group with these numbers."""
    nodes = [np.arange(*group.node_splits[n : n + 2]) for n in chosen]
    edges = [np.arange(*group.edge_splits[n : n + 2]) for n in chosen]
    starts = np.cumsum([0, *map(len, nodes)])
    moved = [
        group.edges[rows] - group.node_splits[n] + start
        for n, rows, start in zip(chosen, edges, starts, strict=False)
    ]
    every, all_edges = np.concatenate(nodes), np.concatenate(edges)
    rows = list(chosen)
    return replace(
        group,
        nodes=group.nodes[every],
        opcodes=group.opcodes[every],
        parts=group.parts[every],
        edges=np.concatenate(moved),
        kinds=group.kinds[all_edges],
        node_splits=starts.astype(np.int32),
        edge_splits=np.cumsum([0, *map(len, edges)]).astype(np.int32),
        configs=group.configs[rows],
        fetches=group.fetches[rows],
        terms=group.terms[rows],
        seconds=group.seconds[rows],
        normalizers=group.normalizers[rows],
        origins=group.origins[rows],
    )
