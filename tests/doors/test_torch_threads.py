"""Models that several threads call for the first time, by the backend of torch.compile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from tests.doors.torch_graphs import (
    F32_TOLERANCE,
    compiled,
    error,
    fresh,  # noqa: F401
    graphs,
    last,
    perceptron,
)

torch = pytest.importorskip("torch")
nn = torch.nn

THREADS = 4


def test_threads_that_make_the_first_calls_together() -> None:
    model, x = perceptron(), torch.randn(8, 32)
    fast, together = compiled(model), Barrier(THREADS)

    def call(factor: int) -> Any:
        together.wait()
        with torch.no_grad():
            return fast(factor * x)

    with ThreadPoolExecutor(THREADS) as pool:
        results = [*pool.map(call, range(1, 1 + THREADS))]
    for factor, result in enumerate(results, 1):
        assert error(result, model(factor * x)) < F32_TOLERANCE
    assert all(graph.programs and not graph.by_torch for graph in graphs())


def test_a_recurrent_layer_in_another_thread() -> None:
    """Torch's settings are those of a thread."""
    model, x = nn.RNN(8, 8).eval(), torch.randn(2, 3, 8)
    fast = compiled(model)

    def call() -> Any:
        with torch.no_grad():
            return fast(x)

    with ThreadPoolExecutor(1) as pool:
        result, state = pool.submit(call).result()
    expected, last_state = model(x)
    assert error(result, expected) < F32_TOLERANCE
    assert error(state, last_state) < F32_TOLERANCE
    (program,) = last().programs.values()
    assert program.left == ()
