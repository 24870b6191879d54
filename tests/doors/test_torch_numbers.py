"""Numbers that change from call to call, which are inputs of one program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.doors.torch_graphs import compiled, fresh, graphs  # noqa: F401
from tests.sampling import some

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

COUNT = 11
"""More numbers than torch's compiler, or this backend, compiles a graph for."""

LINEAR = nn.Linear(8, 8)
X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def compared(program: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The reports of the graphs of a program, whose results are those of torch."""
    before, fast = len(graphs()), compiled(program)
    for arguments in calls:
        torch.testing.assert_close(fast(*arguments), program(*arguments))
    return [*graphs()[before:]]


def counts(graphs: Iterable[Any]) -> list[int]:
    """How many programs each graph has."""
    return [len(graph.programs) for graph in graphs]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_numbers_of_items_are_inputs(dtype: Any) -> None:
    """Torch makes a constant of the first one, and one graph for all others."""

    def program(x: Any, s: Any) -> Any:
        y, number = LINEAR(x), s.sum().item()
        return torch.relu(y * number) + (3 - number) / 2

    graphs = compared(program, [(X, torch.tensor([2 * k + 5]).to(dtype)) for k in range(COUNT)])
    assert counts(graphs) == [1, 1, 1]
    assert not any(graph.by_torch for graph in graphs)


def test_methods_of_a_number_are_computed() -> None:
    """Only `item` gives a number as it is."""

    def program(x: Any, s: Any) -> Any:
        return x * s.abs()

    compared(program, [(X, torch.tensor(-2.0, dtype=torch.float64))])


def test_numbers_are_operands() -> None:
    """All elementwise operations that take a number take it as torch rounds it."""

    def program(x: Any, s: float) -> Any:
        wide, at = x.float(), torch.full((4, 8), s)
        places = torch.where(x > s, x, s), x.masked_fill(wide < 0, s), s <= x
        more = torch.add(x, x, alpha=s), s + 8 - x, 1 / (wide.abs() + s), s ** wide.clamp(max=s)
        return *places, *more, x.clamp(-s, s), x * s, wide.abs() ** s, at * wide

    for dtype in some([torch.bfloat16, torch.float32], 2):
        torch._dynamo.reset()
        graphs = compared(program, [(X.to(dtype), k * 0.1 + 0.1) for k in range(COUNT)])
        assert counts(graphs) == [1, 1]


def test_integers_are_operands() -> None:
    def program(x: Any, i: Any, n: int) -> Any:
        return i + n, i * n, i > n, x * n, x / (n * 2), i * 0.5 + n

    graphs = compared(program, [(X, torch.arange(5), k + 3) for k in range(COUNT)])
    assert counts(graphs) == [1, 1]


def test_sizes_and_epsilons_are_constants() -> None:
    """A program is for one value of each; a number that is an operand is an input beside them."""

    def normed(x: Any, s: float, epsilon: float) -> Any:
        return functional.layer_norm(LINEAR(x) * s, (8,), None, None, epsilon)

    def part(x: Any, n: int, s: float) -> Any:
        return LINEAR(x)[:, :n] * s

    fast = compiled(normed, dynamic=True)
    for k in range(COUNT):
        arguments = (X, k * 0.3 + 0.1, (k % 2 + 1) * 1e-5)
        torch.testing.assert_close(fast(*arguments), normed(*arguments))
    compared(part, [(X, k % 6 + 2, k * 0.3) for k in range(COUNT)])


def test_what_decides_on_a_number_is_a_constant() -> None:
    def program(x: Any, s: float) -> Any:
        return LINEAR(x) * s if s > 0.5 else LINEAR(x) + s

    assert counts(compared(program, [(X, k * 0.1) for k in range(COUNT)])) == [1, 1, 1]


def test_numbers_that_only_count_are_results_of_python() -> None:
    """A cache's count of its tokens is such a number, and no operand of a kernel."""

    def program(x: Any, n: int, s: float) -> Any:
        return LINEAR(x), n + 1, None, LINEAR(x) * s, 2 * n

    graphs = compared(program, [(X, k + 3, k * 0.1 + 0.1) for k in range(COUNT)])
    assert counts(graphs) == [1, 1]
    assert not any(graph.by_torch for graph in graphs)


def test_numbers_in_parts() -> None:
    """The graph is cut where a size changes, and its parts take numbers."""

    def program(x: Any, cache: Any, s: float) -> Any:
        longer = torch.cat([cache, LINEAR(x) * s])
        return LINEAR(longer.mean(0)) * s + (1 - s) * x

    graphs = compared(program, [(X, torch.ones(k + 2, 8), k * 0.1 + 1) for k in range(COUNT)])
    assert [counts(graph.parts) for graph in graphs] == [[], [1, 1]]
    assert graphs[1].by_torch == "what depends on sizes that change: cat, mean"


def test_doubles_keep_their_digits() -> None:
    compared(lambda x, s: (x.double() * s, LINEAR(x)), [(X, k / 3) for k in range(COUNT)])


@torch._dynamo.config.patch(capture_scalar_outputs=True)  # type: ignore[untyped-decorator]
def test_items_within_a_graph() -> None:
    """Torch's compiler is asked to keep items in the graph."""
    y = torch.randn(8, generator=torch.Generator().manual_seed(2))
    graphs = compared(lambda x, s: LINEAR(x) * s.sum().item(), [(X, y), (X, 2 * y)])
    assert counts(graphs) == [1]
    graphs = compared(lambda x, s: LINEAR(x) * (s.sum().item() + 1), [(X, y), (X, 2 * y)])
    assert graphs[0].by_torch == "the number of an element is more than an operand"


def test_sizes_that_are_tensors_are_left_to_torch() -> None:
    s = torch.tensor(3)
    graphs = compared(lambda x, s: functional.pad(LINEAR(x), (s, 0)), [(X, s)])
    reason = "a size in it is the number of a tensor; torch.onnx.export"
    assert any(graph.by_torch.startswith(reason) for graph in graphs)
