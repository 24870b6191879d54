"""Graphs of ATen programs compute what torch computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.importers.aten_programs import (
    BATCH,
    compared,
    imported,
    no_infinite,
    operators,
    random,
    traced,
)

from morello.base.errors import GraphError
from morello.graph.graph import apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Attention,
    Concat,
    Conv,
    Dot,
    Foreign,
    Gather,
    Input,
    LayerNorm,
    Map,
)
from morello.graph.partition import by_rule
from morello.importers.building import GraphBuilder
from morello.ir.primitives import MAX_RANK
from morello.models.compiling import partitioned

torch = pytest.importorskip("torch")
aten = pytest.importorskip("morello.importers.aten")
aten_calls = pytest.importorskip("morello.importers.aten_calls")
tracing = pytest.importorskip("morello.torch.tracing")
nn, functional = torch.nn, torch.nn.functional
make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx


def test_a_perceptron_is_three_groups() -> None:
    layers = nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64), nn.LayerNorm(64)
    graph = compared(nn.Sequential(*layers), random(16, 64))
    partition = by_rule(graph)
    assert not partition.left
    assert len(partition.groups) == 3


def test_a_transformer_layer_keeps_its_attention_and_norms() -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu").eval()
    kinds = operators(compared(layer, random(2, 5, 32)))
    assert [kinds.count(kind) for kind in (Attention, LayerNorm, Dot)] == [1, 2, 4]


def layer_at_once(layer: Any, x: Any, mask: Any = None, kind: int | None = None) -> Any:
    """A transformer layer as the one operation that torch's compiler has for it."""
    attention, norms, linears = (
        layer.self_attn, (layer.norm1, layer.norm2), (layer.linear1, layer.linear2)
    )  # fmt: skip
    weights = [each for pair in (*norms, *linears) for each in (pair.weight, pair.bias)]
    out = attention.out_proj
    return torch._transformer_encoder_layer_fwd(
        x, attention.embed_dim, attention.num_heads, attention.in_proj_weight,
        attention.in_proj_bias, out.weight, out.bias, False, layer.norm_first, layer.norm1.eps,
        *weights, mask, kind,
    )  # fmt: skip


