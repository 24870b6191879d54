"""Several Specs compiled at once: what one gets, in order, whoever fails, wherever it is done."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello import several
from morello.base import sharing
from morello.base.choices import STREAMED, WEIGHTS
from morello.base.errors import CompileAllError, MorelloError, SearchError, SpecError
from morello.base.status import Status, listening
from morello.base.workers import Worker
from morello.frontends.text import parse
from morello.ir.layout import row_major
from morello.ir.spec import Spec, goal
from morello.memo import Table
from morello.options import requested
from morello.request import Request, answering, together
from morello.request.alike import likeness
from morello.request.answering import find
from morello.request.request import Answer
from morello.request.together import answer_together
from morello.runtime.packing import random_inputs
from morello.runtime.tolerance import expected
from morello.search.session import Session
from morello.targets.catalog import find_target

SPECS = ("f32[4,6] @ f32[6,8]", "relu(f32[8])", "softmax(f32[4,8])", "f32[8,8] + f32[8]")
TOO_LARGE = "f32[1000000000,100] @ f32[100,4]"


def test_each_is_what_compile_gives() -> None:
    kernels = morello.compile_all(SPECS)
    for spec, kernel in zip(SPECS, kernels, strict=True):
        alone = morello.compile(spec)
        assert kernel.impl == alone.impl and kernel.source == alone.source
        assert kernel.max_error is not None and kernel.statistics is not None
    assert morello.compile_all([]) == []


def test_what_has_much_in_common_is_searched_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of one family, but not those of a table that keeps results for Specs."""
    products = [f"f32[4,{n}] @ f32[{n},8]" for n in (4, 6, 8, 12)]
    groups: list[int] = []

    def counted(requests: Sequence[Request]) -> list[Answer | None]:
        groups.append(len(requests))
        return answer_together(requests)

    monkeypatch.setenv("MORELLO_TABLE", str(tmp_path / "programs"))
    monkeypatch.setattr(together, "answer_together", counted)
    monkeypatch.setattr(several, "available_threads", lambda: 1)
    monkeypatch.setattr(together, "MOST_TOGETHER", 3)
    with_bias = "f32[4,6] @ f32[6,8] + f32[8]"
    texts = [*products, with_bias, "bf16[4,8] @ bf16[8,8]"]
    kernels = morello.compile_all(texts, weights="constant")
    assert groups == [3, 2]
    for text, kernel in zip(products, kernels, strict=False):
        alone = morello.compile(text, weights="constant", table="off")
        assert kernel.impl.cost == pytest.approx(alone.impl.cost) and kernel.max_error is not None
    again = morello.compile_all(products, weights="constant")
    assert [kernel.source for kernel in again] == [kernel.source for kernel in kernels[:4]]
    with Table(":memory:") as table:
        morello.compile_all(products, table=table)
    assert groups == [3, 2]


def test_what_no_search_finds_together_is_searched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "search_together", lambda goals, *_: [None] * len(goals))
    monkeypatch.setattr(several, "available_threads", lambda: 1)
    first, second = morello.compile_all(["f32[4,6] @ f32[6,8]", "f32[6,4] @ f32[4,8]"])
    assert first.max_error is not None and second.max_error is not None


def test_one_search_is_for_all_specs_that_differ_in_constants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[Spec] = []

    def counted(goal: Spec, request: Request) -> Answer:
        searched.append(goal)
        return find(goal, request)

    monkeypatch.setattr(answering, "find", counted)
    monkeypatch.setattr(several, "available_threads", lambda: 1)
    constants = (0.5, 2.0), (-3.0, 7.0), (1.5, 1e-3)
    texts = [f"relu(f32[4,6] @ f32[6,8] * {n} + {m})" for n, m in constants]
    kernels = morello.compile_all(texts, weights="constant", table="off")
    assert len(searched) == 1
    random = np.random.default_rng(0)
    a, b = random.standard_normal((4, 6), np.float32), random.standard_normal((6, 8), np.float32)
    for text, kernel, (n, m) in zip(texts, kernels, constants, strict=True):
        assert kernel.spec.operation == parse(text).operation
        assert kernel.cost == kernels[0].cost
        expected = np.maximum((a.astype(np.float64) @ b) * n + m, 0)
        result = kernel(a, kernel.pack("b", b))
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_kernels_are_loaded_again_without_their_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MORELLO_TABLE", str(tmp_path / "programs"))
    goals = [parse(f"f32[{rows},16] @ f32[16,64]{{0,1}}") for rows in (8, 6)]
    first = several.compile_each([(goal, {"weights": w}) for w in WEIGHTS for goal in goals])
    for number, weights in enumerate(WEIGHTS):
        with monkeypatch.context() as patched:
            patched.setattr(several, "_compiled_anew", lambda *_: [])
            again = morello.compile_all(goals, weights=weights)
        for asked, old, new in zip(goals, first[2 * number :], again, strict=False):
            assert (new.spec == asked) == (weights == "plain")
            assert (new.spec, new.cost, new.max_error) == (old.spec, old.cost, old.max_error)
            assert new.impl == old.impl and new.source == old.source
            assert new.library.path == old.library.path and new.arguments == old.arguments


