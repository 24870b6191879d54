"""The Python API: compile, call, and what it says when the arrays are wrong."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.goals import attention_goal, matmul_goal, mlp_goal, primitive_goals, softmax_goal
from tests.rewrites.rewritten import begun, solved
from tests.sampling import some
from tests.support import runs_here

import morello
from morello import errors
from morello.base import errors as base
from morello.base.errors import CallError, MorelloError, SearchError, SpecError, TargetError, quoted
from morello.ir.dtype import BF16, F32, I32
from morello.ir.operation import reordered
from morello.ir.primitives import fill, matmul
from morello.ir.spec import Spec, goal
from morello.runtime.argument import check_functional
from morello.runtime.kernel import CompiledKernel
from morello.runtime.load import Library
from morello.runtime.packing import random_inputs
from morello.runtime.tolerance import expected

SMALL = "f32[4,4] @ f32[4,4]"


@pytest.fixture
def four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four CPUs are reported: kernels also run on more threads than CPUs, if slower."""
    monkeypatch.setattr("morello.runtime.threads.usable_cpus", lambda: 4)


def random(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("m", "k", "n", "target"),
    [
        (1, 1, 1, "native"), (7, 13, 5, "avx2"), (3, 1, 17, "native"), (1000, 1, 1, "avx2"),
        (1, 1000, 1, "native"), (17, 5, 19, "native"), (64, 64, 64, "avx2"),
    ],
)  # fmt: skip
def test_any_size(m: int, k: int, n: int, target: str) -> None:
    kernel = morello.compile(f"f32[{m},{k}] @ f32[{k},{n}]", target=target)
    a, b = random(m, k), random(k, n)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), exact, rtol=1e-4, atol=1e-4)
    out = np.full((m, n), np.nan, np.float32)
    assert kernel(a, b, out=out) is out
    np.testing.assert_allclose(out, exact, rtol=1e-4, atol=1e-4)


def test_layouts_and_batches() -> None:
    kernel = morello.compile("f32[3,4,8]{1,2,0} @ f32[3,8,10] -> f32[3,4,10]{1,2,0}")
    a, b = random(3, 8, 4).swapaxes(1, 2), random(3, 8, 10)
    result = kernel(a, b)
    assert result.swapaxes(1, 2).flags.c_contiguous
    np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-5)


def test_a_kernel_knows_where_it_comes_from() -> None:
    kernel = morello.matmul("f32[8,8]", random(8, 4))
    assert kernel.spec == morello.parse("f32[8,8] @ f32[8,4]")
    assert kernel.impl.complete and kernel.impl.cost > 0
    assert kernel.statistics is not None and kernel.statistics.specs > 0
    assert kernel.max_error is not None and kernel.max_error < 1e-5
    assert "void kernel(" in kernel.source.text
    assert "f32[8,8] @ f32[8,4]" in repr(kernel)


def test_verification_can_be_left_out() -> None:
    assert morello.compile("f32[4,4] @ f32[4,4]", verify=False).max_error is None


def test_wrong_arrays() -> None:
    kernel = morello.compile("f32[4,8] @ f32[8,4]")
    a, b = random(4, 8), random(8, 4)
    with pytest.raises(CallError, match=r"argument b: expected f32\[8,4\].*float64"):
        kernel(a, b.astype(np.float64))
    with pytest.raises(CallError, match="argument a"):
        kernel(a[:, :4], b)
    with pytest.raises(CallError):
        kernel(a, b, out=a[:, :4])


def test_a_schedule_by_hand_runs() -> None:
    started = morello.schedule("f32[32,32] @ f32[32,32]").to_accumulate().tile(m=8)
    with pytest.raises(SpecError, match="left to do"):
        morello.compile(started)
    kernel = morello.compile(started.solve())
    a, b = random(32, 32), random(32, 32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-5)


# ---- every kind of Spec


