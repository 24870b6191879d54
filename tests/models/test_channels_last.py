"""Images with channels last: what is computed stays the same, and which images are left."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.models.test_compiled_graphs import agrees, constant, given
from tests.models.test_in_place import emulated

from morello.graph.graph import Graph, Node, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Attention,
    Concat,
    Conv,
    Dot,
    Map,
    Pooling,
    Reduce,
    Reshape,
    Transpose,
)
from morello.graph.partition import GraphPartition, by_rule
from morello.graph.patterns.expansion import EXPANSIONS
from morello.graph.patterns.groups import in_fuller_groups
from morello.graph.patterns.padding import STORED_PADDING
from morello.graph.rewriting import rewritten
from morello.importers.gaps import transposed_convolution
from morello.importers.normalizing import norm_of_groups
from morello.models.channels_last import channels_last, in_place_by_pixels
from morello.models.compiling import partitioned
from morello.models.schedule import Stage, StoredCall, schedule
from morello.targets import find_target


def conv(x: Node, filters: int, pixels: int, seed: int, groups: int = 1) -> Node:
    """A convolution with a bias and relu; padded so that no pixel is lost."""
    generator = np.random.default_rng(seed)
    weights = constant(generator, filters, x.shape[1] // groups, pixels, pixels)
    around = (pixels // 2,) * 2
    sums = apply(Conv((1, 1), around, around, (1, 1), groups), x, weights)
    return apply(Map("relu"), apply(Map("add"), sums, constant(generator, filters, 1, 1)))


def calls(partition: GraphPartition) -> tuple[StoredCall, ...]:
    (stage,) = schedule(partition)
    assert isinstance(stage, Stage)
    return in_place_by_pixels(stage).calls


def network(random: Random) -> Graph:
    """Convolutions, pools, joined and added images, of one or two inputs; then the means."""
    x = given(random.choice((1, 2)), 3, 9, 10)
    nodes = [conv(x, 16, 3, 0)]
    for seed in range(1, 7):
        node = random.choice(nodes[-2:])
        kind = random.choice(("pixel", "window", "add", "join", "pool", "exp"))
        if kind in ("pixel", "window"):
            node = conv(node, 16, 1 if kind == "pixel" else 3, seed)
        elif kind == "exp":
            node = apply(Map("tanh"), node)
        elif kind == "pool" and node.shape[2] > 2:
            pooling = random.choice(("max", "mean"))
            node = apply(Pooling(pooling, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), True), node)
        elif kind == "join":
            node = apply(Concat(1), node, conv(node, 16, 3, seed))
        else:
            other = conv(node, node.shape[1], 3, seed)
            node = apply(Map("relu"), apply(Map("add"), node, other))
        nodes.append(node)
    outputs = apply(Reduce("mean", (2, 3)), nodes[-1]), random.choice(nodes)
    return rewritten(rewritten(Graph((x,), outputs), EXPANSIONS), STORED_PADDING)


def test_random_networks() -> None:
    turned = 0
    for seed in range(40):
        graph = network(Random(seed))
        run = calls(by_rule(graph))
        turned += sum("NHWC" in call.spec.expression for call in run)
        x = np.random.default_rng(seed).uniform(-0.5, 0.5, graph.inputs[0].shape)
        for got, expected in zip(emulated(graph, x, run), evaluate(graph, [x]), strict=True):
            np.testing.assert_allclose(got, expected, 1e-9, 1e-9)
    assert turned > 80


def test_convolutions_read_and_write_pixels_with_all_channels() -> None:
    """The input has its channels first, as it is given; then it is padded."""

    def graph(size: int) -> Graph:
        x = given(1, 3, size, size)
        image = conv(conv(x, 16, 1, 0), 16, 3, 1)
        return Graph((x,), (apply(Reduce("mean", (2, 3)), image),))

    agrees(graph(6))
    run = calls(partitioned(graph(28), winograd=0))
    texts = [call.spec.expression for call in run if not call.copies]
    assert texts == [
        "relu(conv(transpose(f32[1,3,28,28], order=[0,2,3,1]), "
        "transpose(f32[16,3,1,1], order=[2,3,1,0]), layout=NHWC) + f32[16]) "
        "-> f32[1,28,28,16]{3,2,1,0}S(1,480,16,1)",
        "relu(conv(f32[1,30,30,16], transpose(f32[16,16,3,3], order=[2,3,1,0]), layout=NHWC) "
        "+ f32[16])",
        f"sum(sum(f32[16,28,28]{{0,2,1}}, axis=2), axis=1) * {1 / 784}",
    ]


def computed(graph: Graph, winograd: int = 0) -> list[str]:
    """The expressions of the calls of a graph of one input, whose results are right.

    Filters that Winograd's algorithm turns are rounded to f32.
    """
    error = 1e-5 if winograd else 1e-9
    partition = partitioned(graph, winograd=winograd, target="avx512")
    run = calls(partition)
    x = np.random.default_rng(0).uniform(-0.5, 0.5, graph.inputs[0].shape)
    for got, expected in zip(emulated(partition.graph, x, run), evaluate(graph, [x]), strict=True):
        np.testing.assert_allclose(got, expected, error, error)
    return [call.spec.expression for call in run if not call.copies]


@pytest.mark.parametrize(("size", "groups"), [(20, 16), (4, 16), (4, 4)])
def test_filters_of_groups_lie_as_their_images(size: int, groups: int) -> None:
    """They are stored in the padding of these, however large that is."""
    x = given(1, 16, size, size)
    image = conv(conv(conv(x, 16, 1, 0), 16, 3, 1, groups=groups), 16, 1, 2)
    texts = computed(Graph((x,), (apply(Reduce("mean", (2, 3)), image),)))
    (grouped,) = [text for text in texts if f"groups={groups}" in text]
    assert "NHWC" in grouped and "padding" not in grouped


def test_some_images_stay_in_rows() -> None:
    """An image that a kernel cannot read by pixels stays; smaller ones of the stage are turned."""
    x = given(1, 16, 12, 12)
    pooling = Pooling("max", (2, 2), (2, 2), (0, 0), (0, 0), (1, 1), True)
    image = conv(apply(pooling, conv(x, 16, 3, 0)), 16, 3, 1)
    graph = Graph((x,), (apply(Reduce("mean", (2, 3)), image),))
    partition = partitioned(graph, winograd=0, target="avx512")
    (stage,) = schedule(partition)
    assert isinstance(stage, Stage)
    large = {c.output.base for c in stage.calls if c.output.base.shape[2:] == (12, 12)}
    values = np.random.default_rng(0).uniform(-0.5, 0.5, x.shape)
    (wanted,) = evaluate(graph, [values])
    for rows, turned in ((), [True, True]), (large, [False, True]):
        run = in_place_by_pixels(stage, rows).calls
        (found,) = emulated(partition.graph, values, run)
        np.testing.assert_allclose(found, wanted, 1e-9, 1e-9)
        texts = [call.spec.expression for call in run]
        assert ["NHWC" in text for text in texts if "conv(" in text] == turned


def test_images_of_one_row_are_images_too() -> None:
    """A separable convolution of a signal: its channels are last, and its padding stored."""
    generator = np.random.default_rng(0)
    node = x = given(1, 16, 20)
    for groups, taps in ((16, 5), (1, 1), (1, 3)):
        around = (taps // 2,)
        filters = constant(generator, 16, 16 // groups, taps)
        node = apply(Map("relu"), apply(Conv((1,), around, around, (1,), groups), node, filters))
    texts = computed(Graph((x,), (apply(Reduce("mean", (2,)), node),)))
    windows = [text for text in texts if "conv" in text]
    assert len(windows) == 3
    assert all("NHWC" in text and "padding" not in text for text in windows)


def test_a_norm_of_groups_of_channels_reads_pixels() -> None:
    """Its means and variances, then a function of all elements, in their order in memory."""
    generator = np.random.default_rng(0)
    x = given(1, 3, 28, 28)
    scale, shift = (constant(generator, 16) for _ in range(2))
    normed = norm_of_groups(conv(x, 16, 3, 0), 4, scale, shift, epsilon=1e-5)
    image = conv(apply(Map("silu"), normed), 16, 3, 1)
    texts = computed(Graph((x,), (apply(Reduce("mean", (2, 3)), image),)))
    assert len(texts) == 9
    assert "silu(f32[28,28,16] * f32[16] + f32[16]) -> f32[28,28,16]{2,1,0}S(480,16,1)" in texts


def test_images_stay_in_rows_around_filters_that_leave_registers_empty() -> None:
    """So does what is added to them; but not what windows of others, or single pixels, read."""
    x = given(1, 16, 12, 12)
    before = conv(x, 16, 3, 0)
    image = conv(before, 32, 1, 1)
    doubled = apply(Map("add"), image, apply(Map("tanh"), image))
    graph = Graph((x,), (apply(Reduce("mean", (2, 3)), conv(conv(doubled, 24, 3, 2), 24, 1, 3)),))
    texts = computed(graph)
    windows = [text for text in texts if "f32[24,32,3,3]" in text]
    assert windows and all("NHWC" not in text for text in windows)
    assert [text for text in texts if "f32[16,16,3,3]" in text and "NHWC" in text]
    assert not [text for text in texts if "tanh" in text and "NHWC" in text]


def test_phases_have_their_channels_last_whatever_reads_their_image() -> None:
    x = given(1, 16, 8, 8)
    weight = constant(np.random.default_rng(0), 16, 16, 2, 2)
    cropped = Conv((2, 2), (1, 1), (0, 0), (1, 1))
    image = transposed_convolution(conv(x, 16, 1, 0), weight, cropped)
    texts = computed(Graph((x,), (conv(image, 3, 3, 1),)))
    assert [text for text in texts if "f32[64,16,1,1]" in text and "NHWC" in text]
    assert [text for text in texts if "f32[3,16,3,3]" in text and "NHWC" not in text]


def test_padding_of_equal_numbers_is_stored_again_and_again() -> None:
    x = given(1, 16, 28, 28)
    image = conv(conv(x, 16, 1, 0), 16, 3, 1)
    graph = Graph((x,), (apply(Reduce("mean", (2, 3)), image),))
    copies = [call.spec.expression for call in calls(partitioned(graph, winograd=0)) if call.copies]
    assert copies and all("broadcast(u32[16]" in text for text in copies)


@pytest.mark.parametrize(
    ("size", "dilation", "stride", "stored"),
    [
        (28, 1, 1, True),
        (14, 1, 1, False),
        (14, 1, 2, True),
        (32, 12, 1, False),
        (32, 18, 1, True),  # no window is whole
    ],
)
def test_padding_that_would_be_multiplied_much_is_not_stored(
    size: int, dilation: int, stride: int, stored: bool
) -> None:
    x, around = given(1, 2, size, size), (dilation,) * 2
    operator = Conv((stride,) * 2, around, around, (dilation,) * 2)
    weights = constant(np.random.default_rng(0), 2, 2, 3, 3)
    graph = Graph((x,), (apply(operator, x, weights),))
    (result,) = rewritten(graph, STORED_PADDING).outputs
    assert isinstance(result.operator, Conv)
    assert result.operator.before == ((0, 0) if stored else around)


def test_what_is_left() -> None:
    """Outputs, what is cut into other shapes, networks with groups, and what is no image."""
    x = given(1, 4, 6, 6)
    image = conv(x, 16, 3, 0)
    rows = apply(Map("exp"), apply(Reshape((16 * 9, 4)), image))
    grouped = conv(image, 8, 3, 1, groups=2)
    q = given(1, 4, 6, 8)
    heads = apply(Dot((), ((3, 0),)), q, constant(np.random.default_rng(0), 8, 8))
    for inputs, output in (
        ((x,), image), ((x,), rows), ((x,), grouped), ((q,), apply(Attention(1.0), heads, q, q)),
    ):  # fmt: skip
        graph = Graph(inputs, (output,))
        (stage,) = schedule(by_rule(graph))
        assert isinstance(stage, Stage)
        assert channels_last(stage) == stage


@pytest.mark.parametrize(
    ("isa", "channels", "groups", "joined"),
    [
        ("avx512", 48, (2,), [1]),  # of 24
        ("avx512", 32, (4, 1), [4, 1]),  # of 8, which share a register
        ("avx512", 36, (3,), [3]),  # of 12: four would be joined
        ("avx512", 72, (3,), [3]),
        ("avx512", 96, (4, 8), [4, 8]),  # in rows because of groups of 12
        ("avx2", 48, (2,), [2]),  # three registers
    ],
)
def test_groups_are_joined_that_fill_registers_together(
    isa: str, channels: int, groups: tuple[int, ...], joined: list[int]
) -> None:
    x = y = given(1, channels, 3, 4)
    for count in groups:
        y = conv(y, channels, 3, count, groups=count)
    graph = Graph((x,), (y,))
    other = in_fuller_groups(graph, find_target(isa))
    operators = [node.operator for node in other.nodes]
    assert [each.groups for each in operators if isinstance(each, Conv)] == joined
    values = [np.random.default_rng(0).standard_normal(x.shape)]
    (wanted,), (found,) = evaluate(graph, values), evaluate(other, values)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_images_that_have_their_channels_last_stay_so() -> None:
    """Products of pixels make them, whose rows are as long as there are channels."""
    x = given(1, 3, 32, 40)
    pixels = apply(Transpose((0, 2, 3, 1)), conv(x, 16, 3, 0))
    generator = np.random.default_rng(0)
    for _ in range(2):
        product = apply(Dot((), ((3, 0),)), pixels, constant(generator, 16, 16))
        pixels = apply(Map("relu"), product)
    image = conv(apply(Transpose((0, 3, 1, 2)), pixels), 16, 3, 1)
    texts = computed(Graph((x,), (apply(Reduce("mean", (2, 3)), image),)))
    assert "relu(f32[32,40,16] @ f32[16,16]) -> f32[32,40,16]{2,1,0}S(672,16,1)" in texts


@pytest.mark.parametrize(("channels", "rows"), [(24, True), (32, False)])
def test_depthwise_filters_and_pools_write_as_they_read(channels: int, rows: bool) -> None:
    """In rows where the filters before leave registers empty; pixels become such of one channel."""
    x = given(1, 3, 20, 20)
    image = conv(conv(x, channels, 3, 0), channels, 3, 1, groups=channels)
    pooling = Pooling("max", (2, 2), (2, 2), (0, 0), (0, 0), (1, 1), True)
    last = conv(apply(pooling, image), 16, 1, 2)
    texts = computed(Graph((x,), (apply(Reduce("mean", (2, 3)), last),)))
    along = [text for text in texts if "groups=" in text or "max_pool" in text]
    assert len(along) == 2
    assert not any("transpose(f32[1," in text for text in along)
    assert all(("NHWC" not in text) == rows for text in along)


def test_maps_of_products_that_are_stored_in_columns_are_rows_of_products() -> None:
    """A bias is then one of rows, and the factors change their places."""
    generator = np.random.default_rng(0)
    x = given(2, 20, 16)
    sums = apply(Dot((), ((2, 0),)), x, constant(generator, 16, 32))
    tokens = apply(Map("relu"), apply(Map("add"), sums, constant(generator, 32)))
    (text,) = computed(Graph((x,), (apply(Transpose((0, 2, 1)), tokens),)))
    product = 'einsum("amk,kn->anm", f32[2,20,16], f32[16,32])'
    assert text == f"relu({product} + expand_dims(f32[32], axis=1))"


def test_pixels_that_are_joined_to_rows_have_their_channels_last() -> None:
    """Those of a vision transformer do; no row after them counts as an image of one row."""
    generator = np.random.default_rng(0)
    x = given(1, 3, 6, 6)
    image = conv(x, 16, 3, 0)
    pixels = apply(Transpose((0, 2, 1)), apply(Reshape((1, 16, 36)), image))
    rows = apply(Concat(1), constant(generator, 1, 1, 16), pixels)
    rows = apply(Map("relu"), apply(Map("add"), rows, constant(generator, 37, 16)))
    product = apply(Dot((), ((2, 0),)), rows, constant(generator, 16, 16))
    texts = computed(Graph((x,), (apply(Map("add"), rows, product),)))
    assert texts[1:] == [
        "relu(f32[37,16] + f32[37,16])",
        "a = f32[37,16]; c = f32[16,16]; a + a @ c",
    ]


def test_tokens_that_a_convolution_makes_are_no_images() -> None:
    """A speech encoder's tokens are none: the kernel of its last convolution stores them."""
    generator = np.random.default_rng(0)
    x = given(1, 16, 20)
    filters = constant(generator, 16, 16, 3)
    signal = apply(Conv((1,), (1,), (1,), (1,), 1), x, filters)
    rows = apply(Map("add"), apply(Transpose((0, 2, 1)), signal), constant(generator, 20, 16))
    product = apply(Dot((), ((2, 0),)), rows, constant(generator, 16, 16))
    texts = computed(Graph((x,), (apply(Map("tanh"), product),)))
    assert texts[-1] == "tanh(f32[20,16] @ f32[16,16])"


