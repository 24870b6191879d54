"""The backend of torch.compile, and kernels as operations."""

from __future__ import annotations

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.doors.torch_graphs import (
    F32_TOLERANCE,
    compiled,
    error,
    fresh,  # noqa: F401
    last,
    perceptron,
)
from tests.sampling import rare

import morello
from morello.base.errors import CallError, FallbackWarning
from morello.graph.graph import TensorType, apply
from morello.graph.operators import Input, Reduce

torch = pytest.importorskip("torch")
door = pytest.importorskip("morello.torch")
values = pytest.importorskip("morello.torch.values")
nn, functional = torch.nn, torch.nn.functional

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_a_model_is_one_call_of_kernels() -> None:
    model, x = perceptron(), torch.randn(8, 32)
    fast = compiled(model)
    for _ in range(2):
        assert error(fast(x), model(x)) < F32_TOLERANCE
    (program,) = last().programs.values()
    assert (program.segments, program.left) == (1, ())
    assert "gelu(f32[8,32] @" in str(last())


class Recurrent(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.words, self.layer, self.last = nn.Embedding(50, 8), nn.LSTM(8, 16), nn.Linear(16, 50)

    def forward(self, ids: Any) -> Any:
        return self.last(self.layer(self.words(ids))[0])


def test_a_recurrent_network_is_one_call_of_kernels() -> None:
    """Importing the backend suffices: torch gives recurrent layers to no backend by itself."""
    model, ids = Recurrent().eval(), torch.randint(0, 50, (5, 2))
    assert error(compiled(model)(ids), model(ids)) < F32_TOLERANCE
    (program,) = last().programs.values()
    assert (program.segments, program.left) == (1, ())


def test_a_long_recurrent_layer_is_left_to_torch() -> None:
    model, ids = Recurrent().eval(), torch.randint(0, 50, (1025, 2))
    assert error(compiled(model)(ids), model(ids)) < F32_TOLERANCE
    (program,) = last().programs.values()
    assert [name for name, _ in program.left] == ["foreign lstm"]


class GraphNetwork(nn.Module):  # type: ignore[misc, name-defined]
    """Attention of nodes to those that edges [2, e] come from, and means of their neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.scores, self.last = nn.Linear(8, 16), nn.Linear(32, 1), nn.Linear(16, 4)

    def forward(self, x: Any, edges: Any) -> Any:
        h, (source, target), count = self.first(x), edges, x.shape[0]
        pairs = torch.cat([h[source], h[target]], -1)
        scores = functional.leaky_relu(self.scores(pairs)[:, 0], 0.2)
        top = torch.full((count,), -1e30).scatter_reduce(0, target, scores, "amax")
        shares = (scores - top[target]).exp()
        total = torch.zeros(count).index_add(0, target, shares)
        weighted = h[source] * (shares / total[target])[:, None]
        h = torch.zeros_like(h).scatter_add(0, target[:, None].expand(-1, 16), weighted)
        ends = torch.zeros(count).index_put((target,), torch.ones(()), accumulate=True)
        means = torch.zeros_like(h).index_add(0, target, h[source]) / ends.clamp(min=1)[:, None]
        return self.last(torch.relu(means))


def test_positions_are_counted_by_kernels() -> None:
    """Tokens are integers of 64 bits; f32 does not tell these from their neighbours."""

    def positions(ids: Any) -> Any:
        mask = ids.ne(2**24 - 1).int()
        return (torch.cumsum(mask, 1).type_as(mask) * mask).long() + 1, ids > 2**24 - 1

    near = torch.arange(2**24 - 16, 2**24 + 16)
    ids = torch.stack([near, near + 2**32, -near, near << 30])
    fast = torch.compile(positions, backend="morello")
    for found, wanted in zip(fast(ids), positions(ids), strict=True):
        assert torch.equal(found, wanted)
    (program,) = last().programs.values()
    assert program.left == ()


@rare
def test_a_network_of_graphs() -> None:
    model = GraphNetwork().eval()
    x, edges = torch.randn(20, 8), torch.randint(0, 20, (2, 70))
    fast = compiled(model)
    assert error(fast(x, edges), model(x, edges)) < F32_TOLERANCE
    (program,) = last().programs.values()
    assert program.left == ()


def test_inputs_may_lie_anyhow() -> None:
    model = perceptron()
    fast = compiled(model)
    wide = torch.randn(32, 16)
    for x in wide.T[::2], wide.T[:8].contiguous():
        assert error(fast(x), model(x)) < F32_TOLERANCE


class Decoder(nn.Module):  # type: ignore[misc, name-defined]
    """A step of attention with a cache of keys that grows, which are values too."""

    def __init__(self, changes: bool = False) -> None:
        super().__init__()
        self.inner, self.outer, self.norm = nn.Linear(8, 16), nn.Linear(8, 8), nn.LayerNorm(8)
        self.changes = changes

    def forward(self, x: Any, keys: Any) -> Any:
        query, key = self.inner(x).chunk(2, -1)
        turned, lanes = key.mT, key.mT.tanh()
        keys = torch.cat([keys, lanes.mT], 1)
        if self.changes:
            key.add_(keys.sum())
        keys = keys * lanes.mT.view(-1).std()  # as it lies in torch
        scores = (query @ keys.mT).softmax(-1)
        return self.norm(self.outer((scores @ keys).relu())) + turned.mT, keys


def test_few_shapes_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that read weights are: for one batch here, and for all lengths of a growing cache."""
    monkeypatch.setattr(sys.modules["morello.torch.backend"], "MOST_SHAPES", 1)
    model = Decoder().eval()
    fast = compiled(model, dynamic=True)
    with pytest.warns(FallbackWarning, match="for other shapes, as it is compiled for 1 shapes"):
        for batch in 3, 4:
            keys = torch.randn(batch, 3, 8)
            for _ in range(2):
                x = torch.randn(batch, 2, 8)
                (result, grown), (expected, keys) = fast(x, keys), model(x, keys)
                assert error(result, expected) < F32_TOLERANCE
                assert error(grown, keys) < F32_TOLERANCE
    assert [len(part.programs) for part in last().parts] == [1, 1]
    assert "1 shapes already" in str(last())
    assert "what depends on sizes that change: cat" in str(last())


def test_a_graph_that_changes_a_tensor_is_in_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tensor may be seen by another name in a part to which it would be given as a copy."""
    monkeypatch.delattr(sys.modules["morello.torch.program"], "compile_graph")
    fast = torch.compile(Decoder(changes=True), backend=door.backend, dynamic=True)
    fast(torch.randn(3, 2, 8), torch.randn(3, 3, 8))
    assert last().parts == ()


def test_what_kernels_cannot_do_is_left_to_torch() -> None:
    """The report has the reason, and the results are those of torch."""

    def program(x: Any, y: Any) -> Any:
        common = torch.mode(x @ y, -1)
        return common.values @ y[:8], common.indices, (x @ y).argmax(-1), None, 3

    x, y = torch.randn(8, 16), torch.randn(16, 16)
    results, expected = compiled(program)(x, y), program(x, y)
    assert error(results[0], expected[0]) < F32_TOLERANCE
    assert all(torch.equal(results[n], expected[n]) for n in (1, 2))
    assert results[3:] == (None, 3)
    (report,) = last().programs.values()
    assert ("foreign mode", "graphs have no such operation") in report.left


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda x: (x.double() @ x.double()).cos(), "no kernel"),
        (lambda x: (x @ x).to(torch.complex64), "a result is complex"),
        (lambda x: torch.sum(x.half(), 1, out=torch.zeros(4)), "changes"),
    ],
)
def test_some_graphs_are_run_by_torch(program: Any, reason: str) -> None:
    x = torch.randn(4, 4)
    torch.manual_seed(1)
    expected, changed = program(same := x.clone()), same
    torch.manual_seed(1)
    assert torch.equal(compiled(program)(x), expected)
    assert torch.equal(x, changed)
    assert reason in last().by_torch


def test_an_assertion_is_kept() -> None:
    def program(x: Any) -> Any:
        torch._assert_async((x > 0).all(), "not positive")
        return x @ x + 1

    x = torch.rand(8, 8)
    fast = compiled(program)
    for _ in range(2):
        assert error(fast(x), program(x)) < F32_TOLERANCE
        with pytest.raises(RuntimeError, match="not positive"):
            fast(x - 1)
    (report,) = last().programs.values()
    assert report.left == (("foreign _assert_async", "it raises an error if it does not hold"),)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (x[:0] @ x, torch.cat([x[:0], x]) @ x, functional.pad(x[:0], (1, 2))),
        lambda x: (x[:, :0] @ x[:0] + x @ x, x[32:].roll(1, 0), x[:0].sum(0), x[:0].softmax(1)),
    ],
)
def test_tensors_without_elements_are_left_alone(program: Any) -> None:
    x = torch.randn(32, 32)
    for result, expected in zip(compiled(program)(x), program(x), strict=True):
        torch.testing.assert_close(result, expected)
    assert len(last().programs) == 1


def test_results_are_written_where_the_program_says() -> None:
    def program(x: Any, place: Any) -> Any:
        own, numbers = torch.empty(32), torch.empty(32, dtype=torch.int64)
        torch.max(x @ x, 1, out=(own, numbers))
        torch.add(own, 1, out=own)
        return own, numbers, torch.mm(x, x.T, out=place) * 2

    x, place, same = torch.randn(32, 32), torch.zeros(32, 32), torch.zeros(32, 32)
    results, expected = compiled(program)(x, place), program(x, same)
    for each, wanted in zip((*results, place), (*expected, same), strict=True):
        torch.testing.assert_close(each, wanted)
    (report,) = last().programs.values()
    assert ("foreign copy_", "it changes an input") in report.left


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_sums_that_are_left_keep_their_dtype(dtype: str) -> None:
    x = torch.randint(0, 200, (6, 5)).to(getattr(torch, dtype))
    total = apply(Reduce("sum", (0,)), apply(Input(TensorType(x.shape, np.dtype(dtype)))))
    result = values.computing(total)(x)
    assert result.dtype == x.dtype
    assert torch.equal(result, x.sum(0, dtype=x.dtype))


def test_a_cache_is_changed_in_place() -> None:
    """Torch writes a graph's updates of its inputs before kernels read them."""

    def step(cache: Any, row: Any, place: Any) -> Any:
        cache.index_copy_(0, place, torch.relu(row))
        return row @ cache.T

    cache, expected = torch.zeros(8, 16), torch.zeros(8, 16)
    fast = compiled(step)
    for number in range(3):
        row, place = torch.randn(4, 16), torch.arange(number, number + 4)
        assert error(fast(cache, row, place), step(expected, row, place)) < F32_TOLERANCE
        assert error(cache, expected) < F32_TOLERANCE
    (report,) = last().programs.values()
    assert ("foreign index_copy_", "it changes an input") in report.left


def rows_of_a_cache(cache: Any, row: Any) -> Any:
    product = row @ cache.T
    cache[2:4] = row[:2]
    cache[:, 3].copy_(row[:, 0].repeat(2))
    return product, row @ cache.T


def through_a_view(cache: Any, row: Any) -> Any:
    flat = cache.view(-1)
    flat[5:9].mul_(2)
    flat.add_(1)
    return row @ cache.T, flat[:4] * 3


def written_at_a_place(cache: Any, row: Any) -> Any:
    place = torch.tensor([1, 6])
    cache[:, place] = row.T[:8, :2]
    return row @ cache.T


def step_by_step(cache: Any, row: Any) -> Any:
    results = []
    for n in range(3):
        cache[n] = row[n] + cache[n + 1]
        results.append(cache @ row.T)
    return torch.stack(results)


def within_one_buffer(cache: Any, row: Any) -> Any:
    keys, values = cache.view(2, 4, 16).unbind(0)
    keys[1:2].copy_(row[:1])
    values[1:2].copy_(keys[1:2] + 1)
    return (row @ keys.T) @ values


def one_change_of_what_another_gave(cache: Any, row: Any) -> Any:
    cache[0].add_(1).mul_(2)
    cache.add_(1).mul_(2)[1].sub_(3)
    return row @ cache.T


@pytest.mark.parametrize(
    "program",
    [
        rows_of_a_cache, through_a_view, written_at_a_place, step_by_step, within_one_buffer,
        one_change_of_what_another_gave,
    ],
)  # fmt: skip
def test_a_part_of_an_input_is_changed(program: Any) -> None:
    """Torch changes it in the order of the program; earlier readers read a copy."""
    cache, expected = torch.randn(8, 16), torch.zeros(8, 16)
    expected.copy_(cache)
    fast = compiled(program)
    for _ in range(2):
        row = torch.randn(4, 16)
        results, wanted = fast(cache, row), program(expected, row)
        every = (
            zip(results, wanted, strict=True) if isinstance(wanted, tuple) else [(results, wanted)]
        )
        for result, right in every:
            assert error(result, right) < F32_TOLERANCE
        torch.testing.assert_close(cache, expected)
    assert last().programs and not last().by_torch


def test_inputs_that_lie_in_each_other_are_left_to_torch_where_one_changes() -> None:
    def program(cache: Any, part: Any) -> Any:
        cache[1] = 2.0
        return part @ part.T

    fast = compiled(program)
    for shared in False, True, False:
        cache = torch.randn(8, 16)
        part = cache[:4] if shared else torch.randn(4, 16)
        changed = cache.clone()
        expected = program(changed, changed[:4] if shared else part)
        assert error(fast(cache, part), expected) < F32_TOLERANCE
        assert torch.equal(cache, changed)
    assert last().programs


def test_a_buffer_within_one_that_changes_is_no_constant() -> None:
    class Cache(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("whole", torch.zeros(8, 16))
            self.register_buffer("part", self.whole[2:6])

        def forward(self, x: Any) -> Any:
            self.whole[3] = x[0]
            return x @ self.part.T

    cache, other = Cache(), Cache()
    fast = compiled(cache)
    for _ in range(3):
        x = torch.randn(4, 16)
        assert error(fast(x), other(x)) < F32_TOLERANCE
        assert torch.equal(cache.whole, other.whole)


def test_results_may_be_views_of_inputs() -> None:
    """A change of the one is one of the other."""

    def program(x: Any, y: Any) -> Any:
        x[0] += 1
        grid = torch.meshgrid(y[0], y[1], indexing="ij")[1]
        return x.view(16, 4)[2:], x @ y, y.T, y.chunk(2)[1], grid

    x, y = torch.randn(8, 8), torch.randn(8, 8)
    expected = program(x.clone(), y)
    results = compiled(program)(x, y)
    for result, wanted in zip(results, expected, strict=True):
        assert error(result, wanted) < F32_TOLERANCE
        assert result.stride() == wanted.stride()
    x.zero_()
    assert not results[0].any() and results[1].any()
    results[2].zero_()
    assert not y.any()
    assert last().programs


def test_results_are_apart_where_those_of_torch_are() -> None:
    """Copies of inputs and of other results, which compute nothing, are apart as well."""

    def program(x: Any) -> Any:
        y = x @ x
        return x.clone(), x + 0, y, y * 1, y.T.contiguous()

    x = torch.randn(8, 8)
    before, results = x.clone(), compiled(program)(x)
    for result, wanted in zip(results, program(x), strict=True):
        assert error(result, wanted) < F32_TOLERANCE
    for number, result in enumerate(results):
        result.fill_(number)
    assert torch.equal(x, before)
    assert all((result == number).all() for number, result in enumerate(results))
    assert last().programs


def test_results_are_new_in_each_call() -> None:
    """So are results that are constants, or that an operation of torch alone changes."""

    def program(x: Any) -> Any:
        cache = torch.zeros(6, 8)
        cache.index_copy_(0, torch.arange(4), torch.relu(x @ x.T @ x))
        return cache, torch.ones(3), cache.sum()

    x = torch.randn(4, 8)
    fast = compiled(program)
    for _ in range(2):
        results = fast(x)
        for result, wanted in zip(results, program(x), strict=True):
            assert error(result, wanted) < F32_TOLERANCE
            result.fill_(7)
    assert last().programs


def test_an_input_is_read_before_it_is_changed() -> None:
    def program(x: Any) -> Any:
        before, same = x.exp(), x + torch.zeros(8, 8)
        x.add_(1)
        return before @ x, before + 1, same @ before

    x = torch.randn(8, 8)
    expected = program(changed := x.clone())
    for result, wanted in zip(compiled(program)(x), expected, strict=True):
        assert error(result, wanted) < F32_TOLERANCE
    assert torch.equal(x, changed)
    assert last().programs


def test_a_convolutional_network() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    ).eval()
    network[1].running_mean.uniform_(-1, 1)
    x = torch.randn(2, 3, 16, 16)
    assert error(compiled(network)(x), network(x)) < F32_TOLERANCE


@rare
def test_a_transformer_layer_in_bf16() -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).bfloat16().eval()
    x = torch.randn(2, 5, 32).bfloat16()
    assert error(compiled(layer)(x), layer.float()(x.float())) < 0.02


