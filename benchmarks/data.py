"""Random inputs and expected outputs: computed once, kept in files that all peers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.work import NUMPY, Array, Floats, Operand, Work
from morello.ir.dtype import DTYPES
from morello.runtime.argument import Argument, row_major_strides


class WrongError(Exception):
    """A result that is not what it should be."""


@dataclass(frozen=True)
class Data:
    """The inputs of some work, its output in float64, and the error that is allowed."""

    inputs: tuple[Array, ...]
    wanted: Floats
    bound: Floats


def make(work: Work, seed: int = 0) -> Data:
    """Random data for some work."""
    random = np.random.default_rng(seed)
    inputs = tuple(_random(random, operand) for operand in work.inputs)
    wanted, bound = work.reference(*inputs)
    return Data(inputs, wanted, bound)


def save(data: Data, folder: Path) -> None:
    """Write data for `load` into a folder."""
    for i, array in enumerate(data.inputs):
        np.save(folder / f"{i}.npy", array.view(_bits(array)))
    np.save(folder / "wanted.npy", data.wanted)
    np.save(folder / "bound.npy", data.bound)


def load(work: Work, folder: Path) -> Data:
    """Read saved data: the inputs into new memory, aligned to cache lines."""
    inputs = []
    for i, operand in enumerate(work.inputs):
        array = empty(operand)
        array[...] = np.load(folder / f"{i}.npy", mmap_mode="r").view(array.dtype)
        inputs.append(array)
    wanted, bound = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("wanted", "bound"))
    return Data(tuple(inputs), wanted, bound)


def empty(operand: Operand) -> Array:
    """An array aligned to a cache line, filled with values that no result has."""
    array = argument(operand).empty()
    spoil(array)
    return array


def spoil(array: Any) -> None:
    """Fill a writeable NumPy array with values that no result has: what is not written is wrong."""
    if isinstance(array, np.ndarray) and array.flags.writeable:
        array[...] = np.iinfo(array.dtype).max - 1 if array.dtype.kind in "iu" else np.nan


def argument(operand: Operand) -> Argument:
    """The dtype, shape and strides of an operand in memory."""
    strides = row_major_strides(
        operand.shape[::-1] if operand.by_columns else operand.shape, NUMPY[operand.dtype].itemsize
    )
    strides = strides[::-1] if operand.by_columns else strides
    return Argument("", DTYPES[operand.dtype], operand.shape, strides)


def check(work: Work, data: Data, got: Any) -> float:
    """The greatest error, as a part of the greatest output; raises `WrongError`.

    A result may be wider than asked for, or rounded to bf16 where f32 was asked for.
    """
    array = np.asarray(got)
    if array.shape != data.wanted.shape:
        raise WrongError(f"gave an array of shape {array.shape}, not {data.wanted.shape}")
    bound = data.bound
    if array.dtype == NUMPY["bf16"]:
        bound = bound + 2.0**-8 * np.abs(data.wanted)
    if array.dtype.kind in "iu":
        array = array.astype(NUMPY[work.output.dtype])
    error = np.abs(array.astype(np.float64) - data.wanted)
    bad = ~(error <= bound)  # so that NaN is bad
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise WrongError(
            f"wrong: {int(bad.sum())} of {bad.size} elements, the first at {where}: "
            f"{float(array[where]):.7g}, expected {data.wanted[where]:.7g}"
        )
    return float(error.max() / max(float(np.abs(data.wanted).max()), 1e-300))


def _random(random: np.random.Generator, operand: Operand) -> Array:
    array = empty(operand)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values: Sequence[int] | Array = random.integers(
            limits.min, limits.max, operand.shape, endpoint=True
        )
    else:
        values = random.uniform(-1, 1, operand.shape)
    array[...] = values
    return array


def _bits(array: Array) -> Any:
    """A dtype of the same width that NumPy's files support; they do not support bfloat16."""
    return np.uint16 if array.dtype == NUMPY["bf16"] else array.dtype
