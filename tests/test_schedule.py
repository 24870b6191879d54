"""Scheduling by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import isfunction, signature
from types import FunctionType

import pytest
from tests.frozen import FROZEN, begin, complete, to_the_kernel
from tests.goals import attention_goal, conv_goal, matmul_goal, mlp_goal, softmax_goal
from tests.rewrites.rewritten import FOUR, begun
from tests.rewrites.rewritten import solved as finished

from morello.base.errors import RewriteError, SearchError
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import replay
from morello.ir.dtype import BF16, F32
from morello.ir.layout import Layout, panels
from morello.rewrites import (
    REWRITES,
    Bufferize,
    Decompose,
    Move,
    PadFirst,
    Parallel,
    ParallelSplit,
    Select,
    Tile,
)
from morello.scheduling import Schedule
from morello.search.session import search


def test_every_rewrite_is_a_method() -> None:
    assert all(callable(getattr(Schedule, name)) for name in REWRITES)


def method_of(name: str) -> Callable[..., object]:
    method = vars(Schedule)[name]
    assert isinstance(method, FunctionType)
    return method


@pytest.mark.parametrize(
    "name", [n for n, method in vars(Schedule).items() if isfunction(method) and n[0] != "_"]
)
def test_every_method_documents_its_parameters(name: str) -> None:
    """In a text that the editor, `help` and the page of the API show."""
    method = method_of(name)
    _, *parameters = signature(method).parameters
    assert method.__doc__ and all(f"`{name}`" in method.__doc__ for name in parameters)


@pytest.mark.parametrize(
    "name", sorted({*REWRITES} - {"tile", "overlap", "split", "parallel", "move", "bufferize"})
)
def test_a_method_takes_the_fields_of_its_rewrite(name: str) -> None:
    """The others take them in a form that is easier to write."""
    _, *parameters = signature(method_of(name)).parameters
    assert parameters == [field.name for field in fields(REWRITES[name])]


def test_a_rewrite_without_a_method_has_one_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REWRITES, "cut", Tile)
    schedule = begin("f32[8,8] @ f32[8,8]")
    assert schedule.cut("m", size=4).impl.rewrite == Tile("m", 4)  # type: ignore[attr-defined]
    assert "cut" in dir(schedule) and schedule.cut.__doc__ == Tile.__doc__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="a Schedule has no paste; there are: bufferize, crop"):
        schedule.paste()  # type: ignore[attr-defined]


def test_a_new_schedule_is_one_hole() -> None:
    schedule = begin("f32[8,8] @ f32[8,8]")
    assert not schedule.done
    assert schedule.at == parse("f32[8,8] @ f32[8,8]")
    assert schedule.holes == (schedule.at,)
    assert schedule.left == {"L2": 4096, "L1": 512, "registers": 32}


def test_rewrites_give_new_schedules() -> None:
    before = begin("f32[8,8] @ f32[8,8]")
    after = before.tile(m=4)
    assert len(before.holes) == 1 and before.impl.rewrite is None
    assert after.impl.rewrite == Tile("m", 4)
    assert after != before


def test_tile_goes_in_the_order_given() -> None:
    schedule = begin("f32[8,8] @ f32[8,8]").tile(n=4, m=2)
    assert schedule.impl.decisions() == [Tile("n", 4), Tile("m", 2)]
    assert str(schedule.at) == "Matmul(m=2, k=8, n=4)"


def test_the_cursor_follows_the_body_then_takes_the_holes_in_order() -> None:
    schedule = to_the_kernel()
    assert str(schedule.at) == "Move(i=64, j=128)"  # the copy of b, the first of the holes
    assert [str(hole) for hole in schedule.holes] == [
        "Move(i=64, j=128)",
        "FillZero(i=4, j=32)",
        "Move(i=1, j=32)",
        "Move(i=4, j=32)",
        "Matmul(m=2, k=64, n=32)",
    ]
    assert str(schedule.tile(i=1).at) == "Move(i=1, j=128)"


def test_what_is_left_of_memory_follows_the_cursor() -> None:
    schedule = begin("f32[64,64] @ f32[64,64]").move("b", "L2")
    assert schedule.left["L2"] == 4096 - 256
    assert schedule.move("c", "L2").move("c", "L1").left == {
        "L2": 4096 - 512,
        "L1": 256,
        "registers": 32,
    }


def test_a_complete_schedule() -> None:
    schedule = complete()
    assert schedule.done and schedule.at is None and schedule.holes == ()
    impl = schedule.impl
    assert replay(impl.spec, FROZEN, impl.decisions()) == impl
    with pytest.raises(RewriteError, match="the program is complete"):
        schedule.tile(m=1)
    with pytest.raises(RewriteError, match="the program is complete"):
        schedule.move("a", "L2", layout="{1,0}")


MOVES: list[tuple[Callable[[Schedule], Schedule], Move]] = [
    (lambda s: s.move("a", "L2"), Move("a", "L2")),
    (lambda s: s.move("a", "L2", layout="{0,1}"), Move("a", "L2", Layout((1, 0)))),
    (lambda s: s.move("a", "L2", layout=Layout((1, 0))), Move("a", "L2", Layout((1, 0)))),
    (lambda s: s.move("a", "L2", packed=16), Move("a", "L2", panels(2, 0, 16))),
    (lambda s: s.move("b", "L2", packed=16), Move("b", "L2", panels(2, 1, 16))),
    (lambda s: s.move("c", "L2", packed=16), Move("c", "L2", panels(2, 1, 16))),
    (
        lambda s: s.move("c", "L2").move("c", "L1").move("c", "registers", vector=16),
        Move("c", "registers", Layout((0, 1)), 16),
    ),
    (
        lambda s: s.move("c", "L2").move("c", "L1").move("c", "registers", vector=16, along="m"),
        Move("c", "registers", Layout((1, 0)), 16),
    ),
    (
        lambda s: (
            s.move("c", "L2").move("c", "L1").move("c", "registers", vector=16, layout="{0,1}")
        ),
        Move("c", "registers", Layout((1, 0)), 16),
    ),
]


@pytest.mark.parametrize(("step", "made"), MOVES)
def test_ways_to_move(step: Callable[[Schedule], Schedule], made: Move) -> None:
    schedule = step(
        begin("f32[64,4] @ f32[4,64]").tile(m=32)
        if made.vector == 0
        else begin("f32[16,4] @ f32[4,16]")
    )
    assert schedule.impl.decisions()[-1] == made


def test_panels_of_batches_run_along_what_is_not_reduced() -> None:
    schedule = begin("f32[2,64,4] @ f32[2,4,64]")
    assert schedule.move("a", "L2", packed=16).impl.rewrite == Move("a", "L2", panels(3, 1, 16))
    assert schedule.move("b", "L2", packed=16).impl.rewrite == Move("b", "L2", panels(3, 2, 16))


WRONG: list[tuple[Callable[[Schedule], Schedule], str]] = [
    (lambda s: s.tile(q=4), "has no dimension 'q'; its dimensions are: m, k, n"),
    (lambda s: s.tile(m=64), "the tile must be smaller than m"),
    (lambda s: s.tile(m=0), "m=0: a size is a whole number, at least 1"),
    (lambda s: s.tile(m=2**40), "m=1099511627776: a size is a whole number"),
    (lambda s: s.tile(m=2.5), "m=2.5: a size is a whole number"),  # type: ignore[arg-type]
    (lambda s: s.tile(k=4), "k is reduced; split it"),
    (lambda s: s.split(k=4), "apply to_accumulate first"),
    (lambda s: s.to_accumulate().split(m=4), "m is not reduced; tile it"),
    (lambda s: s.to_accumulate().to_accumulate(), "has no accumulating form"),
    (lambda s: s.move("d", "L2"), "no operand 'd'; its operands are: a, b, c"),
    (lambda s: s.move("d", "L2", packed=16), "no operand 'd'; its operands are: a, b, c"),
    (lambda s: s.move("a", "L3"), "there are: memory, L2, L1, registers"),
    (lambda s: s.move("a", "L1"), "a must be in L2 to move to L1"),
    (lambda s: s.move("a", "L2", layout="{1}"), "does not name each of the 2 dimensions"),
    (lambda s: s.move("a", "L2", layout="row"), "cannot be read"),
    (lambda s: s.move("a", "L2", layout="{1,0}"), "already has this layout"),
    (lambda s: s.move("a", "L2", layout="{1,0}", packed=16), "packed already says the layout"),
    (lambda s: s.move("a", "L2", packed=1), "packed=1: a size is a whole number, at least 2"),
    (lambda s: s.move("a", "L2", packed=17), "several whole panels of 17"),
    (lambda s: s.move("a", "L2", vector=16), "only registers have a vector size"),
    (lambda s: s.move("a", "L2", along="m"), "along goes with vector="),
    (
        lambda s: s.move("a", "L2").move("a", "L1").move("a", "registers"),
        "registers need a vector size",
    ),
    (
        lambda s: s.move("a", "L2").move("a", "L1").move("a", "registers", vector=3),
        "frozen has registers of 16, ",
    ),
    (
        lambda s: s.move("a", "L2").move("a", "L1").move("a", "registers", vector=16, along="n"),
        "it has no dimension 'n'; it has m, k",
    ),
    (
        lambda s: s.move("a", "L2").move("a", "L1").move("a", "registers", vector=16),
        "needs 128 registers, of which 32 are left",
    ),
    (lambda s: s.select("fma"), "has no kernel 'fma'"),
    (lambda s: s.select("fma_row_f32x16"), "it computes MatmulAccum"),
]


@pytest.mark.parametrize(("step", "reason"), WRONG)
def test_wrong_steps_say_why(step: Callable[[Schedule], Schedule], reason: str) -> None:
    with pytest.raises(RewriteError) as caught:
        step(begin("f32[64,32] @ f32[32,64]"))
    assert reason in str(caught.value)
    assert str(caught.value).endswith(".")


def test_memory_is_counted_along_the_path() -> None:
    schedule = begin("f32[64,64] @ f32[64,64]")
    for operand in "ab":
        schedule = schedule.move(operand, "L2").move(operand, "L1")
    with pytest.raises(RewriteError, match="needs 256 lines of L1, of which 0 are left"):
        schedule.move("c", "L2").move("c", "L1")


# ---- beyond matmul


def test_parallel_tiles_in_the_order_given() -> None:
    schedule = begun()["parallel"]
    assert schedule.impl.rewrite == Parallel((("n", 32), ("m", 16)))
    assert schedule.at is not None and not schedule.at.parallel


BUFFERS: list[tuple[dict[str, object], Bufferize]] = [
    ({}, Bufferize(0, "L2", Layout((0, 1)))),
    ({"layout": "{0,1}"}, Bufferize(0, "L2", Layout((1, 0)))),
    ({"layout": Layout((1, 0))}, Bufferize(0, "L2", Layout((1, 0)))),
    ({"packed": 4}, Bufferize(0, "L2", panels(2, 0, 4))),
]


@pytest.mark.parametrize(("options", "made"), BUFFERS)
def test_ways_to_bufferize(options: dict[str, object], made: Bufferize) -> None:
    schedule = Schedule.of(mlp_goal(), FOUR)
    assert schedule.bufferize(0, "L2", **options).impl.rewrite == made  # type: ignore[arg-type]


def test_bufferize_into_registers() -> None:
    schedule = Schedule.of(mlp_goal(8, 16, 16, 8), FOUR)
    along_last = schedule.bufferize(0, "registers", vector=16)
    assert along_last.impl.rewrite == Bufferize(0, "registers", Layout((0, 1)), 16)
    with pytest.raises(RewriteError, match="no dimension 'n'; it has m, k"):
        schedule.bufferize(0, "registers", vector=16, along="n")


def test_what_uses_a_buffer_comes_before_what_makes_it() -> None:
    schedule = Schedule.of(attention_goal(), FOUR).bufferize(1, "L2")
    assert [str(hole.operation) for hole in schedule.holes] == ["Compose", "Matmul"]
    assert schedule.at == schedule.holes[1]
    assert schedule.at is not None and schedule.at.levels == (1, 0, 0)


def test_steps_come_in_order() -> None:
    schedule = Schedule.of(softmax_goal(8, 64), FOUR).decompose("to_softmax_parts", "L1")
    assert schedule.impl.rewrite == Decompose("to_softmax_parts", "L1")
    assert schedule.at == schedule.holes[0]
    assert [str(hole.operation) for hole in schedule.holes] == [
        "SoftmaxDenominatorAndUnscaled",
        "DivideVecScalar",
    ]


def test_other_rewrites() -> None:
    assert begun()["running"].impl.rewrite == ParallelSplit("j", 4)
    assert begun()["padded"].impl.rewrite == PadFirst("L2")
    assert str(begun()["pointwise"].at) == "MatmulAccum(m=64, k=4, n=8)"
    assert begun()["packed"].at is not None
    wider = begun()["wider"]
    assert wider.impl.rewrite == Move("a", "L2", Layout((0, 1)), dtype=F32)
    assert wider.at is not None and wider.at.dtypes == (F32, F32, F32)


@pytest.mark.parametrize("name", begun())
def test_search_finishes_any_of_them(name: str) -> None:
    schedule = finished(name)
    assert schedule.done
    assert schedule.impl.rewrite == begun()[name].impl.rewrite


WRONG_BEYOND: list[tuple[Callable[[], Schedule], str]] = [
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).parallel(m=4), "not to be run in parallel"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).serial(), "it is serial already"),
    (lambda: begun()["serial"].parallel(m=16), "not to be run in parallel"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).bufferize(0, "L1"), "has 0 tensors between"),
    (lambda: Schedule.of(mlp_goal(), FOUR).bufferize(2, "L1"), "has 2 tensors between"),
    (lambda: Schedule.of(mlp_goal(), FOUR).bufferize(-1, "L1"), "at least 0"),
    (lambda: Schedule.of(mlp_goal(), FOUR).bufferize(0, "L4"), "no level 'L4'"),
    (lambda: Schedule.of(mlp_goal(), FOUR).bufferize(0, "L2", packed=5), "whole panels of 5"),
    (
        lambda: Schedule.of(mlp_goal(), FOUR).bufferize(0, "L2", packed=4, layout="{0,1}"),
        "packed already says the layout",
    ),
    (lambda: Schedule.of(softmax_goal(8, 8), FOUR).decompose("halves", "L1"), "no scheme 'halves'"),
    (
        lambda: Schedule.of(softmax_goal(8, 8), FOUR).decompose("to_max_and_denominator", "L1"),
        "it is for SoftmaxDenominatorAndMax",
    ),
    (lambda: Schedule.of(softmax_goal(8, 8), FOUR).parallel_split("j", 2), "it is for Matmul"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).parallel_split("k", 1), "at least 2 pieces"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).parallel_split("x", 2), "no dimension 'x'"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).parallel_split("m", 2), "m is not reduced"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).parallel_split("k", 2), "run in parallel"),
    (lambda: Schedule.of(conv_goal(), FOUR).spatial_split(), "it is for ConvAccum"),
    (lambda: Schedule.of(conv_goal(), FOUR).pad_first("L2"), "has no padding"),
    (lambda: Schedule.of(conv_goal(), FOUR).peel("y"), "slides no padded windows along 'y'"),
    (lambda: Schedule.of(conv_goal(padding=1), FOUR).peel("c"), "no padded windows along 'c'"),
    (lambda: Schedule.of(conv_goal(padding=1), FOUR).peel("q"), "apply to_accumulate first"),
    (lambda: Schedule.of(conv_goal(image=2, padding=1), FOUR).peel("y"), "too few windows along y"),
    (lambda: Schedule.of(conv_goal(pixels=2, padding=1), FOUR).peel("x"), "no pixel along q is"),
    (lambda: Schedule.of(conv_goal(), FOUR).to_accumulate().pointwise(), "p must be 1"),
    (lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).pack(), "no instruction for groups"),
    (
        lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).move("a", "L2", dtype="f99"),
        "unknown dtype 'f99'",
    ),
    (
        lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).move("a", "L2", dtype="i32"),
        "no kernel converts f32 to i32",
    ),
    (
        lambda: Schedule.of(matmul_goal(8, 8, 8), FOUR).move("x", "L2", dtype="bf16"),
        "no operand 'x'",
    ),
]


@pytest.mark.parametrize(("step", "reason"), WRONG_BEYOND)
def test_wrong_steps_beyond_matmul_say_why(step: Callable[[], Schedule], reason: str) -> None:
    with pytest.raises(RewriteError) as caught:
        step()
    assert reason in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_copy_of_another_dtype_goes_both_ways() -> None:
    schedule = Schedule.of(matmul_goal(8, 8, 16, F32, F32, BF16), FOUR).move("c", "L2", dtype="f32")
    assert [str(hole.operation) for hole in schedule.holes] == ["Matmul", "Move"]
    assert schedule.holes[1].dtypes == (F32, BF16)


# ---- the rest by search


def test_solving_a_new_schedule_is_searching() -> None:
    spec = parse("f32[10,24] @ f32[24,40]")
    solution = search(spec, FROZEN)
    impl = Schedule.of(spec, FROZEN).solve().impl
    assert impl == reconstruct(spec, FROZEN, solution.decisions)


def test_solving_keeps_what_was_decided() -> None:
    begun = to_the_kernel()
    schedule = begun.solve()
    assert schedule.done and schedule.solve() == schedule
    made = iter(schedule.impl.decisions())
    assert all(decision in made for decision in begun.impl.decisions())  # a subsequence
    assert schedule.impl.cost <= complete().impl.cost


@pytest.mark.parametrize("text", ["f32[8,24] @ f32[24,64]", "f32[3,5]{0,1} @ f32[5,20]"])
def test_solving_what_the_best_program_leaves_finds_as_good_a_one(text: str) -> None:
    spec = parse(text)
    best = reconstruct(spec, FROZEN, search(spec, FROZEN).decisions)
    schedule, node = Schedule.of(spec, FROZEN), best
    while node.rewrite is not None and not isinstance(node.rewrite, Select):
        schedule = schedule.rewrite(node.rewrite)
        (node,) = (child.impl for child in node.children if child.role == "body")
        assert schedule.at == node.spec
        assert schedule.solve().impl.cost == pytest.approx(best.cost)


def test_solving_respects_the_memory_left() -> None:
    schedule = begin("f32[64,32] @ f32[32,64]").move("a", "L2").move("a", "L1")
    schedule = schedule.move("b", "L2").move("b", "L1").move("c", "L2").tile(m=8)
    assert schedule.left["L1"] == 512 - 128 - 128
    peak = schedule.solve().impl.peak
    assert all(p <= limit for p, limit in zip(peak, FROZEN.limits, strict=True))


def test_solving_where_nothing_fits() -> None:
    schedule = begin("f32[64,64] @ f32[64,64]")
    for operand in "ab":
        schedule = schedule.move(operand, "L2").move(operand, "L1")
    with pytest.raises(SearchError, match="0 of L1"):
        schedule.solve()
