"""Every helper of an ISA as a function to call, and data to call it with."""

from __future__ import annotations

import ctypes
import mmap
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from morello.targets.helpers.products import product_helpers
from morello.targets.helpers.shuffles import odd_even_helpers, shuffle_helpers
from morello.targets.helpers.vectors import (
    CONVERSIONS,
    conversion_helpers,
    scalar,
    size,
    vector_helpers,
)

Array = np.ndarray[Any, np.dtype[Any]]

FLAGS = ("-O3", "-std=gnu11", "-shared", "-fPIC", "-w", "-nostdlib", "-ffp-contract=fast")
FEATURES = frozenset({"avx512_bf16", "avx512_vnni"})
NONE: frozenset[str] = frozenset()
CONFIGURATIONS = {
    "avx512-all": ("avx512", FEATURES),
    "avx512": ("avx512", NONE),
    "avx2": ("avx2", NONE),
    "neon": ("neon", NONE),
}
ZIG_CPUS = {
    "avx512-all": "x86_64_v4+avx512bf16+avx512vnni",
    "avx512": "x86_64_v4",
    "avx2": "x86_64_v3",
    "neon": "x86_64_v3",
}
GCC_FLAGS = {
    "avx512-all": ("-march=x86-64-v4", "-mavx512bf16", "-mavx512vnni"),
    "avx512": ("-march=x86-64-v4",),
    "avx2": ("-march=x86-64-v3",),
    "neon": ("-march=x86-64-v3",),
}
CPU_FLAGS = {
    "avx512-all": {"avx512bw", "avx512vl", "avx512_bf16", "avx512_vnni"},
    "avx512": {"avx512bw", "avx512vl"},
    "avx2": {"avx2", "fma", "f16c"},
    "neon": {"avx2", "fma", "f16c"},
}
REGISTERS = {"avx512": (16, 32, 64), "avx2": (16, 32), "neon": (16,)}
PACKED = ("bf16x2", "i16x2", "u8x4", "i8x4")
DTYPES = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bf16", "f16", *PACKED)
NUMPY: dict[str, type[np.integer[Any] | np.floating[Any]]] = {
    "u8": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    **dict.fromkeys(PACKED, np.uint32),
}
GUARD = 64


# ---- building


