"""Scalar functions of one to three arguments, which elementwise operations apply."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Function:
    """A scalar function by name. A `constant` is the last argument of a function of several."""

    name: str
    constant: float | None = None

    def __post_init__(self) -> None:
        if self.constant != self.constant:  # one NaN, which is itself, so that functions are equal
            object.__setattr__(self, "constant", math.nan)

    @property
    def arity(self) -> int:
        """The number of operands."""
        arguments = 1 if self.name in UNARY else 2 if self.name in BINARY else 3
        return arguments - (self.constant is not None)

    @property
    def title(self) -> str:
        """The name of its elementwise operation: Add, AddConstant, GeluTanh."""
        words = "".join(word.capitalize() for word in self.name.split("_"))
        return words if self.constant is None else f"{words}Constant"

    def __call__(self, *values: Values) -> Values:
        """Apply the function to NumPy arrays, in their precision."""
        if self.constant is not None:
            values = (*values, np.asarray(self.constant, values[0].dtype))
        result: Values = _CALLS[self.name](*values)
        return result

    def __str__(self) -> str:
        return self.name if self.constant is None else f"{self.name}[{self.constant:g}]"


def _by_number(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """The function of numbers, as one of arrays, whose dtype the results have."""
    every = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(every(x.astype(np.float64))).astype(x.dtype)


_erf, _erfc = map(_by_number, (math.erf, math.erfc))


def _truth(comparison: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The comparison as a number of its arguments' dtype: 1 where it holds, 0 where not."""
    return lambda a, b: np.asarray(comparison(a, b)).astype(a.dtype)


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _quotient(a: Any, b: Any) -> Any:
    """The quotient without its fraction; of 0 all bits are set, as those of -1."""
    divisor = np.where(b == 0, np.ones_like(b), b)
    floor = a // divisor
    cut = (a - floor * divisor != 0) & ((a < 0) != (divisor < 0))
    return np.where(b == 0, ~np.zeros_like(floor), floor + cut.astype(floor.dtype))


def _left_shift(a: Any, b: Any) -> Any:
    """a << b; 0 if b is negative, or more bits than there are."""
    within = (b >= 0) & (b < 8 * a.dtype.itemsize)
    return np.where(within, a << np.where(within, b, 0 * b), 0 * a)


def _right_shift(a: Any, b: Any) -> Any:
    """a >> b, where the sign is shifted in; nothing but signs if b is negative or too large."""
    most = 8 * a.dtype.itemsize - 1
    within = (b >= 0) & (b <= most)
    signs = np.where(a < 0, ~(0 * a), 0 * a)
    return np.where(within, a >> np.where(within, b, 0 * b), signs)


UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "bitwise_not": np.invert,
    "cast": lambda x: x,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": _erf,
    "erfc": _erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "gelu": lambda x: 0.5 * x * (1.0 + _erf(x * x.dtype.type(math.sqrt(0.5)))),
    "gelu_tanh": lambda x: (
        0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    ),
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "neg": np.negative,
    "reciprocal": lambda x: 1.0 / x,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "round": np.rint,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "silu": lambda x: x * _sigmoid(x),
    "sin": np.sin,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "sqrt": np.sqrt,
    "square": lambda x: x * x,
    "tanh": np.tanh,
}

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "atan2": np.arctan2,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "divide": lambda a, b: a / b,
    "equal": _truth(np.equal),
    "greater": _truth(np.greater),
    "greater_equal": _truth(np.greater_equal),
    "leaky_relu": lambda a, b: np.where(a > 0, a, a * b),
    "left_shift": _left_shift,
    "less": _truth(np.less),
    "less_equal": _truth(np.less_equal),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "not_equal": _truth(np.not_equal),
    "quotient": _quotient,
    "remainder": np.fmod,
    "right_shift": _right_shift,
    "subtract": np.subtract,
}

TERNARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "where": lambda condition, a, b: np.where(condition != 0, a, b),
}

_CALLS: dict[str, Callable[..., Any]] = {**UNARY, **BINARY, **TERNARY}

OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
"""The infix operators of binary functions."""

COMPARISONS = {
    "equal": "==", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=",
    "not_equal": "!=",
}  # fmt: skip
"""The infix operators of comparisons, which give 1 where they hold and 0 where not."""

BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
"""The functions of the bits of two integers, as C writes them."""

ONLY_INTEGERS = frozenset({"bitwise_not", "left_shift", "quotient", "right_shift", *BITWISE})
"""The functions of integers alone."""

INTEGER_FUNCTIONS = ONLY_INTEGERS | {
    "abs", "cast", "neg", "relu", "sign", "square", "add", "subtract", "multiply", "maximum",
    "minimum", "where", *COMPARISONS,
}  # fmt: skip
"""The functions that map integers to integers."""

ULP = {
    "atan2": 1.8,
    "cos": 1.6,
    "sin": 1.6,
    "exp": 0.9,
    "exp2": 0.9,
    "expm1": 1.5,
    "log": 0.9,
    "log1p": 1.6,
    "log2": 1.7,
    "tanh": 3.0,
    "sigmoid": 3.0,
    "erf": 1.2,
    "erfc": 6.5,
    "gelu": 6.5,
    "gelu_tanh": 210.0,  # where it is 1e-36; 30 down to -5, 12 down to -3, 3 from -1 on
    "silu": 4.0,
    "softplus": 2.5,
    "relu": 0.0,
    "sqrt": 0.5,
    "rsqrt": 1.5,
    "reciprocal": 0.5,
    "abs": 0.0,
    "neg": 0.0,
    "sign": 0.0,
    "ceil": 0.0,
    "floor": 0.0,
    "round": 0.0,
}
"""The largest error of each function as kernels compute it, in units of the last place."""

ULP_BF16 = {"gelu": 4000.0}
"""The largest errors where results are rounded to bf16, if kernels compute fewer bits there.

An error of 2**-12 of the result is a sixteenth of a unit in the last place of bf16.
"""
