"""NumPy's products of vectors and matrices, as contractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.importers.contractions import einsum
from morello.importers.numpy_operands import Operand, as_node, flat, map_of, promoted


def _einsum(subscripts: str, *operands: Operand, optimize: Any = False) -> Node:
    if not isinstance(subscripts, str):
        raise GraphError("the subscripts of einsum are a text.")
    return einsum(subscripts, *promoted(*operands))


def _matmul(a: Node, b: Node) -> Node:
    left = "j" if a.type.rank == 1 else "...ij"
    right = "j" if b.type.rank == 1 else "...jk"
    out = "..." + ("i" if a.type.rank > 1 else "") + ("k" if b.type.rank > 1 else "")
    return einsum(f"{left},{right}->{out}", *promoted(a, b))


def _dot(a: Operand, b: Operand) -> Node:
    a, b = promoted(a, b)
    if not (a.type.rank and b.type.rank):
        return map_of("multiply", a, b)
    return _tensordot(a, b, ((-1,), (-min(b.type.rank, 2),)))


def _tensordot(a: Node, b: Node, axes: Any = 2) -> Node:
    if isinstance(axes, int):
        axes = (range(a.type.rank - axes, a.type.rank), range(axes))
    pairs = [(x,) if isinstance(x, int) else tuple(x) for x in axes]
    left, right = (
        [range(node.type.rank)[d] for d in dims] for node, dims in zip((a, b), pairs, strict=True)
    )
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(letters) for _ in a.shape]
    bound = dict(zip(right, left, strict=True))
    second = [first[bound[d]] if d in bound else next(letters) for d in range(b.type.rank)]
    out = [x for x in first if x not in second] + [x for x in second if x not in first]
    return _einsum(f"{''.join(first)},{''.join(second)}->{''.join(out)}", a, b)


def _inner(a: Operand, b: Operand) -> Node:
    a, b = promoted(a, b)
    if not (a.type.rank and b.type.rank):
        return map_of("multiply", a, b)
    return _tensordot(a, b, ((-1,), (-1,)))


def _outer(a: Operand, b: Operand) -> Node:
    return _einsum("i,j->ij", flat(as_node(a)), flat(as_node(b)))


def _vdot(a: Node, b: Node) -> Node:
    return _einsum("i,i->", flat(as_node(a)), flat(as_node(b)))


def _vecdot(a: Node, b: Node, axis: int = -1) -> Node:
    if axis != -1:
        raise GraphError("dimensions are contracted along the last axis only.")
    return _einsum("...i,...i->...", a, b)


def _matvec(a: Operand, b: Operand, /) -> Node:
    return einsum("...ij,...j->...i", *promoted(a, b))


def _vecmat(a: Operand, b: Operand, /) -> Node:
    return einsum("...i,...ij->...j", *promoted(a, b))


def _matrix_power(a: Node, n: int) -> Node:
    """Products of squares, from the square of the least bit of n on."""
    if n < 1 or a.dtype.kind == "b":
        raise GraphError("inverses and units are made by NumPy.")
    square, result = a, None
    for bit in reversed(f"{n:b}"):
        if bit == "1":
            result = square if result is None else _matmul(result, square)
        n //= 2
        square = _matmul(square, square) if n else square
    assert result is not None
    return result


PRODUCTS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.dot: _dot,
    np.einsum: _einsum,
    np.inner: _inner,
    np.linalg.matrix_power: _matrix_power,
    np.matmul: _matmul,
    np.outer: _outer,
    np.tensordot: _tensordot,
    np.vdot: _vdot,
    np.vecdot: _vecdot,
}
"""The translation of each of these functions."""

if np.lib.NumpyVersion(np.__version__) >= "2.2.0":
    PRODUCTS |= {np.matvec: _matvec, np.vecmat: _vecmat}
