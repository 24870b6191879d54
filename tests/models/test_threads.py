"""Segments whose kernels have parallel loops, on threads of their own and of hosts."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np
import pytest
from tests.support import in_parallel, skip_unless_it_runs
from tests.waiting import PATIENCE_S

from morello import api
from morello.graph.frameworks import NUMPY
from morello.graph.graph import Graph, TensorType, apply
from morello.graph.interpreter import evaluate
from morello.graph.operators import Constant, Dot, Input
from morello.graph.partition import by_rule
from morello.kernel import Kernel
from morello.models import CompiledGraph, Segment, compile_graph
from morello.models.export import exported, write_project
from morello.models.plans import Plan
from morello.models.schedule import Stage, schedule
from morello.native.build import build
from morello.native.toolchain import find_compiler
from morello.options import Options
from morello.runtime.threads import SCHEDULED, HostThreads
from morello.several import What, compile_each
from morello.targets import find_target

TWO = replace(find_target("avx2"), cores=2)
F32 = np.dtype(np.float32)


def program() -> CompiledGraph:
    """A product with constant weights, whose rows are computed in a parallel loop."""
    skip_unless_it_runs(TWO)
    weights = np.random.default_rng(0).uniform(-1, 1, (16, 8)).astype(F32)
    x = apply(Input(TensorType((12, 16), F32)))
    graph = Graph((x,), (apply(Dot((), ((1, 0),)), x, apply(Constant(weights))),))
    partition = by_rule(graph)
    (stage,) = schedule(partition)
    assert isinstance(stage, Stage)
    kernel = api.compile(in_parallel(stage.calls[0].spec, TWO, m=2))
    plan = Plan((), partition.light, lambda: partition, lambda: (stage,))
    return CompiledGraph(graph, (Segment(stage, [kernel]),), NUMPY, plan)


@pytest.fixture(scope="module")
def model() -> CompiledGraph:
    return program()


def check(model: CompiledGraph, seed: int, run: Callable[[list[int]], None] | None = None) -> None:
    """The segment, run by `run` on addresses, computes what the interpreter does."""
    (segment,) = model.segments
    x = np.random.default_rng(seed).uniform(-1, 1, (12, 16)).astype(F32)
    out = np.full((12, 8), np.nan, F32)
    (run or segment.run)([x.ctypes.data, out.ctypes.data])
    np.testing.assert_allclose(out, evaluate(model.graph, [x])[0], 1e-5, 1e-5)


BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, BODY, ctypes.c_void_p, ctypes.c_long)


def test_pieces_may_run_in_any_order_and_alone(model: CompiledGraph) -> None:
    counts = []

    def backwards(pool: int, body: Callable[..., None], environment: int, count: int) -> None:
        counts.append(count)
        for item in reversed(range(count)):
            body(environment, item, item + 1)

    (segment,) = model.segments
    run = RUN(backwards)
    host = HostThreads(ctypes.cast(run, ctypes.c_void_p).value, None)
    check(model, 0, lambda addresses: segment.run(addresses, host))
    assert counts == [6]
    check(model, 1, lambda addresses: segment.run(addresses, HostThreads(None, None)))
    check(model, 2)
    assert segment.threads.handle and counts == [6]


def test_many_callers_of_one_pool(model: CompiledGraph) -> None:
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda seed: check(model, seed), range(200)))


SCHEDULE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.CFUNCTYPE(None, ctypes.c_void_p), ctypes.c_void_p
)


class Scheduler(ctypes.Structure):
    """A scheduler, as scheduled.h has it."""

    _fields_ = [("schedule", SCHEDULE), ("host", ctypes.c_void_p), ("threads", ctypes.c_int64)]


@pytest.mark.parametrize("kind", ["at once", "never", "late", "threads"])
def test_tasks_of_a_scheduler(model: CompiledGraph, kind: str) -> None:
    """However many tasks run, and whenever: even after the loop is done."""
    tasks: list[Callable[[], None]] = []
    workers = ThreadPoolExecutor(3)

    def scheduled(host: int, task: Callable[[int], None], data: int) -> int:
        if kind == "at once":
            task(data)
        elif kind == "late":
            tasks.append(lambda: task(data))
        elif kind == "threads":
            workers.submit(task, data)
        return kind != "never"

    (segment,) = model.segments
    scheduler = Scheduler(SCHEDULE(scheduled), None, 4)
    run = """
        void run(void *pool, Body *body, void *environment, long count)
        {
            scheduled_run(pool, body, environment, count);
        }
    """
    library = ctypes.CDLL(str(build("".join([*SCHEDULED, run]), compiler=find_compiler())))
    address = ctypes.cast(library.run, ctypes.c_void_p).value
    host = HostThreads(address, ctypes.addressof(scheduler))
    for seed in range(20):
        check(model, seed, lambda addresses: segment.run(addresses, host))
    workers.shutdown()
    assert len(tasks) == (60 if kind == "late" else 0)
    for task in tasks:
        task()


def script(text: str, **variables: str) -> subprocess.Popen[str]:
    """A Python that has the model of this module, in another process."""
    begin = (
        "from morello.runtime import threads\nthreads.usable_cpus = lambda: 2\n"
        "from tests.models.test_threads import *\nmodel = program()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", begin + textwrap.dedent(text)],
        env=os.environ | variables, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="sets CPUs as Linux does")
def test_two_processes_on_one_cpu() -> None:
    text = """
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        for seed in range(30):
            check(model, seed)
    """
    for process in [script(text) for _ in range(2)]:
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors


def test_beside_threads_of_torch_that_spin() -> None:
    """On torch's threads, of which OpenMP may give fewer, while another thread uses them."""
    pytest.importorskip("torch")
    text = """
        import threading
        import torch
        from morello.torch.threads import torch_threads
        torch.set_num_threads(4)
        (segment,) = model.segments
        over = threading.Event()
        def work():
            a = torch.rand(256, 256)
            while not over.is_set():
                a = torch.tanh(a @ a)
        other = threading.Thread(target=work)
        other.start()
        for seed in range(30):
            check(model, seed, lambda addresses: segment.run(addresses, torch_threads()))
            check(model, seed)
        over.set()
        other.join()
    """
    process = script(text, OMP_DYNAMIC="true", OMP_WAIT_POLICY="active")
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_an_exported_project_takes_threads(model: CompiledGraph, tmp_path: Path) -> None:
    write_project(exported(model, "product"), tmp_path)
    assert "parallel_t run" in (tmp_path / "product.h").read_text()
    for words in (f"-S {tmp_path} -B {tmp_path}/build", f"--build {tmp_path}/build"):
        subprocess.run(["cmake", *words.split()], check=True, capture_output=True)
    subprocess.run([tmp_path / "build" / "check"], check=True, capture_output=True)


