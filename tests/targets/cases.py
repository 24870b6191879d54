"""Random Specs that kernels close, and C functions that run the kernels on plain arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from tests.support import Ints, places

from morello.codegen.body import Body
from morello.codegen.views import RegisterView, View, buffer_view
from morello.ir.batch import Batch
from morello.ir.dtype import F32
from morello.ir.forms import Bools, Forms
from morello.ir.layout import Layout, column_major, panels, row_major
from morello.ir.operation import Operation, fill_zero, matmul, move
from morello.ir.spec import Spec
from morello.ir.tensor import Form, gapless
from morello.rewrites import Select
from morello.rewrites.impl import Impl
from morello.targets.target import Kernel, Target, c_type

SIZES = np.array([1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 20, 32, 37])
ROWS = 60_000
PER_OPERATION = 3


@dataclass(frozen=True)
class Home:
    """Where a tile is: inside a larger tensor in memory, or in registers.

    In memory, `gaps` says along which dimensions it is the second of three tiles.
    """

    layout: Layout
    gaps: tuple[bool, ...] = ()
    vector: int = 0

    def middle(self, shape: Sequence[Ints]) -> list[Ints]:
        """Whole panels around the tile."""
        if self.layout.panel is None:
            return list(shape)
        dim, width = self.layout.panel
        return [np.maximum(s, width) if d == dim else s for d, s in enumerate(shape)]

    def whole(self, middle: Sequence[Ints]) -> list[Ints]:
        return [m * (3 if gap else 1) for m, gap in zip(middle, self.gaps, strict=True)]

    def codes(self, shape: Sequence[Ints], forms: Forms) -> Ints:
        """The forms of tiles of these shapes that are at home here."""
        rank, rows = len(shape), len(shape[0])
        if self.vector:
            code = forms.code(Form(self.layout, rank, vector=self.vector))
            return np.full(rows, code, np.int64)
        middle = self.middle(shape)
        steps = [self.whole(middle), middle, list(shape)]
        codes = np.full(rows, forms.code(gapless(self.layout)), np.int16)
        for before, after in zip([steps[0], *steps], steps, strict=False):
            codes = forms.tile(before, after, codes, F32.bytes).astype(np.int16)
        return codes.astype(np.int64)

    def can_be(self, shape: Sequence[Ints], target: Target) -> Bools:
        """Where a legal program can have such a tile."""
        if self.vector:
            size = shape[self.layout.order[-1]]
            whole: Bools = (size % self.vector == 0) | (target.masks and self.vector > 1)
            return whole
        if self.layout.panel is None:
            return np.ones(len(shape[0]), np.bool_)
        dim, width = self.layout.panel
        legal: Bools = (shape[dim] <= width) | (shape[dim] % width == 0)
        return legal


@dataclass(frozen=True)
class Case:
    """A Spec that a kernel closes, with a home for every operand."""

    kernel: Kernel
    spec: Spec
    homes: tuple[Home, ...]

    def buffer_shape(self, operand: int) -> tuple[int, ...]:
        """The shape of the array behind an operand: the tile's own if it is in registers."""
        shape, home = self.spec.shape(operand), self.homes[operand]
        if home.vector:
            return shape
        return tuple(int(n) for n in home.whole(home.middle([np.array(s) for s in shape])))

    def places(self, operand: int) -> Ints:
        """Where the operand's elements lie in the array behind it."""
        shape, home = self.spec.shape(operand), self.homes[operand]
        if home.vector:
            return places(shape, row_major(len(shape)))
        where = places(self.buffer_shape(operand), home.layout)
        return where[
            tuple(slice(b, b + s) for b, s in zip(self._starts(operand), shape, strict=True))
        ]

    def _starts(self, operand: int) -> list[int]:
        home, whole = self.homes[operand], self.buffer_shape(operand)
        starts = []
        for dim, (size, extent) in enumerate(zip(self.spec.shape(operand), whole, strict=True)):
            middle = extent // 3 if home.gaps[dim] else extent
            inside = size if middle >= 2 * size else 0  # the second tile of a panel
            starts.append((middle if home.gaps[dim] else 0) + inside)
        return starts

    def view(self, operand: int, name: str) -> View:
        shape, home = self.spec.shape(operand), self.homes[operand]
        if home.vector:
            along = home.layout.order[-1]
            return RegisterView(f"{name}_reg", shape, along, home.vector, (0,) * len(shape))
        whole = self.buffer_shape(operand)
        view = buffer_view(name, home.layout, whole)
        for dim, (size, start) in enumerate(zip(shape, self._starts(operand), strict=True)):
            middle = whole[dim] // 3 if home.gaps[dim] else whole[dim]
            view = view.cut(dim, middle, start // middle * middle)
            view = view.cut(dim, size, start % middle)
        return view

    def function(self, name: str, target: Target) -> str:
        """C that fills registers from arrays, runs the kernel, and empties them again."""
        operands = self.spec.operation.operands
        views = [self.view(i, operand.name) for i, operand in enumerate(operands)]
        before, after = [], []
        for operand, view in zip(operands, views, strict=True):
            if not isinstance(view, RegisterView):
                continue
            kind = c_type(F32, view.width)
            counts = "".join(f"[{n}]" for n in view.counts())
            before.append(f"{kind} {view.name}{counts};")
            if view.width > 1:
                nan = f'({kind}){{0}} + __builtin_nanf("")'
                before += [f"{register} = {nan};" for register in view.names()]
            for place, lane in enumerate(lanes(view)):
                before.append(f"{lane} = {operand.name}[{place}];")
                if operand.written:
                    after.append(f"{operand.name}[{place}] = {lane};")
        impl = Impl(self.spec, target, Select(self.kernel.name))
        lines = before + Body(target).emit(impl, views) + after
        parameters = ", ".join(f"float *restrict {operand.name}" for operand in operands)
        return "\n  ".join([f"void {name}({parameters}) {{", *lines]) + "\n}\n"


def lanes(view: RegisterView) -> Iterator[str]:
    """Every element of a tile in registers, in row-major order, as a C lvalue."""
    for index in product(*map(range, view.shape)):
        register = [i // view.width if d == view.along else i for d, i in enumerate(index)]
        lane = f"[{index[view.along] % view.width}]" if view.width > 1 else ""
        yield view.name + "".join(f"[{i}]" for i in register) + lane


def homes(rank: int, target: Target) -> list[Home]:
    """Homes in memory, with and without gaps, and in all kinds of registers."""
    found = []
    lead = (False,) * (rank - 2)
    for gaps in product((False, True), repeat=2):
        found.append(Home(row_major(rank), (*lead, *gaps)))
        found.append(Home(column_major(rank), (*lead, *gaps)))
    for dim, width in product((rank - 2, rank - 1), (target.widths[0], 2 * target.widths[0])):
        gaps_in_panels = tuple(d >= rank - 2 for d in range(rank))
        found.append(Home(panels(rank, dim, width), gaps_in_panels))
    for width in target.widths:
        found.append(Home(row_major(rank), vector=width))
        if width > 1:
            found.append(Home(column_major(rank), vector=width))
    return found


def random_batch(
    operation: Operation, target: Target, random: np.random.Generator
) -> tuple[Batch, list[Ints]]:
    """Specs of random sizes and homes, and the home of each operand in each of them."""
    forms = Forms()
    sizes = [random.choice(SIZES, ROWS) for _ in operation.dims]
    possible = np.ones(ROWS, np.bool_)
    levels, codes, chosen = [], [], []
    for span in operation.spans:
        shape = [sizes[d] for d in span]
        known = homes(len(span), target)
        choice = random.integers(len(known), size=ROWS)
        level, code = np.empty(ROWS, np.int8), np.empty(ROWS, np.int16)
        for index, home in enumerate(known):
            rows = np.flatnonzero(choice == index)
            tile = [column[rows] for column in shape]
            possible[rows] &= home.can_be(tile, target)
            level[rows] = target.registers if home.vector else target.nearest
            legal = np.flatnonzero(home.can_be(tile, target))
            code[rows[legal]] = home.codes([column[legal] for column in tile], forms)
        levels.append(level)
        codes.append(code)
        chosen.append(choice)
    batch = Batch(
        operation,
        (F32,) * len(operation.operands),
        forms,
        tuple(sizes),
        tuple(levels),
        tuple(codes),
    )
    kept = np.flatnonzero(possible)
    return batch[kept], [choice[kept] for choice in chosen]


def operations(kernel: Kernel) -> list[Operation]:
    return {
        "MatmulAccum": [matmul(0, accumulates=True), matmul(1, accumulates=True)],
        "Move": [move(2), move(3)],
        "FillZero": [fill_zero(2), fill_zero(3)],
    }[kernel.operation]


def random_cases(target: Target) -> list[Case]:
    """A few random cases of every kernel and every operation it is for."""
    random = np.random.default_rng(0)
    batches: dict[Operation, tuple[Batch, list[Ints]]] = {}
    found = []
    for kernel in target.kernels:
        for operation in operations(kernel):
            if operation not in batches:
                batches[operation] = random_batch(operation, target, random)
            batch, chosen = batches[operation]
            holds = np.ones(len(batch), np.bool_)
            for condition in Select(kernel.name).conditions(batch, target):
                holds &= condition.holds
            rows = np.flatnonzero(holds)
            for row in random.permutation(rows)[:PER_OPERATION].tolist():
                own = tuple(
                    homes(len(span), target)[choice[row]]
                    for span, choice in zip(operation.spans, chosen, strict=True)
                )
                found.append(Case(kernel, batch.spec(row), own))
    return found
