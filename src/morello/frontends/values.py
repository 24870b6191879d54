"""Values: views of an expression's tensors, which operations take as operands.

A value shows a tensor's dimensions in some order, with dimensions of size 1 inserted between
them to broadcast along. An operation that can read its operand permuted or broadcast uses the
tensor directly. For any other operation, the value is first copied into a tensor of its shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from morello.base.errors import SpecError
from morello.frontends.types import Type
from morello.ir.computation import Tensor
from morello.ir.dtype import I32, I64, DType
from morello.ir.functions import Function
from morello.ir.operation import Operation, reordered
from morello.ir.primitives import MAX_RANK, broadcast, elementwise, move

NEW_AXIS = -1
"""Stands for a dimension of size 1 that a value has and its tensor does not."""


Numbers = int | tuple[int, ...]
"""The value of an option that takes one or more numbers."""


class MisuseError(SpecError):
    """A wrong call of a function: what is wrong with it, and what would work.

    `at` is the argument (its number) or the option (its name) at fault, None for the whole call.
    """

    def __init__(self, what: str, fix: str = "", at: int | str | None = None) -> None:
        super().__init__(what, fix)
        self.at = at


@contextmanager
def misuse_of(argument: int) -> Iterator[None]:
    """Report every `SpecError` that the block raises as a misuse of this argument of a call."""
    try:
        yield
    except SpecError as error:
        raise MisuseError(error.what, error.fix, at=argument) from None


def input_of(type: Type, name: str = "") -> Tensor:
    """An input tensor of this type."""
    return Tensor(type.shape, type.dtype, name=name, layout=type.layout, strides=type.strides)


@dataclass(frozen=True, eq=False)
class Value:
    """A view of a tensor: each entry of `axes` is one of the tensor's dimensions, or `NEW_AXIS`.

    Views of computed tensors have the dimensions in order; views of inputs may permute them.
    """

    tensor: Tensor
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(1 if d == NEW_AXIS else self.tensor.shape[d] for d in self.axes)

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def external(self) -> bool:
        """Whether the tensor is an input."""
        return self.tensor.operation is None

    @property
    def filled(self) -> bool:
        return self.tensor.operation is not None and self.tensor.operation.fills

    @property
    def unexpanded(self) -> Value:
        """The value without its `NEW_AXIS` dimensions."""
        return Value(self.tensor, tuple(d for d in self.axes if d != NEW_AXIS))

    @cached_property
    def without_new_axes(self) -> Value:
        """The value without `NEW_AXIS` in its axes: if any is, a copy whose tensor has them all."""
        if NEW_AXIS not in self.axes:
            return self
        position = self.axes.index(NEW_AXIS)
        rest = Value(self.tensor, (*self.axes[:position], *self.axes[position + 1 :]))
        return broadcast_copy(rest, position, 1).without_new_axes

    @cached_property
    def materialized(self) -> Value:
        """The value, copied if needed, so that its dimensions are its tensor's, in order."""
        view = self.without_new_axes
        if view.axes == tuple(range(view.rank)):
            return view
        return apply_operation(move(view.rank, view.axes), [value_of(view.tensor)], view.shape)

    def reordered(self, order: Sequence[int]) -> Value:
        """The value permuted: the result's dimension i is this value's dimension order[i]."""
        axes = tuple(self.axes[d] for d in order)
        kept = tuple(d for d in axes if d != NEW_AXIS)
        if self.external or kept == tuple(sorted(kept)):
            return Value(self.tensor, axes)
        transposed = apply_operation(
            move(len(kept), kept), [value_of(self.tensor)], [self.tensor.shape[d] for d in kept]
        )
        places = iter(range(len(kept)))
        return Value(transposed.tensor, tuple(d if d == NEW_AXIS else next(places) for d in axes))

    def expanded(self, position: int) -> Value:
        """The value with a dimension of size 1 inserted at this position."""
        return Value(self.tensor, (*self.axes[:position], NEW_AXIS, *self.axes[position:]))


def value_of(tensor: Tensor) -> Value:
    return Value(tensor, tuple(range(len(tensor.shape))))


def apply_operation(
    operation: Operation,
    arguments: Sequence[Value],
    shape: Sequence[int],
    dtype: DType | None = None,
) -> Value:
    """The result of an operation on values without `NEW_AXIS` dimensions; raises `MisuseError`.

    Its dtype is the first argument's unless given. The operation's operands are permuted to
    match the dimension orders of the arguments' tensors.
    """
    tensors = [argument.tensor for argument in arguments]
    if any(argument.filled for argument in arguments):
        raise MisuseError("a filled tensor cannot be an input", "fill it as a Spec of its own")
    if any(tensor.others for tensor in tensors):
        raise MisuseError("these are several results", "compute them as a Spec of its own")
    _check_indices(operation, arguments, dtype)
    orders = [operand.dims for operand in operation.operands]
    for i, argument in enumerate(arguments):
        orders[i] = tuple(orders[i][argument.axes.index(d)] for d in range(argument.rank))
    inner = reordered(operation, orders)
    return value_of(Tensor(tuple(shape), dtype or tensors[0].dtype, inner, tuple(tensors)))


