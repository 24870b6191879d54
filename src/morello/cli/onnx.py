"""`morello onnx`: writes an ONNX model whose groups of operators are kernels."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.base.errors import MorelloError
from morello.base.files import check_outputs, write_text
from morello.base.status import tell
from morello.base.wording import counted
from morello.cli.arguments import (
    add_budget,
    add_compiler,
    add_fuse_seconds,
    add_json,
    add_shapes,
    add_table,
    add_target,
    add_threads,
    add_winograd,
    shapes_of,
)
from morello.cli.hints import hint
from morello.cli.output import print_json, progress, readable

if TYPE_CHECKING:
    from morello.onnx import Conversion

_WANTED_GAP = 0.1
"""Programs that may cost this much more than the cheapest are counted in the summary."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", type=Path, help="a file such as model.onnx")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH",
        help="write the model here, such as fast.onnx, and its kernels beside it, as fast.so",
    )  # fmt: skip
    add_shapes(parser)
    parser.add_argument(
        "--html", type=Path, metavar="PATH",
        help="write a page here: the kernels, where the model is cut, and what is left",
    )  # fmt: skip
    add_target(parser)
    add_threads(parser)
    add_table(parser)
    add_budget(parser, seconds=20.0, gap=0.02)
    add_fuse_seconds(parser)
    add_winograd(parser)
    add_compiler(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Convert a model, compare it with the original, and say what was left to ONNX Runtime."""
    from morello import tables
    from morello.onnx import convert
    from morello.onnx.checking import largest_error

    outputs = {"-o": arguments.output, "--html": arguments.html}
    check_outputs(outputs, {"the model": arguments.model, "--db": arguments.db})
    shapes = shapes_of(arguments)
    began = time.perf_counter()
    print(f"reading {arguments.model} ...", file=sys.stderr)
    with progress() as report:
        conversion = convert(
            arguments.model, arguments.output, shapes,
            target=arguments.target, threads=arguments.threads, budget=arguments.budget,
            gap=arguments.gap, table=tables.OFF if arguments.no_table else arguments.db,
            compiler=arguments.compiler, fuse_seconds=arguments.fuse_seconds,
            winograd=arguments.winograd, progress=report,
        )  # fmt: skip
    seconds = time.perf_counter() - began
    error: float | None = None
    unchecked = ""
    with progress():
        tell(phase="verify", note="both models")
        try:
            error = largest_error(arguments.model, conversion)
        except MorelloError as problem:
            if type(problem) is not MorelloError:  # they compute different things
                raise
            unchecked = str(problem)
        if arguments.html is not None:
            tell(phase="time", note="the kernels")
            write_text(arguments.html, _page(conversion, arguments.target))
    about = _about(conversion, seconds, error, unchecked)
    if arguments.json:
        print_json(about)
        return
    print(_summary(about))
    hint(
        "`--html x.html` shows the kernels; `morello tune MODEL` measures others for them."
        if arguments.html is None
        else f"{arguments.html} is a page for a browser."
    )


def _page(conversion: Conversion, target: str) -> str:
    """The page of a model; with measured times if it is for this machine."""
    report = conversion.report
    return (report.measured() if target == "native" else report).html()


def _about(
    conversion: Conversion, seconds: float, error: float | None, unchecked: str
) -> dict[str, Any]:
    segments = conversion.compiled.segments
    statistics = [kernel.statistics for each in segments for kernel in each.kernels]
    unproven = [s for s in statistics if s is not None and not (s.gap or 0.0) <= _WANTED_GAP]
    return {
        "files": [str(path) for path in conversion.files],
        "segments": len(segments),
        "kernels": len(statistics),
        "unproven": len(unproven),
        "left": dict(conversion.left),
        "reasons": [{"node": node, "reason": reason} for node, reason in conversion.reasons],
        "error": error,
        "unchecked": unchecked,
        "seconds": seconds,
    }


def _summary(about: dict[str, Any]) -> str:
    files = " and ".join(about["files"])
    lines = [
        f"{files}: {counted(about['kernels'], 'kernel')} in {counted(about['segments'], 'node')}, "
        f"in {readable(about['seconds'])}"
    ]
    left = ", ".join(f"{n} {kind}" for kind, n in sorted(about["left"].items()))
    lines.append(f"left to ONNX Runtime: {left or 'nothing'}")
    reasons = dict.fromkeys(f"  {each['node']}: {each['reason']}" for each in about["reasons"])
    lines += reasons
    if about["unproven"]:
        lines.append(
            f"the search for {about['unproven']} kernels ended early; --budget gives it longer"
        )
    if about["error"] is None:
        lines.append(f"not compared with the original: {about['unchecked']}")
    else:
        lines.append(f"compared with the original, largest error {about['error']:.1e}")
    return "\n".join(lines)
