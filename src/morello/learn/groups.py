"""Programs of a Spec with their graphs, concatenated, and their times if they have any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from morello.impl.tree import Impl
from morello.learn.archive import Array
from morello.learn.features import Featurizer, ProgramGraph


@dataclass(frozen=True)
class ProgramGroup:
    """Programs of one Spec: c configurations, with a graph of each or one graph of all.

    Models rank the programs of a group, as in learning to rank, never those of several.

    `nodes` (n, features), `opcodes` (n), `parts` (n, parts) in cycles, `edges` (m, 2) as pairs
    (consumer, consumed) of nodes counted from 0 through all graphs, `kinds` (m); `node_splits` and
    `edge_splits` (c + 1), or of two elements if there is one graph. `configs` (c, features),
    `fetches` (c, fetches) and `terms` (c, terms) in cycles, `seconds` and `normalizers` (c),
    `origins` (c) where they come from (see `programs.ORIGINS`; -1 if unknown).
    `noise` is the relative difference between times of the same program, `machine` the name of the
    microarchitecture, and `hertz` its cycles per second.
    """

    family: str
    expression: str
    nodes: Array
    opcodes: Array
    parts: Array
    edges: Array
    kinds: Array
    node_splits: Array
    edge_splits: Array
    configs: Array
    fetches: Array
    terms: Array
    seconds: Array
    normalizers: Array
    origins: Array
    noise: float = 0.0
    hertz: float = 1.0
    machine: str = ""

    @property
    def shared(self) -> bool:
        """Whether all configurations share one graph."""
        return len(self.node_splits) == 2 and len(self.seconds) != 1

    @property
    def cost(self) -> Array:
        """The affine cost of each program, in cycles."""
        total: Array = self.terms.sum(axis=1)
        return total


def of_programs(featurizer: Featurizer, impls: Sequence[Impl]) -> ProgramGroup:
    """A group of programs that were not measured: without a family, and with times of nan."""
    graphs = featurizer.graphs(impls)
    starts = [0, *accumulate(len(graph.opcodes) for graph in graphs)]
    edges = [_edges(graph, start) for graph, start in zip(graphs, starts, strict=False)]
    unknown = np.full(len(graphs), np.nan)
    return ProgramGroup(
        "",
        impls[0].spec.expression,
        np.concatenate([graph.nodes for graph in graphs]),
        np.concatenate([graph.opcodes for graph in graphs]),
        np.concatenate([graph.parts for graph in graphs]),
        np.concatenate([pairs for pairs, _ in edges]),
        np.concatenate([kinds for _, kinds in edges]),
        np.array(starts, np.int32),
        np.array([0, *accumulate(len(kinds) for _, kinds in edges)], np.int32),
        np.stack([graph.program for graph in graphs]),
        np.stack([graph.fetches for graph in graphs]),
        np.stack([graph.terms for graph in graphs]),
        unknown,
        unknown,
        np.full(len(graphs), -1, np.int8),
    )


def _edges(graph: ProgramGraph, start: int) -> tuple[Array, Array]:
    """Pairs (consumer, consumed), and the kind of each."""
    nesting, flow = graph.nesting, graph.flow[:, ::-1]
    kinds = np.repeat(np.array([0, 1], np.int8), [len(nesting), len(flow)])
    return np.concatenate([nesting, flow]) + start, kinds
