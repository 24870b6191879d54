"""Partitions that were chosen before, so that a later process prices no groups again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from morello.graph.graph import Graph, Node
from morello.graph.improving import WeighedGroup
from morello.graph.partition import GraphPartition, group_of
from morello.graph.views import VIEWS
from morello.models.pricing import Weighing
from morello.questions import question
from morello.tables import texts


@dataclass(frozen=True)
class RememberedCut:
    """The partition that was chosen for a given one, and the cost of that in cycles.

    The `weighing` is what is known of other groups.
    """

    partition: GraphPartition
    cost_at_first: float
    weighing: Weighing


def cut_question(
    graph: Graph, given: GraphPartition | None, options: Mapping[str, Any]
) -> str | None:
    """A hash of a graph, of the options, and of all else that the choice depends on.

    That is the given partition, unless it is the one by the rule. None if the choice is not to be
    kept (see `questions.question`).
    """
    lines = [
        " ".join([str(node.operator), str(node.type), *_places(graph, node.inputs)])
        for node in graph.nodes
    ]
    lines.append(" ".join(_places(graph, graph.outputs)))
    if given is not None:
        lines += [" ".join(_places(graph, group.nodes)) for group in given.groups]
    return question("\n".join(lines), options)


def recalled(asked: str, graph: Graph) -> RememberedCut | None:
    """The choice that was kept; None if there is none."""
    with texts() as known:
        text = None if known is None else known.program("", asked)
    if text is None:
        return None
    record, nodes = json.loads(text), graph.nodes
    members = [[nodes[place] for place in places] for places in record["groups"]]
    stored = {some[-1] for some in members if isinstance(some[-1].operator, VIEWS)}
    groups = [group_of(some, graph, stored) for some in members]
    light = frozenset(nodes[place] for place in record["light"])
    partition = GraphPartition(graph, tuple(group for group in groups if group), light)
    weighed = [
        WeighedGroup(tuple(nodes[place] for place in places), cost, instead)
        for places, cost, instead in record["weighed"]
    ]
    weighing = Weighing(record["line"], tuple(weighed))
    return RememberedCut(partition, record["cost_at_first"], weighing)


def remember(asked: str, cut: RememberedCut) -> None:
    """Keep a choice."""
    partition = cut.partition
    places = partition.graph.positions
    record = {
        "groups": [[places[node] for node in group.nodes] for group in partition.groups],
        "light": sorted(places[node] for node in partition.light),
        "cost_at_first": cut.cost_at_first,
        "line": cut.weighing.line,
        "weighed": [
            ([places[node] for node in each.members], each.cost, each.instead)
            for each in cut.weighing.groups
        ],
    }
    with texts() as known:
        if known is not None:
            known.keep_program("", asked, json.dumps(record))


def _places(graph: Graph, nodes: Iterable[Node]) -> list[str]:
    return [str(graph.positions[node]) for node in nodes]
