"""A graph of ONNX Runtime, as an execution provider is given it, read through its C interface."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto, OperatorSetIdProto, helper
from onnx.numpy_helper import from_array

from morello.base.errors import MorelloError
from morello.graph.graph import Array, TensorType

_CREATE_STATUS, _GET_ERROR_MESSAGE, _RELEASE_STATUS = 0, 2, 93
_GET_DATA, _CAST_TO_TENSOR, _ONNX_TYPE, _ELEMENT_TYPE = 51, 55, 56, 60
_DIMENSION_COUNT, _DIMENSIONS, _TYPE_OF_VALUE = 61, 62, 65
_RELEASE_VALUE, _RELEASE_SHAPE = 96, 99
_CONFIG, _LOG, _READ_ATTRIBUTE, _VALUE_NAME, _VALUE_TYPE = 238, 247, 272, 289, 290
_INITIALIZER, _IS_CONSTANT, _MODEL_PATH = 326, 331, 334
_OPERATOR_SET_COUNT, _OPERATOR_SETS = 336, 337
_OUTPUTS, _INITIALIZERS, _NODES = (340, 341), (342, 343), (344, 345)
_PARENT, _NODE_NAME, _NODE_TYPE, _NODE_DOMAIN = 346, 349, 350, 351
_NODE_INPUTS, _NODE_OUTPUTS, _IMPLICIT_INPUTS = (353, 354), (355, 356), (357, 358)
_ATTRIBUTES, _TENSOR, _ATTRIBUTE_TYPE, _ATTRIBUTE_NAME = (359, 360), 362, 363, 364
_PROVIDER, _HAS_SHAPE = 368, 390

_FAIL, _WARNING, _ONNX_TENSOR = 1, 2, 1

_DTYPES = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}
"""The numbers of types, in ONNX and in ONNX Runtime, whose elements are whole bytes."""

_A = AttributeProto
_ATTRIBUTE_TYPES = {
    1: _A.INT, 2: _A.INTS, 3: _A.FLOAT, 4: _A.FLOATS, 5: _A.STRING, 6: _A.STRINGS, 8: _A.TENSOR,
}  # fmt: skip
"""ONNX's types of attributes by those of ONNX Runtime; it has no others but graphs."""

_PROVIDER_API, _ADD_NODES, _STRUCT_VERSION = 317, 2, 23
_EDITOR, _CREATE_NODE, _NEW_ATTRIBUTE = 291, 6, 211


class _FusionOptions(ctypes.Structure):
    """The struct `FusionOptions` of provider.c."""

    _fields_ = [("version", ctypes.c_uint32), ("drop_constants", c_bool)]


_FUNCTION = ctypes.CFUNCTYPE(c_void_p)
_TEXT_FUNCTION = ctypes.CFUNCTYPE(c_char_p)
_BOOL_FUNCTION = ctypes.CFUNCTYPE(c_bool)


