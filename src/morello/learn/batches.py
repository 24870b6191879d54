"""Programs as the network reads them: normalized features, and batches of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.learn.groups import ProgramGroup
from morello.learn.network import NEIGHBOURS, Graphs

Floats = npt.NDArray[np.float32]

LEAST_DEVIATION = 0.05
"""Added to deviations, so that a feature that hardly varies is not amplified."""

MOST = 5.0
"""Normalized features are clipped to this: models have hardly seen values beyond it."""

SMALLEST = 1 << 8
"""The least size that graphs are padded to; sizes are powers of two, so that JAX compiles few."""


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

    group: ProgramGroup
    nodes: Floats
    configs: Floats
    log_cycles: Floats

    @classmethod
    def of(cls, group: ProgramGroup, nodes: Scale, configs: Scale) -> Examples:
        cycles = np.log(group.seconds * group.hertz).astype(np.float32)
        return cls(group, nodes(group.nodes), configs(group.configs), cycles)


def graphs(chosen: Sequence[tuple[Examples, npt.NDArray[Any]]], *, padded: bool = False) -> Graphs:
    """A batch of the programs with these numbers, of each Spec.

    If `padded`, to one of few sizes: the padding belongs to an extra program, the last.
    """
    nodes, opcodes, parts, program = [], [], [], []
    edges: dict[str, list[npt.NDArray[Any]]] = {kind: [] for kind in NEIGHBOURS}
    start = count = 0
    for examples, rows in chosen:
        group = examples.group
        for row in rows.tolist():
            low, high = group.node_splits[row : row + 2].tolist()
            nodes.append(examples.nodes[low:high])
            opcodes.append(group.opcodes[low:high])
            parts.append(group.parts[low:high])
            program.append(np.full(high - low, count, np.int32))
            first, last = group.edge_splits[row : row + 2].tolist()
            pairs = group.edges[first:last] + (start - low)
            nesting, flow = (pairs[group.kinds[first:last] == kind] for kind in (0, 1))
            edges["inner"].append(nesting)
            edges["outer"].append(nesting[:, ::-1])
            edges["before"].append(flow)
            edges["after"].append(flow[:, ::-1])
            start, count = start + high - low, count + 1
    configs = [examples.configs[rows] for examples, rows in chosen]
    fetches = [examples.group.fetches[rows] for examples, rows in chosen]
    cost = [np.log(examples.group.cost[rows]).astype(np.float32) for examples, rows in chosen]
    room = _room(start + 1) if padded else start
    programs = count + 1 if padded else count
    return Graphs(
        _fill(nodes, room),
        _fill(opcodes, room),
        _fill(parts, room),
        _fill(program, room, count),
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
    """The edges by kind, padded with loops of the last node, which is padding as well."""
    filled = {}
    for kind, pairs in edges.items():
        count = sum(len(array) for array in pairs)
        filled[kind] = _fill(pairs, room if padded else count, room - 1).astype(np.int32)
    return filled


def _fill(parts: Sequence[npt.NDArray[Any]], count: int, value: int = 0) -> npt.NDArray[Any]:
    """The rows of all parts, padded with `value` to `count` rows."""
    rows = np.concatenate(parts)
    more = count - len(rows)
    if not more:
        return rows
    return np.concatenate([rows, np.full((more, *rows.shape[1:]), value, rows.dtype)])
