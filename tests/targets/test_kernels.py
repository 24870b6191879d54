"""Each kernel's C does what its semantics say, on each target."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import compile_c, runs_here
from tests.targets.cases import Case, channels_together, part_case, part_function, random_cases

from morello.codegen.instructions import compiled_for
from morello.ir.batch import Batch
from morello.ir.dtype import BF16, BF16X2, DType
from morello.ir.operation import Operation
from morello.ir.placements import Ints, Placements
from morello.ir.primitives import grouped_conv, quantized_matmul
from morello.ir.primitives.windows import windows_of
from morello.ir.primitives.winograd import tile_of, winograd_input, winograd_output
from morello.ir.rounding import Bounded
from morello.targets import TARGETS
from morello.targets.cpu import TILES, host_cpu
from morello.targets.helpers.collect import used_in
from morello.targets.helpers.tiles import (
    BF16_TILES,
    BYTE_TILES,
    COLUMNS,
    LONGEST,
    tile_helpers,
)
from morello.targets.machines import X86_64_V4
from morello.targets.neon import NEON
from morello.targets.target import LeafKernel, Target
from morello.targets.x86 import AVX2, AVX512, PRODUCTS, avx512

Array = np.ndarray[Any, np.dtype[Any]]

MARGIN = 64
"""Bytes before and after each operand that nothing may write."""

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 89.0, -104.0, 0.5])
SUMS = "Cumsum", "Sum", "SumAccum", "SumPool"

VANISHING = ("Gelu", "GeluTanh", "Silu")
"""Functions that are 0 times infinity at -infinity, where the code gives their limit, 0."""

FLUSHED = 2.0**-118
"""Intermediate results below this may be flushed to 0."""


def known_targets() -> list[Target]:
    """All that run here; AVX-512 with what this machine has beyond it.

    Neon's C has no intrinsics, and so runs wherever numbers of 16 bits are converted.
    """
    best = avx512(X86_64_V4, host_cpu().features & (PRODUCTS | TILES))
    if best is not AVX512:
        best = replace(best, arch="native")
    elsewhere = replace(NEON, arch=AVX2.arch, features=AVX2.features)
    here = {AVX512: best, NEON: NEON if runs_here(NEON) else elsewhere}
    found = [here.get(target, target) for target in TARGETS.values()]
    return [target for target in found if runs_here(target)]


@cache
def alike() -> dict[tuple[str, str], list[LeafKernel]]:
    """The kernels of the same C, by the first target that has one, and its name.

    They are built with the same flags, too: those of Neon with AVX2's where it does not run.
    """
    found: dict[tuple[object, ...], tuple[tuple[str, str], list[LeafKernel]]] = {}
    for target in known_targets():
        for kernel in target.kernels:
            helpers = [target.helpers[name] for name in used_in([kernel.c], target.helpers)]
            built = target.arch, target.features, *helpers
            used = kernel.name, kernel.c, kernel.held, kernel.in_order, *built
            _, several = found.setdefault(used, ((target.name, kernel.name), []))
            several.append(kernel)
    return dict(found.values())


@cache
def different_targets() -> list[Target]:
    """The targets that run here, each with the kernels whose code none before it has."""
    return [
        replace(one, kernels=tuple(k for k in one.kernels if (one.name, k.name) in alike()))
        for one in known_targets()
    ]


def of_kernels(chosen: Callable[[LeafKernel], bool] = lambda kernel: True) -> pytest.MarkDecorator:
    """The different kernels of each operation and target, or those that are chosen."""
    known: dict[tuple[str, str], tuple[Target, list[str]]] = {}
    for target in different_targets():
        for kernel in filter(chosen, target.kernels):
            _, names = known.setdefault((target.name, kernel.operation), (target, []))
            names.append(kernel.name)
    return pytest.mark.parametrize(("target", "kernels"), known.values(), ids=map("-".join, known))


def is_of_floats(kernel: LeafKernel) -> bool:
    """Whether its operands are floats, and it has no partial sums, which may overflow."""
    several = "Matmul", "GroupedConvAccum", "Winograd"
    sums = kernel.operation.startswith(several) or kernel.operation == "DepthwiseConv"
    return all(dtype.is_float for dtype in kernel.dtypes) and not sums


@dataclass
class Suite:
    """A target's cases by kernel, and the C functions that run them."""

    cases: dict[str, list[tuple[str, Case]]]
    parts: dict[str, tuple[str, Case]]
    library: ctypes.CDLL


