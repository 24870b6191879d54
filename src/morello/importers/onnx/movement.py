"""Operators of ONNX that move elements, and those about shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node
from morello.graph.operators import (
    Broadcast,
    Concat,
    Gather,
    Pad,
    Slice,
    Transpose,
    Where,
)
from morello.importers.onnx.call import (
    INT64,
    MOST_FOLDED,
    LeftError,
    OnnxCall,
    UndefinedError,
    constant,
    contents,
    function,
    in_few_bits,
    known_dtype,
    number,
    op,
    position,
    positions,
    reshaped,
    translates,
)
from morello.importers.taking import from_start, taken_along


@translates("Transpose")
def transpose(call: OnnxCall) -> Node:
    x = call[0]
    order = tuple(call.attribute("perm", list(range(x.type.rank))[::-1]))
    return x if order == tuple(range(x.type.rank)) else op(Transpose(order), x)


@translates("Reshape")
def reshape(call: OnnxCall) -> Node:
    x = call[0]
    wanted = call.listed("shape", 1, 5) or ()
    if not call.flag("allowzero"):
        if any(n == 0 and d >= x.type.rank for d, n in enumerate(wanted)):
            raise GraphError(f"{x.type} has no dimension to keep for shape {wanted}.")
        wanted = tuple(x.shape[d] if n == 0 else n for d, n in enumerate(wanted))
    if -1 in wanted:
        rest = prod(n for n in wanted if n != -1)
        if wanted.count(-1) > 1 or rest <= 0 or x.type.size % rest:
            raise GraphError(f"{x.type} does not fit into shape {wanted}.")
        wanted = tuple(x.type.size // rest if n == -1 else n for n in wanted)
    if min(wanted, default=0) < 0:
        raise GraphError(f"there is no shape {wanted}.")
    return reshaped(x, wanted)


@translates("Flatten")
def flatten(call: OnnxCall) -> Node:
    x, axis = call[0], call.attribute("axis", 1)
    if not -x.type.rank <= axis <= x.type.rank:
        raise GraphError(f"{x.type} has no axis {axis}.")
    axis = axis + x.type.rank if axis < 0 else axis
    return reshaped(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


@translates("Squeeze")
def squeeze(call: OnnxCall) -> Node:
    x, axes = call[0], call.listed("axes", 1, 13)
    if axes == ():
        raise UndefinedError("it names no axes, which may mean all or none")
    every = enumerate(x.shape)
    gone = {d for d, n in every if n == 1} if axes is None else {*positions(axes, x.type.rank)}
    if any(x.shape[d] != 1 for d in gone):
        raise GraphError(f"the dimensions {sorted(gone)} of {x.type} are not all of size 1.")
    return reshaped(x, [n for d, n in enumerate(x.shape) if d not in gone])


@translates("Unsqueeze")
def unsqueeze(call: OnnxCall) -> Node:
    x, axes = call[0], call.listed("axes", 1, 13) or ()
    rank = x.type.rank + len(axes)
    added, sizes = positions(axes, rank), iter(x.shape)
    if len(added) < len(axes):
        raise GraphError(f"the axes {axes} are not all different.")
    return reshaped(x, [1 if d in added else next(sizes) for d in range(rank)])


@translates("Concat")
def concat(call: OnnxCall) -> Node:
    axis = call.axis(1 if call.version < 4 else None)
    return call[0] if len(call.inputs) == 1 else op(Concat(axis), *call.all)


@translates("Split")
def split(call: OnnxCall) -> list[Node]:
    x, axis = call[0], call.axis(0)
    if call.version < 2 and call.get(1) is not None:
        raise LeftError("its sizes are an input, as in version 1")
    sizes = call.listed("split", 1, 13)
    if sizes is None:
        count = call.attribute("num_outputs", call.outputs)
        if count > max(x.shape[axis], call.outputs):
            raise GraphError(f"{x.type} is not split into {count} along {axis}.")
        size = -(-x.shape[axis] // max(count, 1))
        sizes = tuple(max(min(size, x.shape[axis] - i * size), 0) for i in range(count))
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0 or len(sizes) < call.outputs:
        raise GraphError(f"{x.type} is not split into {sizes} along {axis}.")
    starts = np.cumsum((0, *sizes)).tolist()
    return [between(x, {axis: (low, low + n, 1)}) for low, n in zip(starts, sizes, strict=False)]


def between(x: Node, slices: dict[int, tuple[int, int, int]]) -> Node:
    """The slice of a node from a start to before a stop in steps, along some axes."""
    every = [slices.get(d, (0, n, 1)) for d, n in enumerate(x.shape)]
    if all(each == (0, n, 1) for each, n in zip(every, x.shape, strict=True)):
        return x
    starts, stops, strides = zip(*every, strict=True)
    return op(Slice(starts, stops, strides), x)


def at(x: Node, axis: int, place: int) -> Node:
    """The part of a node at a place along an axis, without that axis."""
    part = between(x, {axis: (place, place + 1, 1)})
    return reshaped(part, (*x.shape[:axis], *x.shape[axis + 1 :]))


def backwards(x: Node, axis: int) -> Node:
    """The elements of a node in reverse order along an axis."""
    return op(Gather(axis), x, constant(np.arange(x.shape[axis])[::-1].copy(), INT64))


@translates("Slice")
def sliced(call: OnnxCall) -> Node:
    x = call[0]
    starts, ends = call.listed("starts", 1, 10) or (), call.listed("ends", 2, 10) or ()
    axes = call.listed("axes", 3, 10)
    strides = call.listed("steps", 4, 10) or (1,) * len(starts)
    axes = tuple(range(len(starts))) if axes is None else axes
    if not len(starts) == len(ends) == len(axes) == len(strides) or 0 in strides:
        raise GraphError(f"a slice from {starts} to {ends} in steps of {strides} along {axes}.")
    slices, backwards = {}, {}
    for low, high, axis, stride in zip(starts, ends, axes, strides, strict=True):
        axis = position(axis, x.type.rank)
        begin, end, _ = slice(low, high, stride).indices(x.shape[axis])
        if stride < 0:
            backwards[axis] = range(begin, end, stride)
        else:
            slices[axis] = (begin, max(begin, end), stride)
    result = between(x, slices)
    for axis, places in backwards.items():
        result = op(Gather(axis), result, constant(np.array(places, np.int64)))
    return result


@translates("Pad")
def pad(call: OnnxCall) -> Node:
    """A negative padding cuts off."""
    x, rank = call[0], call[0].type.rank
    pads = call.listed("pads", 1, 11)
    if pads is None:
        pads = tuple(map(int, call.attribute("paddings")))
    given = call.integers(3) if call.get(3) is not None else range(rank)
    axes = [position(axis, rank) for axis in given]
    if len(pads) != 2 * len(axes):
        raise GraphError(f"{len(pads)} paddings for {len(axes)} axes.")
    before, after = [0] * rank, [0] * rank
    for number_of, axis in enumerate(axes):
        before[axis], after[axis] = pads[number_of], pads[number_of + len(axes)]
    if (mode := call.text("mode", "constant")) != "constant":
        return _repeating(x, mode, before, after)
    filler = number(call.attribute("value", 0.0), x) if call.version < 11 else call.get(2)
    filler = number(0, x) if filler is None else reshaped(filler, ())
    kept = {
        d: (max(-before[d], 0), max(n + min(after[d], 0), max(-before[d], 0)), 1)
        for d, n in enumerate(x.shape)
    }
    x = between(x, kept)
    low, high = (tuple(max(n, 0) for n in side) for side in (before, after))
    return op(Pad(low, high), x, filler) if any((*low, *high)) else x


def _repeating(x: Node, mode: str, before: Sequence[int], after: Sequence[int]) -> Node:
    """Padding with elements of the tensor: reflected, those at the edges, or those around it."""
    for axis, ends in enumerate(zip(before, after, strict=True)):
        most = max(x.shape[axis] - (mode == "reflect"), 0)
        if mode not in ("reflect", "edge", "wrap") or min(ends) < 0:
            raise LeftError(f"its mode is {mode}, with widths {ends}")
        if not x.shape[axis] or (mode != "edge" and max(ends) > most):
            raise LeftError(f"it repeats {max(ends)} of {x.shape[axis]} elements")
        if any(ends):
            numbers = constant(np.pad(np.arange(x.shape[axis]), ends, mode))  # type: ignore[call-overload]
            x = in_few_bits(partial(_taken, axis, numbers), x)
    return x


def _taken(axis: int, numbers: Node, x: Node) -> Node:
    return op(Gather(axis), x, numbers)


@translates("Expand")
def expand(call: OnnxCall) -> Node:
    return _broadcast(call[0], call.integers(1))


def _broadcast(x: Node, shape: Sequence[int]) -> Node:
    """A node repeated to the shape that its own and another one broadcast to."""
    try:
        common = np.broadcast_shapes(x.shape, tuple(shape))
    except ValueError:
        raise GraphError(f"{x.type} cannot be broadcast to {tuple(shape)}.") from None
    return x if common == x.shape else op(Broadcast(common), x)


@translates("Tile")
def tile(call: OnnxCall) -> Node:
    if call.version < 6:
        raise LeftError("it repeats along one axis, as in version 1")
    x, times = call[0], call.integers(1)
    if len(times) != x.type.rank or min(times, default=1) < 0:
        raise GraphError(f"{x.type} is repeated {times} times.")
    pairs = [*zip(times, x.shape, strict=True)]
    apart = reshaped(x, [k for _, n in pairs for k in (1, n)])
    repeated = _broadcast(apart, [k for pair in pairs for k in pair])
    return reshaped(repeated, [t * n for t, n in pairs])


@translates("Gather")
def gather(call: OnnxCall) -> Node:
    if not call[0].shape or 0 in call[0].shape:
        raise LeftError("it gathers from nothing")
    return in_few_bits(partial(_taken, call.axis(0), call[1]), call[0])


@translates("GatherElements")
def gather_elements(call: OnnxCall) -> Node:
    x, index = call[0], call[1]
    if x.type.rank != index.type.rank or 0 in (*x.shape, *index.shape):
        raise LeftError("it gathers nothing, or along dimensions that do not fit")
    return in_few_bits(lambda each: taken_along(each, index, call.axis(0)), x)


@translates("DepthToSpace", "SpaceToDepth")
def depth_to_space(call: OnnxCall) -> Node:
    x, size = call[0], call.attribute("blocksize")
    if x.type.rank != 4 or size < 1:
        raise GraphError(f"{call.type} of {x.type} in blocks of {size}.")
    b, c, h, w = x.shape
    crd = call.text("mode", "DCR") == "CRD"
    if call.type == "SpaceToDepth":
        apart = reshaped(x, (b, c, h // size, size, w // size, size))
        order = (0, 1, 3, 5, 2, 4) if crd else (0, 3, 5, 1, 2, 4)
        turned = op(Transpose(order), apart)
        return reshaped(turned, (b, c * size * size, h // size, w // size))
    deep = c // (size * size)
    if crd:
        turned = op(Transpose((0, 1, 4, 2, 5, 3)), reshaped(x, (b, deep, size, size, h, w)))
    else:
        turned = op(Transpose((0, 3, 4, 1, 5, 2)), reshaped(x, (b, size, size, deep, h, w)))
    return reshaped(turned, (b, deep, h * size, w * size))


@translates("Trilu")
def trilu(call: OnnxCall) -> Node:
    x = call[0]
    given = call.integers(1) if call.get(1) is not None else (0,)
    if x.type.rank < 2 or len(given) != 1:
        raise GraphError(f"diagonal {given} of {x.type}.")
    m, n = x.shape[-2:]
    k = max(min(given[0], n), -m)
    upper = call.flag("upper", default=True)
    kept = ~np.tri(m, n, k - 1, dtype=bool) if upper else np.tri(m, n, k, dtype=bool)
    return op(Where(), constant(kept), x, number(0, x))


@translates("OneHot")
def one_hot(call: OnnxCall) -> Node:
    """Along a new axis, one value where the index is, another one elsewhere."""
    numbers, rank = call[0], call[0].type.rank + 1
    other, value = (at(call[2], 0, n) for n in range(2))
    depth = int(call.static(1).item())
    if numbers.dtype != INT64 or not 0 < depth <= MOST_FOLDED:
        raise LeftError(f"its indices are {numbers.type}")
    axis = call.axis(-1, rank)
    numbers = from_start(numbers, depth)
    sizes = [*numbers.shape]
    sizes.insert(axis, 1)
    every = np.arange(depth).reshape([depth if d == axis else 1 for d in range(rank)])
    hot = function("equal", reshaped(numbers, sizes), constant(every, numbers.dtype))
    return op(Where(), hot, value, other)


@translates("Shape")
def shape_of(call: OnnxCall) -> Node:
    """Some of the sizes, from `start` to before `end`."""
    bounds = call.attributes.get("start"), call.attributes.get("end")
    return constant(call[0].shape[slice(*bounds)], INT64)


@translates("Size")
def size_of(call: OnnxCall) -> Node:
    return constant(call[0].type.size, INT64)


@translates("Range")
def numbers(call: OnnxCall) -> Node:
    start, limit = (call.static(i).reshape(()) for i in range(2))
    delta = np.ones((), start.dtype) if call.get(2) is None else call.static(2).reshape(())
    count = np.ceil((float(limit) - float(start)) / float(delta)) if delta else np.inf
    if not abs(count) <= MOST_FOLDED:
        raise GraphError(f"a range from {start} to {limit} in steps of {delta}.")
    every = start + delta * np.arange(max(int(count), 0)).astype(start.dtype)
    return constant(every, start.dtype)


@translates("ConstantOfShape")
def constant_of_shape(call: OnnxCall) -> Node:
    given = call.attributes.get("value")
    value = np.zeros(1, np.float32) if given is None else contents(given)
    shape = call.integers(0)
    if min(shape, default=0) < 0 or value.size != 1:
        raise GraphError(f"a constant of shape {shape}.")
    return op(Broadcast(shape), constant(value.reshape(())))


@translates("EyeLike")
def eye_like(call: OnnxCall) -> Node:
    like = call[0].type
    if like.rank != 2 or like.size > MOST_FOLDED:
        raise LeftError(f"it is of {like}")
    given = call.attributes.get("dtype")
    dtype = like.dtype if given is None else known_dtype(given)
    rows, columns = like.shape
    return constant(np.eye(rows, columns, call.attribute("k", 0)), dtype)
