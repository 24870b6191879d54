"""Random Specs that kernels close, and C functions that run the kernels on plain arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

import numpy as np
from tests.sampling import EVERY_CASE
from tests.support import places

from morello.codegen.emit import Emitter
from morello.codegen.names import NamesInC
from morello.codegen.printer import Printer
from morello.codegen.views import RegisterView, View, buffer_view, register_view
from morello.impl.tree import Impl, ImplNode
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.functions import BINARY, TERNARY, UNARY, Function
from morello.ir.layout import Layout, fastest, odd_even, panels, row_major
from morello.ir.operation import Operation, accumulating, reordered
from morello.ir.placements import Bools, Ints, Placements
from morello.ir.primitives import (
    PRIMITIVES,
    Windows,
    broadcast,
    conv,
    divide_vec_scalar,
    elementwise,
    fill,
    grouped_conv,
    is_ragged,
    matmul,
    move,
    one_prefix,
    pack,
    pool,
    quantized_matmul,
    reduce,
    scan,
    scatter,
    segment_sum,
    softmax,
    squared_deviations,
    take,
    unbias,
)
from morello.ir.primitives.winograd import points, winograd_input, winograd_output
from morello.ir.spec import Spec
from morello.ir.tensor import Placement, canonical, gapless
from morello.rewrites import Select
from morello.targets.helpers import depthwise
from morello.targets.helpers.columns import COLUMNS, MOST_COLUMNS, rows_at_once
from morello.targets.helpers.quantized import WEIGHTS
from morello.targets.helpers.row_sums import BLOCK_READINGS, ROW_READINGS
from morello.targets.helpers.tiles import SIDE
from morello.targets.kernels.byte_rows import MOST_BYTE_ROWS
from morello.targets.kernels.depthwise import PIXELS
from morello.targets.kernels.row_sums import MOST_ROWS
from morello.targets.kernels.windows import ROWS as WINDOW_ROWS
from morello.targets.target import InRegisters, LeafKernel, Target, c_type

ROWS = 400
PER_OPERATION = 2 if EVERY_CASE else 1
MOST = 3 if EVERY_CASE else 1
"""Cases of one kernel, at most; a target has a thousand kernels, many of them alike."""
MOST_HOMES = 6
"""Homes of an operand that random Specs are drawn with at once, but for filters, which few suit."""

MOST_REGISTERS = 6
POWERS = (2, 4, 8, 16, 32, 64)
FILTERS = "transpose_filters"
REPEAT = "repeat"
TURNED = [("k", "m"), ("j", "n"), ("n", "g"), ("n", "m")]
BY_TWO = "_by_two_"
LONG = (100, 300, 1000, 2100)
CONSTANTS = {True: 1.25, False: 3.0}
"""The constants of functions that have one, of floats (True) and of integers."""


# ---- the operations that a kernel is for


def operations(kernel: LeafKernel) -> list[Operation]:
    """Operations of several ranks, and with operands' dimensions in several orders."""
    name = kernel.operation
    if name in ("Matmul", "MatmulAccum"):
        plain, batch = (matmul(b, accumulates=name == "MatmulAccum") for b in (0, 1))
        turned = reordered(plain, [("k", "m"), ("n", "k"), ("n", "m")])
        return [plain, batch, turned]
    if name == "DepthwiseConvAccum":
        images = grouped_conv(1, 1, accumulates=True)
        sequences = (Windows(2),)
        return [images, *(grouped_conv(1, 1, sequences, last, True) for last in (False, True))]
    if name == "DepthwiseConv":
        windows = Windows(2)
        return [grouped_conv(1, 1, (windows, windows), last) for last in (False, True)]
    if name == "ConvAccum":
        return [conv((Windows(2),), last, accumulates=True) for last in (False, True)]
    if name == "GroupedConvAccum":
        plain = channels_together(kernel)
        return [plain, reordered(plain, [o.dims[::-1] for o in plain.operands])]
    if name in ("SumPoolAccum", "MaxPoolAccum"):
        primitive = PRIMITIVES[name.removesuffix("Accum")]
        two = (Windows(3, dilation=2), Windows(2))
        return [pool(primitive, windows, False, True) for windows in ((Windows(),), two)]
    if name in ("SumPool", "MaxPool"):
        windows = Windows(int(kernel.name.split("_")[2]))
        return [pool(PRIMITIVES[name], (windows,) * rank) for rank in (1, 2)]
    if kernel.name.startswith(FILTERS):
        return [move(4)]
    if name == "Move":
        return [move(1), move(2), move(3), move(2, (1, 0))]
    if name == "QuantizedMatmul":
        return [quantized_matmul(), reordered(quantized_matmul(), TURNED)]
    if name == "Take":
        return [take(1), take(2)]
    if name.startswith("Winograd"):
        make = winograd_input if name == "WinogradInput" else winograd_output
        tile = int(kernel.name.split("_")[2])
        return [make(tile, last) for last in (False, True)]
    if name.startswith("Scatter"):
        return [scatter(name.removeprefix("Scatter").lower())]
    if name == "SegmentSumAccum":
        return [accumulating(segment_sum())]
    if name == "Unbias":
        return [unbias(matmul(b)) for b in (0, 1)]
    if name == "Pack":
        lanes = kernel.dtypes[1].lanes
        places = [(2, 0), (2, 1), (3, 1)]
        return [pack(*place, lanes, ragged) for place in places for ragged in (False, True)]
    if name in ("FillZero", "FillLowest", "FillHighest"):
        value = name.removeprefix("Fill").lower()
        return [fill(1, value), fill(2, value), fill(3, value)]
    if kernel.name.startswith(REPEAT):
        return [broadcast(3, 2)]
    if name == "Broadcast":
        return [broadcast(1, 0), broadcast(2, 0), broadcast(2, 1), broadcast(3, 1)]
    if name == "OnePrefix":
        return [one_prefix(1), one_prefix(2)]
    scans = ((1, 0), (2, 0), (2, 1), (3, 1))
    if name in ("Argmax", "Argmin", "Cumsum"):
        return [scan(PRIMITIVES[name], rank, dim) for rank, dim in scans]
    if name == "DivideVecScalar":
        return [divide_vec_scalar(rank, scan) for rank, scan in scans]
    if name.removesuffix("Accum") in ("Sum", "SumSquares", "Max", "Min"):
        primitive, accumulates = PRIMITIVES[name.removesuffix("Accum")], name.endswith("Accum")
        return [reduce(primitive, rank, scan, accumulates) for rank, scan in scans]
    if name == "SumSquaredDeviationsAccum":
        return [squared_deviations(rank, scan, accumulates=True) for rank, scan in scans]
    if name.startswith("Softmax"):
        accumulates = name.endswith("Accum")
        part = PRIMITIVES[name.removesuffix("Accum")]
        return [softmax(part, rank, scan, accumulates) for rank, scan in scans]
    return _maps(_function(kernel), len(kernel.dtypes) - 1)


