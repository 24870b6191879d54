"""The process of a command: signals that end it, and its standard streams."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from morello.base.errors import of_an_interrupt

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

DELAY_S = 0.01

COLLECTED_AFTER = 300_000
"""How many more objects than before there are when Python looks for cycles among the new ones."""

_received: list[int] = []
"""Signals that asked this process to end."""


def prepare() -> None:
    """Install the signal handlers and streams of a command's process.

    SIGTERM and SIGHUP raise `KeyboardInterrupt`, too, so that files and processes are cleaned
    up. If Python drops that exception, as in a destructor, the signal is sent again. Closed
    standard streams get descriptors, which other files would get otherwise; writing to standard
    output then fails. Python looks for cycles of references less often: imports make none, and it
    would visit all that they leave.
    """
    gc.set_threshold(COLLECTED_AFTER)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored, as under `nohup`
            signal.signal(number, _interrupt)
    sys.unraisablehook, sys.excepthook = _resend_dropped, _report_unless_interrupted
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@contextmanager
def offering_interrupts(to: Callable[[], bool]) -> Iterator[None]:
    """Offers SIGINT in the body `to` a function first, which returns whether it handled it."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):  # ignored
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: None if to() else usual(number, frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def finish() -> None:
    """Ignore interrupts while the interpreter shuts down, and forget those that were caught.

    Of an interrupt inside `exec` of a string, as in the import of a dataclass, Python keeps a
    mark, caught or not, and ends a module's process by a signal; the next `exec` clears it. Python
    does not look for cycles once more: what they hold is the system's in any case.
    """
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_DFL)


def interrupted_by(error: BaseException | None) -> int | None:
    """The signal that caused an exception; None if none did.

    Compiled code may lose the cause of an exception, so any signal received counts as it.
    """
    if _received:
        return _received[0]
    return signal.SIGINT if of_an_interrupt(error) else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    while frame is not None:
        if frame.f_code is _resend_dropped.__code__:  # exceptions in it are dropped, too
            _send_later(number)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _resend_dropped(dropped: UnraisableHookArgs) -> None:
    """An `unraisablehook` that sends the signal again if an interrupt was dropped."""
    number = interrupted_by(dropped.exc_value)
    if number is None:
        sys.__unraisablehook__(dropped)
    else:
        _send_later(number)


def _report_unless_interrupted(
    kind: type[BaseException], error: BaseException, at: TracebackType | None
) -> None:
    """An `excepthook` that ignores interrupts, for C modules that call it at import."""
    if interrupted_by(error) is None:
        sys.__excepthook__(kind, error, at)


def _send_later(number: int) -> None:
    threading.Timer(DELAY_S, os.kill, (os.getpid(), number)).start()
