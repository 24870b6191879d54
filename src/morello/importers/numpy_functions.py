"""Translations of NumPy's functions into operators of graphs.

A *translation* has the parameters of its function, as far as it knows them; for arrays it gets
nodes. It raises `GraphError` for a call that no operators compute: NumPy then does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import pi, prod
from typing import Any

import numpy as np

from morello.base.errors import GraphError
from morello.graph.graph import Node, apply
from morello.graph.operators import (
    ArgReduce,
    Concat,
    Cumulate,
    Reduce,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS
from morello.graph.patterns.matching import in_dtype, is_float, lowest, mapped, number, reshaped
from morello.importers.composed import (
    COMPOSED,
    float_remainder,
    floor_float_quotient,
    floor_float_remainder,
)
from morello.importers.integers import (
    bitwise_and,
    floor_quotient,
    floor_remainder,
    left_shift,
    of_integers,
    ones,
    or_zero,
    remainder,
    right_shift,
)
from morello.importers.numpy_movement import MOVEMENTS, diagonal_of
from morello.importers.numpy_nan import OF_KNOWN
from morello.importers.numpy_norms import NORMS
from morello.importers.numpy_operands import (
    Axes,
    Operand,
    along,
    as_node,
    dtype_of,
    flat,
    map_of,
    normal_axis,
    promoted,
    sorted_axes,
    truth,
)
from morello.importers.numpy_products import PRODUCTS
from morello.importers.numpy_signals import SIGNALS
from morello.importers.numpy_statistics import STATISTICS
from morello.importers.numpy_writing import WRITING
from morello.importers.ranges import all_narrowed, in_32_bits, rounded

UFUNCS: dict[str, str] = {
    "absolute": "abs",
    "fabs": "abs",
    "negative": "neg",
    "rint": "round",
    "true_divide": "divide",
    **{
        name: name
        for name in (
            "add", "atan2", "ceil", "cos", "divide", "equal", "erf", "erfc", "exp", "exp2", "expm1",
            "floor", "greater", "greater_equal", "less", "less_equal", "log", "log1p", "log2",
            "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
            "multiply", "not_equal", "reciprocal", "sign", "sin", "sqrt", "square", "subtract",
            "tanh",
        )
    },
}  # fmt: skip
"""The name of the `Map` of each universal function; erf and erfc are those of SciPy."""

_BITWISE = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
            "invert": "logical_not"}  # fmt: skip
"""The functions of bits that are functions of truth values on arrays of bool."""


_OF_INTEGERS: dict[str, Callable[..., Node]] = {
    "bitwise_and": bitwise_and,
    "bitwise_count": lambda x: ones(mapped("abs", x)),
    "bitwise_or": partial(mapped, "bitwise_or"),
    "bitwise_xor": partial(mapped, "bitwise_xor"),
    "floor_divide": lambda x, by: or_zero(floor_quotient(x, by), by),
    "fmod": lambda x, by: or_zero(remainder(x, by), by),
    "invert": partial(mapped, "bitwise_not"),
    "left_shift": left_shift,
    "remainder": lambda x, by: or_zero(floor_remainder(x, by), by),
    "right_shift": right_shift,
}
"""The functions of integers."""

_OF_FLOATS: dict[str, Callable[..., Node]] = {
    "floor_divide": floor_float_quotient,
    "fmod": float_remainder,
    "remainder": floor_float_remainder,
}
"""The functions of integers that are functions of floats as well."""

LARGEST_POWER = 16
"""The largest exponent for which a power is a product."""


def translated(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The node, or the sequence of nodes, that a call of one of NumPy's functions computes.

    Raises `GraphError` if there are no such operators.
    """
    known = TRANSLATIONS.get(function)
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc) and function.__name__ == "outer":
        known = partial(_of_pairs, ufunc)
    if known is None and isinstance(function, np.ufunc):
        return _elementwise(function, args, keywords)
    if known is None:
        raise GraphError(f"there is no operator for {function.__name__}.")
    try:
        return known(*args, **keywords)
    # NumPy takes more kinds of arguments
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise GraphError(f"{function.__name__} with such arguments is unknown: {error}.") from None


# ---- elementwise


