"""Tuning the kernels of models: which, for how long, and that models then use what was found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.api import implement
from morello.base.errors import SearchError
from morello.cli.parser import main
from morello.importers.text import graph_of
from morello.learn.intervals import Intervals
from morello.learn.predictors import learned
from morello.memo import Table
from morello.models import compile_graph
from morello.models.tuning import LEAST_S, first_share, kernels_to_tune

PROGRAM = "relu(f32[32,64] @ f32[64,64]) @ f32[64,64] + f32[64]"


def test_time_is_divided_by_expected_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_graph(graph_of(PROGRAM), threads=1, gap=1.0, fuse_seconds=0)
    kernels = kernels_to_tune(compiled)
    assert sum(kernel.calls for kernel in kernels) == sum(
        len(segment.kernels) for segment in compiled.segments
    )
    gains = [kernel.gain for kernel in kernels]
    assert len(gains) > 1 and gains == sorted(gains, reverse=True) and gains[-1] > 0
    one = kernels[0]
    assert replace(one, seconds=2 * one.seconds).gain == pytest.approx(2 * one.gain)
    pools = replace(one, impl=implement("max_pool(f32[1,4,16,16], window=2)")[0])
    assert pools.gain > 1.5 * one.gain  # predictions are less sure of them than of products
    model = learned(one.impl.target)
    assert model is not None
    model.errors = Intervals()  # those of a model that was not evaluated
    monkeypatch.setattr("morello.models.tuning.learned", lambda _: model)
    assert pools.gain == one.gain == pytest.approx(one.seconds)
    shares = [first_share([5, 3, 2], 1e4), first_share([3, 2], 5e3), first_share([2], 2e3)]
    assert shares == pytest.approx([5e3, 3e3, 2e3])
    assert first_share([3, 2], 6e3) == pytest.approx(3.6e3)  # what others left is divided, too
    assert first_share([5, 3, 2], 1.5 * LEAST_S) == pytest.approx(1.5 * LEAST_S)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_uses_what_was_found_for_its_kernels(
    streamed: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So do kernels whose weights come from memory, which have other costs on some machines."""
    monkeypatch.setattr("morello.models.evicted.exceeds_last_cache", lambda *_: streamed)
    onnx = pytest.importorskip("onnx")
    from morello.importers.onnx import import_model, read_model

    model: Any = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n, 16] x) => (float[n, 8] y) { a = MatMul (x, w) y = Relu (a) }"""
    )
    array = np.random.default_rng(0).uniform(-0.5, 0.5, (16, 8)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "w"))
    path, table = tmp_path / "model.onnx", tmp_path / "tuned.db"
    onnx.save(model, path)
    command = ["tune", str(path), "--shape", "x=32x16", "--db", str(table)]
    assert main([*command, "--seconds", "86400", "--programs", "2", "--json"]) == 0
    (goal,) = json.loads(capsys.readouterr().out)["goals"]
    assert goal["calls"] == 1 and goal["programs"] + goal["failed"] == 3
    graph = import_model(read_model(path), {"x": (32, 16)}).graph
    with Table(table) as opened:
        compiled = compile_graph(graph, threads=1, table=opened)
    (kernel,) = (kernel for segment in compiled.segments for kernel in segment.kernels)
    assert kernel.statistics is not None and kernel.statistics.measured == goal["programs"]
    x = np.random.default_rng(1).uniform(-1, 1, (32, 16)).astype(np.float32)
    wanted = np.maximum(x.astype(np.float64) @ array, 0)
    np.testing.assert_allclose(compiled(x)[0], wanted, rtol=1e-4, atol=1e-5)


def test_files_of_stablehlo_are_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jax = pytest.importorskip("jax")
    asked: list[tuple[str, float]] = []

    def refused(task: Any, seconds: float, *others: object) -> None:
        asked.append((task.expression, seconds))
        raise SearchError("not now")

    monkeypatch.setattr("morello.cli.tune._tuned", refused)
    array = jax.ShapeDtypeStruct((16, 16), "float32")
    exported = jax.export.export(jax.jit(lambda x, w: jax.numpy.tanh(x) @ w))(array, array)
    path = tmp_path / "model.mlir"
    path.write_text(exported.mlir_module())
    assert main(["tune", str(path), "--seconds", "900"]) in (0, 2)
    assert "not now" in "".join(capsys.readouterr())
    assert sum("16,16" in text for text, _ in asked) == len(asked) > 0 and asked[0][1] <= 900
    assert main(["tune", str(path), "--shape", "x=1"]) == 2
    assert "--shape" in capsys.readouterr().err


def test_what_cannot_be_tuned_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert main(["tune", str(tmp_path / "none.onnx")]) == 2
    assert "none.onnx" in capsys.readouterr().err
    assert main(["tune", "abs(f32[16])", "--shape", "x=1"]) == 2
    assert "leave out --shape" in capsys.readouterr().err
    assert main(["tune", str(tmp_path / "none.onnx"), "--seconds", "0"]) == 2
    assert "seconds above 0" in capsys.readouterr().err
