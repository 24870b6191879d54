"""Constant factors and terms, taken into the weights of products and convolutions."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from morello.graph.graph import Array, Graph, Node, apply
from morello.graph.interpreter import widened
from morello.graph.operators import Constant, Conv, Dot
from morello.graph.patterns.matching import constant, is_float, is_map, mapped, on_replaced

_STEPS = 3
"""The least number of operators for which a multiply-add of vectors is worth rounding otherwise."""


def with_folded_weights(graph: Graph) -> Graph:
    """(x - mean) / deviation * gamma + beta, all but x constants -> x * a + b; so x / c * d + e.

    conv(x, w) * a + b, and dot(x, w) * a + b, for constant w -> conv(x, w * a) + b. The constants
    are computed in float64 and rounded once.
    """
    after: dict[Node, Node] = {}
    for node in graph.nodes:
        chain = _chain(graph, node)
        folded = chain and chain.folded(after)
        after[node] = folded or on_replaced(node, after)
    return Graph(graph.inputs, tuple(after[node] for node in graph.outputs))


@dataclass(frozen=True)
class _Chain:
    """A node that is base * factor + term, by so many operators that nothing else reads.

    It is `scaled_first` if no term is scaled.
    """

    node: Node
    base: Node
    factor: Array
    term: Array
    steps: int
    scaled_first: bool

    def folded(self, after: dict[Node, Node]) -> Node | None:
        """The node as a product with other weights, or as one multiply-add; None if neither."""
        dtype = self.node.dtype
        if self.steps == 1 and is_map(self.node, "add"):
            return None
        if product := self._product(after):
            scaled = product
        elif self._is_shorter():
            scaled = mapped("multiply", after[self.base], constant(self.factor, dtype))
        else:
            return None
        return mapped("add", scaled, constant(self.term, dtype)) if self.term.any() else scaled

    def _is_shorter(self) -> bool:
        """Whether a multiply-add takes fewer operators, and rounds about as they do.

        A term that is scaled afterwards may cancel most of the base, as in (x - c) * d * e.
        """
        if not self.scaled_first:
            varied = self.factor.size > 1 or self.term.size > 1
            return self.steps >= _STEPS and varied
        size = np.abs(self.factor)
        limits = ml_dtypes.finfo(self.node.dtype)  # type: ignore[no-untyped-call]  # it has no types
        normal = bool(((size >= limits.tiny) & (size <= limits.max)).all())
        return normal and self.steps > 1 + bool(self.term.any())

    def _product(self, after: dict[Node, Node]) -> Node | None:
        """The base with the factor in its weights; None if it has none that can take it."""
        operator, dtype = self.base.operator, self.node.dtype
        if not isinstance(operator, Conv | Dot):
            return None
        rank = self.base.type.rank
        factor = self.factor.reshape((1,) * (rank - self.factor.ndim) + self.factor.shape)
        for side, weights in enumerate(self.base.inputs):
            if not isinstance(weights.operator, Constant) or weights.dtype != dtype:
                continue
            places = _places(self.base, side)
            if any(n > 1 and d not in places for d, n in enumerate(factor.shape)):
                continue
            if bool((factor == 1).all()):
                return on_replaced(self.base, after)
            kept = [d for d in places if d is not None]
            moved = np.moveaxis(factor, kept, [*range(len(kept))])
            units = [number for number, d in enumerate(places) if d is None]
            spread = np.expand_dims(moved.reshape(moved.shape[: len(kept)]), units)
            scaled = _product(weights.operator.array, spread)
            if np.isfinite(scaled).all():
                inputs = [after[source] for source in self.base.inputs]
                inputs[side] = apply(Constant(scaled))
                return apply(operator, *inputs)
        return None


def _product(array: Array, factor: Array) -> Array:
    """An array times one in float64, in the dtype of the array; every element is rounded once.

    NumPy converts a few elements at a time: no array of float64 is made of large weights.
    """
    result = np.empty(array.shape, array.dtype)
    with np.errstate(all="ignore"):
        np.multiply(array, factor, out=result, dtype=np.float64, casting="unsafe")
    return result


def _places(base: Node, side: int) -> list[int | None]:
    """For each dimension of an input, that of the result which it becomes, if any."""
    operator, rank = base.operator, base.inputs[side].type.rank
    if isinstance(operator, Conv):
        return [1 if side == 1 and d == 0 else None for d in range(rank)]
    assert isinstance(operator, Dot)
    places: list[int | None] = [None] * rank
    for number, pair in enumerate(operator.batch):
        places[pair[side]] = number
    before = len(operator.batch)
    if side == 1:
        before += len(operator.free(0, base.inputs[0].type.rank))
    for number, d in enumerate(operator.free(side, rank)):
        places[d] = before + number
    return places


def _chain(graph: Graph, node: Node) -> _Chain | None:
    """The longest chain that ends with a node; None if it is part of a longer one, or is none."""
    if not _is_step(node) or any(_extends(graph, node, reader) for reader in graph.users[node]):
        return None
    steps = [node]
    while _is_step(steps[-1].inputs[0]) and _extends(graph, steps[-1].inputs[0], steps[-1]):
        steps.append(steps[-1].inputs[0])
    base = steps[-1].inputs[0]
    alone = len(graph.users[base]) == 1 and base not in graph.outputs
    if isinstance(base.operator, Conv | Dot) and not alone:
        return None
    factor, term = np.ones(()), np.zeros(())
    with np.errstate(all="ignore"):
        for step in reversed(steps):
            operator = step.inputs[1].operator
            assert isinstance(operator, Constant)
            number = widened(operator.array)
            if is_map(step, "add"):
                term = term + number
            else:
                scale = number if is_map(step, "multiply") else 1 / number
                factor, term = factor * scale, term * scale
    if not (np.isfinite(factor).all() and np.isfinite(term).all()):
        return None
    scaled_first = not any(is_map(step, "add") for step in steps[1:])
    return _Chain(node, base, factor, term, len(steps), scaled_first)


def _is_step(node: Node) -> bool:
    """Whether a node adds a constant to another of its shape, or scales it by one."""
    return (
        is_map(node, "add", "divide", "multiply")
        and is_float(node.dtype)
        and isinstance(node.inputs[1].operator, Constant)
        and node.inputs[0].shape == node.shape
    )


def _extends(graph: Graph, node: Node, reader: Node) -> bool:
    """Whether a step is the next one of a chain after a node that nothing else reads."""
    return (
        _is_step(reader)
        and reader.inputs[0] is node
        and len(graph.users[node]) == 1
        and node not in graph.outputs
    )
