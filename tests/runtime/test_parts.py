"""Verification in parts: what it finds, and how much memory it takes."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from tests.goals import (
    attention_goal,
    conv_goal,
    layer_norm_goal,
    matmul_goal,
    mlp_goal,
    primitive_goals,
    softmax_goal,
)
from tests.runtime.numpy_kernels import single
from tests.waiting import PATIENCE_S

import morello
from morello.base.errors import SpecError, VerificationError
from morello.frontends.text import parse
from morello.ir.dtype import BF16, F32, I32
from morello.ir.primitives import MAX, matmul, reduce
from morello.ir.rounding import Bounds
from morello.ir.spec import Spec, goal
from morello.runtime.argument import Array, arguments, blocks
from morello.runtime.packing import random_inputs
from morello.runtime.parts import ELEMENT_BYTES, ENOUGH, parts
from morello.runtime.tolerance import expected, expected_outputs
from morello.runtime.verify import CheckedOutputs, check_verifiable, verify

SPECS = [
    *primitive_goals(),
    mlp_goal(),
    layer_norm_goal(),
    attention_goal(),
    conv_goal(padding=1),
    parse("x = f32[8,9]; x @ transpose(x)"),
    parse(
        "relu(conv(f32[3,4,7,7], f32[5,4,3,3], stride=2)"
        " + expand_dims(expand_dims(f32[5], axis=1), axis=2))"
    ),
    parse("softmax(f32[5,6,7], axis=1)"),
    parse("f32[6,7] - f32[7]"),
    parse("f32[6,7]{0,1} @ f32[7,10] -> bf16[6,10]{0,1}"),
]


def smallest(spec: Spec) -> int:
    """The least room that there are parts for, but for a few bytes."""
    low, high = 0, 1 << 40
    while high - low > ELEMENT_BYTES:
        middle = (low + high) // 2
        try:
            parts(spec, middle)
        except SpecError:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_parts_have_the_reference_of_the_whole(spec: Spec) -> None:
    random = np.random.default_rng(0)
    *taken, output = arguments(spec)
    inputs = [argument.random(random) for argument in taken]
    whole, written = expected(spec, inputs), spec.operation.output
    pieces = parts(spec, smallest(spec))
    value, covered = np.full(output.shape, np.nan), np.zeros(output.shape, int)
    for piece in pieces:
        wanted = expected(spec, inputs, piece)
        place = piece.of(spec, written, value)
        assert wanted.value.shape == wanted.bound.shape == place.shape
        place[...] = wanted.value
        piece.of(spec, written, covered)[...] += 1
    assert (covered == 1).all()
    np.testing.assert_allclose(value, whole.value.astype(np.float64), rtol=1e-12, atol=1e-12)


def test_most_specs_can_be_cut_finely() -> None:
    counts = {spec.expression: len(parts(spec, smallest(spec))) for spec in SPECS}
    assert sum(count > 1 for count in counts.values()) > len(SPECS) - 4
    assert len(parts(matmul_goal(64, 8, 64), smallest(matmul_goal(64, 8, 64)))) == 64 * 64
    assert parts(matmul_goal(64, 8, 64), 1 << 30) == parts(matmul_goal(64, 8, 64), 1 << 20)


def test_references_are_small_whatever_is_free() -> None:
    pieces = parts(attention_goal(4096, 4096, 32), 1 << 40)
    assert len(pieces) == 8
    assert parts(attention_goal(4096, 4096, 32), ENOUGH) == pieces


def test_parts_are_not_cut_that_would_stay_as_large() -> None:
    spec = parse("conv(f32[1,64,999,999], f32[2,64,3,3])")  # each filter needs all of the image
    assert len(parts(spec, 1 << 40)) == 1
    assert len(parts(spec, smallest(spec))) == 2


def test_each_part_is_computed_once_if_all_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, asked = matmul_goal(8, 400, 8), []

    def counted(*arguments: Any) -> Bounds:
        asked.append(arguments)
        return expected_outputs(*arguments)

    monkeypatch.setattr("morello.runtime.verify.expected_outputs", counted)
    monkeypatch.setattr("morello.runtime.parts.ENOUGH", 4 * smallest(spec))
    pieces = len(parts(spec, 1 << 20))
    assert pieces > 2
    verify(single(spec), spec, room=1 << 20)
    assert len(asked) == 2 * pieces  # of each trial


@pytest.mark.parametrize("spec", [s for s in SPECS if not s.operation.fills], ids=str)
def test_right_kernels_pass_in_parts(spec: Spec) -> None:
    right = single(spec)

    def kernel(*inputs: Array, out: Array) -> None:
        right(*spec.per_operand(inputs), out=out)

    assert verify(kernel, spec, room=smallest(spec)) < 1e-2


def test_a_fault_in_any_part_is_found() -> None:
    spec = matmul_goal(40, 8, 50)
    right, runs = single(spec), []

    def one_off(a: Array, b: Array, *, out: Array) -> None:
        runs.append(a)
        right(a, b, out=out)
        out[33, 44] += 1

    with pytest.raises(VerificationError, match=r"c\[33, 44\] is .*; 1 of \d+ elements are wrong"):
        verify(one_off, spec, room=smallest(spec) * 4)
    assert len(runs) == 1


def test_references_that_are_kept_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = matmul_goal(40, 8, 50)
    monkeypatch.setattr("morello.runtime.parts.ENOUGH", 4 * smallest(spec))
    assert len(parts(spec, 1 << 40)) > 2
    inputs = random_inputs(spec)
    outputs = CheckedOutputs(spec, inputs.plain)
    outputs.clear()
    (out,) = outputs.taken
    a, b = inputs.plain
    np.matmul(a, b, out=out)
    outputs.check("")
    out[33, 44] += 1
    with pytest.raises(VerificationError, match=r"c\[33, 44\] is .*; 1 of \d+ elements are wrong"):
        outputs.check("")


def test_a_maximum_is_checked_in_parts() -> None:
    spec = goal(reduce(MAX, 2, 1), (30, 100), (F32, F32))

    def without_last(x: Array, *, out: Array) -> None:
        out[...] = x[:, :-1].max(axis=1)

    assert verify(single(spec), spec, room=smallest(spec)) == 0
    with pytest.raises(VerificationError):
        verify(without_last, spec, room=smallest(spec))


LARGE = [
    parse("relu(f32[150,250])"),
    parse("gelu(f32[150,250])"),
    parse("sum(f32[150,250], axis=0)"),
    parse("max(f32[150,250])"),
    parse("layer_norm(f32[150,250], f32[250], f32[250])"),
    parse("transpose(f32[150,250])"),
    parse("conv(f32[1,8,25,25], f32[16,8,3,3], padding=1)"),
    parse("conv(f32[1,16,48,48], f32[3,16,9,9])"),
    parse("conv(f32[1,48,48,16], f32[5,5,1,16], groups=16, layout=NHWC)"),
    parse("max_pool(f32[1,8,60,60], window=7, padding=3)"),
    parse("avg_pool(f32[1,8,60,60], window=7)"),
    parse("winograd_input(f32[1,50,50,8], layout=NHWC)"),
    softmax_goal(150, 250),
    goal(matmul(), (100, 120, 150), (BF16, BF16, F32)),
    goal(matmul(), (100, 120, 150), (I32, I32, I32)),
    attention_goal(100, 120, 32),
]


@pytest.mark.parametrize("spec", LARGE, ids=lambda spec: spec.expression)
def test_no_more_memory_is_taken_than_is_counted(spec: Spec) -> None:
    """NumPy tells `tracemalloc` of its arrays."""

    def nothing(*inputs: Array, out: Array) -> None:
        raise KeyboardInterrupt

    room = max(1 << 20, smallest(spec))
    arrays = sum(argument.extent for argument in arguments(spec))
    tracemalloc.start()
    try:
        verify(nothing, spec, room=room)
    except KeyboardInterrupt:
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    drawn = 40 * max(argument.size for argument in arguments(spec))  # fewer than a block of them
    assert peak < arrays + max(room, drawn) + (1 << 18)


def test_what_takes_too_much_memory_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("morello.runtime.verify.allocatable", lambda: 3 << 20)
    for expression, said in (
        ("relu(f32[1000,1000])", r"takes 0\.0 GiB of memory for the operands alone"),
        ("sum(f32[300000], axis=0)", r"takes 0\.0 GiB of memory beside its operands"),
    ):
        with pytest.raises(SpecError, match=said):
            check_verifiable(parse(expression))
        with pytest.raises(SpecError, match=r"leave out the verification \(verify=False"):
            morello.compile(expression)
    assert morello.compile("relu(f32[1000,1000])", verify=False).max_error is None


def test_too_little_memory_gets_a_sentence() -> None:
    def exhausted(x: Array, *, out: Array) -> None:
        raise MemoryError

    with pytest.raises(SpecError, match="too little memory to verify it"):
        verify(exhausted, parse("relu(f32[4])"))


LIMITED = """
import resource, psutil, morello
morello.compile("relu(f32[8,8])")  # loads all that is needed
used = psutil.Process().memory_info().vms
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
kernel = morello.compile("relu(f32[20000000])")
assert kernel.max_error == 0
"""


def test_large_operands_are_verified_within_a_limit_of_memory() -> None:
    """160 MB of operands are verified in a gibibyte; the whole reference takes four."""
    subprocess.run([sys.executable, "-c", LIMITED], check=True, timeout=PATIENCE_S)


def test_blocks_are_the_array() -> None:
    array = np.zeros((3, 5_000_000), np.uint8)
    for block in blocks(array):
        assert block.size <= 1 << 22
        block += 1
    assert (array == 1).all()
