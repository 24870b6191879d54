"""The execution provider: ONNX Runtime computes unchanged models with kernels."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.doors.test_onnx import layer, weights
from tests.onnx_text import parsed

from morello.base.errors import GraphError, SearchError
from morello.graph.frameworks import Framework
from morello.graph.partition import GraphPartition
from morello.models import CompiledGraph, compile_partition

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.onnx import NAME, register, session  # noqa: E402
from morello.onnx.checking import largest_difference  # noqa: E402
from morello.onnx.provider import _sessions  # noqa: E402


def options(**settings: str) -> Any:
    """The options of a session with kernels, in which the dimension `n` is 4."""
    asked = runtime.SessionOptions()
    asked.add_provider_for_devices(register(), {"gap": "1"} | settings)
    asked.add_free_dimension_override_by_name("n", 4)
    asked.log_severity_level = 3
    asked.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return asked


def checked(model: Any, asked: Any) -> Any:
    """A session that computes what ONNX Runtime does alone."""
    content = model.SerializeToString()
    result = runtime.InferenceSession(content, asked)
    alone = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert largest_difference(alone, result) < 1e-5
    return result


def ours(checked_session: Any) -> list[list[str]]:
    """The types of the nodes of each part that kernels compute."""
    return [
        [node.op_type for node in part.get_nodes()]
        for part in checked_session.get_provider_graph_assignment_info()
        if part.ep_name == NAME
    ]


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_kernels_compute_parts_of_an_unchanged_model(level: str) -> None:
    asked = options()
    asked.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
    first, *rest = ours(checked(layer(), asked))
    assert rest == [["Softmax", "ArgMax"]]
    assert first[-1] == "Relu"


def test_a_token_of_a_decoder_is_one_part() -> None:
    """Its place follows from a mask of 64 bits, and its keys are written to the cache."""
    model = parsed(
        """agraph (float[1, 1, 64] x, int64[1, 9] attention_mask, float[1, 1, 8, 16] k,
                   float[1, 1, 8, 16] v) => (float[1, 1, 64] y, float[1, 1, 9, 16] k1,
                   float[1, 1, 9, 16] v1) {
            one = Constant <value = int64[1] {1}> ()
            sum = ReduceSum (attention_mask, one)
            last = Sub (sum, one)
            lengths = Cast <to = 6> (last)
            n = SimplifiedLayerNormalization <epsilon = 0.001> (x, g)
            qkv = MatMul (n, w)
            total = Constant <value = int32 {9}> ()
            a, k1, v1 = com.microsoft.GroupQueryAttention
                <num_heads = 4, kv_num_heads = 1, softcap = 20.0> (qkv, , , k, v, lengths, total)
            y = Add (a, x)
        }"""
    )
    model.opset_import.add(domain="com.microsoft", version=1)
    (part,) = ours(checked(weights(model, ("g", (64,)), ("w", (64, 96))), options()))
    assert {"ReduceSum", "SimplifiedLayerNormalization", "GroupQueryAttention"} <= {*part}


def test_what_others_read_is_an_output_of_a_part() -> None:
    model = parsed(
        """agraph (float[n, 16] x, bool which) => (float[n, 8] y, float[n, 8] z) {
            a = MatMul (x, w)
            b = Add (a, bias)
            c = Relu (b)
            d = Pow (c, c)
            y = Softmax (d)
            e = Softmax (c)
            z = If (which) <
                then_branch = s () => (float[n, 8] p) { p = Add (c, e) },
                else_branch = t () => (float[n, 8] q) { q = Neg (e) }
            >
        }"""
    )
    model = weights(model, ("w", (16, 8)), ("bias", (8,)))
    first, second = ours(checked(model, options()))
    assert first[-2:] == ["Relu", "Softmax"]
    assert second == ["Softmax"]


def test_copies_that_no_kernel_makes_leave_the_rest_one_part() -> None:
    """Tokens before the batch, as PyTorch's attention has them: their rows are copied together."""
    model = parsed(
        """agraph (float[2, n, 16] x, float[2, 6, 16] y) => (float[8, 16] z) {
            rows = Constant <value = int64[2] {8, 16}> ()
            columns = Constant <value = int64[2] {12, 16}> ()
            t = Transpose <perm = [1, 0, 2]> (x)
            u = Transpose <perm = [1, 0, 2]> (y)
            q = Reshape (t, rows)
            k = Reshape (u, columns)
            a = MatMul (q, w)
            b = MatMul (k, w)
            c = Transpose <perm = [1, 0]> (b)
            d = MatMul (a, c)
            e = Softmax (d)
            z = MatMul (e, b)
        }"""
    )
    (part,) = ours(checked(weights(model, ("w", (16, 16))), options()))
    assert part.count("Softmax") == 1
    assert part.count("Reshape") == 2  # views of copies


