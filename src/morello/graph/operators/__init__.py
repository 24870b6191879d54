"""The operators of graphs: one class each, with its types, its values in NumPy, and its text."""

from morello.graph.operators.attention import Attention
from morello.graph.operators.elementwise import Cast, Map, Where
from morello.graph.operators.language import PrimitiveOperator
from morello.graph.operators.movement import (
    Broadcast,
    Concat,
    Gather,
    Pad,
    Reshape,
    Scatter,
    SegmentSum,
    Slice,
    Transpose,
)
from morello.graph.operators.products import Conv, Dot
from morello.graph.operators.reductions import (
    ArgReduce,
    Cumulate,
    LayerNorm,
    Pooling,
    Reduce,
    RmsNorm,
    Softmax,
)
from morello.graph.operators.sources import Constant, Foreign, Input, Iota

__all__ = [
    "ArgReduce",
    "Attention",
    "Broadcast",
    "Cast",
    "Concat",
    "Constant",
    "Conv",
    "Cumulate",
    "Dot",
    "Foreign",
    "Gather",
    "Input",
    "Iota",
    "LayerNorm",
    "Map",
    "Pad",
    "Pooling",
    "PrimitiveOperator",
    "Reduce",
    "Reshape",
    "RmsNorm",
    "Scatter",
    "SegmentSum",
    "Slice",
    "Softmax",
    "Transpose",
    "Where",
]
