"""ONNX's own tests of operators, with kernels, through both doors."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Array

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from tests.doors.test_onnx_provider import options, ours  # noqa: E402
from tests.importers.test_onnx_nodes import cases, frozen, near  # noqa: E402
from tests.sampling import some  # noqa: E402

from morello.onnx import convert  # noqa: E402

ONE_IN = 100
"""Which of the tests `make test-release` runs: each takes about two seconds."""


def test_kernels_compute_what_onnx_expects(tmp_path: Path) -> None:
    kernels, wrong = {"provider": 0, "convert": 0}, []
    for name, model, inputs, outputs, tolerance in some(islice(cases(), 0, None, ONE_IN), 2):
        if not all(map(is_given, inputs)):
            continue
        with_constants, arrays = without_their_inputs(*frozen(model, [*map(np.asarray, inputs)]))
        for door, session in (
            ("provider", provided(with_constants)),
            ("convert", converted(with_constants, tmp_path / name)),
        ):
            if session is not None:
                kernels[door] += 1
                results = session.run(None, arrays)
                if not all(map(near, results, outputs, [tolerance] * len(outputs))):
                    wrong.append((door, name))
    assert wrong == []
    assert min(kernels.values()) > 2


def is_given(value: Any) -> bool:
    """Whether ONNX Runtime takes an input from NumPy: no sequences, and no bf16."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.isbuiltin == 1


def without_their_inputs(model: Any, arrays: list[Array]) -> tuple[Any, dict[str, Array]]:
    """A model whose constants are no inputs as well, and the other inputs by their names."""
    constants = {tensor.name for tensor in model.graph.initializer}
    given = [info for info in model.graph.input if info.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(given)
    model.ir_version = min(model.ir_version, 10)  # ONNX Runtime is behind
    return model, dict(zip((info.name for info in given), arrays, strict=True))


def provided(model: Any) -> Any:
    """A session with the provider; None if it computes nothing."""
    session = created(model.SerializeToString(), options(budget="1"))
    return session if session is not None and ours(session) else None


def converted(model: Any, folder: Path) -> Any:
    """A session of a model with kernels; None if there are none."""
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    conversion = convert(folder / "model.onnx", folder / "fast.onnx", gap=1.0, budget=1.0)
    if conversion.library is None:
        return None
    asked = runtime.SessionOptions()
    asked.log_severity_level = 4
    asked.register_custom_ops_library(str(conversion.library))
    return created(str(conversion.model), asked)


def created(model: str | bytes, asked: Any) -> Any:
    """A session; None if ONNX Runtime lacks what is left to it."""
    try:
        return runtime.InferenceSession(model, asked)
    except runtime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None
    except runtime.capi.onnxruntime_pybind11_state.Fail as error:
        if "not supported" in str(error):  # as of batches first in recurrent layers
            return None
        raise
