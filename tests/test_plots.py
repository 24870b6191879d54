"""Plots as text, of braille and without."""

from __future__ import annotations

import io
import sys

import pytest

from morello.cli.plots import WIDTH, parts, plot

CORNERS = [(0.0, 0.0), (1.0, 1.0)]


def output(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))


def drawn(points: list[tuple[float, float]], marked: list[tuple[float, float]]) -> list[str]:
    text = plot(points, 3, "9 s", "1 s", ("first", "last"), marked)
    top, *rows, axis, low = text.split("\n")
    assert top == "9 s" and axis == "+" + "-" * WIDTH
    assert low == f"1 s; first{'last':>{WIDTH - 5}}"
    return rows


def test_points_are_braille_where_that_can_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    output(monkeypatch, "utf-8")
    first, middle, last = drawn([*CORNERS, (0.5 / WIDTH, 0.0)], [])
    assert first == "|" + " " * (WIDTH - 1) + "⠈"  # the dot at the top right
    assert (middle, last) == ("|", "|⣀")  # both dots at the bottom


def test_points_are_plain_characters_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    output(monkeypatch, "latin-1")
    assert drawn(CORNERS, []) == ["|" + " " * (WIDTH - 1) + "*", "|", "|*"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_some_points_are_marked(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    output(monkeypatch, encoding)
    *_, last = drawn(CORNERS, CORNERS[:1])
    assert last == "|o"


def test_parts_are_from_the_least_to_the_largest() -> None:
    assert parts([3.0, 1.0, 2.0]) == [1.0, 0.0, 0.5]
    assert parts([4.0, 4.0]) == [0.0, 0.0]