def merged(isa: str, features: frozenset[str]) -> dict[str, str]:
    """Every helper of `isa`. No two dictionaries may define a name differently."""
    parts = [shuffle_helpers(isa), product_helpers(isa, features)]
    parts += [odd_even_helpers(dtype) for dtype in DTYPES]
    for length in REGISTERS[isa]:
        parts += [vector_helpers(isa, dtype, length // size(dtype)) for dtype in DTYPES]
        for source, target in CONVERSIONS:
            width = length // max(size(source), size(target))
            parts.append(conversion_helpers(isa, source, target, width))
    result: dict[str, str] = {}
    for part in parts:
        for name, text in part.items():
            assert result.setdefault(name, text) == text, name
    return result


def headers(text: str) -> str:
    return "#include <stdint.h>\n" + ("#include <immintrin.h>\n" if "_mm" in text else "")


def zig(*arguments: str, source: Path, output: Path) -> None:
    # A sanitizer would call its runtime.
    command = [sys.executable, "-m", "ziglang", "cc", *arguments, "-fno-sanitize=undefined"]
    run([*command, str(source), "-o", str(output)])


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


@dataclass(frozen=True)
class Machine:
    """The helpers of one ISA, from one compiler: those with registers through wrappers."""

    isa: str
    helpers: dict[str, str]
    library: ctypes.CDLL

    def __call__(self, name: str, *arguments: object, result: object = None) -> Any:
        function = getattr(self.library, f"test_{name}")
        function.restype = result
        return function(
            *(
                a.ctypes.data_as(ctypes.c_void_p)
                if isinstance(a, np.ndarray)
                else ctypes.c_long(a)
                if isinstance(a, int)
                else a
                for a in arguments
            )
        )


def wrappers(isa: str, helpers: dict[str, str]) -> str:
    """A function `test_{name}`, of pointers and numbers only, for each helper."""
    lines = []

    def add(name: str, parameters: str, body: str, result: str = "void") -> None:
        lines.append(f"{result} test_{name}({parameters}) {{ {body}; }}")

    def wrap_registers() -> None:
        for length in REGISTERS[isa]:
            for dtype in DTYPES:
                kind = f"{dtype}x{length // size(dtype)}"
                both = f"const {scalar(dtype)} *p, {scalar(dtype)} *q"
                add(f"load_{kind}", both, f"*({kind}_any *)q = load_{kind}(p)")
                add(f"store_{kind}", both, f"store_{kind}(q, *(const {kind}_any *)p)")
                add(f"splat_{kind}", both, f"*({kind}_any *)q = splat_{kind}(*p)")
                if f"load_part_{kind}" in helpers:
                    load, store = f"load_part_{kind}", f"store_part_{kind}"
                    add(load, f"{both}, long n", f"*({kind}_any *)q = {load}(p, n)")
                    add(store, f"{both}, long n", f"{store}(q, *(const {kind}_any *)p, n)")
            for source, target in CONVERSIONS:
                width = length // max(size(source), size(target))
                wide = f"{target}x{width}"
                both = f"const {scalar(source)} *p, {scalar(target)} *q"
                load, store = f"load_{wide}_{source}", f"store_{target}_{source}x{width}"
                if load in helpers:
                    add(load, both, f"*({wide}_any *)q = {load}(p)")
                else:
                    add(store, both, f"{store}(q, *(const {source}x{width}_any *)p)")
                load, store = load.replace("_", "_part_", 1), store.replace("_", "_part_", 1)
                if load in helpers:
                    add(load, f"{both}, long n", f"*({wide}_any *)q = {load}(p, n)")
                elif store in helpers:
                    value = f"*(const {source}x{width}_any *)p"
                    add(store, f"{both}, long n", f"{store}(q, {value}, n)")
        for source, target in CONVERSIONS:
            cast = f"cast_{target}_{source}"
            both = f"const {scalar(source)} *p, {scalar(target)} *q"
            add(cast, f"{both}, long n", f"for (; n; --n) *q++ = {cast}(*p++)")

    wrap_registers()
    for name, text in helpers.items():
        if name.startswith(("transpose", "interleave", "deinterleave", "dot_")):
            head = text[: text.index(")")].removeprefix("static inline ")
            result, _, parameters = head.replace(name, "\0", 1).partition("\0(")
            names = ", ".join(p.split()[-1].lstrip("*") for p in parameters.split(","))
            give = "return " if result.strip() != "void" else ""
            add(name, parameters, f"{give}{name}({names})", result.strip())
        if name.startswith(("madd", "maddubs", "mla", "dpb")):
            kinds = text[text.index("(") + 1 : text.index(")")].split(",")
            types = [kind.split()[0] for kind in kinds]
            values = ", ".join(
                f"*({t}_any *){p}" for t, p in zip(types, ("c", "a", "b"), strict=True)
            )
            add(name, "void *c, void *a, void *b", f"*({types[0]}_any *)c = {name}({values})")
    return "\n".join(lines)


def cpu_flags() -> set[str]:
    path = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not path.exists():
        return set()
    line = next(line for line in path.read_text().splitlines() if line.startswith("flags"))
    return set(line.split())


# ---- data


class Edge:
    """Memory that ends where no more can be read: an access beyond it is a crash."""

    def __init__(self) -> None:
        self.map = mmap.mmap(-1, 64 * mmap.PAGESIZE)
        self.bytes = np.frombuffer(self.map, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        self.end = self.bytes.size - mmap.PAGESIZE
        address = ctypes.c_void_p(self.bytes.ctypes.data + self.end)
        assert libc.mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0

    def place(self, data: Array) -> Array:
        data = np.ascontiguousarray(data)
        where = self.bytes[self.end - data.nbytes : self.end].view(data.dtype).reshape(data.shape)
        where[...] = data
        return where


EDGES = [Edge() for _ in range(4)] if sys.platform == "linux" else []


class Guarded:
    """A result with bytes around it that must stay as they are."""

    def __init__(self, count: int, dtype: str) -> None:
        bytes_ = count * np.dtype(NUMPY[dtype]).itemsize
        self.memory = np.full(bytes_ + 2 * GUARD, 0xA5, np.uint8)
        self.array: Array = self.memory[GUARD : GUARD + bytes_].view(NUMPY[dtype])

    def check(self, used: int | None = None) -> Array:
        """The first `used` elements; nothing else was written."""
        used = self.array.size if used is None else used
        end = GUARD + used * self.array.itemsize
        assert (self.memory[:GUARD] == 0xA5).all()
        assert (self.memory[end:] == 0xA5).all()
        return self.array[:used]


def noise(dtype: str, count: int, seed: int = 0) -> Array:
    """Bits of any kind: of floats, subnormal numbers, infinities and NaNs too."""
    kind = np.dtype(NUMPY[dtype])
    random = np.random.default_rng([seed, count, len(dtype)])
    return random.integers(0, 256, count * kind.itemsize, np.uint8).view(kind)


F32_SPECIAL = np.array(
    [
        *(0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000),
        *(0x7F800001, 0xFF80FFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F7FFFFF, 0x7F7F8000),
        *(0x7F7F7FFF, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F817FFF, 0x00000001),
        *(0x00008000, 0x00018000, 0x007FFFFF, 0x807F8000, 0x477FF000, 0x477FEFFF),
        *(0x38800000, 0x387FFFFF, 0x33000000, 0x33000001, 0x32FFFFFF, 0x3F801000),
        *(0x3F803000, 0x3F801001, 0x33800000, 0x33C00000, 0xB3C00000, 0xC77FF000),
    ],
    np.uint32,
).view(np.float32)


def bf16_to_f32(x: Array) -> Array:
    return (x.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(x: Array) -> Array:
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(x), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def converted(x: Array, source: str, target: str) -> Array:
    if source == "bf16":
        return bf16_to_f32(x)
    if target == "bf16":
        return f32_to_bf16(x)
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(NUMPY[target])


def same(got: Array, wanted: Array, dtype: str = "") -> None:
    """Equal in every bit, but that a NaN may be any NaN."""
    if dtype == "bf16":
        got, wanted = bf16_to_f32(got), bf16_to_f32(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        got, wanted = (np.where(np.isnan(x), x.dtype.type(0), x) for x in (got, wanted))
    np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))
