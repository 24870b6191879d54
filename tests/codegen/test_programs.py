"""The C of random programs, and of the cheapest ones, computes what their Specs say."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.codegen.programs import random_program, random_spec
from tests.codegen.saved import saved_programs
from tests.sampling import some
from tests.support import (
    GUARD,
    call,
    compile_c,
    guarded,
    in_layout,
    random_values,
    reference,
    skip_unless_it_runs,
)

from morello.codegen import Source, generate
from morello.codegen.emit import EMITTERS
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl, grow, replay
from morello.ir.dtype import F32
from morello.ir.layout import panels
from morello.ir.spec import matmul_spec
from morello.native.toolchain import find_compiler
from morello.rewrites import REWRITES, Move, Select
from morello.scheduling import Schedule
from morello.search.session import search
from morello.targets import TARGETS
from morello.targets.helpers.collect import used_in
from morello.targets.target import Target

RANDOM_PROGRAMS = 120
BEST_PROGRAMS = 2
SAVED_PROGRAMS = (
    "f32[7,13] @ f32[13,11]",
    "f32[64,96] @ f32[96,1]",
    "f32[3,8,16] @ f32[3,16,8]",
    "f32[32,64]{0,1} @ f32[64,32]",
    "f32[32,64] @ f32[64,64]{0,1:T(16,1)}",
)

targets = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def one_file(sources: list[Source], target: Target) -> str:
    """All functions in one translation unit, with what they share stated once."""
    shared = [f"#include <{header}>" for header in ("stdint.h", *target.headers.values())]
    used = used_in([source.text for source in sources], target.helpers)
    shared += dict.fromkeys(target.helpers[name] for name in used)
    functions = []
    for source in sources:
        text = source.text
        for part in shared:
            text = text.replace(part, "")
        functions.append(text)
    return "\n".join([*shared, *functions])


def check(function: object, impl: Impl) -> None:
    """The function computes the Spec, writes all of it and nothing else."""
    spec = impl.spec
    inputs = [random_values(spec.shape(i), seed=i) for i in range(2)]
    packed = [
        in_layout(x, t.placement.layout)[0] for x, t in zip(inputs, spec.tensors[:2], strict=True)
    ]
    untouched = [x.copy() for x in packed]
    shape = spec.shape(2)
    padded, where = in_layout(np.zeros(shape, np.float32), spec.placements[2].layout)
    padded[:] = GUARD
    padded[where] = np.nan
    whole, output = guarded(padded)
    wanted = whole.astype(np.float64)
    wanted[64 : 64 + len(padded)][where] = reference(spec, *inputs)
    call(function, *packed, output)
    what = f"{spec.expression}\n" + "\n".join(str(r) for r in impl.decisions())
    np.testing.assert_allclose(whole, wanted, rtol=1e-4, atol=1e-4, err_msg=what)
    for before, after in zip(untouched, packed, strict=True):
        np.testing.assert_array_equal(before, after, err_msg=what)


def check_all(impls: list[Impl], target: Target, directory: Path) -> None:
    sources = [generate(impl, f"kernel{i}") for i, impl in enumerate(impls)]
    library = compile_c(one_file(sources, target), target, directory)
    for source, impl in zip(sources, impls, strict=True):
        check(getattr(library, source.name), impl)


def test_emitters_are_of_rewrites_that_emit_code() -> None:
    silent = {kind for kind in REWRITES.values() if vars(kind).get("silent") is True}
    assert set(EMITTERS) <= set(REWRITES.values()) - silent


@pytest.mark.parametrize("target", some(TARGETS.values(), 2), ids=lambda one: one.name)
def test_random_programs(target: Target, tmp_path: Path) -> None:
    skip_unless_it_runs(target)
    random = Random(0)
    impls = [random_program(random_spec(random), target, random) for _ in range(RANDOM_PROGRAMS)]
    check_all(impls, target, tmp_path)
    used = {r.kernel for impl in impls for r in impl.decisions() if isinstance(r, Select)}
    shuffles = ("transpose", "interleave", "deinterleave")
    known = {
        kernel.name
        for operation in ("MatmulAccum", "Move", "FillZero")
        for kernel in target.kernels_of(operation)
        if {*kernel.dtypes} == {F32}
        and not kernel.name.startswith(shuffles)
        and not kernel.streams  # takes a number of rows that random programs hardly ever have
    }
    assert len(known - used) < len(known) / 4, known - used


@targets
def test_best_programs(target: Target, tmp_path: Path) -> None:
    skip_unless_it_runs(target)
    random = Random(1)
    specs = [matmul_spec((1, 1), (1, 1)), matmul_spec((2, 37), (37, 16))]
    specs += [random_spec(random, whole_panels=True) for _ in range(BEST_PROGRAMS)]
    impls = [reconstruct(s, target, search(s, target).decisions) for s in specs]
    saved = saved_programs(target.name)
    impls += [saved[text] for text in SAVED_PROGRAMS]
    check_all(impls, target, tmp_path)


@targets
@pytest.mark.parametrize("kernel", ["block_sums_ahead_f32", "block_sums_l2_f32"])
def test_few_rows_are_summed_in_panels(target: Target, kernel: str, tmp_path: Path) -> None:
    skip_unless_it_runs(target)
    width = target.widths(F32)[0]
    schedule = Schedule.of(matmul_spec((6, 16), (16, 5 * width)), target)
    schedule = schedule.move("c", "L2", packed=width).to_accumulate().split(k=8)
    schedule = schedule.move("a", "L2").move("a", "L1").move("b", "L2").select(kernel).solve()
    check_all([schedule.impl], target, tmp_path)


@targets
def test_chains_of_loops_and_their_merged_loops_compute_the_same(
    target: Target, tmp_path: Path
) -> None:
    skip_unless_it_runs(target)
    spec = matmul_spec((24, 32), (32, 48))
    decisions = search(spec, target).decisions
    merged, chains = reconstruct(spec, target, decisions), replay(spec, target, decisions)
    assert len(merged.decisions()) < len(chains.decisions())
    check_all([merged, chains], target, tmp_path)


@targets
def test_a_source_stands_alone(target: Target, tmp_path: Path) -> None:
    """It states all that it needs, and its header declares it, to C++ as well."""
    skip_unless_it_runs(target)
    spec = matmul_spec((9, 8), (8, 20))
    impl = reconstruct(spec, target, search(spec, target).decisions)
    source = generate(impl, "matmul_17", schedule="to test it\nin two lines")
    assert "in two lines" in source.text
    check(compile_c(source.text, target, tmp_path).matmul_17, impl)
    (tmp_path / "matmul_17.h").write_text(source.header)
    with_header = f'#include "matmul_17.h"\n#include "matmul_17.h"\n{source.text}'
    check(compile_c(with_header, target, tmp_path).matmul_17, impl)
    compiler = find_compiler().command
    user = "int main() { float x[1000] = {1}; matmul_17(x, x, x); }"
    (tmp_path / "user.cpp").write_text(f'#include "matmul_17.h"\n{user}\n')
    for language in ("c", "c++"):
        output = ["-o", str(tmp_path / "user.o")]
        command = [*compiler, "-x", language, "-c", *output, str(tmp_path / "user.cpp")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@targets
def test_large_workspaces_do_not_live_on_the_stack(target: Target, tmp_path: Path) -> None:
    skip_unless_it_runs(target)
    spec = matmul_spec((2, 100), (100, 96))
    copy = Move("b", target.levels[1].name, panels(2, 1, 16))
    whole, _ = grow(copy, spec, target, target.limits)
    filled = [
        replace(child, impl=random_program(child.impl.spec, target, Random(0)))
        for child in whole.children
    ]
    impl = replace(whole, children=tuple(filled))
    source = generate(impl)
    assert "static _Thread_local _Alignas(64) unsigned char workspace[38400]" in source.text
    check(compile_c(source.text, target, tmp_path).kernel, impl)
