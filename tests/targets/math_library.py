"""The C functions of registers and of runs, built for every width and compiler there is here."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from morello.targets.helpers.math import ULP, WIDTHS, kind
from morello.targets.helpers.runs import run_helpers

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

NANS = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFF812345], np.uint32).view(np.float32)

FLAGS = (
    *("-O3", "-std=gnu11", "-shared", "-fPIC"),
    *("-ffp-contract=fast", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi"),
    *("-nostdlib", "-Wl,--no-undefined"),  # so a call to any library fails to link
)

ZIG = (sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined")

TWO = ("atan2", "max", "min", "remainder")
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
    ("float", "sum_squares_run", "const float *x, long n"),
    ("float", "deviations_run", "const float *x, float m, long n"),
    ("float", "max_run", "const float *x, long n, float m"),
    ("float", "min_run", "const float *x, long n, float m"),
    ("int", "argmax_run", "const float *x, long n"),
    ("int", "argmin_run", "const float *x, long n"),
    ("float", "exp_sum_run", "const float *x, float m, long n"),
    ("float", "exp_store_run", "const float *x, float m, float *out, long n"),
    ("void", "online_run", "const float *x, long n, float *m, float *d"),
    ("void", "softmax_complete_run", "const float *x, float m, float d, float *out, long n"),
    ("void", "scale_run", "float *x, float s, long n"),
    ("void", "softmax_run", "const float *x, float *out, long n"),
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
    """The functions of a build for registers of `width` floats, for arrays and Python's numbers."""

    def __init__(self, path: Path, width: int) -> None:
        self.width = width
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
        function.restype = {"float": ctypes.c_float, "int": ctypes.c_int}.get(result)
        values: list[object] = []
        for parameter, argument in zip(parameters.split(", "), arguments, strict=True):
            if isinstance(argument, np.ndarray):
                values.append(ctypes.c_void_p(argument.ctypes.data))
            elif parameter.startswith("long"):
                values.append(ctypes.c_long(int(argument)))
            else:
                values.append(ctypes.c_float(argument))
        return float(function(*values) or 0.0)
