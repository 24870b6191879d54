"""Impls as text."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console
from tests.frozen import FROZEN, begin, complete, to_the_kernel
from tests.goals import layer_norm_goal, matmul_goal, softmax_goal
from tests.rewrites.rewritten import FOUR, begun, running_softmax

from morello.impl.printing import print_impl, tree
from morello.impl.tree import Impl
from morello.ir.dtype import BF16, F32
from morello.ir.layout import row_major
from morello.ir.primitives import fill
from morello.ir.spec import Spec
from morello.ir.tensor import gapless
from morello.rewrites import SCHEMES
from morello.scheduling import Schedule

Golden = Callable[[str, str], None]


def test_complete_program(golden: Golden) -> None:
    golden("complete.txt", tree(complete().impl) + "\n")


def test_partial_program_shows_holes_and_the_next(golden: Golden) -> None:
    golden("partial.txt", str(to_the_kernel()) + "\n")


def test_column_registers_batches_and_row_major_copies(golden: Golden) -> None:
    schedule = begin("f32[2,32,24] @ f32[2,24,5] -> f32[2,32,5]{1,2,0}").tile(b=1)
    schedule = schedule.move("a", "L2", layout="{1,2,0}").move("c", "L2").move("c", "L1")
    schedule = schedule.move("c", "registers", vector=16, along="m").to_accumulate()
    golden("column.txt", str(schedule) + "\n")


def test_a_goal_that_is_all_hole() -> None:
    text = tree(begin("f32[4,4] @ f32[4,4]").impl)
    assert "?? Matmul(m=4, k=4, n=4)" in text
    assert "a in memory, b in memory, c in memory" in text


def test_operations_other_than_matmul() -> None:
    spec = Spec(fill(2), (4, 16), (2,), (gapless(row_major(2)),), (F32,))
    assert tree(Impl(spec, FROZEN)).startswith("FillZero for frozen: dst f32[4,16] in L1\n")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("parallel", ["parallel for n in 0..64 by 32, m in 0..64 by 16", "  ?? Matmul(m=16,"]),
        ("ragged", ["parallel for m in 0..48 by 16", "  ?? Matmul(m=16,", "m in 48..60", "  ??"]),
        ("serial", ["on one core", "?? Matmul(m=64,"]),
        (
            "softmax",
            [
                "parallel for i in 0..8 by 2",
                "  max and denominator, then every exp again; max, denominator in L1",
                "    ?? SoftmaxDenominatorAndMax(i=2, j=64)",
                "    ?? SoftmaxComplete(i=2, j=64)",
            ],
        ),
        (
            "running",
            [
                "parallel for j in 0..1000 by 250",
                "  ?? SoftmaxDenominatorAndMax(i=1, j=250)",
                "?? SoftmaxDenominatorAndMaxFromParts(i=1, j=4)",
            ],
        ),
        (
            "padded",
            [
                "image, padded -> L2",
                "  ?? FillZero(i=1, j=2, k=6, l=6)",
                "  ?? Move(i=1, j=2, k=4, l=4)",
                "out = 0",
                "  ?? FillZero(i=1, j=4, k=4, l=4)",
                "for y in 0..4",
                "  for p in 0..3, for q in 0..3",
                "    ?? MatmulAccum(m=4, k=2, n=4)",
            ],
        ),
        ("pointwise", ["out = 0", "  ??", "all pixels as the rows of a matmul", "?? MatmulAccum("]),
        ("packed", ["groups of 2 along k", "  ?? Pack(i=16, j=64, p=2)", "?? Matmul(m=16, k=16,"]),
        (
            "filled",
            [
                "whole groups, then the last one, with zeros",
                "  ?? Pack(i=16, j=64, p=2)",
                "  ?? Pack(i=1, j=64, p=1)",
            ],
        ),
        (
            "wider",
            ["a -> L2 as f32{1,0}", "  ?? Move(", "b -> L2 as f32{1,0}", "  ??", "?? Matmul("],
        ),
        ("fused", ["t0 -> L2 as {1,0}", "  ?? Matmul(m=4, k=8, n=16)", "?? Compose("]),
        ("attention", ["t1 -> L1 as {0,1}", "  ?? Compose(", "?? Matmul("]),
    ],
)
def test_new_rewrites_in_words(name: str, lines: list[str]) -> None:
    _, _, *found = str(begun()[name]).splitlines()
    assert len(found) == len(lines)
    for line, start in zip(found, lines, strict=True):
        assert line.startswith(start), line


def test_titles_say_what_is_computed_and_on_how_much() -> None:
    assert str(begun()["parallel"]).startswith("Matmul for avx512 on 4 cores: a f32[64,16], b")
    assert str(begun()["attention"]).startswith("softmax(f32[2,8] @ f32[8,4]) @ f32[4,8] for")
    title = tree(Impl(layer_norm_goal(), FOUR)).splitlines()[0]
    assert "rsqrt" in title and title.endswith("for avx512: a f32[4,64], out f32[4,64]")


def test_every_decomposition_has_words() -> None:
    goals = {
        "Softmax": softmax_goal(8, 64),
        "SoftmaxDenominatorAndMax": running_softmax(8, 64),
    }
    schedule = Schedule.of(softmax_goal(8, 64), FOUR).decompose("to_softmax_parts", "L1")
    for spec in schedule.holes:
        goals[spec.operation.name] = spec
    for scheme in SCHEMES.values():
        assert scheme.of.name in goals
    for name, scheme in SCHEMES.items():
        text = str(Schedule.of(goals[scheme.of.name], FOUR).decompose(name, "L1")).splitlines()[2]
        assert "decompose" not in text and name not in text
        assert (" in L1" in text) == bool(scheme.between)


def test_what_outputs_start_at() -> None:
    text = str(Schedule.of(running_softmax(4, 64), FOUR).to_accumulate()).splitlines()
    assert text[2].startswith("max = lowest, denominator = 0 ")
    assert [line.strip().split("(")[0] for line in text[3:5]] == ["?? FillLowest", "?? FillZero"]


def test_registers_of_another_dtype() -> None:
    spec = matmul_goal(16, 4, 16, F32, F32, BF16)
    schedule = Schedule.of(spec, FOUR).move("c", "L2").move("c", "L1")
    row = str(schedule.move("c", "registers", vector=16, dtype="f32"))
    assert "c -> registers of 16 f32 " in row and "c <- registers" in row
    column = str(schedule.move("c", "registers", vector=16, along="m", dtype="f32"))
    assert "c -> registers of 16 f32 along m " in column


def test_columns_line_up() -> None:
    title, header, *lines = tree(complete().impl).splitlines()
    assert title.startswith("Matmul for frozen")
    cycles = header.index("cycles") + len("cycles")
    for line in lines:
        if len(line) > cycles:  # "m in 8..10" and "c <- registers" have no columns
            assert line[cycles] == " " and line[cycles - 1] != " "
        assert line == line.rstrip()


def test_shares_are_of_all_runs() -> None:
    _, header, first, *_ = tree(complete().impl).splitlines()
    assert "share" in header and "100%" in first


def test_print_says_what_tree_says() -> None:
    for schedule in (complete(), to_the_kernel()):
        plain = io.StringIO()
        print_impl(schedule.impl, Console(file=plain, width=40))
        assert plain.getvalue() == tree(schedule.impl) + "\n"


def test_print_colours_a_terminal() -> None:
    coloured = io.StringIO()
    print_impl(
        complete().impl, Console(file=coloured, force_terminal=True, color_system="standard")
    )
    assert "\x1b[" in coloured.getvalue()
