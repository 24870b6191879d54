"""Tracing: from a function written in NumPy, and example arrays, to a graph.

The function is run on objects that stand for arrays. NumPy hands over what is done with them, by
`__array_ufunc__` and `__array_function__`: it is computed at once, which gives the types of all
results and NumPy's own errors, and recorded as nodes. What no operators compute is recorded as a
call of NumPy, a `Foreign` node. Whatever depends on the values themselves cannot be recorded.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, EllipsisType, FunctionType, NoneType
from typing import Any, NoReturn

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Array, Graph, Node, TensorType, apply
from morello.graph.operators import Constant, Foreign, Input
from morello.graph.patterns.matching import transposed
from morello.importers.numpy_functions import astype, translated
from morello.importers.numpy_making import with_own_arrays
from morello.importers.numpy_writing import CHANGING, as_assignment, assigned, combined

CONSTANTS = (
    bool, int, float, str, bytes, type, slice, np.generic, np.dtype, np.ufunc, FunctionType,
    BuiltinFunctionType, EllipsisType, NoneType,
)  # fmt: skip
"""The kinds of arguments that are constants of a trace."""


@dataclass(frozen=True)
class ReturnedArray:
    """Where an array that a function returns comes from: an output of its graph, by number.

    A `scalar` is returned as NumPy's scalar, not as an array without dimensions; a `view` has
    elements in common with an argument.
    """

    output: int
    scalar: bool
    view: bool


@dataclass(frozen=True)
class TracedFunction:
    """A function as a graph, and its return value with a `ReturnedArray` for each array."""

    graph: Graph
    returned: Any


@dataclass(frozen=True, eq=False)
class NumPyCall:
    """A call of NumPy that no operators compute: `self(*arrays)` does it."""

    function: Callable[..., Any]
    arguments: Any
    """The positional and the keyword arguments, with a `Slot` for each array."""

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        args, keywords = mapped(
            lambda each: arrays[each.number] if isinstance(each, Slot) else each, self.arguments
        )
        return results_of(self.function(*args, **keywords))


@dataclass(frozen=True)
class Slot:
    """The place of an array among the arguments of a call, by number."""

    number: int


def trace(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
) -> TracedFunction:
    """The graph of a call; its inputs are the arrays among the arguments, in order.

    Each input has its dimensions in the `memory_order` of its array. Lists, tuples and
    dictionaries may have arrays in them. All else is constant. Raises `GraphError` if the call
    cannot be traced, and what the function itself raises.
    """
    try:
        return _traced(lambda _: function, args, keywords)
    except Exception:
        if type(function) is not FunctionType:
            raise
        own = partial(_with_own_arrays, function)
        with suppress(Exception):  # the first one is of the function as it is
            return _traced(own, args, keywords)
        raise


def _with_own_arrays(function: FunctionType, recorder: Recorder) -> Callable[..., Any]:
    def make(array: Array) -> TracedArray:
        return TracedArray(recorder, recorder.constant(array), protected(array))

    return with_own_arrays(function, make, TracedArray)


def _traced(
    choose: Callable[[Recorder], Callable[..., Any]], args: Sequence[Any], keywords: dict[str, Any]
) -> TracedFunction:
    """The graph of a call of a function that is chosen for a new recorder."""
    recorder = Recorder()
    given, named = mapped(recorder.input, (tuple(args), keywords))
    returned = choose(recorder)(*given, **named)
    recorder.check()
    if recorder.failure is not None:
        raise recorder.failure  # the function caught it
    outputs: dict[Node, int] = {}

    def result(value: Any) -> Any:
        if isinstance(value, TracedArray):
            place = outputs.setdefault(value.node, len(outputs))
            view = any(np.may_share_memory(value.value, each) for each in recorder.arrays)
            return ReturnedArray(place, isinstance(value.value, np.generic), view)
        return value.copy() if isinstance(value, np.ndarray) else value

    described = mapped(result, returned)
    return TracedFunction(Graph(tuple(recorder.inputs), tuple(outputs)), described)


def memory_order(array: Array) -> tuple[int, ...]:
    """The dimensions of an array from the largest stride to the smallest, if it has no gaps.

    Those of any other array are in order.
    """
    every = range(array.ndim)
    order = tuple(sorted(every, key=lambda d: (-array.strides[d], -array.shape[d], d)))
    return order if array.transpose(order).flags.c_contiguous else tuple(every)


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Lists, tuples and dictionaries, in each other, with everything in them changed."""
    if type(tree) in (list, tuple) or _has_names(tree):
        return _like(tree, [mapped(change, each) for each in tree])
    if type(tree) is dict:
        return {key: mapped(change, each) for key, each in tree.items()}
    return change(tree)