def _elementwise(function: np.ufunc, args: Sequence[Any], keywords: dict[str, Any]) -> Node:
    """A universal function of arrays and numbers."""
    if keywords or len(args) != function.nin or function.nout != 1:
        raise GraphError(f"{function.__name__} with such arguments is unknown.")
    name = function.__name__
    if name in _BITWISE and all(dtype_of(x) == np.dtype(bool) for x in args):
        name = _BITWISE[name]
    if name in _OF_INTEGERS:
        left = _float_remainder(name, *args)
        return _of_integers(function, *args) if left is None else left
    name = name.replace("arc", "a")
    composed = COMPOSED.get(name)
    if composed is None and name not in UFUNCS and name not in _BITWISE.values():
        raise GraphError(f"there is no operator for {name}.")
    name = UFUNCS.get(name, name)
    kinds = [dtype_of(operand) for operand in args]
    *dtypes, _ = function.resolve_dtypes((*kinds, None))
    inputs = [as_node(x, dtype) for x, dtype in zip(args, dtypes, strict=True)]
    if name.startswith("logical_"):
        inputs = [truth(x) for x in inputs]
    if composed is not None:
        if inputs[0].dtype != np.float32:
            raise GraphError(f"there is no operator for {name} of {inputs[0].dtype}.")
        return composed(map_of, *inputs)
    return _in_few_bits(name, inputs)


def _in_few_bits(name: str, inputs: Sequence[Node]) -> Node:
    """A function of operands of one dtype; int64 is computed in 32 bits, where these suffice."""
    if inputs[0].dtype != np.int64:
        return mapped(name, *inputs)
    if name in COMPARISONS:
        operands = all_narrowed(inputs) or rounded(inputs, in_dtype)
        return mapped(name, *(as_node(each) for each in operands))
    small = in_32_bits(partial(mapped, name), *inputs)
    return mapped(name, *inputs) if small is None else in_dtype(small, inputs[0].dtype)


def _float_remainder(name: str, *args: Operand) -> Node | None:
    """A remainder or quotient of floats of at most 32 bits; None for anything else."""
    if name not in _OF_FLOATS:
        return None
    x, by = promoted(*args)
    if x.dtype not in (np.float32, np.float16):
        return None
    known, f32 = number(by), np.dtype(np.float32)
    divisor = in_dtype(by, f32) if known is None else known
    return in_dtype(_OF_FLOATS[name](map_of, in_dtype(x, f32), divisor), x.dtype)


def _of_pairs(function: np.ufunc, a: Operand, b: Operand) -> Node:
    """The method `outer` of a universal function: of each element with all of another array."""
    first, second = as_node(a), as_node(b)
    apart = reshaped(first, (*first.shape, *(1,) * second.type.rank))
    return _elementwise(function, (apart, second), {})


def _quotient_and_remainder(x: Operand, by: Operand) -> list[Node]:
    return [_elementwise(each, (x, by), {}) for each in (np.floor_divide, np.remainder)]


def _of_integers(function: np.ufunc, *args: Operand) -> Node:
    """A function of integers, in the dtype that NumPy computes it in."""
    *dtypes, result = function.resolve_dtypes((*(dtype_of(each) for each in args), None))
    name, dtype = function.__name__, dtypes[0]
    if dtype.kind not in "iu":
        raise GraphError(f"there is no operator for {name} of {dtype}.")
    operands = (as_node(each, dtype) for each in args)
    return in_dtype(of_integers(_OF_INTEGERS[name], *operands), result)


def _identity(x: Node, **_: Any) -> Node:
    return x


def _power(x: Operand, exponent: Operand) -> Node:
    base, power = promoted(x, exponent)
    known = number(power)
    if known == 0.5:
        return mapped("sqrt", base)
    if known in (-0.5, -1.0, -2.0):
        root = {-0.5: "sqrt", -2.0: "square"}.get(known)
        return mapped("reciprocal", mapped(root, base) if root else base)
    if known is None or known not in range(1, LARGEST_POWER + 1):
        return mapped("power", base, power)
    result, rest = None, int(known)
    while rest:  # by squaring
        if rest % 2:
            result = base if result is None else mapped("multiply", result, base)
        rest //= 2
        base = mapped("square", base) if rest else base
    assert result is not None
    return result


def astype(x: Any, dtype: np.dtype[Any]) -> Any:
    """An array, or one of NumPy's numbers, cast to a dtype."""
    return x.astype(dtype)


def _isnan(x: Node, /) -> Node:
    return mapped("not_equal", x, x)


def _isinf(x: Node, /) -> Node:
    return _against_largest("greater", x) if is_float(x.dtype) else _isnan(x)


def _isfinite(x: Node, /) -> Node:
    return _against_largest("less_equal", x) if is_float(x.dtype) else mapped("equal", x, x)


def _against_largest(name: str, x: Node) -> Node:
    """How the magnitudes of floats compare with the largest finite number."""
    return map_of(name, mapped("abs", x), -lowest(x.dtype))


