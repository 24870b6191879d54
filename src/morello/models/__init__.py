"""Whole programs of many kernels: graphs cut into segments, each of them one call of C.

`compiling` finds the kernels of a graph's groups, `schedule` orders what they compute, `in_place`
leaves out copies, `buffers` shares the memory between them, and `segment` runs them.
"""

from morello.models.compiling import CompiledGraph, compile_graph, compile_partition
from morello.models.segment import Segment

__all__ = ["CompiledGraph", "Segment", "compile_graph", "compile_partition"]
