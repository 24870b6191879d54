"""Arguments that several commands have, and a parser that suggests what was meant."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from morello.base.choices import RANKINGS, STREAMED, WEIGHTS
from morello.base.errors import GraphError, MorelloError, quoted
from morello.cli.model_files import MODELS

_NEGATED = r"-+(\(|[a-z]+\d+\[|\w+\()"
"""The beginnings of expressions such as -u8[4], -(f32[4] + 1) and -relu(f32[4])."""

_FILE = r"[\w./~-]+\.[a-z]\w*"
"""Names of files, which no expressions are."""


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors about misspelt commands, options and choices suggest the right one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        numbers = self._negative_number_matcher.pattern  # words with a dash that are no options
        self._negative_number_matcher = re.compile(f"{numbers}|{_NEGATED}")

    def parse_all(self, words: list[str]) -> argparse.Namespace:
        """Parse the words of a command line; raises `MorelloError`."""
        arguments, rest = self.parse_known_args(words)
        if hasattr(arguments, "sizes") and not any(word.startswith("-") for word in rest):
            arguments.sizes = [*arguments.sizes, *rest]  # argparse takes those of one place
            rest = []
        if rest:
            unknown = next((word for word in rest if word.startswith("-")), rest[0])
            suggestion = _suggestion(unknown.partition("=")[0], _options(self))
            what = f"unrecognized arguments: {' '.join(rest)}{suggestion}"
            if not suggestion and any("[" in word for word in rest):
                what = f"{what}; are there quotes around the expression?"
            raise _refused(f"{self.prog} {arguments.command}", what)
        return arguments

    def error(self, message: str) -> NoReturn:
        """Raise a `MorelloError`, in place of printing the usage and exiting."""
        raise _refused(self.prog, message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            suggestion = _suggestion(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{suggestion}") from None


def _refused(command: str, what: str) -> MorelloError:
    """The error for what is wrong with the words of a command."""
    hint = "" if what.endswith("?") else f"; `{command} --help` says what it takes."
    return MorelloError(f"{what}{hint}")


def _suggestion(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser and of the parsers of its subcommands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _options(inner)


def add_command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    """Add a command, or an action of one, whose help begins with its summary."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}."
    )
    return parser


# ---- arguments that several commands have


def add_expression(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "expression", type=expression, metavar="EXPR", help='such as "f32[64,64] @ f32[64,64]"'
    )


def add_sizes(parser: argparse.ArgumentParser, text: str) -> None:
    """The ranges of a family's sizes, which may come before options and after them."""
    parser.add_argument("sizes", nargs="*", metavar="NAME=RANGE", help=text)


def add_shapes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape", action="append", default=[], metavar="INPUT=AxBxC",
        help="the shape of an input that has free dimensions, such as image=1x3x224x224",
    )  # fmt: skip


def shapes_of(arguments: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    """The shapes that `--shape` gives, by the input's name. Raises `GraphError`."""
    return dict(map(_shape, arguments.shape))


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.rpartition("=")
    if not equals or not re.fullmatch(r"\d{1,10}(x\d{1,10})*|", sizes):
        raise GraphError(f"{quoted(text)} is no shape", "write one as image=1x3x224x224")
    return name, tuple(int(size) for size in sizes.split("x") if size)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="native", help="one of `morello targets` (native)")


def add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads", type=count, default=1, metavar="N|all", help="threads to use (1)"
    )


def add_compiler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compiler", help="the C compiler (default: $CC, clang, zig, gcc)")


def add_abi(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--abi", default="c", metavar="c,xla,tvm-ffi,ort",
        help="add functions by which these hosts call it: XLA (JAX), TVM FFI, ONNX Runtime (c)",
    )  # fmt: skip


def add_certificate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificate", type=Path, metavar="PATH",
        help="write a proof here of how near the program is to the cheapest, for `morello check`",
    )  # fmt: skip


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limits", metavar="LEVEL=N,...",
        help="capacities of another machine, such as L1=512,registers=16: in cache lines of 64 "
        "bytes, and registers",
    )  # fmt: skip