CAUSAL = torch.full((5, 5), -torch.inf).triu(1)
PADDING = torch.arange(5) >= torch.tensor([[5], [3]])
MASKS: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "causal": (CAUSAL, None),
    "bool": (CAUSAL < 0, None),
    "padding": (None, PADDING),
    "padding of floats": (None, torch.where(PADDING, -torch.inf, 0.0)),
    "both": (CAUSAL < 0, PADDING),
}


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_that_are_one_operation_are_taken_apart(norm_first: bool, masks: str) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=norm_first).eval()
    x, (rows, columns) = random(2, 5, 32), MASKS[masks]
    with torch.no_grad():
        mask, kind = layer.self_attn.merge_masks(rows, columns, x)
        program = make_fx(lambda x: layer_at_once(layer, x, mask, kind), pre_dispatch=True)(x)
        result = aten.imported(program, {})
        expected = layer(x, rows, columns)
    assert any("encoder_layer" in str(node.target) for node in program.graph.nodes)
    assert not result.left and operators(result.graph).count(Attention) == 1
    (value,) = evaluate(result.graph, [x.numpy()])
    np.testing.assert_allclose(value, expected.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("kind", [1, 2])
def test_masks_of_what_is_not_known_are_the_conditions_that_made_them(kind: int) -> None:
    """Torch makes masks of bool -inf, which no kernel computes with, and adds them."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()

    def attended(x: Any, padding: Any) -> Any:
        mask = torch.where(padding, -torch.inf, 0.0)
        if kind == 2:
            mask = CAUSAL.expand(2, 4, 5, 5) + mask[:, None, None]
        return layer_at_once(layer, x, mask, kind)

    x = random(2, 5, 32)
    with torch.no_grad():
        result = aten.imported(make_fx(attended, pre_dispatch=True)(x, PADDING), {})
        expected = attended(x, PADDING)
    assert not result.left
    assert no_infinite(result.graph)
    (value,) = evaluate(result.graph, [x.numpy(), PADDING.numpy()])
    np.testing.assert_allclose(value, expected.numpy(), 1e-4, 1e-5)


def test_convolutions_norms_and_poolings() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 2, padding="same", groups=8),
        nn.GroupNorm(2, 8),
        nn.Hardswish(inplace=True),
        nn.MaxPool2d(2),
        nn.AvgPool2d(3, 1, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    ).eval()
    for each in network[1].running_mean, network[1].running_var:
        each.uniform_(0.5, 2)
    assert operators(compared(network, random(2, 3, 32, 32))).count(Conv) == 2


def test_attention_with_masks() -> None:
    """Some masks hide a whole row, and some causal masks are not square."""
    attention = functional.scaled_dot_product_attention
    q, k = random(2, 4, 5, 8), random(2, 4, 7, 8)
    hiding = torch.ones(5, 7, dtype=torch.bool).tril(-1)

    def heads(q: Any, k: Any) -> tuple[Any, ...]:
        few = k[:, :2]
        return (
            attention(q, q, q, is_causal=True),
            attention(q, k, k, is_causal=True),
            attention(q, k, k, attn_mask=hiding),
            attention(q, k, k, attn_mask=hiding.logical_not() * 0.5, scale=0.1),
            attention(q, few, few, enable_gqa=True),
        )

    compared(heads, q, k)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, y: 2 / (1 + x.abs()) - torch.rsub(x, y, alpha=2) * 0.3 + x**3,
    "integers": lambda x, y: x * torch.arange(8) + torch.arange(4)[:, None],
    "comparisons": lambda x, y: torch.where((x > 0.1) & ~(y <= x), x, -y),
    "no numbers": lambda x, y: (
        (x / y.round()).nan_to_num(2.0, neginf=-3.0) + (x.round() / 0).nan_to_num().sign(),
        torch.isnan(0 / x.round()) * 4.0 + torch.isinf(1 / x.round()) * 2.0 + (1 / x).isfinite(),
        (x.round() * torch.nan).sign() + torch.sign(y),
    ),
    "of exp and log": lambda x, y: (
        x.sinh(), x.cosh(), x.tan(), y.asinh(), (y + 1).acosh(), (y * 0.9).atanh(), y.log10(),
        (y / 9).asin(), (x / 9).acos(), (9 * x).atan(), torch.atan2(x, 1 - y), torch.hypot(x, y),
    ),
    "diagonals": lambda x, y: (
        x.diagonal(1) * 2, x.diagonal(-2, 1, 0) * 2, (x @ y.T).diagonal().sum(),
        x[None].diagonal(0, 2, 1) * 2,
    ),
    "means with spreads": lambda x, y: (
        *torch.var_mean(x, 1), *torch.std_mean(y, (0, 1), correction=0, keepdim=True),
    ),
    "norms of orders": lambda x, y: tuple(
        torch.linalg.vector_norm(x, order, -1) for order in (1, 2, torch.inf, -torch.inf)
    ),
    "weighed": lambda x, y: torch.lerp(x, x + 1, y),
    "parts": lambda x, y: (torch.trunc(3 * x) + torch.frac(3 * y), torch.outer(x[0], y[1])),
    "on the way": lambda x, y: (torch.lerp(x, y, 0.3), torch.lerp(x, y, 0.7)),
    "reductions": lambda x, y: (x.sum(0), x.mean(), y.amax(1, keepdim=True), x.max(-1).values),
    "places": lambda x, y: (x.argmax(-1), y.min(0).indices, x.argmin()),
    "spread": lambda x, y: (x.std(-1), x.var(0, correction=0), functional.normalize(y)),
    "divided": lambda x, y: (
        torch.div(9 * x, y, rounding_mode="trunc"), 9 * x % 2, torch.fmod(9 * x, 4.0),
        9 * x % -0.7, -9 * x % y, torch.fmod(9 * x, y - 0.5), 5 % y, 9 * x // 0.7, -9 * x // y,
        torch.copysign(x, 0.5 - y), torch.copysign(x, -0.0), torch.fmax(x, y), torch.fmin(x, y),
        -x // 0.0,
        torch.addbmm(x, x[None, :, :4].expand(2, 4, 4), y[None].expand(2, 4, 8)), x.T[3:5] % 1,
    ),
    "far apart": lambda x, y: (
        torch.cdist(x, y[:3]), torch.cdist(x[None], y[None, :3], p=1), functional.pdist(x),
        torch.cdist(x, y, p=torch.inf),
    ),
    "up to each": lambda x, y: (
        x.cumprod(1), x.logcumsumexp(0), *torch.round(x).cummax(1), *(4 * x).cummin(0),
        torch.where(x > 1, torch.inf, torch.where(x < 0, -torch.inf, x)).logcumsumexp(1).exp(),
    ),
    "among bounds": lambda x, y: (
        torch.bucketize(x, y[0].sort().values), torch.searchsorted(x.sort().values, y, right=True),
        torch.bucketize(torch.round(x), torch.arange(-2.0, 3.0), right=True, out_int32=True),
        torch.bucketize(x.argmax(1), torch.tensor([2, 4, 4])),
    ),
    "softmax": lambda x, y: (x.softmax(0), y.log_softmax(-1)),
    "rms_norm": lambda x, y: functional.rms_norm(x, (8,), eps=1e-5),
    "activations": lambda x, y: (
        functional.mish(x), functional.elu(x), functional.leaky_relu(y), functional.softplus(y),
        functional.logsigmoid(x), functional.rrelu(x, training=False),
        functional.elu(y, 0.5), functional.hardsigmoid(x), functional.relu6(y), y.clamp(-1, 0.5),
    ),
    "joined": lambda x, y: torch.cat([torch.stack(x.chunk(2, -1), 1).sum(1), y[:, 1:7:2]], 1),
    "moved": lambda x, y: (x.T @ y, x.unsqueeze(1).expand(-1, 3, -1).reshape(-1, 8), x.flip(0)),
    "grown": lambda x, y: (functional.pad(x, (1, 2), value=0.5), y.repeat(2, 3), x.cumsum(-1)),
    "gathered": lambda x, y: (y[torch.tensor([3, -4])], x.index_select(1, torch.tensor([7, 0]))),
    "einsum": lambda x, y: (
        torch.einsum("bi,bj->bij", x, y), torch.einsum("bi,cj->cb", x, y),
        torch.einsum("...i,...i", x, y), torch.einsum("bi,ij,bj->b", x, y.T @ y, y),
        torch.einsum("ii->i", 2 * (x @ y.T)),
    ),
    "products": lambda x, y: (
        torch.addmm(y, x, x.T @ y, beta=0.5), x[None] @ y.T, x @ y[0], x[:, None] @ y[..., None],
    ),
    "triangles": lambda x, y: (x.tril(), y.triu(1), torch.full_like(x, 2.5) * y),
}  # fmt: skip


def test_an_element_along_a_dimension_is_a_vector_of_one() -> None:
    compared(
        lambda x, y, place: (
            x.cumsum(0), x.cumprod(-1), x.logcumsumexp(0), *x.max(0), x.argmin(-1), x.prod(0),
            x.softmax(0), x.index_fill(0, torch.tensor([0]), 3.0), x.std(0, False),
            x.unsqueeze(0) + y, *x.sort(0), x.amax(0, keepdim=True), *x.topk(1), x.flip(0),
            x.gather(0, place), x.scatter(0, place, y[0]), x.scatter_add(0, place, y[1]),
        ),
        torch.tensor(2.5), random(3), torch.tensor(0),
    )  # fmt: skip


def test_sums_of_windows_are_divided_by_the_number_that_is_given() -> None:
    """Also those of windows that reach beyond the image."""
    compared(
        lambda x: (
            functional.avg_pool2d(x, 2, ceil_mode=True, divisor_override=3),
            functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, divisor_override=4),
            functional.avg_pool2d(x, 3, 2, 1, False, False, 5),
            functional.avg_pool3d(x[None], 2, ceil_mode=True, divisor_override=5),
        ),
        random(2, 2, 5, 8),
    )


def test_pools_of_no_elements_are_left_to_torch() -> None:
    x = random(1, 2, 4, 4)
    assert imported(lambda x: functional.adaptive_avg_pool2d(x, (0, 2)), x).left


def test_means_of_integers_in_windows_are_left_to_torch() -> None:
    """They are quotients without a fraction."""
    x = torch.arange(-8, 8).reshape(1, 1, 4, 4)
    assert "of integers" in imported(lambda x: functional.avg_pool2d(x, 2), x).left["avg_pool2d"]


def test_results_of_other_shapes_than_those_of_torch_are_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(aten.HANDLERS, "exp", lambda call: call.reshape(call.x, (32,)))
    result = imported(lambda x: x.exp(), random(*BATCH))
    assert result.left == {"exp": "it became f32[32]; in torch it is f32[4,8]."}


def test_decimals_are_left_to_torch() -> None:
    result = imported(lambda x: torch.round(x, decimals=2), random(*BATCH))
    assert result.left == {"round": "round to decimals is left to torch."}


def test_floats_of_8_bits_are_left_to_torch() -> None:
    """Before and after, there are kernels; no cast to 8 bits and back is left out."""
    result = imported(lambda x: (x * 2).to(torch.float8_e4m3fn).float().exp(), random(4, 8))
    assert result.left == {"to": "no kernel computes floats of 8 bits."}
    names = [getattr(node.operator, "name", "") for node in result.graph.nodes]
    assert names.count("to") == 2 and {"multiply", "exp"} < {*names}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    compared(FUNCTIONS[name], random(*BATCH), torch.rand(BATCH) + 0.1)


def test_a_number_is_not_rounded_to_bf16() -> None:
    x = random(*BATCH).bfloat16()
    compared(lambda x: x.float() * 1 + x * 0.3, x, tolerance=4e-3)
    result = imported(lambda x: x * 0.3, x)
    (value,) = evaluate(result.graph, [aten.array_of(x)])
    np.testing.assert_allclose(value, x.double().numpy() * 0.3, 1e-7)


SEVERAL_MAPS: tuple[Callable[[Any], Any], ...] = (
    functional.elu, functional.hardsigmoid, functional.hardswish, functional.logsigmoid,
    functional.mish, functional.softplus, lambda x: torch.lerp(x, x, 0.3),
)  # fmt: skip


@pytest.mark.parametrize("function", SEVERAL_MAPS)
def test_what_is_several_maps_is_rounded_once(function: Callable[[Any], Any]) -> None:
    graph = imported(function, random(*BATCH).bfloat16()).graph
    dtypes = [node.dtype.name for node in graph.nodes]
    assert dtypes.count("bfloat16") == 2, graph  # what is given, and the result
    assert dtypes[0] == dtypes[-1] == "bfloat16"
    assert dtypes.count("float32") > 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_number_is_compared_as_the_dtype_rounds_it(dtype: Any) -> None:
    """0.1 and 0.3 are rounded to other numbers, to which they are then equal."""

    def program(x: Any) -> Any:
        return x > 0.1, x == 0.3, x <= 0.3, x < 0.1

    x = torch.tensor([0.1, 0.3, 0.5]).to(dtype)
    values = evaluate(imported(program, x).graph, [aten.array_of(x)])
    for value, expected in zip(values, program(x), strict=True):
        assert np.array_equal(value, expected.numpy())


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda x, y: x @ y,
    "linear": lambda x, y: functional.linear(x, y),
    "addmm": lambda x, y: torch.addmm(x, x, y),
    "addbmm": lambda x, y: torch.addbmm(x, x[None], y[None]),
    "bilinear": lambda x, y: functional.bilinear(x, x, y[None]),
    "conv2d": lambda x, y: functional.conv2d(x[None], y[None, None, :2, :2]),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64])
def test_products_of_dtypes_that_torch_refuses_are_left_to_it(name: str, dtype: Any) -> None:
    x, y = random(4, 4), random(4, 4).to(dtype)
    call = aten_calls.AtenCall(GraphBuilder(), name, {}, ())
    nodes = [apply(Input(aten_calls.type_of(each))) for each in (x, y)]
    given = {"a": nodes[0], "b": nodes[1], "tensors": nodes if name == "einsum" else ()}
    with pytest.raises(GraphError, match="is left to torch"):
        aten.HANDLERS[name](replace(call, arguments=given))
    with pytest.raises(RuntimeError):
        PRODUCTS[name](x, y)


def test_weights_lie_where_torch_has_them() -> None:
    layer = nn.Linear(8, 4).bfloat16()
    result = imported(layer, random(2, 8).bfloat16())
    addresses = {node.operator.array.ctypes.data for node in result.tensors}
    assert addresses == {p.data_ptr() for p in layer.parameters()}


def test_changes_in_place_are_seen() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        y += 1
        y.relu_()
        total = torch.zeros(BATCH)
        total.add_(y)
        total[:] = total + x
        return total - y

    compared(program, random(*BATCH))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: x.normal_() * 2, "draws random numbers into an input"),
        (lambda x: x.t_() * 2, "changes the shape of an input"),
        (lambda x: x.to(torch.complex64) * 1, "a result is complex"),
        (lambda x: [y := x * 2, y.copy_(torch.complex(x, x)), y][2], "writes complex numbers"),
    ],
)
def test_what_only_torch_can_run_is_refused(program: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        imported(program, random(*BATCH))


def test_random_numbers_are_drawn_in_order() -> None:
    """Torch draws each after the one before, so that a seed gives the same numbers as elsewhere."""

    def program(x: Any) -> Any:
        noise = torch.rand(BATCH)
        return functional.dropout(x.exp(), training=True) * torch.empty(BATCH).normal_() + noise

    x = random(*BATCH)
    graph = traced(program, x).graph
    draws = [node for node in graph.nodes if isinstance(node.operator, Foreign)]
    assert [node.operator.name for node in draws] == ["rand", "dropout", "normal_"]
    assert all(before in node.inputs for before, node in itertools.pairwise(draws))
    torch.manual_seed(0)
    values = [draws[0].operator.key()]
    values += [draws[1].operator.key(x.exp(), values[0])]
    values += [draws[2].operator.key(torch.zeros(BATCH), values[1])]
    torch.manual_seed(0)
    torch.testing.assert_close(values[1] * values[2] + values[0], program(x))


def test_known_masks_are_none_or_causal() -> None:
    attention = functional.scaled_dot_product_attention
    q = random(1, 2, 6, 8)
    for mask, causal in (torch.ones(6, 6), False), (torch.ones(6, 6).tril(), True):
        graph = compared(lambda q, m=mask: attention(q, q, q, attn_mask=m.bool()), q)
        (node,) = graph.outputs
        assert isinstance(node.operator, Attention)
        assert (node.operator.causal, len(node.inputs)) == (causal, 3)


@pytest.mark.parametrize("hidden", [float("-inf"), torch.finfo(torch.float32).min, -50.0])
@pytest.mark.parametrize("known", [True, False])
def test_rows_that_see_nothing_are_0_only_if_they_add_infinity(hidden: float, known: bool) -> None:
    """All columns of a row whose scores are the lowest number are seen alike."""
    attention = functional.scaled_dot_product_attention
    seen = torch.ones(6, 6).tril(-2).bool()
    mask = torch.where(seen, 0.0, hidden)
    mask[1, 2] = mask[3, 4] = -torch.inf
    if known:
        compared(lambda q: attention(q, q, q, attn_mask=mask), random(1, 2, 6, 8))
    else:
        compared(lambda q, m: attention(q, q, q, attn_mask=m), random(1, 2, 6, 8), mask)


def test_indices_that_are_apart_come_first() -> None:
    rows = torch.tensor([2, -1])
    compared(
        lambda x: (x[:, rows, :, rows - 1], x[rows, :, x[0, 0].argmax(0)[:2]]), random(3, 4, 5, 6)
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_one_size_are_reductions(mode: str) -> None:
    layer = nn.EmbeddingBag(9, 4, mode=mode)
    compared(lambda x: layer(x.argsort(-1)), random(3, 8))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_begin_at_offsets_that_are_given(mode: str) -> None:
    """One of them is empty, and a row of padding counts in none."""
    layer, plain = (nn.EmbeddingBag(9, 4, mode=mode, padding_idx=each) for each in (3, None))
    numbers, starts = torch.tensor([1, 3, 5, 3, 2, 8, 0]), torch.tensor([0, 2, 2, 5])
    compared(lambda i, o: (layer(i, o), plain(i, o)), numbers, starts)
    if mode == "sum":
        compared(lambda i, o, w: plain(i, o, w), numbers, starts, random(7))


def test_several_known_indices_are_one() -> None:
    def program(x: Any) -> Any:
        rows, columns = torch.arange(4)[:, None], torch.arange(8)[None]
        return x[rows, columns] * x[rows, -1 - columns]

    assert operators(compared(program, random(*BATCH))).count(Gather) == 1


def test_what_graphs_lack_is_foreign() -> None:
    result = imported(lambda x: x.lgamma().exp() + x, random(*BATCH))
    kinds = operators(result.graph)
    assert kinds.count(Foreign) == 1 and kinds.count(Map) == 2
    assert result.left == {"lgamma": "graphs have no such operation."}


def test_complex_numbers_stay_within_one_call_of_torch() -> None:
    def spectrum(x: Any) -> Any:
        return (torch.fft.fft(x * 2) * torch.exp(1j * x)).abs() + 1

    x = random(*BATCH)
    result = imported(spectrum, x)
    assert set(result.left.values()) == {"it reads complex numbers"}
    (call,) = (n for n in result.graph.nodes if isinstance(n.operator, Foreign))
    assert result.graph.outputs[0].inputs[0] is call
    torch.testing.assert_close(call.operator.key(x * 2, x), spectrum(x) - 1)


def test_large_constants_of_large_weights_are_known() -> None:
    weights = torch.nn.utils.parametrizations.weight_norm(nn.Linear(2100, 2100))
    result = imported(weights, random(1, 2100))
    assert not result.left
    assert Dot in operators(result.graph)


def test_paddings_below_zero_cut_off() -> None:
    compared(lambda x: functional.pad(x, (-2, 1, 1, -1), value=3), random(*BATCH))


def test_empty_parts_are_left_out() -> None:
    """A rotary embedding of all dimensions has such a part: it passes the rest on."""
    compared(lambda x: torch.cat([x[..., :8].exp(), x[..., 8:]], -1), random(*BATCH))


def test_zeros_without_memory_are_constants() -> None:
    """Derivatives of derivatives have some."""
    for dtype in (torch.float32, torch.bfloat16):
        array = aten.array_of(torch._efficientzerotensor(3, dtype=dtype))
        np.testing.assert_array_equal(array.astype(np.float32), np.zeros(3))


def test_opposites_that_are_not_computed_yet_are_arrays() -> None:
    for x in (random(3), random(3).bfloat16()):
        array = aten.array_of(torch._neg_view(x))
        np.testing.assert_array_equal(array.astype(np.float32), -x.float().numpy())


def test_parts_of_constants_may_be_numbers() -> None:
    sizes = torch.tensor([2.0, 3.0])
    compared(lambda x: x * sizes[1], random(*BATCH))


@pytest.mark.parametrize("kernel, stride, cut, more, groups", [
    (3, 2, 1, 1, 1), (2, 2, 0, 0, 2), (5, 3, 2, 0, 1), (4, 2, 1, 0, 1), (3, 1, 1, 0, 2),
])  # fmt: skip
def test_transposed_convolutions_are_convolutions(
    kernel: int, stride: int, cut: int, more: int, groups: int
) -> None:
    """They are convolutions of phases, so that no zeros between elements are multiplied."""
    layer = nn.ConvTranspose2d(4, 6, kernel, stride, cut, more, groups)
    kinds = operators(compared(layer, random(2, 4, 5, 6)))
    assert kinds.count(Conv) == 1


@pytest.mark.parametrize("dilation, stride", [((2, 1), (2, 3)), (3, 1)])
def test_taps_of_transposed_convolutions_may_be_apart(dilation: Any, stride: Any) -> None:
    layer = nn.ConvTranspose2d(4, 6, 3, stride, 2, dilation=dilation, groups=2)
    compared(layer, random(2, 4, 5, 6))


@pytest.mark.parametrize("padding, dilation", [((4, 1), 1), (6, (1, 2))])
def test_windows_of_convolutions_may_be_all_padding(padding: Any, dilation: Any) -> None:
    """No kernel has such windows, so what is more than those of filters is stored."""
    layer = nn.Conv2d(4, 6, 3, padding=padding, dilation=dilation)
    x = random(2, 4, 5, 6)
    partition = partitioned(compared(layer, x), target="avx512")
    assert {type(node.operator) for node in partition.left} == {Concat}
    expected = layer(x).detach().double().numpy()
    weights = [x.numpy()] * (len(partition.graph.inputs) == 1)
    np.testing.assert_allclose(evaluate(partition.graph, weights)[0], expected, 1e-5, 1e-5)


@pytest.mark.parametrize("batch, kernel, stride, groups", [
    (1, 2, 2, 1), (2, 3, 2, 2), (1, 4, (1, 2, 3), 1),
])  # fmt: skip
def test_volumes_are_placed_along_one_axis_after_the_other(
    batch: int, kernel: int, stride: Any, groups: int
) -> None:
    """No tensor has too many dimensions for a kernel then."""
    layer = nn.ConvTranspose3d(4, 6, kernel, stride, groups=groups)
    graph = compared(layer, random(batch, 4, 3, 2, 5))
    nodes = partitioned(graph, target="avx512").graph.nodes
    assert max(node.type.rank for node in nodes) <= MAX_RANK


LAYERS: dict[str, Any] = {
    "a cell of an LSTM": nn.LSTMCell(8, 6),
    "a cell of a GRU": nn.GRUCell(8, 6),
    "a cell without biases": nn.RNNCell(8, 6, bias=False, nonlinearity="relu"),
    "a plain cell": nn.RNNCell(8, 6),
    "parts that are exchanged": lambda x: x.roll((1, -3), (0, 1)) + x.roll(5),
    "cross products": lambda x: (
        torch.linalg.cross(x[:, :3], x[:1, 3:6]) + torch.cross(x[1:].T, x[:3].T)[:4]
    ),
    "repeated elements": lambda x: x.repeat_interleave(2, 0) * x.repeat_interleave(3).sum(),
    "slopes": nn.PReLU(8),
    "elements along a dimension": lambda x: x.gather(1, torch.tensor([[7, 0], [3, 2], [1, 1]])),
    "the largest place of all": lambda x: x * x.argmax(),
}


@pytest.mark.parametrize("program", LAYERS.values(), ids=list(LAYERS))
def test_layers_are_several_operators(program: Any) -> None:
    compared(program, random(*BATCH))
