"""ONNX models: their inputs, versions, shapes, what is left, and files that are damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.onnx_text import parsed
from tests.sampling import some

from morello.base.errors import GraphError, MorelloError
from morello.graph.graph import Array
from morello.graph.interpreter import evaluate
from morello.graph.operators import (
    Concat,
    Conv,
    Dot,
    Foreign,
    Pad,
    Pooling,
    PrimitiveOperator,
    Reshape,
)
from morello.graph.partition import by_rule

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import import_model, read_model  # noqa: E402

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def agrees(
    model: Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    tolerance: float = 1e-4,
) -> list[Array]:
    """Check that a graph computes what ONNX Runtime does, on random numbers."""
    program = import_model(model, shapes)
    assert not program.rest
    generator = np.random.default_rng(seed)
    arrays = [
        generator.uniform(-2, 2, node.shape).astype(node.dtype) for node in program.graph.inputs
    ]
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options)
    expected = session.run(list(program.outputs), dict(zip(program.inputs, arrays, strict=True)))
    results = list(evaluate(program.graph, arrays))
    for result, wanted, node in zip(results, expected, program.graph.outputs, strict=True):
        assert (result.shape, node.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, tolerance, tolerance)
    return results


OLD = {
    "softmax flattens": (11, "y = Softmax <axis = 1> (x)"),
    "log-softmax flattens": (12, "y = LogSoftmax <axis = 2> (x)"),
    "softmax along its last axis": (13, "y = Softmax (x)"),
    "axes are attributes": (11, "a = Unsqueeze <axes = [0, 2]> (x)  y = Squeeze <axes = [0]> (a)"),
    "a slice by attributes": (9, "y = Slice <axes = [1, 2], starts = [1, -3], ends = [9, -1]> (x)"),
    "limits by attributes": (10, "y = Clip <min = -0.5, max = 0.75> (x)"),
    "a sum by attributes": (11, "y = ReduceSum <axes = [1], keepdims = 0> (x)"),
    "a mean by attributes": (17, "y = ReduceMean <axes = [-1, 0]> (x)"),
    "a padding by attributes": (10, "y = Pad <pads = [0, 1, 0, 2, 0, 1], value = 0.5> (x)"),
    "parts by attributes": (11, "y, z = Split <axis = 1, split = [1, 3]> (x)"),
    "dropout without a mask": (9, "y = Dropout <ratio = 0.5> (x)"),
}  # fmt: skip


@pytest.mark.parametrize("version, nodes", OLD.values(), ids=list(OLD))
def test_each_version_means_what_it_meant(version: int, nodes: str) -> None:
    model = parsed(f"agraph (float[3,4,5] x) => (float[a] y) {{ {nodes} }}", version)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    agrees(model)


def test_shapes_that_are_computed_are_constants() -> None:
    model = parsed(
        """agraph (float[batch, 6, 4] x) => (float[batch, heads, 6, n] y) {
            s = Shape (x)
            zero = Constant <value = int64[1] {0}> ()
            b = Gather (s, zero)
            rest = Constant <value = int64[3] {6, 2, -1}> ()
            shape = Concat <axis = 0> (b, rest)
            apart = Reshape (x, shape)
            y = Transpose <perm = [0, 2, 1, 3]> (apart)
        }"""
    )
    program = import_model(model, {"x": (3, 6, 4)})
    assert [type(node.operator).__name__ for node in program.graph.nodes] == [
        "Input", "Reshape", "Transpose",
    ]  # fmt: skip
    agrees(model, {"x": (3, 6, 4)})


def test_a_dimension_has_one_size() -> None:
    body = "agraph (float[n, 4] x, float[n, 4] y) => (float[n, 4] z) { z = Add (x, y) }"
    program = import_model(parsed(body), {"y": (3, 4)})
    assert [node.shape for node in program.graph.inputs] == [(3, 4), (3, 4)]
    with pytest.raises(GraphError, match=r"dimension 0 of the input x \(n\) may have any size"):
        import_model(parsed(body))
    with pytest.raises(GraphError, match="dimension 1 of x is 4, not 5"):
        import_model(parsed(body), {"x": (3, 5)})
    with pytest.raises(GraphError, match="no input 'w'; the inputs are x, y"):
        import_model(parsed(body), {"w": (3, 5)})
    with pytest.raises(GraphError, match="2 dimensions, and 1 are given"):
        import_model(parsed(body), {"x": (3,)})


def test_what_has_no_fixed_shape_is_the_rest() -> None:
    model = parsed(
        """agraph (float[4, 8] x) => (float[4, 8] y, int64[2, n] places) {
            y = Relu (x)
            places = NonZero (y)
        }"""
    )
    program = import_model(model)
    assert (program.outputs, program.carried) == (("y",), ())
    assert [node.op_type for node in program.rest] == ["NonZero"]
    assert program.left == (
        ("NonZero", "it is left to ONNX Runtime, and its shape is only known when it runs"),
    )


def test_branches_are_left_with_what_they_read() -> None:
    model = parsed(
        """agraph (float[4] x, bool which) => (float[4] z) {
            y = Relu (x)
            z = If (which) <
                then_branch = a () => (float[4] p) { p = Exp (y) },
                else_branch = b () => (float[4] q) { q = Neg (x) }
            >
        }"""
    )
    program = import_model(model)
    (node,) = program.graph.outputs
    assert isinstance(node.operator, Foreign)
    assert node.operator.key.captured == ("y", "x")  # type: ignore[attr-defined]
    assert node.inputs == tuple(program.values[name] for name in ("which", "y", "x"))


@pytest.mark.parametrize(
    "file", some(sorted(LIGHT.glob("*.onnx")), 2), ids=lambda file: file.stem[6:]
)
def test_known_networks_are_whole_graphs(file: Path) -> None:
    """Their weights are constants of a shape, so the tests can ship them."""
    program = import_model(read_model(file))
    assert not program.rest
    assert not program.left
    left = {type(node.operator) for node in by_rule(program.graph).left}
    without_kernels = {Concat, Conv, Dot, Foreign, Pad, Pooling}
    assert left <= without_kernels


def test_quantized_products_are_exact(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    w = onnx.numpy_helper.from_array(generator.uniform(-1, 1, (16, 8)).astype(np.float32), "w")
    model = parsed("agraph (float[4, 16] x) => (float[4, 8] y) { y = MatMul (x, w) }")
    model.graph.initializer.append(w)
    onnx.save(model, tmp_path / "model.onnx")
    quantization = pytest.importorskip("onnxruntime.quantization")
    quantization.quantize_dynamic(tmp_path / "model.onnx", tmp_path / "small.onnx")
    agrees(onnx.load(tmp_path / "small.onnx"))


class TestFiles:
    """Files that are damaged, or that reach out of their folder."""

    def model(self, location: str, **more: str) -> Any:
        """A model whose only constant lies in another file."""
        model = parsed("agraph (float[4] x) => (float[4] y) { y = Add (x, c) }")
        tensor = onnx.TensorProto(name="c", data_type=1, dims=[4], data_location=1)
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=value)
        model.graph.initializer.append(tensor)
        return model

    def test_data_may_lie_in_files_of_the_folder(self, tmp_path: Path) -> None:
        np.arange(8, dtype=np.float32).tofile(tmp_path / "data.bin")
        path = tmp_path / "model.onnx"
        path.write_bytes(self.model("data.bin", offset="16", length="16").SerializeToString())
        program = import_model(read_model(path))
        (result,) = evaluate(program.graph, [np.zeros(4, np.float32)])
        np.testing.assert_array_equal(result, [4, 5, 6, 7])

    @pytest.mark.parametrize("location", ["../data.bin", "/etc/hostname", "", "link", "a\0b", "."])
    def test_no_data_lie_elsewhere(self, tmp_path: Path, location: str) -> None:
        folder = tmp_path / "models"
        folder.mkdir()
        np.zeros(4, np.float32).tofile(tmp_path / "data.bin")
        (folder / "link").symlink_to(tmp_path / "data.bin")
        path = folder / "model.onnx"
        path.write_bytes(self.model(location).SerializeToString())
        with pytest.raises(GraphError, match="give a file in the model's folder"):
            read_model(path)

    @pytest.mark.parametrize("bounds", [{"offset": "8"}, {"length": "99"}, {"offset": "-1"},
                                        {"length": "x"}, {"length": "8"}])  # fmt: skip
    def test_data_are_as_long_as_they_should_be(
        self, tmp_path: Path, bounds: dict[str, str]
    ) -> None:
        np.zeros(4, np.float32).tofile(tmp_path / "data.bin")
        path = tmp_path / "model.onnx"
        path.write_bytes(self.model("data.bin", **bounds).SerializeToString())
        with pytest.raises(GraphError):
            import_model(read_model(path))

    def test_no_file_and_no_model(self, tmp_path: Path) -> None:
        with pytest.raises(GraphError, match="cannot be read: No such file"):
            read_model(tmp_path / "none.onnx")
        (tmp_path / "text.onnx").write_text("a text")
        with pytest.raises(GraphError, match=r"is no ONNX model|no valid ONNX model"):
            read_model(tmp_path / "text.onnx")

    @pytest.mark.parametrize("missing", ["type", "elements", "shape"])
    def test_values_may_have_no_type(self, tmp_path: Path, missing: str) -> None:
        model = parsed("agraph (float[2,3] x) => (float[2,3] z) <float[2,3] y> "
                       "{ y = Exp(x) z = Relu(y) }")  # fmt: skip
        for info in (*model.graph.output, *model.graph.value_info):
            if missing == "type":
                info.ClearField("type")
            else:
                info.type.tensor_type.ClearField("shape" if missing == "shape" else "elem_type")
        onnx.save(model, tmp_path / "model.onnx")
        (output,) = import_model(read_model(tmp_path / "model.onnx")).graph.outputs
        assert output.shape == (2, 3)

    def test_nodes_in_a_circle_and_huge_tensors(self, tmp_path: Path) -> None:
        for name, body in {
            "circle": "agraph (float[4] x) => (float[4] y) { y = Add (x, z)  z = Relu (y) }",
            "einsum": "agraph (float[3, 5, 5] x) => (float[3, 5] y) "
            '{ y = Einsum <equation = "..Kii ->...i"> (x) }',
            "huge": "agraph (float[999999, 999999, 9999] x) => (float[4] y) { y = Relu (x) }",
            "empty": "agraph (float[999999, 999999, 0] x) => (float[999999, 999999, 0] y) "
            "{ y = Relu (x) }",
        }.items():
            path = tmp_path / f"{name}.onnx"
            path.write_bytes(parsed(body).SerializeToString())
            with pytest.raises(GraphError):
                import_model(read_model(path))

    def test_nodes_of_very_many_steps_are_not_computed(self) -> None:
        """Operators of constants are, by ONNX's own reference, which would not end here."""
        grams = "ngram_counts = [0, 1], ngram_indexes = [0, 1], pool_int64s = [1, 2]"
        body = f"""agraph (float[2] x) => (float[2] y) {{
            c = Constant <value = int64[4] {{1, 2, 1, 2}}> ()
            f = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 1,
                max_skip_count = 9223372036854775807, {grams}> (c)
            y = Add (x, f)
        }}"""
        program = import_model(parsed(body))
        assert any(isinstance(node.operator, Foreign) for node in program.graph.nodes)

    def test_mutated_files_are_models_or_errors(self, tmp_path: Path) -> None:
        model = parsed(
            """agraph (float[2, 3, 8, 8] x) => (float[2, 5] y) {
                w = Constant <value = float[4, 3, 3, 3] {""" + ",".join(["0.5"] * 108) + """}> ()
                a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
                b = MaxPool <kernel_shape = [2, 2]> (a)
                shape = Constant <value = int64[2] {0, -1}> ()
                c = Reshape (b, shape)
                v = ConstantOfShape <value = float[1] {0.25}> (sizes)
                sizes2 = Shape (c)
                d = Gemm <alpha = 0.5> (c, v)
                y = Softmax (d)
            }"""
        )  # fmt: skip
        sizes = onnx.numpy_helper.from_array(np.array([36, 5]), "sizes")
        model.graph.initializer.append(sizes)
        intact = model.SerializeToString()
        import_model(onnx.ModelProto.FromString(intact))
        generator, path = np.random.default_rng(0), tmp_path / "model.onnx"
        for _ in range(400):
            damaged = bytearray(intact)
            for _ in range(generator.integers(1, 4)):
                damaged[generator.integers(len(damaged))] = generator.integers(256)
            if generator.random() < 0.2:
                del damaged[generator.integers(len(damaged)) :]
            path.write_bytes(damaged)
            try:
                import_model(read_model(path))
            except MorelloError as error:
                assert str(error).count("\n") == 0


