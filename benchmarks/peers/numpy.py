"""NumPy, with the OpenBLAS in its wheel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.data import empty
from benchmarks.peers.peer import Candidate, Options, from_python, unable
from benchmarks.work import NUMPY, Array, Chain, Conv, Epilogue, Matmul, Scores, Softmax, Work
from morello.rivals.numpy import version

EXACT = 2**24
"""f32 holds integers up to this exactly."""

SMALL = 2 * 128**3
"""The most operations for which NumPy's products of integers, plain loops, are tried."""


class NumPy:
    """NumPy as users write it: outputs are preallocated, integers go through products of floats."""

    def __init__(self, options: Options) -> None:
        del options

    def version(self) -> str:
        return version()

    def prepare(self, work: Work, inputs: Sequence[Array]) -> Sequence[Candidate]:
        out = empty(work.output)
        match work:
            case Matmul():
                a, b = inputs
                return _products(work, a, b, out)
            case Chain():
                a, b, c = inputs
                between = np.empty_like(a)

                def chain() -> Array:
                    np.matmul(a, b, out=between)
                    return np.matmul(between, c, out=out)

                return [from_python("matmul twice", chain)]
            case Epilogue(function="relu"):
                a, b, bias = inputs

                def relu() -> Array:
                    np.matmul(a, b, out=out)
                    np.add(out, bias, out=out)
                    return np.maximum(out, 0, out=out)

                return [from_python("matmul, add, maximum", relu)]
            case Scores():
                q, k = inputs
                return [from_python("matmul, exp", lambda: _softmax(np.matmul(q, k, out=out), out))]
            case Softmax():
                return [from_python("exp", lambda: _softmax(inputs[0], out))]
            case Conv():
                x, w = inputs
                return [from_python("windows, matmul", lambda: _convolve(x, w))]
        raise unable("NumPy", work)


def _products(work: Matmul, a: Array, b: Array, out: Array) -> Sequence[Candidate]:
    if work.a == "f32":
        return [from_python("matmul, out=", lambda: np.matmul(a, b, out=out))]
    if work.a == "bf16":
        return [from_python("matmul of f32", lambda: np.matmul(_widened(a), _widened(b), out=out))]
    inexact = work.k * 255 * 128 > EXACT
    f: Any = np.float64 if inexact else np.float32
    c = NUMPY[work.c]

    def through() -> Array:
        # by way of int32, as casting a float that does not fit is undefined
        result: Array = (a.astype(f) @ b.astype(f)).astype(np.int32).astype(c)
        return result

    candidates = [from_python(f"matmul of {np.dtype(f)}", through)]
    if work.flops <= SMALL:
        whole = from_python("matmul of integers", lambda: np.matmul(a, b, out=out, dtype=c))
        candidates.append(whole)
    return candidates


def _widened(x: Array) -> Array:
    """Convert bf16 to f32, faster than ml_dtypes does."""
    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _softmax(x: Array, out: Array) -> Array:
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=-1, keepdims=True), out=out)
    return out


def _convolve(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    result: Array = np.moveaxis(np.tensordot(windows, w, axes=([1, 4, 5], [1, 2, 3])), -1, 1)
    return result
