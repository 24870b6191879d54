"""Weights in fewer bits, from arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base.errors import SpecError, quoted
from morello.ir.dtype import BF16
from morello.ir.primitives.quantized import BLOCK, LONGEST, ZERO, is_grouped, packed

Array = npt.NDArray[Any]


class Quantized(NamedTuple):
    """The weights and scales that `quantized_matmul` takes, and that a name in a text can be."""

    weights: Array
    scales: Array


def quantize(w: Array, *, bits: int = 4, group: int = BLOCK) -> Quantized:
    """The weights and scales, of f16, that `quantized_matmul` takes for x @ w.

        kernel = morello.compile("f32[1,64] @ i4g32[64,16]")
        y = kernel(x, *quantize(w))  # w is a matrix of floats, [64,16]

    Each column of `w` is rounded in groups of so many numbers, as for GGUF's Q4_0 (with 4 bits) and
    Q8_0 (with 8). Raises `SpecError`.
    """
    what = _described(w)
    if w.ndim != 2 or not w.size or (w.dtype.kind != "f" and w.dtype != BF16.np):
        raise SpecError(f"weights of {what}", "give a matrix of floats")
    if bits not in (4, 8):
        raise SpecError(f"weights of {quoted(bits)} bits", "give them 4 or 8")
    size, columns = w.shape
    if not isinstance(group, int) or not is_grouped(size, group) or size > LONGEST:
        fix = f"groups are of {BLOCK} times a power of two, which divides the rows"
        what = f"groups of {quoted(group)} in {size} rows"
        raise SpecError(what, f"{fix}, of which {LONGEST} are most")
    with np.errstate(over="ignore"):
        groups = w.T.astype(np.float32).reshape(columns, -1, group)
        largest = np.take_along_axis(groups, np.abs(groups).argmax(-1, keepdims=True), -1)
        units = largest / -ZERO if bits == 4 else np.abs(largest) / 127
        scales = units[..., 0].astype(np.float16)
    if not np.isfinite(scales).all():
        raise SpecError("numbers that are not finite, or too large", "scales are of f16")
    most = 2 ** (bits - 1) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        numbers = np.where(units == 0, 0, np.rint(groups / units)).clip(-most - 1, most)
    rows = numbers.astype(np.int8, order="C").reshape(columns, size)
    return Quantized(packed(rows) if bits == 4 else rows, scales)


GGUF = {"Q4_0": BLOCK // 2, "Q8_0": BLOCK}
"""The bytes of a block's numbers in formats of GGUF, which come after a scale of f16."""


def from_gguf(rows: Array, kind: str) -> Quantized:
    """Weights of a GGUF file as kernels read them: rows of bytes, in the format "Q4_0" or "Q8_0".

    Raises `SpecError`.
    """
    if not isinstance(kind, str) or kind not in GGUF:
        raise SpecError(f"weights of {quoted(kind)}", f"{' and '.join(GGUF)} are known")
    what, size = _described(rows), 2 + GGUF[kind]
    if rows.ndim != 2 or not rows.size or rows.dtype != np.uint8 or rows.shape[1] % size:
        raise SpecError(f"rows of {kind}: {what}", f"give rows of u8 with blocks of {size} bytes")
    blocks = rows.reshape(len(rows), -1, size)
    weights, scales = (np.ascontiguousarray(part) for part in (blocks[..., 2:], blocks[..., :2]))
    weights = weights.reshape(len(rows), -1)
    return Quantized(
        weights.view(np.int8) if kind == "Q8_0" else weights, scales.view("<f2")[..., 0]
    )


def _described(array: object) -> str:
    """The dtype and shape of an array; raises `SpecError` for anything else."""
    if not isinstance(array, np.ndarray):
        raise SpecError(f"weights of type {type(array).__name__}", "give an array of NumPy")
    return f"{array.dtype} with shape {array.shape}"
