"""Models in files, which commands take in place of expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from morello.base.errors import GraphError

if TYPE_CHECKING:
    from morello.graph.frameworks import Framework
    from morello.graph.graph import Graph

MODELS: Final = (".onnx", ".mlir")
"""The suffixes of models: of ONNX, and of StableHLO, as JAX exports it."""


@dataclass(frozen=True)
class ModelFile:
    """The graph of a model, and the framework whose programs are grouped as it is.

    `left` names the kinds of nodes that are not in the graph: their shapes are not known. `outputs`
    are the names of the graph's outputs, if these have any.
    """

    graph: Graph
    framework: Framework
    left: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def read_model_file(path: Path, shapes: Mapping[str, Sequence[int]]) -> ModelFile:
    """The model in a file; raises `GraphError` for one that cannot be read."""
    from morello.graph import frameworks

    if path.suffix == ".onnx":
        from morello.importers.onnx import import_model, read_model

        model = import_model(read_model(path), shapes)
        left = sorted({node.op_type for node in model.rest})
        outputs = (*model.outputs, *model.carried)
        return ModelFile(model.graph, frameworks.ONNX_RUNTIME, (*left,), outputs)
    if shapes:
        raise GraphError("shapes are fixed in StableHLO", "leave out --shape")
    try:
        from morello.importers.stablehlo import read
    except ImportError as error:
        raise GraphError(
            f"StableHLO is read by JAX ({error})", "`pip install 'morello[jax]'`"
        ) from None
    return ModelFile(read(path), frameworks.JAX)
