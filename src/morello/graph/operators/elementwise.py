"""Elementwise operators: functions, casts, and choices; inputs are broadcast as NumPy's are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.base.errors import GraphError, SpecError
from morello.frontends import maps
from morello.frontends.copies import cast_in_place
from morello.frontends.functions import FUNCTIONS
from morello.frontends.values import Value
from morello.graph.graph import Array, Operator, TensorType
from morello.ir.dtype import F32, I32, I64, U32, DType
from morello.ir.functions import BINARY, ONLY_INTEGERS, UNARY


def _divide(a: Array, b: Array) -> Array:
    """The quotient; of integers as in the language, without its fraction."""
    quotient: Array = BINARY["quotient"](a, b) if a.dtype.kind in "iu" else a / b
    return quotient


def _remainder(a: Array, b: Array) -> Array:
    """The remainder of that division, with the sign of a; a itself for integers divided by 0."""
    remainder: Array = a - _divide(a, b) * b if a.dtype.kind in "iu" else np.fmod(a, b)
    return remainder


COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "not_equal": np.not_equal,
}
"""Functions of two numbers whose result is of bool."""

_OF_NUMBERS = frozenset({"neg", "sign", "subtract"})
"""Functions that NumPy has of numbers, and not of truth values."""

_MORE: dict[str, Callable[..., Any]] = {
    "divide": _divide,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "power": np.power,
    "remainder": _remainder,
}


def _quotient_value(a: Value | float, b: Value | float) -> Value:
    return maps.quotient(a, b) if _of_integers(a, b) else maps.divide(a, b)


def _power(base: Value | float, exponent: Value | float) -> Value:
    """A power by a known number, or of a known number above 0, as a power of 2."""
    if isinstance(exponent, float):
        return FUNCTIONS["pow"](base, exponent)
    if isinstance(base, Value) or base <= 0 or base == 1:
        raise SpecError("the language has powers by and of known numbers", "compute it elsewhere")
    return maps.unary("exp2", maps.multiply(exponent, math.log2(base)))


def _remainder_value(a: Value | float, b: Value | float) -> Value:
    if not _of_integers(a, b):
        return maps.remainder(a, b)
    return maps.subtract(a, maps.multiply(maps.quotient(a, b), b))


def _of_integers(*operands: Value | float) -> bool:
    """Whether the operands that are no numbers are of integers."""
    return not any(isinstance(each, Value) and each.dtype.is_float for each in operands)


_IN_LANGUAGE: dict[str, Callable[..., Value]] = {
    **FUNCTIONS,
    "divide": _quotient_value,
    "logical_and": maps.minimum,  # of 0 and 1, as which the language has truth
    "logical_not": lambda x: maps.equal(x, 0.0),
    "logical_or": maps.maximum,
    "logical_xor": maps.not_equal,
    "power": _power,
    "remainder": _remainder_value,
}
"""The functions that have an expression."""

_OF_TWO = {name: BINARY[name] for name in BINARY if name != "quotient"}
"""The functions of two numbers in the language, where `divide` is that of integers, too."""

NUMPY: dict[str, Callable[..., Any]] = {**UNARY, **_OF_TWO, **_MORE, **COMPARISONS}
"""Each function of a `Map`, on NumPy arrays."""


def broadcast_shape(*inputs: TensorType) -> tuple[int, ...]:
    """The shape that these have in common, as NumPy broadcasts; raises `GraphError`."""
    try:
        return np.broadcast_shapes(*(each.shape for each in inputs))
    except ValueError:
        shapes = ", ".join(str(each) for each in inputs)
        raise GraphError(f"the shapes of {shapes} cannot be broadcast together.") from None


@dataclass(frozen=True)
class Map(Operator):
    """A function of `NUMPY`, applied elementwise."""

    name: str

    elementwise = True

    def result(self, *inputs: TensorType) -> TensorType:
        if self.name not in NUMPY:
            raise GraphError(f"there is no function {self.name}.")
        if len({each.dtype for each in inputs}) > 1:
            raise GraphError(f"{self.name} of {', '.join(map(str, inputs))}: the dtypes differ.")
        if self.name in ONLY_INTEGERS and inputs[0].dtype.kind not in "iu":
            raise GraphError(f"{self.name} of {inputs[0]}, which has no integers.")
        if self.name in _OF_NUMBERS and inputs[0].dtype == bool:
            raise GraphError(f"{self.name} of {inputs[0]}, which has no numbers.")
        dtype = np.dtype(bool) if self.name in COMPARISONS else inputs[0].dtype
        return TensorType(broadcast_shape(*inputs), dtype)

    def evaluate(self, *inputs: Array) -> Array:
        result: Array = NUMPY[self.name](*inputs)
        return result

    def value(self, *inputs: Value) -> Value:
        if self.name not in _IN_LANGUAGE:
            raise SpecError(f"the language has no {self.name}", "compute it elsewhere")
        arrays = [each for each in inputs if isinstance(each, Value)]
        if self.name.startswith("logical") and len({x.dtype for x in arrays}) > 1:
            inputs = tuple(converted(x, F32) for x in arrays)  # truth of several dtypes
        return _IN_LANGUAGE[self.name](*inputs)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Cast(Operator):
    """A conversion to another dtype."""

    dtype: np.dtype[Any]

    elementwise = True

    def result(self, *inputs: TensorType) -> TensorType:
        return TensorType(inputs[0].shape, self.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        if self.dtype.kind in "iub":
            return inputs[0].astype(self.dtype)
        return inputs[0].astype(np.float64)

    def value(self, *inputs: Value) -> Value:
        if not isinstance(inputs[0], Value):
            raise SpecError("a cast of a number computes nothing", "write the number")
        if self.dtype == bool:
            return truth(inputs[0])
        element = TensorType((), self.dtype).element
        if element is None:
            raise SpecError(f"no kernel knows {self.dtype}", "cast to another dtype")
        return converted(inputs[0], element)


@dataclass(frozen=True)
class Where(Operator):
    """The second input where the first is true, the third elsewhere."""

    elementwise = True

    def result(self, *inputs: TensorType) -> TensorType:
        condition, chosen, other = inputs
        if condition.dtype != bool or chosen.dtype != other.dtype:
            raise GraphError(f"where({', '.join(map(str, inputs))}): the dtypes do not fit.")
        return TensorType(broadcast_shape(*inputs), chosen.dtype)

    def evaluate(self, *inputs: Array) -> Array:
        return np.where(*inputs)

    def value(self, *inputs: Value) -> Value:
        condition, chosen, other = inputs
        element = next((each.dtype for each in (chosen, other) if isinstance(each, Value)), F32)
        return maps.where(converted(condition, element), chosen, other)


def truth(x: Value) -> Value:
    """1 where a value is not 0, and 0 where it is, in its dtype; for 64 bits in f32."""
    return maps.not_equal(converted(x, F32) if x.dtype is I64 else x, 0.0)


def converted(x: Value, dtype: DType) -> Value:
    """A value in another dtype; floats that no i32 holds become unsigned integers, too."""
    if dtype is U32 and x.dtype.is_float:
        return _in_u32(x)
    return cast_in_place(x, dtype)


def _in_u32(x: Value) -> Value:
    """Floats as unsigned integers, by way of signed ones: from 2**31 on, the highest bit is set."""
    x = converted(x, F32)
    high = maps.greater_equal(x, 2.0**31)
    rest = converted(maps.subtract(x, maps.multiply(high, 2.0**31)), I32)
    bit = maps.left_shift(converted(high, I32), 31.0)
    return converted(maps.bitwise_xor(rest, bit), U32)
