"""The graph network: GraphSAGE over a program's loops, then a reduction to one number.

The same code runs on NumPy, where trained models predict, and on JAX, where they are trained: it
is given a `Backend`. Parameters are a flat mapping of arrays by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from morello.learn.features import FETCHES, OPCODES, PARTS

Array = Any
"""An array of NumPy or of JAX."""

Parameters = Mapping[str, Array]
Reduction = Literal["coefficients", "nodes", "columns", "lstm", "transformer"]

NEIGHBOURS = ("outer", "inner", "before", "after")
"""The kinds of edges, each in both directions: nesting and flow."""

BOUND = 3.0
"""A learned coefficient is at most e to this, or at least e to minus this, times the unlearned."""

FIRST_PARTS = np.array([0.0, -1.0, -1.0, -1.0, -1.0, -1.0], np.float32)
FIRST_FETCH = -1.0
"""Logarithms of the coefficients of a network that has learned nothing."""


@dataclass(frozen=True)
class Shape:
    """What a network is made of.

    `width` features a node, after each of `layers` of GraphSAGE. `reduction` makes one number of
    all nodes: the sum of cycles with learned coefficients (Adams et al. 2019), the sum of numbers
    per node, or one of the means and maxima, of an LSTM, or of a Transformer. Features of the whole
    program are given to the `nodes` or after the reduction. A `residual` network predicts what the
    logarithm of the affine cost is wrong by; with learned coefficients there is no need.
    """

    width: int = 64
    layers: int = 1
    opcode: int = 8
    reduction: Reduction = "coefficients"
    program_at_nodes: bool = True
    residual: bool = True


@dataclass(frozen=True)
class Graphs:
    """Programs with n loops in all: what a network reads, normalized.

    `nodes` (n, features), `opcodes` (n), `parts` (n, parts), `program` (n) the number of each
    one's program, `place` (n) its own number in it; `edges` by kind of neighbour, (m, 2) of who is
    told and who tells; `configs`, `fetches` and `cost` of each program, the last in log cycles.
    """

    nodes: Array
    opcodes: Array
    parts: Array
    program: Array
    place: Array
    edges: Mapping[str, Array]
    configs: Array
    fetches: Array
    cost: Array


class Backend(Protocol):
    """Array functions that NumPy and JAX call differently; `numpy` has those they call alike."""

    @property
    def numpy(self) -> Any:
        """The module whose functions work on its arrays."""
        ...

    def sums(self, values: Array, index: Array, count: int) -> Array:
        """The sums of the rows with each index (count, ...)."""
        ...

    def maxima(self, values: Array, index: Array, count: int) -> Array:
        """The maxima of the rows with each index (count, ...), of values that are not negative."""
        ...

    def scan(self, step: Callable[[Array, Array], Array], start: Array, rows: Array) -> Array:
        """What `step` makes of a state and each row in turn."""
        ...

    def padded(self, values: Array, program: Array, place: Array, count: int) -> Array:
        """Rows by program and place (programs, places, ...), 0 where there is none."""
        ...


class OnNumpy:
    """Runs on NumPy."""

    numpy = np

    def sums(self, values: Array, index: Array, count: int) -> Array:
        return self._reduced(np.add, values, index, count)

    def maxima(self, values: Array, index: Array, count: int) -> Array:
        return self._reduced(np.maximum, values, index, count)

    @staticmethod
    def _reduced(by: np.ufunc, values: Array, index: Array, count: int) -> Array:
        """Rows of the same index together; `by.at` would do, but takes ten times as long."""
        found = np.zeros((count, *values.shape[1:]), values.dtype)
        if len(index):
            order = np.argsort(index, kind="stable")
            ordered = index[order]
            first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
            found[ordered[first]] = by.reduceat(values[order], first)
        return found

    def scan(self, step: Callable[[Array, Array], Array], start: Array, rows: Array) -> Array:
        for row in rows:
            start = step(start, row)
        return start

    def padded(self, values: Array, program: Array, place: Array, count: int) -> Array:
        found = np.zeros((count, MOST_NODES, *values.shape[1:]), values.dtype)
        inside = place < MOST_NODES
        found[program[inside], place[inside]] = values[inside]
        return found


MOST_NODES = 48
"""Loops of a program that an LSTM or a Transformer looks at."""


def initial(shape: Shape, nodes: int, configs: int, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Parameters of a network that has learned nothing, for so many features."""
    random = np.random.default_rng(seed)
    found: dict[str, npt.NDArray[Any]] = {}

    def dense(name: str, inputs: int, outputs: int, scale: float = 1.0) -> None:
        weights = random.standard_normal((inputs, outputs)) * scale / np.sqrt(inputs)
        found[f"{name}.w"] = weights.astype(np.float32)
        found[f"{name}.b"] = np.zeros(outputs, np.float32)

    width = shape.width
    found["opcodes"] = (0.3 * random.standard_normal((len(OPCODES), shape.opcode))).astype(
        np.float32
    )
    dense("nodes", nodes + shape.opcode, width)
    dense("configs", configs, width)
    for layer in range(shape.layers):
        dense(f"sage{layer}.self", width, width)
        for kind in NEIGHBOURS:
            dense(f"sage{layer}.{kind}", width, width)
    told = 2 * width if shape.program_at_nodes else width
    if shape.reduction == "coefficients":
        dense("part.hidden", told, width)
        dense("part.out", width, len(PARTS), 0.01)
        dense("fetch.hidden", 3 * width, width)
        dense("fetch.out", width, len(FETCHES), 0.01)
        return found
    if shape.reduction == "lstm":
        dense("lstm", told + width, 4 * width)
    elif shape.reduction == "transformer":
        for name in ("query", "key", "value"):
            dense(name, told, width)
    reduced = {"nodes": told, "columns": 2 * told}.get(shape.reduction, width)
    dense("hidden", reduced + width, width)
    dense("out", width, 1, 0.01)
    return found


