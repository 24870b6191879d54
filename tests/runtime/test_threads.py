from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.waiting import PATIENCE_S, comes_true

from morello.base.errors import BuildError, TargetError
from morello.native.build import build
from morello.native.toolchain import find_compiler
from morello.runtime import threads as threads_module
from morello.runtime.load import Library
from morello.runtime.threads import (
    MAX_THREADS,
    Pool,
    attach,
    available_threads,
    pool,
    usable_cpus,
)

SOURCE = """
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

typedef void Body(void *environment, long begin, long end);

static void serially(void *pool, Body *body, void *environment, long count)
{
    body(environment, 0, count);
}

static void (*parallel)(void *, Body *, void *, long) = serially;
static void *pool;

void kernel_set_parallel(void (*new)(void *, Body *, void *, long), void *handle)
{
    parallel = new;
    pool = handle;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void count_body(void *environment, long begin, long end)
{
    for (int *hits = environment; begin < end; begin++)
        hits[begin]++;
}

/* Adds 1 to each of `hits`. */
void count(int *hits, long items)
{
    parallel(pool, count_body, hits, items);
}

/* The same, again and again; the seconds it takes. */
double count_often(int *hits, long items, long times)
{
    double start = now();
    for (long i = 0; i < times; i++)
        count(hits, items);
    return now() - start;
}

static void nested_body(void *environment, long begin, long end)
{
    for (int *hits = environment; begin < end; begin++)
        count(hits + 10 * begin, 10);
}

/* Adds 1 to each of `hits`, in regions of 10 within a region. */
void nested(int *hits, long items)
{
    parallel(pool, nested_body, hits, items / 10);
}

typedef struct {
    long *data, items;
} Shift;

static void shift_body(void *environment, long begin, long end)
{
    const Shift *shift = environment;
    for (; begin < end; begin++)
        shift->data[shift->items + begin] = shift->data[begin] + 1;
}

/* Each round reads what the caller wrote, and the caller what the round wrote; the number of
 * rounds in which either saw something old. */
long shifts(long *data, long items, long rounds)
{
    long wrong = 0;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < items; i++)
            data[i] = round + i;
        Shift shift = {data, items};
        parallel(pool, shift_body, &shift, items);
        int bad = 0;
        for (long i = 0; i < items; i++)
            bad |= data[items + i] != round + i + 1;
        wrong += bad;
    }
    return wrong;
}

typedef struct {
    atomic_long present;
    atomic_int late;
    long expected;
} Meeting;

static void meet_body(void *environment, long begin, long end)
{
    Meeting *meeting = environment;
    for (double give_up = now() + 60; begin < end; begin++) {
        atomic_fetch_add(&meeting->present, 1);
        while (atomic_load(&meeting->present) < meeting->expected && !meeting->late) {
            sched_yield();
            if (now() > give_up)
                meeting->late = 1;
        }
    }
}

/* Whether `items` items can all be under way at the same time. */
int meet(long items)
{
    Meeting meeting = {.expected = items};
    parallel(pool, meet_body, &meeting, items);
    return !meeting.late;
}

static void hold_body(void *environment, long begin, long end)
{
    atomic_int *state = environment;
    for (; begin < end; begin++) {
        atomic_fetch_add(state, 1);
        while (atomic_load(state) < 1000)
            sched_yield();
    }
}

/* A region that lasts until `state`, where each item adds 1, is at least 1000. */
void hold(atomic_int *state, long items)
{
    parallel(pool, hold_body, state, items);
}

static _Thread_local int calling;

static void late_body(void *environment, long begin, long end)
{
    atomic_int *state = environment;
    for (; begin < end; begin++) {
        atomic_fetch_add(state, 1);
        while (atomic_load(state) < (calling ? 2 : 1000))
            sched_yield();
    }
}

/* The same of two items, of which the caller's ends once both have begun. */
void late(atomic_int *state)
{
    calling = 1;
    parallel(pool, late_body, state, 2);
    calling = 0;
}
"""