CONTRIBUTED = {
    "exact gelu": "y = com.microsoft.Gelu (x)",
    "gelu of a sum": "y = com.microsoft.BiasGelu (x, b)",
    "fast gelu": "y = com.microsoft.FastGelu (x, b)",
    "quick gelu": "y = com.microsoft.QuickGelu <alpha = 1.5> (x)",
    "product": "y = com.microsoft.FusedMatMul <transA = 1, transB = 1, alpha = 0.5> (x, w)",
    "products of stacks": "y = com.microsoft.FusedMatMul <transBatchA = 1, transBatchB = 1, "
    "transB = 1> (x, x)",
    "products of turned stacks": "t = Transpose <perm = [1, 0, 2]> (x)  "
    "y = com.microsoft.FusedMatMul <transBatchA = 1, transA = 1> (x, t)",
    "gemm": 'm = Squeeze (x1)  y = com.microsoft.FusedGemm <activation = "Relu"> (m, v)',
    "leaky gemm": 'm = Squeeze (x1)  y = com.microsoft.FusedGemm <activation = "LeakyRelu", '
    "activation_alpha = 0.3> (m, v)",
    "sum and norm": "y, , , s = com.microsoft.SkipLayerNormalization <epsilon = 0.01> "
    "(x, x, b, b, b)",
    "sum and rms norm": "y, , , s = com.microsoft.SkipSimplifiedLayerNormalization "
    "<epsilon = 0.01> (x, x, b)",
    "rms norm": "y = SimplifiedLayerNormalization <epsilon = 0.01> (x, b)",
    "conv": 'y = com.microsoft.FusedConv <activation = "Clip", activation_params = [-0.5, 0.75]> '
    "(x, f)",
}


