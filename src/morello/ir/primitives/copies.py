"""Copies and fills, which do no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from morello.ir.axes import axis
from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.dims import MAX_RANK, each_rank, named
from morello.ir.rounding import Bounded, Bounds, highest, lowest, moved
from morello.ir.semantics import reference, scan_axis
from morello.ir.text import Result, Text, call, transpose


@cache
def move(rank: int, order: tuple[int, ...] | None = None) -> Operation:
    """dst = src: a copy between levels, layouts, dtypes, or memory and registers.

    With an `order`, dst's dimension i is src's dimension order[i].
    """
    dims = named(rank)
    source = dims
    if order is not None:
        source = tuple(dims[order.index(d)] for d in range(rank))
    return operation(MOVE, dims, (Operand("src", source), Operand("dst", dims, written=True)))


@cache
def fill(rank: int, value: str = "zero") -> Operation:
    """dst = 0 ("zero"), or the lowest or the highest value of its dtype ("lowest", "highest")."""
    primitive = {"zero": FILL_ZERO, "lowest": FILL_LOWEST, "highest": FILL_HIGHEST}[value]
    return operation(primitive, named(rank), (Operand("dst", named(rank), written=True),))


@cache
def pack(rank: int, dim: int, lanes: int, ragged: bool = False) -> Operation:
    """dst = src, with each `lanes` neighbours along the dimension `dim` packed in one element.

    Such a group has p of them, all `lanes`. If it is `ragged`, only all groups but the last have
    `lanes`; p are those in the last one, and zeros fill it up.
    """
    dims = named(rank)
    grouped = tuple(f"{lanes}{d}+p" if i == dim else d for i, d in enumerate(dims))
    operands = (Operand("src", grouped), Operand("dst", dims, written=True))
    untiled = (dims[dim], "p") if ragged else ("p",)
    return operation(PACK, (*dims, "p"), operands, untiled=untiled)


def is_ragged(operation: Operation) -> bool:
    """Whether a pack pads its last group with zeros, as k need not be a multiple of a group.

    The packed dimension is not tiled then, since only the last tile would be padded.
    """
    return operation.primitive is PACK and len(operation.untiled) > 1


def packed_along(pack: Operation) -> str:
    """The dimension along which neighbours are packed."""
    position, _ = pack.places[0, "p"]
    return pack.operands[1].dims[position]


def _packs(like: Operation) -> Iterator[Operation]:
    """The packs of as many lanes, along the same dimension, ragged or not."""
    grouped = [axis(dim) for dim in like.operands[0].dims] if like.operands else []
    for dim, window in enumerate(grouped):
        if len(window.terms) == 2 and len(grouped) <= MAX_RANK:
            lanes = window.terms[0][1]
            yield from (pack(len(grouped), dim, lanes, ragged) for ragged in (False, True))


# ---- what they compute


def _evaluate_move(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    source, target = (o.dims for o in operation.operands)
    return (inputs[0].transpose([source.index(d) for d in target]),)


def bound_moved(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """The only output of an operation that adds no rounding error."""
    return (moved(reference(operation), inputs),)


# ---- their text


def _text_move(operation: Operation, arguments: Sequence[Text], result: Result) -> Text:
    """The text of a copy, which may transpose the tensor or cast it to another dtype."""
    (source,), dtype = arguments, result.dtype
    before, after = (operand.dims for operand in operation.operands)
    text, transposed = source.text, before != after
    if transposed:
        text = transpose(text, [before.index(d) for d in after])
    if dtype is not source.dtype:
        return Text(f"cast({text}, {dtype})", dtype)
    # The transpose of an input is only a view of it, so a copy has to be written as `move`.
    viewed = transposed and (result.final or not source.external)
    return Text(text if viewed else f"move({text})", dtype)


def called(function: str) -> Callable[[Operation, Sequence[Text], Result], Text]:
    """The text of a primitive that a call without options computes."""
    return lambda operation, arguments, result: call(function, arguments, (), result.dtype)


def called_along(function: str) -> Callable[[Operation, Sequence[Text], Result], Text]:
    """The text of a primitive that a call with the axis of its operation computes."""
    return lambda operation, arguments, result: call(
        function, arguments, (("axis", scan_axis(operation, 0)),), result.dtype
    )


MOVE = Primitive(
    "Move",
    variants=each_rank(move),
    evaluate=_evaluate_move,
    bound=bound_moved,
    text=_text_move,
    flops=0,
    copies=True,
    rearranges=True,
)

PACK = Primitive(
    "Pack",
    variants=_packs,
    bound=bound_moved,
    text=called("Pack"),
    flops=0,
    copies=True,
    rearranges=True,
)


def _fill(name: str, value: str, function: str, number: Callable[[DType], float]) -> Primitive:
    """A fill: what it fills with, the function that is its text, and the number for a dtype."""
    return Primitive(
        name,
        variants=each_rank(partial(fill, value=value)),
        bound=lambda operation, inputs, dtypes: (Bounded(np.array(number(dtypes[0]))),),
        text=lambda operation, _, result: Text(f"{function}({result.output})", result.dtype),
        flops=0,
        copies=True,
        filled=number,
    )


FILL_ZERO = _fill("FillZero", "zero", "fill_zero", lambda dtype: 0.0)
FILL_LOWEST = _fill("FillLowest", "lowest", "fill_lowest", lowest)
FILL_HIGHEST = _fill("FillHighest", "highest", "fill_highest", highest)
