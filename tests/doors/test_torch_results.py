"""Results of compiled graphs lie in memory as those of torch do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doors.torch_graphs import F32_TOLERANCE, compiled, error, fresh, last  # noqa: F401

torch = pytest.importorskip("torch")
nn = torch.nn


def as_by_torch(results: Any, expected: Any) -> None:
    """Whether results have the values and strides of torch's, and share memory as these do."""
    for result, wanted in zip(results, expected, strict=True):
        assert error(result, wanted) < F32_TOLERANCE
        assert result.stride() == wanted.stride()
    places = [[each.untyped_storage()._cdata for each in every] for every in (results, expected)]
    ours, theirs = ([every.index(place) for place in every] for every in places)
    assert ours == theirs
    assert last().programs


def test_in_another_order_of_dimensions() -> None:
    def program(x: Any, y: Any) -> Any:
        z = torch.relu(x @ y)
        whole = z.view(4, 2, 3, 8).permute(2, 0, 3, 1) + 1
        return z.softmax(-1).T, whole, whole.exp(), torch.special.i0(z).T

    x, y = torch.randn(24, 16), torch.randn(16, 8)
    as_by_torch(compiled(program)(x, y), program(x, y))


def test_images_with_channels_last() -> None:
    """So a caller can view them as it can those of torch."""
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    model = nn.Sequential(*layers).eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    result, expected = compiled(model)(x), model(x)
    as_by_torch([result], [expected])
    assert result.permute(0, 2, 3, 1).view(-1, 8).shape == (32, 8)


def test_copies_of_inputs_in_another_order() -> None:
    def program(x: Any) -> Any:
        y = x.clone(memory_format=torch.channels_last)
        return y, y[1], x + 1, x

    x = torch.randn(2, 3, 4, 5)
    as_by_torch(compiled(program)(x), program(x))


def test_repeated_rows_of_other_results() -> None:
    def program(x: Any) -> Any:
        y = x @ x
        return y[None].expand(3, 8, 8), y.diagonal(), y.view(64)

    x = torch.randn(8, 8)
    as_by_torch(compiled(program)(x), program(x))


def test_views_of_other_results() -> None:
    """A change of the one is one of the other."""

    def program(x: Any) -> Any:
        y = torch.relu(x @ x)
        square = y.T.exp()
        return y, y.T, y[2:5, 1:], y.diagonal(), y[3].expand(4, 8), square[1:], square, x.T

    x = torch.randn(8, 8)
    expected, results = program(x), compiled(program)(x)
    as_by_torch(results, expected)
    before = results[0].clone()
    results[1].mul_(2)
    assert torch.equal(results[0], before * 2) and torch.equal(results[3], 2 * before.diagonal())
    results[7].zero_()
    assert not x.any()


def test_large_copies_in_another_order_are_kernels() -> None:
    """Copies of small arrays, and views, are left to torch."""

    def program(x: Any) -> Any:
        return x.permute(2, 1, 0).contiguous(), x.permute(1, 0, 2).contiguous()

    x = torch.randn(60, 70, 80)
    run = compiled(program, dynamic=False)
    as_by_torch(run(x), program(x))
    (report,) = last().programs.values()
    assert len(report.kernels) == 2 and not report.left
    changed = x.clone()
    for result in run(x):
        result.zero_()
    assert torch.equal(x, changed)

    small = torch.randn(4, 5, 6)
    for result, wanted in zip(run(small), program(small), strict=True):
        assert torch.equal(result, wanted) and result.stride() == wanted.stride()
    assert last().by_torch and not last().programs
    viewed = compiled(lambda x: x.permute(2, 1, 0))
    assert viewed(x).data_ptr() == x.data_ptr() and viewed(x).stride() == (1, 80, 5600)


def test_copies_that_lie_in_another_order_are_kernels() -> None:
    def program(x: Any) -> Any:
        return x.contiguous(memory_format=torch.channels_last)

    x = torch.randn(2, 64, 56, 56)
    as_by_torch([compiled(program)(x)], [program(x)])
    assert last().programs