@pytest.mark.parametrize("nodes", CONTRIBUTED.values(), ids=list(CONTRIBUTED))
def test_what_onnx_runtime_adds_is_known(nodes: str) -> None:
    model = parsed(
        f"agraph (float[2,4,6] x, float[1,4,6] x1) => (float[a] y) {{ {nodes} }}",
        extra=', "com.microsoft": 1',
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(1)
    for name, shape in {"b": (6,), "w": (2, 5, 4), "v": (6, 3), "f": (3, 4, 2)}.items():
        array = generator.uniform(-1, 1, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    program = import_model(model)
    assert not program.left
    agrees(model)


@pytest.mark.parametrize("size", [1, 5, 15])
def test_local_responses_are_sums_of_neighbouring_channels(size: int) -> None:
    node = f"LRN <size = {size}, alpha = 0.3, beta = 0.75, bias = 2.0> (x)"
    agrees(parsed(f"agraph (float[2,7,3,4] x) => (float[2,7,3,4] y) {{ y = {node} }}"))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("bits", "zeros"), [(4, ""), (4, "z"), (4, "f"), (8, ""), (8, "z")])
def test_weights_in_fewer_bits_are_those_of_onnx_runtime(bits: int, zeros: str, dtype: Any) -> None:
    node = f"MatMulNBits <K = 96, N = 6, block_size = 32, bits = {bits}> (x, w, s, {zeros}, , b)"
    kind = {np.float32: "float", np.float16: "float16"}[dtype]
    model = parsed(
        f"agraph ({kind}[2,3,96] x) => ({kind}[a,c,d] y) {{ y = com.microsoft.{node} }}",
        extra=', "com.microsoft": 1',
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(1)
    arrays = {
        "w": generator.integers(0, 256, (6, 3, 4 * bits), np.uint8),
        "s": generator.uniform(0, 0.1, (6, 3)).astype(dtype),
        "b": generator.uniform(-1, 1, 6).astype(dtype),
        "z": generator.integers(0, 256, (6, -(-3 * bits // 8)), np.uint8),
        "f": generator.uniform(0, 16, (6, 3)).astype(dtype),
    }
    for name in ("w", "s", "b", *zeros):
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[name], name))
    assert not import_model(model).left
    agrees(model, tolerance=1e-4 if dtype is np.float32 else 0.05)


def test_zero_points_in_the_middle_are_left_out() -> None:
    node = "MatMulNBits <K = 64, N = 2, block_size = 32> (x, w, s, z, g)"
    model = parsed(
        f"agraph (float[1,64] x) => (float[1,2] y) {{ y = com.microsoft.{node} }}",
        extra=', "com.microsoft": 1',
    )
    arrays = {
        "w": np.zeros((2, 2, 16), np.uint8),
        "s": np.ones((2, 2), np.float32),
        "z": np.full((2, 1), 0x88, np.uint8),
        "g": np.repeat(np.arange(2, dtype=np.int32), 32),
    }
    for name, array in arrays.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    (result,) = import_model(model).graph.outputs
    assert isinstance(result.operator, PrimitiveOperator | Reshape)
    model.graph.initializer[3].CopyFrom(
        onnx.numpy_helper.from_array(np.arange(64, dtype=np.int32), "g")
    )
    (left,) = import_model(model).left
    assert "not of neighbours" in str(left)


ROTARY = {
    "halves": "RotaryEmbedding (x, c, s, p)",
    "neighbors": "RotaryEmbedding <interleaved = 1> (x, c, s, p)",
    "a part of each head": "RotaryEmbedding <rotary_embedding_dim = 4> (x, c2, s2, p)",
    "caches for each token": "RotaryEmbedding <interleaved = 1> (x, c3, s3)",
    "heads in each token": "RotaryEmbedding <num_heads = 2> (flat, c, s, p)",
    "ONNX Runtime's": "com.microsoft.RotaryEmbedding (x, p, c, s)",
    "ONNX Runtime's, of neighbors": "com.microsoft.RotaryEmbedding <interleaved = 1> (x, p, c, s)",
    "ONNX Runtime's, from a token on": "com.microsoft.RotaryEmbedding (flat, first, c, s)",
    "ONNX Runtime's, of a part": "com.microsoft.RotaryEmbedding <interleaved = 1, num_heads = 2, "
    "rotary_embedding_dim = 4> (flat, p, c2, s2)",
}


@pytest.mark.parametrize("node", ROTARY.values(), ids=list(ROTARY))
def test_rotary_embeddings_are_those_of_onnx_runtime(node: str) -> None:
    model = parsed(
        f"agraph (float[2,2,5,8] x, float[2,5,16] flat) => (float[a,b,c,d] y) {{ y = {node} }}",
        version=23,
        extra=', "com.microsoft": 1',
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    generator = np.random.default_rng(1)
    tables = {"": (9, 4), "2": (9, 2), "3": (2, 5, 4)}
    arrays = {
        name + kind: generator.uniform(-1, 1, shape).astype(np.float32)
        for kind, shape in tables.items()
        for name in "cs"
    }
    places = {"p": generator.integers(0, 9, (2, 5)), "first": np.array([3])}
    for name, array in (*arrays.items(), *places.items()):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    assert not import_model(model).left
    agrees(model)


def test_models_that_onnx_runtime_optimized_are_whole_graphs(tmp_path: Path) -> None:
    """A feed-forward block as frameworks write it: ONNX Runtime makes operators of its parts."""
    model = parsed(
        """agraph (float[2, 4, 8] x) => (float[2, 4, 8] y) {
            h = MatMul (x, w)
            hb = Add (h, b)
            root = Constant <value = float {1.4142135}> ()
            half = Constant <value = float {0.5}> ()
            one = Constant <value = float {1.0}> ()
            d = Div (hb, root)
            e = Erf (d)
            p = Add (e, one)
            m = Mul (hb, p)
            g = Mul (m, half)
            o = MatMul (g, w)
            s = Add (x, o)
            y = LayerNormalization <axis = -1> (s, b, b)
        }"""
    )
    generator = np.random.default_rng(1)
    for name, shape in {"b": (8,), "w": (8, 8)}.items():
        array = generator.uniform(-1, 1, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    runtime.InferenceSession(model.SerializeToString(), options)
    optimized = read_model(tmp_path / "optimized.onnx")
    kinds = {node.op_type for node in optimized.graph.node}
    assert {"BiasGelu", "SkipLayerNormalization"} & kinds
    assert not import_model(optimized).left
    agrees(optimized)


def test_norms_that_only_onnx_runtime_has_are_read_from_files(tmp_path: Path) -> None:
    """Its builders of models write them into the domain of ONNX's own operators."""
    model = parsed(
        """agraph (float[2, 4, 8] x) => (float[2, 4, 8] y) {
            y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.001> (x, g)
        }"""
    )
    gamma = np.random.default_rng(1).uniform(-1, 1, 8).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(gamma, "g"))
    onnx.save(model, tmp_path / "model.onnx")
    read = read_model(tmp_path / "model.onnx")
    assert read == model
    agrees(read)


MIXTURE = """agraph (float[n, 8] x, float[4, 3] router) => (float[n, 8] z) <{value_info}> {{
    y = com.microsoft.{kind} <k = 2, use_sparse_mixer = 1> (x, router, first, , second)
    z = Relu (y)
}}"""


@pytest.mark.parametrize(
    "kind, value_info, known",
    [("MoE", "", True), ("Unheard", "", False), ("Unheard", "float[n, 8] y", True)],
)
def test_what_follows_an_unknown_operator_is_ours(kind: str, value_info: str, known: bool) -> None:
    """Its shape is what ONNX Runtime infers, or what the model says."""
    body = MIXTURE.format(kind=kind, value_info=value_info)
    model = parsed(body, extra=', "com.microsoft": 1')
    for name, shape in {"first": (3, 8, 16), "second": (3, 16, 8)}.items():
        array = np.ones(shape, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    program = import_model(model, {"x": (4, 8)})
    assert [kind for kind, _ in program.left] == [kind] if known else [kind, "Relu"]
    assert [node.op_type for node in program.rest] == ([] if known else [kind, "Relu"])


def test_what_constants_decide_is_known_whatever_the_operator() -> None:
    """Indices made of constants, by operators of 64 bits, or with results of unknown size."""
    model = parsed(
        """agraph (float[2, 4] x) => (float[2, n] y, float[2] z) {
            mask = Constant <value = int64[4] {0, 7, 0, -1}> ()
            bits = Constant <value = int64[4] {0, 2, 4, 8}> ()
            some = BitwiseOr (mask, bits)
            places = NonZero (some)
            axis = Constant <value = int64[1] {0}> ()
            flat = Squeeze (places, axis)
            y = Gather <axis = 1> (x, flat)
            shape = Constant <value = int64[1] {2}> ()
            noise = RandomUniform <shape = [2]> ()
            drawn = RandomUniformLike (shape)
            z = Add (noise, noise)
        }""",
        version=18,
    )
    program = import_model(model)
    assert program.values["flat"].operator.array.tolist() == [1, 2, 3]  # type: ignore[attr-defined]
    assert {kind for kind, _ in program.left} == {"RandomUniform", "RandomUniformLike"}
