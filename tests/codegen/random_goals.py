"""Random goals of every kind: each primitive, and compositions of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random

from tests.goals import apply, goal_of, mapped, product, reduced, tensor

from morello.base.errors import SpecError
from morello.ir.computation import Tensor
from morello.ir.dtype import BF16, F16, F32, I8, I16, I32, U8, U16, U32, DType
from morello.ir.functions import BINARY, INTEGER_FUNCTIONS, ONLY_INTEGERS, UNARY, Function
from morello.ir.layout import Layout
from morello.ir.operation import Operation
from morello.ir.primitives import (
    MAX,
    MAX_POOL,
    MAX_RANK,
    SOFTMAX,
    SOFTMAX_PARTS,
    SUM,
    SUM_POOL,
    SUM_SQUARES,
    Windows,
    broadcast,
    contraction,
    conv,
    divide_vec,
    elementwise,
    fill,
    grouped_conv,
    matmul,
    move,
    one_prefix,
    pool,
    reduce,
    softmax,
    squared_deviations,
)
from morello.ir.spec import Spec, Strides, goal
from morello.targets.kernels import CASTS

PRODUCTS = (
    (BF16, BF16, F32),
    (BF16, BF16, BF16),
    (F32, BF16, F32),
    (F16, F16, F32),
    (F32, F32, F16),
    (U8, I8, I32),
    (I8, I8, I32),
    (U8, I8, I16),
    (I16, I16, I32),
    (I32, I32, I32),
    (U32, U32, U32),
)
"""Dtypes of inputs and outputs of products, other than f32 alone."""

FLOATS = (F32, F32, F32, BF16, F16)
NUMBERS = (*FLOATS, U8, I8, U16, I16, U32, I32)

REDUCTIONS: Sequence[tuple[Callable[[int, int], Operation], Sequence[DType]]] = (
    (partial(reduce, SUM), NUMBERS),
    (partial(reduce, MAX), NUMBERS),
    (partial(reduce, SUM_SQUARES), FLOATS),
    (squared_deviations, (F32,)),
)
"""Constructors of reductions, from a rank and an axis, and the dtypes that have kernels."""

STABLE = ("abs", "neg", "relu", "sigmoid", "tanh", "gelu", "silu")
"""Functions of any number that make no large ones of small ones."""


def size(random: Random, most: int = 20) -> int:
    """A size up to `most`, often one that registers are full of."""
    return random.choice([4, 8, 16, *(random.randint(1, most) for _ in range(3))])


def shape_of(random: Random, rank: int, most: int = 300) -> tuple[int, ...]:
    """Sizes of a tensor of not too many elements."""
    found: list[int] = []
    for _ in range(rank):
        found.append(min(size(random), max(1, most)))
        most //= found[-1]
    return tuple(random.sample(found, rank))


def placed(
    random: Random, operation: Operation, sizes: Sequence[int], dtypes: Sequence[DType]
) -> Spec:
    """The goal with operands in any order of dimensions, some with gaps."""
    layouts: list[Layout | None] = []
    strides: list[Strides] = []
    for operand in range(len(operation.operands)):
        shape = operation.extents(operand, sizes)
        layout, stride = None, None
        if random.random() < 0.3:
            layout = Layout(tuple(random.sample(range(len(shape)), len(shape))))
        if random.random() < 0.2:
            stride = _with_gaps(random, shape, layout)
        layouts.append(layout)
        strides.append(stride)
    parallel = random.random() < 0.4
    return goal(operation, sizes, dtypes, layouts=layouts, strides=strides, parallel=parallel)


def _with_gaps(random: Random, shape: Sequence[int], layout: Layout | None) -> Strides:
    """Strides of a part of a larger tensor."""
    order = layout.order if layout else tuple(range(len(shape)))
    strides, step = [0] * len(shape), random.choice([1, 1, 1, 2])
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim] + random.choice([0, 0, 1, 3])
    return tuple(strides)


# ---- primitives


def matmuls(random: Random) -> Spec:
    batch = tuple(random.randint(1, 3) for _ in range(random.choice([0, 0, 0, 1, 2, 3])))
    sizes = (*batch, *(size(random, 12 if batch else 33) for _ in range(3)))
    return placed(random, matmul(len(batch)), sizes, (F32,) * 3)


def contractions(random: Random) -> Spec:
    """Products of tensors with any dimensions in common, in any order."""
    roles = [random.randint(least, 2) for least in (0, 0, 1, 0)]
    batch, rows, summed, columns = (
        [f"{role}{i}" for i in range(count)] for role, count in zip("bmkn", roles, strict=True)
    )
    labels = [
        tuple(random.sample(dims, len(dims)))
        for dims in (batch + rows + summed, batch + summed + columns, batch + rows + columns)
    ]
    one = contraction(labels[0], labels[1], labels[2] or ("one",))
    known = {d for operand in one.operands[:2] for d in operand.dims}
    sizes = [random.choice([1, 2, 3, 4, 8]) if d in known else 1 for d in one.dims]
    return placed(random, one, sizes, (F32,) * 3)


def other_products(random: Random) -> Spec:
    dtypes = random.choice(PRODUCTS)
    k = random.choice([4, 8, 16, 32, size(random)])
    return placed(random, matmul(), (size(random), k, size(random)), dtypes)


def convolutions(random: Random) -> Spec:
    """Convolutions with strides, padding, dilation and unread elements; some by single pixels."""
    pixels = [random.choice([1, 2, 3]) for _ in range(random.choice([1, 2, 2, 2]))]
    windows = tuple(windows_of(random, count) for count in pixels)
    one = conv(windows, channels_last=random.random() < 0.5)
    dtypes = random.choice([(F32,) * 3, (F32,) * 3, (BF16, BF16, F32)])
    b, f, c = random.randint(1, 2), size(random, 9), random.randint(1, 5)
    # an image needs a pixel of its own beside its padding
    counts = [
        random.randint(-(-max(w.before + w.after - w.dilation * (p - 1), 0) // w.stride) + 1, 5)
        for w, p in zip(windows, pixels, strict=True)
    ]
    return placed(random, one, (b, f, c, *counts, *pixels), dtypes)


def grouped_convolutions(random: Random) -> Spec:
    """Convolutions of several groups of one or more channels and filters."""
    channels, filters, groups = random.randint(1, 3), random.randint(1, 3), random.randint(2, 3)
    if random.random() < 0.5:
        channels, filters, groups = 1, 1, max(2, size(random, 40))
    pixels = [random.choice([1, 2, 3]) for _ in range(random.choice([1, 2]))]
    windows = tuple(windows_of(random, count) for count in pixels)
    one = grouped_conv(channels, filters, windows, channels_last=random.random() < 0.5)
    own = (filters,) if filters > 1 else ()
    counts = [random.randint(3, 5) for _ in pixels]
    return placed(random, one, (1, groups, *own, channels, *counts, *pixels), (F32,) * 3)


def pools(random: Random) -> Spec:
    """Poolings with any windows, of any dtype that has maxima."""
    pixels = [random.choice([1, 2, 3]) for _ in range(random.choice([1, 2]))]
    windows = tuple(windows_of(random, count) for count in pixels)
    one = pool(random.choice([SUM_POOL, MAX_POOL]), windows, random.random() < 0.5)
    counts = [random.randint(3, 5) for _ in pixels]
    sizes = (random.randint(1, 2), size(random, 40), *counts, *pixels)
    return placed(random, one, sizes, (random.choice([F32, F32, I32, I8]),) * 2)


def windows_of(random: Random, pixels: int) -> Windows:
    """Windows of so many pixels; no text says how far apart a single one is from others."""
    stride = random.choice([1, 1, 2, 3])
    after = random.choice([0, 0, 1, 1 - stride])
    return Windows(
        stride, random.choice([0, 0, 1]), after, random.choice([1, 1, 2]) if pixels > 1 else 1
    )


def pointwise_convolutions(random: Random) -> Spec:
    """Convolutions by filters of one pixel."""
    one = conv(channels_last=random.random() < 0.5)
    sizes = (1, size(random, 9), random.randint(1, 5), *(random.randint(1, 6) for _ in "yx"), 1, 1)
    return goal(one, sizes, (F32,) * 3)


def moves(random: Random) -> Spec:
    """Copies in any order, some of which convert."""
    rank = random.randint(1, MAX_RANK)
    order = tuple(random.sample(range(rank), rank))
    dtype = random.choice(NUMBERS)
    dtypes = random.choice([(dtype, dtype), random.choice(CASTS)])
    return placed(random, move(rank, order), shape_of(random, rank), dtypes)


def fills(random: Random) -> Spec:
    rank = random.randint(1, 3)
    one = fill(rank, random.choice(["zero", "lowest"]))
    return placed(random, one, shape_of(random, rank), (random.choice(NUMBERS),))


def _functions(names: Iterable[str], dtype: DType) -> list[str]:
    """The functions among these that a dtype has, sorted."""
    return sorted({*names} - ONLY_INTEGERS if dtype.is_float else {*names} & INTEGER_FUNCTIONS)


def unary_maps(random: Random) -> Spec:
    rank = random.randint(1, MAX_RANK)
    dtype = random.choice(NUMBERS)
    known = _functions(UNARY, dtype)
    known.remove("cast")
    one = elementwise(Function(random.choice(known)), (tuple(range(rank)),), rank)
    return placed(random, one, shape_of(random, rank), (dtype, dtype))


def binary_maps(random: Random) -> Spec:
    """Maps of an operand and one of fewer dimensions, a constant, or one of the same shape."""
    rank = random.randint(1, 3)
    dtype = random.choice(NUMBERS)
    known = _functions(BINARY, dtype)
    name, whole = random.choice(known), tuple(range(rank))
    if random.random() < 0.25:
        one = elementwise(Function(name, random.choice([2.0, 3.0])), (whole,), rank)
    else:
        part = tuple(sorted(random.sample(whole, random.randint(1, rank))))
        spans = random.choice([(whole, part), (part, whole)])
        one = elementwise(Function(name), spans, rank)
    return placed(random, one, shape_of(random, rank), (dtype,) * len(one.operands))


def divisions(random: Random) -> Spec:
    rank = random.randint(1, 3)
    return placed(random, divide_vec(rank), shape_of(random, rank), (F32,) * 3)


def broadcasts(random: Random) -> Spec:
    rank = random.randint(1, 3)
    one = broadcast(rank, random.randrange(rank))
    if rank == 1:
        return placed(random, one, (1, size(random)), (F32, F32))
    if random.random() < 0.2:
        return placed(random, one_prefix(rank), (1, *shape_of(random, rank)), (F32, F32))
    return placed(random, one, shape_of(random, rank), (F32, F32))


def reductions(random: Random) -> Spec:
    rank = random.choice([1, 2, 2, 3, 3, 5])
    make, known = random.choice(REDUCTIONS)
    one = make(rank, random.randrange(rank))
    extra = (1,) * (rank == 1)
    dtypes = (random.choice(known),) * len(one.operands)
    return placed(random, one, (*extra, *shape_of(random, rank)), dtypes)


def softmaxes(random: Random) -> Spec:
    """All in one, or the parts that have one output."""
    rank = random.randint(1, 3)
    scan = random.choice([rank - 1, rank - 1, random.randrange(rank)])
    part = random.choice(["", "", "", "", "Complete", "Denominator"])
    one = softmax(SOFTMAX_PARTS[f"Softmax{part}"], rank, scan)
    dtype = random.choice([F32, F32, F32, BF16]) if not part else F32
    sizes = (*(1,) * (rank == 1), *shape_of(random, rank))
    return placed(random, one, sizes, (dtype,) * len(one.operands))


def parallel_softmaxes(random: Random) -> Spec:
    """Softmaxes of rows so long that several cores may share one."""
    return goal(softmax(SOFTMAX, 2, 1), (random.randint(1, 3), 24), (F32, F32), parallel=True)


# ---- compositions


def _spread(name: str, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """A function of every element and of the vector's that is at its place along `dim`."""
    rank = len(x.shape)
    one = elementwise(Function(name), (tuple(range(rank)), (dim,)), rank)
    return apply(one, x, y, shape=x.shape, dtype=x.dtype)


