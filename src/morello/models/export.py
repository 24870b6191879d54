"""A graph as a C project: sources, a CMake file, and a program that checks what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from morello.abi.hosts import PLAIN, POSIX, host_functions
from morello.abi.plans import dense_array
from morello.base.errors import GraphError
from morello.base.files import make_folder, write_bytes, write_text
from morello.codegen.source import joined
from morello.graph.graph import Array, Graph, Node, in_order
from morello.graph.interpreter import evaluate, random_values
from morello.models.compiling import CompiledGraph
from morello.models.segment import Segment
from morello.models.source import SegmentSource, segment_source
from morello.runtime.argument import CACHE_LINE

SEED = 0
"""The seed of the random inputs that the project is checked on."""

_TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-3}
"""The largest error that the program takes for rounding, relative to the largest result.

That of a result is the largest one of all that was computed before it.
"""


@dataclass(frozen=True)
class ExportedProject:
    """The files of a project, by name, and what it was checked with."""

    source: SegmentSource
    texts: dict[str, str]
    data: dict[str, bytes]


def exported(
    model: CompiledGraph, name: str, abis: Sequence[str] = (PLAIN,), outputs: Sequence[str] = ()
) -> ExportedProject:
    """The C project of a graph whose nodes are all computed by kernels.

    With other `abis` of `ABIS`, it has a shared library with functions for these hosts. `outputs`
    are the names of the graph's outputs, if these have any. Raises `GraphError` if some nodes are
    left to a framework, which C does not have.
    """
    segment = only_segment(model)
    graph = model.graph
    source = segment_source(segment, graph, name, outputs)
    arrays, expected = _case(graph)
    check = b"".join(array.tobytes() for array in (*arrays, *expected))
    tables = {
        "name": name,
        "upper": name.upper(),
        "line": CACHE_LINE,
        "inputs": len(arrays),
        "count": len(arrays) + len(expected),
        "arrays": "\n".join(map(_case_array, (*graph.inputs, *graph.outputs))),
        "hosted": "",
    }
    hosts = _host_file(graph, source, abis)
    if hosts:
        tables["hosted"] = _HOSTED.format(**tables, kernels=" ".join(sorted(_c_files(source))))
    texts = (
        dict(source.files)
        | hosts
        | {
            f"{name}_constants.S": _CONSTANTS.format(**tables),
            "case.h": _CASE.format(**tables),
            "check.c": Path(__file__).with_name("check.c").read_text(encoding="utf-8"),
            "CMakeLists.txt": _CMAKE.format(**tables, kernels=" ".join(sorted(_c_files(source)))),
        }
    )
    return ExportedProject(
        source, texts, {f"{name}_constants.bin": source.constants, "check.bin": check}
    )


def write_project(project: ExportedProject, folder: Path) -> list[Path]:
    """Write the files of a project into a folder, which is made if needed; returns their paths.

    Raises `FileError` if they cannot be written.
    """
    make_folder(folder / "CMakeLists.txt")
    for name, text in project.texts.items():
        write_text(folder / name, text)
    for name, data in project.data.items():
        write_bytes(folder / name, data)
    return [folder / name for name in (*project.texts, *project.data)]


def _host_file(graph: Graph, source: SegmentSource, abis: Sequence[str]) -> dict[str, str]:
    """The C file of the functions for hosts, by its name; none if there are no hosts."""
    if not {*abis} - {PLAIN}:
        return {}
    name = source.name
    arrays = [
        dense_array(f"argument {number} of {name}", node.dtype, node.shape)
        for number, node in enumerate((*graph.inputs, *graph.outputs))
    ]
    count = len(graph.inputs)
    call = f"{name}((void *const *)arrays, {name}_constants, arena, run, pool);"
    functions = host_functions(
        name, arrays[:count], arrays[count:], call, abis, arena=source.workspace
    )
    first = [POSIX, f'#include "{name}.h"', ""]
    return {f"{name}_hosts.c": joined([*first, *functions])}


def only_segment(model: CompiledGraph) -> Segment:
    """The segment that computes all of a graph; raises `GraphError` if some nodes are left."""
    if model.left or len(model.segments) != 1:
        names = ", ".join(sorted({str(node.operator) for node in model.left})[:5])
        raise GraphError(
            f"no kernel computes {names or 'anything'} of this graph, and C has no framework for "
            "it; export a part that has none of it."
        )
    return model.segments[0]


def _case(graph: Graph) -> tuple[list[Array], list[Array]]:
    """Random inputs of a graph, and its outputs in float64, rounded to their dtypes."""
    random = np.random.default_rng(SEED)
    given = [random_values(node, random) for node in graph.inputs]
    values = evaluate(graph, given)
    outputs = zip(graph.outputs, values, strict=True)
    return given, [value.astype(node.dtype) for node, value in outputs]


def _case_array(node: Node) -> str:
    """An `Array` of check.c."""
    size, name = node.dtype.itemsize, node.dtype.name
    return f'    {{{node.type.bytes}, {size}, "{name}", {tolerance_of(node)}}},'


def tolerance_of(node: Node) -> float:
    """The largest error of a result that is rounding, relative to the largest element."""
    before = (each for each in in_order([node]) if each.inputs)
    coarsest = max((_TOLERANCES.get(each.dtype.name, 0.0) for each in before), default=0.0)
    return coarsest if node.dtype.name in _TOLERANCES else 0.0


def _c_files(source: SegmentSource) -> list[str]:
    return [name for name in source.files if name.endswith(".c")]


_CONSTANTS = """\
    .section .rodata
    .balign {line}
    .globl {name}_constants
{name}_constants:
    .incbin "{name}_constants.bin"
    .balign {line}
    .section .note.GNU-stack,"",%progbits
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project({name} C ASM)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_library({name} STATIC {kernels} {name}_constants.S)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_source_files_properties({name}_constants.S PROPERTIES
  COMPILE_OPTIONS "-I${{CMAKE_CURRENT_SOURCE_DIR}}"
  OBJECT_DEPENDS ${{CMAKE_CURRENT_SOURCE_DIR}}/{name}_constants.bin)
{hosted}if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)  # not within another project
  add_executable(check check.c)
  target_compile_definitions(check PRIVATE CASE="${{CMAKE_CURRENT_SOURCE_DIR}}/check.bin")
  target_link_libraries(check {name})
  enable_testing()
  add_test(NAME check COMMAND check)
endif()
"""

_HOSTED = """\
find_package(Threads REQUIRED)
add_library({name}_hosts SHARED {name}_hosts.c {kernels} {name}_constants.S)
target_link_libraries({name}_hosts PRIVATE Threads::Threads)
"""

_CASE = """\
/* What check.c runs, and on which arrays. */
#include "{name}.h"

#define RUN(arrays, workspace) {name}(arrays, {name}_constants, workspace, 0, 0)
#define WORKSPACE {upper}_WORKSPACE
enum {{ LINE = {line}, INPUTS = {inputs}, COUNT = {count} }};
static const Array arrays[COUNT] = {{
{arrays}
}};
"""
