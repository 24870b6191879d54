"""Families of Specs from ranges of sizes, and a sentence for every range that is none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.base.errors import SpecError
from morello.frontends.ranges import family
from morello.frontends.text import parse

MATMUL = "f32[m,k] @ f32[k,n]"


def sizes(text: str) -> Sequence[int]:
    """The sizes in a range."""
    return list(family("f32[m]", [f"m={text}"]).sizes["m"])


@given(st.integers(1, 1 << 28), st.integers(0, 1 << 29))
def test_ranges_that_double(low: int, more: int) -> None:
    found = sizes(f"{low}..{low + more}")
    assert found[0] == low
    assert all(other == 2 * one for one, other in pairwise(found))
    assert found[-1] <= low + more < 2 * found[-1]


@given(st.integers(1, 999), st.integers(0, 999), st.integers(1, 999))
def test_ranges_with_a_step(low: int, more: int, step: int) -> None:
    wanted = [n for n in range(low, low + more + 1) if (n - low) % step == 0]
    assert sizes(f"{low}..{low + more}+{step}") == wanted


@given(st.lists(st.integers(1, 999_999_999), min_size=1, max_size=9))
def test_sizes_one_by_one(listed: list[int]) -> None:
    assert sizes(",".join(map(str, listed))) == sorted(set(listed))


def test_the_last_sizes_run_first() -> None:
    found = family(MATMUL, ["m=1..2", "k=3", "n=5,7"])
    assert len(found) == 4
    assert list(found.expressions()) == [
        ((1, 3, 5), "f32[1,3] @ f32[3,5]"),
        ((1, 3, 7), "f32[1,3] @ f32[3,7]"),
        ((2, 3, 5), "f32[2,3] @ f32[3,5]"),
        ((2, 3, 7), "f32[2,3] @ f32[3,7]"),
    ]
    assert str(found) == f"{MATMUL} m=1,2 k=3 n=5,7"


@pytest.mark.parametrize(
    ("expression", "ranges", "first"),
    [
        ("softmax(f32[rows,columns])", ["columns=4", "rows=2"], "softmax(f32[2,4])"),
        ("relu(bf16[m,8] @ bf16[8,n])", ["m=3", "n=5"], "relu(bf16[3,8] @ bf16[8,5])"),
        ("sum(f32[m,mm], axis=1)", ["m=2", "mm=30"], "sum(f32[2,30], axis=1)"),
        ("f32[4,4] @ f32[4,4]", [], "f32[4,4] @ f32[4,4]"),
        ("transpose(f32[a_1,b], order=[1,0])", ["a_1=2", "b=3"],
         "transpose(f32[2,3], order=[1,0])"),
    ],
)  # fmt: skip
def test_names_are_put_into_any_expression(expression: str, ranges: list[str], first: str) -> None:
    members = family(expression, ranges)
    (_, found), *_ = members.expressions()
    assert found == first
    assert parse(found)


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        (["m=1..8", "k=1..8"], "needs a range for n: n=1..2048"),
        (["m=1..8", "k=1..8", "n=1..8", "x=1..8"], "whose names are: k, m, n; write k=1..2048"),
        (["m"], "'m' gives no size"),
        (["1..8"], "'1..8' gives no size"),
        (["m=1000000000", "k=1", "n=1"], "m=1000000000 is no range"),
        (["m=1..999999+1", "k=1..8", "n=1"], "has 3,999,996 members; 1,000,000 are the most"),
    ],
)
def test_families_that_are_none_get_a_sentence(ranges: list[str], words: str) -> None:
    with pytest.raises(SpecError) as error:
        family(MATMUL, ranges)
    text = str(error.value)
    assert words in text and text.endswith(".") and "\n" not in text


def test_a_text_of_numbers_alone_takes_no_range() -> None:
    with pytest.raises(SpecError, match="whose sizes are all numbers; leave it out"):
        family("f32[4,4] @ f32[4,4]", ["m=2"])


@pytest.mark.parametrize(
    "text",
    ["", "0", "0..8", "8..1", "1..", "..8", "1...8", "1..8+0", "-1..8", "1.5", "1,0", "1,,2",
     "1, 2", ",", "x", "1..8+", "1..8+-1", "²", "\u0661", "00", "1,00", "1e3", "1..9999999999"],
)  # fmt: skip
def test_ranges_that_are_none_get_a_sentence(text: str) -> None:
    with pytest.raises(SpecError, match="is no range; write m=1") as error:
        family("f32[m]", [f"m={text}"])
    assert f"m={text} is no range" in str(error.value)


@given(st.text(max_size=12))
def test_any_text_gives_a_family_or_a_sentence(text: str) -> None:
    try:
        found = family("f32[m]", [text])
    except SpecError as error:
        assert str(error).endswith(".")
    else:
        assert len(list(found.expressions())) == len(found) > 0


def test_a_name_has_one_range() -> None:
    with pytest.raises(SpecError, match="m has a range already"):
        family("f32[m,m] @ f32[m,m]", ["m=1..4", "m=8"])
