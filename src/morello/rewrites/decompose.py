"""Decomposing an operation into a sequence of simpler ones, with intermediate tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.base.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.kept import Kept
from morello.ir.layout import Layout, row_major
from morello.ir.operation import Operation, Primitive
from morello.ir.placements import Ints, prod_columns
from morello.ir.primitives import (
    COMPLETE,
    DENOMINATOR,
    DENOMINATOR_AND_MAX,
    DENOMINATOR_AND_UNSCALED,
    DIVIDE_VEC_SCALAR,
    MAX,
    SOFTMAX,
    UNSCALED_FROM_MAX,
    broadcast,
    divide_vec,
    divide_vec_scalar,
    move,
    reduce,
    softmax,
)
from morello.ir.tensor import IDEAL, LINE_BYTES
from morello.rewrites.buffer import buffer_codes, level_number
from morello.rewrites.rewrite import Application, Child, Edges, Rank, Rewrite, everywhere
from morello.targets.target import Column, Condition, Target

Step = Callable[[int, int], Operation]
"""The operation of a step, for the rank and the scanned dimension of the decomposed one."""


@dataclass(frozen=True)
class Scheme:
    """How to decompose the operations of a primitive into steps, and that in `words`.

    `between` are the intermediate tensors: they have one element per scan ("rows"), or the
    full shape ("all"). Each step is an operation, and the tensor that each of its operands
    is: one of the decomposed operation's or an intermediate one, by name. What is not `searched`
    is for schedules by hand: the search would find nothing better.
    """

    of: Primitive
    words: str
    between: Mapping[str, str]
    steps: tuple[tuple[Step, Mapping[str, str]], ...]
    searched: bool = True


def _same(*names: str) -> dict[str, str]:
    """Operands that have the same names as their tensors."""
    return {name: name for name in names}


SCHEMES = {
    # Softmax -> DenominatorAndUnscaled; DivideVecScalar: every exp is kept, and then scaled
    "to_softmax_parts": Scheme(
        SOFTMAX,
        "every exp kept, then divided",
        {"denominator": "rows"},
        (
            (
                partial(softmax, DENOMINATOR_AND_UNSCALED),
                _same("x", "denominator", "out"),
            ),
            (divide_vec_scalar, _same("denominator", "out")),
        ),
    ),
    # Softmax -> DenominatorAndMax; Complete: every exp is computed twice
    "to_softmax_parts_recompute": Scheme(
        SOFTMAX,
        "max and denominator, then every exp again",
        {"max": "rows", "denominator": "rows"},
        (
            (partial(softmax, DENOMINATOR_AND_MAX), _same("x", "max", "denominator")),
            (partial(softmax, COMPLETE), _same("x", "max", "denominator", "out")),
        ),
    ),
    # DenominatorAndMax -> Max; Denominator: offline, two passes
    "to_max_and_denominator": Scheme(
        DENOMINATOR_AND_MAX,
        "max, then denominator",
        {},
        (
            (partial(reduce, MAX), {"x": "x", "out": "max"}),
            (partial(softmax, DENOMINATOR), _same("x", "max", "denominator")),
        ),
    ),
    # DenominatorAndUnscaled -> Max; DenominatorAndUnscaledFromMax
    "to_max_and_unscaled": Scheme(
        DENOMINATOR_AND_UNSCALED,
        "max, then every exp and their sum",
        {"max": "rows"},
        (
            (partial(reduce, MAX), {"x": "x", "out": "max"}),
            (
                partial(softmax, UNSCALED_FROM_MAX),
                _same("x", "max", "denominator", "out"),
            ),
        ),
    ),
    # DivideVecScalar -> Broadcast; DivideVec
    "broadcast_first": Scheme(
        DIVIDE_VEC_SCALAR,
        "divisor broadcast, then divided by",
        {"divisor": "all", "quotient": "all"},
        (
            (broadcast, {"x": "denominator", "out": "divisor"}),
            (lambda rank, _: divide_vec(rank), {"a": "out", "b": "divisor", "out": "quotient"}),
            (lambda rank, _: move(rank), {"src": "quotient", "dst": "out"}),
        ),
        searched=False,
    ),
}


def decomposes(scheme: str, operation: Operation) -> bool:
    """Whether a scheme of `SCHEMES` decomposes the operation."""
    return operation.primitive is SCHEMES[scheme].of and not operation.accumulates


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
        right = decomposes(self.scheme, batch.operation)
        yield Condition(everywhere(batch, right), f"it is for {SCHEMES[self.scheme].of.name}")
        if right:
            alike = {o.dims for o in batch.operation.operands} <= set(_spans(batch.operation))
            yield Condition(everywhere(batch, alike), "its operands' dimensions differ in order")

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        schemes = [scheme for scheme in SCHEMES.values() if scheme.of is primitive]
        steps = [step(_RANK, _RANK - 1).primitive for scheme in schemes for step, _ in scheme.steps]
        return [step for step in steps if step is not None]

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
            code = buffer_codes(batch, shape, self._layout(len(shape)), 0, F32)
            columns[name] = (len(operation.operands) + offset, here, code, F32)
            held = held + _lines(batch, shape)
        children = []
        rank = len(everything)
        scan = next(i for i, d in enumerate(everything) if d not in rows)
        for make, wiring in scheme.steps:
            step_operation = make(rank, scan)
            used = [columns[wiring[operand.name]] for operand in step_operation.operands]
            sizes = _sizes(step_operation, batch, dims, wiring)
            tensors, levels, codes, dtypes = zip(*used, strict=True)
            step = Batch(
                step_operation, dtypes, batch.placements, sizes, levels, codes, batch.parallel
            )
            children.append(Child(step, role="step", tensors=tensors))
        cost = _refetch_cycles(batch, target, [child.tensors for child in children])
        allocation = {level: held} if level else {}
        return [Edges(np.arange(len(batch)), cost, allocation, tuple(children))]

    def _layout(self, rank: int) -> Layout:
        """The layout of an intermediate tensor of this rank."""
        return row_major(rank)

    def relaxed(self, *, kept: Kept) -> Rewrite:
        return _Relaxed(self.scheme, self.level)

    def __str__(self) -> str:
        return f"decompose({self.scheme} in {self.level})"

    def words(self, applied: Application) -> str:
        scheme = SCHEMES[self.scheme]
        between = ", ".join(scheme.between)
        return scheme.words + (f"; {between} in {self.level}" if between else "")


@dataclass(frozen=True)
class _Relaxed(Decompose):
    """`Decompose` with intermediate tensors of the ideal layout."""

    name = ""

    def _layout(self, rank: int) -> Layout:
        return IDEAL.layout


_RANK = 2
"""The steps of a scheme are of the same primitives for tensors of any rank."""


def _spans(operation: Operation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dims of full tensors, and of tensors with one element per scan."""
    widest = max((o.dims for o in operation.operands), key=len)
    if scanned := (*operation.reduced, *operation.untiled):
        return widest, tuple(d for d in operation.dims if d != scanned[0])
    return widest, operation.operands[0].dims


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

    There are none if all operands in main memory fit in `target.usable_cache` lines of the last
    cache: they stay there from step to step.
    """
    if not target.usable_cache:
        return 0.0
    total, refetched = np.zeros(len(batch)), np.zeros(len(batch))
    for operand, level in enumerate(batch.levels):
        lines = _lines(batch, batch.shape(operand)) * (level == 0)
        total = total + lines
        refetched = refetched + lines * (sum(operand in tensors for tensors in steps) - 1)
    result: Column = target.refetch * refetched * (total > target.usable_cache)
    return result


def _lines(batch: Batch, shape: Sequence[Ints]) -> Ints:
    volume = prod_columns(shape)
    lines: Ints = -(-volume * F32.bytes // LINE_BYTES)
    return lines