@pytest.mark.parametrize("spec", some(primitive_goals(), 3), ids=str)
def test_every_primitive_runs(spec: Spec) -> None:
    kernel = morello.compile(spec)
    assert kernel.max_error is not None and kernel.max_error < 1e-6
    inputs = random_inputs(spec).plain
    made = kernel(*inputs)
    wanted = expected(spec, inputs)
    np.testing.assert_allclose(made.astype(np.float64), wanted.value, rtol=1e-5, atol=1e-6)
    assert made.dtype == spec.dtypes[-1].np


@pytest.mark.parametrize("spec", [mlp_goal(), attention_goal()], ids=["mlp", "attention"])
def test_compositions_run(spec: Spec) -> None:
    kernel = morello.compile(spec)
    assert kernel.max_error is not None and kernel.max_error < 1e-5


def test_bfloat16_end_to_end() -> None:
    kernel = morello.compile(matmul_goal(8, 16, 16, BF16, BF16, F32))
    a, b = random(8, 16).astype(ml_dtypes.bfloat16), random(16, 16).astype(ml_dtypes.bfloat16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(kernel(a, b), exact, rtol=1e-5, atol=1e-6)
    bits = a.view(np.uint16)
    np.testing.assert_array_equal(kernel(bits.view(ml_dtypes.bfloat16), b), kernel(a, b))
    np.testing.assert_array_equal(kernel.fast(bits, b.view(np.uint16)), kernel(a, b))
    with pytest.raises(CallError, match=r"got uint16.* pass a\.view\(ml_dtypes\.bfloat16\) if"):
        kernel(bits, b)
    narrow = morello.compile(matmul_goal(8, 16, 16, BF16, BF16, BF16))
    assert narrow(a, b).dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(narrow(a, b).astype(np.float64), exact, rtol=0.05, atol=0.05)
    with pytest.raises(CallError, match=r"ml_dtypes\.bfloat16"):
        kernel(a.astype(np.float32), b)


def test_arrays_with_gaps() -> None:
    spec = goal(matmul(), (4, 8, 16), (F32,) * 3, strides=((10, 1), None, (1, 6)))
    kernel = morello.compile(spec)
    assert [a.strides for a in kernel.arguments] == [(40, 4), (64, 4), (4, 24)]
    a, b = np.zeros((4, 10), np.float32)[:, :8], random(8, 16)
    a[...] = random(4, 8)
    made = kernel(a, b)
    assert made.strides == (4, 24)
    np.testing.assert_allclose(made, a @ b, rtol=1e-5, atol=1e-6)
    with pytest.raises(CallError, match="with strides"):
        kernel(a.copy(), b)


def test_operands_whose_dimensions_are_reordered() -> None:
    one = reordered(matmul(), [("k", "m"), ("k", "n"), ("n", "m")])
    kernel = morello.compile(goal(one, (5, 7, 9), (F32,) * 3))
    a, b = random(7, 5), random(7, 9)
    np.testing.assert_allclose(kernel(a, b), (a.T @ b).T, rtol=1e-5, atol=1e-6)


def test_fills_take_an_output_alone() -> None:
    kernel = morello.compile(goal(fill(2), (3, 5), (I32,)))
    out = np.ones((3, 5), np.int32)
    assert kernel(out) is out and not out.any()
    assert not kernel().any()


@pytest.mark.usefixtures("four_cpus")
@pytest.mark.parametrize("name", some([n for n in begun() if n != "filled"], 4))  # no array
def test_schedules_by_hand_run(name: str) -> None:
    schedule = solved(name)
    if not runs_here(schedule.impl.target):
        pytest.skip("this CPU does not run it")
    kernel = morello.compile(schedule)
    assert kernel.max_error is not None and kernel.max_error < 1e-5
    assert kernel.threads == (4 if name in ("parallel", "ragged", "softmax", "running") else 1)


# ---- copies and pickles


def same(one: morello.Kernel, other: morello.Kernel) -> bool:
    """Whether the kernels are the same in all that they know of themselves."""
    names = ("spec", "source", "compiler", "threads", "statistics", "max_error", "arguments")
    return all(getattr(one, name) == getattr(other, name) for name in names)


@pytest.mark.parametrize(
    "expression", ["f32[8,24] @ f32[24,16]", "softmax(f32[5,9])", "bf16[4,8] @ bf16[8,16]"]
)
def test_kernels_can_be_pickled(expression: str) -> None:
    kernel = morello.compile(expression)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        read = pickle.loads(pickle.dumps(kernel, protocol))
        assert read is not kernel and same(read, kernel)
        assert read.impl.decisions() == kernel.impl.decisions()
        inputs = [one.random(np.random.default_rng(2)) for one in kernel.arguments[:-1]]
        np.testing.assert_array_equal(read(*inputs), kernel(*inputs))
    assert copy.copy(kernel) is kernel and copy.deepcopy([kernel]) == [kernel]


def test_kernels_with_packed_operands_can_be_pickled() -> None:
    kernel = morello.compile("f32[4,16] @ f32[16,32]", weights="constant")
    read = pickle.loads(pickle.dumps(kernel))
    assert same(read, kernel)
    a, b = random(4, 16), random(16, 32)
    np.testing.assert_array_equal(read(a, read.pack("b", b)), kernel(a, kernel.pack("b", b)))


def test_kernels_for_threads_can_be_pickled() -> None:
    started = morello.schedule("f32[64,16] @ f32[16,64]", threads=2).parallel(m=32)
    kernel = morello.compile(started.solve())
    read = pickle.loads(pickle.dumps(kernel))
    assert same(read, kernel) and read.threads == 2
    a, b = random(64, 16), random(16, 64)
    np.testing.assert_array_equal(read(a, b), kernel(a, b))


def apply(kernel: morello.Kernel, x: Any) -> Any:
    return kernel(x)


def test_kernels_go_to_other_processes() -> None:
    kernel, x = morello.compile("exp(f32[6,10])"), random(6, 10)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        made = pool.submit(apply, kernel, x).result()
    np.testing.assert_array_equal(made, kernel(x))


def test_what_cannot_be_pickled_says_so() -> None:
    kernel = morello.compile("f32[4,4] @ f32[4,4]", target="avx2")
    own = dataclasses.replace(kernel.impl.target, name="mine")
    mine = morello.compile("f32[4,4] @ f32[4,4]", target=own)
    with pytest.raises(TargetError, match="unknown target 'mine'"):
        pickle.dumps(mine)
    bare = CompiledKernel(kernel.library.path, kernel.symbol, kernel.arguments)
    with pytest.raises(TypeError, match=r"cannot be pickled.* pickle a morello\.Kernel"):
        pickle.dumps(bare)
    assert copy.deepcopy(bare) is bare


# ---- threads


@pytest.mark.usefixtures("four_cpus")
def test_threads() -> None:
    a, b = random(128, 64), random(64, 64)
    kernels = [morello.compile("f32[128,64] @ f32[64,64]", threads=n) for n in (1, 2, 3)]
    assert [kernel.threads for kernel in kernels] == [1, 2, 3]
    assert len({kernel.library.path for kernel in kernels}) == 3
    for kernel in kernels:
        np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4)
    every = morello.compile("f32[128,64] @ f32[64,64]", threads="all")
    assert every.threads == 4


