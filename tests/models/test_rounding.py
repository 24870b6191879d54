"""Integers of two ways to compute them are compared as rounding allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import Array
from morello.models.rounding import Change, Rounding, nudged

X = np.array([1.0, 1.0, 0.5], np.float32)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_a_step_does_not_wrap(dtype: Any) -> None:
    levels = Rounding([Change.LEVEL], None)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    low, high = np.array([least, 7], dtype), np.array([least + 1, 7], dtype)
    assert levels.difference(0, low, high) == levels.difference(0, high, low) == ""
    for far in (most, least + 2):
        other = np.array([far, 7], dtype)
        assert levels.difference(0, low, other) and levels.difference(0, other, low)
    assert levels.difference(0, np.asarray(low[0]), np.asarray(dtype(most)))


def _by(function: Callable[[Array], Any]) -> Rounding:
    return Rounding([Change.CHOICE], lambda change: [np.asarray(function(change(X)))])


def test_a_choice_is_one_of_the_function_s_own() -> None:
    given, expected = np.asarray(1), np.asarray(0)
    assert _by(np.argmax).difference(0, given, expected) == ""
    assert _by(np.argmax).difference(0, np.asarray(2), expected)
    assert Rounding([Change.CHOICE], None).difference(0, given, expected)


def test_what_cannot_be_repeated_explains_nothing() -> None:
    random = np.random.default_rng(0)
    truths, others = np.ones(16, bool), np.zeros(16, bool)
    assert _by(lambda _: random.random(16) < 0.5).difference(0, others, truths)
    given, expected = np.array([1, 1]), np.array([0, 0])
    shorter = _by(lambda x: [0, 0] if x is X else [1])  # would be broadcast
    assert shorter.difference(0, given, expected)

    def raising(x: Array) -> Any:
        if x is not X:
            raise ValueError
        return 0

    assert _by(raising).difference(0, np.asarray(1), np.asarray(0))


def test_a_single_number_and_the_largest_are_nudged() -> None:
    random = np.random.default_rng(0)
    for number in (np.float32(3), np.finfo(np.float32).max):
        array = np.asarray(number, np.float32)
        other = nudged(array, 2.0**-7, random)
        assert type(other) is np.ndarray and other.dtype == np.float32
    assert nudged(np.arange(3), 2.0**-7, random).tolist() == [0, 1, 2]
