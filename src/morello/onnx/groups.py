"""The segments of sessions as the structs of plan.h, and of provider.c."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p

from morello.abi.plans import NUMBERS, dense_array
from morello.graph.graph import Node
from morello.onnx.claiming import Claim
from morello.runtime.argument import CACHE_LINE


class _Tensor(ctypes.Structure):
    """The struct `AbiTensor` of plan.h."""

    _fields_ = [
        ("onnx", c_int),
        ("xla", c_int),
        ("dlpack", c_int),
        ("rank", c_int64),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("bytes", c_size_t),
        ("alignment", c_size_t),
        ("problem", c_char_p),
    ]


class _Plan(ctypes.Structure):
    """The struct `AbiPlan` of plan.h."""

    _fields_ = [
        ("name", c_char_p),
        ("inputs", c_int64),
        ("outputs", c_int64),
        ("tensors", POINTER(_Tensor)),
        ("run", c_void_p),
        ("code", c_void_p),
        ("arena", c_size_t),
    ]


class RuntimeGroup(ctypes.Structure):
    """The struct `Group` of the text before provider.c."""

    _fields_ = [
        ("plan", POINTER(_Plan)),
        ("constants", c_void_p),
        ("names", POINTER(c_char_p)),
        ("users", c_int64),
    ]


def group_of(claim: Claim) -> RuntimeGroup:
    """A claim as a struct, which is valid as long as its segment."""
    segment = claim.segment
    names = (*claim.inputs, *claim.outputs)
    nodes = zip(names, (*segment.inputs, *segment.outputs), strict=True)
    tensors = [_tensor(name, node) for name, node in nodes]
    entry = segment.entry
    plan = _Plan(
        name=b"",
        inputs=len(segment.inputs),
        outputs=len(segment.outputs),
        tensors=(_Tensor * len(tensors))(*tensors),
        run=entry.run,
        code=entry.segment,
        arena=-(-segment.arena.bytes // CACHE_LINE) * CACHE_LINE,
    )
    texts = (c_char_p * len(names))(*(name.encode() for name in names))
    return RuntimeGroup(plan=ctypes.pointer(plan), names=texts)


def _tensor(name: str, node: Node) -> _Tensor:
    array = dense_array(name, node.dtype, node.shape)
    onnx, *_ = NUMBERS[node.dtype.name]
    return _Tensor(
        onnx=onnx,
        rank=node.type.rank,
        shape=(c_int64 * max(1, node.type.rank))(*node.shape),
        bytes=array.bytes,
        alignment=node.dtype.itemsize,
        problem=f"{name} should be {array}.".encode(),
    )
