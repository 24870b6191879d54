"""Products: matmul, convolution, and functions built from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from string import ascii_letters

from morello.base.errors import quoted
from morello.base.wording import counted
from morello.frontends.copies import cast
from morello.frontends.maps import add, multiply
from morello.frontends.reductions import softmax, sum
from morello.frontends.values import (
    NEW_AXIS,
    MisuseError,
    Numbers,
    Value,
    apply_operation,
    check_numbers,
    misuse_of,
    value_of,
)
from morello.frontends.views import NamedView, ViewTensor, shown_by, whole
from morello.frontends.windows import channels_last, slide
from morello.ir.computation import Tensor
from morello.ir.dtype import BF16, F16, F32, I8, U8
from morello.ir.functions import COMPARISONS, Function
from morello.ir.primitives import MAX_RANK, Labels, contraction, grouped_conv, matmul_labels
from morello.ir.primitives import conv as conv_operation
from morello.ir.primitives import grouped_matmul as grouped_product
from morello.ir.primitives import quantized_matmul as quantized_product
from morello.ir.primitives.quantized import BLOCK, LONGEST, is_grouped
from morello.ir.spec import matmul_shape, product_dtype
from morello.ir.text import listed

_COMBINING = frozenset(map(Function, ("maximum", "minimum", "multiply")))
"""Functions that combine conditions, which are 1 and 0."""

Pairs = tuple[tuple[int, int], ...]
"""Dimensions that go together: of the first factor, and of the second."""


def matmul(a: Value, b: Value) -> Value:
    """a @ b, by NumPy's rules."""
    a, b = a.without_new_axes, b.without_new_axes
    with misuse_of(argument=1):
        matmul_shape(a.shape, b.shape)
    return _product(a, b, *matmul_labels(a.shape, b.shape))


def einsum(subscripts: str, *operands: Value) -> Value:
    """The sums of products that `subscripts` says, as in "bqhd,bkhd->bhqk", in pairs by their cost.

    Dimensions are named by letters, those that ... stands for are aligned at the last, and without
    a result its dimensions are those that are named once, by alphabet.
    """
    parts, result = _parsed(subscripts, operands)
    for number, (part, word) in enumerate(parts, start=1):
        if len(word) != part.rank:
            what = f"{word} names {len(word)} dimensions, and there are {part.rank}"
            raise MisuseError(what, "name each by a letter", at=number)
    words = [*(word for _, word in parts), result]
    if twice := next((d for word in words for d in word if word.count(d) > 1), ""):
        fix = "use another letter; a diagonal is the sum of a product with an identity matrix"
        raise MisuseError(f"{twice} is named twice in one tensor", fix, at=0)
    if unknown := next((d for d in result if d not in "".join(words[:-1])), ""):
        raise MisuseError(f"no factor has {unknown}", "leave it out of the result", at=0)
    sizes: dict[str, int] = {}
    for number, (part, word) in enumerate(parts, start=1):
        for d, size in zip(word, part.shape, strict=True):
            if sizes.setdefault(d, size) != size:
                raise MisuseError(f"{d} is {sizes[d]} in one and {size} in the other", at=number)
    everywhere = "".join(words)
    parts = [_summed(part, everywhere) for part in parts]
    while len(parts) > 1:
        place, wanted = _cheapest_pair(parts, result, sizes)
        (a, left), (b, right) = parts[place : place + 2]
        wanted = result if len(parts) == 2 and left and right else wanted
        if left and right:
            product = _product(a, b, tuple(left), tuple(right), tuple(wanted))
        else:  # one is a single number
            product = multiply(a, b)
        parts[place : place + 2] = [(product, wanted)]
    ((part, word),) = parts
    return part.reordered([word.index(d) for d in result]) if result != word else part


Term = tuple[Value, str]
"""A factor of an einsum, and the letters of its dimensions."""


