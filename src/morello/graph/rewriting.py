"""Rules applied to a graph until none applies, and the graph as kernels want it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from morello.base.errors import GraphError
from morello.graph.graph import Graph, Node, Operator, apply
from morello.graph.operators import Constant
from morello.graph.patterns import RULES
from morello.graph.patterns.embedding import with_folded_tables
from morello.graph.patterns.matching import Rule
from morello.graph.patterns.weights import with_folded_weights

_COMPARED = 256
"""The most elements of constants that are compared; larger ones are equal if they are one array."""


def simplified(graph: Graph) -> Graph:
    """The graph with every pattern recognized, and nothing computed twice or in vain."""
    recognized = rewritten(graph, RULES)
    return rewritten(with_folded_weights(with_folded_tables(recognized)), RULES)


def rewritten(graph: Graph, rules: Mapping[type[Operator], Sequence[Rule]]) -> Graph:
    """The graph after all rules, those of a class of operators for the nodes that have one.

    A rule is given a node whose inputs are as they will be, and returns the node in its place,
    or None. Of nodes that apply the same operator to the same inputs, one is left. What no output
    needs is in no graph. Raises `GraphError` for rules that undo one another.
    """
    rewriting = _Rewriting(rules)
    return Graph(graph.inputs, tuple(rewriting.final(node) for node in graph.outputs))


class _Rewriting:
    """The replacements of nodes so far."""

    def __init__(self, rules: Mapping[type[Operator], Sequence[Rule]]) -> None:
        self._rules = rules
        self._final: dict[Node, Node] = {}
        self._next: dict[Node, Node] = {}
        self._unique: dict[Hashable, Node] = {}
        self._waiting: set[Node] = set()

    def final(self, output: Node) -> Node:
        """The node in the place of this one, to which no rule applies."""
        todo = [output]
        while todo:
            node = todo[-1]
            if node in self._final:
                todo.pop()
            elif before := [source for source in node.inputs if source not in self._final]:
                todo += reversed(before)
            else:
                if node not in self._next:
                    self._next[node] = self._step(node)
                after = self._next[node]
                if after is node:
                    self._final[node] = node
                elif after in self._final:
                    self._final[node] = self._final[after]
                elif after in self._waiting:
                    raise GraphError(f"the rules for {node.operator} undo one another.")
                else:
                    self._waiting.add(node)
                    todo.append(after)
        return self._final[output]

    def _step(self, node: Node) -> Node:
        """The node in the place of one whose inputs are final: itself if that is final, too."""
        inputs = tuple(self._final[source] for source in node.inputs)
        if inputs != node.inputs:
            node = apply(node.operator, *inputs)
        unique = self._unique.setdefault(_identity(node), node)
        if unique is not node:
            return unique
        for rule in self._rules.get(type(node.operator), ()):
            after = rule(node)
            if after is not None:
                if after.type != node.type:
                    raise GraphError(f"{rule.__name__} made {after.type} of {node.type}.")
                self._next[node] = after
                return after
        self._next[node] = node
        return node


def _identity(node: Node) -> Hashable:
    """A key that is equal for nodes that compute the same."""
    if isinstance(node.operator, Constant):
        array = node.operator.array
        if array.size > _COMPARED:
            return id(array)
        return node.type, array.tobytes()
    return node.operator, node.inputs
