"""Products of rows, each by the matrix that its number chooses, as in a mixture of experts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from morello.ir.dtype import DType
from morello.ir.operation import Array, Operand, Operation, Primitive, operation
from morello.ir.primitives.copies import called
from morello.ir.rounding import Bounded, Bounds, summed
from morello.ir.semantics import aligned

GROUP = "e"
"""The dimension of the matrices."""


@cache
def grouped_matmul() -> Operation:
    """out[m,n] = the sum over k of x[m,k] * matrices[e,k,n], where e is ids[m].

    A row whose number is below 0, or that of no matrix, is zero.
    """
    return operation(
        GROUPED_MATMUL,
        ("m", GROUP, "k", "n"),
        (
            Operand("x", ("m", "k")),
            Operand("matrices", (GROUP, "k", "n")),
            Operand("ids", ("m",)),
            Operand("out", ("m", "n"), written=True),
        ),
        reduced=("k",),
        untiled=("m", GROUP, "k"),
    )


def _evaluate(operation: Operation, inputs: Sequence[Array]) -> tuple[Array, ...]:
    x, matrices, ids = (
        aligned(operation, operand, value, like.dims)
        for operand, (value, like) in enumerate(
            zip(inputs, grouped_matmul().operands, strict=False)
        )
    )
    numbers = ids.astype(np.int64)
    result = np.zeros((len(x), matrices.shape[2]), np.result_type(x, matrices))
    for group, matrix in enumerate(matrices):
        rows = numbers == group
        result[rows] = x[rows] @ matrix
    return (result if operation.operands[3].dims == ("m", "n") else result.T,)


def _bound(operation: Operation, inputs: Sequence[Bounded], dtypes: Sequence[DType]) -> Bounds:
    """The bound of sums of products, of which each row has its own factors."""
    x, matrices, ids = inputs

    def products(x: Array, matrices: Array) -> Array:
        return _evaluate(operation, [x, matrices, ids.value])[0]

    terms = x.value.shape[operation.operands[0].dims.index("k")]
    return (summed(products, [x, matrices], terms, dtypes[-1]),)


GROUPED_MATMUL = Primitive(
    "GroupedMatmul",
    variants=lambda _: (grouped_matmul(),),
    evaluate=_evaluate,
    bound=_bound,
    text=called("grouped_matmul"),
    flops=2,
    idle=(GROUP,),
    chosen=GROUP,
    is_product=True,
    contracts="k",
    indices=(2,),
)
