"""`morello export`: writes a C project for a whole program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from morello.base.errors import GraphError
from morello.base.files import check_folder
from morello.cli.arguments import (
    add_abi,
    add_budget,
    add_fuse_seconds,
    add_json,
    add_target,
    add_threads,
    add_winograd,
)
from morello.cli.model_files import MODELS, read_model_file
from morello.cli.output import print_json, progress

if TYPE_CHECKING:
    from morello.graph.graph import Graph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write the project")
    parser.add_argument(
        "program", metavar="EXPR|MODEL",
        help='an expression such as "relu(f32[8,64] @ f32[64,8])"; or a model: model.onnx, or '
        "StableHLO, model.mlir",
    )  # fmt: skip
    parser.add_argument("--name", default="model", help="the C function's name (model)")
    add_abi(parser)
    add_target(parser)
    add_threads(parser)
    add_budget(parser, seconds=3.0, gap=0.02)
    add_fuse_seconds(parser)
    add_winograd(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the C of all kernels of a program, and a program that checks them."""
    from morello.abi import abi_names
    from morello.codegen.names import check_function_name
    from morello.graph.frameworks import C
    from morello.models import compile_graph
    from morello.models.export import exported, write_project

    check_function_name(arguments.name)
    check_folder(arguments.folder)
    abis, (graph, outputs) = abi_names(arguments.abi), _graph(arguments.program)
    with progress() as report:
        model = compile_graph(
            graph, C, target=arguments.target, threads=arguments.threads, budget=arguments.budget,
            gap=arguments.gap, fuse_seconds=arguments.fuse_seconds,
            winograd=arguments.winograd, progress=report,
        )  # fmt: skip
    project = exported(model, arguments.name, abis, outputs)
    paths = write_project(project, arguments.folder)
    kernels = [kernel.spec.expression for kernel in model.segments[0].kernels]
    if arguments.json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "kernels": kernels,
                "workspace": project.source.workspace,
                "constants": len(project.source.constants),
            }
        )
        return
    for kernel in kernels:
        print(kernel)
    folder = arguments.folder
    print(f"wrote {len(paths)} files; to build and check them:")
    print(f"  cmake -S {folder} -B {folder}/build && cmake --build {folder}/build")
    print(f"  {folder}/build/check")
    if {*abis} - {"c"}:
        print(f"and the shared library {arguments.name}_hosts is for {', '.join(abis)}")


def _graph(program: str) -> tuple[Graph, Sequence[str]]:
    """The graph of an expression, or of the model in a file, and the names of its outputs, if these
    have any; raises `MorelloError`.
    """
    if program.endswith(MODELS):
        model = read_model_file(Path(program), {})
        if model.left:
            raise GraphError(f"{program}: {', '.join(model.left[:5])} is only known when it runs.")
        return model.graph, model.outputs
    from morello.importers.text import graph_of

    return graph_of(program), ()
