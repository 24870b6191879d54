"""ONNX models as graphs.

`files` reads models, `program` makes a graph of one, `inner` has the steps of its loops and its
branches, and `inferring` infers types. `call` is what the translations of its operators are given,
and the other modules have these; `contributed`, `contributed_attention`, `experts` and
`grouped_query` are of the domain com.microsoft.
"""

from morello.base.errors import MorelloError

try:
    import onnx as _onnx  # noqa: F401 (everything here needs it)
except ModuleNotFoundError:
    raise MorelloError("ONNX models need the package onnx", "pip install 'morello[onnx]'") from None

from morello.importers.onnx.files import read_model
from morello.importers.onnx.program import OnnxProgram, import_model

__all__ = ["OnnxProgram", "import_model", "read_model"]