def test_tokens_that_a_convolution_is_added_to_are_no_images() -> None:
    """The tokens are those of a product before it, and of a Conformer."""
    generator = np.random.default_rng(0)
    x = given(1, 24, 32)
    tokens = apply(Dot((), ((2, 0),)), x, constant(generator, 32, 32))
    within = apply(Dot((), ((2, 0),)), tokens, constant(generator, 32, 32))
    image = apply(Transpose((0, 2, 1)), within)
    filters = constant(generator, 32, 32, 1)
    turned = apply(Transpose((0, 2, 1)), apply(Conv((1,), (0,), (0,), (1,), 1), image, filters))
    added = apply(Map("add"), tokens, turned)
    output = apply(Map("tanh"), apply(Dot((), ((2, 0),)), added, constant(generator, 32, 8)))
    texts = computed(Graph((x,), (output,)))
    assert texts[0] == texts[1] == "f32[24,32] @ f32[32,32]"
    assert texts[-1] == "tanh(f32[24,32] @ f32[32,8])"


def test_sums_with_tiles_of_winograd_are_in_no_rows() -> None:
    """Although functions of them are, as a convolution by few filters reads these."""
    x = given(1, 64, 28, 28)
    first = conv(x, 64, 3, 0)
    image = apply(Map("add"), conv(first, 64, 3, 1), first)
    texts = computed(Graph((x,), (conv(apply(Map("tanh"), image), 3, 3, 2),)), winograd=2)
    outputs = [text for text in texts if "winograd_output" in text]
    assert len(outputs) > 2 and all("layout=NHWC" in text for text in outputs)
    assert "conv(f32[1,64,30,30], f32[3,64,3,3])" in texts[-1]


def test_pools_without_products_stay_in_rows() -> None:
    """Unless their image has its channels last already."""
    pooling = Pooling("max", (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), True)
    rows, pixels = given(1, 32, 9, 9), given(1, 9, 9, 32)

    def strides(image: Node, x: Node) -> tuple[int, ...]:
        twice = apply(pooling, apply(pooling, image))
        first, _ = calls(by_rule(Graph((x,), (twice,))))
        return first.output.strides

    assert strides(rows, rows) == (32 * 81, 81, 9, 1)
    assert strides(apply(Transpose((0, 3, 1, 2)), pixels), pixels)[1] == 1