def add_weights(parser: argparse.ArgumentParser, *more: str) -> None:
    """Where weights may lie; `more` ways are those that not all commands have."""
    streamed = f"; {STREAMED}: as constant, and other data evict them from all caches between calls"
    parser.add_argument(
        "--weights", choices=[*WEIGHTS, *more], default="plain",
        help="constant: second factors and filters may be packed for the kernel beforehand"
        f"{streamed if STREAMED in more else ''} (plain)",
    )  # fmt: skip


def add_tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tune", metavar="KEY", help="use the costs of this microarchitecture, such as zen3"
    )


def add_table(parser: argparse.ArgumentParser) -> None:
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument(
        "--db", type=Path, metavar="PATH",
        help="a table of what searches found, to use and add to (programs are kept in the cache)",
    )  # fmt: skip
    tables.add_argument("--no-table", action="store_true", help="use no table, and keep nothing")


def add_budget(parser: argparse.ArgumentParser, *, seconds: float, gap: float) -> None:
    """When each search ends, with these defaults."""
    parser.add_argument(
        "--budget", type=float, default=seconds, metavar="SECONDS",
        help=f"take the best program so far if a search takes longer ({seconds:g})",
    )  # fmt: skip
    parser.add_argument(
        "--gap", type=float, default=gap, metavar="FRACTION",
        help="end a search at a program proven to cost at most this fraction more than the "
        f"cheapest, such as 0.02; with 0, no program is cheaper ({gap:g})",
    )  # fmt: skip


def add_fuse_seconds(parser: argparse.ArgumentParser) -> None:
    """How long other groups of operations than those of the rule are tried."""
    parser.add_argument(
        "--fuse-seconds", type=float, metavar="SECONDS",
        help="how long to try other kernels than those that each product, reduction, norm and the "
        "like makes with the elementwise operations after it (10, if much may be saved)",
    )  # fmt: skip


def add_winograd(parser: argparse.ArgumentParser) -> None:
    """The tiles of convolutions in fewer multiplications."""
    parser.add_argument(
        "--winograd", type=int, default=2, metavar="ROWS",
        help="do convolutions by 3x3 filters, and of signals, in fewer multiplications where that "
        "is expected to be faster, by tiles of 2 rows (2); 4 saves more, with a larger error, and "
        "0 does none",
    )  # fmt: skip


def add_search(parser: argparse.ArgumentParser) -> None:
    """An expression, and the options of the search for its best program."""
    add_expression(parser)
    add_target(parser)
    add_threads(parser)
    add_limits(parser)
    add_table(parser)
    add_weights(parser, STREAMED)
    add_budget(parser, seconds=20.0, gap=0.0)
    parser.add_argument(
        "--measure", type=whole, default=1, metavar="K",
        help="build and time K different programs, and take the fastest (1)",
    )  # fmt: skip
    parser.add_argument(
        "--choice", type=whole, default=1, metavar="K",
        help="take the K-th cheapest program, of those of different structures (1)",
    )  # fmt: skip
    parser.add_argument(
        "--rank", choices=RANKINGS,
        help="order programs by their cost, or by a model learned from measured ones (cost; "
        "learned if programs are measured, for one thread on x86-64)",
    )  # fmt: skip
    add_compiler(parser)
    add_json(parser)


def expression(text: str) -> str:
    """An expression, as it is: it is parsed where it is used. The name of a file is none."""
    if text.endswith(MODELS):
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is a model; `morello tune` and `morello export` take models, and "
            f"`morello onnx` those of ONNX"
        )
    if re.fullmatch(_FILE, text):
        what = f"{quoted(text)} seems to be a file"
        raise argparse.ArgumentTypeError(f'{what}; write an expression, such as "f32[4] + f32[4]"')
    return text


def whole(text: str) -> int:
    """Parse a whole number; its range is checked where it is used."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no whole number") from None


def count(text: str) -> int | str:
    """Parse a number; other text is returned as it is, and checked where it is used."""
    try:
        return int(text)
    except ValueError:
        return text
