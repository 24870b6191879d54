"""The space of programs: which rewrites the search tries on which operations.

The *relaxed* space treats every layout as the best imaginable one. It holds a cheaper
image of every program, so that its optimum bounds the real one from below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from morello.ir.batch import Batch
from morello.ir.compose import inputs_of, intermediates, maker
from morello.ir.forms import Bools, prod_columns, some
from morello.ir.layout import Layout, fastest, odd_even, panels, row_major
from morello.ir.operation import Operation, accumulates_later
from morello.rewrites import (
    SCHEMES,
    SPLIT,
    Bufferize,
    Cut,
    Decompose,
    Divide,
    Move,
    MoveAll,
    Pack,
    PadFirst,
    ParallelSplit,
    Pointwise,
    Rewrite,
    Select,
    Serial,
    SpatialSplit,
    Spread,
    ToAccumulate,
)
from morello.rewrites.move import PRODUCTS
from morello.search.copies import copy_layouts
from morello.search.family import Kind
from morello.search.sizes import FACTORS, MOST_CUTS, Sizes
from morello.targets.target import Kernel, Target

Guard = Callable[[Batch], Bools]

PIECES = (4, 2, 1)
"""A parallel loop has this many pieces for each core."""
GRID = (2, 4)
"""One over two dimensions has this many pieces along each."""
MERGED = 16
"""A reduction is cut in pieces for cores if it reads this many times what these make, or more."""


@dataclass(frozen=True)
class Rules:
    """Rewrites that the search tries on the rows of a batch that the guard admits."""

    guard: Guard
    rewrites: tuple[Rewrite, ...]


def rules(
    kind: Kind, target: Target, sizes: Sizes, *, relaxed: bool = False, blocks: bool = False
) -> list[Rules]:
    """What the search tries on Specs of this kind, in order; ties go to the first.

    With `blocks`, operands may lie in odd-even blocks from the start.
    """
    operation = kind.operation
    if kind.parallel:
        return [Rules(_always, (Serial(), *_parallel(kind, target))), *_reductions(kind, target)]
    groups = _kernels(kind, target)
    for dim in operation.dims:
        if operation.may_cut(dim) and not (_is_conv(operation) and dim == "x"):
            groups += _loops(dim, sizes, vectors=not _is_conv(operation))
        if target.cuts_to_rows and operation.name in PRODUCTS and dim not in operation.reduced:
            groups.append(Rules(partial(_has_rows, dim, sizes), (Cut(dim, sizes.rows),)))
    groups += [Rules(_always, (step,)) for step in _steps(kind, target, relaxed)]
    if operation.components and not any(_is_product(c.operation) for c in operation.components):
        caches = target.levels[1 : target.registers]
        return [*groups, Rules(_always, tuple(MoveAll(level.name) for level in caches))]
    for index in range(len(operation.operands)):
        if not operation.components or _feeds_product(operation, index):
            if blocks and (operation.copies or not relaxed):
                groups += _out_of_blocks(kind, index, target, relaxed)
            groups += _moves(kind, index, target, relaxed)
    return [group for group in groups if group.rewrites]


def closing_operation(kind: Kind) -> str:
    """The name of the operation whose kernels close Specs of this kind in the end."""
    operation = kind.operation
    if _is_conv(operation):
        return "MatmulAccum"
    return operation.name + ("Accum" if accumulates_later(operation) else "")


def _is_product(operation: Operation) -> bool:
    """It reads its inputs many times, so that where they lie matters."""
    return operation.name.removesuffix("Accum") in ("Matmul", "Conv")


def _feeds_product(operation: Operation, index: int) -> bool:
    """An input of a sum of products within a composition."""
    # A component's inputs are numbered on from the composition's own, without its output.
    external = index < inputs_of(operation)
    return external and any(
        _is_product(c.operation) and index in c.inputs for c in operation.components
    )


def _is_conv(operation: Operation) -> bool:
    """It becomes matmuls, in which rows are cut and held in registers."""
    return operation.name.startswith("Conv")


def _kernels(kind: Kind, target: Target) -> list[Rules]:
    known = [k for k in target.kernels_of(kind.operation.name) if k.dtypes == kind.dtypes]
    near = tuple(Select(kernel.name) for kernel in known if not kernel.streams)
    further = tuple(Select(kernel.name) for kernel in known if kernel.streams)
    nearest = target.nearest
    return [Rules(_all_from(nearest), near), Rules(_all_from(nearest - 1), further)]


# ---- on all cores


def _counts(target: Target) -> list[int]:
    """In how many pieces a parallel loop may cut the only dimension that is cut."""
    return [target.cores * n for n in PIECES]


def _parallel(kind: Kind, target: Target) -> Iterator[Rewrite]:
    """Loops on all cores, and steps that leave several Specs to all cores."""
    operation = kind.operation
    dims = operation.operands[operation.output].dims
    free = [d for d in dims if d in operation.dims and d not in operation.whole]
    for dim in free:
        yield from (Spread(((dim, count),)) for count in _counts(target))
    for first in free:
        for second in free[free.index(first) + 1 :]:
            yield from (Spread(((first, n), (second, m))) for n in GRID for m in GRID)
    memory = target.levels[0].name
    yield from _decompositions(kind, (memory,))
    for tensor in seams(operation):
        rank = len(maker(operation, tensor).result_dims)
        yield Bufferize(tensor - inputs_of(operation), memory, row_major(rank))


def _reductions(kind: Kind, target: Target) -> Iterator[Rules]:
    """What is reduced, in pieces for all cores."""
    operation = kind.operation
    if operation.name in SPLIT:
        for count in _counts(target):
            pieces = tuple(ParallelSplit(dim, count) for dim in operation.reduced)
            yield Rules(partial(_outweighs, count=count), pieces)


def _outweighs(batch: Batch, count: int) -> Bools:
    """What is read is so much more than what is made that some more outputs hardly matter."""
    operands, outputs = range(len(batch.operation.operands)), batch.operation.outputs
    read = sum(prod_columns(batch.shape(o)) for o in operands if o not in outputs)
    made = sum(prod_columns(batch.shape(o)) for o in outputs)
    result: Bools = np.greater_equal(read, MERGED * count * made)
    return result


# ---- steps


def _steps(kind: Kind, target: Target, relaxed: bool) -> Iterator[Rewrite]:
    """From one operation to others."""
    operation = kind.operation
    if accumulates_later(operation):
        yield ToAccumulate()
    if operation.name == "ConvAccum":
        yield from (SpatialSplit(), Pointwise())
    if _is_conv(operation) and any(one.padding for one in operation.axes[0]):
        yield from (PadFirst(level.name) for level in target.levels[: target.registers])
    if operation.name == "Matmul" and target.packs:
        yield Pack()
    yield from _decompositions(kind, (target.levels[target.nearest].name, target.levels[0].name))
    if operation.components:
        yield from _buffers(kind, target, relaxed)


def _decompositions(kind: Kind, levels: tuple[str, ...]) -> Iterator[Rewrite]:
    for name, scheme in SCHEMES.items():
        if scheme.of == kind.operation.name and name != "broadcast_first":
            yield from (Decompose(name, level) for level in levels)


def seams(operation: Operation) -> list[int]:
    """The tensors at which the search cuts a composition.

    Maps of the same shape belong together, and are only cut before the last of them: what
    other cuts would give, a smaller tile and several of these give as well. Seams are where
    the shape changes, and around sums of products.
    """
    if not operation.components:
        return []
    found = []
    for tensor in intermediates(operation):
        made = maker(operation, tensor)
        users = [c for c in operation.components if tensor in c.inputs]
        changes = any(set(user.result_dims) != set(made.result_dims) for user in users)
        products = any(_is_product(one.operation) for one in (made, *users))
        if changes or products or operation.components[-1] in users:
            found.append(tensor)
    return found


def _buffers(kind: Kind, target: Target, relaxed: bool) -> Iterator[Rewrite]:
    """The seams of a composition at every level, and in registers."""
    operation = kind.operation
    for tensor in seams(operation):
        made = maker(operation, tensor)
        component, rank = tensor - inputs_of(operation), len(made.result_dims)
        layouts = [row_major(rank)]
        users = [c for c in operation.components if tensor in c.inputs]
        for user in users:
            position = user.inputs.index(tensor)
            layouts += copy_layouts(user.operation, position, made.dtype, target)
        layouts = [Layout(())] if relaxed else list(dict.fromkeys(layouts))
        around = [
            made.operation,
            *(c.operation for c in operation.components if tensor in c.inputs),
        ]
        streams = not any(_is_product(one) for one in around)
        for level in target.levels[int(streams) : target.registers]:
            yield from (Bufferize(component, level.name, layout) for layout in layouts)
        name = target.levels[target.registers].name
        order = Layout(()) if relaxed else row_major(rank)
        for width in target.widths(made.dtype):
            yield Bufferize(component, name, order, width)


# ---- moves


def _moves(kind: Kind, index: int, target: Target, relaxed: bool) -> list[Rules]:
    """Every move of one operand: by the caches themselves, by copies, and into registers."""
    operation = kind.operation
    operand, dtype = operation.operands[index], kind.dtypes[index]
    groups = []
    taken = _taken(kind, index, target)
    dtypes = {k.dtypes[index] for k in taken} if not operation.components else {dtype}
    for number, level in enumerate(target.levels[1 : target.registers]):
        groups.append(Rules(_at(index, number), (Move(operand.name, level.name),)))
        if operation.copies:
            continue
        layouts = [Layout(())] if relaxed else copy_layouts(operation, index, dtype, target)
        rank = len(operand.dims)
        if index == 0 and not relaxed:
            blocks = {k.odd_even for k in taken if k.odd_even}
            layouts += [odd_even(rank, block) for block in sorted(blocks)]
        for layout in layouts:
            casts = (
                [] if operand.written else [d for d in sorted(dtypes, key=str) if d is not dtype]
            )
            copies = tuple(
                Move(operand.name, level.name, layout, dtype=cast) for cast in (None, *casts)
            )
            groups.append(Rules(_copied_from(index, number, layout), copies))
        if operand.written and not (number or relaxed or _is_conv(operation)):
            for width, most in sorted({k.panel for k in taken if k.panel[0]}):
                panel = Move(operand.name, level.name, panels(rank, rank - 1, width))
                groups.append(Rules(_few_rows(index, most), (panel,)))
    if not (operation.components or operation.copies or _is_conv(operation)):
        groups += _register_moves(kind, index, target, taken, relaxed)
    return groups


def _out_of_blocks(kind: Kind, index: int, target: Target, relaxed: bool) -> Iterator[Rules]:
    """Copies of what lies in odd-even blocks, which may be what another copy begins with."""
    operand = kind.operation.operands[index]
    layout = Layout(()) if relaxed else row_major(len(operand.dims))
    for number, level in enumerate(target.levels[1 : target.registers]):
        copy = Move(operand.name, level.name, layout)
        yield Rules(partial(_in_blocks, index=index, level=number), (copy,))


def _in_blocks(batch: Batch, index: int, level: int) -> Bools:
    """An operand lies so at a level; of a copy, the other one is not nearer, where this goes."""
    codes = batch.codes[index]
    here: Bools = (batch.levels[index] == level) & (
        batch.forms.odd_even[codes] | batch.forms.ideal[codes]
    )
    if batch.operation.copies:
        here = here & (np.maximum.reduce(batch.levels) == level) & (len(batch.levels) > 1)
    return here


def _taken(kind: Kind, index: int, target: Target) -> list[Kernel]:
    """The kernels that may close Specs of this kind, once operands are converted."""
    found = []
    for kernel in target.kernels_of(closing_operation(kind)):
        if len(kernel.dtypes) == len(kind.dtypes) and all(
            _convertible(kind, operand, kernel, target) for operand in range(len(kind.dtypes))
        ):
            found.append(kernel)
    return found


def _convertible(kind: Kind, operand: int, kernel: Kernel, target: Target) -> bool:
    """An operand has the kernel's dtype, or is widened to it (and narrowed when written back)."""
    here, wanted = kind.dtypes[operand], kernel.dtypes[operand]
    if here is wanted:
        return True
    if wanted.bytes <= here.bytes:
        return False
    legal = target.casts_to(here, wanted) or not kind.operation.reads(operand)
    if kind.operation.operands[operand].written:
        legal = legal and target.casts_to(wanted, here)
    return legal


