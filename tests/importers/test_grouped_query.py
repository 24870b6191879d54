"""Attention of a decoder to its cache: the graph of a node computes what ONNX Runtime does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Array, check
from morello.graph.interpreter import evaluate

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import import_model  # noqa: E402

HEADS, SHARED, SIZE = 6, 2, 16


@dataclass(frozen=True)
class Case:
    """A call of `rows` tokens of each sequence, with a cache for `past`, to these lengths."""

    rows: int
    past: int
    lengths: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    together: bool = False
    positions: bool = False
    biased: bool = False
    sinks: bool = False
    dtype: str = "float32"

    @property
    def inputs(self) -> dict[str, Array]:
        random, batch, total = np.random.default_rng(0), len(self.lengths), max(self.lengths)

        def floats(*shape: int) -> Array:
            return random.uniform(-2, 2, shape).astype(self.dtype)

        given: dict[str, Array] = {}
        if self.together:
            given["q"] = floats(batch, self.rows, (HEADS + 2 * SHARED) * SIZE)
        else:
            widths = {"q": HEADS, "k": SHARED, "v": SHARED}
            given |= {n: floats(batch, self.rows, w * SIZE) for n, w in widths.items()}
        given |= {n: floats(batch, SHARED, self.past, SIZE) for n in ("before_k", "before_v")}
        given["lengths"] = np.array(self.lengths, np.int32) - 1
        given["total"] = np.array(total, np.int32)
        if self.attributes.get("do_rotary"):
            angles = np.outer(np.arange(40), 1 / (1 + np.arange(SIZE // 2)))
            given |= {"cos": np.cos(angles).astype(self.dtype)}
            given |= {"sin": np.sin(angles).astype(self.dtype)}
        if self.positions:
            places = np.arange(self.rows) + np.array(self.lengths)[:, None] - self.rows + 3
            given["positions"] = places.astype(np.int64)
        if self.biased:
            given["bias"] = floats(1, HEADS, self.rows, total)
        if self.sinks:
            given["sinks"] = floats(HEADS)
        return given


ORDER = ("q", "k", "v", "before_k", "before_v", "lengths", "total", "cos", "sin", "positions",
         "bias", "sinks")  # fmt: skip
KNOWN = {"total", "cos", "sin", "sinks"}
"""The inputs that are constants of the model."""
ROTARY = {"do_rotary": 1}

CASES = {
    "a prompt": Case(5, 0, (5,)),
    "a prompt with a cache": Case(5, 12, (5, 5), ROTARY),
    "a padded prompt": Case(5, 0, (5, 3), ROTARY),
    "a token": Case(1, 8, (9,), ROTARY),
    "a token in a larger cache": Case(1, 12, (9,), ROTARY | {"rotary_interleaved": 1}),
    "tokens of several lengths": Case(1, 8, (9, 4, 1), ROTARY),
    "several tokens": Case(4, 11, (9,), ROTARY),
    "several tokens more": Case(4, 5, (9,), ROTARY),
    "one tensor": Case(1, 8, (9, 5), ROTARY, together=True),
    "a window": Case(1, 11, (12, 5), {"local_window_size": 4}),
    "a window of a prompt": Case(7, 0, (7,), {"local_window_size": 3, "scale": 0.3}),
    "a cap": Case(1, 8, (9, 5), {"softcap": 1.5}),
    "a cap and a window": Case(7, 0, (7,), {"softcap": 1.5, "local_window_size": 2}),
    "added numbers": Case(1, 8, (9, 9), {"softcap": 1.5}, biased=True),
    "positions": Case(1, 8, (9, 5), ROTARY, positions=True),
    "positions of a prompt": Case(5, 0, (5, 5), ROTARY, positions=True),
    "sinks": Case(1, 8, (9, 5), ROTARY, sinks=True),
    "sinks of a prompt": Case(5, 0, (5, 5), {"local_window_size": 3, "softcap": 1.5}, sinks=True),
    "a smooth softmax": Case(1, 8, (9, 5), {"smooth_softmax": 1}),
    "half precision": Case(1, 8, (9, 5), ROTARY, dtype="float16"),
}


def model(case: Case, arrays: dict[str, Array]) -> Any:
    make = onnx.helper
    names = [name if name in arrays else "" for name in ORDER]
    while not names[-1]:
        names.pop()
    outputs = ["y", "after_k", "after_v"]
    node = make.make_node("GroupQueryAttention", names, outputs, domain="com.microsoft",
                          num_heads=HEADS, kv_num_heads=SHARED, **case.attributes)  # fmt: skip
    infos = [
        make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in arrays.items()
        if n not in KNOWN
    ]
    known = [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items() if n in KNOWN]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = make.make_graph([node], "node", infos, results, known)
    versions = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
    return make.make_model(graph, opset_imports=versions, ir_version=8)


@pytest.mark.parametrize("name", CASES)
def test_tokens_see_those_before_them(name: str) -> None:
    case = CASES[name]
    arrays = case.inputs
    whole = model(case, arrays)
    program = import_model(whole)
    assert not program.left
    check(program.graph)
    feeds = {name: array for name, array in arrays.items() if name not in KNOWN}
    y, *caches = evaluate(program.graph, [*feeds.values()])
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(whole.SerializeToString(), options)
    expected, *theirs = session.run(None, feeds)
    low = 5e-3 if case.dtype == "float16" else 1e-5
    prompt = case.rows == max(case.lengths)
    for n, length in enumerate(case.lengths):
        rows = min(case.rows, length) if prompt else case.rows
        np.testing.assert_allclose(y[n, :rows], expected[n, :rows], 10 * low, low)
        for ours, wanted in zip(caches, theirs, strict=True):
            assert ours.shape == wanted.shape
            np.testing.assert_allclose(ours[n, :, :length], wanted[n, :, :length], 10 * low, low)


@pytest.mark.parametrize(
    "attributes, reason",
    [({"sliding_window_cache": 1}, "its cache slides"), ({"causal": 0}, "its cache slides")],
)
def test_other_forms_are_left(attributes: dict[str, Any], reason: str) -> None:
    case = Case(1, 8, (9,), attributes)
    ((_, said),) = import_model(model(case, case.inputs)).left
    assert said.startswith(reason)