@pytest.mark.usefixtures("four_cpus")
def test_each_thread_count_has_its_own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    attached = []

    def look(library: Library, symbol: str, threads: int, **_: object) -> None:
        attached.append((library.path, symbol, threads))

    monkeypatch.setattr("morello.measure.load.attach", look)
    for threads in (2, 3):
        morello.compile("exp(f32[512,512])", threads=threads, verify=False)
    morello.compile("f32[4,4] @ f32[4,4]", threads=2, verify=False)  # not worth it
    assert [threads for *_, threads in attached] == [2, 3]
    assert attached[0][0] != attached[1][0]


def test_a_schedule_runs_on_the_threads_it_is_for() -> None:
    started = morello.schedule("f32[64,16] @ f32[16,64]", threads=2).parallel(m=32)
    kernel = morello.compile(started.solve())
    assert kernel.threads == 2 and "kernel_set_parallel" in kernel.source.text
    assert morello.compile(started.solve(), threads=2, verify=False).threads == 2
    with pytest.raises(TargetError, match="for 2 threads, not 3"):
        morello.compile(started.solve(), threads=3)


@pytest.mark.parametrize("threads", [0, -1, 1025, "some", 2.5, None])
def test_wrong_thread_counts(threads: Any) -> None:
    with pytest.raises(TargetError, match="ask for 1 to 1024"):
        morello.compile("f32[4,4] @ f32[4,4]", threads=threads)


