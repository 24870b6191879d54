"""Mixtures of experts in ONNX models compute what those of ONNX Runtime do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.graph.interpreter import evaluate
from morello.graph.operators import PrimitiveOperator

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import import_model  # noqa: E402

EXPERTS, WIDTH, INNER, ROWS = 5, 8, 12, 7

FORMS: dict[str, dict[str, Any]] = {
    "of one expert": {},
    "of two, whose weights sum to 1": {"k": 2, "normalize_routing_weights": 1},
    "gelu": {"k": 3, "activation_type": "gelu"},
    "silu": {"k": 2, "activation_type": "silu"},
    "linear": {"k": 2, "activation_type": "identity"},
    "gated": {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1},
    "gated, within limits": {
        "k": 2,
        "activation_type": "swiglu",
        "swiglu_fusion": 1,
        "swiglu_limit": 1.5,
        "activation_alpha": 1.7,
        "activation_beta": 1.0,
    },
}


def mixture(form: dict[str, Any], biases: bool, rows: int = ROWS) -> Any:
    """A model of one such node on rows of random numbers, and then a relu."""
    gates = 2 if form.get("activation_type") == "swiglu" else 1
    shapes: dict[str, tuple[int, ...]] = {
        "first": (gates * INNER, WIDTH),
        "second": (WIDTH, INNER),
    }
    if biases:
        shapes |= {"inner": (gates * INNER,), "outer": (WIDTH,)}
    random = np.random.default_rng(0)
    given = {
        name: random.uniform(-1, 1, (EXPERTS, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    names = ["x", "scores", "first", "inner", "second", "outer"]
    inputs = [name if name in given or name in ("x", "scores") else "" for name in names]
    nodes = [
        onnx.helper.make_node("MoE", inputs, ["y"], domain="com.microsoft", **form),
        onnx.helper.make_node("Relu", ["y"], ["z"]),
    ]
    sizes = {"x": (rows, WIDTH), "scores": (rows, EXPERTS), "z": (rows, WIDTH)}
    x, scores, z = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in sizes.items()
    )
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in given.items()]
    graph = onnx.helper.make_graph(nodes, "mixture", [x, scores], [z], weights)
    versions = [("", 21), ("com.microsoft", 1)]
    imports = [onnx.helper.make_opsetid(*each) for each in versions]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)


def agrees(model: Any, tolerance: float = 1e-4) -> None:
    program = import_model(model)
    assert not program.left and not program.rest
    operators = [node.operator for node in program.graph.nodes]
    assert sum(isinstance(each, PrimitiveOperator) for each in operators) == 2
    random = np.random.default_rng(1)
    arrays = [random.uniform(-2, 2, n.shape).astype(np.float32) for n in program.graph.inputs]
    session = runtime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, dict(zip(program.inputs, arrays, strict=True)))
    (found,) = evaluate(program.graph, arrays)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, tolerance, tolerance * scale)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("biases", [False, True])
def test_rows_go_through_the_experts_that_they_choose(name: str, biases: bool) -> None:
    agrees(mixture(FORMS[name], biases))


def test_a_single_row() -> None:
    agrees(mixture({"k": 2}, True, rows=1))


def test_other_forms_are_left() -> None:
    """Each for the reason that is given."""
    for form, reason in (
        ({"k": 2, "use_sparse_mixer": 1}, "it mixes sparsely"),
        ({"activation_type": "tanh"}, "its activation is tanh"),
        ({"activation_type": "swiglu", "swiglu_fusion": 2}, "its activation is swiglu"),
    ):
        (kind, why), *_ = import_model(mixture(form, biases=False)).left
        assert kind == "MoE" and reason in why


def quantized(bits: int, group: int, form: dict[str, Any], *, zeros: bool) -> Any:
    """A model of a node of type QMoE with biases; groups of 0 numbers are whole rows."""
    random, make = np.random.default_rng(0), onnx.helper
    gates, width, inner = (2 if form.get("activation_type") == "swiglu" else 1), 64, 96
    given: dict[str, Any] = {}
    for name, rows, size in (("first", gates * inner, width), ("second", width, inner)):
        groups = (size // group,) if group else ()
        packed = [-(-n * bits // 8) for n in groups]
        given[name] = random.integers(0, 256, (EXPERTS, rows, size * bits // 8), np.uint8)
        given[f"{name}_scales"] = random.uniform(0.01, 0.05, (EXPERTS, rows, *groups))
        given[f"{name}_bias"] = random.uniform(-1, 1, (EXPERTS, rows))
        if zeros:
            given[f"{name}_zeros"] = random.integers(0, 256, (EXPERTS, rows, *packed), np.uint8)
    names = ["first", "first_scales", "first_bias", "second", "second_scales", "second_bias"]
    inputs = ["x", "scores", *names, "", "", ""]
    inputs += ["first_zeros", "second_zeros"] if zeros else []
    node = make.make_node("QMoE", inputs, ["y"], domain="com.microsoft", expert_weight_bits=bits,
                          **({"block_size": group} if group else {}), **form)  # fmt: skip
    sizes = {"x": (ROWS, width), "scores": (ROWS, EXPERTS), "y": (ROWS, width)}
    x, scores, y = (
        make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in sizes.items()
    )
    weights = [
        onnx.numpy_helper.from_array(a if a.dtype == np.uint8 else a.astype(np.float32), name)
        for name, a in given.items()
    ]
    graph = make.make_graph([node], "mixture", [x, scores], [y], weights)
    imports = [make.make_opsetid(*each) for each in (("", 21), ("com.microsoft", 1))]
    return make.make_model(graph, opset_imports=imports, ir_version=10)


@pytest.mark.parametrize("name", ["of one expert", "silu", "gated, within limits"])
@pytest.mark.parametrize(
    ("bits", "group", "zeros"),
    [(4, 0, False), (4, 32, False), (4, 16, True), (8, 0, False), (8, 0, True)],
)
def test_matrices_of_few_bits(name: str, bits: int, group: int, zeros: bool) -> None:
    agrees(quantized(bits, group, FORMS[name], zeros=zeros))


def test_bytes_in_groups_are_not_rounded_further() -> None:
    """ONNX Runtime rounds rows to bytes, too, before it multiplies them."""
    agrees(quantized(8, 32, {"k": 2}, zeros=False), 0.02)


def test_zero_points_that_are_packed_otherwise_are_left() -> None:
    model = quantized(4, 16, {}, zeros=True)
    for tensor in model.graph.initializer:
        if tensor.name.endswith("zeros"):
            array = onnx.numpy_helper.to_array(tensor)[:, ::2]
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    ((kind, why),) = import_model(model).left
    assert kind == "QMoE" and "zero points" in why
