"""Recurrent operators of ONNX: LSTM, GRU and RNN, of static length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import Constant, Transpose, Where
from morello.graph.patterns.matching import joined, selected, sliced
from morello.importers.building import settled
from morello.importers.onnx.call import (
    TRANSLATIONS,
    LeftError,
    OnnxCall,
    constant,
    function,
    number,
    op,
    reshaped,
    translates,
)
from morello.importers.onnx.contributed import MICROSOFT
from morello.importers.onnx.quantized import QuantizedNode
from morello.importers.onnx.quantized_layers import product_of_range
from morello.importers.recurrent import (
    MOST_STEPS,
    Function,
    Step,
    Weights,
    gru,
    lstm,
    rnn,
    unrolled,
)

_USUAL = {"GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh"), "RNN": ("Tanh",)}
"""The functions of a direction, unless others are given."""

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "Affine": ("alpha", "beta"),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "ScaledTanh": ("alpha", "beta"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}
"""The operators that may be functions of gates, and the parameters of each."""

_WITHOUT_DEFAULTS = frozenset({"Affine", "ScaledTanh", "ThresholdedRelu"})
"""Operators whose missing parameters are 0 in ONNX Runtime, but have other defaults in ONNX."""


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
        return product_of_range(x, weights, self.input_bias)

    def of_state(self, h: Node) -> Node:
        columns = op(Transpose((1, 0)), self.state)
        weights = QuantizedNode(columns, self.scales[1], self.zeros[1])
        return product_of_range(h, weights, self.state_bias)


@dataclass(frozen=True)
class _Direction:
    """One direction of a layer: its number, and the functions of its gates and state."""

    number: int
    functions: tuple[Function, ...]


def _recurrent(
    call: OnnxCall,
    gates: int,
    states: int,
    step: Callable[[Weights, _Direction], Step],
    weights_of: Callable[..., Weights] = lambda _, *weights: Weights(*weights),
) -> tuple[Node, ...]:
    """The outputs of all steps [t, d, b, h], and the last states [d, b, h].

    With the attribute `layout`, batches are the first dimension of all of them. `weights_of` makes
    the weights of a direction, given its number and the nodes of `Weights`.
    """
    if call.attribute("layout", 0):
        turned = (_with_batches_second(node, n) for n, node in enumerate(call.inputs))
        attributes = {name: each for name, each in call.attributes.items() if name != "layout"}
        steps_first = replace(call, inputs=tuple(turned), attributes=attributes)
        every, *last = _recurrent(steps_first, gates, states, step, weights_of)
        return op(Transpose((2, 0, 1, 3)), every), *(op(Transpose((1, 0, 2)), e) for e in last)
    _check(call, gates)
    x, inputs, recurrence = call[0], call[1], call[2]
    count, batch, _ = x.shape
    directions, _, hidden = recurrence.shape
    none = constant(np.zeros((directions, 2 * gates * hidden)), x.dtype)
    biases = call.get(3) or none
    zero = constant(np.zeros((directions, batch, hidden)), x.dtype)
    first = [call.get(5 + n) or zero for n in range(states)]
    lengths = _lengths(call, count)
    if lengths is not None:  # ONNX Runtime has zeros as the last state of a sequence of no steps
        some = function("greater", reshaped(lengths, (1, batch, 1)), number(0, lengths))
        first = [each if each is zero else op(Where(), some, each, zero) for each in first]
    outputs, lasts = [], []
    for d, functions in enumerate(_functions(call, directions)):
        bias = selected(biases, 0, d)
        width = gates * hidden
        halves = [sliced(bias, 0, n * width, (n + 1) * width) for n in range(2)]
        own = (selected(each, 0, d) for each in (inputs, recurrence))
        weights = weights_of(d, *own, *halves)
        backwards = d == 1 or call.text("direction", "forward") == "reverse"
        start = tuple(selected(each, 0, d) for each in first)
        next_state = step(weights, _Direction(d, functions))
        every, state = unrolled(x, weights, next_state, start, backwards, lengths)
        outputs.append(reshaped(every, (count, 1, batch, hidden)))
        lasts.append([reshaped(each, (1, batch, hidden)) for each in state])
    return joined(outputs, 1), *(joined(each, 0) for each in zip(*lasts, strict=True))


def _check(call: OnnxCall, gates: int) -> None:
    """Raise `GraphError` for weights that do not fit the input, and leave layers of many steps."""
    x, inputs, recurrence = call[0].type, call[1].type, call[2].type
    if x.rank != 3 or recurrence.rank != 3:
        raise GraphError(f"{call.type} of {x} with {recurrence}.")
    call.floating()
    directions, rows, hidden = recurrence.shape
    if not 0 < x.shape[0] * directions <= MOST_STEPS:
        raise LeftError(f"it has {x.shape[0]} steps, and {MOST_STEPS} at most are written out")
    if inputs.shape != (directions, gates * hidden, x.shape[2]) or rows != gates * hidden:
        raise GraphError(f"{call.type} of {x} with {inputs} and {recurrence}.")


def _lengths(call: OnnxCall, count: int) -> Node | None:
    """The lengths of the sequences; None if all are known to have all of the steps."""
    lengths = call.get(4)
    if lengths is not None and isinstance(lengths.operator, Constant):
        return None if {*call.integers(4)} == {count} else lengths
    return lengths


def _with_batches_second(node: Node | None, number: int) -> Node | None:
    """The input or the state that is an input of this number, its first two dimensions swapped."""
    if node is None or number not in (0, 5, 6):
        return node
    if node.type.rank != 3:
        raise GraphError(f"the input {number} is {node.type}.")
    return op(Transpose((1, 0, 2)), node)


def _functions(call: OnnxCall, directions: int) -> list[tuple[Function, ...]]:
    """The functions of each direction; parameters are given in the order of those that have some.

    What they are applied to is within bounds, if there are some; but not the state of an LSTM.
    """
    usual = _USUAL[call.type]
    given = [each.decode() for each in call.attribute("activations", [])] or usual * directions
    if len(given) != len(usual) * directions:
        raise GraphError(f"{len(given)} functions for {directions} directions.")
    numbers = {name: iter(call.attribute(f"activation_{name}", [])) for name in ("alpha", "beta")}
    known = {name.lower(): name for name in _PARAMETERS}
    functions = []
    for place, name in enumerate(given):
        operator = known.get(name.lower())
        if operator is None:
            raise LeftError(f"it has the function {name}")
        every = {each: next(numbers[each], None) for each in _PARAMETERS[operator]}
        attributes = {each: value for each, value in every.items() if value is not None}
        if operator in _WITHOUT_DEFAULTS and len(attributes) < len(every):
            raise LeftError(f"its function {operator} has no {' and '.join(every)}")
        own = partial(_applied, replace(call, type=operator, attributes=attributes))
        bound = call.attribute("clip", 0.0) if place % len(usual) < 2 else 0.0
        functions.append(partial(_bounded, own, bound) if bound else own)
    return [
        tuple(functions[first : first + len(usual)])
        for first in range(0, len(functions), len(usual))
    ]


def _applied(call: OnnxCall, x: Node) -> Node:
    """The result of an operator of one input."""
    own = replace(call, inputs=(x,), outputs=1, used=frozenset({0}))
    result = TRANSLATIONS["", call.type](own)
    assert isinstance(result, Node)
    return result


def _bounded(apply: Function, bound: float, x: Node) -> Node:
    """A function of numbers, each of which is between -bound and bound."""
    above = function("maximum", x, number(-bound, x))
    return apply(function("minimum", above, number(bound, x)))


def _lstm(call: OnnxCall, weights: Weights, direction: _Direction) -> Step:
    """Its peepholes are of the gates i, o and f, one after the other."""
    hidden, peepholes = weights.hidden, {}
    if (given := call.get(7)) is not None:
        own = selected(given, 0, direction.number)
        peepholes = {
            name: sliced(own, 0, n * hidden, (n + 1) * hidden) for n, name in enumerate("iof")
        }
    coupled = call.flag("input_forget")
    return lstm(weights, "iofg", direction.functions, peepholes, coupled)


@translates("LSTM")
def long_short_term_memory(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(call, 4, 2, partial(_lstm, call))


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
    return _recurrent(plain, 4, 2, partial(_lstm, plain), weights_of)


@translates("GRU")
def gated_unit(call: OnnxCall) -> tuple[Node, ...]:
    after = call.flag("linear_before_reset")
    return _recurrent(
        call, 3, 1, lambda weights, direction: gru(weights, "zrn", after, direction.functions)
    )


@translates("RNN")
def plain(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(call, 1, 1, lambda weights, direction: rnn(weights, direction.functions[0]))
