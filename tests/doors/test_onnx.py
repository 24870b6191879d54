"""ONNX models with kernels: ONNX Runtime computes with them what it did before."""

from __future__ import annotations

import ctypes
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph.nodes import given
from tests.onnx_text import parsed
from tests.pages import data_of

from morello.__main__ import run as run_command
from morello.base.errors import MorelloError
from morello.graph.graph import Array, Graph, Node, Operator, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    ArgReduce,
    Attention,
    Broadcast,
    Cast,
    Concat,
    Conv,
    Cumulate,
    Dot,
    Gather,
    LayerNorm,
    Map,
    Pad,
    Pooling,
    Reduce,
    Reshape,
    RmsNorm,
    Scatter,
    SegmentSum,
    Slice,
    Softmax,
    Transpose,
    Where,
)
from morello.graph.operators.elementwise import COMPARISONS, NUMPY
from morello.graph.partition import GraphPartition
from morello.ir.functions import BITWISE, ONLY_INTEGERS
from morello.measure.bounds import Peak

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.onnx import Conversion, convert  # noqa: E402
from morello.onnx.checking import largest_error  # noqa: E402
from morello.onnx.nodes import NodeWriter  # noqa: E402

F32, BOOL = np.dtype(np.float32), np.dtype(bool)


def weights(model: Any, *tensors: tuple[str, tuple[int, ...]]) -> Any:
    """The model with random constants of these names."""
    generator = np.random.default_rng(0)
    for name, shape in tensors:
        array = generator.uniform(-0.5, 0.5, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return model


def converted(model: Any, folder: Path, **options: Any) -> Conversion:
    """Convert a model, and check that it computes the same."""
    onnx.save(model, folder / "model.onnx")
    conversion = convert(folder / "model.onnx", folder / "fast.onnx", gap=1.0, **options)
    assert largest_error(folder / "model.onnx", conversion) < 1e-5
    return conversion


LAYER = """agraph (float[n, 16] x) => (float[n, 8] y, int64[n] best) {
    a = MatMul (x, w)
    b = Add (a, bias)
    c = Relu (b)
    d = Pow (c, c)
    y = Softmax <axis = -1> (d)
    best = ArgMax <axis = 1, keepdims = 0> (y)
}"""


def layer() -> Any:
    return weights(parsed(LAYER), ("w", (16, 8)), ("bias", (8,)))


def test_kernels_and_what_is_left_compute_the_same(tmp_path: Path) -> None:
    model = layer()
    for info in model.graph.output:
        info.ClearField("type")  # ONNX Runtime infers it
    conversion = converted(model, tmp_path, shapes={"x": (4, 16)})
    assert len(conversion.compiled.segments) == 2
    assert conversion.left == {"Pow": 1}
    names = {tensor.name for tensor in onnx.load(conversion.model).graph.initializer}
    assert not names & {"w", "bias"}  # only kernels read them


def test_the_library_is_found_again_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_TABLE", str(tmp_path / "programs"))
    first = converted(layer(), tmp_path, shapes={"x": (4, 16)})
    before = [path.read_bytes() for path in first.files]
    with monkeypatch.context() as patched:
        patched.setattr("morello.native.build.run_compiler", None)
        patched.setattr("morello.models.compiling.by_rule", None)
        again = converted(layer(), tmp_path, shapes={"x": (4, 16)})
    assert [path.read_bytes() for path in again.files] == before


def test_the_library_is_linked_from_the_objects_of_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_TABLE", str(tmp_path / "programs"))
    monkeypatch.setattr("morello.codegen.source.STACK_BYTES", 0)  # so that they have a workspace
    conversion = converted(layer(), tmp_path, shapes={"x": (4, 16)})
    kernels = [each for segment in conversion.compiled.segments for each in segment.kernels]
    assert any(kernel.workspace for kernel in kernels)
    library = conversion.library
    assert library is not None
    functions = ctypes.CDLL(str(library))
    assert hasattr(functions, "RegisterCustomOps")
    for kernel in kernels:
        assert kernel.symbol.encode() in library.read_bytes()
        assert not hasattr(functions, kernel.symbol)  # another library may have one, too


def test_other_shapes_and_other_libraries_are_refused(tmp_path: Path) -> None:
    conversion = converted(layer(), tmp_path, shapes={"x": (4, 16)})
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(conversion.library))
    session = runtime.InferenceSession(str(conversion.model), options)
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        session.run(None, {"x": np.zeros((5, 16), np.float32)})
    (tmp_path / "other").mkdir()
    other = converted(layer(), tmp_path / "other", shapes={"x": (5, 16)})
    with pytest.raises(Exception, match="Segment"):
        runtime.InferenceSession(str(other.model), options)


