"""What becomes of a program: its kernels, their predicted times, and what is left, with reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from morello.graph.graph import Node
from morello.graph.lowering import obstacle
from morello.graph.operators import Foreign
from morello.models.compiling import CompiledGraph
from morello.models.light import CLOCK_HZ

NOT_WORTH = "a kernel would save less than its call takes"


@dataclass(frozen=True)
class KernelReport:
    """An expression that kernels compute so many times, and the predicted seconds of all of them.

    They are predicted by the affine cost, in cycles of 4 GHz.
    """

    expression: str
    times: int
    seconds: float


@dataclass(frozen=True)
class ProgramReport:
    """What became of a program for arguments of certain types.

    The kernels are those that take most time first. `left` has what the `framework` computes
    between them, each with the reason. If it computes everything, `note` says why. `by_rule` is
    the predicted time in seconds of kernels by the simple rule, which may be others.
    """

    framework: str
    arguments: tuple[str, ...]
    kernels: tuple[KernelReport, ...] = ()
    segments: int = 0
    left: tuple[tuple[str, str], ...] = ()
    note: str = ""
    name: str = ""
    by_rule: float = 0.0

    @property
    def kernel_count(self) -> int:
        """How many kernels run."""
        return sum(kernel.times for kernel in self.kernels)

    @property
    def seconds(self) -> float:
        """The predicted time of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)

    def __str__(self) -> str:
        head = f"{self.name}({', '.join(self.arguments)}): "
        if self.note:
            return f"{head}{self.framework} computes all of it, as {self.note.removesuffix('.')}."
        kernels, calls = _counted(self.kernel_count, "kernel"), _counted(self.segments, "call")
        predicted, by_rule = _time(self.seconds), _time(self.by_rule)
        rule = f" ({by_rule} for kernels by the rule)" if by_rule != predicted else ""
        lines = [f"{head}{kernels} in {calls}, {predicted} predicted{rule}"]
        for kernel in self.kernels:
            share = round(100 * kernel.seconds / self.seconds)
            each = _time(kernel.seconds / kernel.times)
            lines.append(f"  {share:3} %  {kernel.times} x {each}  {kernel.expression}")
        for (what, why), times in Counter(self.left).items():
            often = f"{times} x " if times > 1 else ""
            lines.append(f"  left to {self.framework}: {often}{what} ({why})")
        return "\n".join(lines)


def program_report(
    compiled: CompiledGraph,
    arguments: tuple[str, ...],
    foreign: Callable[[Foreign], str] = lambda operator: "no operator computes it",
) -> ProgramReport:
    """The report of a compiled graph; `foreign` says why an operation is no operator of graphs."""
    light = compiled.partition.light

    def why(node: Node) -> str:
        if isinstance(node.operator, Foreign):
            return foreign(node.operator).removesuffix(".")
        if node in light:
            return NOT_WORTH
        dtypes = [each.dtype for each in (node, *node.inputs) if each.type.stored is None]
        unknown = [dtype for dtype in dtypes if dtype.kind != "b"]  # bools are bytes
        return f"no kernel has {unknown[0]}" if unknown else obstacle(node)

    times: Counter[str] = Counter()
    costs: dict[str, float] = defaultdict(float)
    for segment in compiled.segments:
        for kernel in segment.kernels:
            times[kernel.spec.expression] += 1
            costs[kernel.spec.expression] += kernel.cost
    kernels = (KernelReport(text, times[text], costs[text] / CLOCK_HZ) for text in times)
    note = NOT_WORTH if light else "no kernel computes any of it"
    return ProgramReport(
        compiled.framework.name,
        arguments,
        tuple(sorted(kernels, key=lambda kernel: -kernel.seconds)),
        len(compiled.segments),
        tuple((str(node.operator), why(node)) for node in compiled.left),
        "" if compiled.segments else note,
        by_rule=compiled.cost_at_first / CLOCK_HZ,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
