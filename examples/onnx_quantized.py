"""A layer of an encoder, quantized by ONNX Runtime, on kernels for products of bytes.

What `morello.onnx.convert` writes runs wherever ONNX Runtime does, without Morello.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from encoder_layer import HEADS, TOKENS, WIDTH, random_weights, write_model


def quantized(folder: Path) -> Path:
    """The layer with weights of `int8`; other factors are quantized in each call."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    plain, prepared, path = (folder / f"{name}.onnx" for name in ("plain", "prepared", "bytes"))
    write_model(plain, TOKENS, HEADS, random_weights(WIDTH, np.random.default_rng(0)))
    quant_pre_process(plain, prepared, skip_symbolic_shape=True)
    quantize_dynamic(prepared, path, weight_type=QuantType.QInt8)
    return path


def main(folder: Path) -> None:
    import onnxruntime

    from morello.onnx import convert

    model = quantized(folder)
    # a small budget and a gap: kernels soon, which need not be the cheapest
    conversion = convert(model, folder / "fast.onnx", budget=1, gap=0.2)
    kernels = [kernel for segment in conversion.compiled.segments for kernel in segment.kernels]
    print(f"{len(kernels)} kernels; left to ONNX Runtime: {sum(conversion.left.values())} nodes")
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(conversion.library))
    before = onnxruntime.InferenceSession(model)
    after = onnxruntime.InferenceSession(conversion.model, options)

    x = np.random.default_rng(1).standard_normal((TOKENS, WIDTH), np.float32)
    (expected,), (result,) = before.run(None, {"x": x}), after.run(None, {"x": x})
    lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(result, axis=1)
    cosine = ((expected * result).sum(axis=1) / lengths).min()
    assert cosine > 0.9999  # a number at the middle between two bytes may be either
    print(f"least cosine of a token with that of ONNX Runtime: {cosine:.6f}")


if not all(map(find_spec, ("onnx", "onnxruntime"))):
    print("skipped: this example needs onnx and onnxruntime")
    sys.exit()
with TemporaryDirectory() as made:
    main(Path(made))