def predict(parameters: Parameters, shape: Shape, graphs: Graphs, on: Backend) -> Array:
    """The logarithms of the cycles of each program, up to a constant if trained on ranks alone."""
    xp, count = on.numpy, len(graphs.cost)
    told = embed(parameters, shape, graphs, on)
    configs = relu(xp, _dense(parameters, "configs", graphs.configs))
    if shape.program_at_nodes:
        told_more = xp.concatenate([told, configs[graphs.program]], 1)
    else:
        told_more = told
    if shape.reduction == "coefficients":
        return _coefficients(parameters, graphs, told, told_more, configs, on)
    if shape.reduction == "nodes":
        reduced = on.sums(told_more, graphs.program, count)
    elif shape.reduction == "columns":
        ones = on.sums(xp.ones_like(graphs.parts[:, :1]), graphs.program, count)
        mean = on.sums(told_more, graphs.program, count) / xp.maximum(ones, 1)
        reduced = xp.concatenate([mean, on.maxima(told_more, graphs.program, count)], 1)
    else:
        rows = on.padded(told_more, graphs.program, graphs.place, count)
        there = on.padded(xp.ones_like(told_more[:, :1]), graphs.program, graphs.place, count)
        sequence = _lstm if shape.reduction == "lstm" else _transformer
        reduced = sequence(parameters, rows, there, on)
    hidden = relu(xp, _dense(parameters, "hidden", xp.concatenate([reduced, configs], 1)))
    found = _dense(parameters, "out", hidden)[:, 0]
    return found + graphs.cost if shape.residual else found + 10.0