def test_branches_and_what_has_no_fixed_shape_are_left(tmp_path: Path) -> None:
    model = parsed(
        """agraph (float[4, 8] x, bool which) => (float[4, 8] z, int64[2, n] places) {
            s = Softmax (x)
            y = Mul (s, x)
            z = If (which) <
                then_branch = a () => (float[4, 8] p) { p = Exp (y) },
                else_branch = b () => (float[4, 8] q) { q = Neg (x) }
            >
            high = Relu (z)
            places = NonZero (high)
        }"""
    )
    conversion = converted(model, tmp_path)
    assert conversion.left["If"] == conversion.left["NonZero"] == 1


def test_the_branch_that_a_constant_chooses_is_part_of_the_model(tmp_path: Path) -> None:
    """So are its nodes that are left, or whose shapes are only known when the model runs."""
    model = parsed(
        """agraph (float[4, 8] x) => (float[4, 8] z, int64[2, n] places, float[4, 8] t) {
            s = Softmax (x)
            n = Size (s)
            which = Cast <to = 9> (n)
            z, places, t = If (which) <
                then_branch = a () => (float[4, 8] p, int64[2, n] q, float[4, 8] r) {
                    e = Exp (s)
                    p = Mul (e, x)
                    q = NonZero (p)
                    r = Pow (s, p)
                },
                else_branch = b () => (float[4, 8] p, int64[2, n] q, float[4, 8] r) {
                    p = Neg (x)
                    q = NonZero (p)
                    r = Identity (p)
                }
            >
        }"""
    )
    conversion = converted(model, tmp_path)
    assert {*conversion.left} == {"Identity", "NonZero", "Pow"}


def test_what_is_left_reads_what_is_simplified(tmp_path: Path) -> None:
    """The nodes of the graph are then others than those that the model was read as."""
    model = parsed(
        """agraph (float[4, 8] x, bool which) => (float[4, 8] y, float[4, 2] top) {
            a = Transpose (x)
            b = Transpose (a)
            s = Softmax (b)
            m = Pow (s, s)
            top = Compress <axis = 1> (s, wanted)
            z = If (which) <
                then_branch = t () => (float[4, 8] p) { p = Exp (s) },
                else_branch = e () => (float[4, 8] q) { q = Neg (m) }
            >
            y = Relu (z)
        }"""
    )
    wanted = onnx.numpy_helper.from_array(np.arange(8) < 2, "wanted")
    model.graph.initializer.append(wanted)
    conversion = converted(model, tmp_path)
    assert conversion.left["Pow"] == conversion.left["If"] == conversion.left["Compress"] == 1
    assert "Transpose" not in conversion.left


