"""A separate process for code that may crash or hang, such as newly compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from morello.base.errors import MorelloError
from morello.base.workers import end_with_parent

T = TypeVar("T")


class CrashError(MorelloError):
    """A function in a worker process crashed, or took too long."""


class Worker:
    """Runs functions one after the other in another process; starts a new one if that ends."""

    def __init__(self) -> None:
        self._start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T:
        """Return the function's result, or raise what it raised.

        Raises `CrashError` if its process ends, or after `seconds`.
        """
        try:
            self._pipe.send((function, arguments))
            if not self._pipe.poll(seconds):
                raise CrashError(f"it was still running after {seconds:.0f} s and was ended.")
            good, result = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(1)
            code = self._process.exitcode
            self._again()
            raise CrashError(f"its process ended with code {code}.") from None
        except BaseException:
            self._again()
            raise
        if not good:
            raise result
        answer: T = result
        return answer

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _again(self) -> None:
        self._end()
        self._start()


def _serve(pipe: Connection) -> None:
    """Run the functions that arrive, until the pipe is closed."""
    end_with_parent()
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            function, arguments = pipe.recv()
            try:
                answer = True, function(*arguments)
            except MorelloError as error:
                answer = False, error
            pipe.send(answer)
