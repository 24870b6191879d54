"""Scans by registers: those of rows, and of columns that lie beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.rewrites import Select

CASES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cumsum(f32[37,51])": ("cumsum_run_", lambda x: x.cumsum(1)),
    "cumsum(i32[37,51], axis=0)": ("cumsum_rows_", lambda x: x.cumsum(0)),
    "cumsum(f32[3,40,21], axis=1)": ("cumsum_rows_", lambda x: x.cumsum(1)),
    "argmax(f32[70,85], axis=0)": ("argmax_rows_", lambda x: x.argmax(0)),
    "argmin(i32[33,17,5], axis=0)": ("argmin_rows_", lambda x: x.argmin(0)),
}


@pytest.mark.parametrize("expression", CASES)
def test_scans_are_by_registers(expression: str) -> None:
    kernel = morello.compile(expression, table="off")
    name, wanted = CASES[expression]
    used = [n.rewrite.kernel for n in kernel.impl.walk() if isinstance(n.rewrite, Select)]
    assert any(one.startswith(name) for one in used), used
    (x,) = (a for a in kernel.arguments if not a.output)
    values = np.random.default_rng(0).integers(-9, 9, x.shape).astype(x.dtype.np)  # with equal ones
    np.testing.assert_array_equal(kernel(values), wanted(values))


def test_the_first_nan_of_a_column_is_its_extremum() -> None:
    kernel = morello.compile("argmax(f32[6,50], axis=0)", table="off")
    x = np.random.default_rng(1).standard_normal((6, 50)).astype(np.float32)
    x[[4, 2, 5, 0], [3, 3, 20, 49]] = np.nan
    x[1, 7] = np.inf
    np.testing.assert_array_equal(kernel(x), x.argmax(0))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_in_columns_of_more_than_the_caches(name: str) -> None:
    """Two blocks of columns, rows that are no multiple of those read together, and a remainder."""
    kernel = morello.compile(f"{name}(f32[127,2100], axis=0)", table="off")
    random = np.random.default_rng(0)
    x = random.integers(0, 40, (127, 2100)).astype(np.float32)
    x[random.integers(0, 127, 50), random.integers(0, 2100, 50)] = np.nan
    np.testing.assert_array_equal(kernel(x), getattr(x, name)(0))