def _parsed(subscripts: str, operands: tuple[Value, ...]) -> tuple[list[Term], str]:
    """The factors with the letters of their dimensions, and those of the result."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    words = left.split(",")
    pattern = r"[A-Za-z]*(\.\.\.)?[A-Za-z]*"
    if len(words) != len(operands) or not all(re.fullmatch(pattern, x) for x in (*words, result)):
        fix = 'name the dimensions of each factor and of the result, as in "mk,kn->mn"'
        what = f"{quoted(subscripts)} is no einsum of {counted(len(operands), 'tensor')}"
        raise MisuseError(what, fix, at=0)
    hidden = [x.rank - len(w) + 3 for w, x in zip(words, operands, strict=True) if "." in w]
    free = [d for d in ascii_letters if d not in subscripts]
    most = max(0, *hidden) if hidden else 0
    if len(free) < most:
        raise MisuseError(f"{quoted(subscripts)} leaves no letters for ...", at=0)
    names = "".join(free[:most])
    if not arrow:
        named = sorted(d for d in {*left} if d.isalpha() and left.count(d) == 1)
        result = "..." * bool(hidden) + "".join(named)
    spelled = [
        word.replace("...", names[most - max(0, x.rank - len(word) + 3) :])
        for word, x in zip(words, operands, strict=True)
    ]
    return [*zip(operands, spelled, strict=True)], result.replace("...", names)


def _summed(part: Term, everywhere: str) -> Term:
    """A factor summed along the dimensions that nothing else names; of all, it is one number."""
    value, word = part
    axes = tuple(number for number, d in enumerate(word) if everywhere.count(d) == 1)
    if not axes:
        return part
    return sum(value, axis=axes), "".join(d for d in word if everywhere.count(d) > 1)


def _cheapest_pair(parts: Sequence[Term], result: str, sizes: Mapping[str, int]) -> tuple[int, str]:
    """The first of two neighbours to multiply next, and the dimensions of their product.

    These take the fewest multiplications, and then have the smallest product. Neighbours are
    multiplied, so that arrays are taken in the order of the text.
    """

    def kept(place: int) -> str:
        others = "".join(word for _, word in (*parts[:place], *parts[place + 2 :]))
        every = dict.fromkeys(parts[place][1] + parts[place + 1][1])
        return "".join(d for d in every if d in result + others)

    def cost(place: int) -> tuple[int, int]:
        every = {*parts[place][1], *parts[place + 1][1]}
        return math.prod(sizes[d] for d in every), math.prod(sizes[d] for d in kept(place))

    cheapest = min(range(len(parts) - 1), key=cost)
    return cheapest, kept(cheapest)


def contract(a: Value, b: Value, *, batch: Pairs = (), contracted: Pairs = ()) -> Value:
    """The sums of products along pairs of contracted dimensions, for each of the batch dimensions.

    The result has the batch dimensions, then the others of a, then those of b.
    """
    of_a = {j: i for i, j in (*batch, *contracted)}
    left = tuple(f"a{i}" for i in range(a.rank))
    right = tuple(f"a{of_a[j]}" if j in of_a else f"b{j}" for j in range(b.rank))
    batches = tuple(left[i] for i, _ in batch)
    bound = {*batches, *(left[i] for i, _ in contracted)}
    return _product(a, b, left, right, (*batches, *(d for d in left + right if d not in bound)))


def _product(a: Value, b: Value, left: Labels, right: Labels, result: Labels) -> Value:
    """The product of values whose dimensions have these labels, those of the result in order."""
    a, left = _without_new_axes(a, left)
    b, right = _without_new_axes(b, right)
    stored = tuple(label for label in result if label in left + right)
    tensor = _tensor(a, b, left, right, stored)
    places = iter(range(len(tensor.shape)))
    axes = [next(places) if label in stored else NEW_AXIS for label in result]
    return Value(tensor, tuple(axes) if stored else (*axes[1:], 0))


def _without_new_axes(value: Value, labels: Labels) -> tuple[Value, Labels]:
    """The value without `NEW_AXIS` dimensions, and the labels of the others."""
    kept = [(d, label) for d, label in zip(value.axes, labels, strict=True) if d != NEW_AXIS]
    return Value(value.tensor, tuple(d for d, _ in kept)), tuple(label for _, label in kept)


def _tensor(a: Value, b: Value, left: Labels, right: Labels, result: Labels) -> Tensor:
    """The product as a tensor, which has at least one dimension."""
    if len(result) > MAX_RANK:
        what = f"the result would have {len(result)} dimensions"
        raise MisuseError(what, f"flatten some of them; {MAX_RANK} are the most")
    with misuse_of(argument=-1):
        dtype = product_dtype(a.dtype, b.dtype)
    sizes = dict(zip((*left, *right), (*a.shape, *b.shape), strict=True))
    summed = {*left} & {*right} - {*result}
    for operand, (own, other) in enumerate(((left, right), (right, left)), start=-2):
        for position, label in enumerate(own):
            if label not in other + result and (sizes[label] > 1 or not summed):
                what = "a dimension that only this factor has is summed over"
                raise MisuseError(what, f"write sum(.., axis={position}) here", at=operand)
    if not summed:
        factors = [_aligned(cast(a, dtype), left, result), _aligned(cast(b, dtype), right, result)]
        return multiply(*factors).tensor
    result = result or ("single",)
    operation = contraction(_in_tensor(a, left), _in_tensor(b, right), result)
    shape = [sizes.get(label, 1) for label in result]
    return apply_operation(operation, [value_of(a.tensor), value_of(b.tensor)], shape, dtype).tensor


def _in_tensor(value: Value, labels: Labels) -> Labels:
    """The labels of a value's dimensions, in the order of its tensor's dimensions."""
    return tuple(labels[value.axes.index(d)] for d in range(value.rank))


def _aligned(value: Value, labels: Labels, result: Labels) -> Value:
    """The value with one dimension for each label, of which it may be broadcast along some."""
    value = value.reordered([labels.index(label) for label in result if label in labels])
    for position, label in enumerate(result):
        if label not in labels:
            value = value.expanded(position)
    return value


def grouped_matmul(x: Value, matrices: Value, ids: Value) -> Value:
    """Each row of x times one of the matrices, the one that its number says.

    Rows with the same number that follow one another are multiplied together. A row whose number is
    below 0, or that of no matrix, is zero.
    """
    x, matrices, ids = (value.without_new_axes for value in (x, matrices, ids))
    if (x.rank, matrices.rank, ids.rank) != (2, 3, 1):
        fix = "give rows, matrices and a vector, as f32[8,64], f32[4,64,32] and i32[8]"
        raise MisuseError("these are no rows with a matrix for each", fix, at=0)
    check_numbers(ids, "matrices", at=2)
    (rows, size), depth, (count,) = x.shape, matrices.shape[1], ids.shape
    for at, value, given, wanted in ((1, matrices, depth, size), (2, ids, count, rows)):
        if given != wanted:
            what = f"x is of shape {listed(x.shape)}, and this of {listed(value.shape)}"
            raise MisuseError(what, f"replace {given} by {wanted}", at=at)
    with misuse_of(argument=1):
        dtype = product_dtype(x.dtype, matrices.dtype)
    shape = (rows, matrices.shape[2])
    return apply_operation(grouped_product(), [x, matrices, ids], shape, dtype)


def quantized_matmul(x: Value, weights: Value, scales: Value) -> Value:
    """x @ w.T for rows of weights w of 8 or 4 bits, in groups that have a scale each.

    `weights` has a row of i8 for each column of the result, or of u8 with two numbers in a byte;
    `scales` has as many rows, with a number for each group.
    """
    x, weights, scales = (value.without_new_axes for value in (x, weights, scales))
    for number, (value, dtypes) in enumerate(
        ((x, (F32,)), (weights, (U8, I8)), (scales, (F32, F16, BF16)))
    ):
        if value.dtype not in dtypes or value.rank != 2:
            what = f"{value.dtype}{listed(value.shape)} cannot stand here"
            fix = f"give a matrix of {' or '.join(map(str, dtypes))}"
            raise MisuseError(what, fix, at=number)
    (rows, size), (columns, width), groups = x.shape, weights.shape, scales.shape[1]
    count = size if weights.dtype is I8 else size // 2
    if size % BLOCK or width != count:
        what = f"{columns} rows of {width} {weights.dtype} do not fit {size} numbers"
        fix = f"u8 has two numbers, i8 has one, and rows have blocks of {BLOCK}"
        raise MisuseError(what, fix, at=1)
    group = size // groups
    if group * groups != size or not is_grouped(size, group) or scales.shape[0] != columns:
        what = f"scales {listed(scales.shape)} do not fit {columns} rows of {size} numbers"
        raise MisuseError(what, f"give one for each group of {BLOCK} times a power of two", at=2)
    if size > LONGEST:
        raise MisuseError(f"rows of {size} numbers", f"give at most {LONGEST}", at=0)
    return apply_operation(quantized_product(), [x, weights, scales], (rows, columns))


def linear(x: Value, w: Value, b: Value | None = None) -> Value:
    """x @ w + b, or without b"""
    return matmul(x, w) if b is None else add(matmul(x, w), b)


def attention(
    q: Value, k: Value, v: Value, mask: Value | None = None, *, causal: bool = False
) -> Value:
    """softmax(q @ k^T / sqrt(d) + mask) @ v, with the keys in k's rows.

    A mask of integers or comparisons says by 0 what is hidden. A `causal` one lets row i see the
    keys up to i + n - m. Each head of k and v may serve as many neighbouring ones of q.
    """
    if k.rank < 2:
        raise MisuseError("the keys are the rows of a matrix", "write it as f32[16,64]", at=1)
    serves = _heads_served(q, k)
    if mask is not None or causal or (serves > 1 and k.shape[-3] > 1):
        return _masked_attention(q, k, v, mask, serves, causal=causal)
    transposed = k.reordered((*range(k.rank - 2), k.rank - 1, k.rank - 2))
    try:
        scores = matmul(q, transposed)
    except MisuseError as error:
        rows = "q should be [m,d], k [n,d] and v [n,p]"
        raise MisuseError(f"q @ transpose(k): {error.what}", rows, at=1) from None
    with misuse_of(argument=2):
        return matmul(softmax(multiply(scores, 1 / math.sqrt(q.shape[-1]))), v)


def _heads_served(q: Value, k: Value) -> int:
    """How many neighbouring heads of q each head of k serves; 1 if they do not divide these."""
    if not q.rank == k.rank > 2 or q.shape[-3] % k.shape[-3]:
        return 1
    return q.shape[-3] // k.shape[-3]


def _masked_attention(
    q: Value, k: Value, v: Value, mask: Value | None, serves: int, *, causal: bool
) -> Value:
    """Attention as an operator of graphs, which has masks and heads that serve several."""
    if not q.rank == k.rank == v.rank or k.shape[:-1] != v.shape[:-1]:
        fix = "give q [..,m,d], k [..,n,d] and v [..,n,p] of as many dimensions"
        raise MisuseError("these are no queries, keys and values of masked attention", fix, at=1)
    heads = (*k.shape[:-3], *(size * serves for size in k.shape[-3:-2]))
    if q.shape[-1] != k.shape[-1] or q.shape[:-2] != heads:
        what = f"q is of shape {listed(q.shape)}, and k of {listed(k.shape)}"
        raise MisuseError(what, "their first and last sizes should be the same", at=1)
    for number, operand in enumerate((q, k, v)):
        if not operand.dtype.is_float or operand.dtype is not q.dtype:
            what = f"q is {q.dtype}, and this {operand.dtype}"
            raise MisuseError(what, "give floats of one dtype", at=number)
    scores = (*q.shape[:-1], k.shape[-2])
    given = () if mask is None else (mask,)
    for each in given:
        sizes = zip(reversed(each.shape), reversed(scores), strict=False)
        if each.rank > len(scores) or any(own not in (1, size) for own, size in sizes):
            what = f"scores are of shape {listed(scores)}, and the mask of {listed(each.shape)}"
            raise MisuseError(what, "give one that is broadcast to them", at=3)
    truth = mask is not None and (not mask.dtype.is_float or _compared(mask.tensor))
    view = NamedView("attention", (("causal", causal), ("truth", truth)))
    return shown_by(view, (*q.shape[:-1], v.shape[-1]), *map(whole, (q, k, v, *given)))


def _compared(x: Tensor) -> bool:
    """Whether a tensor is made of comparisons: by their products and extrema, copies and views."""
    if isinstance(x, ViewTensor):
        return all(map(_compared, x.sources))
    if x.operation is None or not x.inputs:
        return False
    function = x.operation.function
    if function is not None and function.name in COMPARISONS:
        return True
    return (x.operation.copies or function in _COMBINING) and all(map(_compared, x.inputs))


def conv(
    image: Value,
    filter: Value,
    *,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> Value:
    last = channels_last(layout)
    image, filter = image.without_new_axes, filter.without_new_axes
    shapes = _OPERANDS[image.rank == filter.rank == 3][last]
    for number, (operand, shape) in enumerate(zip((image, filter), shapes, strict=True)):
        if operand.rank != len(shape.split(",")):
            what = f"{('the image', 'the filter')[number]} has {operand.rank} dimensions"
            raise MisuseError(what, f"for {layout} it should be {shape}", at=number)
    batch, *size, channels = _channels_at_end(image.shape, last)
    filters, *pixels, depth = (
        (filter.shape[-1], *filter.shape[:-1]) if last else _channels_at_end(filter.shape, False)
    )
    if groups < 1 or channels % groups or filters % groups:
        what = f"{channels} channels and {filters} filters are not {groups} equal groups"
        raise MisuseError(what, "use a number that divides both", at="groups")
    if channels != depth * groups:
        what = f"the image has {channels} channels and the filter {depth}"
        fix = f"for {layout} they should be {shapes[0]} and {shapes[1]}"
        if groups > 1:
            fix = f"with {groups} groups, the filter should have {channels // groups}"
        raise MisuseError(what, fix, at=1)
    windows, counts = slide(image, size, pixels, stride, padding, dilation, of="filter")
    out = (batch, *counts, filters) if last else (batch, filters, *counts)
    with misuse_of(argument=1):
        dtype = product_dtype(image.dtype, filter.dtype)
    operation = (
        conv_operation(windows, last)
        if groups == 1
        else grouped_conv(channels // groups, filters // groups, windows, last)
    )
    return apply_operation(operation, [image, filter], out, dtype)


_OPERANDS = {
    False: {False: ("[b,c,h,w]", "[f,c,p,q]"), True: ("[b,h,w,c]", "[p,q,c,f]")},
    True: {False: ("[b,c,w]", "[f,c,q]"), True: ("[b,w,c]", "[q,c,f]")},
}
"""The shapes of an image and a filter, by whether it is a sequence and has its channels last."""


def _channels_at_end(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    """The sizes of an image or filter with the channels at the end."""
    return shape if last else (shape[0], *shape[2:], shape[1])


FUNCTIONS = matmul, einsum, quantized_matmul, grouped_matmul, linear, conv, attention
"""The functions of these that an expression can call."""
