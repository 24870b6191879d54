"""Recurrent layers of torch, of static length, whose steps are written out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from morello.graph.graph import Node
from morello.graph.patterns.matching import constant, joined, mapped, reshaped, selected
from morello.importers.aten_calls import AtenCall, Handler, Result
from morello.importers.recurrent import (
    MOST_STEPS,
    TANH,
    ProjectedWeights,
    Step,
    Weights,
    gru,
    lstm,
    rnn,
    unrolled,
)


def _recurrent(call: AtenCall, step: Callable[[Weights], Step]) -> tuple[Node, ...]:
    """The outputs of the last layer, and the last states [layers * directions, b, h] of all.

    Each layer reads the outputs of both directions of the one before it.
    """
    x = call["input"]
    if call["batch_sizes"] is not None:
        raise call.refuse("of sequences of several lengths")
    if call["train"] and call["dropout"]:
        raise call.refuse("with dropout")
    states = _states(call)
    x = call.transpose(x, (1, 0, 2)) if call["batch_first"] else x
    count = x.shape[0]
    directions = 2 if call["bidirectional"] else 1
    cells = call["num_layers"] * directions
    if not 0 < count * cells <= MOST_STEPS:
        raise call.refuse(f"of {count * cells} steps, more than the {MOST_STEPS} of kernels,")
    projects = len({state.shape for state in states}) > 1
    given = (4 if call["has_biases"] else 2) + projects
    lasts = []
    for first in range(0, cells, directions):
        outputs = []
        for cell in range(first, first + directions):
            own = call["params"][cell * given : (cell + 1) * given]
            weights = _projected(own) if projects else _weights(own)
            start = tuple(selected(state, 0, cell) for state in states)
            every, last = unrolled(x, weights, step(weights), start, cell > first)
            outputs.append(every)
            lasts.append([reshaped(each, (1, *each.shape)) for each in last])
        x = joined(outputs, 2)
    result = call.transpose(x, (1, 0, 2)) if call["batch_first"] else x
    return result, *(joined(each, 0) for each in zip(*lasts, strict=True))


def _cell(call: AtenCall, step: Callable[[Weights], Step]) -> Result:
    """One step of a layer: the next state."""
    names = ("w_ih", "w_hh", "b_ih", "b_hh")
    weights = _weights([call[name] for name in names if call[name] is not None])
    after = step(weights)(weights.of_inputs(call["input"]), _states(call))
    return after if len(after) > 1 else after[0]


def _states(call: AtenCall) -> tuple[Node, ...]:
    """The hidden state, and that of an LSTM's cell, before the first step."""
    return (call["hx"],) if isinstance(call["hx"], Node) else tuple(call["hx"])


def _weights(given: list[Node]) -> Weights:
    """The weights of a layer in one direction; missing biases are 0."""
    inputs, state, *biases = given
    none = constant(np.zeros(state.shape[0]), state.dtype)
    return Weights(inputs, state, *(biases or (none, none)))


def _projected(given: list[Node]) -> Weights:
    """The weights of a layer in one direction, of which the last project its outputs."""
    *others, projection = given
    whole = _weights(others)
    return ProjectedWeights(
        whole.inputs, whole.state, whole.input_bias, whole.state_bias, projection
    )


_STEPS: dict[str, Callable[[Weights], Step]] = {
    "gru": lambda weights: gru(weights, "rzn", resets_product=True),
    "lstm": lambda weights: lstm(weights, "ifgo"),
    "rnn_relu": lambda weights: rnn(weights, partial(mapped, "relu")),
    "rnn_tanh": lambda weights: rnn(weights, TANH),
}
"""The steps of each kind of layer."""

RECURRENT: dict[str, Handler] = {
    **{name: partial(_recurrent, step=step) for name, step in _STEPS.items()},
    **{f"{name}_cell": partial(_cell, step=step) for name, step in _STEPS.items()},
}