@pytest.fixture(scope="module")
def suites() -> dict[str, Suite]:
    """Filled target by target, as tests come to need it."""
    return {}


@pytest.fixture
def suite(
    target: Target, suites: dict[str, Suite], tmp_path_factory: pytest.TempPathFactory
) -> Suite:
    if target.name not in suites:
        suites[target.name] = build(target, tmp_path_factory.mktemp(target.name))
    return suites[target.name]


def build(target: Target, directory: Path) -> Suite:
    cases: dict[str, list[tuple[str, Case]]] = {kernel.name: [] for kernel in target.kernels}
    parts: dict[str, tuple[str, Case]] = {}
    functions = []
    for number, case in enumerate(random_cases(target)):
        cases[case.kernel.name].append((f"case{number}", case))
        functions.append(case.function(f"case{number}", target))
    for number, kernel in enumerate(target.kernels):
        if (part := part_case(kernel)) is not None:
            parts[kernel.name] = f"part{number}", part
            functions.append(part_function(part, f"part{number}"))
    headers = [f"#include <{header}>" for header in ("stdint.h", *target.headers.values())]
    helpers = [target.helpers[name] for name in used_in(functions, target.helpers)]
    library = compile_c("\n".join([*headers, *helpers, *functions]), target, directory)
    return Suite(cases, parts, library)


# ---- data


