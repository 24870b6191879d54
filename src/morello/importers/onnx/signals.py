"""Fourier transforms of ONNX: products with a matrix of sines and cosines."""

from __future__ import annotations

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Gather, Pad, Transpose
from morello.importers.onnx.call import (
    FLOAT32,
    LeftError,
    OnnxCall,
    constant,
    function,
    number,
    op,
    position,
    reshaped,
    translates,
)
from morello.importers.onnx.movement import at, between
from morello.importers.onnx.products import product

MOST_ELEMENTS = 1 << 22
"""The most elements of the matrix of a DFT."""


@translates("BlackmanWindow", "HammingWindow", "HannWindow")
def window(call: OnnxCall) -> Node:
    """ONNX's definition computes it, if its only flag is one."""
    call.flag("periodic", default=True)
    raise LeftError("its own definition computes it")


@translates("DFT")
def transform(call: OnnxCall) -> Node:
    """The DFT along an axis; the last dimension holds real, or real and imaginary, parts."""
    x, rank = call[0], call[0].type.rank
    if call.version < 20:
        given = call.attribute("axis", 1)
    else:
        given = call.integers(2)[0] if call.get(2) is not None else -2
    axis, inverse = position(given, rank), call.flag("inverse")
    one_sided = call.flag("onesided")
    if axis == rank - 1 or x.shape[-1] not in (1, 2):
        raise GraphError(f"there are no waves of {x.type} along axis {axis}.")
    if one_sided and (inverse or x.shape[-1] == 2):
        raise LeftError("it is one half of a transform of complex numbers")
    count = call.integers(1)[0] if call.get(1) is not None else x.shape[axis]
    parts = [at(x, rank - 1, n) for n in range(x.shape[-1])]
    order = (*(d for d in range(rank - 1) if d != axis), axis)
    rows = [_of_length(op(Transpose(order), each), count) for each in parts]
    result = _frequencies(rows, count, count // 2 + 1 if one_sided else count, inverse)
    back = (*(order.index(d) for d in range(rank - 1)), rank - 1)
    return op(Transpose(back), result)


@translates("STFT")
def short_transforms(call: OnnxCall) -> Node:
    """The DFTs of windowed frames along the second dimension, a step apart."""
    x, step = call[0], int(call.static(1).item())
    if x.type.rank == 3 and x.shape[2] == 1:
        x = reshaped(x, x.shape[:2])
    if x.type.rank != 2 or step < 1:
        raise LeftError(f"it is of {x.type} in steps of {step}")
    window = call.get(2)
    if call.get(3) is not None:
        count = int(call.static(3).item())
    elif window is not None:
        count = window.type.size
    else:
        raise GraphError("STFT has neither a window nor a length of frames.")
    if not 0 < count <= x.shape[1] or (window is not None and window.shape != (count,)):
        raise LeftError(f"its frames are of {count} elements")
    first = np.arange(0, x.shape[1] - count + 1, step)
    frames = op(Gather(1), x, constant(first[:, None] + np.arange(count)))
    if window is not None:
        frames = function("multiply", frames, window)
    return _frequencies(
        [frames], count, count // 2 + 1 if call.flag("onesided", default=True) else count, False
    )


def _of_length(x: Node, count: int) -> Node:
    """Rows that are cut, or padded with zeros, to a length."""
    rank, size = x.type.rank, x.shape[-1]
    if count < 1 or not x.type.size:
        raise LeftError(f"it is of {x.type}, {count} at a time")
    if count <= size:
        return between(x, {rank - 1: (0, count, 1)})
    after = (*(0,) * (rank - 1), count - size)
    return op(Pad((0,) * rank, after), x, number(0, x))


def _frequencies(parts: list[Node], count: int, kept: int, inverse: bool) -> Node:
    """The first frequencies of rows, given their real and, if complex, imaginary parts."""
    if 2 * count * kept > MOST_ELEMENTS or any(part.dtype != FLOAT32 for part in parts):
        raise LeftError(f"it is of {parts[0].dtype}, {count} at a time")
    turns = np.outer(np.arange(count), np.arange(kept)) % count / count
    matrix = np.exp((2j if inverse else -2j) * np.pi * turns) / (count if inverse else 1)
    result = None
    for part, factor in zip(parts, (1, 1j), strict=False):
        terms = factor * matrix
        table = np.stack([terms.real, terms.imag], -1)
        term = product(part, constant(table.reshape(count, 2 * kept), FLOAT32))
        result = term if result is None else function("add", result, term)
    assert result is not None
    return reshaped(result, (*parts[0].shape[:-1], kept, 2))
