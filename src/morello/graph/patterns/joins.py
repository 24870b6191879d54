"""Parts of tensors that are joined from parts, as after one part of a tensor was written."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from morello.graph.graph import Node, Operator, apply
from morello.graph.operators import Concat, Slice
from morello.graph.patterns.matching import Rule


def slice_of_slice(node: Node) -> Node | None:
    """x[i:j][k:l] -> x[i + k:i + l]."""
    outer, (x,) = node.operator, node.inputs
    inner = x.operator
    assert isinstance(outer, Slice)
    if not isinstance(inner, Slice) or inner.dense or outer.dense:
        return None
    every = [*zip(inner.starts, inner.steps, outer.starts, outer.steps, node.shape, strict=True)]
    starts = tuple(low + first * step for low, step, first, _, _ in every)
    steps = tuple(step * more for _, step, _, more, _ in every)
    stops = tuple(
        low + max(count - 1, 0) * step + min(count, 1)
        for low, step, count in zip(starts, steps, node.shape, strict=True)
    )
    return apply(Slice(starts, stops, steps), x.inputs[0])


def slice_of_part(node: Node) -> Node | None:
    """concat(x, y)[i:j] -> a slice of x or of y, if it has elements of no other."""
    parts = _parts(node)
    return parts[0] if len(parts) == 1 and parts[0] is not node else None


def joined_parts(node: Node) -> Node | None:
    """concat(concat(x, y)[i:j], z) -> concat(x[i:], y[:j], z), along one axis."""
    operator = node.operator
    assert isinstance(operator, Concat)
    parts = tuple(
        part
        for source in node.inputs
        for part in (_parts(source) if _joins(source, operator.axis) else (source,))
    )
    return apply(operator, *parts) if parts != node.inputs else None


def _joins(node: Node, axis: int) -> bool:
    """Whether a node is a slice of parts that are joined along an axis."""
    return isinstance(node.operator, Slice) and node.inputs[0].operator == Concat(axis)


def _parts(node: Node) -> tuple[Node, ...]:
    """The slices of the parts of which a slice consists; itself if there are none."""
    whole = node.operator
    joined = node.inputs[0]
    concat = joined.operator
    assert isinstance(whole, Slice)
    if not isinstance(concat, Concat) or whole.dense or whole.steps[concat.axis] > 1:
        return (node,)
    axis, parts = concat.axis, []
    firsts = accumulate((source.shape[axis] for source in joined.inputs), initial=0)
    for source, first in zip(joined.inputs, firsts, strict=False):
        low = max(whole.starts[axis] - first, 0)
        high = min(whole.stops[axis] - first, source.shape[axis])
        if low < high:
            starts, stops = (
                (*ends[:axis], end, *ends[axis + 1 :])
                for ends, end in ((whole.starts, low), (whole.stops, high))
            )
            parts.append(apply(Slice(starts, stops, whole.steps), source))
    return tuple(parts) or (node,)


RULES: Mapping[type[Operator], tuple[Rule, ...]] = {
    Concat: (joined_parts,),
    Slice: (slice_of_slice, slice_of_part),
}
"""The rules of this family, by the class of the operators that they are for."""
