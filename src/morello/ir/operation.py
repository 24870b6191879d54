"""Operations: what a Spec computes, as named dimensions and the operands they index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from morello.ir.axes import Axis, axis, renamed
from morello.ir.dtype import DType
from morello.ir.functions import Function


@dataclass(frozen=True)
class Operand:
    """An operand's name and its dims: names of dimensions, or windows (see `ir.axes`).

    A `written` operand is overwritten, unless it is `updated` in place or the operation
    accumulates into it; `start` is the initial value of an accumulator, "zero" or "lowest".
    """

    name: str
    dims: tuple[str, ...]
    written: bool = False
    start: str = ""
    updated: bool = False


@dataclass(frozen=True, eq=False)
class Operation:
    """A primitive, or a composition of primitives. Operands are the inputs, then the outputs.

    Operations are hash-consed by `operation`, so they are compared by identity. `reduced` are
    the reduction dimensions; an operation that `accumulates` combines its results with the
    contents of its outputs. Dimensions in `whole` are never tiled. `function` is applied to
    every element by an elementwise operation; `components` are those of a composition.
    """

    name: str
    dims: tuple[str, ...]
    operands: tuple[Operand, ...]
    reduced: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    accumulates: bool = False
    function: Function | None = None
    components: tuple[Component, ...] = ()

    @cached_property
    def axes(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes of each operand: how each of its dimensions is indexed."""
        return tuple(tuple(axis(d) for d in o.dims) for o in self.operands)

    @cached_property
    def places(self) -> dict[tuple[int, str], tuple[int, int]]:
        """By operand and dimension that indexes it: the position of that axis, and the stride."""
        return {
            (operand, name): (position, stride)
            for operand, axes in enumerate(self.axes)
            for position, operand_axis in enumerate(axes)
            for name, stride in operand_axis.terms
        }

    @property
    def output(self) -> int:
        """The index of the last operand, which is written."""
        return len(self.operands) - 1

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        return tuple(i for i, operand in enumerate(self.operands) if operand.written)

    @cached_property
    def copies(self) -> bool:
        """Whether it does no arithmetic, but only moves data or fills a tensor with a constant."""
        return self.name in ("Move", "Pack") or self.name.startswith("Fill")

    @cached_property
    def windows(self) -> bool:
        """Whether some operand is indexed by a window."""
        return any(not operand_axis.plain for axes in self.axes for operand_axis in axes)

    def extents(self, operand: int, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """An operand's shape; `sizes` of all dimensions are numbers, or columns of them."""
        if not self.windows:
            return tuple([sizes[i] for i in self._spans[operand]])
        named = dict(zip(self.dims, sizes, strict=True))
        return tuple(operand_axis.extent(named) for operand_axis in self.axes[operand])

    @cached_property
    def _spans(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.dims.index(a.names[0]) for a in axes) for axes in self.axes)

    def reads(self, operand: int) -> bool:
        tensor = self.operands[operand]
        return not tensor.written or tensor.updated or (self.accumulates and bool(tensor.start))

    def find(self, operand: str) -> int:
        """The index of the operand of this name; raises `KeyError`."""
        for index, candidate in enumerate(self.operands):
            if candidate.name == operand:
                return index
        raise KeyError(operand)

    def may_cut(self, dim: str) -> bool:
        """Whether a loop may tile this dimension."""
        return dim not in self.whole and (self.accumulates or dim not in self.reduced)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Component:
    """A primitive in a composition, which computes one tensor from others.

    `inputs` are the numbers of the tensors that it reads (see `ir.compose`). `dims` maps each
    of its dimensions to the composition: to a dimension there, or to a window if a later
    component slides over this one's result.
    """

    operation: Operation
    inputs: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: DType

    @property
    def axes(self) -> dict[str, Axis]:
        """The axis in the composition that each of its dimensions maps to."""
        return {d: axis(text) for d, text in zip(self.operation.dims, self.dims, strict=True)}

    def operand_dims(self, operand: int) -> tuple[str, ...]:
        """An operand's dims in the composition."""
        return renamed(self.operation.operands[operand].dims, self.axes)

    @property
    def result_dims(self) -> tuple[str, ...]:
        return self.operand_dims(self.operation.output)


def operation(
    name: str,
    dims: tuple[str, ...],
    operands: tuple[Operand, ...],
    reduced: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    accumulates: bool = False,
    function: Function | None = None,
    components: tuple[Component, ...] = (),
) -> Operation:
    """The operation of this description, hash-consed: always the same object."""
    # The cache would tell arguments passed by name from those passed by position.
    return _interned(name, dims, operands, reduced, whole, accumulates, function, components)


_interned = cache(Operation)


def accumulating(base: Operation) -> Operation:
    """The form of an operation that combines its results with the contents of its outputs.

    Raises `ValueError` if there is none.
    """
    if not accumulates_later(base):
        raise ValueError(f"{base} has no accumulating form")
    return operation(
        base.name + "Accum", base.dims, base.operands, base.reduced, base.whole, True,
        base.function, base.components,
    )  # fmt: skip


def accumulates_later(base: Operation) -> bool:
    """Whether an operation overwrites its outputs, and has an accumulating form."""
    return not base.accumulates and any(o.start for o in base.operands)


def reordered(base: Operation, orders: Sequence[tuple[str, ...]]) -> Operation:
    """The operation with its operands' dimensions in other orders."""
    operands = tuple(replace(o, dims=dims) for o, dims in zip(base.operands, orders, strict=True))
    return operation(
        base.name, base.dims, operands, base.reduced, base.whole, base.accumulates,
        base.function, base.components,
    )  # fmt: skip
