"""Decomposing an operation into a sequence of simpler ones, with intermediate tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.errors import RewriteError, quoted
from morello.ir.batch import LINE_BYTES, Batch
from morello.ir.dtype import F32
from morello.ir.layout import row_major
from morello.ir.operation import Operation
from morello.ir.placements import Ints
from morello.ir.primitives import (
    broadcast,
    divide_vec,
    divide_vec_scalar,
    move,
    reduce,
    softmax,
)
from morello.rewrites.buffer import buffer_codes, level_number
from morello.rewrites.rewrite import Child, Edges, Rank, Rewrite, Shown, everywhere
from morello.targets.target import Column, Condition, Target


@dataclass(frozen=True)
class Scheme:
    """How to decompose the operations called `of` into steps, and that in `words`.

    `between` are the intermediate tensors: they have one element per scan ("rows"), or the
    full shape ("all"). Each step is an operation, and the tensor that each of its operands
    is: one of the decomposed operation's or an intermediate one, by name.
    """

    of: str
    words: str
    between: Mapping[str, str]
    steps: tuple[tuple[str, Mapping[str, str]], ...]


def _same(*names: str) -> dict[str, str]:
    """Operands that have the same names as their tensors."""
    return {name: name for name in names}


SCHEMES = {
    # Softmax -> DenominatorAndUnscaled; DivideVecScalar: every exp is kept, and then scaled
    "to_softmax_parts": Scheme(
        "Softmax",
        "every exp kept, then divided",
        {"denominator": "rows"},
        (
            (
                "SoftmaxDenominatorAndUnscaled",
                {"x": "x", "denominator": "denominator", "out": "out"},
            ),
            ("DivideVecScalar", {"denominator": "denominator", "out": "out"}),
        ),
    ),
    # Softmax -> DenominatorAndMax; Complete: every exp is computed twice
    "to_softmax_parts_recompute": Scheme(
        "Softmax",
        "max and denominator, then every exp again",
        {"max": "rows", "denominator": "rows"},
        (
            ("SoftmaxDenominatorAndMax", {"x": "x", "max": "max", "denominator": "denominator"}),
            (
                "SoftmaxComplete",
                {"x": "x", "max": "max", "denominator": "denominator", "out": "out"},
            ),
        ),
    ),
    # DenominatorAndMax -> Max; Denominator: offline, two passes
    "to_max_and_denominator": Scheme(
        "SoftmaxDenominatorAndMax",
        "max, then denominator",
        {},
        (
            ("Max", {"x": "x", "out": "max"}),
            ("SoftmaxDenominator", _same("x", "max", "denominator")),
        ),
    ),
    # DenominatorAndUnscaled -> Max; DenominatorAndUnscaledFromMax
    "to_max_and_unscaled": Scheme(
        "SoftmaxDenominatorAndUnscaled",
        "max, then every exp and their sum",
        {"max": "rows"},
        (
            ("Max", {"x": "x", "out": "max"}),
            (
                "SoftmaxDenominatorAndUnscaledFromMax",
                {"x": "x", "max": "max", "denominator": "denominator", "out": "out"},
            ),
        ),
    ),
    # DivideVecScalar -> Broadcast; DivideVec
    "broadcast_first": Scheme(
        "DivideVecScalar",
        "divisor broadcast, then divided by",
        {"divisor": "all", "quotient": "all"},
        (
            ("Broadcast", {"x": "denominator", "out": "divisor"}),
            ("DivideVec", {"a": "out", "b": "divisor", "out": "quotient"}),
            ("Move", {"src": "quotient", "dst": "out"}),
        ),
    ),
}


@dataclass(frozen=True)
class Decompose(Rewrite):
    """Do an operation in steps, with the intermediate tensors at a level.

    Softmax(i=8, j=512), to_softmax_parts
      -> SoftmaxDenominatorAndUnscaled(i=8, j=512)
         DivideVecScalar(i=8, j=512)
    """

    scheme: str
    level: str

    name = "decompose"
    lowers = Rank.OPERATION

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        if self.scheme not in SCHEMES:
            known = ", ".join(SCHEMES)
            raise RewriteError(f"no scheme {quoted(self.scheme)}; there are: {known}.")
        if level_number(self, self.level, target) == target.registers:
            raise RewriteError(f"{self}: intermediate tensors must be in memory.")
        of = SCHEMES[self.scheme].of
        right = batch.operation.name == of
        yield Condition(everywhere(batch, right), f"it is for {of}")
        if right:
            alike = {o.dims for o in batch.operation.operands} <= set(_spans(batch.operation))
            yield Condition(everywhere(batch, alike), "its operands' dimensions differ in order")

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        scheme, operation = SCHEMES[self.scheme], batch.operation
        level = level_number(self, self.level, target)
        here = np.full(len(batch), level, np.int8)
        columns = {
            operand.name: (index, batch.levels[index], batch.codes[index], batch.dtypes[index])
            for index, operand in enumerate(operation.operands)
        }
        dims = {operand.name: operand.dims for operand in operation.operands}
        everything, rows = _spans(operation)
        held: Ints = np.zeros(len(batch), np.int64)
        for offset, (name, kind) in enumerate(scheme.between.items()):
            dims[name] = rows if kind == "rows" else everything
            shape = [batch.size(d) for d in dims[name]]
            code = buffer_codes(batch, shape, row_major(len(shape)), 0, F32)
            columns[name] = (len(operation.operands) + offset, here, code, F32)
            held = held + _lines(batch, shape)
        children = []
        for part, wiring in scheme.steps:
            step_operation = _step(part, operation)
            used = [columns[wiring[operand.name]] for operand in step_operation.operands]
            sizes = _sizes(step_operation, batch, dims, wiring)
            wires, levels, codes, dtypes = zip(*used, strict=True)
            step = Batch(step_operation, dtypes, batch.forms, sizes, levels, codes, batch.parallel)
            children.append(Child(step, role="step", wires=wires))
        cost = _refetch_cycles(batch, target, [child.wires for child in children])
        allocation = {level: held} if level else {}
        return [Edges(np.arange(len(batch)), cost, allocation, tuple(children))]

    def __str__(self) -> str:
        return f"decompose({self.scheme} in {self.level})"

    def words(self, shown: Shown) -> str:
        scheme = SCHEMES[self.scheme]
        between = ", ".join(scheme.between)
        return scheme.words + (f"; {between} in {self.level}" if between else "")


def _spans(operation: Operation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dims of full tensors, and of tensors with one element per scan."""
    widest = max((o.dims for o in operation.operands), key=len)
    if operation.name == "DivideVecScalar":
        return widest, operation.operands[0].dims
    scanned = (*operation.reduced, *operation.whole)[0]
    rows = tuple(d for d in operation.dims if d != scanned)
    return widest, rows


