"""The `morello` command."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import TextIO

from morello.base import debug
from morello.base.errors import MorelloError, quoted
from morello.base.version import __version__
from morello.cli.process import interrupted_by

USAGE_ERROR, BY_SIGNAL = 2, 128
ENDED: dict[int, str] = {SIGINT: "interrupted", SIGTERM: "terminated"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Errors are one sentence on stderr, code 2."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as error:  # argparse has printed its message
        return _flushed(USAGE_ERROR if error.code else 0)
    try:
        debug.topics()  # raises for an unknown one
        _reset_openblas()
        _command(arguments.command)(arguments)
    except SystemExit:  # by rich: the reader of standard output has closed it
        return _flushed(0)
    except (Exception, KeyboardInterrupt) as error:
        code = _ended(error, as_json=arguments.json)
        if code is None:
            raise
        return _flushed(code)
    return _flushed(0)


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
        what = "standard output" if error.filename is None else error.filename
        return _failed(f"{what}: {error.strerror or error}.", as_json=as_json)
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


def _command(name: str) -> Callable[[argparse.Namespace], None]:
    """The function that runs a command. Imports only what it needs: NumPy and Numba are slow."""
    module, function = _HOMES.get(name, (name, "run"))
    command: Callable[[argparse.Namespace], None] = getattr(
        import_module(f"morello.cli.{module}"), function
    )
    return command


_HOMES = {"table": ("table", "run_table"), "precompute": ("table", "run_precompute")}
"""The modules of commands that are not called like these, and their functions."""


def _failed(message: str, *, as_json: bool) -> int:
    _say(f"morello: {message}", sys.stderr)
    if as_json:
        _say(json.dumps({"error": message}), sys.stdout)
    return USAGE_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="morello",
        description="From a tensor-program Spec to the fastest CPU kernel, by exhaustive search.",
        epilog='Example: morello bench "f32[512,512] @ f32[512,512]" --vs numpy. '
        f"{debug.VARIABLE}=topic,topic reports on stderr: "
        + "; ".join(f"{topic}: {what}" for topic, what in debug.TOPICS.items())
        + ".",
    )
    parser.add_argument("--version", action="version", version=f"morello {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    synth = commands.add_parser("synth", help="write the C of the best kernel")
    _common(synth)
    _tunable(synth)
    synth.add_argument("-o", "--output", type=Path, help="write the C here, not to stdout")
    synth.add_argument("--header", type=Path, help="write a C header for it here")
    synth.add_argument("--name", default="kernel", help="the C function's name (kernel)")
    synth.add_argument("--save", type=Path, help="save the schedule here, as JSON")
    synth.add_argument("--schedule", type=Path, help="use a saved schedule; do not search")

    bench = commands.add_parser("bench", help="build, verify and time the best kernel")
    _common(bench)
    bench.add_argument("--vs", choices=["numpy"], action="append", help="time this as well")
    bench.add_argument("--seconds", type=float, default=1.0, help="to time each for (1)")
    bench.add_argument("--no-verify", action="store_true", help="do not check it against NumPy")
    bench.set_defaults(tune=None)
    bench.add_argument("--schedule", type=Path, help="use a saved schedule; do not search")

    explain = commands.add_parser("explain", help="show the best program and what was searched")
    _common(explain)
    _tunable(explain)
    explain.add_argument("--schedule", type=Path, help="explain a saved schedule")

    model = commands.add_parser("model", help="how well the cost model predicts times")
    model.add_argument("expression", metavar="EXPR", help='such as "f32[64,64] @ f32[64,64]"')
    model.add_argument("--samples", type=_whole, default=100, help="random programs to time (100)")
    model.add_argument("--seconds", type=float, default=0.1, help="to time each for (0.1)")
    model.add_argument("--seed", type=_whole, default=0, help="of the random programs (0)")
    model.add_argument("--target", default="native", help="one of `morello targets` (native)")
    model.add_argument(
        "--threads", type=_count, default=1, metavar="N|all", help="threads to use (1)"
    )
    model.add_argument("--compiler", help="the C compiler (default: $CC, clang, zig, gcc)")
    model.add_argument("--json", action="store_true", help="print one JSON object")

    precompute = commands.add_parser("precompute", help="solve a family of Specs into a table")
    precompute.add_argument("expression", metavar="EXPR", help='such as "f32[m,k] @ f32[k,n]"')
    precompute.add_argument(
        "sizes", nargs="*", metavar="NAME=RANGE",
        help="m=1..2048 (1, 2, 4, ...), m=64..512+64 (by 64) or m=1,3,7",
    )  # fmt: skip
    precompute.add_argument("--db", type=Path, required=True, metavar="PATH", help="the table")
    precompute.add_argument("--target", default="native", help="one of `morello targets` (native)")
    precompute.add_argument(
        "--keep", type=_whole, default=0, metavar="K", help="decisions to keep of each Spec (1)"
    )
    precompute.add_argument(
        "--workers", type=_whole, default=0, metavar="N", help="processes (all)"
    )
    precompute.add_argument("--dask", metavar="ADDRESS", help="work on this Dask cluster instead")
    precompute.add_argument(
        "--cache", type=_whole, default=256, metavar="MB", help="memory for the table's pages (256)"
    )
    precompute.add_argument("--json", action="store_true", help="print one JSON object")

    table = commands.add_parser("table", help="look into a table, check it, merge tables")
    actions = table.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, what in (
        ("stats", "how much it has, and how well compressed"),
        ("check", "whether it is whole"),
        ("query", "what it knows of a Spec"),
        ("merge", "add what other tables have"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("path", type=Path, metavar="PATH", help="the table")
        if name == "query":
            action.add_argument("expression", metavar="EXPR", help="the Spec")
            action.add_argument("--target", default="native", help="the machine (native)")
        if name == "merge":
            action.add_argument("others", type=Path, nargs="+", metavar="OTHER", help="tables")
        action.add_argument("--json", action="store_true", help="print one JSON object")

    learn = commands.add_parser("learn", help="measure programs to learn from, and judge models")
    actions = learn.add_subparsers(dest="action", required=True, metavar="ACTION")
    collect = actions.add_parser("collect", help="measure programs of many Specs on this machine")
    collect.add_argument("folder", type=Path, metavar="FOLDER", help="the corpus, to go on with")
    collect.add_argument(
        "--programs", type=_whole, default=102, metavar="N", help="programs of each Spec (102)"
    )
    collect.add_argument(
        "--varied", type=_whole, default=0, metavar="N", help="also N Specs of random sizes (0)"
    )
    collect.add_argument("--only", metavar="FAMILY", help="only Specs of this family")
    collect.add_argument("--dask", metavar="ADDRESS", help="measure on this Dask cluster instead")
    collect.add_argument("--json", action="store_true", help="print one JSON object")
    evaluate = actions.add_parser("evaluate", help="how well models predict a corpus")
    evaluate.add_argument("folder", type=Path, metavar="FOLDER", help="the corpus")
    evaluate.add_argument("--seed", type=_whole, default=0, help="of the random splits (0)")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    train = actions.add_parser("train", help="train a model on a corpus (needs morello[learn])")
    train.add_argument("folder", type=Path, metavar="FOLDER", help="the corpus")
    train.add_argument("--output", type=Path, required=True, metavar="PATH", help="the model")
    train.add_argument("--seed", type=_whole, default=0, help="of what is random (0)")
    train.add_argument("--json", action="store_true", help="print one JSON object")

    tune = commands.add_parser("tune", help="measure programs for some time, keep the fastest")
    tune.add_argument("expression", metavar="EXPR", help='such as "f32[m,64] @ f32[64,64]"')
    tune.add_argument(
        "sizes", nargs="*", metavar="NAME=RANGE", help="sizes of a family, as for precompute"
    )
    tune.add_argument(
        "--seconds", type=float, default=60.0, help="to take in all for each Spec (60)"
    )
    tune.add_argument(
        "--order", choices=["learned", "affine", "random"], default="learned",
        help="measure first what is predicted to be fastest and variations of what was fastest, "
        "the search's choices by cost, or random programs (learned)",
    )  # fmt: skip
    tune.add_argument("--seed", type=_whole, default=0, help="of random choices (0)")
    tune.add_argument("--target", default="native", help="one of `morello targets` (native)")
    tune.add_argument("--compiler", help="the C compiler (default: $CC, clang, zig, gcc)")
    tune.add_argument(
        "--db", type=Path, metavar="PATH", help="a table to keep the fastest in, for later calls"
    )
    tune.add_argument("--save", type=Path, help="save the fastest's schedule here, as JSON")
    tune.add_argument("--json", action="store_true", help="print one JSON object")

    targets = commands.add_parser("targets", help="list the targets and what they hold")
    targets.add_argument("--json", action="store_true", help="print one JSON object")

    calibrate = commands.add_parser("calibrate", help="measure this machine's costs (some 3 minutes)")
    calibrate.add_argument("--dry-run", action="store_true", help="measure, and keep nothing")
    calibrate.add_argument("--output", type=Path, metavar="PATH", help="keep the costs here")
    calibrate.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _tunable(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tune", metavar="KEY", help="for a microarchitecture of the target, such as zen3"
    )


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPR", help='such as "f32[64,64] @ f32[64,64]"')
    parser.add_argument("--target", default="native", help="one of `morello targets` (native)")
    parser.add_argument(
        "--threads", type=_count, default=1, metavar="N|all", help="threads to use (1)"
    )
    parser.add_argument(
        "--db", type=Path, metavar="PATH", help="a table of what searches found, to use and add to"
    )
    parser.add_argument(
        "--weights", choices=["plain", "constant"], default="plain",
        help="constant: second factors and filters may be prepacked for the kernel (plain)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=float, default=20.0, metavar="SECONDS",
        help="take the best program so far if the search takes longer (20)",
    )  # fmt: skip
    parser.add_argument(
        "--measure", type=_whole, default=1, metavar="K",
        help="build and time K different programs, and take the fastest (1)",
    )  # fmt: skip
    parser.add_argument(
        "--rank", choices=["cost", "learned"], default="cost",
        help="what orders programs: their cost, or a model learned from measured ones (cost)",
    )  # fmt: skip
    parser.add_argument("--compiler", help="the C compiler (default: $CC, clang, zig, gcc)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _whole(text: str) -> int:
    """Parse a whole number; its range is checked where it is used."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no whole number") from None


def _count(text: str) -> int | str:
    """Parse a number; other text is returned as it is, and checked where it is used."""
    try:
        return int(text)
    except ValueError:
        return text


def _reset_openblas() -> None:
    """Remove the environment variables that make OpenBLAS take this CPU for another one.

    With them, comparing times with NumPy would be unfair. OpenBLAS chooses its kernels when NumPy
    is first imported.
    """
    for setting in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(setting, None)