def _check_indices(operation: Operation, arguments: Sequence[Value], dtype: DType | None) -> None:
    """Raise `MisuseError` if an argument of 64 bits is neither an index nor cast."""
    primitive = operation.primitive
    for number, argument in enumerate(arguments):
        index = primitive is not None and number in primitive.indices
        if argument.dtype is I64 and not index and dtype in (None, I64):
            what = "no kernel computes with i64"
            raise MisuseError(what, "cast it to f32, or give the function i32", at=number)


def check_numbers(ids: Value, things: str, at: int) -> None:
    """Raise `MisuseError` if the argument at this place cannot number rows or other things."""
    if ids.dtype not in (I32, I64):
        raise MisuseError(f"{ids.dtype} numbers no {things}", "give i32 or i64", at=at)


def check_expandable(x: Value) -> None:
    """Raise `MisuseError` if x can have no more dimensions."""
    if x.rank == MAX_RANK:
        raise MisuseError(
            f"the result would have {MAX_RANK + 1} dimensions", "flatten some of them"
        )


def broadcast_copy(x: Value, position: int, size: int) -> Value:
    """x repeated `size` times along a new dimension; raises `MisuseError`."""
    check_expandable(x)
    x = x.materialized
    shape = (*x.shape[:position], size, *x.shape[position:])
    return apply_operation(broadcast(x.rank + 1, position), [x], shape)


def axis_of(axis: int, rank: int) -> int:
    """The axis as a number from 0; `axis` may count from the end. Raises `MisuseError`."""
    if not -rank <= axis < rank:
        fix = f"use {-rank} to {rank - 1}"
        raise MisuseError(f"there is no axis {axis} in {rank} dimensions", fix, at="axis")
    return axis % rank


def axes_of(axis: Numbers, rank: int) -> tuple[int, ...]:
    """The axes as numbers from 0, in their order; raises `MisuseError` if one is there twice."""
    given = (axis,) if isinstance(axis, int) else axis
    axes = tuple(axis_of(number, rank) for number in given)
    if len({*axes}) < len(axes):
        raise MisuseError("an axis is there twice", "name each once", at="axis")
    return axes


# ---- elementwise operations


def elementwise_value(function: Function, *arguments: Value) -> Value:
    """The function applied elementwise; the arguments are aligned at their last dimensions."""
    rank = max(argument.rank for argument in arguments)
    axes = [(NEW_AXIS,) * (rank - argument.rank) + argument.axes for argument in arguments]
    shape = _common_shape(arguments, axes, rank)
    kept = [position for position in range(rank) if any(own[position] != NEW_AXIS for own in axes)]
    if len(kept) > MAX_RANK:
        raise MisuseError(f"the result would have {len(kept)} dimensions", "flatten some of them")
    places = {position: place for place, position in enumerate(kept)}
    broad = [
        p
        for p in kept
        if any(_is_unit(shape, v, own, p) for v, own in zip(arguments, axes, strict=True))
    ]
    units = {position: len(kept) + number for number, position in enumerate(broad)}
    spans = [
        tuple(
            (units if _is_unit(shape, argument, own, p) else places)[p]
            for p in kept
            if own[p] != NEW_AXIS
        )
        for argument, own in zip(arguments, axes, strict=True)
    ]
    operation = elementwise(function, tuple(spans), len(kept))
    out = apply_operation(operation, [v.unexpanded for v in arguments], [shape[p] for p in kept])
    return Value(out.tensor, tuple(places.get(p, NEW_AXIS) for p in range(rank)))


def _common_shape(
    arguments: Sequence[Value], axes: Sequence[tuple[int, ...]], rank: int
) -> list[int]:
    shape = [1] * rank
    for position in range(rank):
        for number, (argument, own) in enumerate(zip(arguments, axes, strict=True)):
            size = 1 if own[position] == NEW_AXIS else argument.tensor.shape[own[position]]
            if 1 not in (size, shape[position]) and size != shape[position]:
                raise MisuseError(
                    f"the sizes {shape[position]} and {size} differ",
                    "dimensions are aligned at the last; expand_dims(x, axis=1) adds one of size 1",
                    at=number,
                )
            shape[position] = max(size, shape[position])
    return shape


def _is_unit(shape: Sequence[int], argument: Value, axes: Sequence[int], position: int) -> bool:
    """Whether a tensor's own dimension of size 1 is broadcast along this dimension."""
    d = axes[position]
    return d != NEW_AXIS and argument.tensor.shape[d] == 1 < shape[position]
