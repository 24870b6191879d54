"""Morello's exceptions.

Every error that a user can cause is a `MorelloError`; its message is one sentence or
two that say what was wrong, where, and what would work. The command line prints
only the message and exits with code 2.
"""

from __future__ import annotations

import reprlib


def quoted(value: object) -> str:
    """A value that the user gave, as errors quote it: its repr, shortened if long."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return f"<{type(value).__name__}>"


def of_an_interrupt(error: BaseException | None) -> bool:
    """Whether an exception is a `KeyboardInterrupt`, or was raised because of one.

    What an interrupt ends may raise another exception on its way out.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


class MorelloError(Exception):
    """The base class of all exceptions that Morello raises on purpose.

    `what` was wrong, and `fix` is what would work, if that is known apart from it.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what}; {fix}." if fix else what)
        self.what, self.fix = what, fix


class FileError(MorelloError):
    """A file that cannot be read or written, or is given as two outputs."""


class SpecError(MorelloError):
    """An invalid Spec: bad syntax, sizes, dtypes or layouts."""


class SeveralKernelsError(SpecError):
    """A valid expression that is no Spec, as no single kernel computes it."""


class GraphError(MorelloError):
    """A program of a framework that no graph holds, or a graph that is invalid."""


class RewriteError(MorelloError):
    """A rewrite that does not apply to a Spec, or a broken schedule file."""


class TargetError(MorelloError):
    """An unknown target, or one that this machine cannot run."""


class SearchError(MorelloError):
    """No program exists within the memory limits, or the space is too large."""


class SearchWarning(UserWarning):
    """A program that may cost far more than the cheapest, as its search ended too soon."""


class FallbackWarning(UserWarning):
    """A function that its own framework computes from now on, in place of kernels."""


class BuildError(MorelloError):
    """No usable C compiler, a failed compilation, or an unwritable cache."""


class CompilerTimeoutError(BuildError):
    """The C compiler exceeded its time limit."""


class CallError(MorelloError):
    """Arrays handed to a kernel do not match its Spec."""


class VerificationError(MorelloError):
    """A compiled kernel disagrees with its reference semantics."""


class TableError(MorelloError):
    """A table of solved Specs that cannot be opened or written, or that is damaged."""


class CorpusError(MorelloError):
    """A corpus of measured programs, or a learned model, that cannot be used."""


class CertificateError(MorelloError):
    """A certificate that cannot be read, or that does not prove what it states."""


class CompileAllError(MorelloError):
    """Some of several Specs have no kernel.

    `results` has for each Spec, in their order, its kernel, or the `MorelloError` it raised.
    """

    def __init__(self, message: str, results: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.results = results
