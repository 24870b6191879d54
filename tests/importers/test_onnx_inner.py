"""Branches and loops of ONNX: where constants decide their course, they are part of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.base.errors import GraphError
from morello.graph.interpreter import evaluate
from morello.graph.operators import Foreign

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from morello.importers.onnx import OnnxProgram, import_model  # noqa: E402
from morello.importers.onnx import program as importing  # noqa: E402


def parsed(body: str, version: int = 17) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}]>agraph {body}')


def left(program: OnnxProgram) -> list[str]:
    """The kinds of nodes that are left to ONNX Runtime."""
    foreign = [n.operator.name for n in program.graph.nodes if isinstance(n.operator, Foreign)]
    return [*foreign, *(node.op_type for node in program.rest)]


def agrees(model: Any, *shapes: tuple[int, ...]) -> OnnxProgram:
    """The program of a model, all of which is in its graph and computes what it should."""
    random = np.random.default_rng(0)
    names = [info.name for info in model.graph.input]
    feeds = {
        n: random.uniform(-1, 1, s).astype(np.float32) for n, s in zip(names, shapes, strict=True)
    }
    program = import_model(model)
    assert left(program) == []
    session = runtime.InferenceSession(model.SerializeToString())
    results = evaluate(program.graph, [feeds[name] for name in program.inputs])
    for result, expected in zip(results, session.run(None, feeds), strict=True):
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, 1e-5, 1e-6)
    return program


BRANCHES = """(float[3,4] x) => (float[n,m] y) {
    shape = Shape (x)
    rows = Gather (shape, zero)
    few = Less (rows, limit)
    y = If (few) <then_branch = small () => (float[a,b] t) { d = Add (x, x)  t = Transpose (d) },
                  else_branch = large () => (float[a,b] t) { t = Exp (x) }>
}"""


def branches(limit: int) -> Any:
    model = parsed(BRANCHES)
    for name, value in (("zero", 0), ("limit", limit)):
        tensor = onnx.numpy_helper.from_array(np.array(value, np.int64), name)
        model.graph.initializer.append(tensor)
    return model


@pytest.mark.parametrize(("limit", "shape"), [(4, (4, 3)), (3, (3, 4))])
def test_a_known_condition_takes_one_branch(limit: int, shape: tuple[int, int]) -> None:
    program = agrees(branches(limit), (3, 4))
    assert program.graph.outputs[0].shape == shape


def test_a_computed_condition_leaves_both_branches() -> None:
    model = parsed("""(float[4] x) => (float[4] y) {
        s = ReduceSum <keepdims = 0> (x)
        z = Sub (s, s)
        c = Less (s, z)
        y = If (c) <then_branch = a () => (float[4] t) { t = Add (x, x) },
                    else_branch = b () => (float[4] t) { t = Exp (x) }>
    }""")
    assert left(import_model(model)) == ["If"]


LOOP = """(float[5,3] x, float[3,3] w) => (float[5,3] last, float[4,5,3] every) {
    count = Constant <value = int64 {4}> ()
    yes = Constant <value = bool {1}> ()
    last, every = Loop (count, yes, x) <body = step (int64 i, bool go, float[5,3] h) =>
            (bool on, float[5,3] next, float[5,3] out) {
        one = Constant <value = float {0.5}> ()
        p = MatMul (h, w)
        f = Cast <to = 1> (i)
        q = Add (p, f)
        next = Tanh (q)
        out = Mul (next, one)
        on = Identity (go)
    }>
}"""


def test_loops_of_known_length_are_their_steps() -> None:
    agrees(parsed(LOOP), (5, 3), (3, 3))


def test_loops_that_end_by_their_condition() -> None:
    """After the third step, which `i < 2` decides; the state grows."""
    agrees(
        parsed("""(float[2,3] x) => (float[n,3] last) {
            yes = Constant <value = bool {1}> ()
            two = Constant <value = int64 {2}> ()
            last = Loop (, yes, x) <body = step (int64 i, bool go, float[n,3] h) =>
                    (bool on, float[m,3] next) {
                on = Less (i, two)
                next = Concat <axis = 0> (h, x)
            }>
        }"""),
        (2, 3),
    )


def test_scans_are_their_steps() -> None:
    """They may be along another axis, and backwards."""
    agrees(
        parsed("""(float[4] h, float[6,4] x, float[4,6] y) =>
                (float[4] z, float[6,4] u, float[4,6] v) {
            z, u, v = Scan (h, x, y) <num_scan_inputs = 2, scan_input_axes = [0, 1],
                scan_input_directions = [0, 1], scan_output_axes = [0, 1],
                scan_output_directions = [1, 0],
                body = step (float[4] s, float[4] a, float[4] b) =>
                    (float[4] next, float[4] c, float[4] d) {
                t = Mul (s, a)
                next = Add (t, b)
                c = Sub (next, a)
                d = Identity (next)
            }>
        }"""),
        (4,), (6, 4), (4, 6),
    )  # fmt: skip


def test_loops_within_loops_and_branches_have_names_of_their_own() -> None:
    agrees(
        parsed("""(float[3] x) => (float[3] y) {
            n = Constant <value = int64 {3}> ()
            yes = Constant <value = bool {1}> ()
            y = Loop (n, yes, x) <body = outer (int64 i, bool go, float[3] h) =>
                    (bool on, float[3] r) {
                t = Add (h, x)
                u = Loop (n, go, t) <body = inner (int64 j, bool go2, float[3] h2) =>
                        (bool on2, float[3] r2) {
                    first = Equal (i, j)
                    r2 = If (first) <then_branch = a () => (float[3] t3) { t3 = Mul (h2, x) },
                                     else_branch = b () => (float[3] t3) { t3 = Sub (h2, t) }>
                    on2 = Identity (go2)
                }>
                r = Tanh (u)
                on = Identity (go)
            }>
        }"""),
        (3,),
    )


def test_loops_of_which_something_is_left_stay_loops() -> None:
    """Steps that no operators do, and ends that elements decide."""
    for line in ("r = Det (t)", "r = ReduceSum <keepdims = 0> (t)"):
        on = "on = Identity (go)" if "Det" in line else "z = Sub (r, r)  on = Less (z, r)"
        model = parsed(f"""(float[3,3] x) => (float[3,3] y) {{
            n = Constant <value = int64 {{3}}> ()
            yes = Constant <value = bool {{1}}> ()
            y = Loop (n, yes, x) <body = step (int64 i, bool go, float[3,3] h) =>
                    (bool on, float[3,3] next) {{
                t = Add (h, x)
                {line}
                next = Mul (t, r)
                {on}
            }}>
        }}""")
        assert left(import_model(model)) == ["Loop"]


def test_long_loops_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of many steps, or with too many nodes in all steps together, are left."""
    assert left(import_model(parsed(LOOP.replace("{4}", "{129}")))) == ["Loop", "Loop"]
    monkeypatch.setattr(importing, "MOST_INLINED", 10)
    assert left(import_model(parsed(LOOP))) == ["Loop", "Loop"]