def _register_moves(
    kind: Kind, index: int, target: Target, taken: list[Kernel], relaxed: bool
) -> list[Rules]:
    operation, here = kind.operation, kind.dtypes[index]
    operand = operation.operands[index]
    rank = len(operand.dims)
    name = target.levels[target.registers].name
    groups = []
    wanted = {(k.dtypes[index], held.width) for k in taken if (held := k.held[index]) is not None}
    for dtype, width in sorted(wanted, key=lambda w: (-w[1], str(w[0]))):
        kernels = [
            k for k in taken
            if k.dtypes[index] is dtype and (held := k.held[index]) and held.width == width
        ]  # fmt: skip
        guard = _some_takes(kind, index, kernels, target)
        cast = None if dtype is here else dtype
        for position in _along(kind, index, kernels) if width > 1 else [rank - 1]:
            order = Layout(()) if relaxed else fastest(rank, position)
            near = partial(_runs_along, index=index, position=position)
            both = guard if relaxed or width == 1 else _both(guard, near, kind)
            groups.append(Rules(both, (Move(operand.name, name, order, width, cast),)))
            if relaxed:
                break
    return groups


def _along(kind: Kind, index: int, kernels: list[Kernel]) -> list[int]:
    """The positions of the dimensions that registers of an operand may run along."""
    operation = kind.operation
    axes = operation.axes[index]
    if closing_operation(kind) == "MatmulAccum":
        dims = {held.along for k in kernels if (held := k.held[index])}
        return [i for i, one in enumerate(axes) if one.names[0] in dims]
    return [i for i, one in enumerate(axes) if one.plain]


