"""Operations as JSON: what they are made of, and back.

What is read back is the interned object. It must be an operation that there is: a primitive,
its operands' dimensions in any order, or a composition of primitives that fit together.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from morello.errors import RewriteError, quoted
from morello.ir.axes import axis
from morello.ir.compose import compose, tensor_dims
from morello.ir.functions import BINARY, UNARY, Function
from morello.ir.operation import (
    Component,
    Operand,
    Operation,
    accumulates_later,
    accumulating,
    operation,
)
from morello.ir.primitives import (
    MAX_BATCH_DIMS,
    MAX_RANK,
    SOFTMAX_PARTS,
    broadcast,
    conv,
    divide_vec_scalar,
    elementwise,
    fill,
    matmul,
    move,
    one_prefix,
    pack,
    reduce,
    softmax,
)
from morello.rewrites.fields import Fields, read_dtype, whole

_TERM = r"([1-9]\d{0,3})?[a-z]\w{0,30}"
_AXIS = re.compile(rf"{_TERM}(\+{_TERM})*(-[1-9]\d{{0,3}})?", re.ASCII)
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def operation_data(one: Operation) -> dict[str, Any]:
    """An operation as JSON-able data; what is empty or false is left out."""
    return _present(
        name=one.name,
        dims=list(one.dims),
        operands=[
            _present(
                name=operand.name,
                dims=list(operand.dims),
                written=operand.written,
                start=operand.start,
                updated=operand.updated,
            )
            for operand in one.operands
        ],
        reduced=list(one.reduced),
        whole=list(one.whole),
        accumulates=one.accumulates,
        function=one.function
        and {"name": one.function.name}
        | ({} if one.function.constant is None else {"constant": one.function.constant}),
        components=[
            {
                "operation": operation_data(component.operation),
                "inputs": list(component.inputs),
                "dims": list(component.dims),
                "dtype": component.dtype.name,
            }
            for component in one.components
        ],
    )


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def read_operation(data: Any, what: str) -> Operation:
    """The operation that `operation_data` gave; raises `RewriteError` if there is no such."""
    fields = Fields(data, what)
    name = fields.get("name", str)
    components = tuple(
        Component(
            read_operation(one.get("operation", dict), f"the operation of {one.what}"),
            tuple(whole(number, "an input") for number in one.get("inputs", list)),
            one.texts("dims"),
            read_dtype(one.get("dtype", str)),
        )
        for one in fields.objects("components", f"{name:.60}'s component")
    )
    made = operation(
        name,
        fields.texts("dims"),
        tuple(_operand(one) for one in fields.objects("operands", f"{name:.60}'s operand")),
        fields.texts("reduced"),
        fields.texts("whole"),
        fields.get("accumulates", bool, False),
        _function(fields.get("function", dict, {}), what),
        components,
    )
    if unused := fields.unused():
        raise RewriteError(f"{what}: an operation has no {quoted(unused[0])}.")
    if not (_composed(made) if components else _primitive(made)):
        raise RewriteError(f"{what} is no operation that this Morello has, {quoted(name)}.")
    return made


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
    if name not in UNARY and name not in BINARY:
        raise RewriteError(f"{fields.what}: there is no {quoted(name)}.")
    if "constant" not in fields:
        return Function(name)
    constant = data["constant"]
    number = isinstance(constant, int | float) and not isinstance(constant, bool)
    if not number or not abs(constant) <= sys.float_info.max or name in UNARY:
        raise RewriteError(f"{fields.what}: {name} has no constant {quoted(constant)}.")
    return Function(name, constant)


# ---- which operations there are


def _primitive(one: Operation) -> bool:
    """It is a primitive, its operands' dimensions in any order."""
    if one.function is not None and one.name not in ("Broadcast", "OnePrefix"):
        return any(_shape(one) == _shape(other) for other in _elementwise(one, one.function))
    if one.name.startswith("Conv"):
        return any(_shape(one) == _shape(other) for other in _convolutions(one))
    if one.name == "Pack":
        return any(_shape(one) == _shape(other) for other in _packs(one))
    return _shape(one) in _simple()


