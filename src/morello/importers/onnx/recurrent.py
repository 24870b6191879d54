"""Recurrent operators of ONNX: LSTM, GRU and RNN, of static length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.patterns.matching import selected, sliced
from morello.importers.onnx.call import LeftError, OnnxCall, constant, reshaped, translates
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

_DEFAULTS = {"GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh"), "RNN": ("tanh",)}


def _recurrent(
    call: OnnxCall, gates: int, states: int, step: Callable[[Weights], Step]
) -> tuple[Node, ...]:
    """The outputs of all steps [t, d, b, h], and the last states [d, b, h]."""
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
    outputs, lasts = [], []
    for d in range(directions):
        bias = selected(biases, 0, d)
        width = gates * hidden
        halves = [sliced(bias, 0, n * width, (n + 1) * width) for n in range(2)]
        weights = Weights(selected(inputs, 0, d), selected(recurrence, 0, d), *halves)
        backwards = d == 1 or call.text("direction", "forward") == "reverse"
        start = tuple(selected(each, 0, d) for each in first)
        every, state = unrolled(x, weights, step(weights), start, backwards)
        outputs.append(reshaped(every, (count, 1, batch, hidden)))
        lasts.append([reshaped(each, (1, batch, hidden)) for each in state])
    return joined(outputs, 1), *(joined(each, 0) for each in zip(*lasts, strict=True))


def _check_left(call: OnnxCall, count: int, directions: int) -> None:
    """Leave what is not of the usual form."""
    call.floating()
    lengths = call.get(4)
    if lengths is not None and {*call.integers(4)} != {count}:
        raise LeftError("its sequences have lengths of their own")
    if not 0 < count * directions <= MOST_STEPS:
        raise LeftError(f"it has {count} steps, and {MOST_STEPS} at most are written out")
    given = [each.decode().lower() for each in call.attribute("activations", [])]
    if given and tuple(given) != _DEFAULTS[call.type] * directions:
        raise LeftError(f"its functions are {', '.join(given)}")
    odd = {"clip", "input_forget", "layout", "activation_alpha", "activation_beta"}
    if any(call.attributes.get(name) for name in odd) or call.get(7) is not None:
        raise LeftError("it has peepholes, bounds, or another layout")


@translates("LSTM")
def long_short_term_memory(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(call, 4, 2, lambda weights: lstm(weights, "iofg"))


@translates("GRU")
def gated_unit(call: OnnxCall) -> tuple[Node, ...]:
    after = bool(call.attribute("linear_before_reset", 0))
    return _recurrent(call, 3, 1, lambda weights: gru(weights, "zrn", after))


@translates("RNN")
def plain(call: OnnxCall) -> tuple[Node, ...]:
    return _recurrent(call, 1, 1, lambda weights: rnn(weights, "tanh"))
