"""Graphs in torch.compile with gradients: whose results have any are PyTorch's."""

from __future__ import annotations

from typing import Any

from tests.doors.torch_graphs import (
    compiled,
    fresh,  # noqa: F401
    last,
    perceptron,
    torch,
)

nn = torch.nn


def test_gradients_are_left_to_torch() -> None:
    model, x = perceptron().train(), torch.randn(8, 32)
    with torch.enable_grad():
        compiled(model)(x).square().mean().backward()
    assert float(model.both[0][0].weight.grad.abs().max()) > 0
    assert "needs gradients" in last().by_torch


def test_graphs_whose_results_have_no_gradient_are_compiled() -> None:
    """As those of functions that switch gradients off themselves."""
    layer, x = nn.Linear(6, 4), torch.randn(3, 6)

    def inside(x: Any) -> Any:
        with torch.no_grad():
            y = layer(x).relu()
        return y, layer.weight

    def programs(f: Any) -> int:
        with torch.enable_grad():
            results, expected = compiled(f)(x), f(x)
        for ours, theirs in zip(results, expected, strict=True):
            torch.testing.assert_close(ours, theirs)
            assert ours.requires_grad is theirs.requires_grad
        return len(last().programs)

    assert programs(inside) == 1
    assert programs(lambda x: [layer(x).relu().detach()]) == 1
    assert programs(lambda x: [layer(x).relu(), x + 1]) == 0


def test_gradients_within_a_function_without_are_torchs() -> None:
    """As forces are derivatives of an energy, where a model runs without gradients."""
    layer, x = nn.Linear(6, 4), torch.randn(3, 6)

    def forces(x: Any) -> Any:
        with torch.enable_grad():
            place = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(layer(place).square().sum(), place)
        return x - slope

    torch.testing.assert_close(compiled(forces)(x), forces(x))


def test_what_is_detached_has_no_gradient_of_what_it_lies_in() -> None:
    """Neither that of an input, nor one that another result is made to have later."""

    def apart(x: Any) -> Any:
        y = x.detach().relu()
        return y.detach(), y, x.detach()

    with torch.enable_grad():
        for f in (apart, compiled(apart)):
            x = torch.randn(3, 6, requires_grad=True)
            place, y, same = f(x)
            place.requires_grad_()
            assert not y.requires_grad and not (y + 1).requires_grad and not same.requires_grad
            assert y.data_ptr() == place.data_ptr() and same.data_ptr() == x.data_ptr()
    assert len(last().programs) == 1


def test_changes_of_a_tensor_that_has_a_gradient_are_torchs() -> None:
    layer = nn.Linear(6, 6)

    def change(x: Any) -> None:
        x.add_(layer.weight[0])

    with torch.enable_grad():
        places = [torch.ones(3, 6, requires_grad=True) for _ in range(2)]
        for place, run in zip(places, (change, compiled(change)), strict=True):
            x = place * 2
            run(x)
            x.square().sum().backward()
    assert "changes a tensor that needs a gradient" in last().by_torch
    torch.testing.assert_close(places[1].grad, places[0].grad)
