"""The statements of all programs are sound; those with a planted defect are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.codegen.programs import random_program, random_spec
from tests.codegen.random_rewrites import few_programs, with_cores
from tests.codegen.saved import saved_programs
from tests.sampling import some

from morello.base.debug import VARIABLE
from morello.base.errors import BuildError
from morello.codegen import generate
from morello.codegen.emit import Emitter
from morello.codegen.lower import lower
from morello.codegen.statements import (
    Block,
    Buffer,
    Call,
    For,
    Groups,
    ItemIndex,
    ParallelFor,
    Prefetch,
    Prefetchable,
    Program,
    Registers,
    Statement,
    bodies,
    walk,
)
from morello.codegen.verifier import check, defects
from morello.codegen.views import MemoryView
from morello.frontends import parse
from morello.impl.tree import Impl, ImplNode
from morello.ir.dtype import F16
from morello.scheduling import Schedule
from morello.targets import TARGETS, find_target
from morello.targets.machines import ZEN4
from morello.targets.x86 import avx512

RANDOM_PROGRAMS = 40

Change = Callable[[Any], Sequence[Statement]]


def grouped() -> Impl:
    """A program that reads pairs of bf16 as groups, some of which begin inside the buffer."""
    target = avx512(ZEN4, frozenset({"avx512_bf16"}))
    schedule = Schedule.of(parse("bf16[6,4] @ bf16[4,16]{0,1}"), target)
    return schedule.move("a", "L2").move("a", "L1").pack().solve().impl


def of_target(name: str) -> list[Impl]:
    """Programs that searches choose, and random ones, of several cores too."""
    random, target = Random(2), find_target(name)
    few = [random_program(random_spec(random), target, random) for _ in range(RANDOM_PROGRAMS)]
    return [*saved_programs(name).values(), *few, *few_programs(with_cores(target))]


@pytest.mark.parametrize("name", some(TARGETS, 2))
def test_statements_are_sound(name: str) -> None:
    wrong = {
        impl.spec.expression: [*defects(lower(impl))] for impl in [*of_target(name), grouped()]
    }
    assert {text: some for text, some in wrong.items() if some} == {}


def test_programs_have_all_kinds_of_statements(few: list[Program]) -> None:
    kinds = {type(s) for program in few for s in walk(program.body)}
    assert kinds >= CHANGED
    assert Prefetchable not in kinds, "prefetches are in their place"


@pytest.fixture(scope="module")
def few() -> list[Program]:
    """Programs with all kinds of statements."""
    return [lower(impl) for impl in [*of_target("avx2"), grouped()]]


def test_what_may_be_prefetched_is_sound_before_the_pass() -> None:
    target = find_target("avx2")
    marks = 0
    for impl in of_target("avx2"):
        program = lower(impl)
        views = [view for view, _ in program.parameters]
        marked = Emitter(target, impl.spec).emit(ImplNode(impl), views)
        marks += sum(isinstance(statement, Prefetchable) for statement in walk(marked))
        assert [*defects(replace(program, body=marked))] == []
    assert marks > 0


def moved(view: MemoryView, by: int) -> MemoryView:
    return replace(view, address=view.address.plus(by))


def before(call: Call) -> Sequence[Statement]:
    """A call whose operand in memory begins one element too soon."""
    views = [moved(view, -1) if isinstance(view, MemoryView) else view for view in call.views]
    return [replace(call, views=views)]


def declared_late(block: Block) -> Sequence[Statement]:
    first, *others = block.body
    return [Block([*others, first])]


def smaller(registers: Registers) -> Sequence[Statement]:
    view = replace(registers.view, shape=(1,) * len(registers.view.shape))
    return [replace(registers, view=view)]


def elsewhere(prefetch: Prefetch) -> Sequence[Statement]:
    return [replace(prefetch, tile=replace(prefetch.tile, pointer="nowhere"))]


def out_of_turn(prefetch: Prefetch) -> Sequence[Statement]:
    turns = [replace(turn, variable="never") for turn in prefetch.turns]
    return [replace(prefetch, turns=turns)]


def of_halves(buffer: Buffer) -> Sequence[Statement]:
    return [replace(buffer, tensor=replace(buffer.tensor, dtype=F16))]


def nothing(statement: Statement) -> Sequence[Statement]:
    return []


PLANTED: dict[str, tuple[type[Any], Change, str]] = {
    "twice": (For, lambda loop: [loop, loop], "is defined twice"),
    "another variable": (For, lambda loop: [replace(loop, variable="x.0")], "is no variable"),
    "after its loop": (For, lambda loop: [loop, *loop.body], "is no variable"),
    "too far": (For, lambda loop: [replace(loop, size=loop.size + loop.step)], "which has"),
    "unknown start": (For, lambda loop: [replace(loop, start="x.0")], "x.0 is no variable"),
    "too soon": (Call, before, "elements -1 to"),
    "no buffer": (Buffer, nothing, "is no pointer"),
    "another dtype": (Buffer, of_halves, "has elements of f16"),
    "beyond the workspace": (
        Buffer, lambda buffer: [replace(buffer, offset=buffer.offset + 1 << 20)], "of a workspace"
    ),
    "no registers": (Registers, nothing, "is no array of registers"),
    "few registers": (Registers, smaller, "registers up to"),
    "other registers": (Registers, lambda r: [replace(r, dtype=F16)], "has registers of f16"),
    "too late": (Block, declared_late, "is no (pointer|array)"),
    "no groups": (Groups, nothing, "is no pointer"),
    "groups of nothing": (
        Groups, lambda g: [replace(g, tile=replace(g.tile, pointer="nowhere"))], "nowhere is no"
    ),
    "no item": (ItemIndex, nothing, "is no variable"),
    "items too far": (ItemIndex, lambda i: [replace(i, last=i.last + 1)], "which has"),
    "not passed on": (ParallelFor, lambda p: [replace(p, pointers=())], "is no pointer"),
    "a prefetch of nothing": (Prefetch, elsewhere, "nowhere is no pointer"),
    "a prefetch out of turn": (Prefetch, out_of_turn, "never is no variable"),
}  # fmt: skip
"""The kind of statement that is replaced, by what, and what is said of it."""

CHANGED = {kind for kind, _, _ in PLANTED.values()}


def changed(statements: Sequence[Statement], kind: type[Any], change: Change) -> list[Statement]:
    """The statements with all of a kind changed that have none of it in them."""
    result: list[Statement] = []
    for statement in statements:
        inner = [changed(body, kind, change) for body in bodies(statement)]
        if isinstance(statement, kind) and inner == [*map(list, bodies(statement))]:
            result += change(statement)
        else:
            names = ("body", "otherwise")[: len(inner)]
            new: dict[str, Any] = dict(zip(names, inner, strict=True))
            result.append(replace(statement, **new) if new else statement)
    return result


@pytest.mark.parametrize("planting", PLANTED)
def test_a_planted_defect_is_found(planting: str, few: list[Program]) -> None:
    kind, change, message = PLANTED[planting]
    planted = (replace(program, body=changed(program.body, kind, change)) for program in few)
    found = [defect for program in planted for defect in defects(program)]
    assert any(re.search(message, defect) for defect in found), found


def test_a_workspace_that_is_too_small_is_found(few: list[Program]) -> None:
    for program in few:
        found = [*defects(replace(program, workspace=1))]
        assert program.workspace == 0 or any("of a workspace of 1" in defect for defect in found)


def test_code_is_verified_on_demand(
    few: list[Program], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "verify")
    generate(grouped())
    assert re.fullmatch(r"verify: bf16.* @ .*: \d+ statements are sound\n", capsys.readouterr().err)
    small = next(replace(program, workspace=8) for program in few if program.workspace)
    with pytest.raises(BuildError, match=r"not sound: .* of a workspace of 8.*report it"):
        check(small, "a product")
