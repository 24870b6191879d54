"""Models with kernels compared with the models that they were made from, by ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import numpy as np

from morello.base.errors import GraphError, MorelloError, VerificationError
from morello.graph.graph import Array
from morello.importers.onnx import import_model, read_model
from morello.models.checking import tolerance_of
from morello.models.rounding import EXACT, Change, Rounding, changes_of, share_of
from morello.onnx.conversion import Conversion

TOLERANCE = 0.05
"""The largest error that is no mistake, of the largest number: narrow numbers are rounded."""

_QUIET = 4


def largest_error(model: str | os.PathLike[str], conversion: Conversion) -> float:
    """The largest error of a converted model, as `largest_difference` of the two.

    Raises `VerificationError` if it is above 5 %, and `MorelloError` if ONNX Runtime is missing,
    or cannot run a model.
    """
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _QUIET
    with explained():
        before = onnxruntime.InferenceSession(os.fspath(model), options)
        if conversion.library is not None:
            options.register_custom_ops_library(str(conversion.library.absolute()))
        after = onnxruntime.InferenceSession(str(conversion.model), options)
    return largest_difference(before, after, model)


def largest_difference(
    before: Any, after: Any, model: str | os.PathLike[str] | None = None
) -> float:
    """The largest difference of the outputs of two sessions, relative to the largest number.

    The inputs have the shapes of the second session, and are random: numbers between -1 and 1,
    integers 0 or 1, but masks are 1. Raises `VerificationError` if it is above 5 %, or if integers
    differ by more than what rounding does to those of the `model`, which is in a file, and
    `MorelloError` if a session cannot run.
    """
    with explained():
        feeds = _random(after.get_inputs(), np.random.default_rng(0))
        pairs = [*zip(after.run(None, feeds), before.run(None, feeds), strict=True)]
    names = [output.name for output in before.get_outputs()]
    if any(b.dtype.kind in "iub" and not np.array_equal(a, b) for a, b in pairs):
        rounding = _rounding(model, before, feeds)
        for number, (a, b) in enumerate(pairs):
            if b.dtype.kind in "iub" and (what := rounding.difference(number, a, b)):
                raise VerificationError(f"the kernels compute {what} for {names[number]}.")
    error = max((_difference(a, b) for a, b in pairs), default=0.0)
    if not error <= TOLERANCE:
        raise VerificationError(
            f"the kernels compute something else than ONNX Runtime: the largest error is "
            f"{error:.1e} of the largest number."
        )
    return error


def _rounding(
    model: str | os.PathLike[str] | None, session: Any, feeds: dict[str, Array]
) -> Rounding:
    """How rounding may change the outputs of a model; the session runs it without kernels."""
    known: dict[str, Change] = {}
    tolerance = TOLERANCE
    if model is not None:
        with suppress(GraphError):
            shapes = {name: each.shape for name, each in feeds.items()}
            program = import_model(read_model(model), shapes)
            tolerance = tolerance_of(program.graph)
            known = dict(zip(program.outputs, changes_of(program.graph), strict=False))
    if not tolerance:
        return EXACT
    names = [output.name for output in session.get_outputs()]

    def again(change: Callable[[Array], Array]) -> list[Array]:
        results: list[Array] = session.run(None, {n: change(each) for n, each in feeds.items()})
        return results

    return Rounding([known.get(name, Change.CHOICE) for name in names], again, share_of(tolerance))


def runtime() -> ModuleType:
    """ONNX Runtime; raises `MorelloError` if it is missing."""
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MorelloError("there is no onnxruntime", "install it") from None
    module: ModuleType = onnxruntime
    return module


@contextmanager
def explained() -> Iterator[None]:
    """Raises the exceptions of ONNX Runtime in the body as `MorelloError`."""
    try:
        yield
    except MorelloError:
        raise
    except Exception as problem:
        raise MorelloError(f"ONNX Runtime says: {' '.join(str(problem).split())[:300]}.") from None


def _random(inputs: Any, generator: np.random.Generator) -> dict[str, Array]:
    """Arrays for the inputs of a session, whose types it names as `tensor(float)`.

    Free dimensions have the size 1. Texts are digits. Integers called masks are 1: operators that
    hide what is masked say nothing of its results. Raises `MorelloError` for what is no tensor.
    """
    names = {"float": "float32", "double": "float64", "string": "object"}
    arrays = {}
    for each in inputs:
        name = each.type.removeprefix("tensor(").removesuffix(")")
        try:
            dtype = np.dtype(names.get(name, name))
        except TypeError:
            raise MorelloError(
                f"there are no random {each.type} for the input {each.name}"
            ) from None
        shape = [size if isinstance(size, int) else 1 for size in each.shape]
        floating, least = dtype.kind == "f", int("mask" in each.name)
        values = np.asarray(
            generator.uniform(-1, 1, shape) if floating else generator.integers(least, 2, shape)
        )
        if dtype.kind == "O":
            values = values.astype(str)
        arrays[each.name] = values.astype(dtype)
    return arrays


def _difference(after: Array, before: Array) -> float:
    """The largest difference, of the largest number; infinite if shapes or types differ."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return np.inf
    if before.size == 0 or before.dtype.kind in "iub":
        return 0.0
    if before.dtype.kind != "f":
        return 0.0 if np.array_equal(before, after) else np.inf
    a, b = before.astype(np.float64), after.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = max(np.abs(a[np.isfinite(a)]).max(initial=0.0), np.finfo(np.float32).tiny)
    return float(np.where(same, 0.0, np.abs(a - b)).max() / scale)
