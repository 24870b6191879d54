"""Classes of kernels by what they compute, which are finer than the groups of their costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from morello.ir.primitives.softmax import SOFTMAX_PARTS
from morello.targets.target import LeafKernel

_OPERATIONS: Mapping[str, Iterable[str]] = {
    "sums": ("Sum", "SumPool", "SegmentSum"),
    "squares": ("SumSquares", "SumSquaredDeviations"),
    "extrema": ("Max", "Min", "MaxPool", "Argmax", "Argmin"),
    "scaling": ("DivideVecScalar",),
    "exponentials": ("Exp", "Exp2", "Expm1"),
    "error_functions": ("Erf", "Erfc", "Gelu"),
    "tangents": ("Tanh", "GeluTanh"),
    "sigmoids": ("Sigmoid", "Silu"),
    "divisions": ("Divide", "Reciprocal", "Remainder", "Quotient"),
    "roots": ("Sqrt", "Rsqrt"),
    "arithmetic": ("Add", "Subtract", "Multiply", "Square"),
    "choices": ("Maximum", "Minimum", "Relu", "Where"),
    "broadcasts": ("Broadcast", "Cast"),
    "packing": ("Pack", "Unbias"),
    "softmax": SOFTMAX_PARTS,
}
"""The operations of most classes, without what is appended to the names of their variants."""

_CLASSES = {operation: name for name, members in _OPERATIONS.items() for operation in members}
_SUFFIXES = ("Accum", "Constant")
_SHUFFLES = "shuffles"
_MOVES = ("loads", "stores", "copies", _SHUFFLES)
"""The groups of kernels that move a tensor."""

_CONVERSIONS, _TRANSPOSES, _OTHERS = "conversions", "transposes", "others"
WORK = (*_OPERATIONS, _CONVERSIONS, _TRANSPOSES, _OTHERS)


def work_of(kernel: LeafKernel) -> str:
    """The class of `WORK` that a kernel is in."""
    operation = kernel.operation
    for suffix in _SUFFIXES:
        operation = operation.removesuffix(suffix)
    if operation in _CLASSES:
        return _CLASSES[operation]
    moves = kernel.group in _MOVES and len(kernel.dtypes) == 2
    if moves and kernel.dtypes[0] is not kernel.dtypes[1]:
        return _CONVERSIONS
    return _TRANSPOSES if moves and kernel.group == _SHUFFLES else _OTHERS


def in_cache(kernel: LeafKernel) -> bool:
    """Whether all operands are in caches, so that it may loop over elements by itself."""
    return all(held is None for held in kernel.held)