@pytest.mark.usefixtures("four_cpus")
def test_more_threads_than_cpus_are_refused() -> None:
    expression = "exp(f32[512,512])"
    with pytest.raises(TargetError, match=r"100 threads are more than the CPUs .* are 4; ask for"):
        morello.compile(expression, threads=100)
    assert morello.implement(expression, target="avx2", threads=8)[0].target.cores == 8


# ---- what is refused


def test_outputs_must_not_overlap_inputs_nor_lie_otherwise() -> None:
    kernel = morello.compile(softmax_goal(4, 8))
    x = random(4, 8)
    memory = np.zeros(4 * 8 * 4 + 1, np.uint8)
    for out, reason in [
        (x, "shares memory with argument x"),
        (np.zeros((4, 8), np.float32)[::-1], "with strides"),
        (memory[1:].view(np.float32).reshape(4, 8), "misaligned"),
    ]:
        with pytest.raises(CallError, match=reason):
            kernel(x, out=out)
    for array in (x[::-1], x.T, x.astype(np.float64)):
        with pytest.raises(CallError, match="argument x"):
            kernel(array)


def test_a_kernel_that_updates_its_output() -> None:
    a, b, c = random(8, 4), random(4, 16), random(8, 16)
    wanted = c.astype(np.float64) + a.astype(np.float64) @ b
    kernel = morello.compile(morello.parse("c += x @ w", x=a, w=b, c=c))
    assert kernel.source.header.count("float *MORELLO_RESTRICT c") == 1
    assert kernel(a, b, out=c) is c
    np.testing.assert_allclose(c, wanted, rtol=1e-5)
    assert kernel(a, b, c) is c
    np.testing.assert_allclose(c, wanted + a.astype(np.float64) @ b, rtol=1e-5)
    with pytest.raises(CallError, match="c is updated by the kernel; pass the array as out"):
        kernel(a, b)
    with pytest.raises(CallError, match=r"out: expected .*; pass the array to update"):
        kernel(a, b, c.astype(np.float64))
    with pytest.raises(SpecError, match="updates c, and torch calls those"):
        check_functional(kernel.arguments, "torch")


def test_a_kernel_with_several_outputs() -> None:
    x = random(4, 8)
    kernel = morello.compile("softmax_denominator_and_max(f32[4,8])")
    top, total = kernel(x)
    np.testing.assert_array_equal(top, x.max(1))
    np.testing.assert_allclose(total, np.exp(x - x.max(1)[:, None]).sum(1), rtol=1e-5)
    out = np.empty_like(top), np.empty_like(total)
    for results in (kernel(x, out=out), pickle.loads(pickle.dumps(kernel))(x, list(out))):
        assert all(result is array for result, array in zip(results, out, strict=True))
    np.testing.assert_array_equal(out, (top, total))
    for given, message in (
        ((x, top), r"out is a tuple \(max, denominator\)"),
        ((x, (top, top)), "out shares memory with max of out"),
        ((x, (x[0, :4], total)), "max of out shares memory with argument x"),
        ((x, (top[:3], total)), "max of out: expected f32"),
        ((), r"call kernel\(x, out=None\)"),
    ):
        with pytest.raises(CallError, match=message):
            kernel(*given)


