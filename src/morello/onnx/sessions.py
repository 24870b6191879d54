"""A session of ONNX Runtime that runs a model with kernels, in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from onnx import ModelProto

from morello.base.errors import GraphError, quoted
from morello.importers.onnx import read_model
from morello.onnx.checking import explained, largest_difference, runtime
from morello.onnx.provider import OPTIONS, register
from morello.options import GraphOptions, check_known


def session(
    model: str | os.PathLike[str],
    shapes: Mapping[str, Sequence[int]] | None = None,
    **options: Unpack[GraphOptions],
) -> Any:
    """An `InferenceSession` for the file of a model, in which kernels compute what they can.

    Free dimensions that have a name get their size from `shapes`, by input; the options are
    `budget`, `gap`, `target` and `compiler`, as `morello.compile` has them, and `fuse_seconds`, as
    `compile_graph` has it. The results for random inputs are compared with those that ONNX Runtime
    computes alone. Raises `MorelloError`.
    """
    check_known(options, OPTIONS)
    devices = register()
    sizes = _sizes(read_model(model), shapes) if shapes else {}
    onnxruntime = runtime()
    sessions = []
    for with_kernels in (False, True):
        asked = onnxruntime.SessionOptions()
        for name, size in sizes.items():
            asked.add_free_dimension_override_by_name(name, size)
        if with_kernels:
            texts = {key: str(value) for key, value in options.items() if value is not None}
            asked.add_provider_for_devices(devices, texts)
        with explained():
            sessions.append(onnxruntime.InferenceSession(os.fspath(model), asked))
    largest_difference(sessions[0], sessions[1], model)
    return sessions[-1]


def _sizes(model: ModelProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes of the dimensions that have a name, from the shapes of inputs."""
    inputs = {info.name: info.type.tensor_type.shape.dim for info in model.graph.input}
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        if name not in inputs:
            raise GraphError(f"there is no input {quoted(name)}", f"they are {', '.join(inputs)}")
        dims = inputs[name]
        if len(dims) != len(shape):
            raise GraphError(f"{name} has {len(dims)} dimensions, and {len(shape)} are given.")
        for number, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            known = dim.dim_value if dim.HasField("dim_value") else sizes.get(dim.dim_param, size)
            if known != size:
                raise GraphError(f"dimension {number} of {name} is {known}, not {size}.")
            if dim.dim_param:
                sizes[dim.dim_param] = size
            elif not dim.HasField("dim_value"):
                what = f"dimension {number} of {name} has no name, by which ONNX Runtime knows it"
                raise GraphError(what, "use `convert`, which makes a model of fixed shapes")
    return sizes
