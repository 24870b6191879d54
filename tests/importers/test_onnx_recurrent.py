"""Recurrent operators of ONNX: directions, functions of gates, bounds, peepholes, and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.graph.graph import Array
from morello.graph.interpreter import evaluate

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import OnnxProgram, import_model  # noqa: E402
from morello.models.compiling import partitioned  # noqa: E402

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 3, 4


def layer(
    kind: str, lengths: Sequence[int] = (), **attributes: Any
) -> tuple[Any, dict[str, Array]]:
    """A model of a layer with all its inputs, and random values of these.

    An LSTM has peepholes if it has the attribute `peepholes`, which is none of ONNX.
    """
    random, make = np.random.default_rng(0), onnx.helper
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows, peepholes = GATES[kind] * HIDDEN, attributes.pop("peepholes", False)
    shapes = {
        "x": (STEPS, BATCH, INPUTS),
        "w": (directions, rows, INPUTS),
        "r": (directions, rows, HIDDEN),
        "b": (directions, 2 * rows),
        "h0": (directions, BATCH, HIDDEN),
        "c0": (directions, BATCH, HIDDEN),
        "p": (directions, 3 * HIDDEN),
    }
    names = ["x", "w", "r", "b", "n" if lengths else "", "h0"]
    if kind == "LSTM":
        names += ["c0", *["p"] * peepholes]
    arrays = {n: random.uniform(-1, 1, shapes[n]).astype(np.float32) for n in names if n in shapes}
    if lengths:
        arrays["n"] = np.array(lengths, np.int32)
    if attributes.get("layout"):
        for name in {"x", "h0", "c0"} & {*arrays}:
            arrays[name] = arrays[name].swapaxes(0, 1).copy()
    outputs = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    node = make.make_node(kind, names, outputs, hidden_size=HIDDEN, **attributes)
    graph = make.make_graph(
        [node],
        "layer",
        [
            make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for n, each in arrays.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    versions = [make.make_opsetid("", 17)]
    return make.make_model(graph, opset_imports=versions, ir_version=8), arrays


def imported(model: Any) -> OnnxProgram:
    program = import_model(model)
    assert not program.rest and not program.left
    return program


def check(kind: str, lengths: Sequence[int] = (), **attributes: Any) -> None:
    """The results of a layer are those of ONNX Runtime."""
    model, arrays = layer(kind, lengths, **attributes)
    expected = runtime.InferenceSession(model.SerializeToString()).run(None, arrays)
    results = evaluate(imported(model).graph, [*arrays.values()])
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [[], [5, 3]])
def test_directions(kind: str, direction: str, lengths: list[int]) -> None:
    """Biases, first states and lengths of sequences are given."""
    check(kind, lengths, direction=direction)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_sequences_of_no_steps(kind: str, direction: str) -> None:
    """Their last states are 0, whatever the first ones are."""
    check(kind, [0, 3], direction=direction)


@pytest.mark.parametrize("clip", [0.3, 0.9])
@pytest.mark.parametrize("kind", GATES)
def test_bounds(kind: str, clip: float) -> None:
    check(kind, clip=clip, direction="bidirectional")


@pytest.mark.parametrize("attributes", [{}, {"clip": 0.7}, {"direction": "bidirectional"}])
def test_peepholes(attributes: dict[str, Any]) -> None:
    check("LSTM", peepholes=True, **attributes)


@pytest.mark.parametrize("peepholes", [False, True])
def test_the_gates_that_forget_may_be_those_of_inputs(peepholes: bool) -> None:
    check("LSTM", peepholes=peepholes, input_forget=1)


@pytest.mark.parametrize("after", [0, 1])
def test_the_gate_that_resets_may_come_after_the_product(after: int) -> None:
    check("GRU", linear_before_reset=after, activations=["HardSigmoid", "Softsign"])


FUNCTIONS: list[tuple[list[str], dict[str, Any]]] = [
    (["Sigmoid", "ScaledTanh", "Relu"], {"activation_alpha": [0.5], "activation_beta": [0.7]}),
    (["HardSigmoid", "Elu", "LeakyRelu"], {"activation_alpha": [0.3, 0.8, 0.2]}),
    (["ThresholdedRelu", "Softplus", "Softsign"], {"activation_alpha": [0.2]}),
    (["Affine", "Tanh", "Affine"],
     {"activation_alpha": [0.3, 0.6], "activation_beta": [0.2, -0.1]}),
    (["HardSigmoid", "LeakyRelu", "Elu"], {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "kernels"), [("GRU", 2), ("LSTM", 3)])
def test_a_step_is_a_product_and_its_gates(kind: str, kernels: int) -> None:
    """Nothing of a step is stored but the product and the next state, and the c of an LSTM."""
    model, _ = layer(kind, linear_before_reset=1) if kind == "GRU" else layer(kind)
    groups = partitioned(imported(model).graph, threads=1).groups
    of_inputs = 1  # the product of the inputs, of all steps
    assert len(groups) == of_inputs + STEPS * kernels


@pytest.mark.parametrize(("functions", "parameters"), FUNCTIONS)
@pytest.mark.parametrize("kind", GATES)
def test_functions(kind: str, functions: list[str], parameters: dict[str, Any]) -> None:
    """Each parameter is that of the next function that has one."""
    count = {"LSTM": 3, "GRU": 2, "RNN": 1}[kind]
    check(kind, activations=functions[:count], **parameters)


def test_directions_may_have_functions_of_their_own() -> None:
    check("RNN", activations=["Relu", "LeakyRelu"], activation_alpha=[0.4],
          direction="bidirectional")  # fmt: skip


@pytest.mark.parametrize("kind", GATES)
def test_batches_may_come_first(kind: str) -> None:
    """ONNX Runtime has no such layers."""
    plain, arrays = layer(kind, direction="bidirectional")
    steps_first = evaluate(imported(plain).graph, [*arrays.values()])
    turned, arrays = layer(kind, direction="bidirectional", layout=1)
    every, *states = evaluate(imported(turned).graph, [*arrays.values()])
    np.testing.assert_allclose(every, steps_first[0].transpose(2, 0, 1, 3))
    for state, wanted in zip(states, steps_first[1:], strict=True):
        np.testing.assert_allclose(state, wanted.swapaxes(0, 1))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("Swish", "it has the function Swish"),
        ("Affine", "its function Affine has no alpha and beta"),
    ],
)
def test_functions_that_are_left(function: str, why: str) -> None:
    model, _ = layer("RNN", activations=[function])
    (_, reason), *_ = import_model(model).left
    assert reason == why


def test_there_are_functions_for_each_direction() -> None:
    model, _ = layer("RNN", activations=["Tanh"], direction="bidirectional")
    with pytest.raises(GraphError, match="1 functions for 2 directions"):
        import_model(model)
