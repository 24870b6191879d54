"""Attention and layers of quantized numbers as ONNX Runtime's tools write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Array, check
from morello.graph.interpreter import evaluate

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import import_model  # noqa: E402

GENERATOR = np.random.default_rng(0)
IMAGE = 1, 8, 6, 6
PER_BYTE = np.array(1 / 256, np.float32)


def floats(*shape: int) -> Array:
    return GENERATOR.uniform(-1, 1, shape).astype(np.float32)


def scale(*shape: int) -> Array:
    return GENERATOR.uniform(0.01, 0.02, shape).astype(np.float32)


def u8(*shape: int) -> Array:
    return GENERATOR.integers(0, 256, shape, np.uint8)


def i8(*shape: int) -> Array:
    return GENERATOR.integers(-100, 101, shape, np.int8)


def i32(*shape: int, low: int = -500, high: int = 500) -> Array:
    return GENERATOR.integers(low, high, shape, np.int32)


def results(
    kind: str, inputs: Sequence[Array | None], outputs: int, domain: str | None = None, **more: Any
) -> Any:
    """The results of the graph of a node, see `node_model`, and of ONNX Runtime."""
    model, name, first = node_model(kind, inputs, outputs, domain, **more)
    program = import_model(model)
    assert not program.left
    check(program.graph)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options)
    return evaluate(program.graph, [first]), session.run(None, {name: first})


def node_model(
    kind: str,
    inputs: Sequence[Array | None],
    outputs: int,
    domain: str | None = None,
    changing: int = 0,
    version: int = 17,
    **attributes: Any,
) -> tuple[Any, str, Array]:
    """A model of one node, with the name and value of its input; the others are constants.

    Unless it is given, the domain is com.microsoft, or ONNX's own if that has such operators.
    """
    make = onnx.helper
    names = ["" if each is None else f"x{n}" for n, each in enumerate(inputs)]
    if domain is None:
        domain = "" if onnx.defs.has(kind) and "Attention" not in kind else "com.microsoft"
    node = make.make_node(kind, names, [f"y{n}" for n in range(outputs)], domain=domain,
                          **attributes)  # fmt: skip
    name, first = names[changing], inputs[changing]
    assert first is not None
    known = [(n, e) for n, e in zip(names, inputs, strict=True) if e is not None and n != name]
    code = make.np_dtype_to_tensor_dtype(first.dtype)
    graph = make.make_graph(
        [node],
        "node",
        [make.make_tensor_value_info(name, code, first.shape)],
        [onnx.ValueInfoProto(name=name) for name in node.output],
        [onnx.numpy_helper.from_array(each, name) for name, each in known],
    )
    versions = [make.make_opsetid("", version), make.make_opsetid("com.microsoft", 1)]
    model = make.make_model(graph, opset_imports=versions, ir_version=8)
    return model, name, first


X, W, B = (2, 5, 8), (8, 24), (24,)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
ATTENTION: dict[str, tuple[str, list[Array | None], int, dict[str, Any]]] = {
    "plain": ("Attention", [floats(*X), floats(*W), floats(*B)], 1, {}),
    "hidden columns": (
        "Attention", [floats(*X), floats(*W), floats(*B), MASK], 1, {"unidirectional": 1}),
    "lengths": ("Attention", [floats(*X), floats(*W), floats(*B), MASK.sum(1, dtype=np.int32)],
                1, {"scale": 0.3}),
    "a mask for each row": (
        "Attention", [floats(*X), floats(*W), None, i32(2, 5, 5, low=0, high=2)], 1, {}),
    "tokens before": ("Attention", [floats(*X), floats(*W), floats(*B), None,
                                    floats(2, 2, 2, 3, 4)], 2, {"unidirectional": 1}),
    "added to scores": (
        "Attention", [floats(*X), floats(8, 28), floats(28), None, None, floats(2, 2, 5, 5)], 1,
        {"qkv_hidden_sizes": [8, 8, 12]}),
    "apart": ("MultiHeadAttention", [floats(*X), floats(2, 7, 8), floats(2, 7, 12), floats(28)],
              1, {}),
    "apart, masked": ("MultiHeadAttention", [floats(*X), floats(*X), floats(*X), None, MASK,
                                             floats(1, 2, 5, 5)], 1, {}),
    "across": ("MultiHeadAttention", [floats(*X), floats(2, 2, 7, 4), floats(2, 2, 7, 4)], 1, {}),
    "apart, tokens before": (
        "MultiHeadAttention",
        [floats(*X), floats(*X), floats(*X), None, None, None, floats(2, 2, 3, 4),
         floats(2, 2, 3, 4)], 3, {"unidirectional": 1}),
    "of bytes": ("QAttention", [u8(*X), i8(*W), floats(*B), scale(), scale(), MASK[:, 0] * 3,
                                u8(), i8()], 1, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ATTENTION.values(), ids=list(ATTENTION))
def test_attention_has_masks_and_tokens_before(case: Any) -> None:
    kind, inputs, outputs, attributes = case
    for ours, theirs in zip(
        *results(kind, inputs, outputs, num_heads=2, **attributes), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


@pytest.mark.parametrize("lowest", [float(np.finfo(np.float32).min), -1e38])
@pytest.mark.parametrize("known", [True, False])
def test_rows_may_see_nothing(lowest: float, known: bool) -> None:
    """The lowest number hides columns from ONNX's own attention, and is a score of the others."""
    mask = np.where(np.tri(5, 5, -2), 0, lowest).astype(np.float32)
    mask[1, 2] = mask[3, 4] = -np.inf
    heads: list[Array | None] = [floats(1, 2, 5, 4) for _ in range(3)]
    own = [*heads, mask]
    of: dict[str, Any] = {"domain": "", "version": 23, "changing": 0 if known else 3}
    every = [*results("Attention", own, 1, **of), *results("Attention", own, 1, is_causal=1, **of)]
    rows: list[Array | None] = [*(floats(1, 5, 8) for _ in range(3)), None, None, mask[None, None]]
    for causal in (0, 1):
        changing = 0 if known else 5
        some: dict[str, Any] = {"num_heads": 2, "unidirectional": causal}
        every += results("MultiHeadAttention", rows, 1, changing=changing, **some)
    for (ours,), (theirs,) in zip(every[::2], every[1::2], strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


@pytest.mark.parametrize("mask", [None, MASK])
def test_words_positions_and_segments_are_added(mask: Any) -> None:
    inputs = [i32(2, 5, low=0, high=9), None, floats(9, 8), floats(6, 8), None, floats(8),
              floats(8), mask]  # fmt: skip
    for ours, theirs in zip(*results("EmbedLayerNormalization", inputs, 2), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


QUANTIZED: dict[str, tuple[str, list[Array | None], dict[str, Any]]] = {
    "convolution": (
        "QLinearConv",
        [u8(*IMAGE), scale(), u8(), i8(16, 4, 3, 3), scale(16), np.zeros(16, np.int8), scale() * 9,
         u8(), i32(16)], {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1]}),
    "convolution without a scale": (
        "ConvInteger", [u8(*IMAGE), i8(4, 8, 3, 3), u8(), i8()], {"pads": [1, 1, 1, 1]}),
    "product": (
        "QGemm", [u8(3, 8), scale(), u8(), i8(6, 8), scale(6), np.zeros(6, np.int8), i32(6),
                  scale() * 9, u8()], {"transB": 1}),
    "product in floats": (
        "QGemm", [u8(3, 8), scale(), u8(), i8(8, 6), scale(), i8(), i32(6)], {"alpha": 0.5}),
    "sum": ("QLinearAdd", [u8(2, 3), scale(), u8(), u8(3), scale(), u8(), scale(), u8()], {}),
    "product of numbers": (
        "QLinearMul", [u8(2, 3), scale(), u8(), u8(3), scale(), u8(), scale(), u8()], {}),
    "sigmoid": ("QLinearSigmoid", [u8(2, 3), scale(), u8(), PER_BYTE, u8()], {}),
    "leaky": ("QLinearLeakyRelu", [i8(2, 3), scale(), i8(), scale(), i8()], {"alpha": 0.1}),
    "softmax": ("QLinearSoftmax", [u8(2, 9), scale(), u8(), PER_BYTE, u8() * 0],
                {"axis": -1, "opset": 13}),
    "means": ("QLinearAveragePool", [u8(*IMAGE), scale(), u8(), scale(), u8()],
              {"kernel_shape": [2, 3], "pads": [0, 1, 0, 1]}),
    "means of all": (
        "QLinearGlobalAveragePool", [u8(*IMAGE), scale(), u8(), scale(), u8()], {}),
    "largest": ("MaxPool", [u8(*IMAGE)], {"kernel_shape": [2, 2], "pads": [1, 0, 1, 0]}),
    "joined": ("QLinearConcat", [scale(), u8(), u8(2, 3), scale(), u8(), u8(2, 5), scale(), u8()],
               {"axis": 1}),
    "product with floats": (
        "DynamicQuantizeMatMul", [floats(2, 3, 8), i8(8, 6), scale(6), None, floats(6)], {}),
    "product as floats": (
        "MatMulIntegerToFloat", [u8(2, 3, 8), i8(8, 6), scale(), scale(6), u8(), i8(6)], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", QUANTIZED.values(), ids=list(QUANTIZED))
def test_quantized_layers_are_within_a_step(case: Any) -> None:
    kind, inputs, attributes = case
    inputs = [None if each is None else np.asarray(each) for each in inputs]
    if kind == "QLinearConcat":  # its first input is a scale
        inputs[0] = inputs[0].reshape(1)
    ((ours,), (theirs,)) = results(kind, inputs, 1, **attributes)
    if theirs.dtype == np.float32:
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-4 * np.abs(theirs).max())
    else:
        distance = np.abs(ours.astype(np.int64) - theirs)
        assert distance.max() <= (theirs.itemsize == 1)
        assert distance.mean() < 0.1


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("columns", [False, True])
def test_a_recurrent_layer_of_bytes(directions: int, columns: bool) -> None:
    """Scales are for all weights of a direction, or for each column; the first state is 0."""
    steps, batch, inputs, hidden = 3, 2, 5, 4
    own = (directions, 4 * hidden) if columns else (directions,)
    zeros = np.zeros(own, np.int8) if columns else i8(*own)
    weights = [i8(directions, size, 4 * hidden) for size in (inputs, hidden)]
    scales = [scale(*own) / 2 for _ in range(2)]
    given = [floats(steps, batch, inputs), *weights, floats(directions, 8 * hidden),
             None, None, None, None, scales[0], zeros, scales[1], zeros]  # fmt: skip
    direction = "bidirectional" if directions == 2 else "forward"
    computed = results(
        "DynamicQuantizeLSTM", given, 3, direction=direction, hidden_size=hidden
    )  # fmt: skip
    for ours, theirs in zip(*computed, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=0.02)  # a step of the state's quantization


@pytest.mark.parametrize("zero", [np.uint16(30000), np.int16(-5), np.uint8(9), np.int8(-7)])
def test_numbers_of_16_bits_are_quantized_by_operators_of_onnx_runtime(zero: Any) -> None:
    zeros = np.broadcast_to(zero, 4).copy()
    for inputs in ([floats(2, 4, 3) * 3, scale(4)], [floats(5) * 3, scale()]):
        given = [*inputs, zeros if inputs[1].size > 1 else zeros[0]]
        arrays: list[Array | None] = [np.asarray(each) for each in given]
        ((ours,), (theirs,)) = results("QuantizeLinear", arrays, 1, "com.microsoft")
        np.testing.assert_array_equal(ours, theirs)
        back = [theirs, *arrays[1:]]
        ((ours,), (theirs,)) = results("DequantizeLinear", back, 1, "com.microsoft")
        np.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.parametrize("zero", [np.uint8(9), np.int8(-7), np.int16(3)])
@pytest.mark.parametrize("unit", [0.1, np.inf, 0.0])
def test_nan_is_quantized_as_the_least_integer(zero: Any, unit: float) -> None:
    """Masks of -inf make a scale of infinity, by which 0 and infinity are NaN."""
    x = np.array([np.nan, np.inf, -np.inf, 0, -3e38, 0.4], np.float32)
    given = [np.array(unit, np.float32), np.asarray(zero)]
    with np.errstate(all="ignore"):
        ((ours,), (theirs,)) = results("QuantizeLinear", [x, *given], 1, "com.microsoft")
        np.testing.assert_array_equal(ours, theirs)
        ((ours,), (theirs,)) = results("DequantizeLinear", [theirs, *given], 1, "com.microsoft")
        np.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.parametrize(
    "kind, more", [("QLinearSoftmax", []), ("QLinearAdd", [i8(2, 3), scale(), i8()])]
)
def test_layers_of_numbers_by_infinite_scales_are_left(kind: str, more: list[Array]) -> None:
    inputs = [i8(2, 3), np.array(np.inf, np.float32), i8(), *more, scale(), i8()]
    attributes: dict[str, Any] = {"opset": 13} if kind == "QLinearSoftmax" else {}
    model, *_ = node_model(kind, inputs, 1, **attributes)
    assert [reason for _, reason in import_model(model).left] == ["its scale is not finite"]


def test_zeros_are_quantized_by_their_range() -> None:
    """Their scale is 1, as there is no range."""
    x = np.zeros((2, 3), np.float32)
    for ours, theirs in zip(*results("DynamicQuantizeLinear", [x], 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rows_of_quantized_tables(bits: int, zeros: bool, dtype: Any) -> None:
    rows, groups, group = 9, 3, 16
    scales = GENERATOR.uniform(0.01, 0.02, (rows, groups)).astype(dtype)
    given = [u8(rows, groups * group * bits // 8), i32(2, 5, low=-rows, high=rows), scales]
    given += [u8(rows, -(-groups * bits // 8))] if zeros else []
    ((ours,), (theirs,)) = results(
        "GatherBlockQuantized", given, 1, bits=bits, block_size=group, changing=1
    )
    np.testing.assert_array_equal(ours.astype(dtype), theirs)


@pytest.mark.parametrize("scale", [0.6, 0.5, 1.6, 2.0])
def test_images_had_their_nearest_pixels_chosen_otherwise_before_version_11(scale: float) -> None:
    inputs = [floats(1, 2, 5, 7), np.array([1, 1, scale, 2], np.float32)]
    ((ours,), (theirs,)) = results("Resize", inputs, 1, version=10, mode="nearest")
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["Relu", "Tanh", "Sigmoid"])
def test_plain_recurrent_layers_have_functions_of_their_own(name: str) -> None:
    inputs = [floats(5, 2, 3), floats(2, 4, 3), floats(2, 4, 4), floats(2, 8)]
    pairs = zip(
        *results(
            "RNN", inputs, 2, hidden_size=4, direction="bidirectional", activations=[name] * 2
        ),
        strict=True,
    )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


OF_MICROSOFT: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "ExpandDims": ([floats(3, 4), np.array(-2, np.int32)], {}),
    "GatherND": ([floats(3, 4), np.array([[0, 1], [2, -1]])], {}),
    "Pad": ([floats(3, 4), np.array([1, 0, 0, 2]), floats(1)], {}),
    "TransposeMatMul": ([floats(4, 3), floats(4, 5)], {"transA": 1, "alpha": 0.5}),
    "Trilu": ([floats(3, 4), np.array(1)], {"upper": 0}),
}


@pytest.mark.parametrize("kind", OF_MICROSOFT)
def test_operators_that_onnx_runtime_had_first(kind: str) -> None:
    inputs, attributes = OF_MICROSOFT[kind]
    ((ours,), (theirs,)) = results(kind, inputs, 1, "com.microsoft", **attributes)
    np.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.parametrize("form", [{}, {"exclusive": 1}, {"reverse": 1, "exclusive": 1}])
def test_products_up_to_each_element(form: dict[str, int]) -> None:
    """ONNX Runtime has no kernel for them."""
    x, make = floats(3, 5), onnx.helper
    model = make.make_model(
        make.make_graph(
            [make.make_node("CumProd", ["x", "axis"], ["y"], **form)],
            "products",
            [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
            [onnx.ValueInfoProto(name="y")],
            [onnx.numpy_helper.from_array(np.array(1), "axis")],
        ),
        opset_imports=[make.make_opsetid("", 26)],
    )
    program = import_model(model)
    assert not program.left
    turned = x[:, ::-1] if form.get("reverse") else x
    expected = np.cumprod(turned.astype(np.float64), 1)
    if form.get("exclusive"):
        expected = np.concatenate([np.ones((3, 1)), expected[:, :-1]], 1)
    expected = expected[:, ::-1] if form.get("reverse") else expected
    (ours,) = evaluate(program.graph, [x])
    np.testing.assert_allclose(ours, expected, 1e-5)


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 3, 8), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
        ((2, 3, 7, 9), {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 1, 1]}),
        ((1, 2, 7, 9), {"kernel_shape": [3, 3], "dilations": [2, 1], "auto_pad": "VALID"}),
        ((2, 2, 5, 7), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
        ((1, 2, 4, 4, 6), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
    ],
)
def test_largest_elements_of_windows_have_places(
    shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    """They are among all elements, not those of a channel."""
    for ours, theirs in zip(*results("MaxPool", [floats(*shape)], 2, **attributes), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ('auto_pad = "SAME_UPPER", dilations = [2]', "its windows are dilated"),
        ('auto_pad = "VALID", ceil_mode = 1, strides = [3]', "windows reach beyond the image"),
    ],
)
def test_windows_whose_number_is_another_one_for_runtimes_are_left(
    attributes: str, why: str
) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> pooled (float[1,2,10] x) => (float[a,b,c] y) {{
            y = MaxPool <kernel_shape = [2], {attributes}> (x)
        }}"""
    )
    ((_, said),) = import_model(model).left
    assert why in said


def test_elements_at_places_among_zeros() -> None:
    x = floats(1, 2, 2, 3)
    places = np.array([0, 3, 4, 13, 15, 16, 24, 26, 28, 36, 38, 47]).reshape(x.shape)
    window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    ((ours,), (theirs,)) = results("MaxUnpool", [x, places], 1, **window)
    np.testing.assert_array_equal(ours, theirs)
    shape = np.array([1, 2, 4, 6])
    ((ours,), (theirs,)) = results("MaxUnpool", [x, places, shape], 1, **window)
    np.testing.assert_array_equal(ours, theirs)
