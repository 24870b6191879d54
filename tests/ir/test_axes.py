"""Axes: how they are written, what they span, and what becomes of them in other dimensions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.axes import Axis, axis, renamed

NAMES = ("i", "j", "y1", "p", "b0")

names = st.sampled_from(NAMES)
strides = st.integers(1, 5)
sizes = st.fixed_dictionaries({name: st.integers(1, 7) for name in NAMES})


@st.composite
def axes(draw: st.DrawFn, known: tuple[str, ...] = NAMES, padded: bool = True) -> Axis:
    """A sum of one to three different dimensions, or one by itself."""
    used = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    terms = tuple((name, draw(strides)) for name in used)
    return Axis(terms, draw(st.integers(0, 6)), draw(st.integers(-3, 6))) if padded else Axis(terms)


@given(axes())
def test_what_is_printed_is_read_back(one: Axis) -> None:
    assert axis(str(one)) == one


@pytest.mark.parametrize(
    ("text", "terms", "ends"),
    [
        ("m", (("m", 1),), (0, 0)),
        ("2y+p", (("y", 2), ("p", 1)), (0, 0)),
        ("y+p-2", (("y", 1), ("p", 1)), (1, 1)),
        ("12b0+3x1-4", (("b0", 12), ("x1", 3)), (2, 2)),
        ("2y+p-3-2", (("y", 2), ("p", 1)), (3, 2)),
        ("2y+p-0-1", (("y", 2), ("p", 1)), (0, 1)),
        ("2y+3p-0+1", (("y", 2), ("p", 3)), (0, -1)),
    ],
)
def test_how_axes_are_written(
    text: str, terms: tuple[tuple[str, int], ...], ends: tuple[int, int]
) -> None:
    assert axis(text) == Axis(terms, *ends)
    assert str(axis(text)) == text
    assert axis(text).plain == (text == "m")
    assert axis(text).names == tuple(name for name, _ in terms)


def places(one: Axis, named: dict[str, int]) -> set[int]:
    """All the indices that an axis takes, counted out; padding moves them."""
    ranges = [[stride * i for i in range(named[name])] for name, stride in one.terms]
    return {sum(index) for index in itertools.product(*ranges)}


@given(axes(padded=False), sizes)
def test_the_extent_reaches_from_the_first_index_to_the_last(
    one: Axis, named: dict[str, int]
) -> None:
    found = places(one, named)
    assert min(found) == 0
    assert one.extent(named) == max(found) + 1


@given(axes(), sizes)
def test_padding_is_not_a_part_of_the_extent(one: Axis, named: dict[str, int]) -> None:
    assert one.extent(named) == Axis(one.terms).extent(named) - one.before - one.after


@given(axes(), st.lists(sizes, min_size=1, max_size=5))
def test_extents_of_columns_are_those_of_their_rows(
    one: Axis, several: list[dict[str, int]]
) -> None:
    columns = {name: np.array([named[name] for named in several]) for name in NAMES}
    assert one.extent(columns).tolist() == [one.extent(named) for named in several]


@given(axes(("y1", "p")), st.data())
def test_a_substituted_axis_spans_what_the_axes_within_it_span(
    outer: Axis, data: st.DataObject
) -> None:
    """The extent of an axis over dimensions that are windows themselves, without padding."""
    inner = {"y1": data.draw(axes(("i", "j"), False)), "p": data.draw(axes(("b0",), False))}
    named = data.draw(sizes)
    made = outer.substitute(inner)
    within = {name: one.extent(named) for name, one in inner.items()}
    assert made.extent(named) == outer.extent(within)
    if outer == Axis(outer.terms):
        ranges = [
            [stride * place for place in places(inner[name], named)] for name, stride in outer.terms
        ]
        assert {sum(index) for index in itertools.product(*ranges)} == places(made, named)


@given(axes(("y1", "p")), st.data())
def test_substituted_padding_is_as_wide_as_it_was_within(outer: Axis, data: st.DataObject) -> None:
    inner = {"y1": data.draw(axes(("i", "j"))), "p": data.draw(axes(("b0",)))}
    named = data.draw(sizes)
    within = {name: one.extent(named) for name, one in inner.items()}
    assert outer.substitute(inner).extent(named) == outer.extent(within)


@given(axes())
def test_substituting_dimensions_for_themselves_changes_nothing(one: Axis) -> None:
    assert one.substitute({name: axis(name) for name in NAMES}) == one


def test_operands_are_renamed_dimension_by_dimension() -> None:
    inner = {"m": axis("2y+p"), "k": axis("c")}
    assert renamed(("m", "k", "3m+k-2"), inner) == ("2y+p", "c", "6y+3p+c-2")
