"""C projects of graphs: they build with CMake, and check themselves."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.abi.test_hosts import call_tvm
from tests.models.test_compiled_graphs import block
from tests.sampling import rare

from morello.abi import ABIS
from morello.base.errors import GraphError
from morello.cli.parser import main
from morello.graph.graph import Graph, TensorType, apply
from morello.graph.operators import Constant, Dot, Input, Map
from morello.graph.patterns.experts import grouped_product
from morello.graph.patterns.matching import constant, in_dtype, mapped
from morello.models import compile_graph
from morello.models.export import exported, write_project

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")


TWO_MODELS = """\
cmake_minimum_required(VERSION 3.16)
project(both CXX)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(exp)
add_subdirectory(abs)
add_executable(main main.cpp)
target_link_libraries(main exps abss)
"""
CALLS_BOTH = """\
#include "exps.h"
#include "abss.h"

int main()
{
    alignas(64) static float x[64], y[64], z[64];
    void *first[] = {x, y}, *second[] = {y, z};
    exps(first, exps_constants, nullptr, nullptr, nullptr);
    abss(second, abss_constants, nullptr, nullptr, nullptr);
    return z[63] == 1 ? 0 : 1;
}
"""


def unary(name: str) -> Graph:
    x = apply(Input(TensorType((64,), np.dtype(np.float32))))
    return Graph((x,), (mapped(name, x),))


def build(folder: Path) -> None:
    """Build a project without a warning."""
    flags = "-DCMAKE_C_FLAGS=-std=c11 -Wall -Wextra -Wpedantic -Werror"
    for words in (["-S", ".", "-B", "build", flags], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=folder, check=True, capture_output=True)


def checked(folder: Path) -> str:
    """Build a project, and run its check; returns what it prints."""
    build(folder)
    done = subprocess.run([folder / "build" / "check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@rare
@needs_cmake
def test_the_project_of_a_block_checks_itself(tmp_path: Path) -> None:
    graph = block(np.random.default_rng(0))
    write_project(exported(compile_graph(graph, gap=1.0), "block"), tmp_path)
    assert "us a call" in checked(tmp_path)


@needs_cmake
def test_constants_keep_their_layouts(tmp_path: Path) -> None:
    """Weights as PyTorch has them, [n,k], are read by columns."""
    random = np.random.default_rng(0)
    x = apply(Input(TensorType((4, 16), np.dtype(np.uint8))))
    weights = apply(Constant(random.integers(-100, 100, (8, 16)).astype(np.int8)))
    product = apply(Dot((), ((1, 1),), np.dtype(np.int32)), x, weights)
    model = compile_graph(Graph((x,), (product,)), gap=1.0)
    write_project(exported(model, "m"), tmp_path)
    assert "largest error: 0.0e+00" in checked(tmp_path)
    data = bytearray((tmp_path / "check.bin").read_bytes())
    data[-1] ^= 0x40  # another result is expected
    (tmp_path / "check.bin").write_bytes(data)
    wrong = subprocess.run([tmp_path / "build" / "check"], check=False, capture_output=True)
    assert wrong.returncode == 1


@needs_cmake
def test_one_project_takes_several(tmp_path: Path) -> None:
    """Within a project of C++, for two models; only a project of its own has its check."""
    for name in ("exp", "abs"):
        write_project(exported(compile_graph(unary(name), gap=1.0), name + "s"), tmp_path / name)
    (tmp_path / "CMakeLists.txt").write_text(TWO_MODELS)
    (tmp_path / "main.cpp").write_text(CALLS_BOTH)
    build(tmp_path)
    subprocess.run([tmp_path / "build" / "main"], check=True)


@needs_cmake
def test_results_are_as_exact_as_what_they_are_made_of(tmp_path: Path) -> None:
    """Products of bytes, whose sums are rounded to f16, and cast to f32; NaN fails the check."""
    random = np.random.default_rng(0)
    x = apply(Input(TensorType((16, 256), np.dtype(np.int8))))
    weights = apply(Constant(random.integers(-100, 100, (256, 128)).astype(np.int8)))
    f32, f16 = np.dtype(np.float32), np.dtype(np.float16)
    sums = in_dtype(apply(Dot((), ((1, 0),), np.dtype(np.int32)), x, weights), f32)
    half = in_dtype(mapped("multiply", sums, constant(1e-4, f32)), f16)
    graph = Graph((x,), (in_dtype(mapped("exp", half), f32),))
    write_project(exported(compile_graph(graph, gap=1.0, budget=0.1), "m"), tmp_path)
    assert "largest error: 0.0e+00" not in checked(tmp_path)
    case = np.fromfile(tmp_path / "check.bin", np.float32)
    case[x.type.bytes // case.itemsize] = np.nan  # the first result, before others that are rounded
    case.tofile(tmp_path / "check.bin")
    assert subprocess.run([tmp_path / "build" / "check"], check=False).returncode == 1


@needs_cmake
def test_the_command_writes_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "relu(f32[8,32] @ f32[32,64] + f32[64]) @ f32[64,8]"
    folder = tmp_path / "mlp"
    options = ["--name", "mlp", "--gap", "0.2", "--abi", ",".join(ABIS), "--json"]
    assert main(["export", str(folder), text, *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["kernels"] == [
        "relu(f32[8,32] @ f32[32,64] + f32[64])",
        "f32[8,64] @ f32[64,8]",
    ]
    assert {Path(name).name for name in said["files"]} >= {"mlp.c", "mlp.h", "CMakeLists.txt"}
    checked(folder)
    (library,) = (folder / "build").glob("libmlp_hosts.*")
    random, shapes = np.random.default_rng(0), ((8, 32), (32, 64), (64,), (64, 8))
    x, w, b, v = (random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    y, function = np.empty((8, 8), np.float32), ctypes.CDLL(str(library))["__tvm_ffi_mlp"]
    assert call_tvm(function, x, w, b, v, y) == 0
    np.testing.assert_allclose(y, np.maximum(x @ w + b, 0) @ v, rtol=1e-3, atol=1e-4)
    assert call_tvm(function, x, w, b, v.T, y) == -1


@needs_cmake
def test_the_command_takes_onnx_models(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    text = "agraph (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,8,8] y, float[1,4,8,8] z)"
    body = "{ z = Conv <pads = [1,1,1,1]> (x, w) y = Relu (z) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text} {body}')
    onnx.save(model, tmp_path / "net.onnx")
    folder = tmp_path / "net"
    assert main(["export", str(folder), str(tmp_path / "net.onnx"), "--gap", "0.2"]) == 0
    checked(folder)
    header = (folder / "model.h").read_text()
    for line in (
        "1: f32[4,3,3,3] w, read",
        "2: f32[1,4,8,8] y, written",
        "3: f32[1,4,8,8] z, written",
    ):
        assert f"   {line}\n" in header


def test_the_command_takes_stablehlo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax")
    kind, path = "tensor<16xf32>", tmp_path / "net.mlir"
    body = f"%y = stablehlo.abs %x : {kind} return %y : {kind}"
    path.write_text(f"func.func @main(%x: {kind}) -> {kind} {{ {body} }}")
    assert main(["export", str(tmp_path / "net"), str(path), "--gap", "1"]) == 0
    assert "abs(f32[16])" in capsys.readouterr().out
    assert (tmp_path / "net" / "model.c").exists()
    assert main(["export", str(tmp_path / "net"), str(tmp_path / "none.mlir")]) == 2
    assert "none.mlir cannot be read" in capsys.readouterr().err


def test_what_is_left_to_a_framework_is_not_exported() -> None:
    x = apply(Input(TensorType((4, 8), np.dtype(np.float32))))
    model = compile_graph(Graph((x,), (apply(Map("power"), x, x),)))
    with pytest.raises(GraphError, match=r"no kernel computes power"):
        exported(model, "sums")


@needs_cmake
def test_rows_choose_their_matrices(tmp_path: Path) -> None:
    """The kernel finds them in memory; the matrices are packed once."""
    random, floats = np.random.default_rng(0), np.dtype(np.float32)
    x = apply(Input(TensorType((6, 16), floats)))
    ids = apply(Input(TensorType((6,), np.dtype(np.int64))))
    matrices = apply(Constant(random.uniform(-1, 1, (2, 16, 32)).astype(floats)))
    product = grouped_product(x, matrices, ids)
    model = compile_graph(Graph((x, ids), (product,)), gap=1.0)
    write_project(exported(model, "m"), tmp_path)
    assert "us a call" in checked(tmp_path)


@needs_cmake
def test_arrays_are_those_of_the_graph_in_its_order(tmp_path: Path) -> None:
    """Some are not read, written twice, or known."""
    dtypes = [np.dtype(name) for name in ("float32", "float16", "int32")]
    kinds = [TensorType((4, 16), dtype) for dtype in dtypes]
    unused, half, numbers = (
        apply(Input(kind, name)) for kind, name in zip(kinds, ("unused", "half", "*/"), strict=True)
    )
    table = apply(Constant(np.arange(8, dtype=np.float16)))
    sums = apply(Map("add"), half, half)
    small = apply(Map("less"), numbers, apply(Constant(np.array(2, np.int32))))
    root = apply(Map("sqrt"), half)  # of some, there is none
    outputs = small, half, sums, table, root, sums
    model = compile_graph(Graph((unused, half, numbers), outputs), gap=1.0)
    write_project(exported(model, "m"), tmp_path)
    assert checked(tmp_path).count("largest error") == len(outputs)
    header = (tmp_path / "m.h").read_text()
    for line in (
        "0: f32[4,16] unused, read", "1: f16[4,16] half, read", "2: i32[4,16], read",
        "3: bool[4,16], written", "6: f16[8], written",
    ):  # fmt: skip
        assert f"   {line}\n" in header
