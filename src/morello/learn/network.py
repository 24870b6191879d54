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
"""A learned coefficient is within a factor of e to this of its initial value."""

FIRST_PARTS = np.array([0.0, -1.0, -1.0, -1.0, -1.0, -1.0], np.float32)
FIRST_FETCH = -1.0
"""Logarithms of the initial coefficients, before training."""


@dataclass(frozen=True)
class Shape:
    """The architecture of a network.

    Each node has `width` features after each of `layers` layers of GraphSAGE. `reduction` reduces
    all nodes to one number: the sum of cycles with learned coefficients (Adams et al. 2019), or
    dense layers after the sums (`nodes`), the means and maxima (`columns`), an LSTM or a
    Transformer. Features of the whole program are added to the nodes (`program_at_nodes`) or after
    the reduction. A `residual` network predicts the error of the log affine cost; with learned
    coefficients there is no need.
    """

    width: int = 64
    layers: int = 1
    opcode: int = 8
    reduction: Reduction = "coefficients"
    program_at_nodes: bool = True
    residual: bool = True


@dataclass(frozen=True)
class Graphs:
    """A batch of programs with n loops in all: a network's normalized inputs.

    `nodes` (n, features), `opcodes` (n), `parts` (n, parts), `program` (n) the number of each
    node's program, `place` (n) its index within it; `edges` by kind of neighbour, (m, 2) pairs of
    receiver and sender; `configs`, `fetches` and `cost` of each program, the last in log cycles.
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
    """Array functions that differ between NumPy and JAX; `numpy` has those they share."""

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
        """The last state: `step` computes the next one from a state and each row in turn."""
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
        """Reduce the rows of the same index; `by.at` does the same, but takes ten times as long."""
        result = np.zeros((count, *values.shape[1:]), values.dtype)
        if len(index):
            order = np.argsort(index, kind="stable")
            ordered = index[order]
            first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
            result[ordered[first]] = by.reduceat(values[order], first)
        return result

    def scan(self, step: Callable[[Array, Array], Array], start: Array, rows: Array) -> Array:
        for row in rows:
            start = step(start, row)
        return start

    def padded(self, values: Array, program: Array, place: Array, count: int) -> Array:
        result = np.zeros((count, MOST_NODES, *values.shape[1:]), values.dtype)
        inside = place < MOST_NODES
        result[program[inside], place[inside]] = values[inside]
        return result


MOST_NODES = 48
"""The most loops of a program that an LSTM or a Transformer reads."""


def initial(shape: Shape, nodes: int, configs: int, seed: int) -> dict[str, npt.NDArray[Any]]:
    """Initial parameters of a network, for so many features of nodes and of programs."""
    random = np.random.default_rng(seed)
    parameters: dict[str, npt.NDArray[Any]] = {}

    def dense(name: str, inputs: int, outputs: int, scale: float = 1.0) -> None:
        weights = random.standard_normal((inputs, outputs)) * scale / np.sqrt(inputs)
        parameters[f"{name}.w"] = weights.astype(np.float32)
        parameters[f"{name}.b"] = np.zeros(outputs, np.float32)

    width = shape.width
    parameters["opcodes"] = (0.3 * random.standard_normal((len(OPCODES), shape.opcode))).astype(
        np.float32
    )
    dense("nodes", nodes + shape.opcode, width)
    dense("configs", configs, width)
    for layer in range(shape.layers):
        dense(f"sage{layer}.self", width, width)
        for kind in NEIGHBOURS:
            dense(f"sage{layer}.{kind}", width, width)
    node_width = 2 * width if shape.program_at_nodes else width
    if shape.reduction == "coefficients":
        dense("part.hidden", node_width, width)
        dense("part.out", width, len(PARTS), 0.01)
        dense("fetch.hidden", 3 * width, width)
        dense("fetch.out", width, len(FETCHES), 0.01)
        return parameters
    if shape.reduction == "lstm":
        dense("lstm", node_width + width, 4 * width)
    elif shape.reduction == "transformer":
        for name in ("query", "key", "value"):
            dense(name, node_width, width)
    reduced = {"nodes": node_width, "columns": 2 * node_width}.get(shape.reduction, width)
    dense("hidden", reduced + width, width)
    dense("out", width, 1, 0.01)
    return parameters


def predict(parameters: Parameters, shape: Shape, graphs: Graphs, on: Backend) -> Array:
    """The logarithms of the cycles of each program, up to a constant if trained on ranks alone."""
    xp, count = on.numpy, len(graphs.cost)
    embedded = embed(parameters, shape, graphs, on)
    configs = relu(xp, _dense(parameters, "configs", graphs.configs))
    if shape.program_at_nodes:
        extended = xp.concatenate([embedded, configs[graphs.program]], 1)
    else:
        extended = embedded
    if shape.reduction == "coefficients":
        return _coefficients(parameters, graphs, embedded, extended, configs, on)
    if shape.reduction == "nodes":
        reduced = on.sums(extended, graphs.program, count)
    elif shape.reduction == "columns":
        ones = on.sums(xp.ones_like(graphs.parts[:, :1]), graphs.program, count)
        mean = on.sums(extended, graphs.program, count) / xp.maximum(ones, 1)
        reduced = xp.concatenate([mean, on.maxima(extended, graphs.program, count)], 1)
    else:
        rows = on.padded(extended, graphs.program, graphs.place, count)
        present = on.padded(xp.ones_like(extended[:, :1]), graphs.program, graphs.place, count)
        sequence = _lstm if shape.reduction == "lstm" else _transformer
        reduced = sequence(parameters, rows, present, on)
    hidden = relu(xp, _dense(parameters, "hidden", xp.concatenate([reduced, configs], 1)))
    output = _dense(parameters, "out", hidden)[:, 0]
    return output + graphs.cost if shape.residual else output + 10.0


def embed(parameters: Parameters, shape: Shape, graphs: Graphs, on: Backend) -> Array:
    """GraphSAGE's embedding of each node, from it and its neighbours (n, width)."""
    xp = on.numpy
    rows = xp.concatenate([graphs.nodes, parameters["opcodes"][graphs.opcodes]], 1)
    embedded = relu(xp, _dense(parameters, "nodes", rows))
    for layer in range(shape.layers):
        updated = _dense(parameters, f"sage{layer}.self", embedded)
        for kind in NEIGHBOURS:
            pairs = graphs.edges[kind]
            message = _dense(parameters, f"sage{layer}.{kind}", embedded)[pairs[:, 1]]
            ones = on.sums(xp.ones_like(message[:, :1]), pairs[:, 0], len(embedded))
            updated = updated + on.sums(message, pairs[:, 0], len(embedded)) / xp.maximum(ones, 1)
        updated = relu(xp, updated)
        length = xp.sqrt((updated * updated).sum(1, keepdims=True) + 1e-6)
        embedded = embedded + updated / length * np.float32(np.sqrt(shape.width))
    return embedded


