"""A program as a graph of its steps, for models to learn from. Reads Impls only.

Nodes are the steps of the Impl: loops, copies, kernels. Edges are of two kinds: from a step to
those inside it, and from a step to the next one that uses what it wrote. Beside the graph, there
are features of the program as a whole, and the terms of its affine cost.

Numbers that have no bound are logarithms, log2(1 + x).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.calibrate.multiplicities import Multiplicities
from morello.ir.spec import Spec
from morello.ir.tensor import TensorSpec, runs
from morello.rewrites import Bufferize, Move, Select, Split, Tile
from morello.rewrites.impl import Branch, Impl
from morello.rewrites.select import find_kernel
from morello.targets.costs import FORK, GROUPS, coefficients, group_of
from morello.targets.target import TRANSFERS, Target

VERSION = 1

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

OPERANDS, DIMS, LOOPS, LEVELS = 4, 6, 3, 4
"""Of how many operands, dimensions, enclosing loops, and levels of memory a node tells."""

REWRITES = (
    "Bufferize", "Decompose", "Move", "MoveAll", "Pack", "PadFirst", "Parallel", "ParallelSplit",
    "Pointwise", "Serial", "SpatialSplit", "Split", "Tile", "ToAccumulate",
)  # fmt: skip
OPCODES = (*REWRITES, *GROUPS)
"""What a step is: a rewrite, or the group of the kernel that closes it."""

_OPERAND = ("there", "level", "bytes", "runs", "run_bytes", "aliased", "vector", "written")
NODE_FEATURES = (
    *(f"size_{i}" for i in range(DIMS)), "sizes_sum", "sizes_product",
    *(f"{operand}_{what}" for operand in range(OPERANDS) for what in _OPERAND),
    "times", "depth", "own_cost", "own_share", "share", "cycles_a_time", "flops_a_time",
    *(f"loop_{i}_{what}" for i in range(LOOPS) for what in ("trips", "reduced")),
    *(f"held_{level}" for level in range(1, LEVELS)),
    *(f"peak_{level}" for level in range(1, LEVELS)),
    "trips", "tile", "reduced", "remainder",
    *(f"moves_{operand}" for operand in range(OPERANDS)),
    *(f"along_{operand}" for operand in range(OPERANDS)),
    "to_level", "copies", "to_vector", "converts", "registers", "masked",
)  # fmt: skip

TERMS = (
    *(f"{level}.{kind}" for level in ("memory", "L2") for kind in TRANSFERS),
    *(f"kernels.{group}" for group in GROUPS), FORK, "other",
)  # fmt: skip
"""What the affine cost is the sum of: the cycles of each coefficient, and of what has none."""

KERNEL_FEATURES = (
    "cost", "flops", "bytes", "flops_a_cycle", "bytes_a_cycle", "steps", "depth",
    *(f"peak_{level}" for level in range(1, LEVELS)),
    *(f"share_{term}" for term in TERMS),
)  # fmt: skip


@dataclass(frozen=True)
class ProgramGraph:
    """A program of n steps: `opcodes` (n), `nodes` (n, features), and edges as pairs of steps.

    `nesting` are (outer, inner), `flow` (writer, reader). `kernel` are the features of the whole,
    and `terms` the cycles of each of `TERMS`, whose sum is the affine cost.
    """

    opcodes: Ints
    nodes: Floats
    nesting: Ints
    flow: Ints
    kernel: Floats
    terms: npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Context:
    """Where a step stands: how often it runs, how deep, in which loops, and what is held."""

    times: float
    depth: int
    loops: tuple[tuple[int, bool], ...]
    held: tuple[int, ...]


class Featurizer:
    """Makes graphs of programs for one target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._multiplicities = Multiplicities(target)
        self._coefficients = coefficients(target)

    def graph(self, impl: Impl) -> ProgramGraph:
        """The graph of a complete program."""
        walk = _Walk(impl, self.target)
        paid = self._multiplicities.of(impl)
        terms = np.array([paid.get(t, 0.0) * self._coefficients.get(t, 0.0) for t in TERMS])
        terms[-1] = max(0.0, impl.cost - terms.sum())
        return ProgramGraph(
            np.array(walk.opcodes, np.int32),
            np.array(walk.rows, np.float32).reshape(len(walk.rows), len(NODE_FEATURES)),
            np.array(walk.nesting, np.int32).reshape(-1, 2),
            np.array(walk.flow, np.int32).reshape(-1, 2),
            np.array(list(_of_whole(impl, walk, terms)), np.float32),
            terms,
        )


