"""How fast real models are through the doors, against the frameworks that they are written in, and
against other compilers of these that are installed: PyTorch's inductor, and OpenVINO.

    python -m benchmarks.clients [NAME ...] [--threads N] [--seconds S]
        [--kernels] [--json PATH] [--markdown PATH]

Each model is compiled in a process with an empty cache, then again in a second one. Each of the
others has a process as well. Their results are compared, and then they are timed in turns: the
processes of the others are stopped meanwhile. With --kernels, each kernel is timed as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean

from rich.console import Console
from rich.table import Table

from benchmarks.clients.measuring import CLIENTS, Measured, measured
from morello.base.errors import MorelloError
from morello.base.files import write_text
from morello.targets.cpu import host_cpu


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each client; the exit status is 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, prog="benchmarks.clients")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0, help="of calls, of each")
    parser.add_argument(
        "--kernels", action="store_true", help="and the time and bound of each kernel"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results to a file")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="and as a table for a page")
    options = parser.parse_args(arguments)
    if unknown := {*options.names} - {*CLIENTS}:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(CLIENTS)}")
    chosen = [CLIENTS[name] for name in options.names or CLIENTS]
    console, results, failed = Console(), [], 0
    console.print(f"{host_cpu().model}, {options.threads} thread(s)")
    for client in chosen:
        absent = [name for name in client.packages if find_spec(name) is None]
        if absent:
            console.print(f"{client.name}: skipped, as {', '.join(absent)} is not installed")
            continue
        try:
            result = measured(client, options.threads, options.seconds, kernels=options.kernels)
        except (MorelloError, AssertionError) as error:
            console.print(f"[red]{client.name}: {error}[/]", highlight=False)
            failed += 1
            continue
        results.append(result)
        console.print(sentence(result), highlight=False)
        if options.kernels:
            print(kernel_times(result))
    if results:
        console.print(table(results))
    if options.json:
        counted = ("fastest", "ratio", "kernels", "segments")
        rows = [asdict(each) | {name: getattr(each, name) for name in counted} for each in results]
        write_text(options.json, json.dumps(rows, indent=2) + "\n")
    if options.markdown:
        write_text(options.markdown, markdown(results))
    return int(failed > 0)


def sentence(result: Measured) -> str:
    """A result in a line, as soon as it is there."""
    every = {CLIENTS[result.client].rival: result.theirs_s} | result.others_s
    times = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in every.items())
    failed = "".join(f"\n  {name} failed: {why}" for name, why in result.failed.items())
    told = f"{result.ratio:.2f} times as fast as {result.fastest[0]}; {result.agreement}"
    return f"{result.client}: {result.ours_s * 1e3:.2f} ms, {times}: {told}{failed}"


def kernel_times(result: Measured) -> str:
    """The times of the kernels of each program, and of their calls beside that of the model."""
    calls = sum(program.call or 0.0 for program in result.programs)
    outside = f"{result.ours_s * 1e3:.2f} ms, calls of kernels {calls * 1e3:.2f} ms"
    told = f"a call of {result.client}: {outside} if each program runs once"
    return "\n".join([*map(str, result.programs), told])


def table(results: Iterable[Measured]) -> Table:
    """All results."""
    made = Table("model", box=None)
    made.add_column("ours, ms", justify="right")
    made.add_column("fastest other")
    for title in (
        "ms",
        "ratio",
        "bar",
        "compile, s",
        "again, s",
        "tracing, s",
        "kernels",
        "calls",
        "left",
    ):
        made.add_column(title, justify="right")
    for row in results:
        client, (other, fastest) = CLIENTS[row.client], row.fastest
        made.add_row(
            client.name, f"{row.ours_s * 1e3:.2f}", other, f"{fastest * 1e3:.2f}",
            f"{row.ratio:.2f}", f"{client.bar:.1f}", f"{row.first_compile_s:.1f}",
            f"{row.second_compile_s:.1f}", f"{row.trace_s:.1f}", str(row.kernels),
            str(row.segments), str(row.left),
        )  # fmt: skip
    ratios = [row.ratio for row in results]
    made.caption = f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}"
    return made


def markdown(results: Iterable[Measured]) -> str:
    """All results as a table of Markdown, in the order of the clients."""
    lines = [
        "| model | framework | Morello, ms | framework, ms | others, ms | times as fast |",
        "|---|---|---|---|---|---|",
    ]
    for row in results:
        client = CLIENTS[row.client]
        ours, theirs = (f"{seconds * 1e3:.3g}" for seconds in (row.ours_s, row.theirs_s))
        others = ", ".join(f"{name} {taken * 1e3:.3g}" for name, taken in row.others_s.items())
        cells = client.what, client.rival, ours, theirs, others, f"{row.ratio:.2f}"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