def _coefficients(
    parameters: Parameters,
    graphs: Graphs,
    embedded: Array,
    extended: Array,
    configs: Array,
    on: Backend,
) -> Array:
    """The logarithm of the sum of all cycles, each times its learned coefficient."""
    xp, count = on.numpy, len(graphs.cost)
    own = _dense(parameters, "part.out", relu(xp, _dense(parameters, "part.hidden", extended)))
    factors = xp.exp(xp.clip(own, -BOUND, BOUND) + FIRST_PARTS)
    cycles = on.sums((factors * graphs.parts).sum(1), graphs.program, count)
    weight = graphs.parts[:, :2].sum(1, keepdims=True) + 1e-3
    pooled = on.sums(embedded * weight, graphs.program, count)
    pooled = pooled / xp.maximum(on.sums(weight, graphs.program, count), 1e-3)
    whole = xp.concatenate([pooled, on.maxima(embedded, graphs.program, count), configs], 1)
    each = _dense(parameters, "fetch.out", relu(xp, _dense(parameters, "fetch.hidden", whole)))
    fetched = (xp.exp(xp.clip(each, -BOUND, BOUND) + FIRST_FETCH) * graphs.fetches).sum(1)
    return xp.log(cycles + fetched + 1e-3)


def _lstm(parameters: Parameters, rows: Array, present: Array, on: Backend) -> Array:
    """The last state of an LSTM that reads each program's nodes in order."""
    xp = on.numpy
    width = parameters["hidden.b"].shape[0]
    steps = xp.swapaxes(xp.concatenate([rows, present], 2), 0, 1)

    def step(state: Array, row: Array) -> Array:
        cell, hidden = state[:, :width], state[:, width:]
        gates = _dense(parameters, "lstm", xp.concatenate([row[:, :-1], hidden], 1))
        take, keep, give, new = xp.split(gates, 4, axis=1)
        after = _sigmoid(xp, keep + 1.0) * cell + _sigmoid(xp, take) * xp.tanh(new)
        updated = xp.concatenate([after, _sigmoid(xp, give) * xp.tanh(after)], 1)
        return xp.where(row[:, -1:] > 0, updated, state)

    start = xp.zeros((rows.shape[0], 2 * width), rows.dtype)
    return on.scan(step, start, steps)[:, width:]


def _transformer(parameters: Parameters, rows: Array, present: Array, on: Backend) -> Array:
    """The mean over nodes of their self-attention."""
    xp = on.numpy
    query, key, value = (_dense(parameters, name, rows) for name in ("query", "key", "value"))
    score = query @ xp.swapaxes(key, 1, 2) / np.float32(np.sqrt(query.shape[-1]))
    score = xp.where(xp.swapaxes(present, 1, 2) > 0, score, -1e9)
    score = xp.exp(score - score.max(2, keepdims=True))
    attended = score / score.sum(2, keepdims=True) @ value
    return (attended * present).sum(1) / xp.maximum(present.sum(1), 1)


def relu(xp: Any, x: Array) -> Array:
    return xp.maximum(x, 0)


def _sigmoid(xp: Any, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))


def _dense(parameters: Parameters, name: str, x: Array) -> Array:
    return x @ parameters[f"{name}.w"] + parameters[f"{name}.b"]