def test_a_mistake_of_the_compiler_leaves_the_graph_to_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(sys.modules["morello.torch.program"], "compile_graph", failing)
    model, x = perceptron(), torch.randn(8, 32)
    assert torch.equal(compiled(model)(x), model(x))
    assert last().by_torch == "the compiler failed with KeyError('lost')"


def test_wrong_options_are_refused() -> None:
    for wrong, said in (
        ({"options": {"bugdet": 1}}, "no option bugdet; did you mean budget"),
        ({"mode": "max-autotune"}, "no mode max-autotune"),
    ):
        with pytest.raises(Exception, match=said):
            torch.compile(torch.relu, backend=door.backend, **wrong)(torch.randn(4))


def test_the_backend_has_a_name() -> None:
    (entry,) = entry_points(group="torch_dynamo_backends", name="morello")
    assert entry.value == "morello.torch:backend"


def test_a_kernel_is_an_operation() -> None:
    """It takes tensors of any strides; torch.compile keeps it whole."""
    kernel = morello.compile("relu(f32[4,8] @ f32[8,6]{0,1})", gap=1.0)
    operation = door.call(kernel)
    assert door.call(kernel) is operation
    x, w = torch.randn(4, 8), torch.randn(6, 8)
    expected = torch.relu(x @ w.T)
    for given in w.T, w.T.contiguous():
        assert error(operation(x, given), expected) < F32_TOLERANCE
    with pytest.raises(CallError, match=r"torch.float32\[4, 7\]; it should be f32\[4,8\]"):
        operation(x[:, :7], w.T)
    whole = torch.compile(lambda x, w: operation(x, w) + 1, backend="eager", fullgraph=True)
    assert error(whole(x, w.T), expected + 1) < F32_TOLERANCE
    torch.library.opcheck(operation, (x, w.T))
    nowhere = x.to("meta"), w.T.to("meta")
    assert operation(*nowhere).device == nowhere[0].device
    with pytest.raises(CallError, match="it lies on meta, so pass one on the CPU"):
        kernel(*nowhere)
    with torch.enable_grad(), pytest.raises(CallError, match="a kernel has no gradient"):
        operation(x.requires_grad_(), w.T).sum().backward()