class RuntimeApi:
    """ONNX Runtime's table of functions, by number."""

    def __init__(self, address: int) -> None:
        self._table = (c_void_p * (_HAS_SHAPE + 1)).from_address(address)

    def address(self, number: int) -> int:
        """The address of a function."""
        address = self._table[number]
        assert address is not None
        return address

    def call(self, number: int, *arguments: Any) -> None:
        """Call a function that returns a status; raises `MorelloError` if it fails."""
        self.check(_FUNCTION(self.address(number))(*arguments))

    def check(self, status: int | None) -> None:
        """Raise `MorelloError` if a status, which is released, is one of failure."""
        if status:
            text = _TEXT_FUNCTION(self.address(_GET_ERROR_MESSAGE))(c_void_p(status))
            _FUNCTION(self.address(_RELEASE_STATUS))(c_void_p(status))
            raise MorelloError(f"ONNX Runtime says: {(text or b'').decode(errors='replace')}")

    def get(self, number: int, kind: Any, *arguments: Any) -> Any:
        """The value of this ctypes type that a function returns through its last argument."""
        result = kind()
        self.call(number, *arguments, byref(result))
        return result.value

    def text(self, number: int, of: int) -> str:
        value: bytes | None = self.get(number, c_char_p, c_void_p(of))
        return (value or b"").decode()

    def several(self, numbers: tuple[int, int], of: int) -> list[int | None]:
        """The addresses that a pair of functions returns: how many there are, and they."""
        count: int = self.get(numbers[0], c_size_t, c_void_p(of))
        array = (c_void_p * count)()
        self.call(numbers[1], c_void_p(of), array, c_size_t(count))
        return [*array]

    def failure(self, message: str) -> int:
        """The address of a new status of failure."""
        status = _FUNCTION(self.address(_CREATE_STATUS))(c_int(_FAIL), c_char_p(message.encode()))
        assert isinstance(status, int)
        return status

    def warn(self, logger: int, message: str) -> None:
        """Write a sentence into the log of a session."""
        self.call(
            _LOG, c_void_p(logger), c_int(_WARNING), c_char_p(message.encode()),
            c_char_p(b"morello"), c_int(0), c_char_p(b"morello"),
        )  # fmt: skip

    def option(self, options: int, key: str) -> str | None:
        """An entry of the configuration of a session; None if it has none."""
        size = c_size_t(0)
        name = c_char_p(key.encode())
        try:
            self.call(_CONFIG, c_void_p(options), name, None, byref(size))
        except MorelloError:
            return None
        text = ctypes.create_string_buffer(size.value)
        self.call(_CONFIG, c_void_p(options), name, text, byref(size))
        return text.value.decode()

    def fuse(self, support: int, nodes: Sequence[int]) -> None:
        """Claim nodes for a provider, as one node that brings its constants itself."""
        options = _FusionOptions(_STRUCT_VERSION, True)
        array = (c_void_p * len(nodes))(*nodes)
        add = _FUNCTION(self._table_of(_PROVIDER_API, _ADD_NODES)[_ADD_NODES] or 0)
        self.check(add(c_void_p(support), array, c_size_t(len(nodes)), byref(options)))

    def context_node(
        self, name: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int | str
    ) -> int:
        """The address of a new node of type EPContext. Its attributes belong to the node."""
        created = [self._attribute(key, value) for key, value in attributes.items()]
        function = _FUNCTION(self._table_of(_EDITOR, _CREATE_NODE)[_CREATE_NODE] or 0)
        result = c_void_p()
        self.check(
            function(
                c_char_p(b"EPContext"), c_char_p(b"com.microsoft"), c_char_p(name.encode()),
                _texts(inputs), c_size_t(len(inputs)), _texts(outputs), c_size_t(len(outputs)),
                (c_void_p * len(created))(*created), c_size_t(len(created)), byref(result),
            )
        )  # fmt: skip
        assert result.value is not None
        return result.value

    def _attribute(self, name: str, value: int | str) -> int:
        key = c_char_p(name.encode())
        if isinstance(value, int):
            number = byref(c_int64(value))
            return int(self.get(_NEW_ATTRIBUTE, c_void_p, key, number, c_int(1), c_int(1)))
        text = value.encode()
        return int(
            self.get(_NEW_ATTRIBUTE, c_void_p, key, c_char_p(text), c_int(len(text)), c_int(5))
        )

    def _table_of(self, getter: int, last: int) -> ctypes.Array[c_void_p]:
        """A table of further functions, up to the `last`."""
        address = _FUNCTION(self.address(getter))()
        assert isinstance(address, int)
        return (c_void_p * (last + 1)).from_address(address)

    def name(self, node: int) -> str:
        return self.text(_NODE_NAME, node)

    def outputs(self, node: int) -> list[str]:
        """The names of the outputs of a node."""
        return [self.text(_VALUE_NAME, each) for each in self.several(_NODE_OUTPUTS, node) if each]


def _texts(texts: Sequence[str]) -> ctypes.Array[c_char_p]:
    return (c_char_p * len(texts))(*(text.encode() for text in texts))


