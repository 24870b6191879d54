"""All that docs/coverage.md names exists, and each row of its lists of Specs and rewrites runs.

Such a row's test makes a small goal in which it occurs, by search or by hand, generates C for
this machine, runs it, and compares with NumPy in float64.
"""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.goals import conv_goal, matmul_goal, mlp_goal, softmax_goal
from tests.sampling import some
from tests.support import compile_c, in_layout, runs_here, with_capacities

from morello.base.errors import SearchError, TargetError
from morello.codegen import generate
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.ir.dtype import BF16, COMPUTED, F32, I8, I16, I32, U8, U16, U32, DType
from morello.ir.layout import Layout, column_major, odd_even, panels, row_major
from morello.ir.operation import Operation
from morello.ir.primitives import (
    MAX,
    PRIMITIVES,
    SOFTMAX,
    SUM,
    broadcast,
    conv,
    divide_vec,
    divide_vec_scalar,
    fill,
    matmul,
    move,
    one_prefix,
    reduce,
    softmax,
)
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec, goal
from morello.rewrites import Bufferize, Decompose, Move, Parallel, Rewrite, Select, Split, Tile
from morello.scheduling import Schedule
from morello.search.session import search
from morello.targets import TARGETS, find_target
from morello.targets.machines import X86_64_V4
from morello.targets.target import Target
from morello.targets.x86 import avx512

Array = npt.NDArray[Any]
Check = Callable[[Impl | Spec], Impl]

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "morello"


# ---- the document


@cache
def sections() -> dict[str, list[list[str]]]:
    """The rows of each section's table, without its head."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in (ROOT / "docs" / "coverage.md").read_text().splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line.startswith("|"):
            found.setdefault(title, []).append([cell.strip() for cell in line.split("|")[1:-1]])
    return {title: rows[2:] for title, rows in found.items()}


def rows() -> list[list[str]]:
    return [row for section in sections().values() for row in section]


def quoted(cell: str) -> list[str]:
    """The inline code of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def defined(path: Path) -> set[str]:
    """Names that a file defines: functions, constants, classes and their members."""
    tree = ast.parse(path.read_text())
    names = set(_names(tree.body))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for name in _names(node.body)}
    return names


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def snake(text: str) -> str:
    """`SpatialSplit` as spatial_split; what is no letter or digit, as one underscore."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return re.sub(r"\W+", "_", words).strip("_").lower()


@cache
def kernels() -> set[str]:
    products = avx512(X86_64_V4, frozenset({"avx512_bf16", "avx512_vnni"}))
    return {kernel.name for target in (*TARGETS.values(), products) for kernel in target.kernels}


def test_the_document_has_every_section() -> None:
    lengths = {title: len(section) for title, section in sections().items()}
    wanted = ["Ideas", "Specs", "Parts of a Spec", "Rewrites", "Layouts", "Kernels"]
    assert list(lengths) == wanted
    assert min(lengths.values()) >= 5


@pytest.mark.parametrize("row", rows(), ids=lambda row: snake(row[0]))
def test_what_a_row_names_exists(row: list[str]) -> None:
    _, here, test = row
    names = quoted(here)
    assert names
    for name in names:
        path, _, inside = name.partition("::")
        if path.endswith(".py"):
            assert (SOURCE / path).is_file(), path
            assert not inside or inside in defined(SOURCE / path), name
        else:
            assert any(fnmatch(kernel, name) for kernel in kernels()), name
    (name,) = quoted(test)
    if name.endswith(".py"):
        assert (ROOT / "tests" / name).is_file()
    else:
        assert name in defined(Path(__file__)), name


@pytest.mark.parametrize(("section", "word"), [("Specs", "spec"), ("Rewrites", "rewrite")])
def test_every_row_of_the_main_lists_has_a_test(section: str, word: str) -> None:
    for what, _, test in sections()[section]:
        assert quoted(test) == [f"test_{word}_{snake(what)}"], what


# ---- running programs


@pytest.fixture(scope="module")
def machine() -> Target:
    try:
        return find_target("native")
    except TargetError as error:
        pytest.skip(str(error))


@pytest.fixture
def check(machine: Target, tmp_path_factory: pytest.TempPathFactory) -> Check:
    """Runs a program, or the best one of a Spec, and compares; gives the program.

    The Spec has a text that reads back as it.
    """

    def run(what: Impl | Spec) -> Impl:
        if isinstance(what, Spec):
            assert parse(what.expression).expression == what.expression
        impl = solved(what, machine) if isinstance(what, Spec) else what
        compare(impl, tmp_path_factory.mktemp("program"))
        return impl

    return run


def solved(spec: Spec, machine: Target) -> Impl:
    return reconstruct(spec, machine, search(spec, machine).decisions)


def compare(impl: Impl, directory: Path) -> None:
    spec, operation = impl.spec, impl.spec.operation
    random = np.random.default_rng(0)
    arrays = [
        values(operand.name, spec.shape(i), spec.dtypes[i], random)
        for i, operand in enumerate(operation.operands)
    ]
    wanted = expected(spec, arrays)
    placed = [
        lying(array, tensor.placement.layout)
        for array, tensor in zip(arrays, spec.tensors, strict=True)
    ]
    kernel = compile_c(generate(impl).text, impl.target, directory).kernel
    kernel(*(ctypes.c_void_p(buffer.ctypes.data) for buffer, _ in placed))
    for index, value in zip(operation.outputs, wanted, strict=True):
        buffer, where = placed[index]
        rounding = 0.0
        if spec.dtypes[index].is_float:
            rounding = 1e-2 if BF16 in spec.dtypes else 1e-5
        found = buffer[where].astype(np.float64)
        value = np.broadcast_to(value, found.shape)
        np.testing.assert_allclose(found, value, rounding, rounding, err_msg=spec.expression)


def lying(array: Array, layout: Layout) -> tuple[Array, Array]:
    """A buffer that holds the array in a layout, and where each element is."""
    buffer, where = in_layout(array.astype(np.float32), layout)
    placed = np.zeros(buffer.shape, array.dtype)
    placed[where] = array
    return placed, where


def values(name: str, shape: Sequence[int], dtype: DType, random: np.random.Generator) -> Array:
    """Given maxima are no less than any number, and denominators positive."""
    if not dtype.is_float:
        least = 0 if dtype.name.startswith("u") else -9
        return random.integers(least, 10, tuple(shape)).astype(dtype.np)
    low, high = {"max": (2.0, 3.0), "denominator": (0.5, 1.5)}.get(
        name.removesuffix("_parts"), (-1.5, 1.5)
    )
    return random.uniform(low, high, tuple(shape)).astype(dtype.np)


def expected(spec: Spec, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs, in float64."""
    operation = spec.operation
    if operation.name.startswith("Fill"):
        return (np.full(arrays[0].shape, lowest(spec, operation), np.float64),)
    wide = [array.astype(np.float64) for array in arrays]
    read = [w for w, o in zip(wide, operation.operands, strict=True) if not o.written or o.updated]
    found = evaluate(operation, read)
    if operation.accumulates:
        combine = np.maximum if operation.name.startswith("Max") else np.add
        found = tuple(combine(wide[i], f) for i, f in zip(operation.outputs, found, strict=True))
    return found


