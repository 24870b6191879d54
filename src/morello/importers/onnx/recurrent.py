"""Recurrent operators of ONNX: LSTM, GRU and RNN, of static length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Constant, Transpose
from morello.graph.patterns.matching import selected, sliced
from morello.importers.building import settled
from morello.importers.onnx.call import LeftError, OnnxCall, constant, op, reshaped, translates
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.quantized import QuantizedNode, quantized_by_range
from morello.importers.onnx.quantized_layers import product_of_numbers
from morello.importers.recurrent import (
    MOST_STEPS,
    Step,
    Weights,
    gru,
    joined,
    lstm,
    rnn,
    unrolled,
)

_KNOWN: dict[str, list[tuple[str, ...]]] = {
    "GRU": [("sigmoid", "tanh")],
    "LSTM": [("sigmoid", "tanh", "tanh")],
    "RNN": [("tanh",), ("relu",), ("sigmoid",)],
}
"""The functions of a direction that are translated, the default ones first."""


@dataclass(frozen=True)
class _QuantizedWeights(Weights):
    """Weights of bytes, with their scales and zero points: first of inputs, then of the state.

    What they multiply is quantized by its range.
    """

    scales: tuple[Node, Node]
    zeros: tuple[Node, Node]

    def of_inputs(self, x: Node) -> Node:
        columns = op(Transpose((1, 0)), self.inputs)
        weights = QuantizedNode(columns, self.scales[0], self.zeros[0])
        return product_of_numbers(quantized_by_range(x), weights, self.input_bias)

    def of_state(self, h: Node) -> Node:
        columns = op(Transpose((1, 0)), self.state)
        weights = QuantizedNode(columns, self.scales[1], self.zeros[1])
        return product_of_numbers(quantized_by_range(h), weights, self.state_bias)


def _recurrent(
    call: OnnxCall,
    gates: int,
    states: int,
    step: Callable[[Weights], Step],
    weights_of: Callable[..., Weights] = lambda _, *weights: Weights(*weights),
) -> tuple[Node, ...]:
    """The outputs of all steps [t, d, b, h], and the last states [d, b, h].

    `weights_of` makes the weights of a direction, given its number and the nodes of `Weights`.
    """
    x, inputs, recurrence = call[0], call[1], call[2]
    if x.type.rank != 3 or recurrence.type.rank != 3:
        raise GraphError(f"{call.type} of {x.type} with {recurrence.type}.")
    count, batch, _ = x.shape
    directions, _, hidden = recurrence.shape
    _check_left(call, count, directions)
    if inputs.shape != (directions, gates * hidden, x.shape[2]) or (
        recurrence.shape[1] != gates * hidden
    ):
        raise GraphError(f"{call.type} of {x.type} with {inputs.type} and {recurrence.type}.")
    none = constant(np.zeros((directions, 2 * gates * hidden)), x.dtype)
    biases = call.get(3) or none
    zero = constant(np.zeros((directions, batch, hidden)), x.dtype)
    first = [call.get(5 + n) or zero for n in range(states)]
    lengths = call.get(4)
    if lengths is not None and isinstance(lengths.operator, Constant):
        lengths = None if {*call.integers(4)} == {count} else lengths
    outputs, lasts = [], []
    for d in range(directions):
        bias = selected(biases, 0, d)
        width = gates * hidden
        halves = [sliced(bias, 0, n * width, (n + 1) * width) for n in range(2)]
        own = (selected(each, 0, d) for each in (inputs, recurrence))
        weights = weights_of(d, *own, *halves)
        backwards = d == 1 or call.text("direction", "forward") == "reverse"
        start = tuple(selected(each, 0, d) for each in first)
        every, state = unrolled(x, weights, step(weights), start, backwards, lengths)
        outputs.append(reshaped(every, (count, 1, batch, hidden)))
        lasts.append([reshaped(each, (1, batch, hidden)) for each in state])
    return joined(outputs, 1), *(joined(each, 0) for each in zip(*lasts, strict=True))


def _check_left(call: OnnxCall, count: int, directions: int) -> None:
    """Leave what is not of the usual form."""
    call.floating()
    if not 0 < count * directions <= MOST_STEPS:
        raise LeftError(f"it has {count} steps, and {MOST_STEPS} at most are written out")
    if (given := _functions(call, directions)) not in _KNOWN[call.type]:
        raise LeftError(f"its functions are {', '.join(given)}")
    odd = {"clip", "input_forget", "layout", "activation_alpha", "activation_beta"}
    if any(call.attributes.get(name) for name in odd) or call.get(7) is not None:
        raise LeftError("it has peepholes, bounds, or another layout")


def _functions(call: OnnxCall, directions: int) -> tuple[str, ...]:
    """The functions of each direction; of all of them, if directions differ in theirs."""
    given = tuple(each.decode().lower() for each in call.attribute("activations", []))
    given = given or _KNOWN[call.type][0] * directions
    own = given[: len(given) // directions]
    return own if given == own * directions else given


@translates("LSTM")
def long_short_term_memory(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(call, 4, 2, lambda weights: lstm(weights, "iofg"))


@translates("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_memory(call: OnnxCall) -> tuple[Node, ...]:
    """Its weights are bytes, in columns."""

    def weights_of(
        direction: int, inputs: Node, state: Node, input_bias: Node, state_bias: Node
    ) -> Weights:
        own = [settled(selected(call[n], 0, direction)) for n in range(8, 12)]
        scales, zeros = (own[0], own[2]), (own[1], own[3])
        return _QuantizedWeights(inputs, state, input_bias, state_bias, scales, zeros)

    rows = (op(Transpose((0, 2, 1)), call[n]) for n in (1, 2))
    plain = replace(call, type="LSTM", inputs=(call[0], *rows, *call.inputs[3:8]))
    return _recurrent(plain, 4, 2, lambda weights: lstm(weights, "iofg"), weights_of)


@translates("GRU")
def gated_unit(call: OnnxCall) -> tuple[Node, ...]:
    after = bool(call.attribute("linear_before_reset", 0))
    return _recurrent(call, 3, 1, lambda weights: gru(weights, "zrn", after))


@translates("RNN")
def plain(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(
        call, 1, 1, lambda weights: rnn(weights, _functions(call, call[2].shape[0])[0])
    )