def test_what_an_old_version_has_no_operators_for_is_left_as_the_model_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a large table of which few elements are written: the places alone have a kernel."""
    model = parsed(
        """agraph (float[4, 6] x, int64[2, 6] at, float[2, 6] new) => (float[4, 6] y) {
            a = Softmax <axis = 1> (x)
            b = Scatter <axis = 0> (a, at, new)
            y = Softmax <axis = 1> (b)
        }""",
        version=10,
    )

    def without_scatters(partition: GraphPartition, *_: Any) -> GraphPartition:
        left = {g.output for g in partition.groups if isinstance(g.output.operator, Scatter)}
        groups = tuple(group for group in partition.groups if group.output not in left)
        return GraphPartition(partition.graph, groups, partition.light | left)

    monkeypatch.setattr("morello.models.compiling.without_light", without_scatters)
    conversion = converted(model, tmp_path, fuse_seconds=0)
    assert len(conversion.compiled.segments) == 2
    assert conversion.left == {"Scatter": 1}
    assert conversion.reasons == (("Scatter", "kernels compute only a part of it"),)


def test_what_is_left_may_be_an_output(tmp_path: Path) -> None:
    """It is computed once, though rules changed what it reads, and other nodes read it as well."""
    model = parsed(
        """agraph (float[4, 8] x) => (float[4, 8] y, float[4, 8] m) {
            e = Exp (x)
            a = Transpose (e)
            b = Transpose (a)
            m = Pow (b, b)
            y = Softmax (m)
            places = NonZero (m)
        }"""
    )
    assert converted(model, tmp_path).left["Pow"] == 1


def test_a_copy_of_a_view_may_be_an_output(tmp_path: Path) -> None:
    """The node that has the name of the output computes nothing."""
    model = parsed("""agraph (float[6, 4] x) => (float[2, 2, 6] y, float[6, 6] z) {
        a = Transpose (x)
        b = Reshape (a, shape)
        y = Identity (b)
        z = MatMul (x, a)
    }""")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 2, 6]), "shape"))
    converted(model, tmp_path)


def test_inputs_and_constants_may_be_outputs(tmp_path: Path) -> None:
    model = parsed(
        """agraph (float[2, 3] x)
            => (float[2, 3] same, float[2, 3] twice, float[3, 2] t, float[2] c) {
            same = Identity (x)
            y = Neg (x)
            twice = Neg (y)
            t = Transpose (twice)
            c = Constant <value = float[2] {1.0, 2.0}> ()
        }"""
    )
    converted(model, tmp_path)


def test_a_convolution_is_a_kernel(tmp_path: Path) -> None:
    model = parsed(
        """agraph (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w, b)
            c = Relu (a)
            y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
        }""",
        version=9,
    )
    conversion = converted(weights(model, ("w", (4, 3, 3, 3)), ("b", (4,))), tmp_path)
    assert conversion.compiled.segments


def test_a_quantized_model_is_the_same(tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    model = parsed("agraph (float[4, 16] x) => (float[4, 8] y) { y = MatMul (x, w) }")
    onnx.save(weights(model, ("w", (16, 8))), tmp_path / "wide.onnx")
    quantization.quantize_dynamic(tmp_path / "wide.onnx", tmp_path / "model.onnx")
    conversion = convert(tmp_path / "model.onnx", tmp_path / "fast.onnx", gap=1.0)
    assert largest_error(tmp_path / "model.onnx", conversion) < 1e-2


def test_large_weights_are_in_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morello.onnx.conversion.MOST_INSIDE", 1000)
    model = parsed("agraph (float[4, 64] x) => (float[4, 32] y) { y = MatMul (x, w) }")
    olds = [tmp_path / name for name in ("fast.onnx", "fast.so", "fast.onnx.data")]
    for path in olds:
        path.write_text("old")
    with ExitStack() as stack:
        readers = [stack.enter_context(path.open()) for path in olds]
        conversion = converted(weights(model, ("w", (64, 32))), tmp_path)
        assert [reader.read() for reader in readers] == ["old"] * 3  # a session may have them
    assert conversion.data is not None
    assert conversion.data.stat().st_size >= 64 * 32 * 4
    assert conversion.model.stat().st_size < 4096


def test_kernels_run_on_the_threads_of_the_session(tmp_path: Path) -> None:
    model = parsed("agraph (float[128, 256] x) => (float[128, 256] y) { y = MatMul (x, w) }")
    onnx.save(weights(model, ("w", (256, 256))), tmp_path / "model.onnx")
    conversion = convert(tmp_path / "model.onnx", tmp_path / "fast.onnx", threads=2, gap=0.5)
    (segment,) = conversion.compiled.segments
    assert [kernel.threads for kernel in segment.kernels] == [2]
    x = np.random.default_rng(0).uniform(-1, 1, (128, 256)).astype(np.float32)
    (expected,) = evaluate(conversion.compiled.graph, [x])
    for threads in (1, 3):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.register_custom_ops_library(str(conversion.library))
        session = runtime.InferenceSession(str(conversion.model), options)
        for _ in range(10):
            (result,) = session.run(None, {"x": x})
            np.testing.assert_allclose(result, expected, 1e-4, 1e-4)


def test_free_dimensions_and_equal_files_are_refused(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    for name in ("model.onnx", "model.so"):
        with pytest.raises(MorelloError, match="are one file"):
            convert(tmp_path / "model.onnx", tmp_path / name)
    with pytest.raises(MorelloError, match=r"dimension 0 of the input x \(n\) may have any size"):
        convert(tmp_path / "model.onnx", tmp_path / "fast.onnx")


def test_the_command_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    words = ["onnx", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "fast.onnx")]
    page = tmp_path / "model.html"
    peak = Peak({"f32": 100.0}, {2**20: 10.0})  # measuring that of this machine takes seconds
    monkeypatch.setattr("morello.models.reporting.host_peak", lambda threads: peak)
    words += ["--shape", "x=4x16", "--gap", "0.2", "--json", "--html", str(page)]
    monkeypatch.setattr(sys, "argv", ["morello", *words])
    run_command()
    about = json.loads(capsys.readouterr().out)
    assert about["files"] == [str(tmp_path / name) for name in ("fast.onnx", "fast.so")]
    assert (about["segments"], about["kernels"]) == (2, 3)
    assert about["error"] < 1e-5
    data = data_of(page.read_text())["data"]
    assert [kind for kind, _ in data["order"]] == ["kernel", "left", "kernel", "kernel"]
    assert [what for what, _ in data["left"]] == ["power"]
    assert all(kernel["measured"] > 0 for kernel in data["kernels"])


# ---- operators as nodes


def written(operator: Operator, *inputs: Node, version: int) -> tuple[Any, Node]:
    """A model of the nodes that an operator is written as, and the operator's node."""
    node = apply(operator, *inputs)
    count = iter(range(1000))
    writer = NodeWriter(version, lambda: f"v{next(count)}")
    names = [f"x{n}" for n in range(len(inputs))]
    result = writer.write(node, names)
    make, code = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype
    graph = make.make_graph(
        writer.nodes,
        "graph",
        [
            make.make_tensor_value_info(n, code(i.dtype), i.shape)
            for n, i in zip(names, inputs, strict=True)
        ],
        [make.make_tensor_value_info(result, code(node.dtype), node.shape)],
        writer.constants,
    )
    opsets = [make.make_opsetid("", version)]
    return make.make_model(graph, opset_imports=opsets, ir_version=8), node


