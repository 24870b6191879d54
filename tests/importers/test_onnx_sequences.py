"""Sequences of a known length in ONNX models are the tensors that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.graph.interpreter import evaluate

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import OnnxProgram, import_model  # noqa: E402

CONSTANTS = {
    "before": np.array(-3),
    "four": np.array(4),
    "last": np.array(-1),
    "none": np.array(0),
    "parts": np.array([1, 4]),
}


def parsed(body: str) -> Any:
    header = '<ir_version: 8, opset_import: ["": 17]> agraph (float[6,4] x)'
    return onnx.parser.parse_model(f"{header} {body}")


def compared(model: Any) -> OnnxProgram:
    """The program of a model, all of which is computed as ONNX Runtime does."""
    program = import_model(model)
    assert not program.rest and not program.left
    x = np.random.default_rng(0).uniform(-1, 1, (6, 4)).astype(np.float32)
    expected = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for found, wanted in zip(evaluate(program.graph, [x]), expected, strict=True):
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted)
    return program


@pytest.mark.parametrize(
    "split",
    [
        "SplitToSequence <axis = 0> (x, four)",
        "SplitToSequence <axis = -1> (x, parts)",
        "SplitToSequence <axis = 1> (x)",
        "SplitToSequence <axis = 1, keepdims = 0> (x)",
    ],
)
def test_parts_of_a_tensor(split: str) -> None:
    compared(
        parsed(
            f"""=> (float[a, b] y, float[c, d] z, int64 n) {{
                four = Constant <value = int64 {{4}}> ()
                parts = Constant <value = int64[2] {{1, 3}}> ()
                last = Constant <value = int64 {{-1}}> ()
                s = {split}
                first = Constant <value = int64 {{0}}> ()
                y = SequenceAt (s, first)
                z = SequenceAt (s, last)
                n = SequenceLength (s)
            }}"""
        )
    )


def test_tensors_that_are_put_in_and_taken_out() -> None:
    compared(
        parsed(
            """=> (float[24, 4] y, float[2, 6, 4] z) {
                empty = SequenceEmpty ()
                first = Constant <value = int64 {0}> ()
                last = Constant <value = int64 {-1}> ()
                r = Relu (x)
                n = Neg (x)
                two = SequenceConstruct (x, r)
                three = SequenceInsert (two, n, last)
                same = Identity (three)
                four = SequenceInsert (same, n, first)
                y = ConcatFromSequence <axis = 0> (four)
                less = SequenceErase (three, first)
                least = SequenceInsert (empty, r)
                r1 = ConcatFromSequence <axis = 0> (least)
                n1 = SequenceAt (less, first)
                both = SequenceConstruct (n1, r1)
                z = ConcatFromSequence <axis = 0, new_axis = 1> (both)
            }"""
        )
    )


def test_what_reads_a_sequence_and_is_left_has_it_from_onnx_runtime() -> None:
    model = parsed(
        """=> (float[a, b] y, float[c, d] z) {
            place = ArgMax <axis = 0, keepdims = 0> (x)
            top = ReduceMax <keepdims = 0> (place)
            first = Constant <value = int64 {0}> ()
            r = Relu (x)
            s = SequenceConstruct (r, x, r, x, r, x)
            t = SequenceErase (s, first)
            y = SequenceAt (s, top)
            z = SequenceAt (t, first)
        }"""
    )
    program = import_model(model)
    assert [node.op_type for node in program.rest] == ["SequenceConstruct", "SequenceAt"]
    assert program.outputs == ("z",)
    assert [name for name, _ in program.left] == ["SequenceConstruct", "SequenceAt"]


def test_a_sequence_may_be_a_result() -> None:
    program = import_model(
        parsed("=> (seq(float[a, b]) y) { r = Relu (x) y = SequenceConstruct (r) }")
    )
    assert [node.op_type for node in program.rest] == ["SequenceConstruct"]
    assert program.carried == ("r",)
    assert program.left == (
        ("SequenceConstruct", "ONNX Runtime needs the sequence that it makes"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("y = SequenceAt (s, four)", "no place 4 in a sequence of 2"),
        ("y = SequenceAt (s, before)", "no place -3 in a sequence of 2"),
        ("t = SequenceErase (s, before) y = SequenceAt (t, last)", "no place -3"),
        ("t = SequenceInsert (s, x, four) y = SequenceAt (t, last)", "no place 4"),
        ("t = SplitToSequence <axis = 0> (x, parts) y = SequenceAt (t, last)",
         r"6 elements are split into parts of \[1, 4\]"),
        ("t = SplitToSequence <axis = 0> (x, none) y = SequenceAt (t, last)", "parts of 0"),
    ],
)  # fmt: skip
def test_places_and_parts_are_within_what_there_is(nodes: str, message: str) -> None:
    """As ONNX Runtime refuses them, too."""
    model = parsed(
        f"""=> (float[a, b] y) {{
            s = SequenceConstruct (x, x)
            {nodes}
        }}"""
    )
    for name, array in CONSTANTS.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    with pytest.raises(GraphError, match=message):
        import_model(model)
    with pytest.raises(Exception, match=r"INVALID_ARGUMENT|FAIL|RUNTIME_EXCEPTION|sequence|split"):
        runtime.InferenceSession(model.SerializeToString()).run(
            None, {"x": np.zeros((6, 4), np.float32)}
        )
