"""The `morello` command: what commands there are, how one is run, and how it ends."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from signal import SIGINT, SIGTERM
from typing import TextIO

from morello.base import debug
from morello.base.errors import MorelloError, SeveralKernelsError
from morello.base.version import __version__
from morello.cli.arguments import CommandParser, add_command
from morello.cli.clock import CommandClock
from morello.cli.process import interrupted_by

USAGE_ERROR, BY_SIGNAL = 2, 128
ENDED: dict[int, str] = {SIGINT: "interrupted", SIGTERM: "terminated"}


COMMANDS = {
    "synth": "write the C of the best kernel",
    "bench": "build, verify and time the best kernel",
    "export": "write a C project for a whole program",
    "explain": "show the best program and what was searched",
    "model": "show how well the cost model predicts times",
    "onnx": "make an ONNX model faster",
    "precompute": "search a family of Specs, and keep the results in a table",
    "check": "check a certificate, without the search",
    "table": "look into a table, check it, merge others into it",
    "learn": "measure programs, train models of their times, judge them",
    "tune": "measure programs for some time, and keep the fastest",
    "targets": "list the targets and what they hold",
    "calibrate": "measure this machine's costs (some minutes)",
}
"""All commands. Each is the module of its name, with `add_arguments` and `run`."""

PROGRAMS = ("bench", "explain")
"""Commands that import all of Morello, and whose only positional argument is an expression."""


def main(argv: Sequence[str] | None = None, clock: CommandClock | None = None) -> int:
    """Run the command; returns its exit code. Errors are one sentence on stderr, code 2."""
    words = sys.argv[1:] if argv is None else list(argv)
    as_json = False
    try:
        _reset_openblas()
        as_json = "--json" in words
        _check_expression(words)
        arguments = _parser(words).parse_all(words)
        arguments.clock = clock or CommandClock()
        as_json = arguments.json
        debug.topics()  # raises for an unknown one
        _run(arguments)
    except SystemExit:  # by --help, or by rich: the reader of standard output has closed it
        return _flushed(0)
    except (Exception, KeyboardInterrupt) as error:
        code = _ended(error, as_json=as_json)
        if code is None:
            raise
        return _flushed(code)
    return _flushed(0)


def _check_expression(words: Sequence[str]) -> None:
    """Raise `SpecError` if the expression is wrong: a typo need not wait for all of Morello.

    It is a word with a type, and no option's. Other mistakes are found later.
    """
    if words and words[0] in PROGRAMS and "-h" not in words and "--help" not in words:
        for before, word in pairwise(words):
            if "[" in word and not before.startswith("-"):
                from morello.frontends.text import parse

                with suppress(SeveralKernelsError):
                    parse(word)


def _run(arguments: argparse.Namespace) -> None:
    arguments.run(arguments)


def _parser(words: Sequence[str]) -> CommandParser:
    """The parser of a command line.

    Only the module of the command that is run is imported, and only that command has arguments:
    NumPy is slow to import.
    """
    parser = CommandParser(
        prog="morello",
        description="Compile tensor expressions and models to CPU kernels, by exhaustive search.",
        epilog='Example: morello bench "f32[512,512] @ f32[512,512]" --vs numpy. '
        f"{debug.VARIABLE}=topic,topic reports on stderr: "
        + "; ".join(f"{topic}: {text}" for topic, text in debug.TOPICS.items())
        + ".",
    )
    parser.add_argument("-V", "--version", action="version", version=f"morello {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        command = add_command(commands, name, text)
        if name == chosen:
            module = import_module(f"morello.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _ended(error: BaseException, *, as_json: bool) -> int | None:
    """Print why the command ended; returns its exit code, None for an unexpected exception."""
    number = interrupted_by(error)
    if number is not None:
        start = "\n" if sys.stderr.isatty() else ""  # after the ^C that a terminal shows
        _say(f"{start}morello: {ENDED.get(number, 'ended')}.", sys.stderr)
        return BY_SIGNAL + number
    if isinstance(error, MorelloError):
        return _failed(str(error), as_json=as_json)
    if isinstance(error, MemoryError):
        return _failed("out of memory; make the sizes smaller.", as_json=as_json)
    if isinstance(error, BrokenPipeError):  # the same, but not by rich
        return 0
    if isinstance(error, OSError):
        name = "standard output" if error.filename is None else error.filename
        return _failed(f"{name}: {error.strerror or error}.", as_json=as_json)
    return None


def _flushed(code: int) -> int:
    """Flush standard output; returns the exit code, `USAGE_ERROR` if flushing fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop(sys.stdout)
        if code == 0 and not isinstance(error, BrokenPipeError):
            _say(f"morello: standard output: {error.strerror}.", sys.stderr)
            return USAGE_ERROR
    return code


def _say(text: str, stream: TextIO) -> None:
    try:
        print(text, file=stream, flush=True)
    except OSError:  # nobody can read it
        _drop(stream)


def _drop(stream: TextIO) -> None:
    """Redirect a stream to the null device: Python would try to write again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _failed(message: str, *, as_json: bool) -> int:
    _say(f"morello: {message}", sys.stderr)
    if as_json:
        _say(json.dumps({"error": message}), sys.stdout)
    return USAGE_ERROR


def _reset_openblas() -> None:
    """Remove the environment variables that make OpenBLAS take this CPU for another one.

    With them, comparing times with NumPy would be unfair. OpenBLAS chooses its kernels when NumPy
    is first imported.
    """
    for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(setting, None)
