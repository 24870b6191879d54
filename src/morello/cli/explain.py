"""`morello explain`: shows the best program and what was searched."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from morello.cli.arguments import add_search, add_tune
from morello.cli.output import print_json
from morello.cli.program import described, implement, predicted_us, prediction_text, search_text
from morello.codegen.lower import prefetch_notes
from morello.impl import saved
from morello.impl.printing import print_impl


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_search(parser)
    add_tune(parser)
    parser.add_argument("--schedule", type=Path, help="explain a saved schedule")


def run(arguments: argparse.Namespace) -> None:
    """Show the best program and what was searched."""
    impl, statistics = implement(arguments)
    if arguments.json:
        print_json(described(impl, statistics) | {"schedule": saved.save(impl)})
        return
    console = Console(highlight=False)
    print_impl(impl, console, notes=prefetch_notes(impl))
    if statistics is not None:
        console.print(f"\n{search_text(statistics)}")
    predicted = predicted_us(impl)
    if predicted is not None:
        console.print(prediction_text(predicted))
