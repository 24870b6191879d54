"""ATen operations that move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from morello.graph.graph import Node
from morello.graph.operators import Constant, Gather, Pad, Slice
from morello.importers.aten_calls import AtenCall, Handler
from morello.importers.taking import backwards, from_start, in_one


def reshaped(call: AtenCall) -> Node:
    """The elements in order, in the shape of the result."""
    if call.x.dtype != call.type.dtype:
        raise call.refuse("to another dtype")
    return call.reshape(call.x, call.type.shape)


def expanded(call: AtenCall) -> Node:
    return call.broadcast(call.x, call.type.shape)


def permuted(call: AtenCall) -> Node:
    """Dimensions in another order, or in the reverse one if none is given, as for T."""
    if call["dims"] is None:
        return call.transpose(call.x, (*reversed(range(call.x.type.rank)),))
    return call.transpose(call.x, call.axes("dims"))


def swapped(call: AtenCall) -> Node:
    """Two dimensions exchanged: those that are named, or the last two."""
    rank = call.x.type.rank
    names = ("axis0", "axis1") if call.name == "swapaxes" else ("dim0", "dim1")
    named = call.name in ("transpose", "swapaxes", "swapdims")
    i, j = (call[n] % max(rank, 1) for n in names) if named else (rank - 2, rank - 1)
    if rank < 2:
        return call.x
    order = [*range(rank)]
    order[i], order[j] = j, i
    return call.transpose(call.x, (*order,))


def moved(call: AtenCall) -> Node:
    rank = call.x.type.rank
    places = dict(zip(call.axes("destination"), call.axes("source"), strict=True))
    rest = iter([d for d in range(rank) if d not in places.values()])
    return call.transpose(
        call.x, tuple(places[d] if d in places else next(rest) for d in range(rank))
    )


def part(call: AtenCall, x: Node, axis: int, low: int, high: int, step: int = 1) -> Node:
    """The slice of a tensor along one dimension."""
    whole = [(0, n, 1) for n in x.shape]
    whole[axis] = (low, high, step)
    starts, stops, steps = zip(*whole, strict=True)
    unchanged = (low, high, step) == (0, x.shape[axis], 1)
    return x if unchanged else call.apply(Slice(starts, stops, steps), x)


def sliced(call: AtenCall) -> Node:
    axis = call.axis()
    low, high, step = slice(call["start"], call["end"], call["step"]).indices(call.x.shape[axis])
    return part(call, call.x, axis, low, max(low, high), step)


def narrowed(call: AtenCall) -> Node:
    axis, start = call.axis(), call["start"]
    if isinstance(start, Node):
        raise call.refuse("from a place in a tensor")
    start %= max(call.x.shape[axis], 1)
    return part(call, call.x, axis, start, start + call["length"])


def selected(call: AtenCall) -> Node:
    axis = call.axis()
    place = call["index"] % call.x.shape[axis]
    return call.reshape(part(call, call.x, axis, place, place + 1), call.type.shape)


def split(call: AtenCall) -> tuple[Node, ...]:
    """Parts along a dimension, of the sizes that the results have."""
    axis, low = call.axis(), 0
    parts = []
    for result in call.types:
        size = 1 if call.name == "unbind" else result.shape[axis]
        parts.append(call.reshape(part(call, call.x, axis, low, low + size), result.shape))
        low += size
    return tuple(parts)


def concatenated(call: AtenCall) -> Node:
    tensors = [call.cast(each) for each in call["tensors"] if each.type.size]
    if not tensors:
        raise call.refuse("of nothing")
    axis = call.axis(rank=call.type.rank)
    return call.join(axis, *tensors)


def stacked(call: AtenCall) -> Node:
    axis = call.axis(rank=call.type.rank)
    shape = (*call.type.shape[:axis], 1, *call.type.shape[axis + 1 :])
    return call.join(axis, *(call.reshape(call.cast(each), shape) for each in call["tensors"]))


def repeated(call: AtenCall) -> Node:
    """Each dimension that is repeated is a new one before it, broadcast, and joined with it."""
    times = call["repeats"]
    shape = (1,) * (len(times) - call.x.type.rank) + call.x.shape
    apart = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    return call.reshape(call.broadcast(call.reshape(call.x, apart), wide), call.type.shape)


def repeated_elements(call: AtenCall) -> Node:
    """Each element so many times, one after the other, along a dimension or of all."""
    times, x = call["repeats"], call.x
    if not isinstance(times, int):
        raise call.refuse("by numbers that are not known")
    if call["dim"] is None:
        x = call.reshape(x, (x.type.size,))
    axis = 0 if call["dim"] is None else call.axis()
    apart = call.reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    wide = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
    return call.reshape(call.broadcast(apart, wide), call.type.shape)


def padded(call: AtenCall) -> Node:
    """Padding with a constant, by pairs of widths from the last dimension on; negative ones cut."""
    mode, widths = call["mode"], call["pad"]
    if mode not in (None, "constant"):
        return _mirrored(call, widths, {"replicate": "edge", "circular": "wrap"}.get(mode, mode))
    rank = call.x.type.rank
    before, after = [0] * rank, [0] * rank
    for d in range(len(widths) // 2):
        before[rank - 1 - d], after[rank - 1 - d] = widths[2 * d], widths[2 * d + 1]
    x = call.x
    for d, size in enumerate(call.x.shape):
        x = part(call, x, d, max(-before[d], 0), size + min(after[d], 0))
    added = tuple(tuple(max(width, 0) for width in widths) for widths in (before, after))
    if not any(map(any, added)):
        return x
    filler = call.build.number(call["value"] or 0, call.type.dtype)
    return call.apply(Pad(*added), x, filler)


def mirrored(call: AtenCall) -> Node:
    """reflection_pad1d, replication_pad2d and the like."""
    return _mirrored(call, call["padding"], "reflect" if "reflect" in call.name else "edge")


def _mirrored(call: AtenCall, widths: Sequence[int], mode: Any) -> Node:
    """Padding with elements of the tensor itself, as np.pad does in this mode."""
    if min(widths) < 0:
        raise call.refuse("with widths below 0")
    x = call.x
    for number, ends in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        axis = x.type.rank - 1 - number
        if any(ends):
            numbers = np.pad(np.arange(x.shape[axis]), ends, mode)
            x = call.apply(Gather(axis), x, call.build.constant(numbers))
    return x


def windows(call: AtenCall) -> Node:
    """The windows of `size` elements along a dimension, `step` apart, as a new last dimension."""
    axis, size, step = call.axis("dimension"), call["size"], call["step"]
    count = call.type.shape[axis]
    numbers = np.arange(count)[:, None] * step + np.arange(size)
    taken = call.apply(Gather(axis), call.x, call.build.constant(numbers))
    order = [d for d in range(taken.type.rank) if d != axis + 1]
    return call.transpose(taken, (*order, axis + 1))


def embedding(call: AtenCall) -> Node:
    return call.apply(Gather(0), call["weight"], call["indices"])


def index_select(call: AtenCall) -> Node:
    return call.apply(Gather(call.axis()), call.x, call["index"])


def indexed(call: AtenCall) -> Node:
    """x[..., i, j, ...] for integers: the places in the dimensions, which are taken as one.

    Dimensions that are apart come first, as their places do in the result.
    """
    indices = [*call["indices"], *[None] * (call.x.type.rank - len(call["indices"]))]
    given = [d for d, each in enumerate(indices) if each is not None]
    if given[-1] - given[0] >= len(given):
        order = (*given, *(d for d in range(call.x.type.rank) if d not in given))
        turned = {"self": call.transpose(call.x, order), "indices": [indices[d] for d in order]}
        return indexed(replace(call, arguments=turned))
    first, flat, numbers = places_in_one(call)
    if isinstance(numbers.operator, Constant):
        places = numbers.operator.array
        if np.array_equal(places.ravel(), np.arange(flat.shape[first])):
            return call.reshape(flat, call.type.shape)
    return call.apply(Gather(first), flat, numbers)


def places_in_one(call: AtenCall) -> tuple[int, Node, Node]:
    """The first of the dimensions that are indexed, the tensor with them as one, and places in it.

    Known places count from the front. Raises `GraphError` unless integers index neighbours.
    """
    given = {d: each for d, each in enumerate(call["indices"]) if each is not None}
    first, last = min(given), max(given)
    integers = all(each.dtype.kind in "iu" for each in given.values())
    if last - first >= len(given) or not integers:
        raise call.refuse("by tensors of bool, or apart,")
    x = call.x
    size = math.prod(x.shape[first : last + 1])
    flat = call.reshape(x, (*x.shape[:first], size, *x.shape[last + 1 :]))
    if not all(isinstance(each.operator, Constant) for each in given.values()):
        if len(given) == 1:
            return first, flat, given[first]
        sizes = [x.shape[d] for d in given]
        places = [from_start(e, n) for e, n in zip(given.values(), sizes, strict=True)]
        return first, flat, in_one(places, sizes)
    known = np.zeros((), np.int64)
    for d, each in given.items():
        assert isinstance(each.operator, Constant)
        known = known * x.shape[d] + each.operator.array % x.shape[d]
    return first, flat, call.build.constant(known)


def flipped(call: AtenCall) -> Node:
    x = call.x
    for axis in call.axes("dims"):
        x = backwards(x, axis)
    return x


def diagonal(call: AtenCall) -> Node:
    """Diagonals of matrices in two dimensions: every n-th element of these as one dimension."""
    rank, count = call.x.type.rank, call.type.shape[-1]
    i, j = (call[name] % rank for name in ("dim1", "dim2"))
    rest = [d for d in range(rank) if d not in (i, j)]
    x = call.transpose(call.x, (*rest, i, j))
    *outer, m, n = x.shape
    start = call["offset"] if call["offset"] >= 0 else -call["offset"] * n
    x = call.reshape(x, (*outer, m * n))
    return part(call, x, rank - 2, start, min(start + count * (n + 1), m * n), n + 1)


MOVEMENT: dict[str, Handler] = {
    **dict.fromkeys(
        ("_unsafe_view", "flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view",
         "view_as", "reshape_as"),
        reshaped,
    ),
    **dict.fromkeys(("broadcast_to", "expand", "expand_as"), expanded),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "t", "mT"), swapped),
    **dict.fromkeys(("cat", "concat", "concatenate"), concatenated),
    **dict.fromkeys(
        ("chunk", "split", "split_with_sizes", "tensor_split", "unbind", "unsafe_split"), split
    ),
    **dict.fromkeys(("constant_pad_nd", "pad"), padded),
    **{f"{kind}_pad{d}d": mirrored for kind in ("reflection", "replication") for d in (1, 2, 3)},
    **dict.fromkeys(("diagonal", "diagonal_copy"), diagonal),
    "embedding": embedding,
    "flip": flipped,
    "index": indexed,
    "index_select": index_select,
    "movedim": moved,
    "narrow": narrowed,
    "numpy_T": permuted,
    "permute": permuted,
    "repeat": repeated,
    "repeat_interleave": repeated_elements,
    "select": selected,
    "slice": sliced,
    "stack": stacked,
    "unfold": windows,
}  # fmt: skip
