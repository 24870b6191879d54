"""The C functions of registers and of runs, run on every width and compiler there is here."""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.sampling import some

from morello.targets.helpers.math import ULP, WIDTHS, kind, math_helpers
from morello.targets.helpers.runs import run_helpers

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# ---- compiling

FLAGS = (
    *("-O3", "-std=gnu11", "-shared", "-fPIC"),
    *("-ffp-contract=fast", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi"),
    *("-nostdlib", "-Wl,--no-undefined"),  # so a call to any library fails to link
)

ZIG = (sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined")

TWO = ("atan2", "max", "min")
ONE = tuple(name for name in ULP if name not in TWO)

GCC_WIDTHS = {"x86-64-v3": (8, 4, 1), "x86-64-v4": (16,), "native": (4, 1)}
"""Of those that are registers there, the ones to try."""

FEATURES = {"x86-64-v3": {"avx2", "fma"}, "x86-64-v4": {"avx512f", "avx512dq", "avx512vl"}}


@dataclass(frozen=True)
class Build:
    compiler: str
    arch: str
    width: int
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "-".join([self.compiler, self.arch, kind(self.width), *self.flags])


def builds() -> list[Build]:
    """Every width on all that this CPU can run: what is too wide for it, clang splits."""
    archs = ["native"]
    if platform.machine() == "x86_64":
        words = set(Path("/proc/cpuinfo").read_text().split())
        archs = [arch for arch, needed in FEATURES.items() if needed <= words]
    compilers = ["zig"] + ["gcc"] * (shutil.which("gcc") is not None)
    plain = [
        Build(compiler, arch, width)
        for compiler in compilers
        for arch in archs
        for width in WIDTHS
        if compiler == "zig" or width in GCC_WIDTHS[arch]
    ]
    # without optimizations, no compiler makes one instruction of a product and a sum
    return plain + [replace(build, flags=("-O0",)) for build in plain if build.compiler == "gcc"]


def command(compiler: str, arch: str) -> list[str]:
    if compiler == "gcc":
        return ["gcc", f"-march={arch}", *FLAGS]
    if arch == "aarch64":
        return [*ZIG, "-target", "aarch64-linux", "-mcpu=generic", *FLAGS]
    return [*ZIG, f"-mcpu={arch.replace('-', '_')}", *FLAGS]


def ordered(helpers: dict[str, str]) -> str:
    """The definitions, those that one uses before it."""
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        for used in re.findall(r"\w+", helpers[name]):
            if used in helpers and used != name and used not in done:
                visit(used)
        done[name] = helpers[name]

    for name in helpers:
        if name not in done:
            visit(name)
    return "\n".join(done.values())


def source(width: int) -> str:
    """All helpers of a width, and under `c_{name}` what Python can call."""
    k = kind(width)
    parts = ["#ifdef __x86_64__\n#include <immintrin.h>\n#endif", ordered(run_helpers(width))]
    for name in ULP:
        second = f", load_{k}(y + i)" if name in TWO else ""
        parts.append(
            f"void c_{name}(const float *x, const float *y, float *out, long n) {{\n"
            f"  (void)y;\n  for (long i = 0; i < n; i += {width})\n"
            f"    store_{k}(out + i, {name}_{k}(load_{k}(x + i){second}));\n}}"
        )
    for result, name, parameters in RUNS:
        arguments = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
        parts.append(f"{result} c_{name}({parameters}) {{ return {name}_{k}({arguments}); }}")
    return "\n".join(parts)


RUNS = (
    ("float", "sum_run", "const float *x, long n"),
    ("float", "max_run", "const float *x, long n, float m"),
    ("float", "min_run", "const float *x, long n, float m"),
    ("float", "exp_sum_run", "const float *x, float m, long n"),
    ("float", "exp_store_run", "const float *x, float m, float *out, long n"),
    ("void", "online_run", "const float *x, long n, float *m, float *d"),
    ("void", "softmax_complete_run", "const float *x, float m, float d, float *out, long n"),
    ("void", "scale_run", "float *x, float s, long n"),
)


def compiled(
    compiler: str, arch: str, width: int, directory: Path, flags: tuple[str, ...] = ()
) -> Path:
    text, made = directory / "helpers.c", directory / "helpers.so"
    text.write_text(source(width))
    done = subprocess.run(
        [*command(compiler, arch), *flags, str(text), "-o", str(made)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[:5000]
    return made


class Library:
    """The functions of a build, for arrays and Python's numbers."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._types = {name: (result, parameters) for result, name, parameters in RUNS}

    def apply(self, name: str, x: Floats, y: Floats | None = None) -> Floats:
        """A function of registers, on every element of arrays."""
        padded = np.zeros((2, -(-len(x) // 16) * 16), np.float32)
        padded[0, : len(x)] = x
        padded[1, : len(x)] = x if y is None else y
        out = np.empty_like(padded[0])
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (padded[0], padded[1], out))
        getattr(self._library, f"c_{name}")(*pointers, ctypes.c_long(len(out)))
        result: Floats = out[: len(x)]
        return result

    def run(self, name: str, *arguments: Floats | float) -> float:
        """A loop; it gives 0 if it is void in C."""
        result, parameters = self._types[name]
        function = getattr(self._library, f"c_{name}")
        function.restype = ctypes.c_float if result == "float" else None
        values: list[object] = []
        for parameter, argument in zip(parameters.split(", "), arguments, strict=True):
            if isinstance(argument, np.ndarray):
                values.append(ctypes.c_void_p(argument.ctypes.data))
            elif parameter.startswith("long"):
                values.append(ctypes.c_long(int(argument)))
            else:
                values.append(ctypes.c_float(argument))
        return float(function(*values) or 0.0)


@pytest.fixture(scope="module", params=some(builds(), 3), ids=str)
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    build: Build = request.param
    with tempfile.TemporaryDirectory() as directory:
        made = compiled(build.compiler, build.arch, build.width, Path(directory), build.flags)
        yield Library(made)


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


# ---- one register

SMALLEST = 2.0**-126  # of normal numbers
FLUSHED = {"silu": 2.0**-119, "gelu_tanh": 2.0**-119}
"""Below what a result may be anything from zero to this; for the others, below `SMALLEST`."""

NANS = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFF812345], np.uint32).view(np.float32)
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
    "gelu": lambda x: times(x, erfc(-x / math.sqrt(2)) / 2),
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
        """In units of the last place; for what is less than `smallest`, any less has none."""
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
    """What a function is compared with."""
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
    ("gelu", 1e30, 1e30), ("gelu_tanh", INF, INF), ("gelu_tanh", -INF, 0.0), ("silu", INF, INF),
    ("silu", -INF, 0.0), ("relu", -INF, 0.0), ("sqrt", -1.0, math.nan), ("rsqrt", 0.0, INF),
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
    """Of points in all quadrants, near and far, on axes and at infinity, with signs of zeros."""
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


@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_are_numpys(library: Library, name: str) -> None:
    random = np.random.default_rng(3).standard_normal(40).astype(np.float32)
    values = np.concatenate([SPECIALS, random])
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    expected = (np.maximum if name == "max" else np.minimum)(x, y)
    np.testing.assert_array_equal(library.apply(name, x, y), expected)


# ---- runs

GUARD = np.float32(-54321.0)
LENGTHS = [*range(1, 71), 127, 128, 129, 255, 1000, 1023, 1024, 1025, 2049, 4096, 5003]


class Fenced:
    """Memory between two pages that no one may touch."""

    PAGES = 6

    def __init__(self) -> None:
        page = mmap.PAGESIZE
        self._memory = mmap.mmap(-1, (self.PAGES + 2) * page)
        bytes_ = np.frombuffer(self._memory, np.uint8)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for first in (0, (self.PAGES + 1) * page):
            address = ctypes.c_void_p(bytes_.ctypes.data + first)
            assert protect(address, ctypes.c_size_t(page), 0) == 0
        self._floats = bytes_[page : (self.PAGES + 1) * page].view(np.float32)

    def hold(self, values: Floats, at_end: bool = True) -> Floats:
        """A copy next to one of the fences; the guard stands on its other side."""
        self._floats[:] = GUARD
        held = self._floats[-len(values) :] if at_end else self._floats[: len(values)]
        held[:] = values
        return held

    def guarded(self, held: Floats) -> bool:
        """Whether nothing beside the run was written."""
        return int(np.sum(self._floats != GUARD)) == int(np.sum(held != GUARD))


@pytest.fixture(scope="module")
def first() -> Fenced:
    return Fenced()


@pytest.fixture(scope="module")
def second() -> Fenced:
    return Fenced()


def values(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng([n, seed]).normal(0, 3, n).astype(np.float32)


def close(found: float | Floats, true: float | Doubles, scale: float = 0.0) -> None:
    np.testing.assert_allclose(found, true, rtol=3e-6, atol=3e-6 * scale)


def test_sums(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            wide = x.astype(np.float64)
            close(library.run("sum_run", x, n), wide.sum(), np.abs(wide).sum())


def test_extrema(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n) - 50, at_end)
            assert library.run("max_run", x, n, -INF) == x.max()
            assert library.run("max_run", x, n, 7.0) == 7.0
            x[:] = -x
            assert library.run("max_run", x, n, -INF) == x.max()


def test_extrema_of_runs_with_one_special(library: Library, first: Fenced) -> None:
    for n in [1, 5, 16, 31, 70, 128, 300]:
        for special in (*NANS, INF, -INF):
            for place in range(n):
                x = first.hold(values(n))
                x[place] = special
                np.testing.assert_equal(library.run("max_run", x, n, -INF), float(x.max()))
        x = first.hold(values(n))
        assert math.isnan(library.run("max_run", x, n, math.nan))


def test_exponentials(library: Library, first: Fenced, second: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            m = float(x.max())
            true = np.exp(x.astype(np.float64) - m)
            close(library.run("exp_sum_run", x, m, n), true.sum())
            out = second.hold(np.zeros(n, np.float32), at_end)
            close(library.run("exp_store_run", x, m, out, n), true.sum())
            close(out, true)
            assert second.guarded(out)
            library.run("softmax_complete_run", x, m, 2.5, out, n)
            close(out, true / 2.5)
            assert second.guarded(out)
            library.run("scale_run", out, 2.5, n)
            close(out, true)
            assert second.guarded(out)


def test_a_run_can_be_replaced(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        x = first.hold(values(n))
        m = float(x.max())
        true = np.exp(x.astype(np.float64) - m)
        close(library.run("exp_store_run", x, m, x, n), true.sum())
        close(x, true)
        x = first.hold(values(n))
        library.run("softmax_complete_run", x, m, float(true.sum()), x, n)
        close(x, true / true.sum())
        assert first.guarded(x)


def test_minima_are_maxima_of_the_opposite(library: Library, first: Fenced) -> None:
    for n in LENGTHS:
        for at_end in (True, False):
            x = first.hold(values(n), at_end)
            assert library.run("min_run", x, n, INF) == x.min()
            assert library.run("min_run", x, n, -99.0) == -99.0
            x[n // 2] = math.nan
            assert math.isnan(library.run("min_run", x, n, INF))


def softmax(library: Library, x: Floats) -> Floats:
    """A row's softmax in three passes."""
    out = np.empty_like(x)
    m = library.run("max_run", x, len(x), -INF)
    d = library.run("exp_store_run", x, m, out, len(x))
    with np.errstate(all="ignore"):
        library.run("scale_run", out, float(np.float32(1) / np.float32(d)), len(x))
    return out


def online_softmax(library: Library, x: Floats, pieces: int = 1) -> Floats:
    """A row's softmax in two passes, the first one in pieces."""
    out, m, d = np.empty_like(x), np.full(1, -INF, np.float32), np.zeros(1, np.float32)
    for piece in np.array_split(x, pieces):
        library.run("online_run", piece, len(piece), m, d)
    library.run("softmax_complete_run", x, float(m[0]), float(d[0]), out, len(x))
    return out


def numpy_softmax(x: Floats) -> Doubles:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max())
        result: Doubles = powers / powers.sum()
    return result


def test_softmax(library: Library) -> None:
    for n in LENGTHS:
        for row in (values(n), values(n) * 30 - 200, np.sort(values(n)), np.sort(values(n))[::-1]):
            x = np.ascontiguousarray(row, np.float32)
            true = numpy_softmax(x)
            np.testing.assert_allclose(softmax(library, x), true, rtol=4e-6, atol=1e-37)
            for pieces in range(1, min(n, 3) + 1):
                found = online_softmax(library, x, pieces)
                np.testing.assert_allclose(found, true, rtol=4e-6, atol=1e-37)


def test_softmax_of_special_rows(library: Library) -> None:
    for n in [1, 2, 7, 16, 33, 70, 200, 3000]:
        rows = []
        for special in (INF, math.nan, -INF, float(np.finfo(np.float32).min)):
            for places in ([0], [n - 1], [n // 2], range(n), range(n // 2), range(n // 2, n)):
                x = values(n)
                x[list(places)] = special
                rows.append(x)
        mixed = values(n)
        mixed[0], mixed[-1] = INF, -INF
        for x in [*rows, mixed]:
            true = numpy_softmax(x)
            for pieces in (1, min(n, 2)):
                found = online_softmax(library, x, pieces)
                np.testing.assert_allclose(found, true, rtol=4e-6, atol=1e-37)
            np.testing.assert_allclose(softmax(library, x), true, rtol=4e-6, atol=1e-37)
            assert (softmax(library, x)[true == 0] == 0).all()


def test_online_state_that_nothing_was_added_to_stays(library: Library) -> None:
    m, d = np.full(1, -INF, np.float32), np.zeros(1, np.float32)
    for n in (1, 40, 3000):
        library.run("online_run", np.full(n, -INF, np.float32), n, m, d)
        assert (m[0], d[0]) == (-INF, 0.0)
    library.run("online_run", np.full(10, 2.0, np.float32), 10, m, d)
    assert (m[0], d[0]) == (2.0, 10.0)
    library.run("online_run", np.full(10, 1e3, np.float32), 10, m, d)
    assert (m[0], d[0]) == (1e3, 10.0)
