"""`morello synth`: writes the C of the best program, its header and its schedule."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from morello.base.errors import RewriteError
from morello.base.files import check_different, check_writable, write_text
from morello.cli.arguments import add_search, add_tune
from morello.cli.output import print_json
from morello.cli.program import described, implement
from morello.codegen import Source, generate
from morello.codegen.levels import check_level, generate_levels
from morello.codegen.names import check_function_name
from morello.impl import saved
from morello.impl.printing import tree
from morello.runtime.threads import thread_count
from morello.targets.x86 import BASELINE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_search(parser)
    add_tune(parser)
    parser.add_argument("-o", "--output", type=Path, help="write the C here, not to stdout")
    parser.add_argument("--header", type=Path, help="write a C header for it here")
    parser.add_argument("--name", default="kernel", help="the C function's name (kernel)")
    parser.add_argument("--save", type=Path, help="save the schedule here, as JSON")
    parser.add_argument("--schedule", type=Path, help="use a saved schedule; do not search")


def run(arguments: argparse.Namespace) -> None:
    """Write the C of the best kernel, its header and its schedule."""
    check_function_name(arguments.name)
    _check_paths(arguments)
    if "," in arguments.target:
        _synth_levels(arguments)
        return
    result = implement(arguments)
    impl, _ = result
    source = generate(impl, arguments.name, tree(impl))
    schedule = json.dumps(saved.save(impl), indent=2) + "\n"
    _write_source(arguments, source, schedule, lambda: described(*result))


def _synth_levels(arguments: argparse.Namespace) -> None:
    """Write one file with kernels for several levels of x86-64, and a baseline for other CPUs."""
    if arguments.save is not None or arguments.schedule is not None:
        raise RewriteError("a file for several targets has several schedules; give one target.")
    wanted = dict.fromkeys([*arguments.target.split(","), BASELINE])
    for level in wanted:
        check_level(level, parallel=thread_count(arguments.threads) > 1)
    results = [
        implement(argparse.Namespace(**vars(arguments) | {"target": level})) for level in wanted
    ]
    source = generate_levels([impl for impl, _ in results], arguments.name)
    _write_source(
        arguments, source, "", lambda: {"levels": [described(*result) for result in results]}
    )


def _write_source(
    arguments: argparse.Namespace,
    source: Source,
    schedule: str,
    describe: Callable[[], dict[str, Any]],
) -> None:
    """Write the requested files; print the JSON if requested, else the C if no file gets it."""
    texts = [
        (arguments.output, source.text),
        (arguments.header, source.header),
        (arguments.save, schedule),
    ]
    files = [(path, text) for path, text in texts if path is not None]
    for path, text in files:
        write_text(path, text)
    if arguments.json:
        print_json(describe() | {"files": [str(path) for path, _ in files], "c": source.text})
    elif arguments.output is None:
        print(source.text, end="")


def _check_paths(arguments: argparse.Namespace) -> None:
    """Check output paths before the search, so that no search is in vain."""
    options = {
        "-o": arguments.output,
        "--header": arguments.header,
        "--save": arguments.save,
        "--db": arguments.db,
    }
    paths = {name: path for name, path in options.items() if path is not None}
    check_different(paths)
    for name, path in paths.items():
        if name != "--db":  # `Table` checks its own path
            check_writable(path)
