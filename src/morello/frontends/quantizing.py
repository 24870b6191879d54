"""Weights in fewer bits, from arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.base.errors import SpecError, quoted
from morello.ir.primitives.quantized import BLOCK, LONGEST, ZERO, is_grouped, packed

Array = npt.NDArray[Any]


class Quantized(NamedTuple):
    """The weights and scales that `quantized_matmul` takes, and that a name in a text can be."""

    weights: Array
    scales: Array


def quantize(w: Array, *, bits: int = 4, group: int = BLOCK) -> Quantized:
    """The weights and scales, of f16, that `quantized_matmul` takes for x @ w.

    Each column of `w` is rounded in groups of so many numbers, as for GGUF's Q4_0 (with 4 bits) and
    Q8_0 (with 8). Raises `SpecError`.
    """
    if w.ndim != 2 or w.dtype.kind != "f":
        raise SpecError(f"weights of {w.dtype} with shape {w.shape}", "give a matrix of floats")
    if bits not in (4, 8):
        raise SpecError(f"weights of {bits} bits", "give them 4 or 8")
    size, columns = w.shape
    if not is_grouped(size, group) or size > LONGEST:
        fix = f"groups are of {BLOCK} times a power of two, which divides the rows"
        raise SpecError(f"groups of {group} in {size} rows", f"{fix}, of which {LONGEST} are most")
    groups = w.T.astype(np.float32).reshape(columns, -1, group)
    largest = np.take_along_axis(groups, np.abs(groups).argmax(-1, keepdims=True), -1)
    units = largest / -ZERO if bits == 4 else np.abs(largest) / 127
    most = 2 ** (bits - 1) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        numbers = np.where(units == 0, 0, np.rint(groups / units)).clip(-most - 1, most)
    rows = numbers.astype(np.int8).reshape(columns, size)
    return Quantized(packed(rows) if bits == 4 else rows, units[..., 0].astype(np.float16))


GGUF = {"Q4_0": BLOCK // 2, "Q8_0": BLOCK}
"""The bytes of a block's numbers in formats of GGUF, which come after a scale of f16."""


def from_gguf(rows: Array, kind: str) -> Quantized:
    """Weights of a GGUF file as kernels read them: rows of bytes, in the format "Q4_0" or "Q8_0".

    Raises `SpecError`.
    """
    if kind not in GGUF:
        raise SpecError(f"weights of {quoted(kind)}", f"{' and '.join(GGUF)} are known")
    size = 2 + GGUF[kind]
    if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] % size:
        what = f"{rows.dtype} with shape {rows.shape}"
        raise SpecError(f"rows of {kind}: {what}", f"give rows of u8 with blocks of {size} bytes")
    blocks = rows.reshape(len(rows), -1, size)
    weights, scales = (np.ascontiguousarray(part) for part in (blocks[..., 2:], blocks[..., :2]))
    weights = weights.reshape(len(rows), -1)
    return Quantized(
        weights.view(np.int8) if kind == "Q8_0" else weights, scales.view("<f2")[..., 0]
    )
