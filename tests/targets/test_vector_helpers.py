"""The helpers for vectors, shuffles and products do as their names say, on every ISA here.

Those for Neon are GNU vector extensions throughout, so that they run on any machine.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import some
from tests.targets.helper_machine import (
    CONFIGURATIONS,
    CPU_FLAGS,
    DTYPES,
    EDGES,
    F32_SPECIAL,
    FEATURES,
    FLAGS,
    GCC_FLAGS,
    NONE,
    NUMPY,
    REGISTERS,
    ZIG_CPUS,
    Array,
    Guarded,
    Machine,
    bf16_to_f32,
    converted,
    cpu_flags,
    f32_to_bf16,
    headers,
    merged,
    noise,
    run,
    same,
    wrappers,
    zig,
)

from morello.targets.helpers.collect import used_in
from morello.targets.helpers.products import product_helpers
from morello.targets.helpers.shuffles import odd_even_helpers, shuffle_helpers
from morello.targets.helpers.vectors import (
    CONVERSIONS,
    conversion_helpers,
    size,
    vector_helpers,
)
from morello.targets.neon import NEON

TWICE = ("avx512", "gcc")
"""All but two of its helpers are those of "avx512-all", which gcc builds where that runs."""

MACHINES = [
    (name, compiler)
    for name in CONFIGURATIONS
    for compiler in ("zig", "gcc")
    if (name, compiler) != TWICE or not cpu_flags() >= CPU_FLAGS["avx512-all"]
]


@pytest.fixture(
    scope="module",
    params=some(MACHINES, 3),
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    name, compiler = request.param
    if not cpu_flags() >= CPU_FLAGS[name]:
        pytest.skip(f"this CPU does not run {name}")
    if compiler == "gcc" and shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    isa, features = CONFIGURATIONS[name]
    helpers = merged(isa, features)
    text = "\n".join(helpers.values())
    folder = tmp_path_factory.mktemp("helpers")
    source, output = folder / "helpers.c", folder / "helpers.so"
    source.write_text(headers(text) + text + "\n" + wrappers(isa, helpers))
    # With nothing to link with, a call of anything is an error.
    flags = (*FLAGS, "-Wl,-z,defs")
    if compiler == "zig":
        zig(*flags, f"-mcpu={ZIG_CPUS[name]}", source=source, output=output)
    else:  # at another level, which takes it half the time
        run(["gcc", *flags, "-O1", *GCC_FLAGS[name], str(source), "-o", str(output)])
    yield Machine(isa, helpers, ctypes.CDLL(str(output)))


def test_registers(machine: Machine) -> None:
    for length in REGISTERS[machine.isa]:
        for dtype in DTYPES:
            width = length // size(dtype)
            kind = f"{dtype}x{width}"
            data = noise(dtype, width)
            for name in (f"load_{kind}", f"store_{kind}"):
                out = Guarded(width, dtype)
                machine(name, EDGES[0].place(data), out.array)
                np.testing.assert_array_equal(out.check().view(np.uint8), data.view(np.uint8))
            out = Guarded(width, dtype)
            machine(f"splat_{kind}", data[1:], out.array)
            wanted = np.repeat(data[1:2], width)
            np.testing.assert_array_equal(out.check().view(np.uint8), wanted.view(np.uint8))


def test_parts_of_registers(machine: Machine) -> None:
    parts = [name for name in machine.helpers if name.startswith("load_part_")]
    if machine.isa != "avx512":
        assert not parts
        return
    for dtype in DTYPES:
        width = 64 // size(dtype)
        kind = f"{dtype}x{width}"
        data = noise(dtype, width)
        for n in range(width + 1):
            out = Guarded(width, dtype)
            machine(f"load_part_{kind}", EDGES[0].place(data[:n]), out.array, n)
            got = out.check().view(np.uint8)
            np.testing.assert_array_equal(got[: n * size(dtype)], data[:n].view(np.uint8))
            assert not got[n * size(dtype) :].any()
            out = Guarded(width, dtype)
            machine(f"store_part_{kind}", data, out.array, n)
            np.testing.assert_array_equal(out.check(n).view(np.uint8), data[:n].view(np.uint8))


@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_conversions(machine: Machine, source: str, target: str) -> None:
    for length in REGISTERS[machine.isa]:
        width = length // max(size(source), size(target))
        data = inputs(source, width, target)
        loads = size(source) <= size(target)
        wide = f"{target}x{width}" if loads else f"{source}x{width}"
        whole = f"load_{wide}_{source}" if loads else f"store_{target}_{wide}"
        for row in data:
            out = Guarded(width, target)
            machine(whole, EDGES[0].place(row), out.array)
            same(out.check(), converted(row, source, target), target)
        if length < 64:
            continue
        part = f"load_part_{wide}_{source}" if loads else f"store_part_{target}_{wide}"
        for n in range(width + 1):
            row = data[n % len(data)]
            wanted = converted(row, source, target)
            out = Guarded(width, target)
            if loads:
                machine(part, EDGES[0].place(row[:n]), out.array, n)
                got = out.check()
                same(got[:n], wanted[:n], target)
                assert not got[n:].any()
            else:
                machine(part, row, out.array, n)
                same(out.check(n), wanted[:n], target)


@pytest.mark.parametrize(("source", "target"), CONVERSIONS)
def test_casts(machine: Machine, source: str, target: str) -> None:
    data = inputs(source, 1, target, step=1).reshape(-1)
    out = Guarded(data.size, target)
    machine(f"cast_{target}_{source}", data, out.array, data.size)
    same(out.check(), converted(data, source, target), target)


def inputs(dtype: str, width: int, target: str = "", step: int = 29) -> Array:
    """Rows of `width` numbers of all kinds; of the 16-bit floats, every `step`-th there is.

    To integers, only numbers in their range: what others become is up to the machine.
    """
    data = noise(dtype, 1024)
    if dtype == "f32":
        random = np.random.default_rng(1)
        # Around the ranges of f16, of its subnormal numbers, and of what it takes for zero.
        near = [random.standard_normal(256, np.float32) * scale for scale in (1e5, 1, 1e-5, 1e-7)]
        data = np.concatenate([F32_SPECIAL, data, *near]).astype(np.float32)
        if target == "i32":
            large = random.uniform(-(2.0**31), 2.0**31 - 64, 512).astype(np.float32)
            data = np.concatenate([data[np.abs(data) < 2.0**31], large])
    elif dtype in ("bf16", "f16"):
        ends = [
            bits + i for bits in (0x7C00, 0x7F80, 0x0000) for i in range(-2, 3) if bits + i >= 0
        ]
        bits = [*ends, *(0x8000 | i for i in ends), *range(0, 1 << 16, step)]
        data = np.array(bits, np.uint16).view(NUMPY[dtype])
    return data[: data.size // width * width].reshape(-1, width)


def test_transposes(machine: Machine) -> None:
    matches = (re.fullmatch(r"transpose_(\d+)_(\d+)", name) for name in machine.helpers)
    sizes = [match.groups() for match in matches if match]
    wanted = {"avx512": 6, "avx2": 5, "neon": 3}
    assert len(sizes) == wanted[machine.isa]
    for bytes_, n in ((int(b), int(n)) for b, n in sizes):
        dtype = f"u{8 * bytes_}"
        for src_gap, dst_gap in ((0, 0), (3, 5)):
            src = noise(dtype, n * (n + src_gap)).reshape(n, -1)
            placed = EDGES[0].place(src.reshape(-1)[: src.size - src_gap])
            out = Guarded(n * (n + dst_gap) - dst_gap, dtype)
            before = out.array.copy()
            machine(f"transpose_{bytes_}_{n}", placed, n + src_gap, out.array, n + dst_gap)
            rows = np.resize(before, n * (n + dst_gap)).reshape(n, -1)
            rows[:, :n] = src[:, :n].T
            np.testing.assert_array_equal(out.check(), rows.reshape(-1)[: before.size])


def test_interleaved_rows(machine: Machine) -> None:
    twos = {"avx512": (32,), "avx2": (16,), "neon": (8,)}[machine.isa]
    fours = (16, 64) if machine.isa == "avx512" else (16,)
    for count, dtype, widths in ((2, "u16", twos), (4, "u8", fours)):
        for n in widths:
            rows = [noise(dtype, n, seed) for seed in range(count)]
            out = Guarded(count * n, dtype)
            placed = [edge.place(row) for edge, row in zip(EDGES, rows, strict=False)]
            machine(f"interleave{count}_{n}", *placed, out.array)
            np.testing.assert_array_equal(out.check(), np.stack(rows, 1).reshape(-1))


def odd_even(x: Array) -> Array:
    return np.concatenate([x[::2], x[1::2]])


def test_odd_even_layout(machine: Machine) -> None:
    w = {"avx512": 16, "avx2": 8, "neon": 4}[machine.isa]
    for bytes_, dtype in ((2, "u16"), (4, "u32")):
        data = noise(dtype, 2 * w)
        out = Guarded(2 * w, dtype)
        machine(f"deinterleave_{bytes_}_{w}", EDGES[0].place(data), out.array)
        np.testing.assert_array_equal(out.check(), odd_even(data))
        out = Guarded(2 * w, dtype)
        machine(f"interleave_{bytes_}_{w}", EDGES[0].place(odd_even(data)), out.array)
        np.testing.assert_array_equal(out.check(), data)
    for row in inputs("bf16", 2 * w):
        out = Guarded(2 * w, "f32")
        machine(f"deinterleave_f32_bf16_{w}", EDGES[0].place(row), out.array)
        same(out.check(), odd_even(bf16_to_f32(row)))
    for row in inputs("f32", 2 * w):
        out = Guarded(2 * w, "bf16")
        machine(f"interleave_bf16_f32_{w}", EDGES[0].place(odd_even(row)), out.array)
        same(out.check(), f32_to_bf16(row), "bf16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_odd_even_blocks_of_any_size(machine: Machine, dtype: str) -> None:
    for block, length in ((4, 4), (6, 5), (10, 3), (32, 32), (34, 1)):
        data = noise(dtype, length)
        places = np.arange(length) // 2 + np.arange(length) % 2 * (block // 2)
        blocked = np.zeros(block, data.dtype)
        blocked[places] = data
        out = Guarded(block, dtype)
        out.array[:] = 0
        machine(f"deinterleave_{dtype}", EDGES[0].place(data), out.array, block // 2, length)
        np.testing.assert_array_equal(out.check(), blocked)
        out = Guarded(length, dtype)
        machine(f"interleave_{dtype}", EDGES[0].place(blocked), out.array, block // 2, length)
        np.testing.assert_array_equal(out.check(), data)


def product_rows(dtype: str, count: int) -> Iterator[Array]:
    """Integers of all kinds, and the largest and least throughout."""
    yield noise(dtype, count)
    kind = np.dtype(NUMPY[dtype])
    limits = np.iinfo(kind)
    for value in (limits.min, limits.max, -1 if limits.min else 1):
        yield np.full(count, value, kind)


def wrapped(x: Array, dtype: type[np.generic]) -> Array:
    """Integers modulo the range of `dtype`."""
    return x.astype(np.int64).astype(np.uint64).astype(dtype)


def test_integer_products_of_registers(machine: Machine) -> None:
    w = {"avx512": 16, "avx2": 8, "neon": 4}[machine.isa]
    # helper, dtypes of a and b and c, elements of a for one of c, saturating sum of those
    cases = [
        (f"mla_i32x{w}", "i32", "i32", "i32", 1, False),
        (f"madd_i32x{w}", "i16", "i16", "i32", 2, False),
        (f"maddubs_i16x{2 * w}", "u8", "i8", "i16", 2, True),
        ("dpbusd_i32x16", "u8", "i8", "i32", 4, False),
    ]
    found = 0
    for name, kind_a, kind_b, kind_c, group, saturates in cases:
        if name not in machine.helpers:
            continue
        found += 1
        count = {"avx512": 64, "avx2": 32, "neon": 16}[machine.isa] // size(kind_a)
        for a in product_rows(kind_a, count):
            for b in product_rows(kind_b, count):
                c = noise(kind_c, count // group)
                products = a.astype(np.int64) * b.astype(np.int64)
                sums = products.reshape(-1, group).sum(1)
                if saturates:
                    sums = sums.clip(-(1 << 15), (1 << 15) - 1)
                wanted = wrapped(c.astype(np.int64) + sums, NUMPY[kind_c])
                machine(name, c, a, b)
                np.testing.assert_array_equal(c, wanted)
    assert found == (2 if machine.isa == "neon" else 3 + ("dpbusd_i32x16" in machine.helpers))


def test_bf16_products_of_registers(machine: Machine) -> None:
    w = {"avx512": 16, "avx2": 8, "neon": 4}[machine.isa]
    random = np.random.default_rng(2)
    names = [f"madd_f32x{w}", "dpbf16_f32x16"]
    for name in (name for name in names if name in machine.helpers):
        a, b = (f32_to_bf16(random.standard_normal(2 * w, np.float32)) for _ in range(2))
        c = random.standard_normal(w, np.float32)
        products = (bf16_to_f32(a).astype(np.float64) * bf16_to_f32(b)).reshape(w, 2)
        wanted = c + products.sum(1)
        bound = 2e-7 * (np.abs(c) + np.abs(products).sum(1))
        machine(name, c, a, b)
        assert (np.abs(c - wanted) <= bound).all()
    assert names[0] in machine.helpers


LENGTHS = (*range(1, 140), *range(250, 270), 511, 512, 513, 1023, 1025, 4100)
FLOAT_DOTS = {
    "dot_f32_f32": ("f32", "f32"),
    "dot_f32_bf16": ("f32", "bf16"),
    "dot_bf16_bf16": ("bf16", "bf16"),
    "dot_bf16_bf16_dp": ("bf16", "bf16"),
    "dot_l2_bf16_bf16_dp": ("bf16", "bf16"),
    "dot_f16_f16": ("f16", "f16"),
}
ODD_EVEN_DOTS = ("dot_oddeven_f32_bf16", "dot_l2_oddeven_f32_bf16")
INTEGER_DOTS = {
    "dot_i32_i32": ("i32", "i32", "i32"),
    "dot_u8_i8_i32": ("u8", "i8", "i32"),
    "dot_u8_i8_i16": ("u8", "i8", "i16"),
    "dot_i8_i8_i32": ("i8", "i8", "i32"),
    "dot_i16_i16_i32": ("i16", "i16", "i32"),
}


def as_floats(x: Array, dtype: str) -> tuple[Array, Array]:
    """The numbers nearest to x in `dtype`, and the same in f64."""
    stored = f32_to_bf16(x) if dtype == "bf16" else x.astype(NUMPY[dtype])
    values = bf16_to_f32(stored) if dtype == "bf16" else stored
    return stored, values.astype(np.float64)


def test_every_inner_product_is_here(machine: Machine) -> None:
    names = {name for name in machine.helpers if name.startswith("dot_")}
    wanted = {*FLOAT_DOTS, *INTEGER_DOTS, *ODD_EVEN_DOTS}
    if "dpbf16_f32x16" not in machine.helpers:
        wanted -= {"dot_bf16_bf16_dp", "dot_l2_bf16_bf16_dp"}
    assert names == wanted


@pytest.mark.parametrize("name", FLOAT_DOTS)
def test_inner_products_of_floats(machine: Machine, name: str) -> None:
    if name not in machine.helpers:
        pytest.skip("not on this ISA")
    random = np.random.default_rng(3)
    for n in LENGTHS:
        # Small integers are summed without error in any order: the result is exact.
        for exact in (True, False):
            x, y = (
                random.integers(-8, 9, n).astype(np.float32)
                if exact
                else random.standard_normal(n, np.float32)
                for _ in range(2)
            )
            (a, x), (b, y) = (
                as_floats(v, dtype) for v, dtype in zip((x, y), FLOAT_DOTS[name], strict=True)
            )
            got = machine(name, EDGES[0].place(a), EDGES[1].place(b), n, result=ctypes.c_float)
            assert abs(got - x @ y) <= (0 if exact else 1e-6 * (np.abs(x) @ np.abs(y))), n


@pytest.mark.parametrize("name", ODD_EVEN_DOTS)
def test_inner_products_with_odd_even_layout(machine: Machine, name: str) -> None:
    w = {"avx512": 16, "avx2": 8, "neon": 4}[machine.isa]
    random = np.random.default_rng(4)
    for blocks in (*range(1, 20), 64, 65):
        n = 2 * w * blocks
        a = random.integers(-8, 9, n).astype(np.float32)
        b = random.integers(-8, 9, n).astype(np.float32)
        laid_out = np.concatenate([odd_even(block) for block in a.reshape(blocks, -1)])
        runs = EDGES[0].place(laid_out), EDGES[1].place(f32_to_bf16(b))
        got = machine(name, *runs, n, result=ctypes.c_float)
        assert got == a @ b, n


@pytest.mark.parametrize("name", INTEGER_DOTS)
def test_inner_products_of_integers(machine: Machine, name: str) -> None:
    kind_a, kind_b, kind = INTEGER_DOTS[name]
    result = ctypes.c_int16 if kind == "i16" else ctypes.c_int32
    for n in LENGTHS:
        runs_a = product_rows(kind_a, n) if n % 32 in (0, 1, 31) else [noise(kind_a, n)]
        for a in runs_a:
            for b in product_rows(kind_b, n):
                wanted = wrapped(a.astype(np.int64) * b.astype(np.int64), np.uint64).sum()
                got = machine(name, EDGES[0].place(a), EDGES[1].place(b), n, result=result)
                assert got == wanted.astype(NUMPY[kind]), n


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_gcc_converts_whole_registers(tmp_path: Path) -> None:
    """Element by element, it would take more instructions than there are elements."""
    helpers: dict[str, str] = {}
    for source, target in CONVERSIONS:
        width = 64 // max(size(source), size(target))
        if target != "bf16":  # which is rounded in many instructions
            helpers |= conversion_helpers("avx512", source, target, width)
    text = "\n".join(helpers.values())
    code, assembly = tmp_path / "helpers.c", tmp_path / "helpers.s"
    code.write_text(headers(text) + text.replace("static inline", "__attribute__((used)) static"))
    run(["gcc", *FLAGS, "-S", *GCC_FLAGS["avx512"], str(code), "-o", str(assembly)])
    functions = re.findall(r"(?ms)^(\w+):\n(.*?)\n\tret", assembly.read_text())
    taken = {name: len(re.findall(r"(?m)^\t[a-z]", body)) for name, body in functions}
    assert {"load_i32x16_i8", "store_u8_i32x16"} <= taken.keys()
    assert {name: count for name, count in taken.items() if count >= 16} == {}


def test_short_runs_are_read_in_order(tmp_path: Path) -> None:
    """Each iteration's lines come before those of the next in rows that a compiler may unroll."""
    helpers = merged("avx512", FEATURES)
    name, k, step, row = "dot_l2_bf16_bf16_dp", 1024, 512, "uint16_t *restrict "
    text = "\n".join(helpers[each] for each in used_in([name], helpers))
    loop = f"for (long i = 0; i < n; ++i) c[i] = {name}(a, b + {k} * i, {k});"
    run_all = f"void f(const {row}a, const {row}b, float *restrict c, long n) {{ {loop} }}"
    source, output = tmp_path / "rows.c", tmp_path / "rows.s"
    source.write_text(headers(text) + text + run_all)
    zig(*FLAGS, "-S", f"-mcpu={ZIG_CPUS['avx512-all']}", source=source, output=output)
    places = [int(p or 0) for p in re.findall(r"vdpbf16ps\s+(-?\d*)\(", output.read_text())]
    iterations = [(place - min(places)) // step for place in places]
    assert len(places) >= 8 and iterations == sorted(iterations)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_dictionaries_are_complete_and_ordered(name: str, tmp_path: Path) -> None:
    """Each by itself, as a code generator may emit it: every use follows its definition."""
    isa, features = CONFIGURATIONS[name]
    known = set(merged(isa, features))
    dictionaries = [shuffle_helpers(isa), product_helpers(isa, features)]
    dictionaries += [odd_even_helpers(dtype) for dtype in DTYPES]
    for dtype in DTYPES:
        dictionaries.append(vector_helpers(isa, dtype, REGISTERS[isa][-1] // size(dtype)))
    for source, target in CONVERSIONS:
        width = REGISTERS[isa][-1] // max(size(source), size(target))
        dictionaries.append(conversion_helpers(isa, source, target, width))
    for helpers in dictionaries:
        defined: set[str] = set()
        for identifier, text in helpers.items():
            defined.add(identifier)
            assert identifier in text
            assert words(text) & known <= defined, identifier


def words(text: str) -> set[str]:
    kept = (c if c.isalnum() or c == "_" else " " for c in text)
    return set("".join(kept).split())


def test_neon_compiles_for_aarch64(tmp_path: Path) -> None:
    """The target's helpers are built in test_self_contained, and here the others."""
    helpers = merged("neon", NONE)
    assert "_mm" not in "\n".join(helpers.values())
    others = [name for name, text in helpers.items() if NEON.helpers.get(name) != text]
    assert 0 < len(others) < len(helpers) / 10
    names = used_in([helpers[name] for name in others], helpers)
    text = "\n".join(helpers[name] for name in dict.fromkeys([*names, *others]))
    source, output = tmp_path / "helpers.c", tmp_path / "helpers.so"
    source.write_text(headers(text) + text.replace("static inline", "__attribute__((used)) static"))
    flags = (*FLAGS, "-Wl,-z,defs", "-target", "aarch64-linux", "-mcpu=generic", "-O1")
    zig(*flags, source=source, output=output)
    assert all(name.encode() in output.read_bytes() for name in others)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="avx2 has no registers of 16 f32"):
        vector_helpers("avx2", "f32", 16)
    with pytest.raises(ValueError, match="no conversion from f32 to u32"):
        conversion_helpers("avx2", "f32", "u32", 8)
    with pytest.raises(ValueError, match="neon has no registers of 8 bf16 and f32"):
        conversion_helpers("neon", "bf16", "f32", 8)
