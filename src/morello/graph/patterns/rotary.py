"""Rotary embeddings, whose halves are computed where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Concat, Map, Slice
from morello.graph.patterns.matching import Rule, inserted_units, is_map, mapped


def rotated_halves(node: Node) -> Node | None:
    """x * c + concat(-b, a) * s, where x is concat(a, b) -> concat(a * c - b * s, b * c + a * s).

    In the result, a and b are multiplied by the halves of c and s in their places.
    """
    if not is_map(node, "add"):
        return None
    for x, c, turned, s in _products(node):
        halves = _turned(turned)
        if halves is None or turned.shape != node.shape or not _is_same(halves[0].inputs[0], x):
            continue
        a, b = halves
        (c_a, c_b), (s_a, s_b) = (_halves(factor, node.shape[-1]) for factor in (c, s))
        first = mapped("subtract", mapped("multiply", a, c_a), mapped("multiply", b, s_a))
        second = mapped("add", mapped("multiply", b, c_b), mapped("multiply", a, s_b))
        return apply(Concat(node.type.rank - 1), first, second)
    return None


def _products(node: Node) -> Iterator[tuple[Node, Node, Node, Node]]:
    """The factors of a sum of two products, in any order."""
    for left, right in (node.inputs, node.inputs[::-1]):
        if is_map(left, "multiply") and is_map(right, "multiply"):
            for x, c in (left.inputs, left.inputs[::-1]):
                for turned, s in (right.inputs, right.inputs[::-1]):
                    yield x, c, turned, s


def _turned(node: Node) -> tuple[Node, Node] | None:
    """a and b if a node is concat(-b, a) of the halves of a tensor along the last axis."""
    last = node.type.rank - 1
    if node.operator != Concat(last) or len(node.inputs) != 2 or not is_map(node.inputs[0], "neg"):
        return None
    a, b = node.inputs[1], node.inputs[0].inputs[0]
    for half, first in ((a, 0), (b, a.shape[-1])):
        source = half.inputs[0] if half.inputs else half
        if half.operator != _slice(source.shape, first, first + a.shape[-1]):
            return None
    same = a.inputs[0] is b.inputs[0] and 2 * a.shape[-1] == a.inputs[0].shape[-1]
    return (a, b) if same else None


def _is_same(source: Node, x: Node) -> bool:
    """Whether a tensor is another one, perhaps with more dimensions of size 1."""
    return source is x or (bool(inserted_units(source)) and source.inputs[0] is x)


def _halves(factor: Node, size: int) -> tuple[Node, Node]:
    """The halves of a factor along the last axis, unless that is broadcast."""
    if factor.shape[-1:] != (size,):
        return factor, factor
    half = size // 2
    first, second = (_slice(factor.shape, n, n + half) for n in (0, half))
    return apply(first, factor), apply(second, factor)


def _slice(shape: Sequence[int], first: int, stop: int) -> Slice:
    """The elements in a range along the last axis."""
    zeros = (0,) * (len(shape) - 1)
    return Slice((*zeros, first), (*shape[:-1], stop), (1,) * len(shape))


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {Map: (rotated_halves,)}
"""The rules of this family, by the class of the operators that they are for."""
