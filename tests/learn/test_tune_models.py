"""Tuning the kernels of models: which, for how long, and that models then use what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.cli.parser import main
from morello.importers.text import graph_of
from morello.memo import Table
from morello.models import compile_graph
from morello.models.tuning import LEAST_S, kernels_to_tune

PROGRAM = "relu(f32[32,64] @ f32[64,64]) @ f32[64,64] + f32[64]"


def test_time_is_divided_by_cost() -> None:
    compiled = compile_graph(graph_of(PROGRAM), threads=1, gap=1.0, fuse_seconds=0)
    kernels = kernels_to_tune(compiled, 1e4)
    assert sum(kernel.calls for kernel in kernels) == sum(
        len(segment.kernels) for segment in compiled.segments
    )
    assert sum(kernel.seconds for kernel in kernels) == pytest.approx(1e4)
    shares = [kernel.seconds / kernel.cost for kernel in kernels]
    assert shares == pytest.approx([1e4 / sum(kernel.cost for kernel in kernels)] * len(kernels))
    assert [kernel.cost for kernel in kernels] == sorted((k.cost for k in kernels), reverse=True)


def test_kernels_with_little_time_are_left_out() -> None:
    compiled = compile_graph(graph_of(PROGRAM), threads=1, gap=1.0, fuse_seconds=0)
    every = kernels_to_tune(compiled, 1e4)
    assert len(every) > 1
    (only,) = kernels_to_tune(compiled, 1.5 * LEAST_S)
    assert only.goal == every[0].goal and only.seconds == pytest.approx(1.5 * LEAST_S)


def test_a_model_uses_what_was_found_for_its_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert main([*command, "--seconds", "900", "--programs", "2", "--json"]) == 0
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


def test_what_cannot_be_tuned_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert main(["tune", str(tmp_path / "none.onnx")]) == 2
    assert "none.onnx" in capsys.readouterr().err
    assert main(["tune", str(tmp_path / "none.onnx"), "--seconds", "0"]) == 2
    assert "positive number" in capsys.readouterr().err
