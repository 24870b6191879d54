"""The page of a program: its kernels in order, the arrays between them, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import inf
from shlex import quote
from typing import Any

from morello.explorer.document import document
from morello.explorer.others import Explored
from morello.explorer.page import program_data
from morello.graph.graph import Node
from morello.graph.operators import Constant, Input
from morello.graph.views import VIEWS, View
from morello.ir.operation import Operation
from morello.kernel import Kernel
from morello.measure.bounds import Bound, moved_bytes
from morello.models.compiling import CompiledGraph
from morello.models.cuts import Cuts, KernelCall, StoredResult, kernel_calls
from morello.models.segment import Segment
from morello.targets.calibration import hertz_of
from morello.targets.cpu import host_cpu


def program_page(
    compiled: CompiledGraph,
    title: str,
    facts: Sequence[tuple[str, str]],
    left: Sequence[tuple[str, str]] = (),
    times: Sequence[float] = (),
    bounds: Sequence[Bound] = (),
) -> str:
    """The page of a compiled graph.

    Its head shows the facts, each with its name. `left` has for each node that is left to the
    framework what it is, and why. `times` and `bounds` are those of its kernels in order, if they
    are known.
    """
    calls = kernel_calls(compiled)
    cuts = Cuts(compiled, calls)
    programs: dict[Kernel, int] = {}
    for each in calls:
        programs.setdefault(each.kernel, len(programs))
    hertz = hertz_of(host_cpu())
    kernels = [
        _kernel(each, cuts, number)
        | {
            "program": programs[each.kernel],
            "seconds": each.kernel.cost / hertz,
            "measured": times[number] if times else None,
            "bound": asdict(bounds[number]) if bounds else None,
        }
        for number, each in enumerate(calls)
    ]
    data = {
        "facts": list(facts),
        "framework": compiled.framework.name,
        "order": list(_order(compiled)),
        "kernels": kernels,
        "cuts": [_cut(each) for each in cuts.all()],
        "left": list(left),
    }
    parts = {
        f"program-{number}": program_data(Explored(kernel.impl, kernel.cost / (1 + _gap(kernel))))
        for kernel, number in programs.items()
    }
    return document(title, ["program", "model"], "showModel", {"data": data, **parts})


def _order(compiled: CompiledGraph) -> Iterator[tuple[str, int]]:
    """The kernels, and what is left to the framework, in the order in which they run."""
    kernels = left = 0
    for step in compiled.steps:
        if isinstance(step, Segment):
            for _ in step.kernels:
                yield "kernel", kernels
                kernels += 1
        else:
            yield "left", left
            left += 1


def _kernel(each: KernelCall, cuts: Cuts, number: int) -> dict[str, Any]:
    kernel, group = each.kernel, each.group
    nodes = group.nodes if group else ()
    return {
        "words": kernel.spec.expression,
        "style": "move" if group is None else _style(kernel.spec.operation),
        "call": each.segment,
        "cycles": kernel.cost,
        "gap": gap if (gap := _gap(kernel)) < inf else None,
        "threads": kernel.threads,
        "operators": [str(node.operator) for node in nodes if not isinstance(node.operator, VIEWS)],
        "command": _command(kernel),
        "arrays": list(_arrays(each, cuts)),
        "weighed": [asdict(fusion) for fusion in cuts.weighed(number)],
    }


def _gap(kernel: Kernel) -> float:
    """The gap of a kernel's program; infinite if it is not known."""
    return kernel.statistics.gap if kernel.statistics else inf


def _command(kernel: Kernel) -> str:
    """The command for a page of one kernel; empty if its expression cannot be parsed."""
    text, threads = kernel.spec.expression, f" --threads {kernel.threads}"
    if "with gaps" in text:
        return ""
    return f"morello explain {quote(text)}{threads * (kernel.threads > 1)} --html kernel.html"


def _style(operation: Operation) -> str:
    """The style of a kernel: products as kernels are coloured, moves and maps as loops are."""
    return "kernel" if operation.sums_products else "loop"


def _arrays(each: KernelCall, cuts: Cuts) -> Iterator[dict[str, Any]]:
    """The arrays of a kernel: where they come from, how they lie, and the bytes that it moves."""
    spec = each.kernel.spec
    moved = moved_bytes(spec)
    views: Sequence[View] = (*each.call.inputs, each.call.output)
    for (name, operand), view in zip(spec.arrays.items(), views, strict=True):
        layout = spec.placements[operand].layout
        gaps = ", with gaps" if spec.strides and spec.strides[operand] else ""
        yield {
            "name": name,
            "type": str(spec.tensor(operand).type),
            "layout": ("row-major" if layout.row_major else str(layout)) + gaps,
            "bytes": moved[name],
            **_other_end(view.base, cuts, output=view is views[-1]),
        }


def _other_end(base: Node, cuts: Cuts, *, output: bool) -> dict[str, Any]:
    """The kernels that an array is handed over to, or come from, by number; and who else."""
    if output:
        return {"output": True, "kernels": cuts.readers.get(base, ()), "who": cuts.outside(base)}
    who = ""
    if isinstance(base.operator, Constant):
        who = "constant"
    elif base not in cuts.writers:
        who = "the caller" if isinstance(base.operator, Input) else cuts.framework
    return {"output": False, "kernels": cuts.writers.get(base, ()), "who": who}


def _cut(cut: StoredResult) -> dict[str, Any]:
    return {
        "type": str(cut.node.type),
        "operator": str(cut.node.operator),
        "bytes": cut.node.type.bytes,
        "writers": cut.writers,
        "readers": cut.readers,
        "outside": cut.outside,
        "fusion": asdict(cut.fusion),
    }
