"""The C of a segment, for programs without Python: its kernels, its constants, and one function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from morello.codegen import generate
from morello.codegen.names import check_function_name
from morello.codegen.parallel import PARALLEL
from morello.graph.graph import Graph, Node
from morello.graph.operators import Constant, Input
from morello.impl.printing import tree
from morello.kernel import Kernel
from morello.models.segment import Segment
from morello.runtime.argument import CACHE_LINE, Array


@dataclass(frozen=True)
class SegmentSource:
    """C files that compute a segment, by file name, and the bytes of its constants.

    `name` is the function, declared in the header `{name}.h`. It takes the arrays, inputs before
    outputs, the constants, which begin at a cache line, a workspace of `workspace` bytes, which
    does so as well, and what runs parallel loops, which may be null.
    """

    name: str
    files: Mapping[str, str]
    constants: bytes
    workspace: int


def segment_source(
    segment: Segment, graph: Graph, name: str, outputs: Sequence[str]
) -> SegmentSource:
    """The C of a segment that computes a graph, as a function of this name.

    The arrays are those of the graph, in its order. `outputs` are the names of its outputs, if
    these have any. Raises `BuildError` if C can have no function of this name.
    """
    check_function_name(name)
    functions: dict[Kernel, str] = {}
    files: dict[str, str] = {}
    declared: list[str] = []
    for kernel in segment.kernels:
        if kernel in functions:
            continue
        function = functions[kernel] = f"{name}_kernel_{len(functions)}"
        source = generate(kernel.impl, function, tree(kernel.impl))
        files[f"{function}.c"] = source.text
        types = ["void *"] * len(kernel.arguments)
        if source.parallel:
            function = functions[kernel] = f"{function}_on"
            types += ["parallel_t", "void *"]
        declared.append(f"void {function}({', '.join(types)});")
    constants = ConstantBlock()
    calls = []
    given = (*segment.inputs, *segment.outputs)
    arrays = [f"(char *)arrays[{_number(graph, node)}]" for node in given]
    for kernel, places in zip(segment.kernels, segment.places, strict=True):
        arguments = []
        for place in places:
            if isinstance(place.base, int):
                arguments.append(f"{['workspace', *arrays][place.base]} + {place.offset}")
            else:
                arguments.append(f"(char *)constants + {constants.add(place.base)}")
        if kernel.threads > 1:
            arguments += ["run", "pool"]
        calls.append(f"    {functions[kernel]}({', '.join(arguments)});")
    calls += _copies(graph, constants)
    files[f"{name}.c"] = _DRIVER.format(
        name=name, declared="\n".join(declared), calls="\n".join(calls)
    )
    files[f"{name}.h"] = _header(segment, graph, name, constants.size, outputs)
    return SegmentSource(name, files, b"".join(constants.pieces()), segment.arena.bytes)


def _number(graph: Graph, node: Node) -> int:
    """The number of a node among the inputs of a graph, and the outputs after them."""
    return (*graph.inputs, *graph.outputs).index(node)


def _copies(graph: Graph, constants: ConstantBlock) -> Iterator[str]:
    """Statements that write the outputs of a graph that no kernel does.

    Each is an input, a constant, or the same as an output before it.
    """
    for number, node in enumerate(graph.outputs, len(graph.inputs)):
        first = _number(graph, node)
        if isinstance(node.operator, Constant):
            source = f"(const char *)constants + {constants.add(node.operator.array)}"
        elif first < number:
            source = f"arrays[{first}]"
        else:
            continue
        yield f"    memcpy(arrays[{number}], {source}, {node.type.bytes});"


class ConstantBlock:
    """Constants, one after the other, in `size` bytes; each begins at a cache line."""

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[int, tuple[int, Array]] = {}

    def add(self, array: Array) -> int:
        """The offset of a flat array, which is added unless it was before."""
        if id(array) not in self._places:
            begin = -(-self.size // CACHE_LINE) * CACHE_LINE
            self._places[id(array)] = begin, array
            self.size = begin + array.nbytes
        return self._places[id(array)][0]

    def pieces(self) -> Iterator[bytes | memoryview]:
        """All constants, as pieces of bytes that follow each other."""
        end = 0
        for begin, array in self._places.values():
            yield bytes(begin - end)
            yield np.ascontiguousarray(array).view(np.uint8).data
            end = begin + array.nbytes


_DRIVER = """\
#include <string.h>

#include "{name}.h"

{declared}

void {name}(
    void *const *arrays, const void *constants, void *memory, parallel_t run, void *pool) {{
    char *workspace = memory;
    (void)workspace;
    (void)constants;
    (void)run;
    (void)pool;
{calls}
}}
"""


_HEADER = """\
#ifndef {upper}_H
#define {upper}_H
#ifdef __cplusplus
extern "C" {{
#endif
/* The arrays are row-major, do not overlap, and begin at multiples of their elements' size:
{arrays}
   An f32 is a float; a bf16 or f16 is in a uint16_t, as its bits; a bool is a byte, 0 or 1.
   The constants, and the workspace, begin at multiples of {line}. Safe to call from several threads
   at once, each with a workspace of its own. If it is not null, run(pool, body, environment, count)
   calls body for ranges that make up [0, count), on any threads and in any order, and returns when
   all are done; else the calling thread does everything. On one thread:
     void *workspace = aligned_alloc({line}, {upper}_WORKSPACE);
     {name}(arrays, {name}_constants, workspace, NULL, NULL); */
#define {upper}_CONSTANTS {constants}
#define {upper}_WORKSPACE {workspace}
extern const char {name}_constants[]; /* {upper}_CONSTANTS bytes, of {name}_constants.S */
#ifndef MORELLO_PARALLEL
#define MORELLO_PARALLEL
{parallel}
#endif
void {name}(
    void *const *arrays, const void *constants, void *workspace, parallel_t run, void *pool);
#ifdef __cplusplus
}}
#endif
#endif
"""


def _header(
    segment: Segment, graph: Graph, name: str, constants: int, outputs: Sequence[str]
) -> str:
    inputs = [n.operator.name if isinstance(n.operator, Input) else "" for n in graph.inputs]
    names = outputs or [""] * len(graph.outputs)
    arrays = [f"{_named(*each)}, read" for each in zip(graph.inputs, inputs, strict=True)]
    arrays += [f"{_named(*each)}, written" for each in zip(graph.outputs, names, strict=True)]
    return _HEADER.format(
        name=name,
        upper=name.upper(),
        arrays="\n".join(f"   {number}: {each}" for number, each in enumerate(arrays)),
        line=CACHE_LINE,
        constants=constants,
        workspace=segment.arena.bytes,
        parallel=PARALLEL,
    )


def _named(node: Node, name: str) -> str:
    """The type of an array and, unless it would end the comment that it is in, its name."""
    harmless = name.isprintable() and not {*name} & {*"*/\\"}
    return f"{node.type} {name}".rstrip() if harmless else str(node.type)