def test_streamed_weights_are_constant_with_costs_of_their_own() -> None:
    target, requests = replace(find_target("avx512"), streaming={"kernels.dots": 3.0}), []
    for weights in (*WEIGHTS, STREAMED):
        with requested("f32[1,16] @ f32[16,64]", target=target, weights=weights) as request:
            requests.append(request)
    assert [request.weights for request in requests] == ["plain", "constant", "constant"]
    assert requests[0].target == requests[1].target != requests[2].target
    assert len({several._key(request) for request in requests}) == 3
    assert len({likeness(request) for request in requests}) == 3


def test_streamed_weights_of_few_bits_are_read_in_place() -> None:
    target = replace(find_target("avx512"), streaming={"kernels.dots_l2": 0.5})
    for weights, kernel in ("plain", "quantized_i8_f16"), (STREAMED, "quantized_l2_i8_f16"):
        with requested("f32[1,64] @ i8g32[64,16]", target=target, weights=weights) as request:
            assert request.weights == "plain"
        impl, _ = morello.implement("f32[1,64] @ i8g32[64,16]", target=target, weights=weights)
        assert any(kernel in str(decision) for decision in impl.decisions())
    with pytest.raises(SpecError, match="no weights to lay out ahead"):
        morello.implement("f32[64] + f32[64]", target=target, weights=STREAMED)


def test_equal_specs_get_one_kernel() -> None:
    wide = "f32[4,4] @ f32[4,4]"
    squared = "x = f32[4,4]; x @ x"  # the same Spec, of one array
    first, other, again, of_spec, named = morello.compile_all(
        [wide, SPECS[1], " f32[4,4]@f32[4,4] ", parse(wide), squared]
    )
    assert first is again is of_spec and first is not other
    assert named is not first and len(named.arguments) == 2 and len(first.arguments) == 3
    x = np.eye(4, dtype=np.float32) * 3
    np.testing.assert_array_equal(named(x), first(x, x))


def test_schedules_are_compiled_as_they_are() -> None:
    by_hand = morello.schedule(SPECS[0]).tile(m=2).solve()
    first, second = morello.compile_all([by_hand, SPECS[0]])
    assert first.impl == by_hand.impl and first.statistics is None
    assert second.impl != first.impl


