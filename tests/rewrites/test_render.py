"""Impls as text."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console
from tests.frozen import FROZEN, begin, complete, to_the_kernel

from morello.ir.dtype import F32
from morello.ir.layout import row_major
from morello.ir.primitives import fill
from morello.ir.spec import Spec
from morello.ir.tensor import gapless
from morello.rewrites.impl import Impl
from morello.rewrites.render import print_impl, tree

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
