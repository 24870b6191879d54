"""Programs as the network reads them: features normalized, graphs of several programs in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.learn.groups import Group
from morello.learn.network import NEIGHBOURS, Graphs

Floats = npt.NDArray[np.float32]

LEAST_DEVIATION = 0.05
"""A feature that hardly differs is not blown up."""

MOST = 5.0
"""Normalized features are at most so much: what is beyond was never learned from."""

SMALLEST = 1 << 8
"""Sizes that graphs are padded to are powers of two from here on, so that few are compiled for."""


@dataclass(frozen=True)
class Scale:
    """Means and deviations of features of the training set."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: npt.NDArray[Any]) -> Scale:
        deviation = features.std(axis=0) + LEAST_DEVIATION
        return cls(features.mean(axis=0).astype(np.float32), deviation.astype(np.float32))

    def __call__(self, features: npt.NDArray[Any]) -> Floats:
        scaled: Floats = np.clip((features - self.mean) / self.deviation, -MOST, MOST)
        return scaled.astype(np.float32)


@dataclass(frozen=True)
class Examples:
    """Programs of a Spec, normalized, with the logarithms of their cycles."""

    group: Group
    nodes: Floats
    configs: Floats
    log_cycles: Floats

    @classmethod
    def of(cls, group: Group, nodes: Scale, configs: Scale) -> Examples:
        cycles = np.log(group.seconds * group.hertz).astype(np.float32)
        return cls(group, nodes(group.nodes), configs(group.configs), cycles)


def graphs(chosen: Sequence[tuple[Examples, npt.NDArray[Any]]], *, padded: bool = False) -> Graphs:
    """The programs with these numbers of each Spec, in one.

    If `padded`, to few sizes: what is added is of a program that is none, the last.
    """
    nodes, opcodes, parts, program, place = [], [], [], [], []
    edges: dict[str, list[npt.NDArray[Any]]] = {kind: [] for kind in NEIGHBOURS}
    start = count = 0
    for some, rows in chosen:
        group = some.group
        for row in rows.tolist():
            low, high = group.node_splits[row : row + 2].tolist()
            nodes.append(some.nodes[low:high])
            opcodes.append(group.opcodes[low:high])
            parts.append(group.parts[low:high])
            program.append(np.full(high - low, count, np.int32))
            place.append(np.arange(high - low, dtype=np.int32))
            first, last = group.edge_splits[row : row + 2].tolist()
            pairs = group.edges[first:last] + (start - low)
            nesting, flow = (pairs[group.kinds[first:last] == kind] for kind in (0, 1))
            edges["inner"].append(nesting)
            edges["outer"].append(nesting[:, ::-1])
            edges["before"].append(flow)
            edges["after"].append(flow[:, ::-1])
            start, count = start + high - low, count + 1
    configs = [some.configs[rows] for some, rows in chosen]
    fetches = [some.group.fetches[rows] for some, rows in chosen]
    cost = [np.log(some.group.cost[rows]).astype(np.float32) for some, rows in chosen]
    room = _room(start + 1) if padded else start
    programs = count + 1 if padded else count
    return Graphs(
        _fill(nodes, room),
        _fill(opcodes, room),
        _fill(parts, room),
        _fill(program, room, count),
        _fill(place, room),
        _fill_edges(edges, room, padded=padded),
        _fill(configs, programs),
        _fill(fetches, programs),
        _fill(cost, programs),
    )


def _room(count: int) -> int:
    return max(SMALLEST, 1 << (count - 1).bit_length())


def _fill_edges(
    edges: Mapping[str, list[npt.NDArray[Any]]], room: int, *, padded: bool
) -> dict[str, npt.NDArray[Any]]:
    """Edges; those added lead from the last node, which is none, to itself."""
    found = {}
    for kind, pairs in edges.items():
        count = sum(len(one) for one in pairs)
        found[kind] = _fill(pairs, room if padded else count, room - 1).astype(np.int32)
    return found


def _fill(parts: Sequence[npt.NDArray[Any]], count: int, value: int = 0) -> npt.NDArray[Any]:
    """All rows, and after them rows of a value up to so many."""
    made = np.concatenate(parts)
    more = count - len(made)
    if not more:
        return made
    return np.concatenate([made, np.full((more, *made.shape[1:]), value, made.dtype)])
