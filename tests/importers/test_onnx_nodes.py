"""ONNX's own tests of operators: the graphs of their models compute what they expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.onnx_text import parsed
from tests.sampling import some

from morello.base.errors import GraphError
from morello.graph.graph import Array, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Foreign

onnx = pytest.importorskip("onnx")

from morello.importers.onnx import OnnxProgram, import_model  # noqa: E402
from morello.importers.onnx.call import TRANSLATIONS  # noqa: E402

TOLERANCES = {"float16": 5e-3, "bfloat16": 5e-2}

REFUSED = {
    "Attention", "AveragePool", "BatchNormalization", "BitShift", "BitwiseAnd", "Cast", "CastLike",
    "ConvTranspose", "CumProd", "DFT", "DequantizeLinear", "Dropout",
    "Identity", "MaxPool", "MaxUnpool", "Mod", "OneHot", "Pad", "Pow", "QLinearMatMul",
    "QuantizeLinear", "Range", "Resize", "ScatterElements", "ScatterND", "TopK",
}  # fmt: skip
"""The operators with a form that is left to ONNX Runtime, apart from odd dtypes and no elements."""


EXPANDED = {
    "AffineGrid", "CenterCropPad", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss",
}  # fmt: skip
"""Operators that ONNX defines by others, which are computed."""


def cases() -> Iterator[tuple[str, Any, list[Array], list[Array], float]]:
    """The name, model, inputs, outputs and tolerance of each test whose operators are known."""
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        nodes = case.model.graph.node
        known = {*TRANSLATIONS, *(("", name) for name in ("Constant", *EXPANDED))}
        if all((n.domain, n.op_type) in known for n in nodes):
            inputs, outputs = ([_array(each) for each in side] for side in case.data_sets[0])
            yield case.name, case.model, inputs, outputs, case.rtol


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if hasattr(value, "data_type") else value


def frozen(model: Any, inputs: Sequence[Array]) -> tuple[Any, list[Array]]:
    """A model whose short inputs of integers, as axes and shapes are, and scales are constants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    left = []
    for info, array in zip(model.graph.input, inputs, strict=True):
        known = isinstance(array, np.ndarray | np.generic)
        if (known and array.dtype.kind in "ib" and array.ndim <= 1) or info.name == "scales":
            constant = onnx.numpy_helper.from_array(np.asarray(array), info.name)
            copy.graph.initializer.append(constant)
        else:
            left.append(array)
    return copy, left


def imported(model: Any, inputs: Sequence[Array]) -> OnnxProgram:
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [info.name for info in model.graph.input if info.name not in constants]
    shapes = {n: a.shape for n, a in zip(names, inputs, strict=True) if isinstance(a, np.ndarray)}
    return import_model(model, shapes)


def whole(program: OnnxProgram) -> bool:
    """Whether nothing is left to ONNX Runtime."""
    return not program.rest and not any(
        isinstance(n.operator, Foreign) for n in program.graph.nodes
    )


def test_nodes_compute_what_onnx_expects() -> None:
    agree, refused, wrong = 0, Counter[str](), []
    chosen = some(cases(), 3)
    for name, model, inputs, outputs, tolerance in chosen:
        program, arrays = imported(model, inputs), inputs
        if not whole(program):
            model, arrays = frozen(model, inputs)
            program = imported(model, arrays)
        if not whole(program):
            kinds, reason = program.left[0]
            if "it is of" not in reason and "no elements" not in reason:
                refused[kinds.split()[0]] += 1
            continue
        check(program.graph)
        results = evaluate(program.graph, arrays)
        assert list(program.outputs) == [info.name for info in model.graph.output]
        if all(map(_close, program.graph.outputs, results, outputs, [tolerance] * len(outputs))):
            agree += 1
        else:
            wrong.append(name)
    assert wrong == []
    assert agree > 0.7 * len(chosen)
    assert {*refused} <= REFUSED


def _close(node: Any, result: Array, expected: Array, tolerance: float) -> bool:
    kind = node.type.shape, node.dtype
    return kind == (expected.shape, expected.dtype) and near(result, expected, tolerance)


def near(result: Array, expected: Array, tolerance: float) -> bool:
    """Whether a result is as near to an expected one as its dtype lets it be."""
    low = TOLERANCES.get(expected.dtype.name, 0.0)
    # a number halfway between two integers may be rounded to either
    absolute = 1.0 if expected.dtype == np.uint8 else max(0.1 * low, 1e-6)
    return result.shape == expected.shape and np.allclose(
        result.astype(np.float64),
        expected.astype(np.float64),
        max(tolerance, low),
        absolute,
        equal_nan=True,
    )