def test_bfloat16_in_several_outputs() -> None:
    x = random(4, 8).astype(ml_dtypes.bfloat16)
    kernel = morello.compile("softmax_denominator_and_unscaled(bf16[4,8])")
    total, unscaled = kernel(x)
    assert total.dtype == unscaled.dtype == x.dtype
    wide = x.astype(np.float64)
    np.testing.assert_allclose(
        unscaled.astype(np.float64), np.exp(wide - wide.max(1)[:, None]), rtol=1e-2
    )


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(SpecError, match="panels"):
        morello.compile("f32[4,4] @ f32[4,64] -> f32[4,64]{0,1:T(16,1)}")
    with pytest.raises(AttributeError, match="nonsense"):
        morello.nonsense  # noqa: B018


@pytest.mark.parametrize("entry", [morello.compile, morello.implement])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"what": None}, "an expression is a text such as"),
        ({"what": 3.5}, "and not 3.5"),
        ({"what": b"f32[4,4]"}, "and not "),
        ({"what": np.zeros((400, 400))}, "and not "),
        ({"target": 7}, "a target is the name of one, such as 'native', or a Target, not 7"),
        ({"target": None}, "not None"),
        ({"threads": 1.5}, "cannot run on 1.5 threads"),
        ({"threads": None}, "cannot run on None threads"),
        ({"threads": 10**5000}, "cannot run on <int> threads"),
        ({"weights": 3}, "weights are plain, constant or streamed, not 3"),
        ({"weights": ["plain"]}, "weights are plain, constant or streamed"),
        ({"measure": "3"}, "1 to 64 programs can be measured, not '3'"),
        ({"measure": 2.0}, "not 2.0"),
        ({"measure": None}, "not None"),
        ({"measure": 10**5000}, "not <int>"),
        ({"table": 3}, "a table is a Table or the path of one, not 3"),
        ({"table": ["x" * 1000]}, "a table is a Table or the path of one"),
        ({"compiler": 3}, "a compiler is a command such as 'gcc', not 3"),
        ({"progress": 3}, "progress is True or a function of two counts to call, not 3"),
        ({"budget": "3"}, "not '3'"),
        ({"budget": 10**5000}, "not <int>"),
        ({"gap": "2 %"}, "a number of at least 0, such as 0.02 for 2 %, not '2 %'"),
    ],
    ids=quoted,
)
def test_options_of_wrong_types_get_a_sentence(
    entry: Callable[..., object], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(MorelloError) as error:
        entry(**({"what": SMALL} | options))
    text = str(error.value)
    assert said in text and text.endswith(".") and len(text) < 300


def test_a_schedule_is_not_scheduled_again() -> None:
    with pytest.raises(SpecError, match="scheduled already"):
        morello.schedule(morello.schedule(SMALL))  # type: ignore[arg-type]


def test_all_kinds_of_errors_can_be_imported() -> None:
    kinds = {name for name, kind in vars(base).items() if isinstance(kind, type)}
    exported = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
    assert kinds == exported > {"SpecError", "SearchWarning"}
    assert errors.SpecError is SpecError


def test_modules_that_the_pages_name_are_loaded_when_they_are_used() -> None:
    code = """
import sys, morello
assert "numpy" not in sys.modules
assert callable(morello.quality.assess) and morello.errors.SpecError
assert {"quality", "errors", "compile"} <= {*morello.__all__}
try:
    morello.no_such_thing
except AttributeError as error:
    assert "no_such_thing" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options_that_do_not_exist_are_refused() -> None:
    """A misspelt one would change nothing."""
    for call in (morello.implement, morello.alternatives):
        with pytest.raises(SearchError, match=r"no option bugdet; did you mean budget\?$"):
            call("relu(f32[4])", bugdet=3)  # type: ignore[call-arg]
    with pytest.raises(SearchError, match="no option verify; the options are budget, choice"):
        morello.implement("relu(f32[4])", verify=True)  # type: ignore[call-arg]
    with pytest.raises(SearchError, match="no option x"):
        morello.compile_all(["relu(f32[4])"], x=1)  # type: ignore[call-arg]
