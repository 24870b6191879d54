"""Kernels called by XLA, TVM FFI and ONNX Runtime, which get errors for arrays of other kinds."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import compile_c, in_parallel, skip_unless_it_runs

import morello
from morello.abi import ABIS, abi_names, for_hosts
from morello.abi.hosts import HOSTS, check_hosts
from morello.base.errors import BuildError, SpecError
from morello.cli.parser import main
from morello.codegen import generate
from morello.frontends import parse
from morello.ir.dtype import BF16
from morello.native.build import build
from morello.native.toolchain import find_compiler
from morello.runtime.argument import Array
from morello.targets import find_target

LAYER = "f32[4,8] @ f32[8,6]{0,1}"
GAPS = "relu(bf16[6,32]S(40,1))"

TENSOR, DLTENSOR = 70, 7
"""Kinds of TVM FFI's values: an object that has a DLTensor, and the address of one."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared object of a kernel for all hosts, as the command builds it."""
    path = tmp_path_factory.mktemp("abi") / "layer.so"
    assert (
        main(["synth", LAYER, "--abi", ",".join(ABIS), "--name", "layer", "--object", str(path)])
        == 0
    )
    return path


def inputs() -> list[Array]:
    """Inputs of the layer as hosts pass them: the weights transposed, as they lie in memory."""
    random = np.random.default_rng(0)
    shapes = (4, 8), (6, 8)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def expected(x: Array, w: Array) -> Array:
    product: Array = x.astype(np.float64) @ w.T.astype(np.float64)
    return product


def test_xla_calls_a_kernel(library: Path) -> None:
    jax = pytest.importorskip("jax")
    handler = ctypes.CDLL(str(library)).layer_xla
    jax.ffi.register_ffi_target("layer", jax.ffi.pycapsule(handler), platform="cpu")
    call = jax.ffi.ffi_call("layer", jax.ShapeDtypeStruct((4, 6), np.float32))
    x, w = inputs()
    np.testing.assert_allclose(jax.jit(call)(x, w), expected(x, w), rtol=1e-5, atol=1e-6)
    wrong = r"argument 1 of layer, b, should be float32\[6,8\] row-major"
    for weights in (w.T, w.reshape(-1), w.astype(np.int32)):
        with pytest.raises(Exception, match=wrong):
            jax.block_until_ready(call(x, weights))
    with pytest.raises(Exception, match="more or fewer arrays"):
        jax.block_until_ready(call(x))


def test_parallel_loops_run_on_threads_of_xla(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    target = replace(find_target("avx2"), cores=2)
    skip_unless_it_runs(target)
    spec = parse(LAYER)
    source = generate(in_parallel(spec, target, m=1), "rows")
    assert source.parallel
    library = compile_c(for_hosts(source, spec, ABIS).text, target, tmp_path)
    jax.ffi.register_ffi_target("rows", jax.ffi.pycapsule(library.rows_xla), platform="cpu")
    rows = jax.jit(jax.ffi.ffi_call("rows", jax.ShapeDtypeStruct((4, 6), np.float32)))
    x, w = inputs()
    for _ in range(50):
        np.testing.assert_allclose(rows(x, w), expected(x, w), rtol=1e-5, atol=1e-6)
    y = np.zeros((4, 6), np.float32)
    assert call_tvm(library["__tvm_ffi_rows"], x, w, y) == 0
    np.testing.assert_allclose(y, expected(x, w), rtol=1e-5, atol=1e-6)


def test_onnx_runtime_calls_a_kernel(library: Path) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.register_custom_ops_library(str(library))

    def session(weights: str) -> Any:
        model = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17, "morello.layer": 1]>'
            f"main (float[4,8] x, {weights} w) => (float[4,6] y) "
            "{ y = morello.layer.layer(x, w) }"
        )
        return runtime.InferenceSession(model.SerializeToString(), options)

    x, w = inputs()
    (result,) = session("float[6,8]").run(None, {"x": x, "w": w})
    np.testing.assert_allclose(result, expected(x, w), rtol=1e-5, atol=1e-6)
    with pytest.raises(Exception, match="argument 1 of layer, b, should be"):
        session("float[m,n]").run(None, {"x": x, "w": w.T.copy()})
    with pytest.raises(Exception, match=r"operator \(layer\)"):
        session("int32[6,8]")


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("kind", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class Object(ctypes.Structure):
    _fields_ = [
        ("references", ctypes.c_uint64), ("type", ctypes.c_int64), ("deleter", ctypes.c_void_p),
        ("tensor", DLTensor),
    ]  # fmt: skip


class Value(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_void_p)]


