"""Nodes of ONNX's own tests with changes, by the importer and by ONNX Runtime.

A case is a list of numbers, as JSON: one that chooses an operator, one that chooses a test of it,
and a seed for each change.
"""

from __future__ import annotations

import json
import pkgutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError
from fuzz.models import LONGEST
from fuzz.node_changes import Array, Example, changed
from fuzz.shrink import without_runs
from morello.base.errors import GraphError
from morello.graph.graph import Graph, check
from morello.graph.interpreter import evaluate
from morello.graph.operators import Foreign
from morello.models.compiling import partitioned

MOST_ELEMENTS = 20_000
"""The most elements of an input of a test."""
MOST_COMPUTED = 1 << 24
"""The most elements of what is computed."""
TOLERANCES = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-3}
"""The largest errors, of the largest result."""

_OTHER_DATA = {"_image_decoder_data", "ai_onnx_ml", "image_decoder"}
"""Modules beside those of operators on tensors."""
_RANDOM = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
}  # fmt: skip
_ORDERING = {
    "ArgMax", "ArgMin", "Clip", "DynamicQuantizeLinear", "GlobalMaxPool", "Hardmax", "Max",
    "MaxPool", "Min", "ReduceMax", "ReduceMin", "Relu", "ScatterElements", "ScatterND", "Sign",
    "TopK",
}  # fmt: skip
"""Operators for which NaN is no number, as in NumPy; to ONNX Runtime it may be less than others."""
_WEIGHING = {
    "AffineGrid", "Attention", "Conv", "ConvTranspose", "DFT", "DeformConv", "Einsum", "GRU",
    "Gemm", "GridSample", "LSTM", "MatMul", "RNN", "Resize", "STFT", "Upsample",
}  # fmt: skip
"""Operators that may multiply what is infinite by 0, or leave such terms out."""
_UNLIMITED = {"Pow", "ReduceMean"}
"""Operators whose integers are any, if the power is too large, or the mean is of nothing."""
_RECURRENT = {"GRU", "LSTM", "RNN"}
"""Operators with which ONNX Runtime crashes if an input has no elements."""
_ROUNDING = {
    "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear", "Round", "Cast",
    "CastLike",
}  # fmt: skip
"""Operators whose integers depend on how ties are rounded."""


class Nodes(Adversary):
    """A changed node is computed as ONNX Runtime does, left to it, or refused with one sentence."""

    name = "nodes"
    what = "changed nodes of ONNX compute what ONNX Runtime does, or are a GraphError of one line"

    def case(self, random: Random) -> str:
        count = random.choice((1, 1, 1, 2))
        return json.dumps([random.randrange(1_000_000) for _ in range(2 + count)])

    def check(self, case: str) -> str:
        if find_spec("onnx") is None or find_spec("onnxruntime") is None:
            return REFUSED
        operator, test, *seeds = json.loads(case)
        names = _operators()
        examples = _examples(names[operator % len(names)])
        if not examples:
            return REFUSED
        example = examples[test % len(examples)].copy()
        done = []
        for seed in seeds:
            try:
                done.append(changed(example, Random(seed)))
            except (OverflowError, TypeError, ValueError):  # a number that the format cannot hold
                return REFUSED
        return _checked(example, f"{example.name} with {', '.join(done)}")

    def smaller(self, case: str) -> Iterator[str]:
        operator, test, *seeds = json.loads(case)
        yield from (json.dumps([operator, test, *kept]) for kept in without_runs(seeds))


@cache
def _operators() -> tuple[str, ...]:
    """The modules with tests of operators, one each."""
    from onnx.backend.test.case import node

    every = (module.name for module in pkgutil.iter_modules(node.__path__))
    return tuple(sorted(name for name in every if name not in _OTHER_DATA))


@cache
def _examples(operator: str) -> tuple[Example, ...]:
    """The tests of an operator on tensors that are not large."""
    from onnx import numpy_helper
    from onnx.backend.test.case import node

    name = f"{node.__name__}.{operator}"
    known = sys.modules.pop(name, None)  # others find it, and its tests, as they were
    np.random.seed(0)  # some tests have random inputs
    fresh = patch.multiple(node, _NodeTestCases=[], _existing_names={})
    with warnings.catch_warnings(), fresh:
        warnings.simplefilter("ignore")
        import_module(name)
        cases = node._NodeTestCases
    del sys.modules[name]
    if known is not None:
        sys.modules[name] = known
    examples = []
    for case in cases:
        if any(each.op_type in _RANDOM for each in case.model.graph.node):
            continue
        given = [
            numpy_helper.to_array(each) if hasattr(each, "data_type") else each
            for each in case.data_sets[0][0]
        ]
        arrays = [np.asarray(each) for each in given if isinstance(each, np.ndarray | np.generic)]
        plain = all(each.dtype.isbuiltin == 1 and each.size < MOST_ELEMENTS for each in arrays)
        if plain and len(arrays) == len(given):
            examples.append(Example(case.name, case.model, arrays))
    return tuple(examples)


