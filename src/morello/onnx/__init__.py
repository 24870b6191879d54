"""ONNX models on kernels, run by ONNX Runtime.

    import morello.onnx, onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(morello.onnx.register(), {})
    session = onnxruntime.InferenceSession("model.onnx", options)

`register` adds an execution provider, which compiles what kernels compute when a session is
created; `session` does all of this, and compares the results. `convert` writes a model in which it
is nodes of the domain `morello`, with a library of custom operators.

Needs `pip install 'morello[onnx]'`.
"""

import morello.importers.onnx  # noqa: F401 (first, as it says if the package onnx is missing)
from morello.onnx.conversion import Conversion, convert
from morello.onnx.provider import NAME, library_path, register
from morello.onnx.sessions import session

__all__ = ["NAME", "Conversion", "convert", "library_path", "register", "session"]