def test_a_node_that_does_not_fit_is_an_error() -> None:
    model = parsed("agraph (float[4,8] x, float[4,8] y) => (float[4,4] z) { z = MatMul(x, y) }")
    with pytest.raises(GraphError, match=r"MatMul: .*8 is not 4"):
        import_model(model)


def test_a_flag_that_is_neither_0_nor_1_leaves_its_node() -> None:
    model = parsed("agraph (float[4,8] x) => (float[a,b] y) { y = ReduceMax <keepdims = 2> (x) }")
    assert import_model(model).left == (("ReduceMax", "its keepdims is 2, and neither 0 nor 1"),)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (
            "RotaryEmbedding <interleaved = 2> (x, c, c)",
            "its interleaved is 2, and neither 0 nor 1",
        ),
        ("HannWindow <periodic = -1> (five)", "its periodic is -1, and neither 0 nor 1"),
        (
            'MaxPool <kernel_shape = [2, 2147483647], auto_pad = "SAME_UPPER"> (x)',
            "its padded images are of [5, 2147483650]",
        ),
        (
            "ConvTranspose <strides = [1, 2000000]> (x, x)",
            "it is a transposed convolution with strides of 2000000",
        ),
        (
            "Attention <qk_matmul_output_mode = -1> (x, x, x)",
            "its qk_matmul_output_mode is -1",
        ),
        (
            "AffineGrid <align_corners = 1> (c, sizes)",
            "an axis of one pixel has no two corners to align",
        ),
        (
            "ReduceSum <noop_with_empty_axes = -3> (x)",
            "its noop_with_empty_axes is -3, and neither 0 nor 1",
        ),
    ],
)
def test_no_definition_of_onnx_is_taken_for_what_it_does_not_define(node: str, why: str) -> None:
    model = parsed(
        "agraph (float[1,2,4,4] x, float[1,4,2] c) => (y)"
        " { sizes = Constant <value = int64[4] {1, 1, 1, 5}> ()"
        f" five = Constant <value = int32 {{5}}> () y = {node} }}",
        23,
    )
    ((_, reason),) = import_model(model).left
    assert reason == why


@pytest.mark.parametrize("given", [["x"], ["x", ""]])
def test_bits_of_two_integers_need_both(given: list[str]) -> None:
    node = onnx.helper.make_node("BitwiseOr", given, ["y"])
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.INT32, [3]) for n in "xy")
    graph = onnx.helper.make_graph([node], "graph", [x], [y])
    with pytest.raises(GraphError, match="has no input 1"):
        import_model(onnx.helper.make_model(graph))


@pytest.mark.parametrize("number", [1.0, np.inf, -np.inf])
def test_sums_of_exponentials_may_be_of_infinity(number: float) -> None:
    model = parsed(
        "agraph (float[2,3] x) => (float[2,1] y) { y = ReduceLogSumExp <axes = [1]> (x) }"
    )
    x = np.full((2, 3), -np.inf, np.float32)
    x[:, 1] = number
    (result,) = evaluate(import_model(model).graph, [x])
    np.testing.assert_array_equal(result, np.full((2, 1), number))


@pytest.mark.parametrize("sizes", [(4, -(2**31)), (4, 2**40), (4, 0), (4, 6)])
def test_windows_of_an_image_of_another_size_are_refused(sizes: tuple[int, int]) -> None:
    model = parsed(
        "agraph (float[1,4,4] x) => (float[a,b,c,d] y) {"
        f"size = Constant <value_ints = [{sizes[0]}, {sizes[1]}]> ()"
        "window = Constant <value_ints = [2, 2]> ()"
        "y = Col2Im <strides = [2, 2]> (x, size, window) }",
        18,
    )
    with pytest.raises(GraphError, match=r"Col2Im: f32\[1,4,4\] are no windows"):
        import_model(model)


def test_a_split_into_more_parts_than_there_are_elements_is_refused() -> None:
    model = parsed(
        "agraph (float[7] x) => (float[a] y) { y = Split <num_outputs = 9223372036854775807> (x) }",
        18,
    )
    with pytest.raises(GraphError, match="is not split into 9223372036854775807"):
        import_model(model)
