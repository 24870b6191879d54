"""Integers that come from floats: how those of another way to compute them may differ.

Levels, such as those of pixels, may be a step apart. Indices and truth values are the same but
where they choose between floats that tie: there, the framework chooses otherwise, too, for
arguments that differ by what rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from morello.graph.graph import Array, Graph, Node
from morello.graph.operators import (
    ArgReduce,
    Broadcast,
    Cast,
    Concat,
    Constant,
    Conv,
    Dot,
    Foreign,
    Gather,
    Input,
    Iota,
    Map,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS
from morello.models.checking import NARROW, ROUNDED, error_of

_NUDGES = 8
"""How often arguments are changed a little at most, to see which integers change."""

_SHARE, _NARROW_SHARE = 2.0**-18, 2.0**-7
"""By how much of their values, at most: a few times what rounds them, in 32 and in 16 bits."""

_MOVES = Broadcast, Concat, Gather, Pad, Reshape, Slice, Transpose, Where
_SOURCES = Constant, Input, Iota
_CHOSEN = frozenset({"abs", "ceil", "floor", "maximum", "minimum", "neg", "round", "sign"})
"""Functions that round nothing but to integers."""
_SHIFTED = frozenset({"add", "subtract"})
"""Functions that, with what does not change, leave a step a step."""


class Change(IntEnum):
    """How rounding may change the elements of a node, the least first."""

    NONE = 0
    FLOAT = 1
    """Floats that are rounded."""
    LEVEL = 2
    """Integers that such floats were made, a step up or down."""
    SUMMED = 3
    """Integers, or floats, that are computed from many levels."""
    CHOICE = 4
    """Indices and truth values, which say where a float is, and all that follows from them."""


def changes_of(graph: Graph) -> tuple[Change, ...]:
    """How rounding may change each output of a graph."""
    changes: dict[Node, Change] = {}
    for node in (*graph.inputs, *graph.nodes):
        if node not in changes:
            changes[node] = _change(node, [changes[source] for source in node.inputs])
    return tuple(changes[output] for output in graph.outputs)


def _change(node: Node, given: Sequence[Change]) -> Change:
    """The change of a node with inputs of these changes."""
    operator, kind = node.operator, node.dtype.kind
    worst = max(given[1:] if _clips(node) else given, default=Change.NONE)
    if isinstance(operator, Gather) and given[1] != Change.NONE:
        return Change.CHOICE
    if kind not in "iub":
        if worst == Change.CHOICE or _moves(node, given):
            return worst
        return Change.SUMMED if worst >= Change.LEVEL else Change.FLOAT
    if worst == Change.NONE or (kind != "b" and _moves(node, given)):
        return worst
    if kind == "b" or worst == Change.CHOICE or isinstance(operator, ArgReduce | Foreign):
        return Change.CHOICE
    if isinstance(operator, Cast):
        return max(worst, Change.LEVEL)
    return Change.SUMMED if isinstance(operator, Map | Dot | Conv | Reduce) else Change.CHOICE


def _clips(node: Node) -> bool:
    """Whether a node is the larger or smaller of two numbers, told by comparing them."""
    if not isinstance(node.operator, Where):
        return False
    condition, *values = node.inputs
    is_comparison = getattr(condition.operator, "name", "") in COMPARISONS
    return is_comparison and {*map(_same, condition.inputs)} == {*map(_same, values)}


def _same(node: Node) -> Node | bytes:
    """Equal for the same nodes, and for numbers that are equal."""
    operator = node.operator
    if isinstance(operator, Constant) and operator.array.size == 1:
        return operator.array.tobytes()
    return node


def _moves(node: Node, given: Sequence[Change]) -> bool:
    """Whether each element of a node is one of its inputs, or as far from another value."""
    operator = node.operator
    if isinstance(operator, Cast):
        source = node.inputs[0].dtype
        widens = source.itemsize <= node.dtype.itemsize
        return source.kind in "iub" or (node.dtype.kind not in "iub" and widens)
    if isinstance(operator, Map):
        return operator.name in _CHOSEN or (
            operator.name in _SHIFTED
            and node.dtype.kind in "iu"
            and sum(each != Change.NONE for each in given) == 1
        )
    if isinstance(operator, Reduce):
        return operator.kind in ("max", "min")
    return isinstance(operator, (*_MOVES, *_SOURCES))


@dataclass(frozen=True)
class Rounding:
    """How rounding may change the results of a function."""

    changes: Sequence[Change]
    """How it may change each result; none says that it changes nothing."""
    again: Callable[[Callable[[Array], Array]], Sequence[Array]] | None
    """The right results for arguments that a function changes; None if that is not known."""
    share: float = _SHARE

    def difference(self, number: int, given: Array, expected: Array) -> str:
        """How the integers of this result differ but for rounding; "" if they do not."""
        if (given.shape, given.dtype) == (expected.shape, expected.dtype) and (
            np.array_equal(given, expected) or self._explains(number, given, expected)
        ):
            return ""
        return f"other elements of {expected.dtype}"

    def _explains(self, number: int, given: Array, expected: Array) -> bool:
        """Whether rounding may have changed the integers of this result, which differ."""
        change = self.changes[number] if self.changes else Change.NONE
        if change == Change.NONE:
            return False
        if change == Change.LEVEL:
            a, b = (each[given != expected] for each in (given, expected))
            return bool((np.maximum(a, b) - 1 == np.minimum(a, b)).all())  # which does not wrap
        if change == Change.SUMMED:
            wide = given.astype(np.float64), expected.astype(np.float64)
            return error_of(*wide) <= ROUNDED
        return self._is_among_others(number, given, expected)

    def _is_among_others(self, number: int, given: Array, expected: Array) -> bool:
        """Whether each element that differs is that of a result for arguments a little changed."""
        if (again := self.again) is None:
            return False
        differ, random = np.asarray(given != expected), np.random.default_rng(0)

        def other(change: Callable[[Array], Array]) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(again(change)[number])

        try:
            if not np.array_equal(other(lambda each: each), expected):  # as by random numbers
                return False
            for _ in range(_NUDGES):
                nearby = other(lambda each: nudged(each, self.share, random))
                differ &= nearby.shape != given.shape or nearby != given
                if not differ.any():
                    return True
        except Exception:  # the function, or memory, is not for so many calls
            return False
        return False


EXACT = Rounding((), None)
"""Results whose integers are the same."""


def mistake(pairs: Iterable[tuple[Array, Array]], tolerance: float, rounding: Rounding) -> str:
    """How results differ from those that are expected, but for rounding; "" if they do not."""
    largest, other = 0.0, ""
    for number, (given, expected) in enumerate(pairs):
        largest = max(largest, error_of(given, expected))
        if expected.dtype.kind in "iub":
            other = other or rounding.difference(number, given, expected)
    return other if largest <= tolerance else f"an error of {largest:.1e}"


def share_of(tolerance: float) -> float:
    """By how much arguments are nudged, for results of such a tolerance."""
    return _NARROW_SHARE if tolerance == NARROW else _SHARE


def nudged(array: Array, share: float, random: np.random.Generator) -> Array:
    """An array whose floats are changed by up to this share of each; of others, itself."""
    if "float" not in array.dtype.name:
        return array
    factors = 1 + share * random.uniform(-1, 1, array.shape)
    with np.errstate(over="ignore"):
        return np.asarray(array.astype(np.float64) * factors, array.dtype)