def lowest(spec: Spec, operation: Operation) -> float:
    if operation.name == "FillZero":
        return 0.0
    kind: Any = spec.dtypes[0].np
    return -np.inf if spec.dtypes[0].is_float else float(np.iinfo(kind).min)


def operations(impl: Impl) -> set[str]:
    return {node.spec.operation.name for node in impl.walk()}


def finish(schedule: Schedule) -> Impl:
    return schedule.solve().impl


def rewrites(impl: Impl, kind: type[Rewrite]) -> list[Any]:
    return [r for r in impl.decisions() if isinstance(r, kind)]


def softmax_part(part: str, rows: int = 3, columns: int = 20, parallel: bool = False) -> Spec:
    one = softmax(PRIMITIVES[part], 2, 1)
    return goal(one, (rows, columns), (F32,) * len(one.operands), parallel=parallel)


# ---- Specs


def test_spec_one_prefix(check: Check) -> None:
    check(goal(one_prefix(2), (1, 5, 20), (F32, F32)))


def test_spec_fill_zero(check: Check) -> None:
    check(goal(fill(2), (5, 20), (F32,)))


def test_spec_fill_neg_inf(check: Check) -> None:
    check(goal(fill(2, "lowest"), (5, 20), (F32,)))


def test_spec_fill_min(check: Check) -> None:
    for dtype in (I8, U16, I32):
        check(goal(fill(1, "lowest"), (37,), (dtype,)))


def test_spec_move(check: Check) -> None:
    check(goal(move(2), (5, 20), (F32, F32)))
    check(goal(move(3, (2, 0, 1)), (3, 4, 20), (F32, F32)))


def test_spec_matmul(check: Check) -> None:
    check(matmul_goal(5, 7, 20))
    check(goal(matmul(2), (2, 2, 3, 5, 8), (F32,) * 3))


