"""Networks that are compared with the one that ships: other reductions of loops to a number."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from morello.learn.network import (
    Array,
    Backend,
    CoefficientNetwork,
    GraphNetwork,
    Graphs,
    InitialParameters,
    Parameters,
    dense,
    relu,
)

MOST_NODES = 48
"""The most loops of a program that an LSTM or a Transformer reads."""


@dataclass(frozen=True)
class LateProgramNetwork(CoefficientNetwork):
    """The network that ships, but coefficients of loops do not depend on the whole program."""

    @property
    def loop_width(self) -> int:
        return self.width

    def loops(self, graphs: Graphs, embedded: Array, configs: Array, on: Backend) -> Array:
        return embedded


@dataclass(frozen=True)
class DenseNetwork(GraphNetwork):
    """Loops are reduced to a vector, and that by dense layers to a number.

    It is the error of the log affine cost if `residual`, else the logarithm of cycles.
    """

    residual: bool = True

    def add_reduction(self, parameters: InitialParameters) -> None:
        width = self.add_vector(parameters)
        parameters.dense("hidden", width + self.width, self.width)
        parameters.dense("out", self.width, 1, 0.01)

    def reduce(
        self, parameters: Parameters, graphs: Graphs, embedded: Array, configs: Array, on: Backend
    ) -> Array:
        xp = on.numpy
        loops = xp.concatenate([embedded, configs[graphs.program]], 1)
        vector = self.vector(parameters, graphs, loops, on)
        hidden = relu(xp, dense(parameters, "hidden", xp.concatenate([vector, configs], 1)))
        output = dense(parameters, "out", hidden)[:, 0]
        return output + graphs.cost if self.residual else output + 10.0

    @abstractmethod
    def add_vector(self, parameters: InitialParameters) -> int:
        """Add the parameters of `vector`; returns its length."""

    @abstractmethod
    def vector(self, parameters: Parameters, graphs: Graphs, loops: Array, on: Backend) -> Array:
        """A vector of each program (p, length), from its loops (n, 2 width)."""


@dataclass(frozen=True)
class SumNetwork(DenseNetwork):
    """The sum over all nodes."""

    def add_vector(self, parameters: InitialParameters) -> int:
        return 2 * self.width

    def vector(self, parameters: Parameters, graphs: Graphs, loops: Array, on: Backend) -> Array:
        return on.sums(loops, graphs.program, len(graphs.cost))


@dataclass(frozen=True)
class ColumnNetwork(DenseNetwork):
    """The means and maxima of each column of features."""

    def add_vector(self, parameters: InitialParameters) -> int:
        return 4 * self.width

    def vector(self, parameters: Parameters, graphs: Graphs, loops: Array, on: Backend) -> Array:
        xp, count = on.numpy, len(graphs.cost)
        ones = on.sums(xp.ones_like(graphs.parts[:, :1]), graphs.program, count)
        mean = on.sums(loops, graphs.program, count) / xp.maximum(ones, 1)
        return xp.concatenate([mean, on.maxima(loops, graphs.program, count)], 1)


@dataclass(frozen=True)
class LstmNetwork(DenseNetwork):
    """The last state of an LSTM that reads each program's nodes in order."""

    def add_vector(self, parameters: InitialParameters) -> int:
        parameters.dense("lstm", 3 * self.width, 4 * self.width)
        return self.width

    def vector(self, parameters: Parameters, graphs: Graphs, loops: Array, on: Backend) -> Array:
        xp, width = on.numpy, self.width
        rows, present = _by_place(graphs, loops, on)
        steps = xp.swapaxes(xp.concatenate([rows, present], 2), 0, 1)

        def step(state: Array, row: Array) -> Array:
            cell, hidden = state[:, :width], state[:, width:]
            gates = dense(parameters, "lstm", xp.concatenate([row[:, :-1], hidden], 1))
            take, keep, give, new = xp.split(gates, 4, axis=1)
            after = _sigmoid(xp, keep + 1.0) * cell + _sigmoid(xp, take) * xp.tanh(new)
            updated = xp.concatenate([after, _sigmoid(xp, give) * xp.tanh(after)], 1)
            return xp.where(row[:, -1:] > 0, updated, state)

        start = xp.zeros((rows.shape[0], 2 * width), rows.dtype)
        return _last_state(xp, step, start, steps)[:, width:]


@dataclass(frozen=True)
class TransformerNetwork(DenseNetwork):
    """The mean over nodes of their self-attention."""

    def add_vector(self, parameters: InitialParameters) -> int:
        for name in ("query", "key", "value"):
            parameters.dense(name, 2 * self.width, self.width)
        return self.width

    def vector(self, parameters: Parameters, graphs: Graphs, loops: Array, on: Backend) -> Array:
        xp = on.numpy
        rows, present = _by_place(graphs, loops, on)
        query, key, value = (dense(parameters, name, rows) for name in ("query", "key", "value"))
        score = query @ xp.swapaxes(key, 1, 2) / np.float32(np.sqrt(query.shape[-1]))
        score = xp.where(xp.swapaxes(present, 1, 2) > 0, score, -1e9)
        score = xp.exp(score - score.max(2, keepdims=True))
        attended = score / score.sum(2, keepdims=True) @ value
        return (attended * present).sum(1) / xp.maximum(present.sum(1), 1)


def _by_place(graphs: Graphs, rows: Array, on: Backend) -> tuple[Array, Array]:
    """The first rows of each program (p, `MOST_NODES`, ...), and which of them there are."""
    xp, count = on.numpy, len(graphs.cost)
    sizes = on.sums(xp.ones_like(graphs.program), graphs.program, count)
    starts = xp.cumsum(sizes) - sizes
    place = xp.arange(len(rows)) - starts[graphs.program]
    index = xp.where(place < MOST_NODES, graphs.program * MOST_NODES + place, count * MOST_NODES)

    def placed(values: Array) -> Array:
        by_index = on.sums(values, index, count * MOST_NODES + 1)[:-1]
        return by_index.reshape(count, MOST_NODES, values.shape[1])

    return placed(rows), placed(xp.ones_like(rows[:, :1]))


def _last_state(xp: Any, step: Callable[[Array, Array], Array], state: Array, rows: Array) -> Array:
    """The last state: `step` computes the next one from a state and each row in turn."""
    if xp is not np:
        return jax.lax.scan(lambda before, row: (step(before, row), None), state, rows)[0]
    for row in rows:
        state = step(state, row)
    return state


def _sigmoid(xp: Any, x: Array) -> Array:
    return 1 / (1 + xp.exp(-x))
