"""What becomes of a program: its kernels, their predicted times, and what is left, with reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from weakref import ref

from morello.base.errors import CallError
from morello.graph.graph import Node
from morello.graph.lowering import obstacle
from morello.graph.operators import Foreign
from morello.models.compiling import CompiledGraph
from morello.models.light import CLOCK_HZ
from morello.models.profiling import timed

NOT_WORTH = "a kernel would save less than its call takes"


@dataclass(frozen=True)
class KernelReport:
    """An expression that kernels compute so many times, and the predicted seconds of all of them.

    They are predicted by the affine cost, in cycles of 4 GHz. `measured` are those of all of them
    on this machine, if they were timed.
    """

    expression: str
    times: int
    seconds: float
    measured: float | None = None


@dataclass(frozen=True)
class ProgramReport:
    """What became of a program for arguments of certain types.

    The kernels are those that take most time first. `left` has what the `framework` computes
    between them, each with the reason. If it computes everything, `note` says why. `by_rule` is
    the predicted time in seconds of kernels by the simple rule, which may be others. `call` are the
    measured seconds of a call, without what is left, if the kernels were timed.
    """

    framework: str
    arguments: tuple[str, ...]
    kernels: tuple[KernelReport, ...] = ()
    segments: int = 0
    left: tuple[tuple[str, str], ...] = ()
    note: str = ""
    name: str = ""
    by_rule: float = 0.0
    call: float | None = None
    compiled: ref[CompiledGraph] | None = field(default=None, repr=False, compare=False)

    @property
    def kernel_count(self) -> int:
        """How many kernels run."""
        return sum(kernel.times for kernel in self.kernels)

    @property
    def seconds(self) -> float:
        """The predicted time of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)

    def measured(self, seconds: float = 1.0) -> ProgramReport:
        """This report with measured times: its kernels are run for so many seconds.

        Those that take most time come first. Raises `CallError` if there is no such program any
        more, and returns the report itself if it has no kernels.
        """
        if not self.kernels:
            return self
        compiled = self.compiled and self.compiled()
        if not compiled:
            raise CallError("the program of this report does not exist any more.")
        profile = timed(compiled, seconds)
        times: dict[str, float] = defaultdict(float)
        kernels = (kernel for segment in compiled.segments for kernel in segment.kernels)
        for kernel, taken in zip(kernels, profile.kernels, strict=True):
            times[kernel.spec.expression] += taken
        rows = (replace(row, measured=times[row.expression]) for row in self.kernels)
        slowest_first = sorted(rows, key=lambda row: -times[row.expression])
        return replace(self, kernels=tuple(slowest_first), call=profile.calls)

    def __str__(self) -> str:
        head = f"{self.name}({', '.join(self.arguments)}): "
        if self.note:
            return f"{head}{self.framework} computes all of it, as {self.note.removesuffix('.')}."
        kernels, calls = _counted(self.kernel_count, "kernel"), _counted(self.segments, "call")
        predicted, by_rule = _time(self.seconds), _time(self.by_rule)
        rule = f" ({by_rule} for kernels by the rule)" if by_rule != predicted else ""
        lines = [f"{head}{kernels} in {calls}, {predicted} predicted{rule}{self._measured_calls}"]
        whole = sum(map(_taken, self.kernels))
        for kernel in self.kernels:
            share = round(100 * _taken(kernel) / whole)
            each = _time(_taken(kernel) / kernel.times)
            if kernel.measured is not None:
                each += f" ({_time(kernel.seconds / kernel.times)} predicted)"
            lines.append(f"  {share:3} %  {kernel.times} x {each}  {kernel.expression}")
        for (what, why), times in Counter(self.left).items():
            often = f"{times} x " if times > 1 else ""
            lines.append(f"  left to {self.framework}: {often}{what} ({why})")
        return "\n".join(lines)

    @property
    def _measured_calls(self) -> str:
        if self.call is None:
            return ""
        kernels = _time(sum(map(_taken, self.kernels)))
        return f"; {_time(self.call)} measured ({kernels} in kernels)"


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
        compiled=ref(compiled),
    )


def _taken(kernel: KernelReport) -> float:
    """The seconds of all kernels of a row: measured, if they were timed, or predicted."""
    return kernel.seconds if kernel.measured is None else kernel.measured


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