def test_workers_search_and_share_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process waits until a worker has found the programs of all Specs but one."""
    path = tmp_path / "specs.db"
    build = several._build

    def late(*arguments: Any) -> Sequence[morello.Kernel | Exception]:
        for _ in range(2400):
            with Table(path) as table:
                if len(table.goals()) >= len(SPECS) - 1:
                    return build(*arguments)
            time.sleep(0.05)
        raise AssertionError("the worker found nothing.")

    Table(path).close()
    monkeypatch.setattr(several, "_build", late)
    monkeypatch.setattr(several, "available_threads", lambda: 2)
    monkeypatch.setattr(sharing, "PATIENCE_S", 0.0)
    counts: list[tuple[int, int]] = []
    heard: list[Status] = []
    with listening(heard.append):
        kernels = morello.compile_all(SPECS, table=path, progress=lambda *seen: counts.append(seen))
    assert heard[-1].count == len(SPECS) and heard[-1].done > 0
    for spec, kernel in zip(SPECS, kernels, strict=True):
        assert kernel.spec == parse(spec) and kernel.max_error is not None
        impl, statistics = morello.implement(spec, table=path)
        assert impl == kernel.impl and statistics is not None and statistics.specs == 0
        inputs = random_inputs(kernel.spec).plain
        wanted = expected(kernel.spec, inputs).value
        np.testing.assert_allclose(kernel(*inputs), wanted, rtol=1e-4, atol=1e-5)
    each = [kernel.statistics.specs for kernel in kernels if kernel.statistics is not None]
    of_worker = sum(each) - max(each)  # at least, whichever this process searched for
    assert max(specs for specs, _ in counts) >= of_worker > 0


@pytest.mark.parametrize("options", [{"measure": 2}, {}], ids=str)
def test_some_is_done_in_this_process_alone(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Worker] = []
    monkeypatch.setattr(sharing, "PATIENCE_S", 0.0)
    monkeypatch.setattr(Worker, "start", started.append)
    with Table(":memory:") as table:
        kernels = morello.compile_all(SPECS[:2], **options | {"table": table})
        assert len(kernels) == 2 and len(table.goals()) >= 2
    assert started == []


def test_an_error_loses_no_other_kernel() -> None:
    with pytest.raises(CompileAllError) as error:
        morello.compile_all([SPECS[1], TOO_LARGE, SPECS[2], TOO_LARGE])
    said = "2 of 4 Specs have no kernel; the first is number 2: "
    assert str(error.value).startswith(said) and "GiB" in str(error.value)
    first, second, third, fourth = error.value.results
    assert isinstance(first, morello.Kernel) and isinstance(third, morello.Kernel)
    assert isinstance(second, MorelloError) and second is fourth
    assert first(np.full(8, -1, np.float32)).max() == 0


def test_goals_that_differ_in_sizes_and_constants_are_of_one_group() -> None:
    means = [f"sum(sum(f32[3,{n},{n}], axis=2), axis=1) * {1 / n**2}" for n in (4, 6, 8)]
    with ExitStack() as stack:
        requests = [stack.enter_context(requested(text)) for text in (*means, "relu(f32[8])")]
    assert together.grouped(requests) == [[0, 1, 2], [3]]


@pytest.mark.parametrize(
    ("specs", "options", "kind", "said"),
    [
        ([SPECS[0], "f32[4,5] @ f32[4,4]"], {}, SpecError, "5 and 4 differ"),
        (SPECS[0], {}, SpecError, "give a list of expressions or Specs"),
        (None, {}, SpecError, "give a list of expressions or Specs"),
        (parse(SPECS[0]), {}, SpecError, "give a list of expressions or Specs"),
        (SPECS, {"measure": 0}, SearchError, "can be measured, not 0"),
        (SPECS, {"budget": -1}, SearchError, "positive number of seconds"),
        ([SPECS[0], 3], {}, SpecError, "and not 3"),
    ],
    ids=str,
)
def test_misuse_is_refused_before_any_search(
    specs: Any,
    options: dict[str, Any],
    kind: type[MorelloError],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Session, "solve", lambda *_, **__: pytest.fail("it searched"))
    with pytest.raises(kind, match=said):
        morello.compile_all(specs, **options)


def test_specs_without_a_text_are_searched_in_workers() -> None:
    """The strides of rows of 40 and 24 elements are those of views, which no expression has."""
    product = parse(SPECS[0])
    spec = goal(
        product.operation, product.sizes, product.dtypes,
        layouts=[row_major(2)] * 3, strides=[(40, 1), None, (24, 1)], names=("x", "w", "y"),
    )  # fmt: skip
    here = several._movable(spec, find_target("x86-64-v3"))
    assert isinstance(here, several._Movable)
    there = pickle.loads(pickle.dumps(here))
    assert (there, there.strides, there.names) == (spec, spec.strides, spec.names)
    (kernel,) = several._build_there({"table": "off"}, True, 1.0, [(there, {})])
    assert isinstance(kernel, morello.Kernel) and kernel.spec == spec


def test_specs_whose_data_mean_another_are_searched_here(monkeypatch: pytest.MonkeyPatch) -> None:
    goals = [parse(text) for text in SPECS[:2]]
    monkeypatch.setattr(several, "_loaded", lambda data: parse(SPECS[2]))
    monkeypatch.setattr(several, "_build_there", lambda *_: pytest.fail("a worker has it"))
    kernels = morello.compile_all(goals)
    assert [kernel.spec for kernel in kernels] == goals


def test_what_progress_raises_ends_them_all() -> None:
    def stop(specs: int, rewrites: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        morello.compile_all(["f32[60,50] @ f32[50,70]", *SPECS], progress=stop)
