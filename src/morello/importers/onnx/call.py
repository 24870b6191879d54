"""A node of an ONNX model, as the functions that translate it see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from onnx import NodeProto, TensorProto, helper
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from morello.base.errors import GraphError, quoted
from morello.graph.graph import Array, Node, Operator, TensorType, apply
from morello.graph.interpreter import check_room, widened
from morello.graph.operators import Cast, Concat, Constant, Gather, Map, Reshape
from morello.graph.views import VIEWS
from morello.importers.ranges import in_32_bits

BOOL, INT32, INT64 = np.dtype(bool), np.dtype(np.int32), np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
FLOATS = frozenset(map(np.dtype, (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)))
NARROW = FLOATS - {np.dtype(np.float64)}
INTEGERS = frozenset(
    map(np.dtype, (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32))
)
KNOWN = FLOATS | INTEGERS | {BOOL}
"""The dtypes that translated operators may have; int64 holds each integer of them."""

MOST_BYTES = 2**36
"""The largest tensor that a model may have."""
MOST_FOLDED = 2**27
"""The most elements that are computed once, from constants, when a model is read."""

Results = Node | Sequence[Node]
Translation = Callable[["OnnxCall"], Results]
TRANSLATIONS: dict[tuple[str, str], Translation] = {}
"""The functions that translate nodes, by domain and type."""


class LeftError(Exception):
    """A node, or a form of it, that no translation takes; the message says why."""


class UndefinedError(LeftError):
    """A form of a node that ONNX gives no meaning, so that its own definition is none either."""


@contextmanager
def left_if_refused() -> Iterator[None]:
    """Within it, a `GraphError` is the reason why the node is left: a `LeftError`."""
    try:
        yield
    except GraphError as error:
        raise LeftError(str(error).removesuffix(".")) from None


def translates(*types: str, domain: str = "") -> Callable[[Translation], Translation]:
    """Register a function as the translation of nodes of these types."""

    def register(function: Translation) -> Translation:
        TRANSLATIONS.update({(domain, each): function for each in types})
        return function

    return register


@dataclass(frozen=True)
class OnnxCall:
    """A node: its type, the version of its domain, its attributes, and the nodes that it reads.

    An optional input that is not given is None. It has a number of outputs, of which some are
    used.
    """

    type: str
    version: int
    attributes: Mapping[str, Any]
    inputs: tuple[Node | None, ...]
    outputs: int
    used: frozenset[int]

    def __getitem__(self, index: int) -> Node:
        node = self.get(index)
        if node is None:
            raise GraphError(f"{self.type} has no input {index}.")
        return node

    def get(self, index: int) -> Node | None:
        """An optional input; None if it is not given."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def all(self) -> tuple[Node, ...]:
        """The inputs, each of which must be given."""
        return tuple(self[i] for i in range(len(self.inputs)))

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute; raises `GraphError` if it is not given and has no default."""
        if name in self.attributes:
            return self.attributes[name]
        if default is None:
            raise GraphError(f"{self.type} has no attribute {name}.")
        return default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An attribute that is 0 or 1; the node is left if it is another number."""
        value = self.attribute(name, int(default))
        if value not in (0, 1):
            raise UndefinedError(f"its {name} is {value}, and neither 0 nor 1")
        return bool(value)

    def text(self, name: str, default: str) -> str:
        """An attribute that is a text."""
        return str(self.attribute(name, default.encode()).decode("utf-8", "replace"))

    def static(self, index: int) -> Array:
        """The value of an input that must be a constant."""
        node = self[index]
        if not isinstance(node.operator, Constant):
            raise LeftError(f"its input {index} is computed when it runs")
        return node.operator.array

    def integers(self, index: int) -> tuple[int, ...]:
        """The value of an input that must be a constant of integers."""
        return tuple(int(n) for n in self.static(index).reshape(-1))

    def listed(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """Integers that are an attribute before version `since`, and an input from then on.

        None if they are not given.
        """
        if self.version >= since:
            return None if self.get(index) is None else self.integers(index)
        given = self.attributes.get(name)
        return None if given is None else tuple(map(int, given))

    def axis(self, default: int | None = None, rank: int | None = None) -> int:
        """The attribute `axis` from 0 on, for the first input or a tensor of another rank."""
        return position(
            self.attribute("axis", default), self[0].type.rank if rank is None else rank
        )

    def only(self, *outputs: int) -> None:
        """Leave the node if others than these outputs are used."""
        if others := self.used - {*outputs}:
            raise LeftError(f"its output {min(others)} is used")

    def floating(self) -> None:
        """Leave the node unless its first input has floating-point numbers."""
        if self[0].dtype not in FLOATS:
            raise LeftError(f"it is of {self[0].dtype}")


def position(axis: int, rank: int) -> int:
    """An axis, of which a negative one counts from the end, from 0 on."""
    if not -rank <= axis < rank:
        raise GraphError(f"there is no axis {axis} of {rank}.")
    return axis % rank


def positions(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes from 0 on, in order."""
    return tuple(sorted({position(axis, rank) for axis in axes}))


def constant(array: Any, dtype: np.dtype[Any] | None = None) -> Node:
    """A constant, in its own dtype or in another one."""
    return apply(Constant(np.asarray(array, dtype)))


def contents(tensor: TensorProto) -> Array:
    """The numbers of a tensor; raises `GraphError` if they are not as many as it says."""
    try:
        array: Array = to_array(tensor)
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        reason = " ".join(str(error).split())[:120]
        raise GraphError(f"the constant {quoted(tensor.name)} is damaged: {reason}.") from None
    return array


def number(value: float, like: Node) -> Node:
    """A constant number of the dtype of a node."""
    return constant(value, like.dtype)


def known_dtype(code: int) -> np.dtype[np.generic]:
    """The dtype with this number in ONNX; leaves the node if it is not among `KNOWN`."""
    try:
        dtype: np.dtype[np.generic] = np.dtype(tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError):
        raise LeftError(f"there is no dtype {code}") from None
    if dtype not in KNOWN:
        raise LeftError(f"it makes {dtype}")
    return dtype


def is_too_large(kind: TensorType) -> bool:
    """Whether no model may have such a tensor; NumPy limits the other sizes of empty ones, too."""
    return prod(filter(None, kind.shape)) * kind.dtype.itemsize > MOST_BYTES


def op(operator: Operator, *inputs: Node) -> Node:
    """The node that applies an operator, or its value if all inputs are constants."""
    kind = operator.result(*(node.type for node in inputs))
    if is_too_large(kind):
        raise GraphError(f"{operator} computes {kind}, which is too large.")
    node = Node(operator, inputs, kind)
    arrays = [node.operator.array for node in inputs if isinstance(node.operator, Constant)]
    if len(arrays) < len(inputs) or prod(node.shape) > MOST_FOLDED:
        return node
    check_room(node)
    if not isinstance(operator, (*VIEWS, Concat, Gather)):
        arrays = [widened(array) for array in arrays]
    with np.errstate(all="ignore"):
        return constant(operator.evaluate(*arrays), node.dtype)


def function(name: str, *inputs: Node) -> Node:
    """A function of `Map`, elementwise."""
    return op(Map(name), *inputs)


def in_few_bits(compute: Callable[..., Node], *operands: Node) -> Node:
    """A function of operands; int64 is computed in 32 bits, where these suffice."""
    small = in_32_bits(compute, *operands) if operands[0].dtype == INT64 else None
    return compute(*operands) if small is None else cast(small, INT64)


def cast(x: Node, dtype: np.dtype[Any]) -> Node:
    """A node in another dtype, itself if it has it."""
    return x if x.dtype == dtype else op(Cast(dtype), x)


def reshaped(x: Node, shape: Sequence[int]) -> Node:
    """A node in another shape, itself if it has it."""
    return x if x.shape == tuple(shape) else op(Reshape(tuple(shape)), x)


def along(x: Node, axis: int, rank: int) -> Node:
    """A vector whose elements go along one axis of tensors of a rank."""
    return reshaped(x, tuple(x.type.size if d == axis else 1 for d in range(rank)))


def one_type(*inputs: Node) -> TensorType:
    """The type of the first; raises `GraphError` if another one has another dtype."""
    if len({node.dtype for node in inputs}) > 1:
        raise GraphError(f"{', '.join(str(node.type) for node in inputs)}: the dtypes differ.")
    return inputs[0].type


def domain_of(proto: NodeProto) -> str:
    """The domain of a node's operator: that of ONNX itself, which has two names, is empty."""
    return "" if proto.domain == "ai.onnx" else proto.domain


def attributes_of(proto: NodeProto) -> dict[str, Any]:
    """The attributes by name; of nodes within functions, some refer to others."""
    if any(attribute.ref_attr_name for attribute in proto.attribute):
        raise LeftError("an attribute is one of a function")
    return {a.name: helper.get_attribute_value(a) for a in proto.attribute}


def constant_of(values: Mapping[str, Any]) -> Node:
    """The value of a node of type Constant, given its attributes."""
    if "value" in values:
        return constant(contents(values["value"]))
    for name, dtype in (("float", np.float32), ("int", np.int64)):
        for key in (f"value_{name}", f"value_{name}s"):
            if key in values:
                return constant(np.array(values[key], dtype))
    raise LeftError("it is sparse, or of texts")