X, HEADS = given(3, 4, 5), [given(2, 4, 6, 8) for _ in range(3)]
OPERATORS = {
    "where": (Where(), given(4, 5, dtype=BOOL), X, given(1, 5)),
    "cast": (Cast(np.dtype(np.int32)), X),
    "reshape": (Reshape((5, 12)), X),
    "transpose": (Transpose((2, 0, 1)), X),
    "broadcast": (Broadcast((2, 3, 4, 5)), given(4, 1)),
    "slice": (Slice((0, 1, 0), (3, 4, 5), (1, 1, 1)), X),
    "concat": (Concat(1), X, given(3, 2, 5)),
    "pad": (Pad((0, 1, 2), (1, 0, 0)), X, given(1)),
    "gather": (Gather(1), X, given(2, dtype=np.dtype(np.int64))),
    "matrices": (Dot((), ((1, 0),)), given(3, 4), given(4, 5)),
    "stacks": (Dot(((0, 1), (1, 2)), ((3, 3),)), HEADS[0], given(7, 2, 4, 8)),
    "vectors": (Dot((), ((0, 0),)), given(6), given(6)),
    "two sums": (Dot((), ((1, 0), (0, 2))), X, given(4, 2, 3)),
    "conv": (Conv((2, 1), (1, 0), (0, 2), (1, 2), 2), given(1, 4, 7, 9), given(6, 2, 3, 3)),
    "max pool": (Pooling("max", (3,), (2,), (1,), (0,), (2,)), given(2, 3, 9)),
    "mean pool": (Pooling("mean", (3, 2), (2, 1), (1, 0), (1, 1), (1, 1)), given(1, 2, 6, 5)),
    "counts": (Pooling("mean", (3, 2), (2, 1), (1, 0), (1, 1), (1, 1), True), given(1, 2, 6, 5)),
    "sum": (Reduce("sum", (0, 2)), X),
    "mean": (Reduce("mean", (1,), True), X),
    "largest": (Reduce("max", (2,)), X),
    "product": (Reduce("prod", (2,)), X),
    "place": (ArgReduce("max", 1, np.dtype(np.int32)), X),
    "sums": (Cumulate(1), X),
    "written rows": (Scatter("last"), given(3, 4), given(1, dtype=np.dtype(np.int32)), given(1, 4)),
    "softmax": (Softmax(1), X),
    "last softmax": (Softmax(2), X),
    "layer norm": (LayerNorm(1e-3), X, given(5), given(5)),
    "rms norm": (RmsNorm(1e-3), X, given(5)),
    "attention": (Attention(0.5), *HEADS),
    "causal": (Attention(0.5, True), *HEADS, given(6, 6)),
    "capped": (Attention(0.5, cap=0.3), *HEADS),
}