def test_what_has_no_kernel_after_all_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_softmax(
        partition: GraphPartition, framework: Framework, **asked: Any
    ) -> CompiledGraph:
        groups = [each for each in partition.groups if "softmax" not in repr(each.nodes)]
        return compile_partition(GraphPartition(partition.graph, tuple(groups)), framework, **asked)

    monkeypatch.setattr("morello.onnx.claiming.compile_partition", without_softmax)
    model = parsed(
        """agraph (float[n, 16] x) => (float[n, 8] y) {
            s = Softmax (x)
            a = MatMul (s, w)
            b = Add (a, bias)
            y = Relu (b)
        }"""
    )
    (part,) = ours(checked(weights(model, ("w", (16, 8)), ("bias", (8,))), options()))
    assert "Softmax" not in part
    assert part[-1] == "Relu"


def test_unknown_shapes_and_wrong_options_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    asked = runtime.SessionOptions()
    asked.add_provider_for_devices(register(), {})
    without = runtime.InferenceSession(layer().SerializeToString(), asked)
    assert "it does not say the shape of x; SessionOptions.add_free" in capfd.readouterr().err
    assert without.run(["y"], {"x": np.zeros((2, 16), np.float32)})[0].shape == (2, 8)
    assert "the option budget is 'much'; give a number" in refusal(capfd, budget="much")
    assert "unknown target 'abacus'" in refusal(capfd, target="abacus")


def refusal(capfd: pytest.CaptureFixture[str], **settings: str) -> str:
    """The error of a session with these options; some versions create it without kernels."""
    try:
        runtime.InferenceSession(layer().SerializeToString(), options(**settings))
    except Exception as error:
        return str(error)
    return "".join(capfd.readouterr())


def test_kernels_are_kept_in_a_model_with_a_library(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    asked = options()
    asked.add_session_config_entry("ep.context_enable", "1")
    before = runtime.InferenceSession(str(tmp_path / "model.onnx"), asked)
    kept = str(tmp_path / "model_ctx.onnx")
    types = [node.op_type for node in onnx.load(kept).graph.node]
    assert types == ["EPContext", "Pow", "EPContext"]
    asked = options()
    asked.log_severity_level = 2
    with pytest.raises(Exception, match="EPContext"):
        runtime.InferenceSession(kept, asked)
    assert "kernels of the library model_ctx.so; register that" in capfd.readouterr().err
    runtime.register_execution_provider_library("Kept", str(tmp_path / "model_ctx.so"))
    devices = [device for device in runtime.get_ep_devices() if device.ep_name == "Kept"]
    asked = runtime.SessionOptions()
    asked.add_provider_for_devices(devices, {})
    after = runtime.InferenceSession(kept, asked)
    assert largest_difference(before, after) == 0
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        after.run(None, {"x": np.zeros((2, 16), np.float32)})
    del after
    runtime.unregister_execution_provider_library("Kept")


def test_kept_kernels_may_have_outputs_in_another_order(tmp_path: Path) -> None:
    model = parsed(
        """agraph (float[4, 16] x) => (float[4, 8] y, float[4, 8] z) {
            a = MatMul (x, w)
            b = Relu (a)
            c = Softmax (b)
            p = Pow (a, a)
            q = Pow (b, b)
            y = Add (c, p)
            z = Mul (c, q)
        }"""
    )
    onnx.save(weights(model, ("w", (16, 8))), tmp_path / "model.onnx")
    asked = options()
    asked.add_session_config_entry("ep.context_enable", "1")
    runtime.InferenceSession(str(tmp_path / "model.onnx"), asked)
    *_, last = onnx.load(tmp_path / "model_ctx.onnx").graph.node
    assert (last.op_type, {*last.output}) == ("EPContext", {"y", "z"})


def test_a_session_is_made_in_one_call(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    free = session(tmp_path / "model.onnx")
    assert free.run(["y"], {"x": np.zeros((3, 16), np.float32)})[0].shape == (3, 8)
    del free
    made = session(tmp_path / "model.onnx", {"x": (4, 16)}, gap=1)
    assert NAME in made.get_providers()
    with pytest.raises(SearchError, match="there is no option threads"):
        session(tmp_path / "model.onnx", threads=2)
    with pytest.raises(GraphError, match="x has 2 dimensions, and 1 are given"):
        session(tmp_path / "model.onnx", {"x": (4,)})
    last = max(_sessions)
    assert not _sessions[last].over
    del made
    gc.collect()
    assert _sessions[last].over
