"""NumPy, with the BLAS that it was built with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from morello.ir.dtype import F32, DType
from morello.ir.primitives import is_in_order
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Array


def prepare(raced: RacedExpression) -> Rival:
    """The Spec in NumPy."""
    out = raced.out
    return Rival(
        version(),
        in_numpy(raced.spec, raced.inputs, out),
        lambda result: np.asarray(out if result is None else result),
    )


def in_numpy(spec: Spec, inputs: Sequence[Array], out: Array) -> Callable[[], object]:
    """The Spec as NumPy code, computing in f32, or in the output's dtype if all are integers."""
    operation, dtype = spec.operation, spec.dtypes[-1]
    primitive = operation.primitive
    if any(d.is_float for d in (*spec.dtypes, *(c.dtype for c in operation.components))):
        dtype = F32
    if primitive is not None and primitive.filled is not None:
        value = primitive.filled(spec.dtypes[0])
        return lambda: out.fill(value)
    plain = operation.contracted and is_in_order(operation)
    if plain and all(d is dtype for d in spec.dtypes):
        a, b = spec.per_operand(inputs)
        return lambda: np.matmul(a, b, out=out)

    def run() -> object:
        operands = spec.per_operand([_as(dtype, array) for array in inputs])
        value = evaluate(operation, operands, spec.sizes)[0]
        if primitive is not None and primitive.rearranges:
            out[...] = value  # a view of the input has to be copied
            return out
        return value if value.dtype == out.dtype else value.astype(out.dtype)

    return run


def _as(dtype: DType, array: Array) -> Array:
    return array if array.dtype == dtype.np else array.astype(dtype.np)


def version() -> str:
    """The versions of NumPy and of the BLAS library that it uses."""
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    name = f"numpy {np.__version__}"
    blas = next((library for library in threadpool_info() if library["user_api"] == "blas"), None)
    if blas is None:
        return name
    parts = (blas.get(key) for key in ("internal_api", "version", "architecture"))
    return f"{name}, {' '.join(str(part) for part in parts if part)}"