def _shape(one: Operation) -> tuple[Any, ...]:
    """All that makes an operation, but for the orders of its operands' dimensions."""
    operands = tuple(
        (o.name, tuple(sorted(o.dims)), o.written, o.start, o.updated) for o in one.operands
    )
    return (
        one.name, one.dims, operands, one.reduced, one.whole, one.accumulates,
        one.function, one.components,
    )  # fmt: skip


@cache
def _simple() -> frozenset[tuple[Any, ...]]:
    """The primitives without parameters but their rank, and the dimension they scan."""
    found = [matmul(batch) for batch in range(MAX_BATCH_DIMS + 1)]
    for rank in range(1, MAX_RANK + 1):
        found += [move(rank), fill(rank), fill(rank, "lowest"), one_prefix(rank)]
        for dim in range(rank):
            found += [reduce("Sum", rank, dim), reduce("Max", rank, dim)]
            found += [divide_vec_scalar(rank, dim), broadcast(rank, dim)]
            found += [softmax(part, rank, dim) for part in SOFTMAX_PARTS]
    found += [accumulating(one) for one in found if accumulates_later(one)]
    return frozenset(map(_shape, found))


def _convolutions(one: Operation) -> Iterator[Operation]:
    """The convolutions with the strides and the padding of this one."""
    dims = one.operands[0].dims if one.operands else ()
    windows = {a.names: a for a in map(axis, dims) if len(a.terms) == 2}
    y, x = windows.get(("y", "p")), windows.get(("x", "q"))
    if y is not None and x is not None:
        strides = y.terms[0][1], x.terms[0][1]
        padding = y.padding // 2, x.padding // 2
        for last in (False, True):
            yield conv(strides, padding, last, one.accumulates)


def _packs(one: Operation) -> Iterator[Operation]:
    grouped = [axis(dim) for dim in one.operands[0].dims] if one.operands else []
    for dim, window in enumerate(grouped):
        if len(window.terms) == 2 and len(grouped) <= MAX_RANK:
            yield pack(len(grouped), dim, window.terms[0][1])


def _elementwise(one: Operation, function: Function) -> Iterator[Operation]:
    inputs, rank = one.operands[:-1], len(one.dims)
    known = all(set(operand.dims) <= set(one.dims) for operand in inputs)
    if known and inputs and len(inputs) == function.arity and rank <= MAX_RANK:
        spans = tuple(tuple(one.dims.index(d) for d in operand.dims) for operand in inputs)
        yield elementwise(function, spans, rank)


def _composed(one: Operation) -> bool:
    """It is what `compose` makes of its components, and those fit together."""
    inputs = one.operands[:-1]
    for number, component in enumerate(one.components):
        part = component.operation
        fits = not part.components and len(part.outputs) == 1
        fits &= len(component.dims) == len(part.dims)
        fits &= len(component.inputs) == len(part.operands) - 1
        fits &= all(tensor < len(inputs) + number for tensor in component.inputs)
        if not fits or not all(_AXIS.fullmatch(text) for text in component.dims):
            return False
    made = compose(inputs, one.components)
    if one.accumulates and accumulates_later(made):
        made = accumulating(made)
    return made is one and _connected(one) and _sized(one)


def _connected(one: Operation) -> bool:
    """Every tensor has the same dimensions where it is made and wherever it is read."""
    return all(
        sorted(component.operand_dims(position)) == sorted(tensor_dims(one, tensor))
        for component in one.components
        for position, tensor in enumerate(component.inputs)
    )


def _sized(one: Operation) -> bool:
    """Every dimension that an operand names is one of the operation's."""
    return all(name in one.dims for axes in one.axes for a in axes for name in a.names)
