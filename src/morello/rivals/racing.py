"""Rivals by name: made ready, and compared with the kernel's result."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np

from morello.base.errors import MorelloError, SearchError, VerificationError, quoted
from morello.frontends.text import CallSequence
from morello.rivals.rival import RacedExpression, Rival
from morello.runtime.argument import Array

PACKAGES: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "torch": ("torch",),
    "jax": ("jax",),
    "onnxruntime": ("onnx", "onnxruntime"),
}
"""The frameworks, and what must be installed for each."""

TOLERANCES = {"bf16": 5e-2, "f16": 1e-2, "f32": 1e-3}
"""How far results may be apart, relative to the largest, where these dtypes are computed in."""


def rival_names(listed: str) -> tuple[str, ...]:
    """The frameworks in a list such as "torch,jax"; raises `SearchError` for an unknown one."""
    names = tuple(dict.fromkeys(name.strip() for name in listed.split(",")))
    for name in names:
        if name not in PACKAGES:
            known = ", ".join(PACKAGES)
            raise SearchError(f"{quoted(name)} is no framework to race", f"they are {known}")
    return names


def check_installed(name: str) -> None:
    """Raise `MorelloError` unless what a framework needs is installed."""
    for package in PACKAGES[name]:
        if find_spec(package) is None:
            raise MorelloError(f"{package} is not installed", f"pip install {package}")


def prepared(name: str, raced: RacedExpression) -> Rival:
    """A framework after its first call; raises `MorelloError` if it does not compute this."""
    try:
        rival: Rival = import_module(f"morello.rivals.{name}").prepare(raced)
        rival.call()
    except MorelloError:
        raise
    except Exception as error:  # frameworks raise anything
        first, *_ = str(error).strip().splitlines() or [type(error).__name__]
        raise MorelloError(f"it does not compute this: {first:.160}") from None
    return rival


def check_result(result: Array, expected: Array, sequence: CallSequence) -> None:
    """Raise `VerificationError` if a result is not the expected one, but for rounding."""
    if result.size != expected.size:
        raise VerificationError(f"its result is of shape {result.shape}, not {expected.shape}.")
    x = result.reshape(expected.shape).astype(np.float64)
    y = expected.astype(np.float64)
    dtypes = [tensor.dtype for tensor in sequence.inputs]
    dtypes += [call.result.dtype for call in sequence.calls]
    allowed = max(TOLERANCES.get(str(dtype), 0.0) for dtype in (*dtypes, sequence.dtype))
    error = float(np.abs(x - y).max(initial=0.0))
    if not error <= allowed * float(np.abs(y).max(initial=0.0)):  # so that NaN is an error
        raise VerificationError(f"its result differs, by up to {error:.1e}.")