@dataclass(frozen=True)
class RuntimeNode:
    """A node: its address, and what it is, without inner graphs.

    `captured` has what its inner graphs read, and `plain` whether it has none, and no execution
    provider yet.
    """

    address: int
    proto: NodeProto
    captured: tuple[str, ...]
    plain: bool


@dataclass(frozen=True)
class RuntimeGraph:
    """The nodes of a graph, in order, and the values that they read and write, by name.

    `types` has no values of which ONNX Runtime does not know the shape. The arrays of `constants`
    lie in its memory, and are valid as long as the graph.
    """

    nodes: tuple[RuntimeNode, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]
    types: Mapping[str, TensorType]
    versions: tuple[OperatorSetIdProto, ...]
    path: str
    inner: bool
    """Whether the graph is within a node of another graph."""

    @property
    def unknown_shapes(self) -> str:
        """The end of a sentence: that there are values whose shapes are not known."""
        names = (name for node in self.nodes for name in node.proto.input if name)
        unknown = next((n for n in names if n not in self.types and n not in self.constants), None)
        if unknown is None:
            return ""
        fix = "SessionOptions.add_free_dimension_override_by_name gives a dimension its size"
        return f", as it does not say the shape of {unknown}; {fix}"


def read_graph(api: RuntimeApi, address: int) -> RuntimeGraph:
    """The graph at an address; raises `MorelloError` if ONNX Runtime cannot say what it has."""
    return _Reading(api, address).graph