def _normalized(x: Tensor, scan: int) -> Tensor:
    one = softmax(SOFTMAX, len(x.shape), scan)
    return apply(one, x, shape=x.shape)


def _sizes(random: Random, count: int) -> list[int]:
    return [random.choice([4, 8, random.randint(1, 12)]) for _ in range(count)]


def layers(random: Random) -> Tensor:
    """relu(a @ b + bias)"""
    m, k, n = _sizes(random, 3)
    dtype = random.choice([F32, F32, BF16])
    made = product(tensor(m, k, dtype=dtype), tensor(k, n, dtype=dtype))
    return mapped(random.choice(STABLE), _spread("add", made, tensor(n), 1))


def chains(random: Random) -> Tensor:
    """(a @ b) @ c, or a @ (b @ c)"""
    m, k, n, p = _sizes(random, 4)
    if random.random() < 0.5:
        return product(product(tensor(m, k), tensor(k, n)), tensor(n, p))
    return product(tensor(m, k), product(tensor(k, n), tensor(n, p)))


def softmaxes_of_products(random: Random) -> Tensor:
    m, k, n = _sizes(random, 3)
    return _normalized(product(tensor(m, k), tensor(k, n)), random.randrange(2))


def attentions(random: Random) -> Tensor:
    queries, keys, depth = _sizes(random, 3)
    batch = tuple(random.randint(1, 2) for _ in range(random.randint(0, 1)))
    scores = product(tensor(*batch, queries, depth), tensor(*batch, depth, keys))
    weights = _normalized(mapped("multiply", scores, constant=0.25), len(batch) + 1)
    return product(weights, tensor(*batch, keys, depth))


