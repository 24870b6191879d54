"""Weights of PyTorch that change after a graph was compiled, which has them as constants."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.doors.torch_graphs import (
    F32_TOLERANCE,
    compiled,
    error,
    fresh,  # noqa: F401
    last,
    perceptron,
)

torch = pytest.importorskip("torch")
nn = torch.nn


def test_changes_of_weights_are_seen() -> None:
    """They change in place, by another tensor, and by other memory; then they are inputs."""
    model, x = perceptron(), torch.randn(4, 32)
    fast = compiled(model)
    linear = model.both[0][0]

    def replace() -> None:
        linear.weight = nn.Parameter(torch.randn(48, 32))

    def other_memory() -> None:
        linear.weight.data = torch.randn(48, 32)

    changes: list[Callable[[], Any]] = [lambda: linear.weight.mul_(-2), replace, other_memory]
    for change in (*changes, *changes):
        before = fast(x)
        change()
        assert error(fast(x), model(x)) < F32_TOLERANCE
        assert error(fast(x), before) > 0.01
    (program,) = last().programs.values()
    assert "f32[48,32]" in program.arguments


def test_changes_without_a_version_are_seen() -> None:
    """Changes by a fused optimizer, and of a norm's statistics in training, count no versions."""
    model, x = perceptron(), torch.randn(4, 32)
    model.both[1] = nn.BatchNorm1d(32)
    fast = compiled(model.eval())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)

    def optimize() -> None:
        with torch.enable_grad():
            model(x).square().sum().backward()
        optimizer.step()

    for change in (optimize, lambda: model.both[1].train()(x)):
        before = fast(x)
        change()
        model.eval()
        assert error(fast(x), model(x)) < F32_TOLERANCE
        assert error(fast(x), before) > 0.01


class Table(nn.Module):  # type: ignore[misc, name-defined]
    """A product by a buffer that does not lie row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(48, 16).T[:, ::2])

    def forward(self, x: Any) -> Any:
        return torch.relu(x @ self.table)


def test_changes_of_buffers_with_gaps_are_seen() -> None:
    model, x = Table(), torch.randn(4, 16)
    fast = compiled(model)
    for _ in range(2):
        assert error(fast(x), model(x)) < F32_TOLERANCE
        model.table.data.mul_(2)
    assert error(fast(x), model(x)) < F32_TOLERANCE


def test_norms_in_training_change_their_statistics() -> None:
    """Nothing else changes: a bias and means, both of zeros, are one constant to kernels."""
    instance = nn.InstanceNorm1d(4, track_running_stats=True)
    apart = nn.Unflatten(1, (4, 4))
    model = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), apart, instance, nn.ReLU()).train()
    with torch.no_grad():
        model[1].bias.zero_()
    other = copy.deepcopy(model)
    fast = compiled(model)
    for _ in range(2):
        x = torch.randn(32, 16)
        assert error(fast(x), other(x)) < F32_TOLERANCE
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, other.state_dict()[name], msg=name)
    assert not last().by_torch and "batch_norm" not in str(last())