def _both(guard: Guard, near: Callable[[Batch], Bools], kind: Kind) -> Guard:
    """Sums of products may be loaded element by element; maps follow the memory."""
    if closing_operation(kind) == "MatmulAccum":
        return guard
    return lambda batch: guard(batch) & near(batch)


def _runs_along(batch: Batch, index: int, position: int) -> Bools:
    """Neighbours along a dimension are neighbours in memory, and no other is longer than 1."""
    result: Bools = batch.forms.unit_stride(batch.codes[index], batch.shape(index), position)
    return result


def _some_takes(kind: Kind, index: int, kernels: list[Kernel], target: Target) -> Guard:
    """A kernel holds this operand in such registers, and the others as they are held now."""
    placements = set()
    for kernel in kernels:
        placements.add(
            tuple(
                (held.width if held else 0, kernel.dtypes[o]) for o, held in enumerate(kernel.held)
            )
        )

    def guard(batch: Batch) -> Bools:
        near: Bools = batch.levels[index] == target.nearest
        if not some(near):
            return near
        result = np.zeros(len(batch), np.bool_)
        for placement in placements:
            fits = np.ones(len(batch), np.bool_)
            for other, (width, dtype) in enumerate(placement):
                if other != index:
                    held = batch.levels[other] == target.registers
                    vector = batch.forms.vector[batch.codes[other]]
                    right = (vector == width) & (kind.dtypes[other] is dtype)
                    fits &= ~held | right
            result |= fits
        admitted: Bools = result & near
        return admitted

    return guard


