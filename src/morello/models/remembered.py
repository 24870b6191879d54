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
from morello.models.regrouping import Weighing
from morello.questions import question
from morello.tables import keep_text, kept_text


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
    text = kept_text(asked)
    return None if text is None else cut_of(json.loads(text), graph)


def remember(asked: str, cut: RememberedCut) -> None:
    """Keep a choice."""
    keep_text(asked, json.dumps(cut_data(cut)))


def cut_data(cut: RememberedCut) -> dict[str, Any]:
    """A choice as JSON-able data, with the places of nodes in its graph."""
    partition = cut.partition
    places = partition.graph.positions
    return {
        "groups": [[places[node] for node in group.nodes] for group in partition.groups],
        "light": sorted(places[node] for node in partition.light),
        "cost_at_first": cut.cost_at_first,
        "line": cut.weighing.line,
        "weighed": [
            ([places[node] for node in each.members], each.cost, each.instead)
            for each in cut.weighing.groups
        ],
    }


def cut_of(data: Any, graph: Graph) -> RememberedCut:
    """The choice that `cut_data` gave as these data."""
    nodes = graph.nodes
    members = [[nodes[place] for place in places] for places in data["groups"]]
    stored = {some[-1] for some in members if isinstance(some[-1].operator, VIEWS)}
    groups = [group_of(some, graph, stored) for some in members]
    light = light_of(data, graph)
    partition = GraphPartition(graph, tuple(group for group in groups if group), light)
    return RememberedCut(partition, data["cost_at_first"], weighing_of(data, graph))


def light_of(data: Any, graph: Graph) -> frozenset[Node]:
    """The light nodes of a choice that is given as data."""
    return frozenset(graph.nodes[place] for place in data["light"])


def weighing_of(data: Any, graph: Graph) -> Weighing:
    """The weighing of a choice that is given as data."""
    nodes = graph.nodes
    weighed = [
        WeighedGroup(tuple(nodes[place] for place in places), cost, instead)
        for places, cost, instead in data["weighed"]
    ]
    return Weighing(data["line"], tuple(weighed))


def _places(graph: Graph, nodes: Iterable[Node]) -> list[str]:
    return [str(graph.positions[node]) for node in nodes]
