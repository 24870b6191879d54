"""Changes of a model of one node, and of its inputs: attributes, shapes, dtypes, versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGERS = (0, 1, -1, 2, -2, 3, 5, -3, 7, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 20)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("inf"), float("-inf"), float("nan"), -3.5)
"""Numbers whose squares and exponentials f32 holds, and what is no number."""
TEXTS = (
    b"", b"x", b"SAME_UPPER", b"SAME_LOWER", b"VALID", b"NOTSET", b"mean", b"sum", b"none",
    b"linear", b"nearest", b"cubic", b"reflect", b"edge", b"constant", b"wrap", b"add", b"mul",
    b"max", b"min", b"floor", b"ceil", b"align_corners", b"half_pixel", b"asymmetric", b"DCR",
    b"CRD", b"forward", b"reverse", b"bidirectional", b"ij,jk->ik",
)  # fmt: skip
DTYPES = (
    "float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool", "int16", "uint16",
    "uint32", "uint64",
)  # fmt: skip
NEWEST = 25

_WRONG = {("Cast", "saturate"), ("CastLike", "saturate"), ("Resize", "axes"), ("TopK", "sorted")}
"""Attributes with which ONNX Runtime itself is wrong, reads what it did not write, or may answer in
any order."""
_CRASHING = {"DFT", "If", "Loop", "Scan", "Split", "StringSplit", "Unique"}
"""Operators whose inputs and outputs must have names, as ONNX Runtime else crashes."""


@dataclass
class Example:
    """A model with inputs."""

    name: str
    model: Any
    inputs: list[Array]
    freezes: bool = False

    def copy(self) -> Example:
        """A copy whose model and list of inputs may change."""
        model = type(self.model)()
        model.CopyFrom(self.model)
        return Example(self.name, model, [*self.inputs], self.freezes)

    @property
    def has_finite_attributes(self) -> bool:
        """Whether no float among the attributes of the nodes is infinite or NaN."""
        every = [each for node in self.model.graph.node for each in node.attribute]
        return all(np.isfinite([each.f, *each.floats]).all() for each in every)

    def frozen(self) -> dict[str, Array]:
        """The inputs by name, but for vectors of integers if these are to be constants."""
        from onnx import numpy_helper

        graph, feed = self.model.graph, {}
        for output in graph.output:
            output.ClearField("type")  # which the changes may have changed
        for info, x in zip([*graph.input], self.inputs, strict=True):
            if self.freezes and x.dtype.kind in "iub" and x.ndim <= 1:
                graph.initializer.append(numpy_helper.from_array(x, info.name))
                graph.input.remove(info)
            else:
                feed[info.name] = x
        self.model.ir_version = min(self.model.ir_version, 10)
        return feed


def changed(example: Example, random: Random) -> str:
    """Change one thing in a model or its inputs; says what it was."""
    from onnx import AttributeProto

    example.freezes = random.random() < 0.75
    node = random.choice([*example.model.graph.node])
    how = random.random()
    attributes = [each for each in node.attribute if (node.op_type, each.name) not in _WRONG]
    if how < 0.52 and attributes:
        attribute = random.choice(attributes)
        if how < 0.45 and attribute.type != AttributeProto.GRAPH:
            return _attribute(attribute, random)
        node.attribute.remove(attribute)
        return f"no {attribute.name}"
    if how < 0.6 and len(node.input) > 1 and node.op_type not in _CRASHING:
        return _operands(node, random)
    if how < 0.68 and len(node.output) > 1 and node.op_type not in _CRASHING:
        return _unnamed(example.model.graph, node, random)
    if how < 0.74 or not example.inputs:
        version = random.randrange(1, NEWEST + 1)
        example.model.opset_import[0].version = version
        return f"version {version}"
    return _input(example, random)


def _attribute(attribute: Any, random: Random) -> str:
    """Another value of an attribute, or of one of its elements; one more, or one less."""
    kind = attribute.type
    if kind == attribute.INT:
        attribute.i = _number(attribute.i, random)
        return f"{attribute.name} {attribute.i}"
    if kind == attribute.FLOAT:
        attribute.f = random.choice(FLOATS)
        return f"{attribute.name} {attribute.f}"
    if kind == attribute.STRING:
        attribute.s = random.choice(TEXTS)
        return f"{attribute.name} {attribute.s!r}"
    values = attribute.ints if kind == attribute.INTS else attribute.floats
    if not values:
        return "nothing"
    place, how = random.randrange(len(values)), random.random()
    if how < 0.7:
        some = kind == attribute.INTS
        values[place] = _number(values[place], random) if some else random.choice(FLOATS)
    elif how < 0.85:
        del values[place]
    else:
        values.append(values[place])
    return f"{attribute.name} {[*values]}"


def _number(before: int, random: Random) -> int:
    """Another integer of 64 bits: a usual one, or a neighbour, or that of the other sign."""
    number = random.choice((*INTEGERS, before + 1, before - 1, -before))
    return max(-(2**63), min(2**63 - 1, number))


def _operands(node: Any, random: Random) -> str:
    """An input that is not given, one less, or two exchanged."""
    place, how = random.randrange(len(node.input)), random.random()
    if how < 0.4:
        node.input[place] = ""
        return f"input {place} not given"
    if how < 0.7:
        del node.input[place]
        return f"no input {place}"
    other = random.randrange(len(node.input))
    node.input[place], node.input[other] = node.input[other], node.input[place]
    return f"inputs {place} and {other} exchanged"


def _unnamed(graph: Any, node: Any, random: Random) -> str:
    """An output without a name, which is no output of the graph then."""
    place = random.randrange(len(node.output))
    name, node.output[place] = node.output[place], ""
    for each in [each for each in graph.output if each.name == name]:
        graph.output.remove(each)
    return f"output {place} without a name"


def _input(example: Example, random: Random) -> str:
    """An input of another shape or dtype, or with another element."""
    from onnx import helper

    place = random.randrange(len(example.inputs))
    x, how = example.inputs[place], random.random()
    if how < 0.35:
        shape = _shape(x.shape, random)
        some = x.ravel() if x.size else np.zeros(1, x.dtype)
        x = np.resize(some, prod(shape)).reshape(shape).astype(x.dtype)
        what = f"of {shape}"
    elif how < 0.6 or not x.size or x.dtype.kind not in "iuf":
        with np.errstate(all="ignore"):
            x = x.astype(random.choice(DTYPES))
        what = f"of {x.dtype}"
    else:
        x = x.copy()
        number = random.randrange(x.size)
        with np.errstate(all="ignore"):
            x.flat[number] = _element(x.dtype, x.flat[number], random)
        what = f"whose element {number} is {x.flat[number]}"
    example.inputs[place] = x
    info = example.model.graph.input[place]
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    info.CopyFrom(helper.make_tensor_value_info(info.name, code, x.shape))
    return f"input {place} {what}"


def _shape(before: Sequence[int], random: Random) -> tuple[int, ...]:
    """A shape with another size, or with one dimension more or less in front."""
    if before and random.random() < 0.8:
        axis = random.randrange(len(before))
        size = before[axis]
        new = random.choice((0, 1, 2, 3, 4, size + 1, max(size - 1, 1)))
        return (*before[:axis], new, *before[axis + 1 :])
    return (1, *before) if random.random() < 0.5 else (*before[1:],)


def _element(dtype: np.dtype[Any], before: Any, random: Random) -> Any:
    if dtype.kind == "f":
        return random.choice(FLOATS)
    limits = np.iinfo(dtype)
    return max(limits.min, min(limits.max, _number(int(before), random)))
