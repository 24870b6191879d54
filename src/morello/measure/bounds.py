"""The roofline of a Spec: the least time that a machine needs for its products and its bytes.

What has to be done follows from the definition of the Spec, not from a program: the multiply-adds
of its products, each of its arrays read or written once. Other arithmetic is not counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from morello.ir.dtype import BF16, F16, F32, I8, U8, DType
from morello.ir.spec import Spec, SpecPart
from morello.ir.tensor import LINE_BYTES
from morello.targets.costs import coefficients
from morello.targets.kernels.products import MULTIPLY_ADD
from morello.targets.target import Target

PRODUCTS = "products"
"""The bound of a Spec whose multiply-adds take longer than its bytes."""

MEMORY = "memory"


@dataclass(frozen=True)
class Peak:
    """The peak of some threads: billions of operations a second by dtype, GB/s by bytes read.

    `caches` are the bytes of the caches by name, the nearest first, and `hertz` is the clock of one
    thread, 0 if they are not known.
    """

    gops: Mapping[str, float]
    reads: Mapping[int, float]
    caches: Mapping[str, int] = field(default_factory=dict)
    hertz: float = 0.0

    def bandwidth(self, size: int) -> float:
        """GB/s of repeatedly reading a working set of about `size` bytes."""
        nearest = min(self.reads, key=lambda known: abs(math.log(known / size)))
        return self.reads[nearest]

    def product_seconds(self, flops: int, dtype: str) -> float:
        """A lower bound of the seconds for `flops` operations; 0 for dtypes without a peak."""
        peak = self.gops.get(dtype, 0.0)
        return flops / peak / 1e9 if peak else 0.0

    def level(self, size: int) -> str:
        """The nearest memory that holds so many bytes."""
        return next((name for name, held in self.caches.items() if size <= held), MEMORY)


@dataclass(frozen=True)
class Bound:
    """The least seconds of a Spec, and what takes them: "products", or the level it reads from."""

    seconds: float
    by: str

    def share(self, seconds: float) -> float:
        """The fraction of the roofline that a program of so many seconds reaches."""
        return self.seconds / seconds


def percent(fraction: float) -> str:
    """A fraction of a bound as text."""
    return f"{round(100 * fraction)} %"


def bound(spec: Spec, peak: Peak, constants: Collection[str] = (), resident: int = 0) -> Bound:
    """The least time of a Spec: the largest of those of its products and of its bytes by level.

    A call reads its arrays from where they were left by the last one, which read and wrote all of
    them. `constants` are arrays by name that are left to `resident` bytes in all between two calls,
    as the weights of a model are.
    """
    flops = product_flops(spec)
    products = sum(peak.product_seconds(flops[dtype], dtype) for dtype in flops)
    sizes = moved_bytes(spec)
    weights = sum(sizes[name] for name in constants)
    others = sum(sizes.values()) - weights
    times = [Bound(products, PRODUCTS)]
    for size, kept in ((weights, max(weights, resident)), (others, others)):
        if size:
            seconds = size / peak.bandwidth(kept) / 1e9
            times.append(Bound(seconds, peak.level(kept)))
    return max(times, key=lambda each: each.seconds)


def total(bounds: Iterable[Bound]) -> Bound:
    """The bound of several kernels that run one after the other: what takes the most of it."""
    seconds: dict[str, float] = defaultdict(float)
    for each in bounds:
        seconds[each.by] += each.seconds
    return Bound(sum(seconds.values()), max(seconds, key=lambda by: seconds[by]))


def least_cycles(spec: Spec, machine: Target) -> float:
    """The least cost of any program on one core of a target.

    Only bytes and multiply-adds in f32 are counted: others may run on matrix units.
    """
    each = MULTIPLY_ADD * coefficients(machine)["kernels.products"] / machine.widths(F32)[0]
    multiply_adds = product_flops(spec)[F32.name] / 2
    lines = sum(moved_bytes(spec).values()) / LINE_BYTES
    return max(each * multiply_adds, machine.levels[0].per_line * lines)


def product_flops(spec: Spec) -> Counter[str]:
    """The operations of its sums of products, by the dtype of `Peak.gops` that they run at."""
    flops: Counter[str] = Counter()
    for part in spec.parts:
        primitive = part.operation.primitive
        assert primitive is not None
        if primitive.in_bytes:
            flops[U8.name] += part.flops
        elif primitive.is_product:
            flops[_rate(part.dtypes[:2])] += part.flops
    return flops


def _rate(dtypes: Sequence[DType]) -> str:
    """The dtype whose peak bounds products of these: the wider one; bytes are never converted."""
    if any(dtype in (U8, I8) for dtype in dtypes):
        return U8.name
    wider = next((dtype for dtype in dtypes if dtype is not BF16), BF16)
    return F32.name if wider is F16 else wider.name


def moved_bytes(spec: Spec) -> dict[str, int]:
    """The bytes that a call has to read or write of each array: of a table, the rows it takes."""
    return {name: _moved(spec, operand) for name, operand in spec.arrays.items()}


def _moved(spec: Spec, operand: int) -> int:
    whole: int = spec.tensor(operand).bytes
    readers = [part for part in spec.parts if operand in part.inputs]
    if not readers or not all(_looks_up(part, operand) for part in readers):
        return whole
    taken = sum(_taken(part, operand) for part in readers)
    return min(whole, taken * spec.dtypes[operand].bytes)


def _looks_up(part: SpecPart, operand: int) -> bool:
    """Whether only those elements of an operand are read that another one numbers."""
    primitive = part.operation.primitive
    assert primitive is not None
    if primitive.chosen:
        return primitive.chosen in _dims(part, operand)
    numbers = [part.inputs[number] for number in primitive.indices]
    return bool(numbers) and operand not in numbers


def _taken(part: SpecPart, operand: int) -> int:
    """How many elements are read of an operand that is looked up in, with repetitions."""
    operation, primitive, sizes = part.operation, part.operation.primitive, part.sizes
    assert primitive is not None
    if not primitive.chosen:
        return int(prod(operation.extents(operation.output, [*sizes.values()])))
    (numbers,) = primitive.indices
    matrix = prod(sizes[dim] for dim in _dims(part, operand) if dim != primitive.chosen)
    return matrix * int(prod(operation.extents(numbers, [*sizes.values()])))


def _dims(part: SpecPart, operand: int) -> tuple[str, ...]:
    """The dimensions of an operand, as the part calls them."""
    return part.operation.operands[part.inputs.index(operand)].dims