def norms(random: Random) -> Tensor:
    """Layer normalization, with weights or without."""
    rows, columns = size(random, 9), random.randint(2, 24)
    x = tensor(rows, columns)
    mean = mapped("divide", reduced("Sum", x), constant=columns)
    centred = mapped("subtract", x, mean)
    variance = mapped("divide", reduced("Sum", mapped("square", centred)), constant=columns)
    scaled = mapped("add", variance, constant=1e-2)
    made = mapped("multiply", centred, mapped("rsqrt", scaled))
    if random.random() < 0.5:
        made = _spread("add", _spread("multiply", made, tensor(columns), 1), tensor(columns), 1)
    return made


def trees(random: Random) -> Tensor:
    """Two to five primitives on top of each other, with tensors that are used twice."""
    x = tensor(*_sizes(random, 2))
    known = [x]
    for _ in range(random.randint(2, 5)):
        x = _grown(random, x, known)
        known.append(x)
    return x


def _grown(random: Random, x: Tensor, known: Sequence[Tensor]) -> Tensor:
    """A primitive of a matrix, and maybe of an earlier one, that makes a matrix."""
    rows, columns = x.shape
    alike = [t for t in known if t.shape == x.shape]
    kind = random.choice(["map", "map", "both", "row", "column", "turn", "softmax", "product"])
    if kind == "map":
        return mapped(random.choice(STABLE), x)
    if kind == "both":
        return mapped(random.choice(["add", "multiply", "maximum"]), x, random.choice(alike))
    if kind == "row":
        return _spread("subtract", x, tensor(columns), 1)
    if kind == "column":
        return mapped("subtract", x, reduced(random.choice(["Sum", "Max"]), x))
    if kind == "turn":
        return apply(move(2, (1, 0)), x, shape=(columns, rows))
    if kind == "softmax":
        return _normalized(x, random.randrange(2))
    return product(x, tensor(columns, random.choice([1, 3, 8])))