def agrees(operator: Operator, inputs: tuple[Node, ...], version: int, low: float = -1) -> None:
    model, node = written(operator, *inputs, version=version)
    generator = np.random.default_rng(0)
    arrays: list[Array] = [
        generator.integers(0, 2, i.shape).astype(i.dtype)
        if i.dtype.kind in "ib"
        else generator.uniform(low, 2, i.shape).astype(i.dtype)
        for i in inputs
    ]
    session = runtime.InferenceSession(model.SerializeToString())
    names = [each.name for each in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, arrays, strict=True)))
    (expected,) = evaluate(Graph(inputs, (node,)), arrays)
    assert (result.shape, result.dtype) == (node.shape, node.dtype)
    np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("version", [11, 13, 18])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_nodes(name: str, version: int) -> None:
    operator, *inputs = OPERATORS[name]
    assert isinstance(operator, Operator)
    agrees(operator, tuple(i for i in inputs if isinstance(i, Node)), version)


@pytest.mark.parametrize("kind", ["max", "min", "sum"])
def test_rows_are_combined_from_version_18_on(kind: str) -> None:
    inputs = given(3, 4), given(5, dtype=np.dtype(np.int32)), given(5, 4)
    agrees(Scatter(kind), inputs, 18)
    with pytest.raises(MorelloError, match=r"needs version 1[68] of ONNX's operators"):
        agrees(Scatter(kind), inputs, 13)


@pytest.mark.parametrize("operator", [*map(Scatter, ("last", "max", "sum")), SegmentSum(3)])
def test_rows_of_numbers_outside_are_left_out(operator: Operator) -> None:
    """ONNX Runtime alone takes -1 for the last row, and ends with an error for others."""
    numbers = np.array([2, -1, 3, -4, 7, 0, -(2**31)], np.int32)
    table, ids, rows = given(3, 4), given(7, dtype=numbers.dtype), given(7, 4)
    inputs = (rows, ids) if isinstance(operator, SegmentSum) else (table, ids, rows)
    model, node = written(operator, *inputs, version=18)
    generator = np.random.default_rng(0)
    arrays = [numbers if i is ids else generator.random(i.shape, F32) for i in inputs]
    session = runtime.InferenceSession(model.SerializeToString())
    names = [each.name for each in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, arrays, strict=True)))
    (expected,) = evaluate(Graph(inputs, (node,)), arrays)
    np.testing.assert_allclose(result, expected)


def test_segments_are_summed_from_version_16_on() -> None:
    inputs = given(5, 4), given(5, dtype=np.dtype(np.int32))
    agrees(SegmentSum(3), inputs, 16)
    with pytest.raises(MorelloError, match="needs version 16 of ONNX's operators"):
        agrees(SegmentSum(3), inputs, 13)


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_functions_are_nodes(name: str) -> None:
    logical, whole = name.startswith("logical"), name in ONLY_INTEGERS
    x = given(3, 4, dtype=BOOL if logical else np.dtype(np.int32) if whole else F32)
    binary = name in COMPARISONS or name in BINARY or (logical and name != "logical_not")
    if name == "cast":
        pytest.skip("it is an operator of its own")
    if name.endswith("shift"):
        pytest.skip("bits are shifted by less than their number in ONNX")
    inputs = (x, given(4, dtype=x.dtype)) if binary else (x,)
    agrees(Map(name), inputs, 18 if whole else 13, low=0.1)


@pytest.mark.parametrize("version", [11, 13])
@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_nan_compares_as_in_numpy(name: str, version: int) -> None:
    model, _ = written(Map(name), given(4), given(4), version=version)
    a, b = np.array([[np.nan, 1, 2, 3], [1, np.nan, 2, 4]], np.float32)
    session = runtime.InferenceSession(model.SerializeToString())
    names = [each.name for each in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, (a, b), strict=True)))
    np.testing.assert_array_equal(result, COMPARISONS[name](a, b))


def test_angles_are_nodes_in_all_quadrants() -> None:
    agrees(Map("atan2"), (given(3, 4), given(3, 4)), 13, low=-1.0)


BINARY = {
    "add",
    "atan2",
    *BITWISE,
    "divide",
    "leaky_relu",
    "maximum",
    "minimum",
    "multiply",
    "power",
    "remainder",
    "subtract",
}