class Kernel:
    """The C above, in memory."""

    def __init__(self, path: Path) -> None:
        self.library = Library(path)
        self.c: Any = ctypes.CDLL(str(path))
        self.c.count_often.restype = ctypes.c_double
        self.c.shifts.restype = ctypes.c_long

    def attach(self, threads: int) -> None:
        attach(self.library, "kernel", threads)

    def seconds(self, items: int, times: int) -> float:
        """How long `times` regions of almost nothing take."""
        hits = np.zeros(items, np.int32)
        taken: float = self.c.count_often(address(hits), size(items), size(times))
        assert (hits == times).all()
        return taken

    def meet(self, items: int) -> bool:
        return bool(self.c.meet(size(items)))


def address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


size = ctypes.c_long


@pytest.fixture(scope="module")
def path(kernel_cache: Path) -> Path:
    return build(SOURCE, compiler=find_compiler())


@pytest.fixture(scope="module")
def kernel(path: Path) -> Kernel:
    return Kernel(path)


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A test that hangs is ended, so that the others run."""
    signal.alarm(int(PATIENCE_S))
    yield
    signal.alarm(0)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("items", [0, 1, 2, 3, 64, 257, 1000, 12_345])
def test_every_item_once(kernel: Kernel, threads: int, items: int) -> None:
    kernel.attach(threads)
    hits = np.zeros(items + 1, np.int32)
    for _ in range(50):
        kernel.c.count(address(hits), size(items))
    assert (hits[:-1] == 50).all()
    assert hits[-1] == 0


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_all_threads_take_part(kernel: Kernel, threads: int) -> None:
    kernel.attach(threads)
    assert all(kernel.meet(threads) for _ in range(20))


@pytest.mark.parametrize("threads", [2, 4])
def test_what_was_written_is_seen(kernel: Kernel, threads: int) -> None:
    kernel.attach(threads)
    data = np.zeros(2 * 16, np.int64)
    assert kernel.c.shifts(address(data), size(16), size(5000)) == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_regions_within_regions(kernel: Kernel, threads: int) -> None:
    kernel.attach(threads)
    hits = np.zeros(640, np.int32)
    for _ in range(100):
        kernel.c.nested(address(hits), size(640))
    assert (hits == 100).all()


def test_two_callers_share_a_pool(kernel: Kernel) -> None:
    kernel.attach(2)
    done: list[float] = []
    callers = [
        threading.Thread(target=lambda: done.append(kernel.seconds(7, 20_000))) for _ in range(2)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(done) == 2


@contextmanager
def held(kernel: Kernel) -> Iterator[threading.Thread]:
    """Another thread, which is in a region of a pool of two as long as the body runs."""
    kernel.attach(2)
    state = np.zeros(1, np.int32)
    holder = threading.Thread(target=lambda: kernel.c.hold(address(state), size(2)))
    holder.start()
    while state[0] < 2:
        time.sleep(0.001)
    try:
        yield holder
    finally:
        state[0] = 1000
        holder.join()


def test_a_busy_pool_does_not_make_others_wait(kernel: Kernel) -> None:
    with held(kernel) as holder:
        kernel.seconds(5, 100)
        assert holder.is_alive()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="sets CPUs as Linux does")
def test_late_workers_may_run_where_the_caller_sleeps(kernel: Kernel) -> None:
    allowed = os.sched_getaffinity(0)
    before = threads_here()
    made = Pool(2, find_compiler())
    (worker,) = threads_here() - before
    kernel.c.kernel_set_parallel(ctypes.c_void_p(made.address), ctypes.c_void_p(made.handle))
    state = np.zeros(1, np.int32)
    caller = threading.Thread(target=lambda: kernel.c.late(address(state)))
    give_up = time.monotonic() + PATIENCE_S
    try:
        while os.sched_getaffinity(worker) == allowed and len(allowed) > 1:
            time.sleep(0.01)  # the worker falls asleep, and is kept off the caller's CPU
            assert kernel.meet(2) and time.monotonic() < give_up
        (avoided,) = allowed - os.sched_getaffinity(worker) or [min(allowed)]
        os.sched_setaffinity(0, {avoided})
        caller.start()
        os.sched_setaffinity(0, allowed)
        assert comes_true(lambda: avoided in os.sched_getaffinity(worker))
        assert caller.is_alive()
        state[0] = 1000
        caller.join()
    finally:
        os.sched_setaffinity(0, allowed)
        state[0] = 1000
        kernel.attach(2)


@pytest.mark.skipif(
    available_threads() < 2 or not Path("/proc/self/task").exists(),
    reason="moves threads as Linux does",
)
def test_the_caller_fetches_a_worker_that_does_not_run(kernel: Kernel) -> None:
    """One that has begun an item, beside a program that leaves it no time."""
    allowed = os.sched_getaffinity(0)
    here, there = sorted(allowed)[:2]
    before = threads_here()
    made = Pool(2, find_compiler())
    (worker,) = threads_here() - before
    os.sched_setscheduler(worker, os.SCHED_IDLE, os.sched_param(0))
    state = np.zeros(1, np.int32)

    def fetched() -> bool:
        """Whether the caller of a region moves the worker, if it waits for that at all."""
        os.sched_setaffinity(worker, {there})
        state[0] = 0
        caller = threading.Thread(target=lambda: kernel.c.late(address(state)))
        caller.start()
        soon = time.monotonic() + 2
        while not (moved := os.sched_getaffinity(worker) == {here}) and time.monotonic() < soon:
            time.sleep(0.001)
        state[0] = 1000
        caller.join()
        return moved

    spinning = f"import os; os.sched_setaffinity(0, [{there}]); print(flush=True)\nwhile True: pass"
    spinner = subprocess.Popen([sys.executable, "-c", spinning], stdout=subprocess.PIPE)
    try:
        assert spinner.stdout is not None and spinner.stdout.readline()
        kernel.c.kernel_set_parallel(ctypes.c_void_p(made.address), ctypes.c_void_p(made.handle))
        os.sched_setaffinity(0, {here})
        assert any(fetched() for _ in range(10))  # not if it runs when it is looked at
    finally:
        os.sched_setaffinity(0, allowed)
        spinner.kill()
        spinner.communicate()
        kernel.attach(2)


def test_many_regions(kernel: Kernel) -> None:
    for threads in (2, 4):
        kernel.attach(threads)
        kernel.seconds(8, 20_000)


@pytest.mark.parametrize("threads", [2, 3])
def test_sleeping_workers_wake_up(kernel: Kernel, threads: int) -> None:
    kernel.attach(threads)
    # Gaps on both sides of the time for which workers spin: they fall asleep in some of them
    # just when the region begins.
    for gap in (*[0.00002 * i for i in range(15)], 0.05) * 3:
        time.sleep(gap)
        assert kernel.meet(threads)


def test_idle_workers_sleep(kernel: Kernel) -> None:
    kernel.attach(4)
    kernel.seconds(64, 10)

    def asleep() -> bool:
        before = time.process_time()
        time.sleep(0.3)
        return time.process_time() - before < 0.05

    assert comes_true(asleep)  # on a busy machine, they do so late


def test_a_region_starts_fast(kernel: Kernel) -> None:
    """It does not wait until a thread that sleeps is woken."""
    kernel.attach(2)
    best = min(kernel.seconds(2, 200) / 200 for _ in range(300))
    assert best < waking()


def waking() -> float:
    """The seconds in which one thread wakes another, which wakes the first."""
    there, back = threading.Semaphore(0), threading.Semaphore(0)
    taken = []

    def answer() -> None:
        for _ in range(300):
            there.acquire()
            back.release()

    thread = threading.Thread(target=answer)
    thread.start()
    for _ in range(300):
        began = time.perf_counter()
        there.release()
        back.acquire()
        taken.append(time.perf_counter() - began)
    thread.join()
    return min(taken)


def in_child(test: Any) -> None:
    """Runs `test` in a fork of this process."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE_S))
        try:
            test()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_after_fork(kernel: Kernel) -> None:
    kernel.attach(2)
    kernel.seconds(8, 100)
    parents = pool(2)

    def child() -> None:
        kernel.seconds(8, 1000)
        assert pool(2).handle != parents.handle
        kernel.attach(2)
        assert kernel.meet(2)

    in_child(child)
    assert kernel.meet(2)