def storage(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype for arrays of this dtype; packed groups are kept as their bits."""
    return np.dtype(np.uint32) if dtype.numpy is None else dtype.np


def random_values(dtype: DType, shape: Sequence[int], random: np.random.Generator) -> Array:
    """Random values: any integers of up to 16 bits, and larger ones whose products fit."""
    if dtype is BF16X2:
        from ml_dtypes import bfloat16

        halves = random.uniform(-2, 2, (*shape, 2)).astype(bfloat16)
        return np.ascontiguousarray(halves).view(np.uint32)[..., 0]
    kind = storage(dtype)
    if dtype.is_float:
        sign = random.choice([-1.0, 1.0], shape)
        return (sign * random.uniform(0.5, 1.5, shape)).astype(kind)
    if dtype.lanes == 1 and dtype.bytes == 4:
        return random.integers(-20000 if kind.kind == "i" else 0, 20000, shape).astype(kind)
    info = np.iinfo(kind)
    return random.integers(info.min, info.max, shape, kind, endpoint=True)


def special_values(dtype: DType, shape: Sequence[int], random: np.random.Generator) -> Array:
    """Floats a third of which are NaN, infinite, zero, or near the ends of their range."""
    values = random_values(dtype, shape, random)
    if not dtype.is_float:
        return values
    with np.errstate(over="ignore"):
        odd = random.choice(SPECIAL, tuple(shape)).astype(values.dtype)
    return np.where(random.random(tuple(shape)) < 0.3, odd, values)


def arguments(case: Case, random: np.random.Generator, *, special: bool) -> list[Array]:
    """Values of all operands; maxima and denominators are those of what they are for."""
    operation, found = case.spec.operation, []
    make = special_values if special else random_values
    for index, dtype in enumerate(case.spec.dtypes):
        found.append(make(dtype, case.spec.shape(index), random))
    if special and operation.name in SUMS:  # sums in another order overflow elsewhere
        found[0] = np.where(np.isfinite(found[0]), found[0] * found[0].dtype.type(1e-3), found[0])
    with np.errstate(all="ignore"):
        for index, operand in enumerate(operation.operands):
            if operand.name == "max" and not operand.written:
                highest = found[0].max(initial=-3.0)
                found[index] = np.full_like(found[index], highest)
            if operand.name.startswith("denominator"):
                # not so large that it matters times an exponential that may be flushed to zero
                size = np.minimum(np.abs(found[index]) + np.float32(0.5), np.float32(1e30))
                found[index] = np.where(np.isfinite(found[index]), size, 1)
    return found


# ---- running


@dataclass
class Buffer:
    """An operand's bytes, with a margin around them; NaN or marks where it has no elements."""

    memory: Array
    inside: Array
    places: Ints

    @staticmethod
    def of(values: Array, places: Ints, elements: int, mark: int) -> Buffer:
        start = MARGIN + values.itemsize  # aligned to elements, and no more
        size = elements * values.itemsize
        memory = np.full(start + size + MARGIN, mark, np.uint8)
        inside = memory[start : start + size].view(values.dtype)
        inside[places] = values
        return Buffer(memory, inside, places)

    @property
    def values(self) -> Array:
        return self.inside[self.places]

    def around(self) -> Array:
        """Its bytes without its elements."""
        kept = Buffer(self.memory.copy(), self.inside, self.places)
        start = MARGIN + self.inside.itemsize
        kept.memory[start : start + self.inside.nbytes].view(self.inside.dtype)[self.places] = 0
        return kept.memory


def run(
    code: Any, case: Case, inputs: Sequence[Array], places: Sequence[Ints], *more: int
) -> list[Array]:
    """The operands after the C has run; it wrote nothing but the elements of the outputs."""
    operands, buffers = case.spec.operation.operands, []
    for index, (values, where) in enumerate(zip(inputs, places, strict=True)):
        mark = 0xA5 if operands[index].written else 0xFF
        buffers.append(Buffer.of(values, where, case.elements(index), mark))
    before = [buffer.memory.copy() for buffer in buffers]
    around = [buffer.around() for buffer in buffers]
    code(*(ctypes.c_void_p(b.inside.ctypes.data) for b in buffers), *map(ctypes.c_long, more))
    for index, (operand, home) in enumerate(zip(operands, case.homes, strict=True)):
        if not operand.written:
            np.testing.assert_array_equal(buffers[index].memory, before[index], err_msg=f"{case}")
        elif not home.vector:  # a register may have anything in the lanes that have no element
            np.testing.assert_array_equal(buffers[index].around(), around[index], f"{case}")
    return [buffer.values for buffer in buffers]


def expected(case: Case, inputs: Sequence[Array]) -> list[Array]:
    """The outputs by the kernel's semantics, each with its operand's dimensions."""
    kernel, operation = case.kernel, case.spec.operation
    usual, values = usual_dims(kernel, operation), []
    for index, (value, dtype) in enumerate(zip(inputs, kernel.dtypes, strict=True)):
        if operation.reads(index) or len(inputs) == 1:
            wide = dtype.is_float and not operation.copies
            made = value.astype(np.float64) if wide else value
            values.append(spread(made, operation.operands[index].dims, usual[index]))
    constant = operation.function.constant if operation.function else None
    options = {} if constant is None else {"constant": constant}
    with np.errstate(all="ignore"):
        result = kernel.semantics(*values, **options)
        if kernel.operation in VANISHING:
            result = np.where(values[0] == -np.inf, 0.0, result)
    several = result if isinstance(result, tuple) else (result,)
    if operation.name == "Pack":
        return [*several]
    found = []
    for value, index in zip(several, operation.outputs, strict=True):
        dims, shape = operation.operands[index].dims, case.spec.shape(index)
        turned = spread(value, usual[index], dims) if np.ndim(value) == len(dims) else value
        flat = np.size(turned) == np.prod(shape)
        found.append(np.reshape(turned, shape) if flat else np.broadcast_to(turned, shape))
    return found


def usual_dims(kernel: LeafKernel, operation: Operation) -> list[tuple[str, ...]]:
    """The dimensions that semantics take each operand with: for maps, all that the output has."""
    operands = [o.dims for o in operation.operands]
    if operation.name in ("Matmul", "MatmulAccum"):
        lead = operation.dims[:-3]
        return [(*lead, "m", "k"), (*lead, "k", "n"), (*lead, "m", "n")]
    if operation.name == "GroupedConvAccum":
        return [o.dims for o in channels_together(kernel).operands]
    if operation.name == "DepthwiseConv":
        windows = tuple(windows_of(operation).values())
        return [o.dims for o in grouped_conv(1, 1, windows).operands]
    if operation.name == "QuantizedMatmul":
        return [o.dims for o in quantized_matmul().operands]
    if operation.name.startswith("Winograd"):
        make = winograd_input if operation.name == "WinogradInput" else winograd_output
        return [o.dims for o in make(tile_of(operation), channels_last=True).operands]
    if operation.name in ("Argmax", "Argmin", "Cumsum", "Softmax"):  # what is scanned is first
        return [tuple(sorted(dims, key=lambda d: d not in operation.untiled)) for dims in operands]
    if "_of_" in kernel.name and "_rows_" in kernel.name:  # what is reduced is last
        return [tuple(sorted(dims, key=lambda d: d in operation.reduced)) for dims in operands]
    if operation.function is not None or operation.name in ("Move", "DivideVecScalar"):
        return [operands[-1]] * len(operands)
    return operands


def spread(value: Array, dims: Sequence[str], wanted: Sequence[str]) -> Array:
    """The array with these dimensions, 1 where it has none; others, of size 1, are gone."""
    if tuple(dims) == tuple(wanted):
        return value
    order = [dims.index(d) for d in wanted if d in dims]
    extra = [i for i, d in enumerate(dims) if d not in wanted]
    turned = value.transpose([*extra, *order])
    turned = turned.reshape(turned.shape[len(extra) :])
    return turned[tuple(slice(None) if d in dims else np.newaxis for d in wanted)]


def compare(case: Case, found: Array, wanted: Array, inputs: Sequence[Array]) -> None:
    operation, dtype = case.spec.operation, case.spec.dtypes[-1]
    if operation.name == "Pack":
        found = unpacked(found, wanted.dtype, operation)
        nothing = case.kernel.semantics(np.zeros(1, inputs[0].dtype))
        wanted = filled_up(wanted, found.shape, nothing[0])
    if operation.copies or not dtype.is_float:
        assert_same(found, wanted, f"{case}")
        return
    terms = max(values.size for values in inputs)
    with np.errstate(over="ignore"):
        wanted = wanted.astype(np.float32)
    found = found.astype(np.float32)
    relative = 4e-6 if operation.function is not None else 2e-6 * (8 + terms**0.5)
    if dtype is BF16:
        relative = 2.0**-7  # a unit in the last place
    largest = np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=0.0)
    absolute = relative * max(1.0, largest)
    if operation.name == "QuantizedMatmul":  # which rounds x to integers
        exact = [Bounded(value.astype(np.float64)) for value in inputs[:-1]]
        exact[1] = Bounded(inputs[1])
        assert operation.primitive is not None
        (bounded,) = operation.primitive.bound(operation, exact, case.spec.dtypes)
        absolute = max(absolute, float(np.nanmax(bounded.bound)))
    if operation.function is not None:
        absolute = FLUSHED if operation.name in VANISHING else 1e-37
    np.testing.assert_allclose(
        found, wanted, rtol=relative, atol=absolute, err_msg=f"{case}\n{inputs}"
    )


