"""Operations as JSON, and back.

Reading gives the interned object. It must be an operation that exists: a primitive, with its
operands' dimensions in any order, or a composition of primitives whose tensors fit together.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from morello.base.errors import RewriteError, quoted
from morello.impl.fields import Fields, integer, read_dtype
from morello.ir.compose import compose, tensor_dims
from morello.ir.functions import BINARY, TERNARY, UNARY, Function
from morello.ir.operation import (
    Component,
    Operand,
    Operation,
    accumulating,
    has_accumulating_form,
    operation,
)
from morello.ir.primitives import primitive_of

_TERM = r"([1-9]\d{0,3})?[a-z]\w{0,30}"
_AXIS = re.compile(rf"{_TERM}(\+{_TERM})*(-\d{{1,4}}([-+]\d{{1,4}})?)?", re.ASCII)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def operation_data(op: Operation) -> dict[str, Any]:
    """An operation as JSON-able data; empty and false fields are left out."""
    return _present(
        name=op.name,
        dims=list(op.dims),
        operands=[
            _present(
                name=operand.name,
                dims=list(operand.dims),
                written=operand.written,
                start=operand.start,
                updated=operand.updated,
            )
            for operand in op.operands
        ],
        reduced=list(op.reduced),
        whole=list(op.untiled),
        accumulates=op.accumulates,
        function=op.function
        and {"name": op.function.name}
        | ({} if op.function.constant is None else {"constant": op.function.constant}),
        components=[
            {
                "operation": operation_data(component.operation),
                "inputs": list(component.inputs),
                "dims": list(component.dims),
                "dtype": component.dtype.name,
            }
            for component in op.components
        ],
    )


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def read_operation(data: Any, what: str) -> Operation:
    """The operation from data of `operation_data`; raises `RewriteError` if there is none."""
    fields = Fields(data, what)
    name = fields.get("name", str)
    components = tuple(
        Component(
            read_operation(component.get("operation", dict), f"the operation of {component.what}"),
            tuple(integer(number, "an input") for number in component.get("inputs", list)),
            component.texts("dims"),
            read_dtype(component.get("dtype", str)),
        )
        for component in fields.objects("components", f"{name:.60}'s component")
    )
    result = operation(
        None if components else primitive_of(name),
        fields.texts("dims"),
        tuple(_operand(operand) for operand in fields.objects("operands", f"{name:.60}'s operand")),
        fields.texts("reduced"),
        fields.texts("whole"),
        fields.get("accumulates", bool, False),
        _function(fields.get("function", dict, {}), what),
        components,
    )
    if unused := fields.unused():
        raise RewriteError(f"{what}: an operation has no {quoted(unused[0])}.")
    exists = _is_composition(result) if components else _is_primitive(result)
    if not exists or result.name != name:
        raise RewriteError(f"{what} is no operation that this Morello has, {quoted(name)}.")
    return result


def _operand(fields: Fields) -> Operand:
    dims = fields.texts("dims")
    if not dims:
        raise RewriteError(f"{fields.what} has no 'dims'; save it again.")
    for text in dims:
        if not _AXIS.fullmatch(text):
            raise RewriteError(f"{fields.what}: no dimension is called {quoted(text)}.")
    name = fields.get("name", str)
    if not NAME.fullmatch(name):
        raise RewriteError(f"{fields.what}: no operand is called {quoted(name)}.")
    return Operand(
        name,
        dims,
        fields.get("written", bool, False),
        fields.get("start", str, ""),
        fields.get("updated", bool, False),
    )


def _function(data: dict[str, Any], what: str) -> Function | None:
    if not data:
        return None
    fields = Fields(data, f"the function of {what}")
    name = fields.get("name", str)
    if name not in UNARY and name not in BINARY and name not in TERNARY:
        raise RewriteError(f"{fields.what}: there is no {quoted(name)}.")
    if "constant" not in fields:
        return Function(name)
    constant = data["constant"]
    number = isinstance(constant, int | float) and not isinstance(constant, bool)
    fits = isinstance(constant, float) or (number and abs(constant) <= sys.float_info.max)
    if not fits or name in UNARY:
        raise RewriteError(f"{fields.what}: {name} has no constant {quoted(constant)}.")
    return Function(name, constant)


# ---- which operations exist


def _is_primitive(op: Operation) -> bool:
    """Whether an operation is a primitive's, with its operands' dimensions in any order."""
    if op.primitive is None:
        return False
    variants = op.primitive.variants(op)
    if op.accumulates:
        variants = (accumulating(other) for other in variants if has_accumulating_form(other))
    return any(_signature(op) == _signature(other) for other in variants)


def _signature(op: Operation) -> tuple[Any, ...]:
    """All that defines an operation of a primitive, except the orders of its operands' dims."""
    operands = tuple(
        (o.name, tuple(sorted(o.dims)), o.written, o.start, o.updated) for o in op.operands
    )
    return op.dims, operands, op.reduced, op.untiled, op.accumulates, op.function


def _is_composition(op: Operation) -> bool:
    """Whether `compose` gives this operation for its components, and these fit together."""
    inputs = op.operands[:-1]
    for number, component in enumerate(op.components):
        part = component.operation
        fits = not part.components and len(part.outputs) == 1
        fits &= len(component.dims) == len(part.dims)
        fits &= len(component.inputs) == len(part.operands) - 1
        fits &= all(tensor < len(inputs) + number for tensor in component.inputs)
        if not fits or not all(_AXIS.fullmatch(text) for text in component.dims):
            return False
    composed = compose(inputs, op.components)
    if op.accumulates and has_accumulating_form(composed):
        composed = accumulating(composed)
    return composed is op and _connected(op) and _sized(op)


def _connected(op: Operation) -> bool:
    """Whether every tensor has the same dimensions where it is written and where it is read."""
    return all(
        sorted(component.operand_dims(position)) == sorted(tensor_dims(op, tensor))
        for component in op.components
        for position, tensor in enumerate(component.inputs)
    )


def _sized(op: Operation) -> bool:
    """Whether every dimension that an operand names is one of the operation's."""
    return all(name in op.dims for axes in op.axes for a in axes for name in a.names)
