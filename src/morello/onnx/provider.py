"""The execution provider: ONNX Runtime asks for kernels while it creates a session.

provider.c is what ONNX Runtime loads, and all that runs when a session does. It calls functions of
this module only while a session is created: sessions may be used without the interpreter's lock,
and released after its end.
"""

from __future__ import annotations

import _thread
import ctypes
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_char_p, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from morello.base.errors import MorelloError, SearchError, quoted
from morello.base.files import write_bytes
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler
from morello.onnx.checking import explained, runtime
from morello.onnx.claiming import Claim, claims
from morello.onnx.groups import RuntimeGroup, group_of
from morello.onnx.library import build_provider, custom_op, provider_source
from morello.onnx.runtime_graph import RuntimeApi, RuntimeGraph, read_graph
from morello.options import GraphOptions
from morello.targets.catalog import find_target

NAME = "MorelloExecutionProvider"


def _target(text: str) -> str:
    find_target(text)
    return text


def _compiler(text: str) -> str:
    find_compiler(text)
    return text


OPTIONS: Mapping[str, Callable[[str], float | str]] = {
    "budget": float,
    "gap": float,
    "target": _target,
    "compiler": _compiler,
    "fuse_seconds": float,
    "winograd": int,
}
"""The options of programs that a session may have, and how their texts are read."""


@dataclass(frozen=True)
class _Saving:
    """Where a model with EPContext nodes is to be; empty if beside the model that it is made of."""

    path: str
    embedded: bool


@dataclass
class _Session:
    """A session that is being created, and what was claimed in it."""

    api: RuntimeApi
    logger: int
    options: GraphOptions
    saving: _Saving | None
    path: str = ""
    groups: dict[str, tuple[RuntimeGroup, Claim]] = field(default_factory=dict)
    """The groups and their claims, by their first outputs."""
    created: bool = False

    @property
    def over(self) -> bool:
        """Whether the session was created, and released since."""
        return self.created and not any(group.users for group, _ in self.groups.values())

    def claimed(self, node: int) -> tuple[RuntimeGroup, Claim] | None:
        """The group that a node runs, and its claim; ONNX Runtime orders the outputs of nodes."""
        outputs = self.api.outputs(node)
        return next((self.groups[name] for name in outputs if name in self.groups), None)


_sessions: dict[int, _Session] = {}
_numbers = count(1)
_lock = Lock()


def _create(api: int, options: int, logger: int, name: bytes, number: int) -> int | None:
    """Start a session, whose number is stored at an address; release the sessions that are over."""
    functions = RuntimeApi(api)
    try:
        session = _Session(
            functions,
            logger,
            _options(functions, options, name.decode()),
            _saving(functions, options),
        )
    except MorelloError as error:
        return functions.failure(str(error))
    with _lock:
        for other in [other for other, each in _sessions.items() if each.over]:
            del _sessions[other]
        own = next(_numbers)
        _sessions[own] = session
    c_int64.from_address(number).value = own
    return None


def _options(api: RuntimeApi, address: int, provider: str) -> GraphOptions:
    options: Any = {}
    for key, read in OPTIONS.items():
        text = api.option(address, f"ep.{provider.lower()}.{key}")
        try:
            options |= {} if text is None else {key: read(text)}
        except ValueError:
            raise SearchError(f"the option {key} is {quoted(text)}", "give a number") from None
    known: GraphOptions = options
    return known


def _saving(api: RuntimeApi, address: int) -> _Saving | None:
    if api.option(address, "ep.context_enable") != "1":
        return None
    path = api.option(address, "ep.context_file_path") or ""
    return _Saving(path, api.option(address, "ep.context_embed_mode") == "1")


def _claim(number: int, graph: int, support: int) -> int | None:
    session = _sessions[number]
    api = session.api
    try:
        given = read_graph(api, graph)
        session.path = given.path
        if given.inner:
            return None
        for claim in claims(given, **session.options):
            api.fuse(support, claim.nodes)
            session.groups[claim.outputs[0]] = group_of(claim), claim
        if library := _library_of(given):
            what = f"the model has kernels of the library {library}; register that as a provider"
            api.warn(session.logger, f"{what}, by register_execution_provider_library.")
        elif not session.groups:
            api.warn(
                session.logger, f"morello has no kernels for this model{given.unknown_shapes}."
            )
    except MorelloError as error:
        api.warn(session.logger, f"morello has no kernels for this model: {error}")
    except KeyboardInterrupt:
        _thread.interrupt_main()  # as soon as ONNX Runtime returns
    except Exception as error:  # a mistake of this package is no reason for a model to fail
        api.warn(session.logger, f"morello failed, and claims no more nodes: {error!r}")
    return None


