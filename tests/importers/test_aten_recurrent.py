"""Graphs of recurrent layers of ATen programs compute what torch computes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.importers.aten_programs import compared, random, traced

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("form", [
    {}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False},
])  # fmt: skip
def test_recurrent_layers_are_steps(kind: Any, form: dict[str, Any]) -> None:
    """The outputs of all steps, and the last states, of states that are zeros or given."""
    layer = kind(8, 6, **form).eval()
    x, cells = random(3, 4, 8), 4 if form.get("bidirectional") else 1
    state = random(cells, 3 if form.get("batch_first") else 4, 6)
    states = (state, -state) if kind is nn.LSTM else state

    def results(x: Any, *given: Any) -> tuple[Any, ...]:
        outputs, last = layer(x, *given)
        return outputs, *(last if isinstance(last, tuple) else (last,))

    compared(results, x)
    compared(lambda x: results(x, states), x)


@pytest.mark.parametrize("form", [{}, {"bidirectional": True, "bias": False, "num_layers": 2}])
def test_outputs_of_recurrent_layers_are_projected(form: dict[str, Any]) -> None:
    layer = nn.LSTM(8, 6, proj_size=4, **form).eval()
    compared(lambda x: (layer(x)[0], *layer(x)[1]), random(3, 4, 8))


def test_relu_is_the_function_of_a_recurrent_layer() -> None:
    layer = nn.RNN(8, 6, nonlinearity="relu").eval()
    compared(lambda x: layer(x)[0], random(3, 4, 8))


def test_long_recurrent_layers_are_left_to_torch() -> None:
    """Longer than loops, of whose steps nothing is known."""
    layer = nn.LSTM(8, 6).eval()
    assert not traced(lambda x: layer(x)[0], random(129, 1, 8)).left
    assert "1025 steps" in traced(lambda x: layer(x)[0], random(1025, 1, 8)).left["lstm"]
