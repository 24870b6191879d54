"""Tensor types from Python values: text, tensor specs and arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import SpecError, quoted
from morello.frontends.grouped import GroupedType
from morello.frontends.quantizing import Quantized
from morello.frontends.syntax import read_given, read_type
from morello.frontends.tokens import MAX_NAME
from morello.frontends.types import Type, make_type
from morello.ir.dtype import DTYPES, DType
from morello.ir.layout import Layout
from morello.ir.tensor import Placement, TensorSpec, canonical, gapless

TensorLike = str | TensorSpec | npt.NDArray[Any] | Quantized
"""A text such as "f32[64,64]{0,1}", a tensor spec, or an array: each gives a tensor's type.

A text such as "i4g32[64,16]", or what `morello.quantize` returns, gives that of weights in groups.
"""


def given_type(name: str, value: object) -> Type | GroupedType:
    """The type of a tensor, or of weights in groups, called `name`; raises `SpecError`."""
    if isinstance(value, Quantized):
        weights, scales = value
        (columns, groups), bits = scales.shape, 8 if weights.dtype == np.int8 else 4
        size = weights.shape[1] * 8 // bits
        return GroupedType((size, columns), bits, size // groups, _from_array(name, scales).dtype)
    return read_given(value) if isinstance(value, str) else type_of(name, value)


def type_of(name: str, value: object) -> Type:
    """The type of a tensor called `name`; raises `SpecError`.

    An array gives its shape, dtype, layout and strides; its values do not matter.
    """
    if isinstance(value, str):
        return read_type(value)
    name = name[:MAX_NAME]
    try:
        if isinstance(value, TensorSpec):
            return _from_spec(value)
        if _is_array(value):
            return _from_array(name, _array(value))
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from None
    raise SpecError(
        f"{name} is a {type(value).__name__:.60}; give a type such as 'f32[64,64]', or an array."
    )


def _is_array(value: object) -> bool:
    """Whether a value is an array, or provides an `__array_interface__`, even a malformed one."""
    if isinstance(value, np.ndarray):
        return True
    has_interface = inspect.getattr_static(value, "__array_interface__", None) is not None
    return has_interface and not isinstance(value, type)


def _array(value: object) -> npt.NDArray[Any]:
    """Convert an object with `__array_interface__` to an array; raises `SpecError`."""
    try:
        return np.asarray(value)
    except Exception as error:  # foreign code can raise anything
        raise SpecError(
            f"it is no array that NumPy reads ({quoted(error)}); give an array."
        ) from None


def _from_spec(tensor: TensorSpec) -> Type:
    if not isinstance(tensor.dtype, DType) or not isinstance(tensor.placement, Placement):
        raise SpecError(
            "its dtype is no DType, or its placement no Placement; write its type as a text."
        )
    if tensor.dtype.lanes > 1:
        raise SpecError(f"{tensor.dtype} is a packed type; give the type of its elements.")
    if not all(isinstance(size, int) for size in tensor.shape):
        raise SpecError(f"its shape is {quoted(tensor.shape)}; give whole numbers.")
    tensor_type = make_type(tensor.shape, tensor.dtype, tensor.placement.layout)
    unsupported = tensor.placement.vector or canonical(tensor.shape, tensor.placement) != canonical(
        tensor.shape, gapless(tensor.placement.layout)
    )
    if tensor.level or unsupported:
        raise SpecError(
            "a goal's tensors lie in main memory, without gaps; give strides in a text, "
            "as in 'f32[64,64]S(100,1)', or an array."
        )
    return tensor_type


def _from_array(name: str, array: npt.NDArray[Any]) -> Type:
    dtype = next((d for d in DTYPES.values() if d.np == array.dtype), None)
    if dtype is None:
        known = ", ".join(str(d.np) for d in DTYPES.values())
        raise SpecError(f"the dtype is {array.dtype!s:.60}; convert it to one of: {known}.")
    shape = array.shape
    if array.ndim == 0:
        raise SpecError("a number is no tensor; write it in the text, or make it an array.")
    make_type(shape, dtype)  # checks the sizes before the strides
    long = [d for d in range(array.ndim) if shape[d] > 1]
    contiguous = f"copy it with np.ascontiguousarray({name})"
    if any(array.strides[d] <= 0 or array.strides[d] % dtype.bytes for d in long):
        raise SpecError(f"its strides are {array.strides} bytes; {contiguous}.")
    if not array.flags.aligned:
        raise SpecError(f"its elements are not aligned; {contiguous}.")
    strides = tuple(
        1 if n == 1 else s // dtype.bytes for n, s in zip(shape, array.strides, strict=True)
    )
    ones = [d for d in range(array.ndim) if shape[d] == 1]
    layout = Layout((*ones, *sorted(long, key=lambda d: (-strides[d], d))))
    try:
        return make_type(shape, dtype, layout, strides)
    except SpecError:
        raise SpecError(
            f"its strides are {array.strides} bytes, and elements must not overlap; {contiguous}."
        ) from None
