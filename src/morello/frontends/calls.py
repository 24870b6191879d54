"""Specs from Python: calls on types, tensor specs and arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from morello.errors import SpecError
from morello.frontends.text import parse_type
from morello.ir.dtype import DTYPES
from morello.ir.layout import column_major, row_major
from morello.ir.spec import MAX_SIZE, Spec, matmul_spec
from morello.ir.tensor import TensorSpec, canonical, gapless

TensorLike = str | TensorSpec | npt.NDArray[np.generic]
"""A type such as "f32[64,64]{0,1}", a tensor spec, or an array to take them from."""


def matmul(a: TensorLike, b: TensorLike) -> Spec:
    """The Spec of `a @ b`, its result row-major; raises `SpecError`.

    An array gives its shape, dtype and layout; its values do not matter.
    """
    left, right = tensor("a", a), tensor("b", b)
    layouts = (left.form.layout, right.form.layout, None)
    return matmul_spec(left.shape, right.shape, layouts=layouts)


def tensor(name: str, value: object) -> TensorSpec:
    """The tensor spec of an argument called `name`; raises `SpecError`."""
    if isinstance(value, str):
        return parse_type(value)
    if isinstance(value, TensorSpec):
        _check_sizes(name, value.shape)
        form = canonical(value.shape, gapless(value.form.layout))
        if value.level or value.form.vector or canonical(value.shape, value.form) != form:
            raise SpecError(f"{name}: a goal's tensors lie in main memory, without gaps.")
        return TensorSpec(value.shape, value.dtype, 0, form)
    if isinstance(value, np.ndarray) or hasattr(value, "__array_interface__"):
        return _from_array(name, np.asarray(value))
    raise SpecError(
        f"{name} is a {type(value).__name__}; give a type such as 'f32[64,64]', or an array."
    )


def _from_array(name: str, array: npt.NDArray[np.generic]) -> TensorSpec:
    dtype = next((d for d in DTYPES.values() if d.np == array.dtype), None)
    if dtype is None:
        known = ", ".join(d.numpy for d in DTYPES.values())
        raise SpecError(f"{name} has dtype {array.dtype}; convert it to one of: {known}.")
    _check_sizes(name, array.shape)
    rank = array.ndim
    if array.flags.c_contiguous:
        layout = row_major(rank)
    elif rank >= 2 and array.swapaxes(-1, -2).flags.c_contiguous:
        layout = column_major(rank)
    else:
        raise SpecError(f"{name} has gaps; make it contiguous with np.ascontiguousarray({name}).")
    return TensorSpec(array.shape, dtype, 0, canonical(array.shape, gapless(layout)))


def _check_sizes(name: str, shape: Sequence[int]) -> None:
    for size in shape:
        if not 1 <= size <= MAX_SIZE:
            raise SpecError(f"{name} has a size of {size}; sizes go from 1 to {MAX_SIZE}.")
