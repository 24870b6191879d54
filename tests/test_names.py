"""Names of tensors: kept from the text to the call, and no part of a Spec's identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.base.errors import CallError, RewriteError, SpecError
from morello.cli.parser import main
from morello.codegen import generate
from morello.impl import saved
from morello.impl.printing import tree
from morello.impl.tree import Impl
from morello.memo import Table
from morello.rewrites import Move

PRODUCT = "x = f32[8,64]; w = f32[64,32]; x @ w"
RESIDUAL = "x = f32[4,8]; w = f32[8,8]; x @ w + x"


@pytest.fixture(scope="module")
def residual() -> Impl:
    impl, _ = morello.implement(RESIDUAL)
    return impl


def array(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def test_a_single_operation_keeps_the_names_of_its_operands() -> None:
    kernel = morello.compile(PRODUCT, weights="constant")
    x, w = array(8, 64), array(64, 32)
    np.testing.assert_allclose(kernel(x, kernel.pack("w", w)), x @ w, rtol=1e-4, atol=1e-5)
    assert [argument.name for argument in kernel.arguments] == ["x", "w", "c"]
    assert kernel.spec.expression.startswith("x = f32[8,64]; w = f32[64,32]")
    with pytest.raises(SpecError, match="has no input 'b'; it has x, w"):
        kernel.pack("b", w)
    with pytest.raises(CallError, match=r"call kernel\(x, w, out=None\)"):
        kernel(x)


def test_the_c_and_what_is_printed_have_the_names() -> None:
    impl, _ = morello.implement(PRODUCT, target="avx2")
    source = generate(impl)
    parameters = "(const float *restrict x, const float *restrict w, float *restrict c)"
    assert f"void kernel{parameters} {{" in source.text
    assert parameters.replace("restrict", "MORELLO_RESTRICT") in source.header
    assert "x: f32[8,64], w: f32[64,32], c: f32[8,32]." in source.header
    title, _, *lines = tree(impl).splitlines()
    assert title == "Matmul for avx2: x f32[8,64], w f32[64,32], c f32[8,32]"
    assert any(line.strip().startswith("c = 0") for line in lines)


def test_schedules_go_by_the_names() -> None:
    schedule = morello.schedule(PRODUCT, target="avx2").to_accumulate().move("w", "L2")
    assert schedule.impl.children[-1].impl.rewrite == Move("b", "L2")
    assert "w -> L2" in str(schedule) and "x in" in str(schedule)
    fused = morello.schedule("x = f32[4,8]; w = f32[8,4]; relu(x @ w)", target="avx2")
    assert fused.move("w", "L2").impl.rewrite == Move("b", "L2")
    with pytest.raises(RewriteError, match="no operand 'v'"):
        fused.move("v", "L2")


def test_saved_schedules_keep_the_names(residual: Impl) -> None:
    read = saved.load(json.loads(json.dumps(saved.save(residual))), residual.target)
    assert read == residual and read.spec.names == ("x", "w", "x", "out")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["x", "w", "out"], "should be one per operand"),
        (["x", "w", "x", "x"], "should be one per operand"),
        (["x", "w", "x;", "out"], "no operand is called 'x;'"),
        (["x", "x", "x", "out"], "'x' names two different arrays"),
        ([1], "should be texts"),
    ],
)
def test_names_in_a_file_that_cannot_be(names: list[Any], said: str, residual: Impl) -> None:
    data = json.loads(json.dumps(saved.save(residual)))
    with pytest.raises(RewriteError, match=said):
        saved.load(data | {"names": names}, residual.target)


def test_a_table_has_one_answer_for_all_names(tmp_path: Path) -> None:
    with Table(tmp_path / "specs.db") as table:
        morello.implement("f32[8,16] - f32[16]", target="avx2", table=table)
        impl, statistics = morello.implement(
            "x = f32[8,16]; v = f32[16]; x - v", target="avx2", table=table
        )
        assert statistics is not None and statistics.specs == 0
        assert impl.spec.names == ("x", "v", "out")
        assert "const float *restrict v" in generate(impl).text


# ---- one array in several roles


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (RESIDUAL, lambda x, w: x @ w + x),
        ("x = f32[4,8]; x @ transpose(x)", lambda x: x @ x.T),
        ("x = f32[4,4]; x @ x", lambda x: x @ x),
        ("x = f32[8,8]; x * transpose(x)", lambda x: x * x.T),
        ("x = f32[8]; x + x", lambda x: x + x),
        (
            "x = f32[4,4]; y = relu(x); y @ transpose(y)",
            lambda x: np.maximum(x, 0) @ np.maximum(x, 0).T,
        ),
        ("x = f32[1,3,5,5]; conv(x, f32[3,3,1,1]) + x", None),
        ("x = f32[2,2,3,3]; conv(x, transpose(x, order=[1,0,2,3]))", None),
    ],
)
def test_an_array_that_is_read_in_two_ways_is_given_once(text: str, function: Any) -> None:
    kernel = morello.compile(text)
    assert kernel.max_error is not None
    *taken, _ = kernel.arguments
    assert len({argument.name for argument in taken}) == len(taken)
    if function is not None:
        inputs = [array(*argument.shape) for argument in taken]
        np.testing.assert_allclose(kernel(*inputs), function(*inputs), rtol=1e-4, atol=1e-4)


def test_softmax_of_a_tensor_with_itself() -> None:
    kernel = morello.compile("x = f32[4,4]; softmax(x @ transpose(x)) @ x", threads=2, budget=1.0)
    x = array(4, 4)
    scores = np.exp(x @ x.T - (x @ x.T).max(axis=1, keepdims=True))
    wanted = scores / scores.sum(axis=1, keepdims=True) @ x
    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-4, atol=1e-5)
    assert [argument.name for argument in kernel.arguments] == ["x", "out"]
    assert kernel.source.text.count("const float *restrict x,") == 1


def test_an_array_in_two_roles_keeps_its_layout() -> None:
    """An array that is a weight in one role and an input in another is not packed."""
    with pytest.raises(SpecError, match="no weights"):
        morello.compile("x = f32[4,4]; x @ transpose(x)", weights="constant")
    kernel = morello.compile(RESIDUAL, weights="constant")
    assert kernel.spec.placements[0] == kernel.spec.placements[2]


def test_numpy_races_with_arrays_in_two_roles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", RESIDUAL, "--vs", "numpy", "--seconds", "0.05", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spec"] == RESIDUAL


def test_values_are_packed_into_another_order() -> None:
    """A block of neighbours at a time, the last of which is shorter."""
    kernel = morello.compile("relu(f32[70,150]{0,1})")
    x = array(70, 150)
    result = kernel.pack(kernel.arguments[0].name, x)
    assert result.strides == (4, 280)
    np.testing.assert_array_equal(result, x)