def test_spec_matmul_accum(check: Check) -> None:
    check(goal(matmul(0, accumulates=True), (5, 7, 20), (F32,) * 3))


def test_spec_conv(check: Check) -> None:
    check(conv_goal(2, 4, 4, 3, padding=1))


def test_spec_conv_accum(check: Check) -> None:
    check(goal(conv(accumulates=True), (1, 4, 3, 3, 4, 1, 2), (F32,) * 3))


def test_spec_broadcast(check: Check) -> None:
    for dim in (0, 1):
        check(goal(broadcast(2, dim), (5, 20), (F32, F32)))


def test_spec_divide_vec(check: Check) -> None:
    check(goal(divide_vec(2), (5, 20), (F32,) * 3))


def test_spec_divide_vec_scalar(check: Check) -> None:
    for scan in (0, 1):
        check(goal(divide_vec_scalar(2, scan), (5, 20), (F32, F32)))


def test_spec_softmax(check: Check) -> None:
    for scan in (0, 1):
        check(goal(softmax(SOFTMAX, 2, scan), (3, 20), (F32, F32)))


def test_spec_softmax_complete(check: Check) -> None:
    check(softmax_part("SoftmaxComplete"))


def test_spec_max(check: Check) -> None:
    for dim in (0, 1):
        check(goal(reduce(MAX, 2, dim), (5, 20), (F32, F32)))


def test_spec_max_accum(check: Check) -> None:
    check(goal(reduce(MAX, 2, 1, accumulates=True), (5, 20), (F32, F32)))


def test_spec_softmax_denominator(check: Check) -> None:
    check(softmax_part("SoftmaxDenominator"))


def test_spec_softmax_denominator_and_max(check: Check) -> None:
    check(softmax_part("SoftmaxDenominatorAndMax"))


def test_spec_softmax_denominator_and_max_from_parts(check: Check) -> None:
    check(softmax_part("SoftmaxDenominatorAndMaxFromParts"))


def test_spec_softmax_denominator_and_unscaled(check: Check) -> None:
    check(softmax_part("SoftmaxDenominatorAndUnscaled"))


def test_spec_softmax_denominator_and_unscaled_from_max(check: Check) -> None:
    check(softmax_part("SoftmaxDenominatorAndUnscaledFromMax"))


def test_spec_compose(check: Check) -> None:
    check(mlp_goal(4, 8, 16, 8))


# ---- what a Spec knows


def test_known_dtypes(check: Check) -> None:
    for dtype in COMPUTED:
        check(goal(move(1), (16,), (dtype, dtype)))
    for a, b, c in ((BF16, BF16, F32), (U8, I8, I16), (U32, U32, U32)):
        check(matmul_goal(1, 2, 8, a, b, c))


def test_known_memory_limits(check: Check, machine: Target) -> None:
    spec = matmul_goal(16, 8, 32)
    small = with_capacities(machine, (96, 48, 9))
    best = check(solved(spec, small))
    assert all(held <= limit for held, limit in zip(best.peak, small.limits, strict=True))
    assert best.cost > solved(spec, machine).cost
    with pytest.raises(SearchError, match="no program fits the memory"):
        search(spec, with_capacities(machine, (96, 48, 1)))


def test_known_serial_only(check: Check, machine: Target) -> None:
    two = replace(machine, cores=2, fork=10.0)
    spec = softmax_goal(16, 64, parallel=True)
    whole = check(solved(spec, two))
    assert rewrites(whole, Parallel)
    for node in whole.walk():
        if isinstance(node.rewrite, Parallel):
            assert not any(child.impl.spec.parallel for child in node.children)
    assert not rewrites(check(solved(replace(spec, parallel=False), two)), Parallel)


def test_known_of_operands(machine: Target) -> None:
    """Each operand has a dtype, level, layout, contiguity and vector size."""
    width = machine.widths(F32)[0]
    schedule = Schedule.of(matmul_goal(8, 64, 64, F32, BF16, F32), machine)
    schedule = schedule.move("b", "L2", packed=16, dtype="f32").tile(n=16)
    schedule = schedule.move("a", "L2").move("a", "L1").move("c", "L2").move("c", "L1")
    schedule = schedule.move("c", "registers", vector=width)
    assert schedule.at is not None
    a, b, c = schedule.at.tensors
    assert [one.dtype for one in (a, b, c)] == [F32, F32, F32]
    assert [machine.levels[one.level].name for one in (a, b, c)] == ["L1", "L2", "registers"]
    assert b.placement.gapless and a.placement.layout == row_major(2)
    tiled = schedule.to_accumulate().split(k=16).at
    assert tiled is not None
    assert (tiled.placements[0].contiguous, tiled.placements[2].vector) == (1, width)


