"""Exported programs of torch as functions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doors.torch_graphs import (
    F32_TOLERANCE,
    OPTIONS,
    error,
    fresh,  # noqa: F401
    perceptron,
)

from morello.base.errors import CallError, GraphError, SearchError

torch = pytest.importorskip("torch")
door = pytest.importorskip("morello.torch")
nn = torch.nn


def exported(model: Any, *arguments: Any, **named: Any) -> Any:
    return door.exported(torch.export.export(model, arguments, named), **OPTIONS)


def test_an_exported_model_is_one_call_of_kernels() -> None:
    model, x = perceptron(), torch.randn(8, 32)
    fast = exported(model, x)
    other = torch.randn(8, 32)
    for given in (x, other, other.T.contiguous().T):
        assert error(fast(given), model(given)) < F32_TOLERANCE
    assert fast.report.segments == 1
    assert not fast.report.left


class Several(nn.Module):  # type: ignore[misc, name-defined]
    """A model of tensors in containers and a number; one operation has no kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 8)
        self.register_buffer("offset", torch.randn(8))
        self.scale = torch.randn(8)  # neither parameter nor buffer

    def forward(self, pair: Any, factor: float, *, less: Any, more: Any) -> Any:
        a, b = pair
        y = self.layer(a + b) * self.scale + self.offset - less
        return {"y": y * factor, "rest": (torch.linalg.det(more), more)}


def test_containers_numbers_and_what_torch_computes() -> None:
    model = Several()
    given = [torch.randn(4, 16) for _ in range(2)], 0.5
    named = {"less": torch.randn(8), "more": torch.randn(3, 3)}
    fast = exported(model, *given, **named)
    expected = model(*given, **named)
    for order in (["less", "more"], ["more", "less"]):
        result = fast(*given, **{name: named[name] for name in order})
        assert error(result["y"], expected["y"]) < F32_TOLERANCE
        assert error(result["rest"][0], expected["rest"][0]) < F32_TOLERANCE
        assert result["rest"][1] is named["more"]
    with pytest.raises(CallError, match=r"argument 2 is 0\.25; .*exported for 0\.5"):
        fast(given[0], 0.25, **named)
    with pytest.raises(CallError, match="it takes 5 arguments, not 4"):
        fast(*given, more=named["more"])
    with pytest.raises(CallError, match="it takes arguments as"):
        fast(*given[0], 0.5, **named)


def test_arguments_of_other_types_are_refused() -> None:
    x = torch.randn(8, 32)
    fast = exported(perceptron(), x)
    with pytest.raises(CallError, match=r"argument 0 is torch.float32\[9, 32\]; .*\[8, 32\]"):
        fast(torch.randn(9, 32))
    with pytest.raises(CallError, match="float64"):
        fast(x.double())
    with pytest.raises(CallError, match="not dense on the CPU"):
        fast(x.to_sparse())
    with pytest.raises(CallError, match="it takes 1 argument, not 2"):
        fast(x, x)
    with torch.enable_grad(), pytest.raises(CallError, match="no gradient"):
        fast(x.clone().requires_grad_())


def test_shapes_that_were_free_are_those_of_the_export() -> None:
    model, x = perceptron(), torch.randn(8, 32)
    free = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    fast = door.exported(free, **OPTIONS)
    assert error(fast(x), model(x)) < F32_TOLERANCE
    with pytest.raises(CallError, match="exported for"):
        fast(torch.randn(4, 32))


def test_programs_that_change_tensors_are_refused() -> None:
    x = torch.randn(8, 4)
    with pytest.raises(GraphError, match=r"changes its parameters.*torch\.compile"):
        exported(nn.BatchNorm1d(4).train(), x)


def test_what_is_no_exported_program_and_options_that_there_are_not() -> None:
    with pytest.raises(CallError, match=r"torch\.export\.export"):
        door.exported(perceptron())
    with pytest.raises(SearchError, match="there is no option budgets"):
        door.exported(perceptron(), budgets=1)