def embed(parameters: Parameters, shape: Shape, graphs: Graphs, on: Backend) -> Array:
    """What GraphSAGE makes of each node and its neighbours (n, width)."""
    xp = on.numpy
    rows = xp.concatenate([graphs.nodes, parameters["opcodes"][graphs.opcodes]], 1)
    told = relu(xp, _dense(parameters, "nodes", rows))
    for layer in range(shape.layers):
        made = _dense(parameters, f"sage{layer}.self", told)
        for kind in NEIGHBOURS:
            pairs = graphs.edges[kind]
            message = _dense(parameters, f"sage{layer}.{kind}", told)[pairs[:, 1]]
            ones = on.sums(xp.ones_like(message[:, :1]), pairs[:, 0], len(told))
            made = made + on.sums(message, pairs[:, 0], len(told)) / xp.maximum(ones, 1)
        made = relu(xp, made)
        length = xp.sqrt((made * made).sum(1, keepdims=True) + 1e-6)
        told = told + made / length * np.float32(np.sqrt(shape.width))
    return told


def _coefficients(
    parameters: Parameters,
    graphs: Graphs,
    told: Array,
    told_more: Array,
    configs: Array,
    on: Backend,
) -> Array:
    """The sum of all cycles, each with a coefficient of its own."""
    xp, count = on.numpy, len(graphs.cost)
    own = _dense(parameters, "part.out", relu(xp, _dense(parameters, "part.hidden", told_more)))
    factors = xp.exp(xp.clip(own, -BOUND, BOUND) + FIRST_PARTS)
    cycles = on.sums((factors * graphs.parts).sum(1), graphs.program, count)
    weight = graphs.parts[:, :2].sum(1, keepdims=True) + 1e-3
    pooled = on.sums(told * weight, graphs.program, count)
    pooled = pooled / xp.maximum(on.sums(weight, graphs.program, count), 1e-3)
    whole = xp.concatenate([pooled, on.maxima(told, graphs.program, count), configs], 1)
    each = _dense(parameters, "fetch.out", relu(xp, _dense(parameters, "fetch.hidden", whole)))
    fetched = (xp.exp(xp.clip(each, -BOUND, BOUND) + FIRST_FETCH) * graphs.fetches).sum(1)
    return xp.log(cycles + fetched + 1e-3)


def _lstm(parameters: Parameters, rows: Array, there: Array, on: Backend) -> Array:
    """The last state of an LSTM that reads each program's nodes in order."""
    xp = on.numpy
    width = parameters["hidden.b"].shape[0]
    steps = xp.swapaxes(xp.concatenate([rows, there], 2), 0, 1)

    def step(state: Array, row: Array) -> Array:
        cell, hidden = state[:, :width], state[:, width:]
        gates = _dense(parameters, "lstm", xp.concatenate([row[:, :-1], hidden], 1))
        take, keep, give, new = xp.split(gates, 4, axis=1)
        after = _sigmoid(xp, keep + 1.0) * cell + _sigmoid(xp, take) * xp.tanh(new)
        made = xp.concatenate([after, _sigmoid(xp, give) * xp.tanh(after)], 1)
        return xp.where(row[:, -1:] > 0, made, state)

    start = xp.zeros((rows.shape[0], 2 * width), rows.dtype)
    return on.scan(step, start, steps)[:, width:]


def _transformer(parameters: Parameters, rows: Array, there: Array, on: Backend) -> Array:
    """The mean over nodes of what each makes of those it attends to."""
    xp = on.numpy
    query, key, value = (_dense(parameters, name, rows) for name in ("query", "key", "value"))
    score = query @ xp.swapaxes(key, 1, 2) / np.float32(np.sqrt(query.shape[-1]))
    score = xp.where(xp.swapaxes(there, 1, 2) > 0, score, -1e9)
    score = xp.exp(score - score.max(2, keepdims=True))
    made = score / score.sum(2, keepdims=True) @ value
    return (made * there).sum(1) / xp.maximum(there.sum(1), 1)


def relu(xp: Any, x: Array) -> Array:
    return xp.maximum(x, 0)


def _sigmoid(xp: Any, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))


def _dense(parameters: Parameters, name: str, x: Array) -> Array:
    return x @ parameters[f"{name}.w"] + parameters[f"{name}.b"]