def _has_names(tree: Any) -> bool:
    """Whether a tree is a named tuple, as some functions of NumPy return, such as slogdet."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def _like(tree: Any, items: list[Any]) -> Any:
    """A list or a tuple of the same kind with other items."""
    return type(tree)(*items) if _has_names(tree) else type(tree)(items)


def leaves(tree: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dictionaries, in the order of `mapped`."""
    every: list[Any] = []
    mapped(every.append, tree)
    return every


def results_of(value: Any) -> tuple[Any, ...]:
    """The arrays that a call of NumPy returned, one or several."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(each, np.ndarray | np.generic) for each in values):
        raise GraphError("a call that returns no arrays cannot be traced.")
    return values


class Recorder:
    """The inputs and the constants of a trace, and why it failed, if it did."""

    def __init__(self) -> None:
        self.inputs: list[Node] = []
        self.arrays: list[Array] = []
        self.failure: GraphError | None = None
        self.pending: tuple[TracedArray, Array] | None = None
        """A part of an array that was changed, and what it was a view of: it has to be assigned to
        that place next."""
        self._constants: dict[int, tuple[Array, Node]] = {}

    def input(self, value: Any) -> Any:
        """An object that stands for an array; a constant as it is."""
        if type(value) is not np.ndarray:
            if isinstance(value, CONSTANTS):
                return value
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise GraphError(f"an argument of {kind} is no array of NumPy, and no constant.")
        name, order = f"argument {len(self.inputs) + 1}", memory_order(value)
        shape = tuple(value.shape[d] for d in order)
        self.inputs.append(apply(Input(TensorType(shape, value.dtype), name)))
        self.arrays.append(protected(value.view()))
        back = tuple(order.index(d) for d in range(len(order)))
        return TracedArray(self, transposed(self.inputs[-1], back), self.arrays[-1], given=True)

    def refuse(self, what: str, remedy: str = "") -> NoReturn:
        """Raise, now and at the end, the `GraphError` that says what cannot be traced."""
        self.failure = GraphError(what, remedy)
        raise self.failure

    def check(self) -> None:
        """Raise `GraphError` if a part of an array was changed, and not assigned."""
        if self.pending is not None:
            self.pending = None
            self.refuse(_SEEN, _REMEDY)

    def constant(self, array: Array) -> Node:
        """A node with the present values of an array, one for all uses of it."""
        known = self._constants.get(id(array))
        if known is None or not np.array_equal(known[1].operator.evaluate(), array):
            known = array, apply(Constant(protected(array.copy())))
            self._constants[id(array)] = known
        return known[1]

    def record(
        self, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        """The result of a call of NumPy, with a `TracedArray` in place of each array."""
        self.check()
        traced: list[TracedArray] = []

        def value(each: Any) -> Any:
            if isinstance(each, TracedArray):
                traced.append(each)
                return each.value
            return each

        returned = function(*mapped(value, tuple(args)), **mapped(value, keywords))
        try:
            values = results_of(returned)
        except GraphError as error:
            self.refuse(f"{function.__name__}: {error}")
        nodes = self._nodes(function, args, keywords, values)
        pairs = zip(nodes, map(protected, values), strict=True)
        results = [TracedArray(self, *pair) for pair in pairs]
        for result in results:
            for each in traced:
                if np.may_share_memory(result.value, each.value):
                    result.join(each)
        return _like(returned, results) if isinstance(returned, list | tuple) else results[0]

    def _nodes(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        keywords: dict[str, Any],
        values: Sequence[Any],
    ) -> Sequence[Node]:
        """The nodes of the results of a call, by operators if they have the same types."""
        types = [TensorType(each.shape, each.dtype) for each in values]
        given, named = mapped(self._node, (tuple(args), keywords))
        try:
            computed = translated(function, given, named)
        except GraphError:
            computed = None
        nodes = [computed] if isinstance(computed, Node) else computed
        if nodes is not None and [node.type for node in nodes] == types:
            return nodes
        sources: list[Node] = []

        def slot(each: Any) -> Any:
            if not isinstance(each, Node):
                return each
            sources.append(each)
            return Slot(len(sources) - 1)

        call, name = NumPyCall(function, mapped(slot, (given, named))), function.__name__
        return [
            apply(Foreign(each, call, name, index), *sources) for index, each in enumerate(types)
        ]

    def _node(self, each: Any) -> Any:
        if isinstance(each, TracedArray):
            return each.node
        return self.constant(each) if type(each) is np.ndarray else each


def _same_elements(*views: Any) -> bool:
    """Whether two views are of the same elements, in the same order."""
    a, b = map(np.asarray, views)
    return (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays have elements in common, or may have them."""
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]  # any integer
    except np.exceptions.TooHardError:
        return True