def _step(part: str, operation: Operation) -> Operation:
    """The operation of a step, with the rank and scanned dimension of the decomposed one."""
    everything, rows = _spans(operation)
    rank = len(everything)
    scan = next(i for i, d in enumerate(everything) if d not in rows)
    if part == "Broadcast":
        return broadcast(rank, scan)
    if part == "DivideVec":
        return divide_vec(rank)
    if part == "DivideVecScalar":
        return divide_vec_scalar(rank, scan)
    if part == "Max":
        return reduce("Max", rank, scan)
    if part == "Move":
        return move(rank)
    return softmax(part, rank, scan)


def _sizes(
    operation: Operation,
    batch: Batch,
    dims: Mapping[str, tuple[str, ...]],
    wiring: Mapping[str, str],
) -> tuple[Ints, ...]:
    """The sizes of a step's dimensions, from those of its operands."""
    known: dict[str, Ints] = {}
    for operand in operation.operands:
        for dim, source in zip(operand.dims, dims[wiring[operand.name]], strict=True):
            known[dim] = batch.size(source)
    return tuple(known[d] for d in operation.dims)


def _refetch_cycles(batch: Batch, target: Target, steps: Sequence[Sequence[int]]) -> Column:
    """Extra cycles to fetch operands from main memory again in later steps.

    There are none if all operands in main memory fit in `target.shared` lines of the last
    cache: they stay there from step to step.
    """
    if not target.shared:
        return 0.0
    total, refetched = np.zeros(len(batch)), np.zeros(len(batch))
    for operand, level in enumerate(batch.levels):
        lines = _lines(batch, batch.shape(operand)) * (level == 0)
        total += lines
        refetched += lines * (sum(operand in wires for wires in steps) - 1)
    result: Column = target.refetch * refetched * (total > target.shared)
    return result


def _lines(batch: Batch, shape: Sequence[Ints]) -> Ints:
    volume = np.prod(np.stack([s.astype(np.int64) for s in shape]), axis=0)
    lines: Ints = -(-volume * F32.bytes // LINE_BYTES)
    return lines
