"""Reports of compiled programs: kernels with times and bounds, and nodes left, with reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from weakref import ref

from morello.base.errors import CallError
from morello.base.wording import counted
from morello.graph.graph import Node
from morello.graph.lowering import obstacle
from morello.graph.operators import Foreign
from morello.measure.bounds import Bound, Peak, percent, total
from morello.measure.peaks import host_peak, kept_peak
from morello.models.bounding import CallConstants, constants_of_calls, kernel_bounds
from morello.models.compiling import CompiledGraph, CompileTime
from morello.models.profiling import timed
from morello.models.times import KernelReport, kernel_table, shortened, text_of
from morello.targets.calibration import hertz_of
from morello.targets.cpu import host_cpu

NOT_WORTH = "a kernel would save less than its call takes"


@dataclass(frozen=True)
class ProgramReport:
    """A report of a program that was compiled for arguments of certain types.

    The kernels are those that take most time first. `left` has what the `framework` computes
    between them, each with the reason. If it computes everything, `note` says why. `by_rule` is
    the predicted time in seconds of kernels by the simple rule, which may be others, and `least`
    the lower bound that the searches proved for the predicted time of the kernels. If the kernels
    were timed, `call` are the measured seconds of a call, without what is left, and `times` those
    of each kernel, in the order in which they run. `compiling` says how long that took.
    """

    framework: str
    arguments: tuple[str, ...]
    kernels: tuple[KernelReport, ...] = ()
    segments: int = 0
    left: tuple[tuple[str, str], ...] = ()
    note: str = ""
    name: str = ""
    by_rule: float = 0.0
    least: float = 0.0
    call: float | None = None
    times: tuple[float, ...] = ()
    compiling: CompileTime = field(default_factory=CompileTime)
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
        """This report with measured times and bounds: its kernels are run for so many seconds.

        Those that take most time come first. The peak of this machine is measured, too, if it is
        not known (see `measure.peaks`). Raises `CallError` if there is no such program any more,
        and returns the report itself if it has no kernels.
        """
        if not self.kernels:
            return self
        compiled = self._program()
        calls = constants_of_calls(compiled)
        bounds = _bounds(calls, host_peak(_threads(compiled)))
        profile = timed(compiled, seconds)
        times: dict[str, float] = defaultdict(float)
        for expression, taken in zip(_expressions(calls), profile.kernels, strict=True):
            times[expression] += taken
        rows = (
            replace(row, measured=times[row.expression], bound=bounds[row.expression])
            for row in self.kernels
        )
        slowest_first = sorted(rows, key=lambda row: -row.taken)
        return replace(
            self, kernels=tuple(slowest_first), call=profile.calls, times=profile.kernels
        )

    def html(self) -> str:
        """A page for a browser, as one file: the kernels in order, what crosses between them, and
        what other groups would cost; of each kernel, the loop nest and the C.

        With the times of `measured`, and with bounds if the peak of this machine is known. Raises
        `CallError` if there is no such program, or not any more.
        """
        from morello.models.page import program_page  # slow to import

        if self.compiled is None:
            raise CallError(f"{self._head} has no kernels to show: {self.note.removesuffix('.')}.")
        compiled = self._program()
        threads = _threads(compiled)
        peak = host_peak(threads) if self.times else kept_peak(threads)
        bounds = kernel_bounds(constants_of_calls(compiled), peak) if peak else ()
        return program_page(compiled, self._head, self._facts(), self.left, self.times, bounds)

    def _program(self) -> CompiledGraph:
        compiled = self.compiled and self.compiled()
        if not compiled:
            raise CallError("the program of this report does not exist any more.")
        return compiled

    @property
    def _head(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def _compiled_in(self) -> str:
        """How long compiling took, and what most of it."""
        time = self.compiling
        return (
            f"compiled in {time.whole:.2f} s: {time.kernels:.2f} s for kernels "
            f"({time.searches:.2f} s of searches, on all cores), {time.weights:.2f} s for weights"
        )

    def _facts(self) -> list[tuple[str, str]]:
        """The facts at the head of the page, each with its name."""
        facts = [
            ("kernels", f"{self.kernel_count} in {counted(self.segments, 'call')}"),
            ("predicted", text_of(self.seconds)),
        ]
        if text_of(self.by_rule) != text_of(self.seconds):
            facts.append(("kernels by the rule", text_of(self.by_rule)))
        if self.call is not None:
            facts.append(("measured", text_of(self.call)))
        if self.seconds:
            facts.append(("cost model's bound", f"{percent(self.least / self.seconds)} of it"))
        if self._roofline:
            reached = percent(self._roofline / self._taken)
            facts.append(("roofline", f"{text_of(self._roofline)}, {reached} of it"))
        left = counted(len(self.left), "operator") if self.left else "nothing"
        facts.append((f"left to {self.framework}", left))
        return facts

    @property
    def _taken(self) -> float:
        """The measured time of all kernels in seconds, or else the predicted one."""
        return sum(kernel.taken for kernel in self.kernels)

    @property
    def _roofline(self) -> float:
        """The least time that this machine could need for the kernels; 0 if it is not known."""
        return sum(kernel.bound.seconds for kernel in self.kernels if kernel.bound)

    @property
    def _reached(self) -> str:
        """The fractions of both bounds that the kernels reach, as far as these are known."""
        reached = [f"{percent(self.least / self.seconds)} of the cost model's bound"]
        if self._roofline:
            reached.append(f"{percent(self._roofline / self._taken)} of this machine's roofline")
        return f"they reach {', and '.join(reached)}"

    def data(self) -> dict[str, Any]:
        """The report as data for JSON; times are in seconds."""
        fields = asdict(replace(self, compiled=None))
        del fields["compiled"]
        return fields

    def __str__(self) -> str:
        if self.note:
            note = self.note.removesuffix(".")
            return f"{self._head}: {self.framework} computes all of it, as {note}."
        kernels, calls = counted(self.kernel_count, "kernel"), counted(self.segments, "call")
        predicted, by_rule = text_of(self.seconds), text_of(self.by_rule)
        rule = f" ({by_rule} for kernels by the rule)" if by_rule != predicted else ""
        measured = "" if self.call is None else f", {text_of(self.call)} measured"
        told = f": {kernels} in {calls}, {predicted} predicted{rule}{measured}"
        lines = [shortened(self._head, len(told)) + told, *kernel_table(self.kernels, self.call)]
        lines += [f"  {self._reached}"] if self.seconds else []
        lines += [f"  {self._compiled_in}"] if self.compiling.whole else []
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
    return report_later(compiled, arguments, foreign)()


def report_later(
    compiled: CompiledGraph, arguments: tuple[str, ...], foreign: Callable[[Foreign], str]
) -> Callable[[], ProgramReport]:
    """A function that makes the `program_report`, as describing kernels takes long.

    It holds references to the kernels, but not to the graph or its constants.
    """

    def why(node: Node) -> str:
        if isinstance(node.operator, Foreign):
            return foreign(node.operator).removesuffix(".")
        if node in compiled.plan.light:
            return NOT_WORTH
        dtypes = [each.dtype for each in (node, *node.inputs) if each.type.stored is None]
        unknown = [dtype for dtype in dtypes if dtype.kind != "b"]  # bools are bytes
        return f"no kernel has {unknown[0]}" if unknown else obstacle(node)

    hertz = hertz_of(host_cpu())
    calls = constants_of_calls(compiled)
    searches = [(k.cost, k.statistics) for k, _ in calls if k.statistics]
    report = ProgramReport(
        compiled.framework.name,
        arguments,
        segments=len(compiled.segments),
        left=tuple((str(node.operator), why(node)) for node in compiled.left),
        note=note_of(compiled),
        by_rule=compiled.plan.cost_at_first / hertz,
        least=sum(cost * search.of_bound for cost, search in searches) / hertz,
        compiling=compiled.time,
        compiled=ref(compiled),
    )
    threads = _threads(compiled)

    def described() -> ProgramReport:
        peak = kept_peak(threads)
        bounds = _bounds(calls, peak) if peak else {}
        costs: dict[str, list[float]] = defaultdict(list)
        for text, (kernel, _) in zip(_expressions(calls), calls, strict=True):
            costs[text].append(kernel.cost)
        rows = (
            KernelReport(text, len(each), sum(each) / hertz, bound=bounds.get(text))
            for text, each in costs.items()
        )
        return replace(report, kernels=tuple(sorted(rows, key=lambda row: -row.seconds)))

    return described


def note_of(compiled: CompiledGraph) -> str:
    """Why the framework computes everything; empty if it does not."""
    if compiled.segments:
        return ""
    return NOT_WORTH if compiled.plan.light else "no kernel computes any of it"


def _threads(compiled: CompiledGraph) -> int:
    """The most threads that a kernel runs on."""
    return max((k.threads for each in compiled.segments for k in each.kernels), default=1)


def _expressions(calls: Sequence[CallConstants]) -> list[str]:
    """The expression of each kernel, in the order in which they run."""
    texts = {kernel: kernel.spec.expression for kernel in dict.fromkeys(k for k, _ in calls)}
    return [texts[kernel] for kernel, _ in calls]


def _bounds(calls: Sequence[CallConstants], peak: Peak) -> dict[str, Bound]:
    """The sum of the bounds of an expression's kernels, and its largest part, by expression."""
    bounds: dict[str, list[Bound]] = defaultdict(list)
    for expression, each in zip(_expressions(calls), kernel_bounds(calls, peak), strict=True):
        bounds[expression].append(each)
    return {expression: total(several) for expression, several in bounds.items()}