def assert_same(found: Array, wanted: Array, what: str) -> None:
    """They are equal, and of one dtype; NaN is NaN, whatever its bits."""
    assert found.dtype == wanted.dtype, what
    wide = np.dtype(np.float64) if found.dtype.kind in "fV" else found.dtype
    np.testing.assert_array_equal(found.astype(wide), wanted.astype(wide), err_msg=what)


def unpacked(groups: Array, dtype: np.dtype[Any], operation: Operation) -> Array:
    """The elements in an array of groups, along the dimension that is grouped."""
    axis = next(i for i, one in enumerate(operation.axes[0]) if not one.plain)
    single = np.ascontiguousarray(groups)[..., np.newaxis].view(dtype)
    moved = np.moveaxis(single, -1, axis + 1)
    shape = list(groups.shape)
    shape[axis] *= single.shape[-1]
    return moved.reshape(shape)


def filled_up(values: Array, wanted: Sequence[int], value: Any) -> Array:
    """An array with a value at its ends, so that it has this shape."""
    more = [(0, size - n) for n, size in zip(values.shape, wanted, strict=True)]
    return np.pad(values, more, constant_values=value)


# ---- tests


def check(suite: Suite, kernels: Sequence[str], *, special: bool) -> None:
    for kernel in kernels:
        random = np.random.default_rng(7)
        assert suite.cases[kernel]
        for name, case in suite.cases[kernel]:
            inputs = arguments(case, random, special=special)
            places = [case.places(i) for i in range(len(inputs))]
            after = run(getattr(suite.library, name), case, inputs, places)
            wanted = expected(case, inputs)
            for index, value in zip(case.spec.operation.outputs, wanted, strict=True):
                compare(case, after[index], value, inputs)


