"""The space of programs by its definition, with nothing of what the search knows of it.

What `brute` enumerates, it takes from the rules of the search; here they are written anew: loops,
copies to nearer levels, registers, decompositions and kernels, of products and softmax of f32. How
a tensor lies is no `Placement` but the address of every element. No rule asks whether it can win.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product
from math import inf, prod

Amounts = tuple[int, ...]

PER_LINE, BYTES = 16, 4
"""The elements of a cache line, and the bytes of each."""
VECTOR = 4
SMOOTH = (1, 2, 3, 4, 6, 8, 9, 12, 16)

LINE_CYCLES, RUN_CYCLES = (4.0, 1.5), (6.0, 0.5)
"""To bring a line, or a run of adjacent elements, to the next level, from each one."""

CYCLES = {
    "load_f32x4": 0.3, "load_f32": 0.3, "store_f32x4": 1.0, "store_f32": 1.0, "copy_f32x4": 1.3,
    "copy_f32": 1.3, "zero_f32x4": 0.1, "zero_f32": 0.1, "lowest_f32x4": 0.1, "lowest_f32": 0.1,
    "zero_memory_f32x4": 1.0, "zero_memory_f32": 1.0, "lowest_memory_f32": 1.0,
    "fma_row_f32x4": 0.55, "fma_row_f32": 0.55, "fma_column_f32x4": 0.6, "fma_column_f32": 0.6,
    "dot_f32x4": 3.2,
    "max_run_f32x4": 4.9, "exp_sum_run_f32x4": 14.3, "online_run_f32x4": 18.0,
    "exp_store_run_f32x4": 15.5, "softmax_complete_run_f32x4": 16.0, "scale_run_f32x4": 5.0,
    "max_lanes_f32x4": 1.5, "exp_sum_lanes_f32x4": 7.0, "exp_store_lanes_f32x4": 7.5,
    "softmax_complete_lanes_f32x4": 14.0, "divide_scalar_f32x4": 8.2,
    "max_lanes_f32": 1.5, "exp_sum_lanes_f32": 6.0, "exp_store_lanes_f32": 6.5,
    "softmax_complete_lanes_f32": 13.0, "divide_scalar_f32": 7.2,
}  # fmt: skip
"""The kernels that there are, and what each takes, whatever the length of its run."""

SCRATCH = 1
"""The registers that a kernel of several instructions needs, beside its operands."""
NO_SCRATCH = ("load", "store", "zero", "lowest")


def scratch(kernel: str) -> int:
    return 0 if kernel.startswith(NO_SCRATCH) else SCRATCH


# ---- operations


@dataclass(frozen=True)
class Operation:
    """Operands are given as `name:dims`; `start` says what written ones accumulate from."""

    name: str
    operands: tuple[str, ...]
    written: tuple[str, ...]
    start: tuple[tuple[str, str], ...] = ()
    reduced: str = ""
    whole: str = ""
    updated: str = ""
    accumulates: bool = False

    @property
    def names(self) -> list[str]:
        return [operand.partition(":")[0] for operand in self.operands]

    def dims(self, operand: int) -> str:
        return self.operands[operand].partition(":")[2]

    def overlaps(self, dim: str) -> bool:
        """Whether parts along a dimension may: what is written twice is the same both times."""
        outputs = (self.names.index(name) for name in self.written)
        return dim not in self.reduced and not any(self.reads(output) for output in outputs)

    def reads(self, operand: int) -> bool:
        name = self.names[operand]
        again = self.accumulates and name in dict(self.start)
        return name not in self.written or name == self.updated or again


_ROWS, _SUM = ("max:i", "denominator:i"), ("denominator", "Zero")
OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("Matmul", ("a:mk", "b:kn", "c:mn"), ("c",), (("c", "Zero"),), "k"),
        Operation("Max", ("x:ij", "out:i"), ("out",), (("out", "Lowest"),), "j"),
        Operation("Softmax", ("x:ij", "out:ij"), ("out",), whole="j"),
        Operation("SoftmaxComplete", ("x:ij", *_ROWS, "out:ij"), ("out",)),
        Operation("SoftmaxDenominator", ("x:ij", *_ROWS), ("denominator",), (_SUM,), "j"),
        Operation(
            "SoftmaxDenominatorAndMax", ("x:ij", *_ROWS), ("max", "denominator"),
            (("max", "Lowest"), _SUM), "j",
        ),
        Operation(
            "SoftmaxDenominatorAndUnscaled", ("x:ij", "denominator:i", "out:ij"),
            ("denominator", "out"), whole="j",
        ),
        Operation(
            "SoftmaxDenominatorAndUnscaledFromMax", ("x:ij", *_ROWS, "out:ij"),
            ("denominator", "out"), (_SUM,), "j",
        ),
        Operation("DivideVecScalar", ("denominator:i", "out:ij"), ("out",), updated="out"),
    )
}  # fmt: skip

PARTS = {
    "Softmax": (
        (("denominator",), ("SoftmaxDenominatorAndUnscaled", "DivideVecScalar")),
        (("max", "denominator"), ("SoftmaxDenominatorAndMax", "SoftmaxComplete")),
    ),
    "SoftmaxDenominatorAndMax": (((), ("Max", "SoftmaxDenominator")),),
    "SoftmaxDenominatorAndUnscaled": (
        (("max",), ("Max", "SoftmaxDenominatorAndUnscaledFromMax")),
    ),
}  # fmt: skip
"""Tensors between, which have a number a row, and the steps. What Max writes is called `max`."""


def _move(dims: str) -> Operation:
    return Operation("Move", (f"src:{dims}", f"dst:{dims}"), ("dst",))


def _fill(start: str, dims: str) -> Operation:
    return Operation(f"Fill{start}", (f"dst:{dims}",), ("dst",))


def held_by_kernels(operation: Operation) -> bool:
    """Whether kernels do it in registers, at once or as it accumulates.

    The maximum and the denominator in one pass have kernels of runs only. So the search does not
    hold x in registers for one pass after the other, which may be a little cheaper (softmax of
    4x1 here: 40.9 cycles, not 41.5).
    """
    later = bool(operation.start) and not operation.accumulates
    return operation.name + "Accum" * later in {"MatmulAccum", *LANES}


# ---- places


@dataclass(frozen=True)
class Place:
    """Where an operand is: the addresses of its elements, counted from the first of them, or `()`
    and registers of `width` elements along the dimension `along` ("" if they have one)."""

    level: int
    addresses: tuple[int, ...]
    width: int = 0
    along: str = ""


@cache
def in_order(shape: Amounts, order: Amounts, panel: tuple[int, int] | None = None) -> Amounts:
    """The addresses of a tensor whose dimensions lie in this order, slowest first. A `panel` is a
    dimension, and how many of its elements lie innermost, next to each other."""
    places = []
    for index in product(*map(range, shape)):
        key = [index[d] // panel[1] if panel and d == panel[0] else index[d] for d in order]
        places.append((*key, index[panel[0]] % panel[1] if panel else 0))
    ranks = {key: rank for rank, key in enumerate(sorted(places))}
    return tuple(ranks[key] for key in places)


@cache
def part_of(addresses: Amounts, shape: Amounts, dim: int, start: int, stop: int) -> Amounts:
    """The addresses of a part along a dimension, counted from its first."""
    inside = [
        address
        for address, index in zip(addresses, product(*map(range, shape)), strict=True)
        if start <= index[dim] < stop
    ]
    return tuple(address - min(inside) for address in inside)


@cache
def runs(addresses: Amounts) -> list[int]:
    """The lengths of runs of adjacent elements."""
    ordered = enumerate(sorted(addresses))
    return [len([*run]) for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0])]


def lines(addresses: Amounts) -> int:
    return sum(-(-length // PER_LINE) for length in runs(addresses))


def tiles(size: int) -> list[int]:
    """The sizes of parts: all divisors, but of sizes with other factors than 2 and 3 the largest
    power of two, which leaves a remainder, or overlaps. (Larger sizes have others that overlap.)"""
    if size in SMOOTH:
        return [n for n in range(1, size) if size % n == 0]
    return [1 << size.bit_length() - 1]


# ---- tasks


@dataclass(frozen=True)
class Task:
    """An operation to do on operands of some sizes, at some places."""

    operation: Operation
    sizes: tuple[tuple[str, int], ...]
    places: tuple[Place, ...]

    def size(self, dim: str) -> int:
        return dict(self.sizes)[dim]

    def shape(self, operand: int) -> Amounts:
        return tuple(self.size(dim) for dim in self.operation.dims(operand))

    def registers(self, operand: int) -> int:
        """How many hold an operand."""
        place, dims = self.places[operand], self.operation.dims(operand)
        widths = [place.width if dim == place.along else 1 for dim in dims]
        return prod(-(-n // w) for n, w in zip(self.shape(operand), widths, strict=True))

    def placed(self, operand: int, place: Place) -> Task:
        return replace(self, places=(*self.places[:operand], place, *self.places[operand + 1 :]))


@dataclass(frozen=True)
class Step:
    """A way to do a task: cycles of its own, what it holds of a level, and what is left to do."""

    cycles: float = 0.0
    level: int = 0
    held: int = 0
    left: tuple[tuple[int, Task], ...] = ()
    """How often, and what."""


def accumulating(task: Task) -> Step:
    """Fill the outputs, then accumulate into them."""
    base, left = task.operation, []
    for name, start in base.start:
        operand = base.names.index(name)
        dims = base.dims(operand)
        sizes = tuple((dim, task.size(dim)) for dim in dims)
        left.append((1, Task(_fill(start, dims), sizes, (task.places[operand],))))
    later = replace(base, name=f"{base.name}Accum", accumulates=True)
    return Step(left=(*left, (1, replace(task, operation=later))))


def layouts(task: Task, operand: int) -> Iterator[Amounts]:
    """Row-major and column-major, and for the inputs of a product panels of whole registers.

    No copy turns rows into columns, which would pay where there are too few registers for a tile:
    1x4x4 here takes 212 cycles with two registers, and not 62.
    """
    shape, dims, addresses = (
        task.shape(operand),
        task.operation.dims(operand),
        task.places[operand].addresses,
    )
    yield in_order(shape, (0, 1))
    if addresses != tuple(sorted(addresses)):
        yield in_order(shape, (1, 0))
    kept = next((d for d in (0, 1) if dims[d] != "k"), 0)
    for width in {"kn": (VECTOR, 2 * VECTOR, 4 * VECTOR), "mk": (VECTOR,)}.get(dims, ()):
        if shape[kept] > width and shape[kept] % width == 0:
            yield in_order(shape, (kept, 1 - kept), (kept, width))


class Definition:
    """The cheapest program of a task on a machine of so many caches."""

    def __init__(self, caches: int) -> None:
        self.nearest, self.register_level = caches, caches + 1
        self._steps: dict[Task, list[Step]] = {}
        self._costs: dict[tuple[Task, Amounts], float] = {}

    def cheapest(self, task: Task, limits: Amounts) -> float:
        """The cost of the cheapest program within these limits of the caches; inf if none is."""
        key = task, limits
        if key not in self._costs:
            if task not in self._steps:
                self._steps[task] = [*self.steps(task)]
            self._costs[key] = min((self._by(s, limits) for s in self._steps[task]), default=inf)
        return self._costs[key]

    def _by(self, step: Step, limits: Amounts) -> float:
        rest = tuple(n - step.held * (i + 1 == step.level) for i, n in enumerate(limits))
        if min(rest) < 0:
            return inf
        return step.cycles + sum(n * self.cheapest(task, rest) for n, task in step.left)

    def steps(self, task: Task) -> Iterator[Step]:
        for kernel in kernels(task, self.nearest):
            yield Step(CYCLES[kernel], self.register_level, scratch(kernel))
        yield from self.loops(task)
        if task.operation.start and not task.operation.accumulates:
            yield accumulating(task)
        yield from self.decompositions(task)
        for operand, place in enumerate(task.places):
            if place.level < self.nearest:
                yield self.used_from_cache(task, operand)
            if task.operation.name != "Move" and not task.operation.name.startswith("Fill"):
                yield from self.copies(task, operand)

    # ---- rules

    def loops(self, task: Task) -> Iterator[Step]:
        """Over parts of equal sizes and places, and over what remains, if they do not overlap."""
        operation = task.operation
        for dim, size in task.sizes:
            if dim in operation.whole or (dim in operation.reduced and not operation.accumulates):
                continue
            for tile in tiles(size):
                whole = [self.part(task, dim, i, i + tile) for i in range(0, size - tile + 1, tile)]
                rest = self.part(task, dim, size - size % tile, size) if size % tile else None
                if whole[0] is not None and len(set(whole)) == 1 and (rest or not size % tile):
                    left = ((len(whole), whole[0]),) + (((1, rest),) if rest else ())
                    yield Step(left=left)
                last = self.part(task, dim, size - tile, size)
                overlaps = size % tile != 0 and operation.overlaps(dim)
                if overlaps and last is not None and {*whole} == {last}:
                    yield Step(left=((len(whole) + 1, last),))

    def part(self, task: Task, dim: str, start: int, stop: int) -> Task | None:
        """The task for a part of a dimension; None if that cuts registers."""
        places = []
        for operand, place in enumerate(task.places):
            dims = task.operation.dims(operand)
            if dim in dims and place.level < self.register_level:
                position, shape = dims.index(dim), task.shape(operand)
                inside = part_of(place.addresses, shape, position, start, stop)
                place = replace(place, addresses=inside)
            elif dim == place.along and (start % place.width or stop % place.width):
                return None
            places.append(place)
        sizes = tuple((d, stop - start if d == dim else n) for d, n in task.sizes)
        return Task(task.operation, sizes, tuple(places))

    def used_from_cache(self, task: Task, operand: int) -> Step:
        """The next cache takes an operand as it is used, and gives it back if it is written."""
        place, operation = task.places[operand], task.operation
        reads, writes = operation.reads(operand), operation.names[operand] in operation.written
        count = lines(place.addresses)
        cycles = count * LINE_CYCLES[place.level] * (reads + writes)
        cycles += reads * len(runs(place.addresses)) * RUN_CYCLES[place.level]
        nearer = task.placed(operand, replace(place, level=place.level + 1))
        return Step(cycles, place.level + 1, count, ((1, nearer),))

    def copies(self, task: Task, operand: int) -> Iterator[Step]:
        """Copies to the next cache, in another order, or from the nearest to registers."""
        place, shape, dims = (
            task.places[operand], task.shape(operand), task.operation.dims(operand)
        )  # fmt: skip
        if place.level < self.nearest and task.operation.name.startswith("Matmul"):
            for addresses in layouts(task, operand):
                if addresses != place.addresses:
                    copy = Place(place.level + 1, addresses)
                    yield self.copied(task, operand, copy, lines(addresses))
        if place.level == self.nearest and held_by_kernels(task.operation):
            scalars = Place(self.register_level, (), 1)
            yield self.copied(task, operand, scalars, prod(shape))
            for dim in dims:
                if task.size(dim) % VECTOR == 0:
                    vectors = Place(self.register_level, (), VECTOR, dim)
                    yield self.copied(task, operand, vectors, prod(shape) // VECTOR)

    def copied(self, task: Task, operand: int, copy: Place, held: int) -> Step:
        """Copied there if it is read, and back if it is written."""
        operation, place, dims = task.operation, task.places[operand], task.operation.dims(operand)
        sizes = tuple((dim, task.size(dim)) for dim in dims)
        left = [(1, task.placed(operand, copy))]
        if operation.reads(operand):
            left.append((1, Task(_move(dims), sizes, (place, copy))))
        if operation.names[operand] in operation.written:
            left.append((1, Task(_move(dims), sizes, (copy, place))))
        return Step(0.0, copy.level, held, tuple(left))

    def decompositions(self, task: Task) -> Iterator[Step]:
        """Decompositions in steps, with a number a row between them, in any memory."""
        operation = task.operation
        rows = task.size("i") if operation.name in PARTS else 0
        for between, names in PARTS.get(operation.name, ()):
            for level in range(self.register_level):
                tensors = dict(zip(operation.names, task.places, strict=True))
                tensors |= {name: Place(level, tuple(range(rows))) for name in between}
                left = []
                for step in (OPERATIONS[name] for name in names):
                    known = ["max" if name == "out" and step.name == "Max" else name
                             for name in step.names]  # fmt: skip
                    left.append((1, Task(step, task.sizes, tuple(tensors[n] for n in known))))
                yield Step(0.0, level, len(between) * -(-rows // PER_LINE), tuple(left))


# ---- kernels


def kernels(task: Task, nearest: int) -> Iterator[str]:
    """The kernels that do a task."""
    name = task.operation.name
    family = name if name in ("Move", "MatmulAccum") else "Fill" * name.startswith("Fill")
    for width, kind in ((VECTOR, "f32x4"), (1, "f32")):
        for kernel in FAMILIES.get(family, _of_rows)(Operands(task, nearest, width)):
            if f"{kernel}_{kind}" in CYCLES:
                yield f"{kernel}_{kind}"


@dataclass(frozen=True)
class Operands:
    """The operands of a task, and conditions on them of kernels of one register width."""

    task: Task
    nearest: int
    width: int

    def near(self, *operands: int) -> bool:
        return all(self.task.places[o].level == self.nearest for o in operands)

    def run(self, *operands: int) -> bool:
        """Whether each lies in the nearest cache, its elements in order and adjacent."""
        places = [self.task.places[o].addresses for o in operands]
        return self.near(*operands) and all(a == tuple(range(len(a))) for a in places)

    def held(self, *operands: int, along: str = "") -> bool:
        """Whether each is in registers of this width, which run along a dimension, if given."""
        places = [self.task.places[o] for o in operands]
        return all(
            place.level > self.nearest
            and place.width == self.width
            and (self.width == 1 or not along or place.along == along)
            for place in places
        )

    def single(self, *operands: int) -> bool:
        """Whether each is one register of this width."""
        return self.held(*operands) and all(self.task.registers(o) == 1 for o in operands)

    @property
    def whole(self) -> bool:
        """Whether the task is on as many elements as a register has, along one dimension."""
        sizes = [n for _, n in self.task.sizes]
        return prod(sizes) == max(sizes) == self.width


def _moves(its: Operands) -> Iterator[str]:
    if its.whole and its.run(0) and its.single(1):
        yield "load"
    if its.whole and its.single(0) and its.run(1):
        yield "store"
    if its.whole and its.run(0, 1):
        yield "copy"


def _fills(its: Operands) -> Iterator[str]:
    start = its.task.operation.name.removeprefix("Fill").lower()
    if its.single(0):
        yield start
    if its.whole and its.run(0):
        yield f"{start}_memory"


def _products(its: Operands) -> Iterator[str]:
    m, k, n = (its.task.size(dim) for dim in "mkn")
    if m == k == 1 and its.near(0) and its.held(1, 2, along="n"):
        yield "fma_row"
    if n == k == 1 and its.near(1) and its.held(0, 2, along="m"):
        yield "fma_column"
    if m == n == 1 and k >= VECTOR and its.run(0, 1) and replace(its, width=1).held(2):
        yield "dot"


def _of_rows(its: Operands) -> Iterator[str]:
    """Along a row in the nearest cache, or on a register in which each number is another row's."""
    operation = its.task.operation
    operands = range(len(operation.operands))
    if operation.name not in RUNS:
        return
    rows = [o for o in operands if operation.dims(o) == "ij"]
    if its.task.size("i") == 1 and its.near(*operands) and its.run(*rows):
        yield RUNS[operation.name]
    if operation.name == "DivideVecScalar":
        if its.task.size("i") == 1 and its.near(0) and its.held(1):
            yield "divide_scalar"
    elif operation.name in LANES and its.task.size("j") == 1 and its.single(*operands):
        yield LANES[operation.name]


FAMILIES = {"Move": _moves, "Fill": _fills, "MatmulAccum": _products}
RUNS = {
    "MaxAccum": "max_run",
    "SoftmaxDenominatorAccum": "exp_sum_run",
    "SoftmaxDenominatorAndMaxAccum": "online_run",
    "SoftmaxDenominatorAndUnscaledFromMaxAccum": "exp_store_run",
    "SoftmaxComplete": "softmax_complete_run",
    "DivideVecScalar": "scale_run",
}
LANES = {
    "MaxAccum": "max_lanes",
    "SoftmaxDenominatorAccum": "exp_sum_lanes",
    "SoftmaxDenominatorAndUnscaledFromMaxAccum": "exp_store_lanes",
    "SoftmaxComplete": "softmax_complete_lanes",
    "DivideVecScalar": "divide_scalar",
}
