"""What kernels compute of a function, and what is left to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morello.base.errors import CallError
from morello.graph.graph import Node
from morello.graph.lowering import obstacle
from morello.graph.operators import Foreign
from morello.impl.tree import cycles
from morello.jitting.functions import VARIANTS, Jitted, Variant
from morello.jitting.program import NumPyProgram
from morello.kernel import Kernel
from morello.models import Segment


@dataclass(frozen=True)
class Report:
    """What was made of a function: a paragraph for each set of argument types, as its text."""

    name: str
    variants: tuple[Variant, ...]

    def __str__(self) -> str:
        if not self.variants:
            return f"{self.name} was not called yet."
        lines = [line for variant in self.variants for line in _lines(self.name, variant)]
        if len(self.variants) >= VARIANTS:
            lines.append(f"NumPy computes {self.name} for all other arguments.")
        return "\n".join(lines)


def report(function: Callable[..., Any]) -> Report:
    """What was made of a function that `jit` returned; print it.

    Raises `CallError` for any other.
    """
    if not isinstance(function, Jitted):
        raise CallError(f"{function!r} was not made by morello.jit.")
    return Report(function.title, tuple(function.variants.values()))


def _lines(name: str, variant: Variant) -> list[str]:
    title = f"{name}({variant.arguments})"
    if variant.program is None:
        return [f"{title}: NumPy computes all of it, as {variant.why.removesuffix('.')}."]
    steps = variant.program.compiled.steps
    lines = [f"{title}: {_count(variant.program)}"]
    for step in steps:
        if isinstance(step, Segment):
            lines += [f"  {_kernel(kernel)}" for kernel in step.kernels]
        else:
            lines.append(f"  left to NumPy: {step.operator} ({reason(step)})")
    return lines


def _count(program: NumPyProgram) -> str:
    kernels = sum(len(segment.kernels) for segment in program.compiled.segments)
    left = len(program.compiled.left)
    text = f"{kernels} kernel{'s' * (kernels != 1)}"
    return f"{text}, and {left} operation{'s' * (left != 1)} left to NumPy" if left else text


def _kernel(kernel: Kernel) -> str:
    return f"{kernel.spec.expression}: {cycles(kernel.impl.cost)} cycles predicted"


def reason(node: Node) -> str:
    """Why no kernel computes a node."""
    if isinstance(node.operator, Foreign):
        return "no operator computes it"
    for each in (node, *node.inputs):
        if each.type.element is None:
            return f"no kernel has {each.dtype}"
    return obstacle(node)