def test_a_kernel_of_bf16_is_an_operation() -> None:
    kernel = morello.compile("bf16[4,8] @ bf16[8,6] -> bf16[4,6]", gap=1.0)
    x, w = torch.randn(4, 8).bfloat16(), torch.randn(8, 6).bfloat16()
    result = door.call(kernel)(x, w)
    assert result.dtype is torch.bfloat16
    np.testing.assert_allclose(result.float(), x.float() @ w.float(), 0.02, 0.02)


def test_the_page_about_it() -> None:
    """Its code runs, and checks what it computes."""
    code = re.findall(r"``` { .python }\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(code) == 3
    names: dict[str, Any] = {}
    for block in code:
        exec(compile(block, PAGE.name, "exec"), names)
    assert isinstance(names["y"], torch.Tensor)


def test_results_are_dense_where_those_of_torch_are() -> None:
    """The caller may view them in another shape."""

    def turned(x: Any, w: Any) -> Any:
        y = x @ w
        return x.T.contiguous(), y.T.contiguous(), y.T, torch.relu(y)

    x, w = torch.randn(6, 8), torch.randn(8, 10)
    for result, expected in zip(compiled(turned)(x, w), turned(x, w), strict=True):
        torch.testing.assert_close(result, expected)
        assert result.is_contiguous() >= expected.is_contiguous()
