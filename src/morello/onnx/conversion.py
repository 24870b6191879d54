"""From the file of a model to those of a faster one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Unpack

from onnx import ModelProto, TensorProto

from morello.base.files import check_outputs, check_writable, write_bytes, write_pieces
from morello.graph.frameworks import ONNX_RUNTIME
from morello.graph.operators import Foreign
from morello.importers.onnx import OnnxProgram, import_model, read_model
from morello.importers.onnx.program import OnnxNode, node_name
from morello.models import CompiledGraph, compile_graph
from morello.models.reporting import ProgramReport, program_report
from morello.onnx.library import build_library, custom_op
from morello.onnx.nodes import UnwrittenError
from morello.onnx.rewriting import DOMAIN, LARGE, Contents, computed_with, rewritten
from morello.options import GraphOptions

MOST_INSIDE = 2**26
"""The most bytes of constants in a model's file; more are in another one, which is mapped."""


@dataclass(frozen=True)
class Conversion:
    """A model that was converted: its files, and the nodes that are left to ONNX Runtime.

    `library` is None if no part of the model became a kernel. `left` has by kind of operator how
    many nodes of the new model are ONNX Runtime's, and `reasons` why nodes of the old one are.
    """

    model: Path
    library: Path | None
    data: Path | None
    compiled: CompiledGraph
    left: Mapping[str, int]
    reasons: tuple[tuple[str, str], ...]
    reporting: Callable[[], ProgramReport] = field(repr=False)

    @cached_property
    def report(self) -> ProgramReport:
        """The kernels, with their times; made when it is asked for."""
        return self.reporting()

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.model, self.library, self.data) if path is not None)


def convert(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    shapes: Mapping[str, Sequence[int]] | None = None,
    **options: Unpack[GraphOptions],
) -> Conversion:
    """Write a model that computes the same, and beside it the library of its kernels.

    Inputs with free dimensions need shapes. The options are those of `morello.compile`, and
    `fuse_seconds` and `winograd` (see `compile_graph`); with `threads`, kernels that gain by so
    many run on those of the session. Raises `MorelloError`.
    """
    path = Path(output)
    check_writable(path)  # which an empty one is not: it has no suffix
    library, data = path.with_suffix(".so"), Path(f"{path}.data")
    check_outputs(
        {"the output": path, "its library": library, "its constants": data},
        {"the model": Path(model)},
    )
    asked: GraphOptions = {"threads": 1, **options}
    leaving: set[str] = set()
    while True:
        program = import_model(read_model(model), shapes, leaving=leaving)
        compiled = compile_graph(program.graph, ONNX_RUNTIME, **asked)
        ops = {segment: custom_op(segment, n) for n, segment in enumerate(compiled.segments)}
        try:
            faster, contents = rewritten(program, compiled, ops)
            break
        except UnwrittenError as error:
            # as of a Scatter in an old version, of which kernels compute the places alone
            more = computed_with(program, error.node) - leaving
            if not more:
                raise
            leaving |= more
    if ops:
        write_bytes(library, build_library([*ops.values()]).read_bytes())
    outside = _write(faster, contents, path, data)
    kinds = Counter(node.op_type for node in faster.graph.node if node.domain != DOMAIN)
    return Conversion(
        path, library if ops else None, data if outside else None, compiled, kinds,
        _reasons(program, compiled),
        partial(
            _report, compiled, Path(model).stem, dict(program.left), [*map(node_name, program.rest)]
        ),
    )  # fmt: skip


def _reasons(program: OnnxProgram, compiled: CompiledGraph) -> tuple[tuple[str, str], ...]:
    """Why nodes are left: those of the model, then those of which there is no kernel."""
    own = [n for n in compiled.left if not isinstance(n.operator, Foreign)]
    kinds = Counter(str(node.operator).partition("[")[0] for node in own)
    return (*program.left, *((kind, f"{n} of no kernel") for kind, n in kinds.items()))


def _report(
    compiled: CompiledGraph, name: str, reasons: Mapping[str, str], rest: Sequence[str]
) -> ProgramReport:
    """The report of a model of this name, with the nodes that are in no graph at its end."""

    def why(operator: Foreign) -> str:
        assert isinstance(operator.key, OnnxNode)
        return reasons[node_name(operator.key.proto)]

    arguments = tuple(str(node.type) for node in compiled.graph.inputs)
    report = program_report(compiled, arguments, why)
    return replace(
        report, name=name, left=(*report.left, *((each, reasons[each]) for each in rest))
    )


def _write(model: ModelProto, contents: Mapping[str, Contents], path: Path, data: Path) -> bool:
    """Write a model with the contents of its constants; whether these are in the file `data`."""
    tensors = {t.name: t for t in model.graph.initializer if t.name in contents}
    outside = sum(content.nbytes for content in contents.values()) > MOST_INSIDE
    if outside:
        pieces: list[Iterator[bytes | memoryview]] = []
        end = 0
        for name, content in contents.items():
            gap = -end % LARGE
            _move(tensors[name], data.name, end + gap, content.nbytes)
            end += gap + content.nbytes
            pieces += [iter([bytes(gap)]), content.pieces()]
        write_pieces(data, chain.from_iterable(pieces))
    else:
        for name, content in contents.items():
            tensors[name].raw_data = b"".join(content.pieces())
    write_bytes(path, model.SerializeToString())
    return outside


def _move(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Say that the contents of a tensor are in a file."""
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