@of_kernels()
def test_the_code_computes_the_semantics(target: Target, kernels: list[str], suite: Suite) -> None:
    check(suite, kernels, special=False)


@of_kernels(is_of_floats)
def test_nan_and_infinities_are_as_in_numpy(
    target: Target, kernels: list[str], suite: Suite
) -> None:
    check(suite, kernels, special=True)


@of_kernels(lambda kernel: kernel.masked)
def test_a_part_of_any_length_is_moved_and_nothing_else(
    target: Target, kernels: list[str], suite: Suite
) -> None:
    for kernel in kernels:
        check_parts(suite, kernel)


def check_parts(suite: Suite, kernel: str) -> None:
    name, case = suite.parts[kernel]
    code, random = getattr(suite.library, name), np.random.default_rng(3)
    (width,) = case.spec.sizes
    for length in range(1, width):
        whole = arguments(case, random, special=True)
        kept = [values[:length] for values in whole]
        part = replace(case, spec=replace(case.spec, sizes=(length,)))
        after = run(code, part, kept, [np.arange(length)] * len(kept), length)
        (wanted,) = expected(part, kept)
        if part.spec.operation.function is None:
            assert_same(after[-1], wanted, f"{kernel} of {length}")
        else:
            compare(part, after[-1], wanted, kept)


@of_kernels()
def test_a_kernel_costs_time_and_holds_registers(
    target: Target, kernels: list[str], suite: Suite
) -> None:
    for _, case in (named for kernel in kernels for named in suite.cases[kernel]):
        batch = Batch.of([case.spec], Placements())
        for kernel in alike()[target.name, case.kernel.name]:
            assert all(condition.holds.all() for condition in kernel.applies(batch))
            assert 0 < np.broadcast_to(kernel.cost(batch), 1)[0] < 1_000_000
            assert 0 <= kernel.registers <= target.limits[-1]


def test_every_kernel_has_a_name_of_its_own() -> None:
    for target in known_targets():
        names = [kernel.name for kernel in target.kernels]
        assert len(set(names)) == len(names)


@pytest.mark.skipif(not runs_here(AVX2), reason="x86-64 only")
def test_the_code_of_tiles_compiles_where_it_does_not_run(tmp_path: Path) -> None:
    target = avx512(X86_64_V4, PRODUCTS | TILES)
    calls = [
        f"{p.name}(a, 16, a, 32, 1, (void *)c, 32, 32, 32, 16, 1);" for p in BF16_TILES + BYTE_TILES
    ]
    function = f"void f(uint32_t *a, char *c) {{ {' '.join(calls)} }}"
    lines = compiled_for(target, [*tile_helpers(TILES).values(), function])
    headers = ["#include <stdint.h>", "#include <immintrin.h>"]
    compile_c("\n".join([*headers, *lines]), target, tmp_path)


@pytest.mark.skipif(not host_cpu().has("amx_int8"), reason="needs products of tiles of bytes")
@pytest.mark.parametrize("k", [LONGEST + 21, 16, 15])
def test_rows_of_tiles_may_begin_inside_of_lines(k: int, tmp_path: Path) -> None:
    m, n, (product, *_) = 37, COLUMNS + 21, BYTE_TILES
    target = replace(avx512(X86_64_V4, PRODUCTS | TILES), arch="native")
    places = f"a, {k}, b, {n}, 1, c, {n}, {m}, {n}, {k}, 1"
    function = "void f(uint32_t *a, uint32_t *b, int32_t *c)"
    lines = [*tile_helpers(TILES).values(), f"{function} {{ {product.name}({places}); }}"]
    headers = ["#include <stdint.h>", "#include <immintrin.h>"]
    library = compile_c("\n".join([*headers, *compiled_for(target, lines)]), target, tmp_path)
    random = np.random.default_rng(5)
    a = random.integers(0, 256, 64 + m * 4 * k, np.uint8)
    a = a[(4 - a.ctypes.data) % 64 :][: m * 4 * k]
    b = random.integers(-128, 128, (k, n, 4), np.int8)
    c = random.integers(-99, 99, (m, n), np.int32)
    wide = np.moveaxis(b, 2, 1).reshape(4 * k, n).astype(np.float64)
    wanted = c + a.reshape(m, -1).astype(np.float64) @ wide
    library.f(*(ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)))
    assert np.array_equal(c, wanted)
