"""Operations whose tensors have their dimensions in other orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello.ir.axes import axis
from morello.ir.compose import compose, inputs_of
from morello.ir.operation import Component, Operation, reordered

_Dims = tuple[str, ...]


def turned(base: Operation, orders: Sequence[Sequence[int]]) -> Operation:
    """The operation with the dimensions of its operands in these orders.

    Intermediate results of a composition have theirs in the order of those of the output.
    """
    operands = [
        tuple(operand.dims[d] for d in order)
        for operand, order in zip(base.operands, orders, strict=True)
    ]
    if base.primitive is not None:
        return reordered(base, operands)
    inputs, out = operands[:-1], operands[-1]
    tensors = inputs + [_like(component.result_dims, out) for component in base.components]
    components = [
        _component(component, [*component.inputs, number], tensors)
        for number, component in enumerate(base.components, start=inputs_of(base))
    ]
    given = zip(base.operands, inputs, strict=False)
    return compose([replace(operand, dims=dims) for operand, dims in given], components)


def _component(component: Component, numbers: Sequence[int], tensors: Sequence[_Dims]) -> Component:
    """A component that reads and writes tensors with these dims."""
    orders = []
    for place, operand in enumerate(component.operation.operands):
        dims, wanted = component.operand_dims(place), tensors[numbers[place]]
        alike = sorted(dims) == sorted(wanted)
        orders.append(tuple(operand.dims[dims.index(d)] for d in wanted) if alike else operand.dims)
    return replace(component, operation=reordered(component.operation, orders))


def _like(dims: _Dims, order: _Dims) -> _Dims:
    """Dims in the order that other dims have, if these have all of them."""
    names = [name for dim in order for name in axis(dim).names]
    first = {dim: axis(dim).names[0] for dim in dims}
    if not {*first.values()} <= {*names}:
        return dims
    return tuple(sorted(dims, key=lambda dim: names.index(first[dim])))
