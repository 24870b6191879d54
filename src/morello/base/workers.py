"""Processes of this machine that run functions, and never outlive the process that started them.

A `Worker` is for code that may crash, hang, or take too much memory; `local_workers` is a pool of
them, to use all cores.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from math import inf
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import LifoQueue, SimpleQueue
from threading import Thread
from time import monotonic
from traceback import format_exception
from typing import Any, Self, TypeVar

from morello.base.errors import MorelloError, SearchError, TargetError, quoted

T = TypeVar("T")

MOST_WORKERS = 1024

START_S = 120.0
"""The seconds that a process may take to start, and to import what a function needs."""

POLL_S = 0.25
"""The seconds after which a process that did not answer is looked at again."""

_READY, _RESULT, _ERROR, _END = range(4)
"""Messages of a process: it has imported all; a result; an exception; there are no more results."""

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from morello.base.workers import serve; serve(int(sys.argv[1]), int(sys.argv[2]))"
)


class CrashError(MorelloError):
    """The process of a worker ended, or was ended because it took too long, before it answered.

    `how` it ended: "SIGSEGV" or "code 1", for example; "" if it took too long. `written` has the
    lines of its log.
    """

    def __init__(self, message: str, how: str = "", written: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.how, self.written = how, written


class StartError(MorelloError):
    """The process of a worker cannot be started."""


class Worker:
    """Runs functions one after the other in a process of its own, and starts a new one if it ends.

    The process is started when it is first needed. It belongs to a process group of its own, so
    that an interrupt from the terminal reaches the parent alone. When that ends, or leaves the
    block of the worker, all processes of the group are killed. Functions and arguments are pickled.
    What they print goes to standard error.
    """

    def __init__(
        self,
        *,
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        log: Path | None = None,
    ) -> None:
        """The process has at most `memory` bytes of address space, and runs in a `folder`.

        Its standard error goes to a `log`, a file that is emptied when a process starts.
        """
        self._memory, self._environment, self._folder, self._log = memory, environment, folder, log
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T:
        """The result of a function; raises what it raises.

        Raises `CrashError` if the process ends, or after `seconds`, for which its imports do not
        count, and `StartError`.
        """
        (result,) = self.stream(_once, function, *arguments, seconds=seconds)
        value: T = result
        return value

    def stream(
        self, function: Callable[..., Iterable[T]], *arguments: Any, seconds: float
    ) -> Iterator[T]:
        """The items of a generator, each of which may take `seconds`. Raises as `run` does."""
        self.start()
        busy = True
        try:
            self._send(pickle.dumps((function, arguments)))
            kind, value = self._answer(START_S)
            while kind in (_READY, _RESULT):
                if kind == _RESULT:
                    yield value
                kind, value = self._answer(seconds)
            busy = False
            if kind == _ERROR:
                raise value
        finally:
            if busy:  # it ended, took too long, or nobody wants its answer any more
                self.end()

    def start(self) -> None:
        """Start the process if it does not run. Raises `StartError`."""
        if self.alive:
            return
        self.end()
        if self._killed:
            raise CrashError("it was told to end.")
        try:
            self._process = self._popen()
            if self._killed:
                self._kill_group()
            self._answer(START_S)
        except (CrashError, OSError) as error:
            self.end()
            raise StartError(f"no process can be started: {error}") from None
        except BaseException:
            self.end()
            raise

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def killed(self) -> bool:
        """Whether the worker was killed: its process is not started again."""
        return self._killed

    @property
    def pid(self) -> int:
        """The number of the process, which must have been started."""
        assert self._process is not None
        return self._process.pid

    def end(self) -> None:
        """End the process, and all that it started in its group; the next function gets another."""
        if self._process is None:
            return
        self._kill_group()
        self._process.wait()
        self._connection.close()
        self._process = None

    def kill(self) -> None:
        """End the process for good; may be called while another thread waits for its answer."""
        self._killed = True
        self._kill_group()

    def time_limit(self, seconds: float) -> Callable[[], bool]:
        """A function that tells whether the `seconds` for an answer, from now on, are over."""
        end = monotonic() + seconds
        return lambda: monotonic() >= end

    # ---- the process

    def _popen(self) -> subprocess.Popen[bytes]:
        self._connection, theirs = Pipe()
        paths = json.dumps([os.path.abspath(path) for path in sys.path])
        words = [str(theirs.fileno()), str(self._memory or 0), paths]
        with theirs, self._log.open("wb") if self._log else nullcontext() as log:
            return subprocess.Popen(
                [sys.executable, "-c", _BOOT, *words],
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=self._environment,
                cwd=self._folder,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )

    def _kill_group(self) -> None:
        process = self._process
        if process is not None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

    def _send(self, order: bytes) -> None:
        with suppress(OSError):  # if the process has ended, no answer will come
            self._connection.send_bytes(order)

    def _answer(self, seconds: float) -> tuple[int, Any]:
        """The next message of the process. Raises `CrashError`."""
        is_over = self.time_limit(seconds)
        try:
            while not self._connection.poll(min(seconds, POLL_S)):
                if is_over():
                    raise CrashError(f"it was still running after {seconds:.0f} s and was ended.")
            answer: tuple[int, Any] = pickle.loads(self._connection.recv_bytes())
            return answer
        except (EOFError, OSError):
            raise self._crash() from None

    def _crash(self) -> CrashError:
        assert self._process is not None
        try:
            code = self._process.wait(POLL_S)
        except subprocess.TimeoutExpired:  # it closed the connection and goes on
            self._kill_group()
            code = self._process.wait()
        how = _signal_name(-code) if code < 0 else f"code {code}"
        text = self._log.read_text(errors="replace") if self._log else ""
        written = tuple(text.strip().splitlines())
        last = f": {written[-1][:300]}" if written else "."
        return CrashError(f"its process ended with {how}{last}", how, written)


class PausedWorker(Worker):
    """A worker whose process is stopped while it runs no function.

    Threads that wait by spinning, as those of several frameworks do, would slow others.
    """

    def run(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T:
        """The result of a function, as that of `Worker`."""
        self.start()
        os.kill(self.pid, signal.SIGCONT)
        try:
            return super().run(function, *arguments, seconds=seconds)
        finally:
            if self.alive:
                with suppress(OSError):
                    os.kill(self.pid, signal.SIGSTOP)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _once(function: Callable[..., T], *arguments: Any) -> Iterator[T]:
    yield function(*arguments)


# ---- in the process


def serve(descriptor: int, memory: int) -> None:
    """Run the functions that come through a connection, until its other end is closed."""
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # there may be no standard error
        os.dup2(2, 1)
    connection, orders = Connection(descriptor), SimpleQueue[bytes]()
    Thread(target=_receive, args=(connection, orders), daemon=True).start()
    with suppress(ConnectionError):  # the parent may end before its end is noticed
        connection.send_bytes(pickle.dumps((_READY, None)))
        while True:
            for answer in _answers(orders.get()):
                connection.send_bytes(answer)
    os.killpg(0, signal.SIGKILL)


def _receive(connection: Connection, orders: SimpleQueue[bytes]) -> None:
    """Pass on what comes; when the other end is closed, kill this process and its group."""
    with suppress(EOFError, OSError):
        while True:
            orders.put(connection.recv_bytes())
    os.killpg(0, signal.SIGKILL)


def _answers(order: bytes) -> Iterator[bytes]:
    try:
        function, arguments = pickle.loads(order)
        yield pickle.dumps((_READY, None))
        for result in function(*arguments):
            yield pickle.dumps((_RESULT, result))
    except Exception as error:
        yield pickle.dumps((_ERROR, _picklable(error)))
    else:
        yield pickle.dumps((_END, None))


def _picklable(error: Exception) -> Exception:
    """An exception as it is sent to the parent, with its traceback if it is unexpected."""
    trace = "".join(format_exception(error))
    if not isinstance(error, MorelloError):
        error.add_note(f"In a worker:\n{trace}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(trace)
    return error


# ---- a pool


@contextmanager
def local_workers(count: int) -> Iterator[Executor]:
    """A pool of `count` worker processes, which are killed if the body raises.

    Raises `TargetError` if the number of processes is out of range, and `SearchError` if one of
    them is killed.
    """
    if not 1 <= count <= MOST_WORKERS:
        raise TargetError(f"there can be 1 to {MOST_WORKERS} workers, not {quoted(count)}.")
    pool = _Pool(count)
    try:
        yield pool
        pool.shutdown()
    except CrashError:
        raise SearchError(
            "a worker was ended by something else, most likely for want of memory; "
            "start again with fewer workers, from where this left off."
        ) from None
    finally:
        pool.kill()


def processor_s() -> float:
    """The seconds of the processor that this process took, and its workers that have ended."""
    every = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in every)


class _Pool(Executor):
    """Workers, and a thread for each that waits for its answers."""

    def __init__(self, count: int) -> None:
        self._workers = [Worker() for _ in range(count)]
        self._idle: LifoQueue[Worker] = LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count)

    def submit(self, function: Callable[..., T], /, *arguments: Any, **keywords: Any) -> Future[T]:
        return self._threads.submit(self._run, partial(function, *arguments, **keywords))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)

    def kill(self) -> None:
        """Give up what is not done, and end all processes."""
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.end()

    def _run(self, task: Callable[[], T]) -> T:
        worker = self._idle.get()
        try:
            return worker.run(task, seconds=inf)
        finally:
            self._idle.put(worker)