def test_only_kernels_that_gain_get_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the cost model, a small product runs on one thread, and larger ones on both.

    What surely gains is not searched for on one thread, and what does not, not on two.
    """
    skip_unless_it_runs(TWO)
    asked: dict[int, list[object]] = {1: [], 2: []}

    def compiled(specs: Sequence[tuple[What, Options]], **options: Unpack[Options]) -> list[Kernel]:
        kernels = compile_each(specs, **options)
        asked[int(options["threads"])] += [kernel.spec.sizes[0] for kernel in kernels]
        return kernels

    monkeypatch.setattr("morello.models.kernels.compile_each", compiled)
    given = [apply(Input(TensorType(shape, F32))) for shape in ((8, 16), (32, 64), (128, 256))]
    products = [
        apply(Dot((), ((1, 0),)), each, apply(Input(TensorType((each.shape[1], 256), F32))))
        for each in given
    ]
    inputs = (*given, *(product.inputs[1] for product in products))
    model = compile_graph(Graph(inputs, tuple(products)), threads=2, gap=0.5, target="avx2")
    (segment,) = model.segments
    counts = {kernel.spec.sizes[0]: kernel.threads for kernel in segment.kernels}
    assert counts == {8: 1, 32: 2, 128: 2}
    assert asked == {1: [8], 2: [32, 128]}
    arrays = [np.random.default_rng(0).uniform(-1, 1, n.shape).astype(F32) for n in inputs]
    for got, expected in zip(model(*arrays), evaluate(model.graph, arrays), strict=True):
        np.testing.assert_allclose(got, expected, 1e-4, 1e-4)
