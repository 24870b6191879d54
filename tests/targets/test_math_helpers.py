"""The C functions of registers, run on every width and compiler there is here."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.sampling import some
from tests.targets.math_library import NANS, ONE, Doubles, Floats, Library, compiled

from morello.targets.helpers.math import ULP, WIDTHS, math_helpers
from morello.targets.helpers.runs import run_helpers

Bools = npt.NDArray[np.bool_]


@pytest.mark.parametrize("width", WIDTHS)
def test_it_compiles_for_arm(width: int, tmp_path: Path) -> None:
    made = compiled("zig", "aarch64", width, tmp_path)
    header = made.read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    assert header[18:20] == b"\xb7\x00"  # AArch64


def test_every_definition_is_named_by_its_key() -> None:
    for width in WIDTHS:
        for name, text in run_helpers(width).items():
            assert len(re.findall(rf"^(?:static inline|typedef).*\b{name}\b", text, re.M)) == 1
            assert "$" not in text


def test_a_width_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="width 5"):
        math_helpers(5)


SMALLEST = 2.0**-126  # of normal numbers
FLUSHED = {"silu": 2.0**-119, "gelu_tanh": 2.0**-119}
"""Below what a result may be anything from zero to this; for the others, below `SMALLEST`."""

SPECIALS = np.concatenate(
    [
        np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 1e-45, -1e-45, 1e-38], np.float32),
        np.array([3.4028235e38, -3.4028235e38, 1.17549435e-38, 88.72283, 88.72284], np.float32),
        np.array([-87.33654, -87.33655, -103.97, -104.0, -88.03], np.float32),
        NANS,
    ]
)


@functools.cache
def samples() -> Floats:
    """The whole range of floats evenly by their bits, and more where functions change most."""
    bits = np.arange(0, 2**32, 30011, dtype=np.uint64).astype(np.uint32)
    random = np.random.default_rng(7)
    dense = [random.uniform(-edge, edge, 40_000) for edge in (1.0, 5.0, 20.0, 105.0)]
    return np.concatenate([bits.view(np.float32), *(d.astype(np.float32) for d in dense), SPECIALS])


def logistic(x: Doubles) -> Doubles:
    result: Doubles = 1 / (1 + np.exp(-x))
    return result


def times(x: Doubles, factor: Doubles) -> Doubles:
    """The product; 0 in the limit where it is -inf times 0."""
    result: Doubles = np.where(x == -np.inf, 0.0, x * factor)
    return result


erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])

EXACT: dict[str, Callable[[Doubles], Doubles]] = {
    "exp": np.exp,
    "exp_low": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": logistic,
    "erf": erf,
    "erfc": erfc,
    **dict.fromkeys(("gelu", "gelu_bf16"), lambda x: times(x, erfc(-x / math.sqrt(2)) / 2)),
    "gelu_tanh": lambda x: times(x, logistic(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: times(x, logistic(x)),
    "relu": lambda x: np.maximum(x, 0.0),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "abs": np.abs,
    "neg": np.negative,
    "sign": np.sign,
    "sin": np.sin,
    "ceil": np.ceil,
    "cos": np.cos,
    "floor": np.floor,
    "round": np.rint,
}


@dataclass(frozen=True)
class Exact:
    """Arguments of a function, its values in double precision, and what errors are counted in."""

    x: Floats
    true: Doubles
    place: Floats
    special: Bools
    tiny: Bools
    """Where the values are less than `smallest`."""
    smallest: float

    def errors(self, found: Floats) -> Doubles:
        """Errors in units of the last place; results below `smallest` may be any smaller ones."""
        with np.errstate(all="ignore"):
            result = np.abs(found.astype(np.float64) - self.true) / self.place
        for where, fine in ((self.special, self._same), (self.tiny, self._small)):
            result[where] = np.where(fine(found, where), 0.0, np.inf)
        checked: Doubles = np.where(np.isnan(result), np.inf, result)
        return checked

    def _same(self, found: Floats, where: Bools) -> Bools:
        with np.errstate(over="ignore"):
            some, wanted = found[where], self.true[where].astype(np.float32)
        same: Bools = (some == wanted) | (np.isnan(some) & np.isnan(wanted))
        return same

    def _small(self, found: Floats, where: Bools) -> Bools:
        some = found[where]
        fine: Bools = np.abs(some) <= self.smallest
        return fine & (some * np.sign(self.true[where]) >= 0)


@functools.cache
def exact(name: str) -> Exact:
    """The samples of a function, and its exact values there."""
    x, smallest = samples(), FLUSHED.get(name, SMALLEST)
    if name == "exp_low":
        x = x[~(x > 88)]
    with np.errstate(all="ignore"):
        return compared(x, EXACT[name](x.astype(np.float64)), smallest)


def compared(x: Floats, true: Doubles, smallest: float = SMALLEST) -> Exact:
    with np.errstate(all="ignore"):
        special = ~np.isfinite(true.astype(np.float32))
        place = np.ldexp(1.0, np.frexp(np.where(special, 1.0, true))[1] - 24)
        least = np.maximum(place, SMALLEST * 2.0**-23).astype(np.float32)
        return Exact(x, true, least, special, np.abs(true) < smallest, smallest)


@functools.cache
def worst(library: Library, name: str) -> tuple[float, float]:
    """The largest error of a function, and an argument that has it."""
    error = exact(name).errors(library.apply(name, exact(name).x))
    place = int(np.argmax(error))
    return float(error[place]), float(exact(name).x[place])


def test_every_function_has_an_exact_one_to_be_compared_with() -> None:
    assert set(EXACT) == set(ONE)


@pytest.mark.parametrize("name", some(ONE, 2))
def test_no_error_is_larger_than_stated(library: Library, name: str) -> None:
    error, x = worst(library, name)
    assert error <= ULP[name], f"{name}({x!r}) is {error} ulp off"


NOT_EXACT = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "softplus", "tanh", "erf", "erfc", "gelu",
    "gelu_tanh", "sin", "cos",
]  # fmt: skip


@pytest.mark.parametrize("name", NOT_EXACT)
def test_the_errors_stated_are_not_much_too_large(library: Library, name: str) -> None:
    error, _ = worst(library, name)
    assert error >= ULP[name] * 0.6


@pytest.mark.parametrize("name", ONE)
def test_nan_gives_nan(library: Library, name: str) -> None:
    assert np.isnan(library.apply(name, NANS)).all()


INF = math.inf
LIMITS = [
    ("exp", -INF, 0.0), ("exp", INF, INF), ("exp", 0.0, 1.0), ("exp", 89.0, INF),
    ("exp", -104.0, 0.0), ("exp", 3e38, INF), ("exp", -3e38, 0.0), ("exp_low", -INF, 0.0),
    ("exp_low", -3e38, 0.0), ("exp_low", 0.0, 1.0), ("tanh", INF, 1.0), ("tanh", -INF, -1.0),
    ("tanh", 0.0, 0.0), ("erf", INF, 1.0), ("erf", -INF, -1.0), ("erf", 1e30, 1.0),
    ("sigmoid", -INF, 0.0), ("sigmoid", INF, 1.0), ("gelu", INF, INF), ("gelu", -INF, 0.0),
    ("gelu", 1e30, 1e30), ("gelu_bf16", INF, INF), ("gelu_bf16", -INF, 0.0),
    ("gelu_tanh", INF, INF), ("gelu_tanh", -INF, 0.0), ("silu", INF, INF), ("silu", -INF, 0.0),
    ("relu", -INF, 0.0), ("sqrt", -1.0, math.nan), ("rsqrt", 0.0, INF),
    ("reciprocal", 0.0, INF), ("reciprocal", -INF, 0.0), ("exp2", 128.0, INF),
    ("exp2", 127.0, 2.0**127), ("exp2", -INF, 0.0), ("expm1", -INF, -1.0), ("expm1", INF, INF),
    ("expm1", 0.0, 0.0), ("expm1", 3e38, INF), ("expm1", -3e38, -1.0), ("log", 0.0, -INF),
    ("log", -0.0, -INF), ("log", -1e-45, math.nan), ("log", -INF, math.nan), ("log", INF, INF),
    ("log", 1.0, 0.0), ("log2", 0.0, -INF), ("log2", -1.0, math.nan), ("log2", INF, INF),
    ("log2", 1e-45, -149.0), ("log2", 8.0, 3.0), ("log1p", -1.0, -INF), ("log1p", -2.0, math.nan),
    ("log1p", 0.0, 0.0), ("log1p", INF, INF), ("softplus", -INF, 0.0), ("softplus", INF, INF),
    ("softplus", 1e30, 1e30), ("erfc", -INF, 2.0), ("erfc", INF, 0.0), ("erfc", 0.0, 1.0),
    ("sign", -INF, -1.0), ("sign", -1e-45, -1.0), ("sign", 0.0, 0.0), ("round", 0.5, 0.0),
    ("round", 1.5, 2.0), ("round", -2.5, -2.0), ("round", INF, INF), ("floor", -0.5, -1.0),
    ("floor", -INF, -INF), ("ceil", 0.5, 1.0), ("ceil", 3e38, 3e38),
]  # fmt: skip


def test_limits(library: Library) -> None:
    for name, x, expected in LIMITS:
        found = library.apply(name, np.array([x], np.float32))[0]
        np.testing.assert_array_equal([found], [np.float32(expected)], f"{name}({x})")


@pytest.mark.parametrize("name", ["tanh", "erf", "neg", "round", "ceil", "sin"])
def test_odd_functions_keep_the_sign_of_zero(library: Library, name: str) -> None:
    found = np.signbit(library.apply(name, np.array([0.0, -0.0], np.float32)))
    assert found.tolist() == ([True, False] if name == "neg" else [False, True])


def test_angles_are_within_the_stated_error(library: Library) -> None:
    """Points are in all quadrants, near and far, on axes and at infinity, with signs of zeros."""
    random = np.random.default_rng(3)
    near, far = random.standard_normal(99), np.exp2(random.uniform(-99, 99, 80))
    values = np.concatenate([SPECIALS, near, far]).astype(np.float32)
    y, x = (side.ravel() for side in np.meshgrid(values, values))
    with np.errstate(invalid="ignore"):
        true = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    found = library.apply("atan2", y, x)
    assert 0.6 * ULP["atan2"] <= compared(y, true).errors(found).max() <= ULP["atan2"]
    known = ~np.isnan(true)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(true)[known])


def test_remainders_are_exact(library: Library) -> None:
    """Near multiples, of numbers far from each other, of infinities and of 0, with their signs."""
    random = np.random.default_rng(3)
    near, far = random.standard_normal(99), np.exp2(random.uniform(-149, 128, 99))
    values = np.concatenate([SPECIALS, near, -far, far]).astype(np.float32)
    a, b = (side.ravel() for side in np.meshgrid(values, values))
    times = np.float32(3) * values
    pairs = ((a, b), (times, values), (np.nextafter(times, np.float32(0)), values))
    a, b = (np.concatenate(side) for side in zip(*pairs, strict=True))
    with np.errstate(invalid="ignore", over="ignore"):
        expected = np.fmod(a, b)
    found = library.apply("remainder", a, b)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_are_numpys(library: Library, name: str) -> None:
    random = np.random.default_rng(3).standard_normal(40).astype(np.float32)
    values = np.concatenate([SPECIALS, random])
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    expected = (np.maximum if name == "max" else np.minimum)(x, y)
    np.testing.assert_array_equal(library.apply(name, x, y), expected)
