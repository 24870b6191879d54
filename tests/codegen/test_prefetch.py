"""Lines that are prefetched are those that are needed then, and few enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codegen.saved import saved_programs

import morello
from morello.codegen import generate
from morello.codegen.lines import Lines
from morello.codegen.lower import lower, prefetch_notes
from morello.codegen.names import NamesInC
from morello.codegen.prefetch import iterations_of, with_prefetches
from morello.codegen.statements import Due, For, Prefetch, Prefetchable, Statement, walk
from morello.codegen.views import MemoryView, buffer_view
from morello.impl.printing import tree
from morello.impl.tree import Impl
from morello.ir.layout import panels, row_major
from morello.ir.tensor import LINE_BYTES
from morello.rewrites import Split
from morello.targets import find_target

ELEMENT = 4
PER_LINE = LINE_BYTES // ELEMENT

EVEN = replace(find_target("avx512"), rows=0)
"""A machine on which the rows of register tiles divide sizes, so that loops have no remainders."""

PREFETCH = re.compile(
    r"(?:if \((\w+) % (\d+) == 0\) |for \(long more = 0; more < (\d+); \+\+more\) )?"
    r"\{\n\s+const long line = (.+);\n"
    r"\s+__builtin_prefetch\(&(\w+)\[(.+)\], (\d), (\d)\);"
)
LOOP = re.compile(r"^( *)for \(long (\w+) = (\w+); \w+ < (.+); (?:\+\+\w+|\w+ \+= (\d+))\)")


def value(expression: str, variables: dict[str, int]) -> int:
    """The value of a C expression of non-negative numbers."""
    return int(eval(expression.replace("/", "//"), {}, variables))


def prefetched(text: str) -> list[tuple[str, set[int], bool]]:
    """The operand of each prefetch, its lines in the loops' first steps, and whether it is written.

    The loops around that it spreads over go round, the others stay at 0.
    """
    requests = []
    for match in PREFETCH.finditer(text):
        before = text[: match.start()].split("\n")
        indent = len(before[-1])
        around: list[tuple[str, int, int]] = []
        for line in reversed(before):
            loop = LOOP.match(line)
            if loop and len(loop[1]) < indent and loop[3] == "0":
                around.insert(0, (loop[2], int(loop[4]), int(loop[5] or 1)))
                indent = len(loop[1])
        condition, every, at_once, number, operand, place, written, _ = match.groups()
        points = [{name: 0 for name, _, _ in around}]
        for name, end, step in around:
            if re.search(rf"\b{name}\b", number):
                points = [p | {name: at} for p in points for at in range(0, end, step)]
        points = [p | {"more": more} for p in points for more in range(int(at_once or 1))]
        lines = {
            value(place, p | {"line": value(number, p)}) // PER_LINE
            for p in points
            if condition is None or p[condition] % int(every) == 0
        }
        requests.append((operand, lines, written == "1"))
    return requests


def lines_of(view: MemoryView) -> set[int]:
    """The lines of a tile of rows."""
    rows, columns = view.extents
    start = view.address.constant
    return {
        (start + row * view.step(0) + column) // PER_LINE
        for row in range(rows)
        for column in range(columns)
    }


def test_every_line_of_a_tile_has_a_number() -> None:
    whole = buffer_view("x", row_major(2), (64, 256))
    tile = whole.cut(0, 8, 8, None, 1).cut(1, 64, 128, None, 1)
    assert isinstance(tile, MemoryView)
    lines = Lines(tile, ELEMENT)
    places = [lines.place(str(number), NamesInC()) for number in range(lines.count)]
    numbers = [value(place.removeprefix("x[").removesuffix("]"), {}) for place in places]
    assert {number // PER_LINE for number in numbers} == lines_of(tile)
    assert len(numbers) == len(set(numbers))


def numbers(statements: Sequence[Statement], variables: dict[str, int]) -> Iterator[int]:
    """The numbers of the lines that are prefetched, in the order of execution."""
    for statement in statements:
        if isinstance(statement, For):
            start = variables.get(statement.start, 0)
            for at in range(start, start + statement.size, statement.step):
                yield from numbers(statement.body, variables | {statement.variable: at})
        elif isinstance(statement, Prefetch):
            own, *_ = statement.turns
            if variables[own.variable] % own.step == 0:
                done = sum(variables[t.variable] // t.step * t.weight for t in statement.turns)
                yield from range(done * statement.at_once, (done + 1) * statement.at_once)


@given(
    rows=st.integers(1, 40),
    per_row=st.integers(1, 6),
    around=st.lists(st.integers(1, 5), max_size=2),
    iterations=st.integers(2, 90),
    due=st.sampled_from([Due.NEXT, Due.STORED]),
)
def test_every_line_of_a_tile_is_prefetched_once(
    rows: int, per_row: int, around: list[int], iterations: int, due: Due
) -> None:
    """Loops of any size that serve a tile make hardly more prefetches than it has lines."""
    width = per_row * PER_LINE
    tile = buffer_view("x", row_major(2), (rows, 4 * width)).cut(1, width, 0, "tile", 1)
    assert isinstance(tile, MemoryView)
    loop = For("k", iterations, 1, [], reduction=True)
    for number, times in enumerate(around):
        loop = For(f"i{number}", times, 1, [loop])
    mark = Prefetchable("x", tile, ELEMENT, False, due, [loop])
    (tiles,) = with_prefetches([For("tile", 4 * width, width, [mark])], EVEN)
    assert isinstance(tiles, For)
    lines = list(numbers(tiles.body, {"tile": 0}))
    if lines:
        assert set(lines) >= set(range(rows * per_row))
        assert len(lines) == len(set(lines))


def test_the_last_tile_of_a_loop_is_followed_by_the_first_of_the_loop_around() -> None:
    rows, width = 4, 2 * PER_LINE
    whole = buffer_view("x", row_major(2), (4 * rows, 3 * width))
    tile = whole.cut(0, rows, 0, "i", 1).cut(1, width, 0, "j", 1)
    assert isinstance(tile, MemoryView)
    reduction = For("k", 64, 1, [], reduction=True)
    mark = Prefetchable("x", tile, ELEMENT, False, Due.NEXT, [reduction])
    loops = For("i", 4 * rows, rows, [For("j", 3 * width, width, [mark])])
    (prefetch,) = (s for s in walk(with_prefetches([loops], EVEN)) if isinstance(s, Prefetch))
    assert prefetch.wrap is not None
    last, elements = prefetch.wrap.last, prefetch.wrap.elements

    def start(view: MemoryView, i: int, j: int) -> int:
        at = {"i": i, "j": j}
        return view.address.constant + sum(at[v] * n for v, n in view.address.terms.items())

    for i in range(0, 3 * rows, rows):
        for j in range(0, 3 * width, width):
            following = (i, j + width) if j + width < 3 * width else (i + rows, 0)
            assert start(prefetch.tile, i, j) + (j == last) * elements == start(tile, *following)


def test_a_large_product_prefetches_the_next_rows_and_those_it_copies_next() -> None:
    impl, _ = morello.implement("f32[2048,2048] @ f32[2048,2048]", target=EVEN, budget=600)
    requests = {
        operand: (lines, written) for operand, lines, written in prefetched(generate(impl).text)
    }
    assert {operand: written for operand, (_, written) in requests.items()} == {
        "a": False,
        "b": False,
        "c": True,
    }
    row = 2048 // PER_LINE
    for operand, (lines, _) in requests.items():
        rows = {line // row for line in lines}
        count = len(rows)
        assert rows == set(range(count, 2 * count)), f"{operand}: what follows the first {count}"
        assert len(lines) % count == 0, f"{operand}: whole rows of the tile"


def test_softmax_prefetches_its_rows_while_their_scores_are_made() -> None:
    impl, _ = morello.implement("softmax(f32[1024,64] @ f32[64,1024])", target="avx512", budget=600)
    requests = {
        operand: (lines, written) for operand, lines, written in prefetched(generate(impl).text)
    }
    lines, written = requests["out"]
    assert written
    rows = len(lines) * PER_LINE // 1024
    assert lines == set(range(rows * 1024 // PER_LINE)), "the block of rows that is made"


def test_what_the_caches_hold_is_not_prefetched() -> None:
    saved = saved_programs("avx512")
    impls = [saved[f"f32[{size},{size}] @ f32[{size},{size}]"] for size in (16, 64)]
    impls.append(morello.implement("f32[128,128] @ f32[128,128]", target="avx512", budget=600)[0])
    for impl in impls:
        assert "__builtin_prefetch" not in generate(impl).text
        assert prefetch_notes(impl) == {}


def test_the_lines_of_panels_follow_each_other() -> None:
    layout = panels(2, 1, 32)
    whole = buffer_view("x", layout, (64, 256))
    tile = whole.cut(1, 64, 128, None, 1)
    lines = Lines(tile, ELEMENT)
    assert lines.count == 64 * 64 // PER_LINE
    places = [lines.place(str(number), NamesInC()) for number in range(lines.count)]
    numbers = [value(place.removeprefix("x[").removesuffix("]"), {}) for place in places]
    assert numbers == list(range(128 * 64, 192 * 64, PER_LINE))


def test_panels_are_prefetched_line_by_line() -> None:
    product = "f32[8,4096] @ f32[4096,4096]{0,1:T(32,1)}"
    impl, _ = morello.implement(product, target="avx512", budget=600)
    ((operand, lines, written),) = prefetched(generate(impl).text)
    assert operand == "b" and not written
    assert lines == set(range(min(lines), min(lines) + len(lines)))
    assert len(lines) * LINE_BYTES > 4096, "more than a page"
    assert min(lines) % len(lines) == 0 < min(lines), "a piece that follows"


@pytest.fixture(scope="module")
def layer() -> Impl:
    """A product of many columns, and a map of it."""
    return morello.implement("relu(f32[384,768] @ f32[768,3072])", target=EVEN, budget=600)[0]


def test_a_loop_prefetches_what_its_own_next_step_reads(layer: Impl) -> None:
    text = generate(layer).text
    (lines,) = (lines for operand, lines, _ in prefetched(text) if operand == "a")
    rows = 1 + max(int(row) for row in re.findall(r"c_reg0\[(\d+)\]\[0\] \+=", text))
    assert {line // (768 // PER_LINE) for line in lines} == set(range(rows, 2 * rows))


def test_loops_that_prefetch_are_in_chunks_and_it_is_shown_at_them(layer: Impl) -> None:
    nodes = list(layer.walk())
    chunks = [
        loop
        for loop in walk(lower(layer).body)
        if isinstance(loop, For) and any(isinstance(inner, Prefetch) for inner in loop.body)
    ]
    shown = prefetch_notes(layer)
    assert chunks and {loop.node for loop in chunks} == shown.keys()
    for loop in chunks:
        *_, reduction = loop.body
        assert isinstance(reduction, For) and reduction.start == loop.variable
        assert reduction.size == loop.step and loop.size % loop.step == 0
        assert isinstance(nodes[loop.node].rewrite, Split)
        assert loop.size == nodes[loop.node].spec.size("k")
    assert {note.split(",")[0] for texts in shown.values() for note in texts} >= {"prefetches a"}
    lines = tree(layer, notes=shown).splitlines()
    for number, texts in shown.items():
        at = lines.index(next(line for line in lines if line.strip() == texts[0]))
        assert [line.strip() for line in lines[at : at + len(texts)]] == texts
        assert lines[at - 1].lstrip().startswith("for k in ")
        assert str(nodes[number].spec) in lines[at - 1]
    assert [line for line in lines if "prefetches" not in line] == tree(layer).splitlines()


def test_equal_parts_of_a_program_may_be_one_object() -> None:
    """Here only the first of two equal products prefetches what the second one writes."""
    schedule = morello.schedule("(f32[64,256] @ f32[256,256]) @ f32[256,256]", target="avx512")
    impl = schedule.tile(m=16).bufferize(0, "memory").solve(budget=600).impl
    (body,) = impl.children
    first, second = body.impl.children
    assert first.impl.decisions() == second.impl.decisions()
    children = (first, replace(second, impl=first.impl))
    shared = replace(impl, children=(replace(body, impl=replace(body.impl, children=children)),))
    assert generate(shared).text == generate(impl).text
    assert [note for texts in prefetch_notes(impl).values() for note in texts if " out," in note]


def test_a_convolution_prefetches_its_next_filters() -> None:
    filters = "f32[256,256,3,3]{3,2,1,0:T(32,1,1,1)}"
    goal = f"conv(f32[1,256,9,9], {filters})"
    impl, _ = morello.implement(goal, target="avx512", gap=0.02, budget=600)
    panel = 32 * 256 * 9 // PER_LINE
    requests = [r for r in prefetched(generate(impl).text) if r[0] == "filter"]
    assert requests
    for _, lines, _ in requests:
        assert lines == set(range(min(lines), min(lines) + len(lines)))
        assert min(lines) == len(lines) and len(lines) % panel == 0, "as many as those before"


def test_a_part_of_a_panel_is_followed_by_the_next_panel() -> None:
    schedule = morello.schedule("f32[1024,512]{1,0:T(32,1)} @ f32[512,48]", target="avx512")
    impl = schedule.move("b", "L2").tile(m=32).move("a", "L2").tile(m=16).solve(budget=600).impl
    panel = 32 * 512 // PER_LINE
    lines = {o: lines for o, lines, _ in prefetched(generate(impl).text)}["a"]
    assert lines == set(range(panel, panel + len(lines)))


@pytest.mark.parametrize(("tile", "prefetches"), [({"n": 32}, True), ({"m": 14}, False)])
def test_weights_are_prefetched_where_the_outermost_loop_reads_them_once(
    tile: dict[str, int], prefetches: bool
) -> None:
    """They are brought to L2 before that loop, all at once."""
    schedule = morello.schedule("f32[36,64] @ f32[64,128]{0,1:T(32,1)}", target="avx512")
    impl = schedule.move("b", "L2").tile(**tile).solve(budget=600).impl
    lines = [lines for operand, lines, _ in prefetched(generate(impl).text) if operand == "b"]
    panel = 32 * 64 // PER_LINE
    assert lines == ([set(range(panel, 2 * panel))] if prefetches else [])


@pytest.mark.parametrize(("rows", "prefetches"), [(8, True), (4, False)])
def test_rows_are_prefetched_where_each_line_is_added_to_enough_sums(
    rows: int, prefetches: bool
) -> None:
    """Each step of the reduction reads all lines of a row of the tile, and prefetches as many."""
    k, n, width = 64, 480, 32
    schedule = morello.schedule(f"f32[{rows},{k}] @ f32[{k},{n}]", target="avx512")
    impl = schedule.tile(n=width).move("b", "L2").move("b", "L1").solve(budget=600).impl
    lines = [lines for operand, lines, _ in prefetched(generate(impl).text) if operand == "b"]
    starts = range(width, k * n, n)
    tile = {line for at in starts for line in range(at // PER_LINE, (at + width) // PER_LINE)}
    assert lines == ([tile] if prefetches else [])


@pytest.mark.parametrize(
    ("k", "n", "prefetches"), [(32, 8000, True), (24, 8000, False), (32, 64, False)]
)
def test_sums_are_prefetched_by_reductions_of_as_many_steps_as_they_have_lines(
    k: int, n: int, prefetches: bool
) -> None:
    """Unless all operands fit into L2."""
    schedule = morello.schedule(f"f32[28,{k}] @ f32[{k},{n}]", target="avx512")
    impl = schedule.tile(m=14).tile(n=32).move("c", "L2").solve(budget=600).impl
    lines = [lines for _, lines, written in prefetched(generate(impl).text) if written]
    rows = range(0, 14 * n, n)
    tile = {line for at in rows for line in range(at // PER_LINE, (at + 32) // PER_LINE)}
    assert lines == ([tile] if prefetches else [])


def test_unrolled_steps_are_iterations(layer: Impl) -> None:
    """Steps that add to the same registers, not those that add to others."""
    statements = lower(layer).body
    inner = [
        loop
        for loop in walk(statements)
        if isinstance(loop, For) and loop.reduction
        if not any(isinstance(statement, For) for statement in walk(loop.body))
    ]
    assert inner
    for loop in inner:
        twice = replace(loop, body=[*loop.body, *loop.body])
        assert iterations_of([twice]) == 2 * iterations_of([loop])


def test_loops_that_prefetch_are_unrolled_by_what_divides_them(layer: Impl) -> None:
    text = generate(layer).text
    chunks = re.findall(
        r"#pragma GCC unroll (\d)\n\s+for \(long \w+ = (\w+); \w+ < \2 \+ (\d+);", text
    )
    assert chunks
    assert all(int(iterations) % int(unrolled) == 0 for unrolled, _, iterations in chunks)
