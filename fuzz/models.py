"""ONNX models with damaged bytes: each is a graph, or one error.

A case is a list of edits, as JSON.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np

from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError
from fuzz.damage import damaged, edits, fewer
from morello.base.errors import GraphError
from morello.graph.graph import check

_MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n, 3, 8, 8] x, bool which) => (float[n, 4] y, int64[2, m] places) {
    four = Constant <value = int64[4] {4, 3, 3, 3}> ()
    w = ConstantOfShape <value = float[1] {0.25}> (four)
    a = Conv <pads = [1, 1, 0, 1], strides = [2, 2]> (x, w)
    b = MaxPool <kernel_shape = [2, 2]> (a)
    s = Shape (b)
    zero = Constant <value = int64[1] {0}> ()
    batch = Gather (s, zero)
    rest = Constant <value = int64[1] {-1}> ()
    shape = Concat <axis = 0> (batch, rest)
    c = Reshape (b, shape)
    o = Relu (c)
    three = Constant <value = int64 {3}> ()
    yes = Constant <value = bool {1}> ()
    l = Loop (three, yes, o) <body = step (int64 i, bool go, float[n, k] h) =>
            (bool on, float[n, k] next) {
        r = Cast <to = 1> (i)
        next = Add (h, r)
        on = Identity (go)
    }>
    d = If (yes) <
        then_branch = v () => (float[n, k] p2) {
            half = Constant <value = float {0.5}> ()
            p2 = Mul (l, half)
        },
        else_branch = w2 () => (float[n, k] q2) { q2 = Neg (l) }
    >
    halves, other = Split <axis = 1> (d)
    e = Gemm <alpha = 0.5, transB = 1> (halves, v)
    f = LayerNormalization <axis = -1> (e, scale)
    g = If (which) <
        then_branch = t () => (float[n, 4] p) { p = Exp (f) },
        else_branch = u () => (float[n, 4] q) { q = Neg (f) }
    >
    y = Softmax (g)
    places = NonZero (y)
}"""

LONGEST = 1000
"""The most characters of an error message."""


class Models(Adversary):
    """A damaged model is read as some graph, or refused with one sentence."""

    name = "onnx"
    what = "damaged ONNX models are graphs, or a GraphError of one line"

    def case(self, random: Random) -> str:
        return json.dumps(edits(random))

    def check(self, case: str) -> str:
        if find_spec("onnx") is None:
            return REFUSED
        from morello.importers.onnx import import_model, read_model

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(damaged(_intact(), json.loads(case)))
            try:
                check(import_model(read_model(path), {"x": (2, 3, 8, 8)}).graph)
            except GraphError as error:
                message = str(error)
                if "\n" in message or len(message) > LONGEST:
                    raise FaultError("a long message", message[:200]) from None
                return REFUSED
        return PASSED

    def smaller(self, case: str) -> Iterator[str]:
        yield from map(json.dumps, fewer(json.loads(case)))


@cache
def _intact() -> bytes:
    """The undamaged model."""
    import onnx

    model = onnx.parser.parse_model(_MODEL)
    for name, shape in {"v": (4, 18), "scale": (4,)}.items():
        array = np.ones(shape, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    data: bytes = model.SerializeToString()
    return data