def channels_together(kernel: LeafKernel) -> Operation:
    """The convolution of a kernel for groups that share a register, with channels last."""
    channels = int(kernel.name.split("_")[2])
    return grouped_conv(channels, channels, (Windows(2),), True, True)


def _function(kernel: LeafKernel) -> Function:
    """The function of a map's kernel, with a constant if that takes one."""
    constant = kernel.operation.endswith("Constant")
    for name in (*UNARY, *BINARY, *TERNARY):
        if "".join(w.capitalize() for w in name.split("_")) + "Constant" * constant == (
            kernel.operation
        ):
            return Function(name, CONSTANTS[kernel.dtypes[0].is_float] if constant else None)
    raise KeyError(kernel.operation)


def _maps(function: Function, inputs: int) -> list[Operation]:
    if inputs == 1:
        spans: list[tuple[tuple[int, ...], ...]] = [((0,),), ((0, 1),), ((1, 0),), ((0, 1, 2),)]
        ranks = [1, 2, 2, 3]
    elif inputs == 3:
        whole = (0, 1)
        spans = [((0,),) * 3, (whole,) * 3, ((0,), whole, whole), (whole, (0,), (1,))]
        spans += [((0,), whole, (0,)), ((0,), (0, 2), whole), (whole, (0,), (0,))]
        ranks = [1, 2, 2, 2, 2, 2, 2]
    else:
        whole = (0, 1)
        spans = [((0,), (0,)), (whole, whole), ((0,), whole), (whole, (1,)), ((1,), (0,))]
        spans += [((0, 2), whole), (whole, (2, 1))]  # with a dimension of size 1
        ranks = [1, 2, 2, 2, 2, 2, 2]
    return [elementwise(function, span, rank) for span, rank in zip(spans, ranks, strict=True)]