def _trunc(x: Node, /) -> Node:
    if not is_float(x.dtype):
        return x
    down, up = (mapped(name, x) for name in ("floor", "ceil"))
    return apply(Where(), map_of("less", x, 0), up, down)


def _where(condition: Operand, x: Operand, y: Operand, /) -> Node:
    return apply(Where(), truth(as_node(condition)), *promoted(x, y))


def _clip(
    a: Node,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
    *,
    min: Operand | None = None,
    max: Operand | None = None,
) -> Node:
    for name, bound in (("maximum", a_min), ("maximum", min), ("minimum", a_max), ("minimum", max)):
        if bound is not None:
            a = map_of(name, a, bound)
    return a


def _isclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8) -> Node:
    a, b = promoted(a, b)
    if not is_float(a.dtype):
        raise GraphError("integers are compared by NumPy.")
    bound = map_of("add", map_of("multiply", mapped("abs", b), rtol), atol)
    near = mapped("less_equal", mapped("abs", mapped("subtract", a, b)), bound)
    return mapped("logical_or", mapped("logical_and", near, _isfinite(b)), mapped("equal", a, b))


def _heaviside(x: Operand, middle: Operand, /) -> Node:
    x, middle = promoted(x, middle)
    if not is_float(x.dtype):
        raise GraphError("there is no operator for heaviside of integers.")
    steps = in_dtype(map_of("greater", x, 0), x.dtype)
    steps = apply(Where(), map_of("equal", x, 0), middle, steps)
    return apply(Where(), _isnan(x), x, steps)


def _sinc(x: Node) -> Node:
    if not is_float(x.dtype):
        raise GraphError("there is no operator for sinc of integers.")
    angle = map_of(
        "multiply", apply(Where(), map_of("equal", x, 0), as_node(1e-20, x.dtype), x), pi
    )
    return mapped("divide", mapped("sin", angle), angle)


def _round(a: Node, decimals: int = 0) -> Node:
    if a.dtype.kind != "f":
        raise GraphError("integers are rounded by NumPy.")
    if not decimals:
        return mapped("round", a)
    before, after = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    power = 10 ** abs(decimals)
    return map_of(after, mapped("round", map_of(before, a, power)), power)


# ---- reductions


def _reduction(kind: str) -> Callable[..., Node]:
    def reduction(
        a: Node,
        axis: Axes = None,
        *,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Operand | None = None,
        where: Any = True,
    ) -> Node:
        result = a.dtype
        if kind in ("sum", "prod", "mean"):
            result = np.dtype(dtype) if dtype is not None else _total(kind, a.dtype)
            wide = np.dtype(np.float32) if kind == "mean" and result == np.float16 else result
            a = as_node(a, wide)
        elif dtype is not None:
            raise GraphError(f"the {kind} has the dtype of the array.")
        if where is not True:
            a = _some(kind, a, where, initial)
        total = _reduced(kind, a, axis, keepdims)
        if initial is not None:
            total = mapped(_OF_TWO[kind], total, as_node(initial, total.dtype))
        return as_node(total, result)

    return reduction


def _some(kind: str, a: Node, where: Any, initial: Operand | None) -> Node:
    """An array in which elements that are left out have no effect on a reduction."""
    neutral = {"prod": 1, "sum": 0}.get(kind, initial)
    if neutral is None or kind == "mean":
        raise GraphError(f"the {kind} of some elements is unknown.")
    return apply(Where(), truth(as_node(where)), a, as_node(neutral, a.dtype))


def _of_ufunc(kind: str) -> Callable[..., Node]:
    """The method `reduce` of a universal function, which has another default axis."""
    reduction = _reduction(kind)

    def reduced(a: Node, axis: Axes = 0, dtype: Any = None, **options: Any) -> Node:
        return reduction(a, axis, dtype=dtype, **options)

    return reduced


