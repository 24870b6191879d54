"""Saving Impls, and reading them back."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frozen import FROZEN, begin, complete, to_the_kernel
from tests.goals import layer_norm_goal, matmul_goal, mlp_goal, primitive_goals, slid
from tests.rewrites.rewritten import FOUR, SEARCH_ONLY, begun, kinds
from tests.rewrites.rewritten import solved as rewritten
from tests.support import with_capacities

from morello.api import implement
from morello.base.choices import STREAMED
from morello.base.errors import MorelloError, RewriteError, TargetError
from morello.frontends import parse
from morello.impl.operations import operation_data, read_operation
from morello.impl.saved import load, save
from morello.impl.tree import Impl
from morello.ir.dtype import BF16, F32
from morello.ir.functions import Function
from morello.ir.operation import Operation, accumulating, has_accumulating_form, reordered
from morello.ir.primitives import (
    MAX,
    SOFTMAX_PARTS,
    SUM,
    Windows,
    broadcast,
    contraction,
    conv,
    divide_vec_scalar,
    elementwise,
    fill,
    matmul,
    one_prefix,
    pack,
    reduce,
    softmax,
    unbias,
)
from morello.ir.spec import goal
from morello.rewrites import REWRITES
from morello.scheduling import Schedule
from morello.targets import find_target
from morello.targets.target import Target

DATA: dict[str, Any] = json.loads(json.dumps(save(complete().impl)))
FUSED: dict[str, Any] = json.loads(json.dumps(save(rewritten("fused").impl)))


def through_json(impl: Impl) -> Any:
    return json.loads(json.dumps(save(impl), allow_nan=False))


def test_costs_of_operands_that_are_evicted_stay_so(monkeypatch: pytest.MonkeyPatch) -> None:
    target = replace(find_target("avx512"), streaming={"memory.per_line": 3.0})
    monkeypatch.setattr("morello.impl.saved.find_target", lambda _: target)
    kept, evicted = (
        implement("f32[64] @ f32[64,128]", target=target, weights=weights)[0]
        for weights in ("constant", STREAMED)
    )
    assert kept.cost < evicted.cost
    for impl in (kept, evicted):
        assert load(through_json(impl)) == impl


def test_saved_programs_read_back() -> None:
    impl = complete().impl
    assert load(through_json(impl), FROZEN) == impl


@settings(max_examples=3)
@given(st.tuples(*(st.integers(1, 9) for _ in range(3))), st.sampled_from(["{1,0}", "{0,1}"]))
def test_searched_programs_read_back(sizes: tuple[int, ...], layout: str) -> None:
    m, k, n = sizes
    impl = solved(f"f32[{m},{k}]{layout} @ f32[{k},{n}]")
    assert load(through_json(impl)) == impl


def test_batched_programs_read_back() -> None:
    impl = solved("f32[2,4,2]{1,2,0} @ f32[2,2,16]")
    assert load(through_json(impl)) == impl


def solved(text: str) -> Impl:
    return Schedule.of(parse(text), find_target("avx2")).solve().impl


def test_parts_of_programs_read_back() -> None:
    """Whose operands lie in caches, registers, panels, and with gaps."""
    for impl in complete().impl.walk():
        assert load(through_json(impl), FROZEN) == impl


@pytest.mark.parametrize("name", begun())
def test_every_rewrite_reads_back(name: str) -> None:
    impl = rewritten(name).impl
    assert load(through_json(impl), impl.target) == impl
    assert load(through_json(impl), replace(impl.target, cores=7)) == impl


def test_no_rewrite_is_left_out() -> None:
    used = {type(r).__name__ for name in begun() for r in rewritten(name).impl.decisions()}
    assert used == kinds() - SEARCH_ONLY
    assert set(REWRITES) == {re.sub(r"(?<=.)(?=[A-Z])", "_", kind).lower() for kind in used}


def test_narrow_numbers_and_gaps_read_back() -> None:
    narrow = matmul_goal(2, 4, 16, BF16, BF16, F32)
    strided = goal(matmul(), (2, 4, 16), (F32,) * 3, strides=((10, 1), None, (64, 1)))
    for spec in (narrow, strided):
        impl = Schedule.of(spec, FOUR).solve().impl
        assert load(through_json(impl), FOUR) == impl


NO_NUMBERS = float("inf"), -float("inf"), float("nan")


def operations() -> list[Operation]:
    found = [spec.operation for spec in (*primitive_goals(), mlp_goal(), layer_norm_goal())]
    found += [fill(4, "lowest"), reduce(MAX, 1, 0), reduce(SUM, 3, 1), broadcast(3, 0)]
    found += [one_prefix(2), divide_vec_scalar(1, 0), pack(2, 1, 4), pack(3, 0, 2, True)]
    found += [softmax(part, rank, 0) for part in SOFTMAX_PARTS.values() for rank in (1, 3)]
    found += [conv(slid((2, 1), (1, 3))), conv(channels_last=True)]
    found += [conv((Windows(3, 1, -2, 2), Windows(1, 0, 2))), conv((Windows(2, 1),))]
    found += [
        elementwise(Function("multiply"), ((1,), (0, 1)), 2),
        elementwise(Function("divide", 8.0), ((0, 1),), 2),
        elementwise(Function("add", 1e-05), ((0,),), 1),
        elementwise(Function("subtract", 0.0), ((0,),), 1),
        *(elementwise(Function("where", n), ((0,), (0,)), 1) for n in NO_NUMBERS),
        elementwise(Function("gelu_tanh"), ((0, 1, 2, 3),), 4),
        elementwise(Function("cast"), ((1,),), 3),
    ]
    transposed = [("b", "k", "m"), ("b", "k", "n"), ("n", "m", "b")]
    found.append(reordered(matmul(1), transposed))
    found += [
        contraction(("q", "h", "d"), ("k", "h", "d"), ("h", "q", "k")),
        contraction(("a", "k", "b"), ("b", "n", "k"), ("n", "a")),
        contraction(("k",), ("k",), ("one",)),
        contraction(("u", "m", "k"), ("b", "k", "n"), ("b", "m", "n")),
        unbias(matmul(1)),
    ]
    return found + [accumulating(one) for one in found if has_accumulating_form(one)]


@pytest.mark.parametrize("one", operations(), ids=str)
def test_every_operation_reads_back_as_itself(one: Operation) -> None:
    assert read_operation(json.loads(json.dumps(operation_data(one))), "it") is one


def test_what_is_saved(golden: Callable[[str, str], None]) -> None:
    golden("saved.json", json.dumps(save(complete().impl), indent=1) + "\n")


def test_unfinished_programs_are_not_saved() -> None:
    with pytest.raises(RewriteError, match="fill its holes"):
        save(to_the_kernel().impl)


def test_the_target_is_found_by_name() -> None:
    with pytest.raises(TargetError, match="unknown target 'frozen'"):
        load(DATA)


def test_a_smaller_machine_is_told() -> None:
    with pytest.raises(RewriteError) as caught:
        load(DATA, with_capacities(FROZEN, (100, 512, 32)))
    assert "needs 512 lines of L2, of which 100 are left" in str(caught.value)
    assert "saved for frozen with 4096 of L2, 512 of L1, 32 of registers" in str(caught.value)


def test_a_machine_without_these_kernels_is_told() -> None:
    with pytest.raises(RewriteError, match="search again for avx2"):
        load(DATA, find_target("avx2"))


def edit(*path: Any, to: Any, of: Any = DATA) -> Any:
    """The data with one value replaced, or removed (`...`)."""
    data = copy.deepcopy(of)
    *outer, last = path
    inner: Any = data
    for key in outer:
        inner = inner[key]
    if to is ...:
        del inner[last]
    else:
        inner[last] = to
    return data


A = ("spec", "operands", 0)
OPERATION = ("spec", "operation")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "the schedule is None, and should be an object"),
        ([], "should be an object"),
        ({}, "has no 'morello'"),
        (edit("morello", to=99), "format 99, and this Morello reads 2"),
        (edit("target", to=...), "has no 'target'"),
        (edit("target", to=7), "'target' is 7, and should be text"),
        (edit("limits", "L2", to="big"), "L2 is 'big'"),
        (edit("rewrites", to=...), "has no 'rewrites'"),
        (edit("rewrites", to={}), "should be a list"),
        (edit("rewrites", to=[]), "ends too soon"),
        (edit("rewrites", to=DATA["rewrites"] * 2), "goes on after the program is complete"),
        (edit("rewrites", 0, to="move"), "rewrite 1 is 'move', and should be an object"),
        (edit("rewrites", 0, "name", to="fuse"), "rewrite 1: unknown name 'fuse'; it may be: tile"),
        (edit("rewrites", 0, "name", to=...), "rewrite 1 has no 'name'"),
        (edit("rewrites", 0, "operand", to=...), "rewrite 1 has no 'operand'"),
        (edit("rewrites", 0, "operand", to="x"), "has no operand 'x'"),
        (edit("rewrites", 0, "level", to="L9"), "frozen has no level 'L9'"),
        (edit("rewrites", 0, "layout", to="{}"), "does not name each of the 1 dimensions"),
        (edit("rewrites", 0, "layout", to="{0}"), "b has 2 dimensions"),
        (edit("rewrites", 0, "layout", to=None), "'layout' is None, and should be text"),
        (edit("rewrites", 0, "vector", to=True), "should be a whole number"),
        (edit("rewrites", 0, "vector", to=-1), "vector is -1"),
        (edit("rewrites", 0, "speed", to=1), "rewrite 1: move takes no 'speed'"),
        (edit("spec", to=...), "has no 'spec'"),
        (edit("cores", to=0), "cores is 0"),
        (edit("spec", "parallel", to=1), "'parallel' is 1, and should be true or false"),
        (edit("spec", "sizes", "m", to=...), "the spec's sizes has no 'm'"),
        (edit(*OPERATION, to="Matmul"), "'operation' is 'Matmul', and should be an object"),
        (edit(*OPERATION, "name", to="Conv"), "is no operation that this Morello has, 'Conv'"),
        (edit(*OPERATION, "name", to="Max"), "is no operation that this Morello has, 'Max'"),
        (edit(*OPERATION, "dims", to=["m", "n"]), "is no operation that this Morello has"),
        (edit(*OPERATION, "dims", to=["m", 7, "n"]), "should be texts"),
        (edit(*OPERATION, "speed", to=1), "an operation has no 'speed'"),
        (edit(*OPERATION, "reduced", to=...), "is no operation that this Morello has"),
        (edit(*OPERATION, "accumulates", to=True), "is no operation that this Morello has"),
        (edit(*OPERATION, "operands", to=[]), "is no operation that this Morello has"),
        (edit(*OPERATION, "operands", 0, "dims", to=["2m+"]), "no dimension is called '2m+'"),
        (edit(*OPERATION, "operands", 0, "name", to="x;"), "no operand is called 'x;'"),
        (edit(*OPERATION, "function", to={"name": "launch"}), "there is no 'launch'"),
        (edit(*OPERATION, "components", to=[{}]), "component 0 has no 'operation'"),
        (edit("spec", "sizes", "m", to=0), "m is 0"),
        (edit("spec", "sizes", "m", to=2**31), "m is 2147483648"),
        (edit("spec", "sizes", "m", to=2.0), "'m' is 2.0, and should be a whole number"),
        (edit("spec", "operands", to=[]), "Matmul has 3 operands, and the spec 0"),
        (edit(*A, "strides", to=[64]), "operand a has 2 dimensions, and 1 strides"),
        (edit(*A, "strides", to=[1, -3]), "a stride of operand a is -3"),
        (edit(*A, "strides", to=[1, 13]), "strides are not those of its layouts"),
        (edit(*A, "dtype", to="f99"), "unknown dtype 'f99'"),
        (edit(*A, "level", to="L9"), "no level 'L9'; it has: memory"),
        (edit(*A, "level", to="registers"), "operand a of shape [10, 64] cannot lie as"),
        (edit(*A, "layout", to="{1}"), "dimensions once"),
        (edit(*A, "layout", to="{2,1,0}"), "cannot lie as"),
        (edit(*A, "contiguous", to=5), "cannot lie as"),
        (edit(*A, "vector", to=16), "cannot lie as"),
        (edit(*A, "aliased", to=0), "'aliased' is 0, and should be a whole number of at least 1"),
    ],
)
def test_malformed_data_is_refused_with_the_reason(data: Any, said: str) -> None:
    with pytest.raises(RewriteError) as caught:
        load(data, FROZEN)
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


COMPONENT = (*OPERATION, "components", 0)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ((*COMPONENT, "inputs"), [0]),
        ((*COMPONENT, "inputs"), [0, 3]),
        ((*COMPONENT, "inputs"), [0, 0]),
        ((*COMPONENT, "inputs"), [0, "b"]),
        ((*COMPONENT, "dims"), ["m", "k0"]),
        ((*COMPONENT, "dims"), ["m", "k0", "k!"]),
        ((*COMPONENT, "dims"), ["k0", "m", "k"]),
        ((*COMPONENT, "dtype"), "f99"),
        ((*COMPONENT, "operation"), FUSED["spec"]["operation"]),
        ((*COMPONENT, "operation", "reduced"), []),
        ((*OPERATION, "components"), []),
        ((*OPERATION, "whole"), []),
        ((*OPERATION, "operands", 3, "dims"), ["m", "q"]),
    ],
)
def test_components_that_do_not_fit_are_refused(path: tuple[Any, ...], to: Any) -> None:
    with pytest.raises(RewriteError):
        load(edit(*path, to=to, of=FUSED), FOUR)


def test_operations_nested_too_deep() -> None:
    nested = FUSED["spec"]["operation"]
    for _ in range(2000):
        nested = {"name": "Compose", "components": [{"operation": nested, "dtype": "f32"}]}
    with pytest.raises(RewriteError, match="too deep"):
        load(edit(*OPERATION, to=nested), FROZEN)


def test_programs_nested_too_deep() -> None:
    data = save(begin("f32[3000,1] @ f32[1,1]").solve().impl)
    data["rewrites"] = [{"name": "tile", "dim": "m", "size": n} for n in range(2999, 0, -1)]
    with pytest.raises(RewriteError, match="too deep"):
        load(data, FROZEN)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**33) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@st.composite
def corrupted(draw: st.DrawFn, of: Any) -> Any:
    """The data with a thing or two in it replaced, left out, or put where it does not belong."""
    data = copy.deepcopy(of)
    for _ in range(draw(st.integers(1, 3))):
        inner, key = _somewhere(draw, data)
        how = draw(st.sampled_from(["replace", "leave out", "copy", "shuffle"]))
        if how == "replace":
            inner[key] = draw(json_values)
        elif how == "leave out":
            del inner[key]
        elif how == "copy":
            other, place = _somewhere(draw, data)
            inner[key] = copy.deepcopy(other[place])
        elif isinstance(inner[key], list):
            inner[key] = draw(st.permutations(inner[key]))
    return data


def _somewhere(draw: st.DrawFn, data: Any) -> tuple[Any, Any]:
    """An object or a list somewhere within the data, and a key of it."""
    inner = data
    while True:
        keys = sorted(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = draw(st.sampled_from(keys))
        if not isinstance(inner[key], dict | list) or not inner[key] or draw(st.booleans()):
            return inner, key
        inner = inner[key]


@cache
def schedules() -> list[tuple[Any, Target]]:
    """Saved schedules of many operations, and what they are for."""
    expressions = [
        "relu(f32[4,9])",
        "f32[4,9] + f32[9]",
        "softmax(f32[3,4])",
        "rms_norm(f32[3,4], f32[4])",
        "conv(f32[1,2,3,3], f32[4,2,2,2], padding=1)",
        "transpose(f32[4,6,8], order=[1,2,0])",
        "bf16[2,8] @ bf16[8,16] -> bf16[2,16]",
        'einsum("qhd,khd->hqk", f32[2,2,4], f32[3,2,4])',
        "f32[2,8]S(100,1) @ f32[8,8]{0,1:T(8,1)}",
    ]
    avx2 = find_target("avx2")
    made = [(save(implement(one, target=avx2)[0]), avx2) for one in expressions]
    return [(DATA, FROZEN), (FUSED, FOUR), *made]


@settings(max_examples=120)
@given(st.data())
def test_corrupted_data_is_read_or_refused(data: st.DataObject) -> None:
    of, target = data.draw(st.sampled_from(schedules()))
    try:
        load(data.draw(corrupted(of)), target)
    except MorelloError as error:
        assert len(str(error)) < 1000


@pytest.mark.parametrize("number", [0, 1])
def test_an_operand_without_dims(number: int) -> None:
    of, target = schedules()[2]
    with pytest.raises(RewriteError, match="has no 'dims'"):
        load(edit(*OPERATION, "operands", number, "dims", to=..., of=of), target)


def test_sizes_that_no_product_has() -> None:
    impl, _ = implement("f32[4] @ f32[4,8]", target="avx2")
    with pytest.raises(RewriteError, match="m is 5, and must be 1 in this Matmul"):
        load(edit("spec", "sizes", "m", to=5, of=save(impl)), find_target("avx2"))
