"""The first call of a compiled graph is compared with PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doors.torch_graphs import compiled, fresh, last, torch  # noqa: F401 (fresh is a fixture)

from morello.base.errors import FallbackWarning


def _mistaken(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """From now on, programs of graphs change their results by mistake."""
    from morello.torch.program import TorchProgram

    right = TorchProgram.__call__
    monkeypatch.setattr(TorchProgram, "__call__", lambda self, inputs: change(right(self, inputs)))


def _raised(results: Any) -> Any:
    raise ValueError("wrong")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda results: (results[0] * 1.1, *results[1:]), "error of 1.0e-01"),
        (lambda results: (results[0] * float("nan"), *results[1:]), "error of inf"),
        (lambda results: (results[0][:1], *results[1:]), "in place of torch.float32"),
        (lambda results: (results[0].double(), *results[1:]), "in place of torch.float32"),
        (_raised, "ValueError"),
    ],
    ids=["elements", "no_numbers", "shape", "dtype", "exception"],
)
def test_a_mistake_leaves_the_graph_to_torch(
    monkeypatch: pytest.MonkeyPatch, change: Any, said: str
) -> None:
    def layer(x: Any) -> Any:
        return torch.tanh(x @ x.T)

    x = torch.randn(8, 16)
    expected, fast = layer(x), compiled(layer)
    _mistaken(monkeypatch, change)
    with pytest.warns(FallbackWarning, match=said):
        first = fast(x)
    assert torch.equal(first, expected) and torch.equal(fast(x), expected)
    assert said in str(last())


def test_integers_are_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    def bits(x: Any) -> Any:
        return (x * 3 + 1) & 0xFF

    x = torch.arange(64, dtype=torch.int32)
    fast = compiled(bits)
    _mistaken(monkeypatch, lambda results: (results[0] + 1,))
    with pytest.warns(FallbackWarning, match="other elements of int32"):
        assert torch.equal(fast(x), bits(x))


def test_indices_that_rounding_does_not_change_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def first(x: Any, w: Any) -> Any:
        return (x @ w).argmax(1)

    torch.manual_seed(0)
    x, w = torch.randn(8, 16), torch.randn(16, 16)
    w[:, 9] = w[:, 3] = 4 * x[0]
    fast, tied = compiled(first), compiled(lambda x, w: first(x, w) + 0)
    _mistaken(monkeypatch, lambda results: (torch.where(results[0] == 3, 9, results[0]),))
    assert tied(x, w)[0] == 9
    _mistaken(monkeypatch, lambda results: (results[0] - 1,))
    with pytest.warns(FallbackWarning, match="other elements of int64"):
        assert torch.equal(fast(x, w), first(x, w))


def test_a_call_that_torch_refuses_is_not_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def divided(x: Any, y: Any) -> Any:
        return x // y * 3

    x, fast = torch.arange(16, dtype=torch.int32), compiled(divided)
    _mistaken(monkeypatch, lambda results: (results[0] + 1,))
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        fast(x, 0 * x)
    with pytest.warns(FallbackWarning, match="other elements of int32"):
        assert torch.equal(fast(x, x + 2), divided(x, x + 2))


def test_what_a_call_changed_by_mistake_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(x: Any, cache: Any) -> Any:
        cache[:, 2:4] = torch.tanh(x @ x.T)[:, :2]
        return (cache * 2 + x.sum()).relu()

    x, cache = torch.randn(8, 16), torch.randn(8, 10)[:, 1:9]  # in a larger storage
    copy = cache.clone()
    expected, fast = step(x, copy), compiled(step)
    _mistaken(monkeypatch, lambda results: tuple(each.neg() for each in results))
    with pytest.warns(FallbackWarning):
        torch.testing.assert_close(fast(x, cache), expected)
    torch.testing.assert_close(cache, copy)
    torch.testing.assert_close(fast(x, cache), step(x, copy))


def test_random_numbers_after_a_mistake_are_those_of_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def noisy(x: Any) -> Any:
        return torch.tanh(x @ x.T) + torch.rand(8, 8)

    x, fast = torch.randn(8, 16), compiled(noisy)
    _mistaken(monkeypatch, _raised)
    torch.manual_seed(0)
    with pytest.warns(FallbackWarning, match="ValueError"):
        ours = fast(x), torch.rand(1)
    torch.manual_seed(0)
    torch.testing.assert_close(ours, (noisy(x), torch.rand(1)))


def test_a_call_changes_its_arguments_and_draws_numbers_once() -> None:
    def step(x: Any, cache: Any) -> Any:
        cache += torch.tanh(x @ x.T)
        return cache + torch.rand(8, 8)

    x, cache = torch.randn(8, 16), torch.randn(8, 8)
    copy = cache.clone()
    fast = compiled(step)
    for seed in range(2):
        torch.manual_seed(seed)
        ours = fast(x, cache), torch.rand(1)
        torch.manual_seed(seed)
        torch.testing.assert_close(ours, (step(x, copy), torch.rand(1)))
    torch.testing.assert_close(cache, copy)
    assert last().programs


def test_an_infinity_of_narrow_numbers_is_no_mistake() -> None:
    def product(x: Any, y: Any) -> Any:
        return (x @ y) * 0.001 + x

    x = torch.full((16, 16), 200.0, dtype=torch.float16)
    fast = compiled(product)
    fast(x, x)  # PyTorch rounds the product to infinity
    assert last().programs and not last().by_torch