def test_a_node_that_does_not_fit_in_a_branch_is_an_error() -> None:
    model = branches(4)
    model.graph.node[-1].attribute[0].g.node[0].input[1] = "limit"
    with pytest.raises(GraphError, match="Add"):
        import_model(model)


def test_a_loop_without_steps_has_its_first_state() -> None:
    """Outputs that are stacked over the steps have no known shape, so a loop with such is left."""
    body = LOOP.replace("{4}", "{0}").replace("float[4,5,3] every", "float[m,5,3] every")
    assert left(import_model(parsed(body))) == ["Loop"]
    agrees(parsed(body.replace(", float[m,5,3] every", "").replace("last, every =", "last =")
                  .replace(", float[5,3] out)", ")")), (5, 3), (3, 3))  # fmt: skip


def test_a_branch_may_give_sequences() -> None:
    """ONNX has no `Identity` of them before version 14."""
    model = parsed(
        """(float[3] x) => (seq(float[3]) y) {
            c = Constant <value = bool {1}> ()
            y = If (c) <
                then_branch = a () => (seq(float[3]) s) { s = SequenceConstruct (x, x) },
                else_branch = b () => (seq(float[3]) s) { s = SequenceConstruct (x) }
            >
        }""",
        13,
    )
    program = import_model(model)
    (rest,) = program.rest
    assert (rest.op_type, [*rest.output]) == ("SequenceConstruct", ["y"])
    assert dict(program.left).keys() == {"SequenceConstruct"}