# ---- rewrites


def test_rewrite_tile_out_serial(check: Check, machine: Target) -> None:
    impl = check(finish(Schedule.of(matmul_goal(8, 8, 32), machine).tile(m=4, n=16)))
    assert impl.decisions()[:2] == [Tile("m", 4), Tile("n", 16)]


def test_rewrite_tile_out_parallel(check: Check, machine: Target) -> None:
    two = replace(machine, cores=2)
    for tiles in ({"m": 4}, {"m": 4, "n": 16}):
        schedule = Schedule.of(matmul_goal(8, 8, 32, parallel=True), two).parallel(**tiles)
        assert check(finish(schedule)).rewrite == Parallel(tuple(tiles.items()))


def test_rewrite_tile_out_boundary_bodies(check: Check, machine: Target) -> None:
    two = replace(machine, cores=2)
    serial = Schedule.of(matmul_goal(6, 4, 32), two).tile(m=4)
    parallel = Schedule.of(matmul_goal(6, 4, 32, parallel=True), two).parallel(m=4)
    for schedule in (serial, parallel):
        impl = check(finish(schedule))
        assert [c.impl.spec.size("m") for c in impl.children] == [4, 2]


def test_rewrite_split(check: Check, machine: Target) -> None:
    schedule = Schedule.of(matmul_goal(8, 10, 32), machine).to_accumulate().split(k=4)
    assert Split("k", 4) in check(finish(schedule)).decisions()


def test_rewrite_split_softmax_denominator_and_max(check: Check, machine: Target) -> None:
    spec = softmax_part("SoftmaxDenominatorAndMax", 5, 40)
    impl = check(finish(Schedule.of(spec, machine).to_accumulate().split(j=16)))
    assert Split("j", 16) in impl.decisions()


def test_rewrite_move_to_main_memory(check: Check, machine: Target) -> None:
    schedule = Schedule.of(matmul_goal(8, 16, 32), machine).move("b", "memory", packed=16)
    assert check(finish(schedule)).rewrite == Move("b", "memory", panels(2, 1, 16))


def test_rewrite_move_to_a_cache(check: Check, machine: Target) -> None:
    schedule = Schedule.of(matmul_goal(8, 16, 32), machine)
    impl = check(finish(schedule.move("a", "L2").move("a", "L1").move("b", "L2", packed=16)))
    assert impl.decisions()[:2] == [Move("a", "L2"), Move("a", "L1")]


def test_rewrite_move_to_registers(check: Check, machine: Target) -> None:
    held = rewrites(check(matmul_goal(12, 96, 64)), Move)
    assert {m.level for m in held} == {"L2", "L1", "registers"}
    assert max(m.vector for m in held) == machine.widths(F32)[0]


def test_rewrite_move_with_a_cast(check: Check, machine: Target) -> None:
    schedule = Schedule.of(matmul_goal(8, 16, 32, BF16, BF16, F32), machine)
    check(finish(schedule.move("a", "L2", dtype="f32").move("b", "L2", dtype="f32")))


def test_rewrite_to_accum(check: Check, machine: Target) -> None:
    impl = check(finish(Schedule.of(matmul_goal(8, 8, 16), machine).to_accumulate()))
    assert [c.impl.spec.operation.name for c in impl.children] == ["FillZero", "MatmulAccum"]


def test_rewrite_bufferize(check: Check, machine: Target) -> None:
    schedule = Schedule.of(mlp_goal(4, 8, 16, 8), machine).bufferize(0, "L2")
    assert check(finish(schedule)).rewrite == Bufferize(0, "L2", row_major(2))


def test_rewrite_spatial_split(check: Check, machine: Target) -> None:
    schedule = Schedule.of(conv_goal(), machine).to_accumulate().tile(y=1).spatial_split()
    assert {"ConvAccum", "MatmulAccum"} <= operations(check(finish(schedule)))


def decomposed(scheme: str, spec: Spec, machine: Target) -> Impl:
    impl = finish(Schedule.of(spec, machine).decompose(scheme, "L1"))
    assert impl.rewrite == Decompose(scheme, "L1")
    return impl


def test_rewrite_broadcast_first(check: Check, machine: Target) -> None:
    spec = goal(divide_vec_scalar(2, 1), (5, 32), (F32, F32))
    assert {"Broadcast", "Divide"} <= operations(
        check(decomposed("broadcast_first", spec, machine))
    )


