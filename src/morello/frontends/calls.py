"""Specs from Python: functions of types, tensor specs and arrays."""

from __future__ import annotations

from morello.frontends.inputs import TensorLike as TensorLike
from morello.frontends.inputs import type_of
from morello.ir.spec import Spec, matmul_spec, product_dtype


def matmul(a: TensorLike, b: TensorLike) -> Spec:
    """The Spec of `a @ b`, its result row-major; raises `SpecError`.

    An array gives its shape, dtype, layout and strides; its values do not matter.
    """
    left, right = type_of("a", a), type_of("b", b)
    return matmul_spec(
        left.shape,
        right.shape,
        layouts=(left.layout, right.layout, None),
        dtypes=(left.dtype, right.dtype, product_dtype(left.dtype, right.dtype)),
        strides=(left.strides, right.strides, None),
    )