class _Walk:
    """The steps of a program in pre-order."""

    def __init__(self, impl: Impl, target: Target) -> None:
        self.target, self.total = target, max(impl.cost, 1.0)
        self.opcodes: list[int] = []
        self.rows: list[list[float]] = []
        self.nesting: list[tuple[int, int]] = []
        self.flow: list[tuple[int, int]] = []
        self.depth = 0
        self._visit(impl, _Context(1.0, 0, (), (0,) * (len(target.levels) - 1)))

    def _visit(self, impl: Impl, at: _Context) -> int:
        number = len(self.rows)
        self.depth = max(self.depth, at.depth)
        self.opcodes.append(OPCODES.index(self._opcode(impl)))
        self.rows.append(list(self._row(impl, at)))
        allocated = impl.allocation or {}
        held = tuple(n + allocated.get(level, 0) for level, n in enumerate(at.held, start=1))
        rewrite = impl.rewrite
        loop = isinstance(rewrite, Tile | Split)
        wrote: dict[int, int] = {}
        for child in impl.children:
            loops = at.loops
            if loop:
                loops = ((child.times, isinstance(rewrite, Split)), *at.loops)[:LOOPS]
            inside = _Context(at.times * child.times, at.depth + 1, loops, held)
            inner = self._visit(child.impl, inside)
            self.nesting.append((number, inner))
            if not loop:
                self._connect(impl, child, inner, wrote)
        return number

    def _connect(self, impl: Impl, child: Branch, number: int, wrote: dict[int, int]) -> None:
        """Edges from whoever last wrote what this child uses."""
        operation = child.impl.spec.operation
        wires = child.wires or range(len(operation.operands))
        for wire in dict.fromkeys(wires):
            if wire in wrote:
                self.flow.append((wrote[wire], number))
        for position, wire in enumerate(wires):
            if operation.operands[position].written:
                wrote[wire] = number

    @staticmethod
    def _opcode(impl: Impl) -> str:
        if isinstance(impl.rewrite, Select):
            return group_of(find_kernel(impl.target, impl.rewrite.kernel))
        return type(impl.rewrite).__name__

    def _row(self, impl: Impl, at: _Context) -> Iterator[float]:
        spec, target = impl.spec, self.target
        sizes = sorted(spec.sizes, reverse=True)
        yield from _padded([_log(n) for n in sizes], DIMS)
        yield _log(sum(sizes))
        yield sum(log2(n) for n in sizes)
        for operand in range(OPERANDS):
            yield from _operand(spec, operand)
        own = impl.own_cost * at.times
        yield from (_log(at.times), float(at.depth), _log(own), own / self.total)
        yield at.times * impl.cost / self.total
        yield from (_log(impl.cost), _log(spec.flops))
        for index in range(LOOPS):
            trips, reduced = at.loops[index] if index < len(at.loops) else (0, False)
            yield from (_log(trips), float(reduced))
        capacities = [level.capacity for level in target.levels[1:]]
        for amounts in (at.held, impl.peak):
            parts = (n / max(most, 1) for n, most in zip(amounts, capacities, strict=True))
            yield from _padded(list(parts), LEVELS - 1)
        yield from self._loop(impl)
        yield from self._placement(impl)

    @staticmethod
    def _loop(impl: Impl) -> Iterator[float]:
        rewrite, spec = impl.rewrite, impl.spec
        if not isinstance(rewrite, Tile | Split):
            yield from [0.0] * (4 + 2 * OPERANDS)
            return
        yield from (_log(impl.children[0].times), _log(rewrite.size))
        yield from (float(isinstance(rewrite, Split)), float(len(impl.children) > 1))
        places = spec.operation.places
        yield from (float((operand, rewrite.dim) in places) for operand in range(OPERANDS))
        for operand in range(OPERANDS):
            position = places.get((operand, rewrite.dim), (-2, 0))[0]
            inside = operand < len(spec.forms)
            yield float(inside and spec.forms[operand].fastest == position)

    def _placement(self, impl: Impl) -> Iterator[float]:
        rewrite, target = impl.rewrite, self.target
        if isinstance(rewrite, Move | Bufferize):
            names = [level.name for level in target.levels]
            converts = isinstance(rewrite, Move) and rewrite.dtype is not None
            yield from (float(names.index(rewrite.level)), float(rewrite.layout is not None))
            yield from (_log(rewrite.vector), float(converts), 0.0, 0.0)
        elif isinstance(rewrite, Select):
            kernel = find_kernel(target, rewrite.kernel)
            yield from (0.0, 0.0, 0.0, 0.0, float(kernel.registers), float("part_" in kernel.name))
        else:
            yield from [0.0] * 6


def _operand(spec: Spec, operand: int) -> Iterator[float]:
    if operand >= len(spec.forms):
        yield from [0.0] * len(_OPERAND)
        return
    tensor: TensorSpec = spec.tensor(operand)
    count, length = runs(tensor.shape, tensor.form)
    yield from (1.0, float(tensor.level), _log(tensor.bytes), _log(count))
    yield from (_log(length * tensor.dtype.bytes), float(tensor.form.aliased))
    yield from (_log(tensor.form.vector), float(spec.operation.operands[operand].written))


def _of_whole(impl: Impl, walk: _Walk, terms: npt.NDArray[np.float64]) -> Iterator[float]:
    spec, cost = impl.spec, max(impl.cost, 1.0)
    yield from (_log(cost), _log(spec.flops), _log(spec.bytes))
    yield from (spec.flops / cost, spec.bytes / cost, _log(len(walk.rows)), float(walk.depth))
    capacities = [level.capacity for level in walk.target.levels[1:]]
    yield from _padded([n / m for n, m in zip(impl.peak, capacities, strict=True)], LEVELS - 1)
    yield from (terms / cost).tolist()


def _log(x: float) -> float:
    return log2(1.0 + x)


def _padded(values: Sequence[Any], count: int) -> list[Any]:
    return [*values[:count], *[0.0] * (count - len(values))]
