"""Parts of tensors that the number of another tensor picks, by the backend of torch.compile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doors.torch_graphs import (
    compiled,
    fresh,  # noqa: F401
    last,
)
from tests.sampling import some

torch = pytest.importorskip("torch")


def put(x: Any, index: Any, value: Any) -> Any:
    y = x * 2
    y[index] = value
    return y


@pytest.mark.parametrize(
    "program",
    some(
        [
            lambda x, i, j: x[i, :, j] + x[None, i, 1:3, None, j] + x[1, ..., j, :].exp(),
            lambda x, i, j: x[i] * x[:, j, None, ..., i].sum(),
            lambda x, i, j: (
                put(x, (1, slice(1, 3), j), x[0, :2, 0]) + put(x, (i, slice(None), None), x[0, 0])
            ),
            lambda x, i, j: put(x, i, 3.0) + put(x, (..., j), x[..., 0]),
        ],
        2,
    ),
)
def test_parts_are_picked_by_kernels(program: Any) -> None:
    x, fast = torch.randn(4, 4, 4), compiled(program)
    for numbers in [(2, -1), (0, 3)]:
        places = map(torch.tensor, numbers)
        torch.testing.assert_close(fast(x, *places), program(x, *map(torch.tensor, numbers)))
    (report,) = last().programs.values()
    assert report.left == ()


def seen_by_a_view(x: Any, i: Any) -> Any:
    y = x * 2
    part = y[i]
    y.add_(1)
    return part + 1


def changed_in_a_view(x: Any, i: Any) -> Any:
    y = x * 2
    y[i].add_(1)
    return y


@pytest.mark.parametrize("program", [seen_by_a_view, changed_in_a_view, lambda x, i: x[i]])
def test_views_whose_changes_are_seen_are_left_to_torch(program: Any) -> None:
    x, i = torch.randn(4, 4), torch.tensor(2)
    torch.testing.assert_close(compiled(program)(x, i), program(x, i))
    assert "that the number of a tensor picks is" in last().by_torch
