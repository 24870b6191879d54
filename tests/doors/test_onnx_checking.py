"""Outputs of models with kernels are compared with those without: floats as a whole, integers
by how rounding may change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.onnx_text import parsed

from morello.base.errors import VerificationError

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.onnx.checking import largest_difference  # noqa: E402

MODELS = {
    "level": """agraph (float[4, 8] x) => (uint8[4, 8] y)
        <float scale = {0.1}, uint8 zero = {128}>
        { s = Softmax (x)  y = QuantizeLinear (s, scale, zero) }""",
    "index": """agraph (float[4, 8] x) => (int64[4] y)
        { s = Softmax (x)  y = ArgMax <axis = 1, keepdims = 0> (s) }""",
    "exact index": """agraph (float[4, 8] x) => (int64[4] y)
        { y = ArgMax <axis = 1, keepdims = 0> (x) }""",
    "truth": """agraph (float[4, 8] x) => (bool[4, 8] y)
        { s = Softmax (x)  y = Less (s, x) }""",
    "sum": """agraph (float[4, 8] x) => (int32[4, 4] y) <float scale = {0.01}, uint8 zero = {0}>
        { s = Softmax (x)  q = QuantizeLinear (s, scale, zero)
          t = Transpose <perm = [1, 0]> (q)  y = MatMulInteger (q, t) }""",
    "integers": """agraph (int32[4, 8] x) => (int32[4, 8] y) { y = Add (x, x) }""",
}


class Changed:
    """A session whose results are others."""

    def __init__(self, session: Any, change: Any) -> None:
        self._session, self._change = session, change
        self.get_inputs = session.get_inputs

    def run(self, *given: Any) -> list[Any]:
        return [self._change(each) for each in self._session.run(*given)]


def one_more(array: Any) -> Any:
    changed = array.copy()
    changed.flat[0] = not array.flat[0] if array.dtype == bool else array.flat[0] + 1
    return changed


@pytest.mark.parametrize(
    ("name", "change", "right"),
    [
        ("level", one_more, True),
        ("level", lambda y: one_more(one_more(y)), False),
        ("index", one_more, False),
        ("exact index", one_more, False),
        ("truth", one_more, False),
        ("sum", one_more, True),
        ("sum", lambda y: y + y // 4, False),
        ("integers", one_more, False),
    ],
)
def test_integers_differ_by_rounding_alone(
    tmp_path: Path, name: str, change: Any, right: bool
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parsed(MODELS[name]), path)
    session = runtime.InferenceSession(str(path))
    if right:
        assert largest_difference(session, Changed(session, change), path) == 0
    else:
        with pytest.raises(VerificationError, match="other elements"):
            largest_difference(session, Changed(session, change), path)