def windows(random: Random) -> Tensor:
    """A convolution of what another one, or a map, makes."""
    channels, filters = random.randint(1, 3), random.choice([1, 4, 8])
    image = tensor(1, channels, 6, 6)
    first = image
    if random.random() < 0.5:
        first = apply(conv(), image, tensor(2, channels, 2, 2), shape=(1, 2, 5, 5))
    else:
        first = mapped("relu", image)
    _, c, h, w = first.shape
    made = apply(conv(), first, tensor(filters, c, 2, 2), shape=(1, filters, h - 1, w - 1))
    return mapped(random.choice(STABLE), made)


def composed(make: Callable[[Random], Tensor]) -> Callable[[Random], Spec]:
    return lambda random: goal_of(make(random), parallel=random.random() < 0.4)


PRIMITIVES = (
    matmuls, other_products, convolutions, grouped_convolutions, pointwise_convolutions, pools,
    moves, fills, unary_maps, unary_maps, binary_maps, divisions, broadcasts, reductions, softmaxes,
    parallel_softmaxes, unary_maps, binary_maps, contractions,
)  # fmt: skip
COMPOSITIONS = tuple(
    composed(make)
    for make in (layers, chains, softmaxes_of_products, attentions, norms, trees, windows)
)


def random_goals(random: Random, count: int) -> list[Spec]:
    """That many goals, of all kinds in turn."""
    makers = (*PRIMITIVES, *COMPOSITIONS)
    return [_one(makers[i % len(makers)], random) for i in range(count)]


def _one(make: Callable[[Random], Spec], random: Random) -> Spec:
    """A goal of a kind; trees that use a tensor in ways that do not go together are no goals."""
    while True:
        try:
            return make(random)
        except SpecError:
            continue