def test_fork_within_a_region(kernel: Kernel) -> None:
    with held(kernel):
        in_child(lambda: kernel.seconds(8, 1000))
    assert kernel.meet(2)


@pytest.mark.parametrize("leave", ["", "os._exit(0)", "sys.exit(0)", "raise SystemExit"])
def test_exit_with_live_workers(path: Path, leave: str) -> None:
    script = f"""
import ctypes, os, sys, threading
from pathlib import Path
from morello.runtime.load import Library
from morello.runtime.threads import attach, pool
library = Library(Path({str(path)!r}))
for threads in (3, 2):
    attach(library, "kernel", threads)
    c = ctypes.CDLL(str(library.path))
    assert c.meet(ctypes.c_long(threads))
state = ctypes.c_int(0)
threading.Thread(target=lambda: c.hold(ctypes.byref(state), ctypes.c_long(2)), daemon=True).start()
while state.value < 2:
    pass
{leave}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, b"")


def test_pools_are_kept() -> None:
    made = pool(3)
    assert pool(3) is made
    assert made.threads == 3
    assert pool(2) is not made
    assert made.handle
    assert made.address == pool(2).address
    found: list[Pool] = []
    callers = [threading.Thread(target=lambda: found.append(pool(5))) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [pool(5)] * 8


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux does")
def test_a_pool_that_is_dropped_ends_its_threads() -> None:
    before = threads_here()
    made = Pool(6, find_compiler())
    workers = threads_here() - before
    assert len(workers) == 5
    del made
    assert comes_true(lambda: not workers & threads_here())  # they may be listed a little longer


def threads_here() -> set[int]:
    """The threads of this process."""
    return {int(name) for name in os.listdir("/proc/self/task")}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="sets CPUs as Linux does")
def test_available_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_module, "cpu_quota", lambda: inf)
    monkeypatch.setattr(threads_module, "usable_cpus", usable_cpus)
    allowed = os.sched_getaffinity(0)
    assert available_threads() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert available_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    monkeypatch.delattr(os, "sched_getaffinity")
    assert available_threads() == os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="sets CPUs as Linux does")
def test_on_one_cpu(kernel: Kernel) -> None:
    kernel.attach(2)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        made = Pool(3, find_compiler())
        set_parallel = kernel.c.kernel_set_parallel
        for handle in (pool(2).handle, made.handle):
            set_parallel(ctypes.c_void_p(made.address), ctypes.c_void_p(handle))
            kernel.seconds(8, 1000)
            assert kernel.meet(2)
            assert os.sched_getaffinity(0) == {max(allowed)}
    finally:
        os.sched_setaffinity(0, allowed)
        kernel.attach(2)


def test_bad_thread_counts(kernel: Kernel) -> None:
    for threads in (0, -1, MAX_THREADS + 1):
        message = rf"cannot run on {threads} threads; ask for 1 to 1024, or for .all."
        with pytest.raises(TargetError, match=message):
            pool(threads)
        with pytest.raises(TargetError, match=message):
            kernel.attach(threads)


def test_threads_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = threads_module._functions(find_compiler())
    monkeypatch.setattr(functions, "pool_create", lambda threads: None)
    with pytest.raises(TargetError, match="7 threads cannot be started here; ask for fewer"):
        pool(7)


def test_kernel_without_parallel_loops(kernel: Kernel) -> None:
    with pytest.raises(BuildError, match="defines no function 'other_set_parallel'"):
        attach(kernel.library, "other", 2)