def protected(value: Any) -> Any:
    """An array that nothing writes to from now on."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value


class TracedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A placeholder of an array while a function is traced.

    The `family` are all that may have elements in common with it, which is None for the inputs and
    their views: others see their elements. Which ones they have in common, the memory of their
    values says, unless one of them was assigned to since (`moved`), and has new values.
    """

    __slots__ = ("__weakref__", "family", "moved", "node", "recorder", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, recorder: Recorder, node: Node, value: Any, given: bool = False) -> None:
        self.recorder, self.node, self.value = recorder, node, value
        self.family: list[weakref.ref[TracedArray]] | None = None if given else [weakref.ref(self)]
        self.moved = False

    def join(self, other: TracedArray) -> None:
        """Note that both may have elements in common."""
        self.moved = (self.moved and self.shared) or (other.moved and other.shared)
        other.moved = self.moved
        if self.family is None or other.family is None:
            self.family = other.family = None
        elif self.family is not other.family:
            other.family += self.family
            self.family = other.family

    @property
    def shared(self) -> bool:
        """Whether changing it in place would change more than itself."""
        return self.family is None or sum(each() is not None for each in self.family) > 1

    def is_seen(self, index: Any) -> bool:
        """Whether others see a part of it, or may do so."""
        if not self.shared:
            return False
        part = self.value[index]
        if not np.may_share_memory(part, self.value):  # it is a copy, as of numbered elements
            part = self.value
        if self.family is None or self.moved:
            return True
        others = [each for ref in self.family if (each := ref()) is not None and each is not self]
        return any(each.moved or _overlap(each.value, part) for each in others)

    def change(self, other: TracedArray) -> None:
        """Let it stand for another array from now on."""
        self.node, self.value, self.family = other.node, other.value, [weakref.ref(self)]

    def change_part(self, other: TracedArray) -> None:
        """Let it stand for another array, whose other views still see what they saw before."""
        self.node, self.value, self.moved = other.node, other.value, self.shared

    # ---- what NumPy hands over

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **keywords: Any) -> Any:
        if method == "at":
            return self._combine(ufunc, *args)
        out = keywords.pop("out", None)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        result = self.recorder.record(function, args, keywords)
        if out is None:
            return result
        (changed,) = out if len(out) == 1 else (None,)
        if not isinstance(changed, TracedArray) or changed.family is None:
            self._refuse(_SEEN, _REMEDY)
        part, place = changed.shared, changed.value
        if part:  # as in x[0] += 1, which goes on to assign to x[0]
            changed = TracedArray(self.recorder, changed.node, place)
        if isinstance(changed.value, np.generic):
            return result  # numbers do not change: the name stands for another one
        if result.shape != changed.shape or not np.can_cast(
            result.dtype, changed.dtype, "same_kind"
        ):
            self._refuse(f"an array of another type is changed in place by {ufunc.__name__}")
        changed.change(result.astype(changed.dtype))
        self.recorder.pending = (changed, place) if part else None
        return changed

    def _combine(self, ufunc: np.ufunc, array: Any, index: Any, *values: Any) -> None:
        """Apply a universal function in place to elements, once for each time they are named."""
        if not isinstance(array, TracedArray):
            self._refuse("storing a traced array in another array cannot be traced")
        if array.is_seen(...):
            self._refuse(_SEEN, _REMEDY)
        array.change_part(self.recorder.record(combined, (array, ufunc, index, *values), {}))

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, keywords: Any
    ) -> Any:
        if "out" in keywords:
            self._refuse("an array is written to by `out`", "leave it out")
        if function in CHANGING:
            array, index, value = as_assignment(function, *args, **keywords)
            if not isinstance(array, TracedArray):
                self._refuse("storing a traced array in another array cannot be traced")
            if index is None:
                what = f"np.{function.__name__} changes an array in place"
                self._refuse(what, "assign to its elements, as in x[i] = y")
            array[index] = value
            return None
        if function in _OF_TYPES:
            result = function(*mapped(_value, args), **keywords)
            if type(result) is np.ndarray:
                return TracedArray(self.recorder, self.recorder.constant(result), protected(result))
            return result
        return self.recorder.record(function, args, keywords)

    def _refuse(self, what: str, remedy: str = "") -> NoReturn:
        self.recorder.refuse(what, remedy)

    # ---- what depends on values

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        self._refuse(
            "np.asarray of a traced array, or storing one in another array, cannot be traced",
            "leave it out, or join arrays by np.stack or np.concatenate",
        )

    def __bool__(self) -> bool:
        self._refuse("an `if`, `while` or `and` on a traced array cannot be traced", "use np.where")

    def _number(self, *args: Any) -> NoReturn:
        self._refuse("a traced array is no Python number", "use NumPy's functions on it")

    __float__ = __int__ = __index__ = __complex__ = item = tolist = tobytes = _number

    def __setitem__(self, index: Any, value: Any) -> None:
        part, place = self.recorder.pending or (None, None)
        known = mapped(_value, index)
        goes_back = place is not None and value is part and _same_elements(self.value[known], place)
        if goes_back:
            self.recorder.pending = None
        if self.is_seen(known):
            self._refuse(_SEEN, _REMEDY)
        self.change_part(self.recorder.record(assigned, (self, index, value), {}))
        if goes_back:
            self.join(value)
            self.moved = True

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.recorder.failure = GraphError(f"an array's {name} cannot be traced.")
        raise AttributeError(f"a traced array has no {name}.")

    # ---- what is known without them

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of arrays, so that `isinstance` holds as for an array."""
        return np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return self.node.type.rank

    @property
    def size(self) -> int:
        return self.node.type.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.node.type.bytes

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<a traced {self.node.type}>"

    # ---- methods

    @property
    def T(self) -> Any:  # noqa: N802 (it is called so in NumPy)
        return self.recorder.record(np.transpose, (self,), {})

    @property
    def mT(self) -> Any:  # noqa: N802
        return self.recorder.record(np.swapaxes, (self, -1, -2), {})

    @property
    def real(self) -> Any:
        return self.recorder.record(np.real, (self,), {})

    def __pow__(self, exponent: Any) -> Any:
        """The power by Python's operator, which has other dtypes for truth values than np.power."""
        return self.recorder.record(operator.pow, (self, exponent), {})

    def __getitem__(self, index: Any) -> Any:
        return self.recorder.record(operator.getitem, (self, index), {})

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def astype(self, dtype: Any, **_: Any) -> Any:
        return self.recorder.record(astype, (self, np.dtype(dtype)), {})

    def clip(self, min: Any = None, max: Any = None) -> Any:
        return self.recorder.record(np.clip, (self, min, max), {})

    def reshape(self, *shape: Any, **keywords: Any) -> Any:
        return self.recorder.record(np.reshape, (self, _single(shape)), keywords)

    def transpose(self, *axes: Any) -> Any:
        return self.recorder.record(np.transpose, (self, _single(axes) or None), {})

    def flatten(self, order: str = "C") -> Any:
        return self.recorder.record(np.ravel, (self, order), {}).copy()


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: TracedArray, *args: Any, **keywords: Any) -> Any:
        if keywords.get("out") is not None:
            self._refuse("an array is written to by `out`", "leave it out")
        return self.recorder.record(function, (self, *args), keywords)

    return method


for _name in (
    "argmax", "argmin", "argsort", "all", "any", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "max", "mean", "min", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "var",
):  # fmt: skip
    setattr(TracedArray, _name, _method(getattr(np, _name)))

_SEEN, _REMEDY = "an array that others see is changed in place", "make a new one"

_OF_TYPES = (
    np.can_cast, np.empty_like, np.ndim, np.ones_like, np.result_type, np.shape,
    np.size, np.zeros_like,
)  # fmt: skip
"""The functions whose results depend on the types of arrays alone."""


def _single(args: tuple[Any, ...]) -> Any:
    """A shape or axes, given as one argument or as several."""
    return args[0] if len(args) == 1 else args


def _value(each: Any) -> Any:
    return each.value if isinstance(each, TracedArray) else each