# ---- where operands are


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

    def around(self, rank: int) -> Placement:
        """The placement of the whole tensor, or of registers."""
        if self.vector:
            return Placement(self.layout, rank, vector=self.vector)
        return gapless(self.layout)

    def can_be(self, shape: Sequence[Ints], target: Target, dtype: DType) -> Bools:
        """Where a legal program can have such a tile."""
        if self.vector:
            size = shape[self.layout.order[-1]]
            masked = target.masks and self.vector == target.widths(dtype)[0]
            whole: Bools = (size % self.vector == 0) | masked
            return whole
        if self.layout.panel is None:
            return np.ones(len(shape[0]), np.bool_)
        dim, width = self.layout.panel
        small = (shape[dim] <= width) & (not self.layout.odd_even)
        legal: Bools = small | (shape[dim] % width == 0)
        return legal


@cache
def _homes(rank: int, held: InRegisters | None, dtype: DType, target: Target) -> tuple[Home, ...]:
    """Homes in registers along any dimension, and in memory in layouts of all kinds."""
    if held is not None:
        along = range(rank) if held.width > 1 else [rank - 1]
        return tuple(Home(fastest(rank, d), vector=held.width) for d in along)
    widest = target.widths(dtype)[0]
    layouts = [Layout(order) for order in permutations(range(rank))]
    if rank > 1:
        layouts += [panels(rank, d, n) for d in range(rank) for n in (widest, 2 * widest)]
        layouts += [odd_even(rank, block) for block in (8, 16, 32)]
    else:
        layouts += [odd_even(1, block) for block in (8, 16, 32)]
    gaps = {(False,) * rank, (True,) * rank, (False,) * (rank - 1) + (True,)}
    return tuple(Home(layout, some) for layout in layouts for some in sorted(gaps))


# ---- cases


