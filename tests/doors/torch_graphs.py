"""Models that tests compile by the backend of torch.compile, and the reports of their graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from morello.memo.program_table import ProgramTable

torch = pytest.importorskip("torch")
door = pytest.importorskip("morello.torch")
nn = torch.nn

OPTIONS = {"budget": 0.5, "gap": 1.0, "table": ProgramTable(":memory:")}
"""Tests want any program, soon, and one that was found before does again."""

F32_TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Nothing compiled or reported before, the same weights each time, and no gradients."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    sys.modules["morello.torch.backend"]._reports.clear()
    with torch.no_grad():
        yield


def compiled(model: Any, *, dynamic: bool | None = None) -> Any:
    return torch.compile(model, backend=door.backend, options=OPTIONS, dynamic=dynamic)


def graphs() -> Any:
    """The reports of the graphs that the test compiled, the oldest first."""
    return door.report().graphs


def last() -> Any:
    """The report of the last graph."""
    return graphs()[-1]


def error(result: Any, expected: Any) -> float:
    """The largest, relative to the largest value."""
    difference = (result.double() - expected.double()).abs().max()
    return float(difference / expected.double().abs().max())


def perceptron() -> Any:
    """A perceptron with a residual."""
    layers = nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 32), nn.LayerNorm(32)
    first = nn.Sequential(*layers[:3])
    norm = layers[3]
    both = nn.ModuleList([first, norm])
    forward = lambda self, x: self.both[1](x + self.both[0](x))  # noqa: E731
    model = type("Perceptron", (nn.Module,), {"forward": forward})()
    model.both = both
    return model.eval()
