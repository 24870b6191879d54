"""Types, attributes and constants of MLIR as values of NumPy and Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from morello.base.errors import GraphError
from morello.graph.graph import Array, TensorType
from morello.importers import eight_bits

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

_DTYPES = {
    "bf16": BFLOAT16,
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
    "i1": np.dtype(bool),
    **{f"f8{name[7:].upper()}": dtype for name, dtype in eight_bits.FLOATS.items()},
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?[0-9][0-9.eE+-]*")


def type_of(value: Any) -> TensorType:
    """The type of an MLIR value; raises `GraphError` unless it is a tensor of a fixed shape."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        raise GraphError(f"no graph holds a {kind}; it holds tensors.")
    if not kind.has_static_shape:
        raise GraphError(f"{kind} has no fixed shape; give each dimension a size.")
    dtype = _DTYPES.get(str(kind.element_type))
    if dtype is None:
        raise GraphError(f"no graph holds {kind}; cast it to {', '.join(_DTYPES)}.")
    return TensorType(tuple(kind.shape), dtype)


def number(operation: Any, name: str, default: int = 1) -> int:
    """An attribute that is a number."""
    attributes = operation.attributes
    return int(attributes[name].value) if name in attributes else default


def numbers(operation: Any, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
    """An attribute that lists numbers."""
    attributes = operation.attributes
    return tuple(int(n) for n in attributes[name]) if name in attributes else default


def pairs(operation: Any, name: str, rank: int) -> tuple[tuple[int, int], ...]:
    """An attribute that has two numbers a dimension, as paddings have; zeros if it is missing."""
    attributes = operation.attributes
    if name not in attributes:
        return ((0, 0),) * rank
    return tuple((int(low), int(high)) for low, high in np.array(attributes[name]))


def array_of(attribute: Any) -> Array | None:
    """The array of a constant, or a number if all elements are equal.

    None if the bindings do not give it.
    """
    kind = type_of(attribute)
    if kind.dtype.kind == "c" or not isinstance(attribute, ir.DenseElementsAttr):
        return None
    if attribute.is_splat:
        return np.array(attribute.get_splat_value().value, kind.dtype)
    if kind.dtype == BFLOAT16:
        return _bfloat16s(str(attribute)).reshape(kind.shape)
    return np.array(attribute, kind.dtype).reshape(kind.shape)


def _bfloat16s(text: str) -> Array:
    """The elements of a constant, as it is written: the bindings give no arrays of bfloat16."""
    text = text.removeprefix("dense<").partition("> : ")[0]
    if text.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(text[3:-1]), "<u2").view(BFLOAT16)
    return np.array([*map(_bfloat16, _NUMBER.findall(text))], BFLOAT16)


def _bfloat16(text: str) -> Any:
    if text.startswith("0x"):
        return np.uint16(int(text, 16)).view(BFLOAT16)
    return BFLOAT16.type(float(text))


def captured(operation: Any) -> tuple[Any, ...]:
    """The values from outside that the regions of an operation read, beside its operands."""
    values: dict[Any, None] = {}
    own: set[Any] = set()
    for inner in within(operation):
        values.update(dict.fromkeys(inner.operands))
        own.update(inner.results)
    for block in _blocks(operation):
        own.update(block.arguments)
    return tuple(value for value in values if value not in own)


def _blocks(operation: Any) -> Iterator[Any]:
    """The blocks within an operation, however deep."""
    for region in operation.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                yield from _blocks(inner.operation)


def within(operation: Any) -> Iterator[Any]:
    """The operations within an operation, however deep."""
    for block in _blocks(operation):
        for inner in block.operations:
            yield inner.operation
