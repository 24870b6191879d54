"""Kernels in NumPy that verification is tried on, and the faults that it finds in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.base.errors import VerificationError
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec
from morello.runtime.argument import Array
from morello.runtime.verify import verify

Kernel = Callable[..., None]


def faults(kernel: Kernel, spec: Spec) -> str:
    with pytest.raises(VerificationError) as caught:
        verify(kernel, spec)
    return str(caught.value)


def single(spec: Spec) -> Kernel:
    """A right kernel: NumPy, in single precision, each tensor in its dtype."""

    def kernel(*inputs: Array, out: Array) -> None:
        out[...] = evaluate(spec.operation, [_computable(x) for x in inputs], spec.sizes)[0]

    return kernel


def _computable(x: Array) -> Array:
    return x.astype(np.int32 if x.dtype.kind in "iu" else np.float32)


def softmax_of(x: Array, axis: int = -1) -> Any:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)