@dataclass(frozen=True)
class Case:
    """A Spec that a kernel closes, with a home for every operand."""

    kernel: LeafKernel
    spec: Spec
    homes: tuple[Home, ...]

    def buffer_shape(self, operand: int) -> tuple[int, ...]:
        """The shape of the array behind an operand; of registers, with their lanes last."""
        shape, home = self.spec.shape(operand), self.homes[operand]
        if home.vector:
            return (*self._registers(operand, "r").counts(), home.vector)
        return tuple(int(n) for n in home.whole(home.middle([np.array(s) for s in shape])))

    def places(self, operand: int) -> Ints:
        """Where the operand's elements lie in the array behind it."""
        shape, home = self.spec.shape(operand), self.homes[operand]
        if home.vector:
            whole = places(self.buffer_shape(operand), row_major(len(shape) + 1))
            along = home.layout.order[-1]
            index = list(np.indices(shape))
            lane = index[along] % home.vector
            index[along] = index[along] // home.vector
            in_registers: Ints = whole[(*index, lane)]
            return in_registers
        where = places(self.buffer_shape(operand), self._layout(operand))
        tile = zip(self._starts(operand), shape, strict=True)
        return where[tuple(slice(begin, begin + size) for begin, size in tile)]

    def elements(self, operand: int) -> int:
        """The elements of the array behind an operand."""
        shape, home = self.buffer_shape(operand), self.homes[operand]
        return int(np.prod(shape if home.vector else self._layout(operand).extents(shape)))

    def _layout(self, operand: int) -> Layout:
        """The layout of the array behind an operand, as the code knows it."""
        whole = self.buffer_shape(operand)
        return canonical(whole, gapless(self.homes[operand].layout)).layout

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
            return self._registers(operand, f"{name}_reg")
        whole = self.buffer_shape(operand)
        view = buffer_view(name, self._layout(operand), whole)
        for dim, (size, start) in enumerate(zip(shape, self._starts(operand), strict=True)):
            middle = whole[dim] // 3 if home.gaps[dim] else whole[dim]
            view = view.cut(dim, middle, start // middle * middle, None, 1)
            view = view.cut(dim, size, start % middle, None, 1)
        return view

    def _registers(self, operand: int, name: str) -> RegisterView:
        home = self.homes[operand]
        return register_view(name, home.layout, self.spec.shape(operand), home.vector)

    def function(self, name: str, target: Target) -> str:
        """C that fills registers from arrays, runs the kernel, and empties them again."""
        operands = self.spec.operation.operands
        views = [self.view(i, operand.name) for i, operand in enumerate(operands)]
        before, after = [], []
        for operand, view, dtype in zip(operands, views, self.spec.dtypes, strict=True):
            if isinstance(view, RegisterView):
                counts = "".join(f"[{n}]" for n in view.counts())
                before.append(f"{c_type(dtype, view.width)} {view.name}{counts};")
                before.append(f"__builtin_memcpy({view.name}, {operand.name}, sizeof {view.name});")
                after.append(f"__builtin_memcpy({operand.name}, {view.name}, sizeof {view.name});")
        impl = Impl(self.spec, target, Select(self.kernel.name))
        statements = Emitter(target, impl.spec).emit(ImplNode(impl), views)
        lines = [*before, *Printer(NamesInC(), {}).lines(statements), *after]
        return function(name, self.spec, lines)


def function(name: str, spec: Spec, lines: Sequence[str], more: str = "") -> str:
    parameters = ", ".join(
        f"{dtype.c} *restrict {operand.name}"
        for operand, dtype in zip(spec.operation.operands, spec.dtypes, strict=True)
    )
    return "\n  ".join([f"void {name}({parameters}{more}) {{", *lines]) + "\n}\n"


def part_case(kernel: LeafKernel) -> Case | None:
    """A case for kernels of parts of registers: a contiguous tile along one dimension."""
    if not kernel.masked:
        return None
    (operation, *_) = operations(kernel)
    width = int(re.findall(r"x(\d+)", kernel.name)[-1])
    vectors = [held.width if held else 0 for held in kernel.held]
    homes = tuple(Home(row_major(1), (False,), vector) for vector in vectors)
    placements = tuple(gapless(row_major(1)) for _ in kernel.held)
    levels = (0,) * len(kernel.held)
    return Case(kernel, Spec(operation, (width,), levels, placements, kernel.dtypes), homes)


def part_function(case: Case, name: str) -> str:
    """C of a kernel of parts, whose length is an argument."""
    kernel, operation = case.kernel, case.spec.operation
    names, before, after = {"length": "length"}, [], []
    for operand, home, dtype in zip(operation.operands, case.homes, kernel.dtypes, strict=True):
        names[operand.name] = f"{operand.name}[0]"
        if home.vector:
            register = names[operand.name] = f"{operand.name}_reg"
            before.append(f"{c_type(dtype, home.vector)} {register};")
            before.append(f"__builtin_memcpy(&{register}, {operand.name}, sizeof {register});")
            after.append(f"__builtin_memcpy({operand.name}, &{register}, sizeof {register});")
    lines = [*before, kernel.c.format(**names), *after]
    return function(name, case.spec, lines, ", long length")


# ---- random ones


def _random_sizes(
    operation: Operation, widths: Sequence[int], random: np.random.Generator
) -> list[Ints]:
    """Most sizes are 1; one or two are as long as registers or blocks, or of any length."""
    dims = len(operation.dims)
    long = random.random((dims, ROWS)).argsort(axis=0) < random.choice(
        [0, 1, 2], ROWS, p=[0.1, 0.5, 0.4]
    )
    multiples = [w * n for w in widths for n in (1, 1, 2, 3)]
    known = np.array([*multiples, *multiples, *POWERS])
    lengths = random.choice(known, (dims, ROWS))
    anything = np.where(
        random.random((dims, ROWS)) < 0.3,
        random.integers(1, 16, (dims, ROWS)) if widths else random.choice(LONG, (dims, ROWS)),
        random.integers(1, 70, (dims, ROWS)),
    )
    lengths = np.where(random.random((dims, ROWS)) < 0.3, anything, lengths)
    for index, dim in enumerate(operation.dims):
        if dim in ("r", "z"):  # there is only one of these
            lengths[index] = 1
    return [column.astype(np.int32) for column in np.where(long, lengths, 1)]


def _wanted(kernel: LeafKernel) -> dict[str, range]:
    """Sizes that random ones hardly ever have, by dimension."""
    if kernel.name.startswith(FILTERS):
        n = kernel.registers
        return {"i": range(n, n + 1), "j": range(n, n + 1), "k": range(1, 6), "l": range(1, 6)}
    if kernel.name.startswith(REPEAT):
        times = int(kernel.name.removeprefix(REPEAT)[0])
        return {"i": range(1, 2), "j": range(32, 70), "k": range(times, times + 1)}
    if kernel.operation == "DepthwiseConv":
        sizes = {"y": range(1, depthwise.ROWS + 1), "x": range(4, 60)}
        return dict.fromkeys("bgc", range(1, 2)) | dict.fromkeys("pq", range(1, PIXELS + 1)) | sizes
    if "_windows_" in kernel.name:
        count = int(kernel.name.split("_")[2])
        window = {"p": range(1, WINDOW_ROWS + 1), "q": range(count, count + 1)}
        return dict.fromkeys("bcy", range(1, 2)) | {"x": range(4, 60)} | window
    if BY_TWO in kernel.name:
        (width,) = (held.width for held in kernel.held if held)
        several = {"f": range(1, MOST_REGISTERS + 1)} if kernel.operation == "ConvAccum" else {}
        return {"x": range(width, width + 1), **several}
    if kernel.operation == "GroupedConvAccum":
        (width,) = (held.width for held in kernel.held if held)
        channels = int(kernel.name.split("_")[2])
        each = range(channels, channels + 1)
        return {"g": range(1, width // channels + 1), "f": each, "c": each}
    if kernel.operation == "QuantizedMatmul":
        tiles = {"m": range(5, 17), "n": range(16, 49, 16)}
        return tiles if "_tiles_" in kernel.name else {"m": range(1, 6), "n": range(1, 20)}
    if "_tiles_" in kernel.name:
        return dict.fromkeys("mnk", range(1, 5 * SIDE))
    if kernel.operation.startswith("Winograd"):
        tile = int(kernel.name.split("_")[2])
        dims, side = ("pq", tile + 2) if kernel.operation == "WinogradInput" else ("ij", tile)
        whole = dict.fromkeys(dims, side) | {"t": points(tile)}
        return {dim: range(size, size + 1) for dim, size in whole.items()}
    if kernel.name.startswith(("few_columns", "few_rows")):
        width = int(kernel.name.rpartition("x")[2])
        lengths = range(width, 70) if width >= 16 else range(width, 70, width)
        least = COLUMNS // rows_at_once(width)
        along, columns = ("m", "n") if kernel.name.startswith("few_columns") else ("n", "m")
        return {along: range(4, 12), "k": lengths, columns: range(least, MOST_COLUMNS + 1)}
    if kernel.name.startswith("byte_rows"):
        return {"k": range(2, MOST_BYTE_ROWS + 1)}
    if not kernel.streams:
        return {}
    few = kernel.name.startswith("block_sums")
    named = [
        way
        for way in (BLOCK_READINGS if few else ROW_READINGS)
        if f"_sums{way.name}_" in kernel.name.replace("_pairs", "_sums")
    ]
    rows = max(named, key=lambda way: len(way.name)).rows
    block = {"m": range(2, MOST_ROWS + 1), "n": range(8, 70)}
    return {"k": range(rows, rows + 1)} | (block if few else {})


def _codes(
    homes: Sequence[Home],
    choice: Ints,
    shape: Sequence[Ints],
    placements: Placements,
    element_bytes: int,
) -> Ints:
    """The placements of tiles of these shapes, each at the home of this number."""
    codes = np.zeros(len(choice), np.int16)
    middle, whole = ([column.copy() for column in shape] for _ in range(2))
    for number in np.unique(choice).tolist():
        home, rows = homes[number], np.flatnonzero(choice == number)
        codes[rows] = placements.code(home.around(len(shape)))
        if not home.vector:
            inner = home.middle([column[rows] for column in shape])
            for dim, sizes in enumerate(zip(inner, home.whole(inner), strict=True)):
                middle[dim][rows], whole[dim][rows] = sizes
    for before, after in ((whole, whole), (whole, middle), (middle, shape)):
        codes = placements.tile(before, after, codes, element_bytes).astype(np.int16)
    return codes


Batches = dict[tuple[object, ...], tuple[Batch, list[Ints]]]

MOST_DRAWN = 20
"""How often random Specs are drawn before a kernel is taken for one that has no cases."""


def _random_batch(
    operation: Operation,
    kernel: LeafKernel,
    target: Target,
    placements: Placements,
    random: np.random.Generator,
) -> tuple[Batch, list[Ints]]:
    """Specs of random sizes and homes, and the number of each operand's home."""
    widths = sorted({held.width for held in kernel.held if held and held.width > 1})
    sizes = _random_sizes(operation, widths, random)
    if operation.name == "Pack":
        lanes = kernel.dtypes[1].lanes
        fewest = 1 if is_ragged(operation) else lanes
        sizes[-1] = random.integers(fewest, lanes + 1, ROWS, np.int32)
    for dim, wanted in _wanted(kernel).items():
        if dim not in operation.dims:
            continue
        drawn = wanted.start + wanted.step * random.integers(0, len(wanted), ROWS)
        sizes[operation.dims.index(dim)] = drawn.astype(np.int32)
    if operation.name == "QuantizedMatmul":
        groups = random.integers(1, 20, ROWS)
        numbers = groups * random.choice([32, 64, 128], ROWS)
        size = WEIGHTS[kernel.dtypes[1].name]
        sizes[2:] = [column.astype(np.int32) for column in (numbers, numbers // 32 * size, groups)]
    possible = np.ones(ROWS, np.bool_)
    levels, codes, chosen = [], [], []
    for operand, (held, dtype) in enumerate(zip(kernel.held, kernel.dtypes, strict=True)):
        shape = operation.extents(operand, sizes)
        known = _homes(len(shape), held, dtype, target)
        most = len(known) if kernel.name.startswith(FILTERS) else MOST_HOMES
        some = random.permutation(len(known))[:most]
        choice = random.choice(some, ROWS)
        legal = np.zeros(ROWS, np.bool_)
        for index in some.tolist():
            rows = np.flatnonzero(choice == index)
            legal[rows] = known[index].can_be([column[rows] for column in shape], target, dtype)
        possible &= legal
        code = np.zeros(ROWS, np.int16)
        tiles = [column[legal] for column in shape]
        code[legal] = _codes(known, choice[legal], tiles, placements, dtype.bytes)
        levels.append(np.full(ROWS, target.operand_level(kernel, operand), np.int8))
        codes.append(code)
        chosen.append(choice)
    batch = Batch(
        operation, kernel.dtypes, placements, tuple(sizes), tuple(levels), tuple(codes)
    )  # fmt: skip
    for operand, held in enumerate(kernel.held):
        if held is not None:
            possible &= batch.registers(operand) <= MOST_REGISTERS
    kept = np.flatnonzero(possible)
    return batch[kept], [choice[kept] for choice in chosen]


def random_cases(target: Target) -> list[Case]:
    """A few random cases of every kernel, of each operation that it is for."""
    random, placements = np.random.default_rng(0), Placements()
    batches: Batches = {}
    found = []
    for kernel in target.kernels:
        own: list[Case] = []
        own_batches = batches
        for _ in range(MOST_DRAWN):
            own = _random_cases(kernel, target, placements, random, own_batches)
            if own:
                break
            own_batches = {}  # what is rare is drawn again
        found += [own[i] for i in random.permutation(len(own))[:MOST].tolist()]
    return found


def _random_cases(
    kernel: LeafKernel,
    target: Target,
    placements: Placements,
    random: np.random.Generator,
    batches: Batches,
) -> list[Case]:
    """Cases of a kernel from random Specs; kernels with like operands share the Specs."""
    own: list[Case] = []
    for operation in operations(kernel):
        batch, chosen = drawn(operation, kernel, target, placements, random, batches)
        holds = np.ones(len(batch), np.bool_)
        for condition in Select(kernel.name).conditions(batch, target):
            holds &= condition.holds
        for row in random.permutation(np.flatnonzero(holds))[:PER_OPERATION].tolist():
            homes = tuple(
                _homes(len(batch.shape(o)), held, kernel.dtypes[o], target)[chosen[o][row]]
                for o, held in enumerate(kernel.held)
            )
            own.append(Case(kernel, batch.spec(row), homes))
    return own


def drawn(
    operation: Operation,
    kernel: LeafKernel,
    target: Target,
    placements: Placements,
    random: np.random.Generator,
    batches: Batches,
) -> tuple[Batch, list[Ints]]:
    """Random Specs of an operation, with the numbers of the operands' homes.

    Kernels of operands alike have them in common, in `batches`.
    """
    spans = tuple(o.dims for o in operation.operands)
    sizes = tuple((dtype.bytes, dtype.lanes) for dtype in kernel.dtypes)
    rare = _wanted(kernel).values()
    shape = operation.dims, operation.untiled, spans
    key = (*shape, kernel.held, sizes, kernel.streams, *rare)
    if key not in batches:
        batches[key] = _random_batch(operation, kernel, target, placements, random)
    like, chosen = batches[key]
    return replace(like, operation=operation, dtypes=kernel.dtypes), chosen
