"""The graph network: GraphSAGE over a program's loops, then a sum with learned coefficients.

The same code runs on NumPy, where trained models predict, and on JAX, where they are trained: it
is given a `Backend`. Parameters are a flat mapping of arrays by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from morello.learn.features import FETCHES, OPCODES, PARTS

Array = Any
"""An array of NumPy or of JAX."""

Parameters = Mapping[str, Array]

NEIGHBOURS = ("outer", "inner", "before", "after")
"""The kinds of edges, each in both directions: nesting and flow."""

BOUND = 3.0
"""A learned coefficient is within a factor of e to this of its initial value."""

FIRST_PARTS = np.array([0.0, *[-1.0] * (len(PARTS) - 1)], np.float32)
FIRST_FETCH = -1.0
"""Logarithms of the initial coefficients, before training."""


@dataclass(frozen=True)
class Graphs:
    """A batch of programs with n loops in all: a network's normalized inputs.

    `nodes` (n, features), `opcodes` (n), `parts` (n, parts), `program` (n) the number of each
    node's program, in order; `edges` by kind of neighbour, (m, 2) pairs of receiver and sender;
    `configs`, `fetches` and `cost` of each program, the last in log cycles.
    """

    nodes: Array
    opcodes: Array
    parts: Array
    program: Array
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


class InitialParameters:
    """The parameters of a network before training, drawn at random one after the other."""

    def __init__(self, seed: int) -> None:
        self.arrays: dict[str, npt.NDArray[np.float32]] = {}
        self._random = np.random.default_rng(seed)

    def normal(self, name: str, rows: int, columns: int, scale: float) -> None:
        """Add a matrix of normally distributed numbers, with this standard deviation."""
        numbers = scale * self._random.standard_normal((rows, columns))
        self.arrays[name] = numbers.astype(np.float32)

    def dense(self, name: str, inputs: int, outputs: int, scale: float = 1.0) -> None:
        """Add the weights and biases of a dense layer."""
        weights = self._random.standard_normal((inputs, outputs)) * scale / np.sqrt(inputs)
        self.arrays[f"{name}.w"] = weights.astype(np.float32)
        self.arrays[f"{name}.b"] = np.zeros(outputs, np.float32)


@dataclass(frozen=True)
class GraphNetwork(ABC):
    """GraphSAGE, and a reduction of all loops of a program to one number.

    A loop has `width` features, from its own and its opcode's `opcode`, and again after each of
    `layers` layers, which see its neighbours. `reduce` gets them, and as many of each program.
    """

    width: int = 64
    layers: int = 0
    opcode: int = 8

    def initial(self, nodes: int, configs: int, seed: int) -> dict[str, npt.NDArray[np.float32]]:
        """Initial parameters, for so many features of nodes and of programs."""
        parameters = InitialParameters(seed)
        parameters.normal("opcodes", len(OPCODES), self.opcode, 0.3)
        parameters.dense("nodes", nodes + self.opcode, self.width)
        parameters.dense("configs", configs, self.width)
        for layer in range(self.layers):
            parameters.dense(f"sage{layer}.self", self.width, self.width)
            for kind in NEIGHBOURS:
                parameters.dense(f"sage{layer}.{kind}", self.width, self.width)
        self.add_reduction(parameters)
        return parameters.arrays

    def predict(self, parameters: Parameters, graphs: Graphs, on: Backend) -> Array:
        """The logarithms of the cycles of each program, up to a constant if trained on ranks."""
        embedded = self.embed(parameters, graphs, on)
        configs = relu(on.numpy, dense(parameters, "configs", graphs.configs))
        return self.reduce(parameters, graphs, embedded, configs, on)

    def embed(self, parameters: Parameters, graphs: Graphs, on: Backend) -> Array:
        """GraphSAGE's embedding of each node, from it and its neighbours (n, width)."""
        xp = on.numpy
        rows = xp.concatenate([graphs.nodes, parameters["opcodes"][graphs.opcodes]], 1)
        embedded = relu(xp, dense(parameters, "nodes", rows))
        for layer in range(self.layers):
            updated = dense(parameters, f"sage{layer}.self", embedded)
            for kind in NEIGHBOURS:
                pairs = graphs.edges[kind]
                message = dense(parameters, f"sage{layer}.{kind}", embedded)[pairs[:, 1]]
                ones = on.sums(xp.ones_like(message[:, :1]), pairs[:, 0], len(embedded))
                updated = updated + on.sums(message, pairs[:, 0], len(embedded)) / xp.maximum(
                    ones, 1
                )
            updated = relu(xp, updated)
            length = xp.sqrt((updated * updated).sum(1, keepdims=True) + 1e-6)
            embedded = embedded + updated / length * np.float32(np.sqrt(self.width))
        return embedded

    @abstractmethod
    def add_reduction(self, parameters: InitialParameters) -> None:
        """Add the parameters of `reduce`."""

    @abstractmethod
    def reduce(
        self, parameters: Parameters, graphs: Graphs, embedded: Array, configs: Array, on: Backend
    ) -> Array:
        """The result of `predict`, from embedded nodes (n, width) and programs (p, width)."""


@dataclass(frozen=True)
class CoefficientNetwork(GraphNetwork):
    """The network that ships: the sum of all cycles, each times its learned coefficient.

    Coefficients are of each loop's own cycles, by part, and of what each program fetches, as in
    Adams et al. 2019.
    """

    def add_reduction(self, parameters: InitialParameters) -> None:
        width = self.width
        parameters.dense("part.hidden", self.loop_width, width)
        parameters.dense("part.out", width, len(PARTS), 0.01)
        parameters.dense("fetch.hidden", 3 * width, width)
        parameters.dense("fetch.out", width, len(FETCHES), 0.01)

    @property
    def loop_width(self) -> int:
        """The number of columns of `loops`."""
        return 2 * self.width

    def loops(self, graphs: Graphs, embedded: Array, configs: Array, on: Backend) -> Array:
        """The inputs of the layers that give each loop its coefficients (n, `loop_width`)."""
        return on.numpy.concatenate([embedded, configs[graphs.program]], 1)

    def reduce(
        self, parameters: Parameters, graphs: Graphs, embedded: Array, configs: Array, on: Backend
    ) -> Array:
        xp, count = on.numpy, len(graphs.cost)
        own = dense(
            parameters,
            "part.out",
            relu(xp, dense(parameters, "part.hidden", self.loops(graphs, embedded, configs, on))),
        )
        factors = xp.exp(xp.clip(own, -BOUND, BOUND) + FIRST_PARTS)
        cycles = on.sums((factors * graphs.parts).sum(1), graphs.program, count)
        weight = graphs.parts[:, :2].sum(1, keepdims=True) + 1e-3
        pooled = on.sums(embedded * weight, graphs.program, count)
        pooled = pooled / xp.maximum(on.sums(weight, graphs.program, count), 1e-3)
        whole = xp.concatenate([pooled, on.maxima(embedded, graphs.program, count), configs], 1)
        each = dense(parameters, "fetch.out", relu(xp, dense(parameters, "fetch.hidden", whole)))
        fetched = (xp.exp(xp.clip(each, -BOUND, BOUND) + FIRST_FETCH) * graphs.fetches).sum(1)
        return xp.log(cycles + fetched + 1e-3)


def relu(xp: Any, x: Array) -> Array:
    """The positive part, by the functions of `xp`."""
    return xp.maximum(x, 0)


def dense(parameters: Parameters, name: str, x: Array) -> Array:
    """A dense layer."""
    return x @ parameters[f"{name}.w"] + parameters[f"{name}.b"]
