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

    One that is `written` is overwritten, unless it is `updated` in place, or accumulates:
    `start` is what an accumulator begins at, "zero" or "lowest".
    """

    name: str
    dims: tuple[str, ...]
    written: bool = False
    start: str = ""
    updated: bool = False


@dataclass(frozen=True, eq=False)
class Operation:
    """A primitive, or a composition of them. Operands are the inputs, then the outputs.

    Operations are interned: `operation` gives the one of its kind, so they are compared by
    identity. `reduced` dimensions are combined (summed, say); an operation that
    `accumulates` combines with what its outputs hold. Dimensions in `whole` are never cut.
    `function` is what a map applies to every element; `components` are a composition's.
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
        """For each operand, how each of its dimensions is indexed."""
        return tuple(tuple(axis(d) for d in o.dims) for o in self.operands)

    @cached_property
    def places(self) -> dict[tuple[int, str], tuple[int, int]]:
        """For each operand and dimension that indexes it: its position there, and its stride."""
        return {
            (operand, name): (position, stride)
            for operand, axes in enumerate(self.axes)
            for position, one in enumerate(axes)
            for name, stride in one.terms
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
        """It only moves or fills: it is what other operations leave to do."""
        return self.name in ("Move", "Pack") or self.name.startswith("Fill")

    @cached_property
    def windows(self) -> bool:
        """Some operand is indexed by a window."""
        return any(not one.plain for axes in self.axes for one in axes)

    def extents(self, operand: int, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """An operand's shape, given the sizes of all dimensions: numbers, or columns of them."""
        if not self.windows:
            return tuple([sizes[i] for i in self._spans[operand]])
        named = dict(zip(self.dims, sizes, strict=True))
        return tuple(one.extent(named) for one in self.axes[operand])

    @cached_property
    def _spans(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.dims.index(one.names[0]) for one in axes) for axes in self.axes)

    def reads(self, operand: int) -> bool:
        one = self.operands[operand]
        return not one.written or one.updated or (self.accumulates and bool(one.start))

    def find(self, operand: str) -> int:
        """The index of the operand of this name; raises `KeyError`."""
        for index, candidate in enumerate(self.operands):
            if candidate.name == operand:
                return index
        raise KeyError(operand)

    def may_cut(self, dim: str) -> bool:
        """Whether a loop may run over pieces of this dimension."""
        return dim not in self.whole and (self.accumulates or dim not in self.reduced)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Component:
    """A primitive in a composition, which makes one tensor of others.

    `dims` says what each of its dimensions is in the composition: one of its dimensions,
    or a window if a later component slides over what this one makes.
    """

    operation: Operation
    inputs: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: DType

    @property
    def axes(self) -> dict[str, Axis]:
        """What each of its dimensions is in the composition."""
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
    """The operation of this description, the same object every time."""
    # A cache takes arguments by name and by position for different ones.
    return _interned(name, dims, operands, reduced, whole, accumulates, function, components)


_interned = cache(Operation)


def accumulating(one: Operation) -> Operation:
    """The operation that combines with what its outputs hold, instead of overwriting them."""
    if not accumulates_later(one):
        raise ValueError(f"{one} has no accumulating form")
    return operation(
        one.name + "Accum", one.dims, one.operands, one.reduced, one.whole, True,
        one.function, one.components,
    )  # fmt: skip


def accumulates_later(one: Operation) -> bool:
    """Whether an operation has an accumulating form, and is not it."""
    return not one.accumulates and any(o.start for o in one.operands)


def reordered(one: Operation, orders: Sequence[tuple[str, ...]]) -> Operation:
    """The operation with its operands' dimensions in other orders."""
    operands = tuple(replace(o, dims=dims) for o, dims in zip(one.operands, orders, strict=True))
    return operation(
        one.name, one.dims, operands, one.reduced, one.whole, one.accumulates,
        one.function, one.components,
    )  # fmt: skip