def _checked(example: Example, what: str) -> str:
    from morello.importers.onnx import import_model

    feed = example.frozen()
    try:
        program = import_model(example.model, {name: x.shape for name, x in feed.items()})
        check(program.graph)
        graphs = program.graph, partitioned(program.graph).graph
    except GraphError as error:
        message = str(error)
        if "\n" in message or len(message) > LONGEST:
            raise FaultError("a long message", f"{what}: {message[:200]}") from None
        return REFUSED
    if program.rest or any(isinstance(each.operator, Foreign) for each in program.graph.nodes):
        return REFUSED
    if any(node.type.size > MOST_COMPUTED for graph in graphs for node in graph.nodes):
        return REFUSED
    given = [feed[name] for name in program.inputs]
    try:
        results = [_evaluated(graph, given) for graph in graphs]
    except MemoryError:  # padding that no pixel is read from may be large
        return REFUSED
    expected = _expected(example, program.outputs, feed)
    if expected is None:
        return REFUSED
    for sort, values in zip(("wrong", "wrong once simplified"), results, strict=True):
        for name, value, wanted in zip(program.outputs, values, expected, strict=True):
            if why := _differs(example, np.asarray(value), np.asarray(wanted)):
                operator = example.model.graph.node[0].op_type
                raise FaultError(f"{operator}: {sort}", f"{what}: {name}: {why}")
    return PASSED


def _evaluated(graph: Graph, inputs: Sequence[Array]) -> Sequence[Array]:
    with np.errstate(all="ignore"):
        return evaluate(graph, inputs)


def _expected(
    example: Example, outputs: Sequence[str], feed: Mapping[str, Array]
) -> Sequence[Any] | None:
    """The results of ONNX Runtime; None if it refuses the model."""
    import onnxruntime

    types = {each.op_type for each in example.model.graph.node}
    if types & _RECURRENT and not all(x.size for x in example.inputs):
        return None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(
            example.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        results: Sequence[Any] = session.run([*outputs], dict(feed))
    except Exception:  # ONNX Runtime has no common base of its errors
        return None
    return results


def _differs(example: Example, got: Array, wanted: Array) -> str:
    """How a result differs from that of ONNX Runtime, where both are defined."""
    if got.shape != wanted.shape:
        return f"the shape is {got.shape}, not {wanted.shape}"
    types = {each.op_type for each in example.model.graph.node}
    floats = [x for x in example.inputs if x.dtype.kind == "f"]
    if not example.has_finite_attributes or not _holds(wanted.dtype, floats):
        return ""
    if types & _UNLIMITED and wanted.dtype.kind in "iu":
        return ""
    if types & _ORDERING and any(np.isnan(x).any() for x in floats):
        return ""
    if types & _WEIGHING and not all(np.isfinite(x).all() for x in floats):
        return ""
    if wanted.dtype.kind == "f":
        a, b = (_limited(each.astype(np.float64), wanted.dtype) for each in (got, wanted))
        scale = np.abs(b, where=np.isfinite(b), out=np.zeros_like(b)).max(initial=1e-3)
        with np.errstate(all="ignore"):
            good = (a == b) | np.isnan(b) | (np.abs(a - b) <= TOLERANCES[wanted.dtype.name] * scale)
    elif wanted.dtype.kind in "iu" and types & _ROUNDING:
        good = np.abs(got.astype(object) - wanted.astype(object)) <= 1
    else:
        good = got == wanted
    if np.all(good):
        return ""
    place = tuple(int(n) for n in np.argwhere(~np.atleast_1d(good))[0])
    a, b = np.atleast_1d(got)[place], np.atleast_1d(wanted)[place]
    return f"at {list(place)} {a}, not {b} of {wanted.dtype}"


def _limited(x: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers whose infinities are the largest numbers of a dtype, which masks may have instead."""
    most = float(np.finfo(dtype).max)
    return np.clip(x, -most, most)


def _holds(dtype: np.dtype[Any], floats: Sequence[Array]) -> bool:
    """Whether a dtype, if it is of integers, has all of these numbers: else casts are undefined."""
    if dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    wide = (x.astype(np.float64) for x in floats)
    return all(np.all((x >= limits.min) & (x <= limits.max)) for x in wide)