KINDS = {"float32": (2, 32), "bfloat16": (4, 16), "int32": (0, 32)}


def described(array: Array) -> DLTensor:
    numbers = ctypes.c_int64 * array.ndim
    steps = (stride // array.itemsize for stride in array.strides)
    return DLTensor(
        array.ctypes.data, 1, 0, array.ndim, *KINDS[array.dtype.name], 1, numbers(*array.shape),
        numbers(*steps), 0,
    )  # fmt: skip


def call_tvm(function: Any, *arrays: Array, kind: int = DLTENSOR) -> int:
    """The status of a TVM FFI function that is called with arrays as this kind of value."""
    tensors = [described(array) for array in arrays]
    held = [Object(1, TENSOR, None, t) if kind == TENSOR else t for t in tensors]
    values = (Value * len(held))(*(Value(kind, 0, ctypes.addressof(each)) for each in held))
    result = Value(-1, 0, None)
    code: int = function(None, values, len(held), ctypes.byref(result))
    assert (code, result.type) in ((0, 0), (-1, -1))
    return code


def test_tvm_ffi_calls_a_kernel(library: Path) -> None:
    """This does what tvm_ffi.load_module does, which also raises the function's errors."""
    function = ctypes.CDLL(str(library))["__tvm_ffi_layer"]
    x, w = inputs()
    for kind in (DLTENSOR, TENSOR):
        y = np.zeros((4, 6), np.float32)
        assert call_tvm(function, x, w, y, kind=kind) == 0
        np.testing.assert_allclose(y, expected(x, w), rtol=1e-5, atol=1e-6)
    wide = np.zeros((6, 9), np.float32)[:, :8]
    for weights in (w.T, wide, w.astype(np.int32), w.reshape(-1)):
        assert call_tvm(function, x, weights, y) == -1
    memory = np.zeros(60, np.float32)
    overlapping = memory[8:56].reshape(6, 8), memory[:24].reshape(4, 6)
    assert call_tvm(function, x, overlapping[0], overlapping[1]) == -1
    crooked = np.zeros(4 * 6 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 6)
    assert call_tvm(function, x, w, crooked) == -1
    assert call_tvm(function, x, w) == -1
    assert call_tvm(function, x, w, y, kind=1) == -1


def test_hosts_with_strides_take_arrays_with_gaps() -> None:
    impl, _ = morello.implement(GAPS)
    source = for_hosts(generate(impl, "gaps"), impl.spec, ["tvm-ffi"])
    library = ctypes.CDLL(str(build(source.text, compiler=find_compiler())))
    wide = np.random.default_rng(0).uniform(-1, 1, (6, 40)).astype(BF16.np)
    x, y = wide[:, :32], np.zeros((6, 32), BF16.np)
    assert call_tvm(library["__tvm_ffi_gaps"], x, y) == 0
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    assert call_tvm(library["__tvm_ffi_gaps"], x.copy(), y) == -1
    with pytest.raises(SpecError, match="xla has no arrays with gaps"):
        for_hosts(generate(impl, "gaps"), impl.spec, ["xla"])
    with pytest.raises(BuildError, match="give it another name"):
        for_hosts(generate(impl, "xla_gaps"), impl.spec, ["tvm-ffi"])


def test_names_of_parallel_loops_are_refused() -> None:
    """No kernel is called as what the C of parallel loops on a host's threads defines."""
    text = "\n".join(HOSTS["xla"].threads)
    names = re.findall(r"^(?:static|long) .*?(\w+)\(|^} (\w+);|^typedef \w+ (\w+)\(", text, re.M)
    names += re.findall(r"^#define (\w+)|^ {4}([A-Z_]{4,}) = ", text, re.M)
    found = {*filter(None, chain.from_iterable(names))}
    assert {"take_half", "sleep_through", "Region", "Body", "MOST_SHARES", "GATE"} <= found
    for name in found:
        with pytest.raises(BuildError, match="give it another name"):
            check_hosts(parse(LAYER), name, ABIS)


def test_unknown_abis_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert abi_names("c, xla") == ("c", "xla")
    assert main(["synth", LAYER, "--abi", "c,pytorch"]) == 2
    assert "unknown ABI 'pytorch'; the known are: c, xla, tvm-ffi, ort" in capsys.readouterr().err