def test_rewrite_to_softmax_parts(check: Check, machine: Target) -> None:
    impl = check(decomposed("to_softmax_parts", softmax_goal(5, 32), machine))
    assert {"SoftmaxDenominatorAndUnscaled", "DivideVecScalar"} <= operations(impl)


def test_rewrite_to_softmax_parts_recompute(check: Check, machine: Target) -> None:
    impl = check(decomposed("to_softmax_parts_recompute", softmax_goal(5, 32), machine))
    assert {"SoftmaxDenominatorAndMax", "SoftmaxComplete"} <= operations(impl)


def test_rewrite_to_max_and_denominator(check: Check, machine: Target) -> None:
    spec = softmax_part("SoftmaxDenominatorAndMax")
    impl = check(decomposed("to_max_and_denominator", spec, machine))
    assert {"Max", "SoftmaxDenominator"} <= operations(impl)


def test_rewrite_to_max_and_unscaled(check: Check, machine: Target) -> None:
    spec = softmax_part("SoftmaxDenominatorAndUnscaled")
    impl = check(decomposed("to_max_and_unscaled", spec, machine))
    assert {"Max", "SoftmaxDenominatorAndUnscaledFromMax"} <= operations(impl)


def test_rewrite_parallel_split_softmax_denominator_and_max(check: Check, machine: Target) -> None:
    two = replace(machine, cores=2)
    spec = softmax_part("SoftmaxDenominatorAndMax", 1, 64, parallel=True)
    impl = check(finish(Schedule.of(spec, two).parallel_split("j", 4)))
    assert "SoftmaxDenominatorAndMaxFromParts" in operations(impl)


def test_rewrite_select(check: Check) -> None:
    impl = check(matmul_goal(4, 4, 16))
    leaves = [node for node in impl.walk() if not node.children]
    assert all(isinstance(leaf.rewrite, Select) for leaf in leaves)


# ---- layouts


@pytest.mark.parametrize(
    "layout",
    [row_major(2), column_major(2), panels(2, 1, 16), panels(2, 0, 8), odd_even(2, 32)],
    ids=str,
)
def test_layouts(layout: Layout, check: Check) -> None:
    check(goal(move(2), (16, 64), (F32, F32), layouts=(None, layout)))
    check(goal(move(2), (16, 64), (F32, F32), layouts=(layout, None)))


ODD_EVEN: dict[str, tuple[Operation, tuple[int, ...], tuple[DType, ...], dict[int, Layout]]] = {
    "into": (move(2), (3, 52), (F32, F32), {1: odd_even(2, 8)}),
    "out": (move(2), (3, 28), (I8, I8), {0: odd_even(2, 6)}),
    "turned": (move(2, (1, 0)), (8, 24), (U16, U16), {0: odd_even(2, 8)}),
    "along-one": (move(2), (1, 32), (F32, F32), {1: Layout((1, 0), (0, 32), odd_even=True)}),
    "between": (move(2), (2, 24), (F32, F32), {0: odd_even(2, 4), 1: odd_even(2, 6)}),
    "widened": (move(2), (4, 40), (BF16, F32), {0: odd_even(2, 16)}),
    "narrowed": (move(2), (4, 40), (F32, BF16), {1: odd_even(2, 32)}),
    "matmul": (
        matmul(), (2, 6, 12), (F32,) * 3,
        {0: odd_even(2, 8), 1: odd_even(2, 4), 2: odd_even(2, 8)},
    ),
    "sum": (reduce(SUM, 2, 1), (3, 16), (F32, F32), {0: odd_even(2, 8)}),
    "conv": (conv(), (1, 2, 1, 2, 3, 1, 2), (F32,) * 3, {0: odd_even(4, 4)}),
}  # fmt: skip
"""Operands in odd-even blocks that no other kernel takes."""


@pytest.mark.parametrize("name", some(ODD_EVEN, 4))
@pytest.mark.parametrize("target", ["avx2", "neon"])
def test_layout_odd_even(name: str, target: str, tmp_path: Path) -> None:
    operation, sizes, dtypes, blocks = ODD_EVEN[name]
    layouts = [blocks.get(operand) for operand in range(len(dtypes))]
    impl = solved(goal(operation, sizes, dtypes, layouts=layouts), find_target(target))
    assert impl.complete
    if runs_here(impl.target):
        compare(impl, tmp_path)


def test_layout_nhwc(check: Check) -> None:
    check(goal(conv(channels_last=True), (1, 4, 2, 2, 3, 1, 2), (F32,) * 3))
    turned = Layout((0, 2, 3, 1))
    check(goal(conv(), (1, 4, 2, 2, 3, 1, 2), (F32,) * 3, layouts=(turned, None, turned)))