def _library_of(graph: RuntimeGraph) -> str | None:
    """The library that has the kernels of the first EPContext node that is ours."""
    for node in graph.nodes:
        texts: dict[str, str] = {
            each.name: each.s.decode(errors="replace") for each in node.proto.attribute
        }
        if node.proto.op_type == "EPContext" and texts.get("source") == NAME:
            return texts.get("ep_cache_context", "")
    return None


def _find(number: int, graph: int, node: int) -> int | None:
    claimed = _sessions[number].claimed(node)
    return ctypes.addressof(claimed[0]) if claimed is not None else None


def _save(number: int, nodes: int, size: int, contexts: int) -> int | None:
    session = _sessions[number]
    session.created = True
    if session.saving is None:
        return None
    try:
        fused = (c_void_p * size).from_address(nodes)
        claimed = {}
        for node in fused:
            assert node is not None
            group_and_claim = session.claimed(node)
            assert group_and_claim is not None  # else ONNX Runtime would not have come so far
            claimed[session.api.name(node)] = group_and_claim[1]
        results = (c_void_p * size).from_address(contexts)
        for place, new in enumerate(_context_nodes(session, session.saving, claimed)):
            results[place] = new
    except MorelloError as error:
        return session.api.failure(str(error))
    except Exception as error:  # C knows no exceptions
        return session.api.failure(f"morello failed: {error!r}")
    return None


def _context_nodes(
    session: _Session, saving: _Saving, claimed: Mapping[str, Claim]
) -> Iterator[int]:
    """Nodes that name segments of a library, which is written beside the model that has them.

    They have the names of those that they are for.
    """
    if saving.embedded:
        raise SearchError("kernels are no part of a model", "leave out ep.context_embed_mode")
    if not saving.path and not session.path:
        raise SearchError("the model is in no file", "give the option ep.context_file_path")
    path = saving.path or f"{Path(session.path).with_suffix('')}_ctx.onnx"
    library = Path(path).with_suffix(".so")
    ops = [custom_op(claim.segment, number) for number, claim in enumerate(claimed.values())]
    with TemporaryDirectory() as folder:
        # a session may have loaded an older one
        write_bytes(library, build_provider(ops, Path(folder)).read_bytes())
    for op, (name, claim) in zip(ops, claimed.items(), strict=True):
        yield session.api.context_node(
            name, claim.inputs, claim.outputs, main_context=1, embed_mode=0,
            ep_cache_context=library.name, partition_name=op.name, source=NAME,
        )  # fmt: skip


_CREATE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p, c_char_p, c_void_p)
_FIND = ctypes.CFUNCTYPE(c_void_p, c_int64, c_void_p, c_void_p)
_SAVE = ctypes.CFUNCTYPE(c_void_p, c_int64, c_void_p, c_size_t, c_void_p)


class _Callbacks(ctypes.Structure):
    """The struct `Callbacks` of provider.c."""

    _fields_ = [("create", _CREATE), ("claim", _FIND), ("find", _FIND), ("save", _SAVE)]


_CALLBACKS = _Callbacks(_CREATE(_create), _FIND(_claim), _FIND(_find), _SAVE(_save))


@cache
def _library() -> ctypes.CDLL:
    """The library of the provider, which asks this interpreter for kernels. It stays loaded."""
    compiler = find_compiler()
    path = build(provider_source(), compiler=compiler, flags=arch_flags(compiler, "baseline"))
    library = ctypes.CDLL(str(path))
    library.morello_set_callbacks(ctypes.byref(_CALLBACKS))
    return library


def library_path() -> str:
    """The path of the provider, by which ONNX Runtime can register it under a name of choice."""
    return _library()._name


def register() -> list[Any]:
    """Let ONNX Runtime know the provider, if it does not yet; returns its devices.

    They are what the options of a session take providers for. Raises `MorelloError` if there is no
    ONNX Runtime, or one that takes no providers.
    """
    onnxruntime = runtime()

    def devices() -> list[Any]:
        return [each for each in onnxruntime.get_ep_devices() if each.ep_name == NAME]

    if not hasattr(onnxruntime, "register_execution_provider_library"):
        what = f"ONNX Runtime {onnxruntime.__version__} takes no execution providers of others"
        raise MorelloError(what, "install 1.24 or later")
    if not devices():
        with explained():
            onnxruntime.register_execution_provider_library(NAME, library_path())
    return devices()
