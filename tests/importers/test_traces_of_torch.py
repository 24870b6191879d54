"""Traces of torch's compiler: changes in place, and what torch takes apart, are graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.graph.graph import check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Concat, Constant, Dot, Foreign, Input, Map
from morello.graph.rewriting import simplified

torch = pytest.importorskip("torch")

from tests.importers.aten_programs import BATCH, operators, random, traced  # noqa: E402

functional = torch.nn.functional


def rows_of_zeros(x: Any) -> Any:
    y = torch.zeros(4, 8)
    y[1:3, 2:5] = x[1:3, 2:5]
    z = y + 1
    y[0] = x[1]
    return y, z


def every_second(x: Any) -> Any:
    y = torch.empty(4, 8)
    y[:, 0::2], y[:, 1::2] = x[:, 1::2], -x[:, ::2]
    return y


def one_after_the_other(x: Any) -> Any:
    y = torch.zeros(4, 8)
    for n in range(8):
        y[:, n] = x[:, n] * y[:, n - 1] + 1
    return y


def through_views(x: Any) -> Any:
    y = (x * 2).t()
    rows = y[2:]
    rows.add_(1)
    row = rows[:, 1]
    row.mul_(3)
    return y, rows * 1, row + 0


def mask_of_windows(x: Any) -> Any:
    mask = torch.zeros(8, 8)
    for n, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
        mask[rows, 1:7] = n
    return x @ mask


def places_named(x: Any) -> Any:
    y = x * 1
    y[[0, 2], [1, 3]] = x[0, :2]
    y[torch.tensor([True, False, False, True])] = x[1:3]
    y[:, [6, 4]] = 5
    y[y > 1] = 0
    return y


def no_elements(x: Any) -> Any:
    """A loop over the rows of a triangle may start with a row of none."""
    y = x * 1
    y[:, :0] = x[:, 2:2] * 2
    y[:0] += 1
    return y


def scattered(x: Any) -> Any:
    return (
        torch.slice_scatter(x, x[:, 2:4] * 2, 1, 5, 7),
        torch.select_scatter(x, x[1] + 1, 0, 2),
        x.index_fill(0, torch.tensor([1, 3]), 7.0),
        x.index_copy(1, torch.tensor([3, 0]), x[:, :2] - 1),
    )


@pytest.mark.parametrize(
    "program",
    [
        rows_of_zeros, every_second, one_after_the_other, through_views, mask_of_windows,
        places_named, scattered, no_elements,
    ],
)  # fmt: skip
def test_parts_of_tensors_are_written(program: Any) -> None:
    x = random(*BATCH)
    result = traced(program, x)
    assert not result.left
    expected = program(x.clone())
    for graph in (result.graph, simplified(result.graph)):
        check(graph)
        values = evaluate(graph, [x.numpy()])
        every = expected if isinstance(expected, tuple) else (expected,)
        for value, tensor in zip(values, every, strict=True):
            np.testing.assert_allclose(value, tensor.numpy(), 1e-5, 1e-6)


def test_columns_written_one_after_the_other_are_joined_once() -> None:
    graph = simplified(traced(one_after_the_other, random(*BATCH)).graph)
    assert operators(graph).count(Concat) == 1


def test_known_parts_of_known_tensors_are_constants() -> None:
    graph = simplified(traced(mask_of_windows, random(*BATCH)).graph)
    assert operators(graph) == [Input, Constant, Dot]


APART: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "computed": lambda x, y: (
        torch.logaddexp(x, y), torch.logaddexp2(x.log(), y), torch.xlogy(x, y), torch.sinc(x),
        torch.deg2rad(x), torch.addr(x, y[:, 0], y[0]), *x.aminmax(), x.renorm(2, 0, 1.0),
        functional.huber_loss(x, y), functional.kl_div(x, y, reduction="sum"),
        (x > 0).count_nonzero(1), functional.selu(x), torch.chain_matmul(x, y.T, y),
        functional.bilinear(x, y, x[:2, :, None] * y[0]),
    ),
    "lost": lambda x, y: (
        functional.cross_entropy(x, x.argmax(1), label_smoothing=0.1),
        functional.nll_loss(x, x.argmin(1), reduction="none"),
        functional.binary_cross_entropy(x.sigmoid(), y.sigmoid()), functional.l1_loss(x, y),
        functional.binary_cross_entropy_with_logits(x, y), functional.soft_margin_loss(x, y.sign()),
        functional.triplet_margin_loss(x, y, x + y), functional.poisson_nll_loss(x, y),
    ),
    "measured": lambda x, y: (
        functional.pairwise_distance(x, y), torch.dist(x, y), torch.linalg.matrix_norm(x),
        torch.isclose(x, y, atol=1.0), x.nansum(1), x.nanmean(), (x @ y.T).trace(),
        x.quantile(0.3, 1),
        torch.linalg.matrix_power(x @ y.T, 3), x.sigmoid().logit(), torch.heaviside(x, y), y.sgn(),
    ),
    "rearranged": lambda x, y: (
        torch.hstack([x, y]), torch.vstack([x, y[0]]), torch.block_diag(x, y), torch.rot90(x),
        torch.diag_embed(x), torch.take_along_dim(x, y.argsort(1), 1), x.fliplr(), x.diff(),
        functional.affine_grid(x[:2, :6].reshape(2, 2, 3), (2, 3, 4, 5)), functional.glu(y),
        torch.kron(x[:2], y[:2]), torch.tensordot(x, y.T, 1), torch.trapezoid(x, y),
    ),
    "also taken apart": lambda x, y: (
        torch.vdot(x[0], y[0]), torch.inner(x, y), torch.linalg.vecdot(x, y), x.sum_to_size(1, 8),
        torch.diagflat(x[0]), torch.trapz(x), *torch.unsafe_chunk(x + 1, 2), torch.fft.fftshift(x),
        torch.fft.ifftshift(y, 1), torch.linalg.vander(x[0]), *torch.gradient(x),
        torch.isreal(x), torch.nanquantile(x, 0.3, 1),
        functional.cross_entropy(x.reshape(2, 4, 4), x[:2, :4].argsort(1), ignore_index=2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_what_torch_takes_apart_is_a_graph(name: str) -> None:
    arguments = random(*BATCH), random(1, *BATCH)[0].abs() + 0.1
    result = traced(APART[name], *arguments)
    assert not result.left
    values = evaluate(simplified(result.graph), [each.numpy() for each in arguments])
    for value, tensor in zip(values, APART[name](*arguments), strict=True):
        np.testing.assert_allclose(value, tensor.numpy(), 1e-5, 1e-6)


def layer(x: Any) -> Any:
    return functional.layer_norm((x @ x.mT).tanh(), x.shape[-2:-1]).softmax(-1)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.vmap(lambda row: (row * 2).softmax(-1))(x),
        lambda x: torch.func.jvp(layer, (x,), (x * 2,))[1],
        lambda x: torch.func.vjp(layer, x)[1](x[:, :4])[0],
        torch.func.grad(lambda x: functional.gelu(x).sum()),
        lambda x: torch.func.jacfwd(layer)(x[:3, :2]),
        torch.func.jacrev(lambda x: functional.silu(x.cumsum(1))),
        lambda x: torch.func.hessian(lambda row: row.tanh().square().sum())(x[0]),
    ],
)
def test_what_functions_of_functions_compute_is_a_graph(program: Any) -> None:
    x = random(*BATCH)
    result = traced(program, x)
    (value,) = evaluate(result.graph, [x.numpy()])
    assert not result.left
    np.testing.assert_allclose(value, program(x).numpy(), 1e-4, 1e-5)


def test_derivatives_in_what_torch_compiles_are_not_zeros() -> None:
    graphs = []

    def program(x: Any) -> Any:
        return torch.func.grad(lambda x: (x.sin() * x).sum())(x)

    def captured(module: Any, arguments: Any) -> Any:
        graphs.append(traced(module, *arguments).graph)
        return module

    x = random(*BATCH)
    torch.compile(program, backend=captured)(x)
    (graph,) = graphs
    np.testing.assert_allclose(evaluate(graph, [x.numpy()])[0], program(x).numpy(), 1e-5)


def test_an_element_is_a_vector_of_one() -> None:
    x, number = random(*BATCH), torch.tensor(2.0)

    def program(x: Any, number: Any) -> Any:
        place = torch.tensor(0)
        added = number.index_add(0, place, x[0, 0]), number.index_reduce(0, place, x[0, 1], "amax")
        return *added, number.scatter(0, place, x[0, 2]), x[:, :0].roll(1, 1)

    result = traced(program, x, number)
    assert not result.left
    values = evaluate(result.graph, [x.numpy(), number.numpy()])
    for value, tensor in zip(values, program(x, number), strict=True):
        np.testing.assert_allclose(value, tensor.numpy())


def test_linear_algebra_and_spectra_are_left_alone() -> None:
    def program(x: Any) -> Any:
        products = x @ x.T + 4 * torch.eye(4)
        triangle = torch.linalg.cholesky(products)
        values = torch.linalg.solve_triangular(triangle, x, upper=False) * 2
        return torch.linalg.inv(products) @ values, torch.fft.irfft(torch.fft.rfft(values)).relu()

    x = random(*BATCH)
    result = traced(program, x)
    check(result.graph)
    assert {*result.left} == {
        "fft_irfft", "linalg_cholesky", "linalg_inv", "linalg_solve_triangular"
    }  # fmt: skip
    assert {Dot, Map} <= {*operators(result.graph)}


def test_losses_of_several_labels_are_left() -> None:
    """PyTorch takes them apart into what adds the margins of places without a label."""
    labels = torch.tensor([[3, 0, -1, 1], [2, -1, 0, 0]])
    program = traced(lambda x: functional.multilabel_margin_loss(x, labels), torch.randn(2, 4))
    (loss,) = program.graph.outputs
    assert isinstance(loss.operator, Foreign) and loss.operator.name == "multilabel_margin_loss"
