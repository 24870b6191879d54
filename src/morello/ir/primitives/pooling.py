"""Pooling: sums and maxima over the windows of an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, accumulating, operation
from morello.ir.primitives.copies import bound_moved
from morello.ir.primitives.windows import (
    PIXELS,
    Windows,
    short,
    spatial,
    whole,
    window_options,
    windows_of,
)
from morello.ir.rounding import Bounded, Bounds, summed
from morello.ir.semantics import reference
from morello.ir.text import Result, Text, call, oriented


@cache
def pool(
    primitive: Primitive,
    windows: tuple[Windows, ...] = (Windows(), Windows()),
    channels_last: bool = False,
    accumulates: bool = False,
) -> Operation:
    """out[b,c,y,x] = the reduction (`SUM_POOL` or `MAX_POOL`) of x[b, c, sy*y+dp*p, sx*x+dq*q].

    There are windows along rows and columns or, without y and p, along columns only.
    """
    along = spatial(windows)
    axes = tuple(str(window.axis(dim)) for dim, window in along.items())
    pixels = tuple(PIXELS[dim] for dim in along)
    image, out = ("b", *axes, "c"), ("b", *along, "c")
    if not channels_last:
        image, out = ("b", "c", *axes), ("b", "c", *along)
    overwriting = operation(
        primitive,
        ("b", "c", *along, *pixels),
        (Operand("image", image), Operand("out", out, written=True, start=primitive.start)),
        reduced=pixels,
        untiled=whole(along),
    )
    return accumulating(overwriting) if accumulates else overwriting


def _pools(primitive: Callable[[], Primitive], like: Operation) -> Iterator[Operation]:
    """The reductions of the same windows."""
    windows = tuple(windows_of(like).values()) if like.operands else ()
    if windows:
        yield from (pool(primitive(), windows, last) for last in (False, True))


def _evaluate(
    reduction: Callable[..., Any], operation: Operation, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    names = [name for axis in operation.axes[0] for name in axis.names]
    reduced = reduction(inputs[0], axis=tuple(names.index(dim) for dim in operation.reduced))
    kept = [name for name in names if name not in operation.reduced]
    return (reduced.transpose([kept.index(dim) for dim in operation.operands[-1].dims]),)


def _bound_sum(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    names = [name for axis in operation.axes[0] for name in axis.names]
    sizes = dict(zip(names, inputs[0].value.shape, strict=True))
    terms = prod(sizes[dim] for dim in operation.reduced)
    return (summed(reference(operation), inputs, terms, dtypes[-1]),)


def _text(function: str, operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    along = windows_of(operation)
    windows, last = tuple(along.values()), operation.operands[-1].dims[-1] == "c"
    assert operation.primitive is not None
    ordered = pool(operation.primitive, windows, last).operands[0].dims
    image = oriented(arguments[0], operation.operands[0].dims, ordered)
    size = short([result.sizes[PIXELS[dim]] for dim in along])
    options = [("window", size), *window_options(windows, last)]
    return call(function, [image], options, result.dtype)


SUM_POOL: Primitive = Primitive(
    "SumPool",
    variants=partial(_pools, lambda: SUM_POOL),
    evaluate=partial(_evaluate, np.sum),
    bound=_bound_sum,
    text=partial(_text, "sum_pool"),
    start="zero",
    pools=True,
)

MAX_POOL: Primitive = Primitive(
    "MaxPool",
    variants=partial(_pools, lambda: MAX_POOL),
    evaluate=partial(_evaluate, np.max),
    bound=bound_moved,
    text=partial(_text, "max_pool"),
    start="lowest",
    pools=True,
)