class _Reading:
    """The values of a graph that were read so far."""

    def __init__(self, api: RuntimeApi, address: int) -> None:
        self._api, self._address = api, address
        self._types: dict[str, TensorType] = {}

    @cached_property
    def graph(self) -> RuntimeGraph:
        api, address = self._api, self._address
        constants = {}
        for value in api.several(_INITIALIZERS, address):
            assert value is not None
            if api.get(_IS_CONSTANT, c_bool, c_void_p(value)):
                array = self._array(api.get(_INITIALIZER, c_void_p, c_void_p(value)))
                if array is not None:
                    constants[api.text(_VALUE_NAME, value)] = array
        nodes = tuple(self._node(each) for each in api.several(_NODES, address) if each)
        count: int = api.get(_OPERATOR_SET_COUNT, c_size_t, c_void_p(address))
        domains, versions = (c_char_p * count)(), (c_int64 * count)()
        api.call(_OPERATOR_SETS, c_void_p(address), domains, versions, c_size_t(count))
        sets = zip(domains, versions, strict=True)
        return RuntimeGraph(
            nodes,
            tuple(self._names(_OUTPUTS, address)),
            constants,
            self._types,
            tuple(helper.make_opsetid((domain or b"").decode(), int(v)) for domain, v in sets),
            api.text(_MODEL_PATH, address),
            api.get(_PARENT, c_void_p, c_void_p(address)) is not None,
        )

    def _names(self, numbers: tuple[int, int], of: int) -> list[str]:
        """The names of values, whose types are read as well; empty for those that are left out."""
        names = []
        for value in self._api.several(numbers, of):
            name = "" if value is None else self._api.text(_VALUE_NAME, value)
            if value is not None and name not in self._types:
                kind = self._type(self._api.get(_VALUE_TYPE, c_void_p, c_void_p(value)))
                if kind is not None:
                    self._types[name] = kind
            names.append(name)
        return names

    def _type(self, info: int | None) -> TensorType | None:
        """A type that is known; None for any other."""
        api = self._api
        if not info or api.get(_ONNX_TYPE, c_int, c_void_p(info)) != _ONNX_TENSOR:
            return None
        tensor = api.get(_CAST_TO_TENSOR, c_void_p, c_void_p(info))
        if not _BOOL_FUNCTION(api.address(_HAS_SHAPE))(c_void_p(tensor)):
            return None
        return self._tensor(tensor)

    def _tensor(self, info: int) -> TensorType | None:
        api = self._api
        code: int = api.get(_ELEMENT_TYPE, c_int, c_void_p(info))
        count: int = api.get(_DIMENSION_COUNT, c_size_t, c_void_p(info))
        sizes = (c_int64 * count)()
        api.call(_DIMENSIONS, c_void_p(info), sizes, c_size_t(count))
        if code not in _DTYPES or any(size < 0 for size in sizes):
            return None
        return TensorType(tuple(sizes), np.dtype(helper.tensor_dtype_to_np_dtype(code)))

    def _array(self, value: int | None) -> Array | None:
        """The memory of a tensor; None if NumPy has none such."""
        if not value:
            return None
        api = self._api
        info = api.get(_TYPE_OF_VALUE, c_void_p, c_void_p(value))
        kind = self._tensor(info)
        _FUNCTION(api.address(_RELEASE_SHAPE))(c_void_p(info))
        if kind is None:
            return None
        if not kind.bytes:
            return np.empty(kind.shape, kind.dtype)
        first = api.get(_GET_DATA, c_void_p, c_void_p(value))
        memory = memoryview((ctypes.c_uint8 * kind.bytes).from_address(first))
        array: Array = np.frombuffer(memory, np.uint8).view(kind.dtype).reshape(kind.shape)
        return array

    def _node(self, address: int) -> RuntimeNode:
        api = self._api
        proto = NodeProto(
            op_type=api.text(_NODE_TYPE, address),
            domain=api.text(_NODE_DOMAIN, address),
            name=api.text(_NODE_NAME, address),
            input=self._names(_NODE_INPUTS, address),
            output=self._names(_NODE_OUTPUTS, address),
        )
        plain = not api.text(_PROVIDER, address)
        for each in api.several(_ATTRIBUTES, address):
            assert each is not None
            attribute = self._attribute(each)
            if attribute is None:
                plain = False
            else:
                proto.attribute.append(attribute)
        captured = tuple(self._names(_IMPLICIT_INPUTS, address))
        return RuntimeNode(address, proto, captured, plain)

    def _attribute(self, address: int) -> AttributeProto | None:
        """An attribute; None if it is a graph."""
        api = self._api
        name = api.text(_ATTRIBUTE_NAME, address)
        code: int = api.get(_ATTRIBUTE_TYPE, c_int, c_void_p(address))
        kind = _ATTRIBUTE_TYPES.get(code)
        if kind is None:
            return None
        if kind == _A.TENSOR:
            value = api.get(_TENSOR, c_void_p, c_void_p(address))
            array = self._array(value)
            tensor = None if array is None else from_array(array)
            _FUNCTION(api.address(_RELEASE_VALUE))(c_void_p(value))
            return None if tensor is None else helper.make_attribute(name, tensor)
        return helper.make_attribute(name, _content(kind, self._bytes(address, code)), None, kind)

    def _bytes(self, address: int, code: int) -> bytes:
        """The contents of an attribute that is no tensor."""
        size, read = c_size_t(0), _FUNCTION(self._api.address(_READ_ATTRIBUTE))
        status = read(c_void_p(address), c_int(code), None, c_size_t(0), byref(size))
        if status:  # it says how much memory it takes
            _FUNCTION(self._api.address(_RELEASE_STATUS))(c_void_p(status))
        memory = ctypes.create_string_buffer(size.value)
        if size.value:
            self._api.check(
                read(c_void_p(address), c_int(code), memory, c_size_t(size.value), byref(size))
            )
        return memory.raw


def _content(kind: int, content: bytes) -> int | float | bytes | Sequence[Any]:
    """The value of an attribute."""
    if kind in (_A.INT, _A.INTS):
        numbers = np.frombuffer(content, np.int64).tolist()
        return numbers if kind == _A.INTS else int(numbers[0])
    if kind in (_A.FLOAT, _A.FLOATS):
        floats = np.frombuffer(content, np.float32).tolist()
        return floats if kind == _A.FLOATS else float(floats[0])
    return content.rstrip(b"\0") if kind == _A.STRING else content.split(b"\0")[:-1]
