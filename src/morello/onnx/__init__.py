"""Faster ONNX models: what kernels compute becomes nodes of the domain `morello`.

    import onnxruntime
    from morello.onnx import convert

    convert("model.onnx", "fast.onnx", {"image": (1, 3, 224, 224)})
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library("fast.so")
    session = onnxruntime.InferenceSession("fast.onnx", options)

Needs `pip install morello[onnx]`.
"""

from morello.base.errors import MorelloError

try:
    import onnx as _onnx  # noqa: F401 (everything here needs it)
except ModuleNotFoundError:
    raise MorelloError("ONNX models need the package onnx", "pip install morello[onnx]") from None

from morello.onnx.conversion import Conversion, convert

__all__ = ["Conversion", "convert"]