def _always(batch: Batch) -> Bools:
    return np.ones(len(batch), np.bool_)


def _all_from(level: int) -> Guard:
    """Nothing lies beyond a level."""

    def guard(batch: Batch) -> Bools:
        result: Bools = np.minimum.reduce(batch.levels) >= level
        return result

    return guard


def _at(index: int, level: int) -> Guard:
    return lambda batch: batch.levels[index] == level


def _copied_from(index: int, level: int, layout: Layout) -> Guard:
    """What lies in panels is not copied again, nor is a row-major operand transposed."""
    transposes = layout.panel is None and bool(layout.order) and not layout.row_major

    def guard(batch: Batch) -> Bools:
        here: Bools = batch.levels[index] == level
        if not some(here):
            return here
        forms, codes = batch.forms, batch.codes[index]
        here = here & (forms.panel_dim[codes] < 0)
        return here & ~forms.row_major[codes] if transposes else here

    return guard


def _few_rows(index: int, most: int) -> Guard:
    """A matrix in memory that has more than one row, and at most so many."""

    def guard(batch: Batch) -> Bools:
        *others, rows, _ = batch.shape(index)
        here: Bools = (batch.levels[index] == 0) & (rows > 1) & (rows <= most)
        for size in others:
            here &= size == 1
        return here

    return guard


def _has_rows(dim: str, sizes: Sizes, batch: Batch) -> Bools:
    """A dimension is cut to the rows that fill the registers."""
    result: Bools = sizes.rows(batch.size(dim)) > 0
    return result


def _loops(dim: str, sizes: Sizes, *, vectors: bool) -> list[Rules]:
    """Smooth sizes are divided by small primes, others cut to smooth tiles.

    Where `vectors` run along dimensions, smooth sizes are also cut to whole ones.
    """

    def smooth(batch: Batch) -> Bools:
        size = batch.size(dim)
        return sizes.is_smooth(size) & (size > 1)

    def has(rank: int) -> Guard:
        def guard(batch: Batch) -> Bools:
            size = batch.size(dim)
            found: Bools = sizes.cut(size, rank) > 0
            return found if vectors else found & ~sizes.is_smooth(size)

        return guard

    divisions = tuple(Divide(dim, factor) for factor in FACTORS)
    cuts = [
        Rules(has(rank), (Cut(dim, partial(sizes.cut, rank=rank)),)) for rank in range(MOST_CUTS)
    ]
    return [Rules(smooth, divisions), *cuts]
