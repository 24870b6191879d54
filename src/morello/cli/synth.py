"""`morello synth`: writes the C of the best program, its header and its schedule."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from morello import tables
from morello.base.errors import MorelloError, SeveralKernelsError
from morello.base.files import check_outputs, write_text
from morello.cli.arguments import add_abi, add_certificate, add_search, add_tune, whole
from morello.cli.hints import hint
from morello.questions import kept, question

WRITES = (
    "output",
    "header",
    "object",
    "save",
    "json",
    "command",
    "run",
    "clock",
    "expression",
    "db",
    "no_table",
)
"""Arguments that do not change what is written, but where."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_search(parser)
    add_tune(parser)
    add_certificate(parser)
    parser.add_argument("-o", "--output", type=Path, help="write the C here, not to stdout")
    parser.add_argument("--header", type=Path, help="write a C header for it here")
    parser.add_argument("--object", type=Path, help="build a shared object of the C here")
    add_abi(parser)
    parser.add_argument(
        "--rows", type=whole, metavar="BLOCK",
        help="add a function for any range of the result's rows, which are computed BLOCK at a "
        "time, for a thread pool of your own",
    )  # fmt: skip
    parser.add_argument("--name", default="kernel", help="the C function's name (kernel)")
    parser.add_argument("--save", type=Path, help="save the schedule here, as JSON")
    parser.add_argument("--schedule", type=Path, help="use a saved schedule; do not search")


def run(arguments: argparse.Namespace) -> None:
    """Write the C of the best kernel, its header and its schedule."""
    _check_paths(arguments)
    asked = _question(arguments)
    texts = _known(asked)
    if texts is None:
        from morello.frontends.text import parse

        with suppress(SeveralKernelsError):
            parse(arguments.expression)  # a typo need not wait for all of Morello
        from morello.cli.synthesis import synthesize

        texts = synthesize(arguments, asked)
    _write(arguments, texts)


def _question(arguments: argparse.Namespace) -> str | None:
    """The hash that the texts are kept under (see `question`); None if they are not kept."""
    several = "," in arguments.target or arguments.rows is not None
    if arguments.json or arguments.schedule is not None or several or arguments.certificate:
        return None
    options = {name: value for name, value in vars(arguments).items() if name not in WRITES}
    table = tables.OFF if arguments.no_table else arguments.db
    return question(arguments.expression, options | {"table": table})


def _known(asked: str | None) -> Mapping[str, Any] | None:
    """The texts that were written for a question before."""
    if asked is None:
        return None
    with suppress(MorelloError), tables.opened(None) as table, tables.texts() as known:
        answer = kept(asked, table, known) if table and known else None
        return None if answer is None else answer[1]
    return None


def _write(arguments: argparse.Namespace, texts: Mapping[str, Any]) -> None:
    """Write the requested files; print the JSON if requested, else the C if it is in none."""
    wanted = {"c": arguments.output, "header": arguments.header, "schedule": arguments.save}
    files = [(path, texts[name]) for name, path in wanted.items() if path is not None]
    for path, text in files:
        write_text(path, text)
    if arguments.object is not None:
        from morello.cli.synthesis import build_object

        build_object(arguments, texts["c"])
        files.append((arguments.object, ""))
    if arguments.json:
        from morello.cli.output import print_json

        about = texts["about"] | {"files": [str(path) for path, _ in files], "c": texts["c"]}
        print_json(about)
    elif arguments.output is None and arguments.object is None:
        print(texts["c"], end="")
        hint("`-o x.c --header x.h` writes files; `morello bench EXPR` times the program.")
    else:
        written = ", ".join(str(path) for path, _ in files)
        hint(f"wrote {written}; `morello bench EXPR` times the program.")


def _check_paths(arguments: argparse.Namespace) -> None:
    """Check output paths before the search, so that no search is in vain."""
    outputs = {
        "-o": arguments.output,
        "--header": arguments.header,
        "--object": arguments.object,
        "--save": arguments.save,
        "--certificate": arguments.certificate,
    }
    check_outputs(outputs, {"--db": arguments.db})  # `Table` checks its own path
