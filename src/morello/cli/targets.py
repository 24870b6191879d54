"""`morello targets`: lists the machines that there are costs and kernels for."""

from __future__ import annotations

import argparse
from collections import Counter

from rich.console import Console

from morello.cli.arguments import add_json
from morello.cli.output import amount, print_json
from morello.ir.dtype import DTYPES
from morello.targets import PORTABLE, TARGETS, find_target
from morello.targets.calibration import load
from morello.targets.calibration_path import chosen_path
from morello.targets.catalog import host_machine, runs_here
from morello.targets.costs import coefficients
from morello.targets.cpu import host_cpu
from morello.targets.machines import MACHINES
from morello.targets.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """List the targets."""
    listed = [*TARGETS.values(), *map(find_target, PORTABLE), find_target("native")]
    if arguments.json:
        print_json(
            {
                t.name: {
                    "description": t.description,
                    "runs_here": runs_here(t),
                    "levels": {level.name: level.capacity for level in t.levels[1:]},
                    "costs": coefficients(t),
                    "costs_of": _sources(t),
                    "dtypes": _dtypes(t),
                    "kernels": dict(Counter(kernel.operation for kernel in t.kernels)),
                }
                for t in listed
            }
        )
        return
    console = Console(highlight=False)
    for t in listed:
        levels = ", ".join(amount(level.name, level.capacity) for level in t.levels[1:])
        here = "runs here" if runs_here(t) else "does not run here"
        operations = len({kernel.operation for kernel in t.kernels})
        console.print(f"[bold]{t.name}[/bold] ({here}): {t.description}", soft_wrap=True)
        console.print(f"  {levels}")
        console.print(f"  {len(t.kernels)} kernels for {operations} operations")
        console.print(f"  dtypes: {', '.join(_dtypes(t))}")
    console.print(f"  {_origin()}", soft_wrap=True)
    for source in ("measured", "published"):
        names = ", ".join(machine.name for machine in MACHINES if machine.source == source)
        console.print(f"[bold]costs that are {source}[/bold]: {names}", soft_wrap=True)


def _sources(target: Target) -> dict[str, str]:
    """The microarchitectures whose costs a target may have, and the sources of these costs."""
    of = {tuning.machine for tuning in target.tunings}
    return {m.name: m.source for m in MACHINES if m.target == target.name or m.name in of}


def _origin() -> str:
    """The source of the native target's costs, and the file that they are in."""
    known = costs_of(find_target("native"))
    path = chosen_path(host_cpu())
    if path is not None:
        return f"{known}, in {path}"
    return f"{known}, which come with Morello; `morello calibrate` measures this machine's"


def costs_of(target: Target) -> str:
    """The source of a target's costs, in a few words."""
    if target.name != "native":
        return f"costs of the target {target.name}"
    path, machine = chosen_path(host_cpu()), host_machine()
    known = f"{machine.source} costs of {machine.name}" if machine else "costs of no known machine"
    if path is None:
        published = machine is None or machine.source == "published"
        return known + ", never measured here" * published
    calibration = load(path)
    if not calibration.coefficients:
        return f"{known}, compared with measured ones at first use"
    return "costs measured here" + " at first use" * (calibration.measured == "first use")


def _dtypes(target: Target) -> list[str]:
    """The dtypes of operands that a target has kernels for."""
    known = {dtype.name for kernel in target.kernels for dtype in kernel.dtypes}
    return [name for name in DTYPES if name in known]