def _total(kind: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of sums and means of elements of a dtype."""
    sample = np.ones(1, dtype)
    return np.dtype((np.mean if kind == "mean" else np.sum)(sample).dtype)


def _reduced(kind: str, a: Node, axis: Axes, keepdims: bool) -> Node:
    axes = sorted_axes(axis, a.type.rank)
    if axes == _stacked(a) and kind in _OF_TWO:
        result = reduce(partial(mapped, _OF_TWO[kind]), a.inputs)
        return result if keepdims else _squeezed(result, axes)
    if not axes:
        return a
    reduction = partial(apply, Reduce(kind, axes, bool(keepdims)))
    small = in_32_bits(reduction, a) if a.dtype == np.int64 else None
    return reduction(a) if small is None else in_dtype(small, a.dtype)


_OF_TWO = {"max": "maximum", "min": "minimum", "prod": "multiply", "sum": "add"}
"""The functions of two elements that reductions apply."""


def _stacked(a: Node) -> tuple[int, ...] | None:
    """The axis along which arrays of one element each were joined; None if it is no such array."""
    if not isinstance(a.operator, Concat):
        return None
    axis = a.operator.axis
    return (axis,) if all(source.shape[axis] == 1 for source in a.inputs) else None


def _squeezed(a: Node, axes: tuple[int, ...]) -> Node:
    return reshaped(a, tuple(size for d, size in enumerate(a.shape) if d not in axes))


def _variance(
    a: Node, axis: Axes = None, *, dtype: Any = None, ddof: float = 0, keepdims: bool = False
) -> Node:
    result = np.dtype(dtype) if dtype is not None else _total("mean", a.dtype)
    inner = np.dtype(np.float32) if result == np.float16 else result
    a, axes = as_node(a, inner), sorted_axes(axis, a.type.rank)
    centred = map_of("subtract", a, _reduced("mean", a, axes, True))
    squares = mapped("square", centred)
    mean = _reduced("mean", squares, axes, keepdims)
    if ddof:
        count = prod(a.shape[d] for d in axes)
        if count <= ddof:
            raise GraphError("the variance has no degrees of freedom.")
        mean = map_of("multiply", mean, count / (count - ddof))
    return as_node(mean, result)


def _deviation(
    a: Node, axis: Axes = None, *, dtype: Any = None, ddof: float = 0, keepdims: bool = False
) -> Node:
    return mapped("sqrt", _variance(a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


def _range(a: Node, axis: Axes = None, *, keepdims: bool = False) -> Node:
    largest = _reduced("max", a, axis, keepdims)
    return map_of("subtract", largest, _reduced("min", a, axis, keepdims))


def _place(kind: str) -> Callable[..., Node]:
    def search(a: Node, axis: int | None = None, *, keepdims: bool = False) -> Node:
        integer = np.dtype(np.intp)
        if axis is None:
            place = apply(ArgReduce(kind, 0, integer), flat(a))
            return reshaped(place, (1,) * a.type.rank) if keepdims else place
        return apply(ArgReduce(kind, normal_axis(axis, a.type.rank), integer, bool(keepdims)), a)

    return search


def _cumsum(a: Node, axis: int | None = None, dtype: Any = None) -> Node:
    a = as_node(a, np.dtype(dtype) if dtype is not None else _total("sum", a.dtype))
    a, axis = along(a, axis)
    sums = partial(apply, Cumulate(axis))
    small = in_32_bits(sums, a)
    return sums(a) if small is None else as_node(small, a.dtype)


def _trace(a: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    return _reduction("sum")(diagonal_of(a, offset, axis1, axis2), -1)


TRANSLATIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    **MOVEMENTS,
    **NORMS,
    **PRODUCTS,
    **SIGNALS,
    **OF_KNOWN,
    **STATISTICS,
    **WRITING,
    np.add.reduce: _of_ufunc("sum"),
    np.amax: _reduction("max"),
    np.amin: _reduction("min"),
    np.argmax: _place("max"),
    np.argmin: _place("min"),
    np.around: _round,
    np.clip: _clip,
    np.conjugate: _identity,
    np.copy: _identity,
    np.cumsum: _cumsum,
    **dict.fromkeys((np.deg2rad, np.radians), lambda x, /: map_of("multiply", x, pi / 180)),
    **dict.fromkeys((np.degrees, np.rad2deg), lambda x, /: map_of("multiply", x, 180 / pi)),
    np.divmod: _quotient_and_remainder,
    np.fix: _trunc,
    np.float_power: _power,
    np.heaviside: _heaviside,
    np.isclose: _isclose,
    np.isfinite: _isfinite,
    np.isinf: _isinf,
    np.isnan: _isnan,
    np.max: _reduction("max"),
    np.maximum.reduce: _of_ufunc("max"),
    np.mean: _reduction("mean"),
    np.min: _reduction("min"),
    np.minimum.reduce: _of_ufunc("min"),
    np.multiply.reduce: _of_ufunc("prod"),
    np.positive: _identity,
    np.power: _power,
    np.prod: _reduction("prod"),
    np.ptp: _range,
    np.real: _identity,
    np.round: _round,
    np.sinc: _sinc,
    np.std: _deviation,
    np.sum: _reduction("sum"),
    np.trace: _trace,
    np.trunc: _trunc,
    np.var: _variance,
    np.where: _where,
    astype: as_node,
    operator.pow: _power,
}
"""The translation of each function."""
