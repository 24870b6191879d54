"""ONNX models as graphs.

`files` reads models, `program` makes a graph of one, `call` is what the translations of its
operators are given, and the other modules have these: `attention`, `elementwise`, `movement`,
`products`, `recurrent`, `reductions`, `resizing`, `quantized`, `rotary`, `writing`, and
`contributed` (of the domain com.microsoft).
"""

from morello.importers.onnx.files import read_model
from morello.importers.onnx.program import OnnxProgram, import_model

__all__ = ["OnnxProgram", "import_model", "read_model"]
