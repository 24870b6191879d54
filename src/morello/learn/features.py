"""A program as a graph of its loops, for models to learn from. Reads Impls only.

Nodes are loops, each with the straight-line code directly in it: how often it runs, its
instructions by group of kernels, its independent accumulators, its accesses, and the cache lines
and pages that it touches and fetches. Edges are of two kinds: from a loop to those in it, and from
a loop to the next sibling that reads what it wrote. Besides the graph, there are features of the
program as a whole, and the terms of its affine cost.

Numbers that have no bound are logarithms, log2(1 + x).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, log2

import numpy as np
import numpy.typing as npt

from morello.impl.tree import Impl
from morello.ir.tensor import LINE_BYTES, PAGE_BYTES
from morello.learn.footprint import ByArray, CacheGeometry, Footprints, Traffic
from morello.learn.forwarding import forwarded
from morello.learn.nest import Access, Nests, ProgramLoop, Register, Site
from morello.learn.past_caches import past_caches
from morello.learn.work import WORK, in_cache, work_of
from morello.measure.calibrate.multiplicities import Multiplicities
from morello.rewrites import Select
from morello.rewrites.rewrite import apply
from morello.targets.catalog import microarchitecture
from morello.targets.costs import FORK, coefficients
from morello.targets.machines import Machine
from morello.targets.target import GROUPS, TRANSFERS, Target

VERSION = 7

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

OPCODES = ("loop", *GROUPS)
"""A node's opcode: the group of kernels that takes most of its cycles; "loop" if it calls none."""

_SUMS = "products"
_FORWARDING = 5.0
"""The latency in cycles of a load of what was just stored."""

_DECODED = 6.0
"""The instructions that a core starts in a cycle, of any class."""

_CODE = (
    "flops", "instructions", "multiply_adds", "sums", "load_vectors", "load_scalars",
    "load_strided", "load_splits", "store_vectors", "store_scalars", "store_strided",
    "store_splits", "load_bytes", "store_bytes", "still", "near", "far", "pages_apart", "carried",
    "masked_loads", "masked_stores", "forwarded", "stalled", "stores_near", "stores_far",
    "stores_pages_apart",
)  # fmt: skip
"""Per iteration: numbers of instructions, bytes, and accesses by the stride between iterations.

Of `near`, `far` and `pages_apart`, those that write are counted in `stores_near` and so on as well.
`carried` accesses read and write the same memory in each iteration. `forwarded` loads read what was
stored shortly before; `stalled` ones read recent data that no single store wrote completely.
"""

_BOUNDS = ("kernels", "latency", "loads", "stores", "chain")
"""Lower bounds of the cycles of an iteration, one per resource.

`latency` is that of multiply-adds, `chain` of whatever else adds to sums, in registers or memory.
"""

_CACHES = ("L1", "L2", "L3", "pages")
_FETCHED = tuple(
    f"{cache}_{what}" for cache in _CACHES for what in ("read", "written", "runs")
)  # fmt: skip

NODE_FEATURES = (
    *(f"cycles_{group}" for group in GROUPS), *(f"calls_{group}" for group in GROUPS),
    *_CODE, *(f"bound_{bound}" for bound in _BOUNDS), *(f"excess_{bound}" for bound in _BOUNDS[1:]),
    "cycles_a_call", "bytes_a_call", "times", "times_outside", "executions", "share", "depth",
    "innermost", "prefetched", "footprint_once", "footprint", "footprint_runs", "pages_once",
    *_FETCHED, *(f"{cache}_resident" for cache in _CACHES),
    *(f"work_{work}" for work in WORK), "work_in_cache",
)  # fmt: skip

PARTS = ("kernels", "latency", "accesses", "iterations", "entries", "forwarded", "stalled")
"""The components of a loop's own cycles, in cycles of all its executions.

Those of `latency` and `accesses` are what these bounds exceed the kernels' cycles by.
"""

ITERATION, ENTRY, FORWARD, STALL = 1.0, 5.0, 4.0, 12.0
"""The assumed cycles of an iteration of a loop, of entering and leaving it, and of a load that is
forwarded or stalled. Training corrects them."""

FETCHES = (*_FETCHED, "load_splits", "store_splits", "call")
"""The fetches of a program. Training corrects the cycles that are assumed of each."""

MEMORY_LINE, MEMORY_RUN, PAGE, SPLIT, CALL = 8.0, 20.0, 5.0, 1.0, 100.0
"""The assumed cycles of a line from memory, of the start of a run of these, of a page that the
TLB lacks, of an access to two lines, and of calling a program."""

EXECUTED = (
    "instructions", "multiply_adds", "load_vectors", "load_scalars", "load_strided",
    "store_vectors", "store_scalars", "store_strided", "masked_loads", "masked_stores",
)  # fmt: skip
"""Classes of instructions, whose executions in a whole program are counted."""

TERMS = (
    *(f"{level}.{kind}" for level in ("memory", "L2") for kind in TRANSFERS),
    *(f"kernels.{group}" for group in GROUPS), FORK, "other",
)  # fmt: skip
"""The terms of the affine cost: cycles by coefficient; those without one are "other"."""

PROGRAM_FEATURES = (
    "cost", "flops", "bytes", "loops", "depth", "code", "arrays", "footprint",
    *(f"peak_{level}" for level in range(1, 4)),
    *(f"share_{term}" for term in TERMS),
    *(f"part_{part}" for part in PARTS), *(f"fetch_{fetch}" for fetch in FETCHES),
    *(f"executed_{kind}" for kind in EXECUTED),
    "bypassed", "in_blocks",
)  # fmt: skip


@dataclass(frozen=True)
class ProgramGraph:
    """A program of n loops: `opcodes` (n), `nodes` (n, features), and edges as pairs of loops.

    `nesting` are (outer, inner), `flow` (writer, reader). `parts` (n, `PARTS`) are cycles of each
    loop, `fetches` the cycles of `FETCHES`, `program` the `PROGRAM_FEATURES`, and `terms` the
    cycles of `TERMS`, whose sum is the affine cost.
    """

    opcodes: Ints
    nodes: Floats
    nesting: Ints
    flow: Ints
    parts: Floats
    fetches: Floats
    program: Floats
    terms: npt.NDArray[np.float64]


class Featurizer:
    """Makes graphs of programs for one target."""

    def __init__(self, target: Target) -> None:
        self.target, self.machine = target, microarchitecture(target)
        self._multiplicities, self._nests = Multiplicities(target), Nests()
        self._coefficients = coefficients(target)

    def graphs(self, impls: Sequence[Impl]) -> list[ProgramGraph]:
        """The graphs of complete programs for one thread."""
        self._multiplicities.prepare(impls)
        return [*map(self.graph, impls)]

    def graph(self, impl: Impl) -> ProgramGraph:
        """The graph of a complete program for one thread."""
        past = past_caches(impl)
        walk = _Walk(self._nests.of(impl), impl.cost, self, past.results)
        terms = self._terms(impl)
        parts, fetches = np.array(walk.parts), walk.fetches()
        if past.in_blocks:  # the loops are others, and rows are copied by one call
            parts[:, 1:] = 0.0
        return ProgramGraph(
            np.array(walk.opcodes, np.int32),
            np.array(walk.rows, np.float32),
            np.array(walk.nesting, np.int32).reshape(-1, 2),
            np.array(walk.flow, np.int32).reshape(-1, 2),
            parts.astype(np.float32),
            fetches.astype(np.float32),
            np.array(
                [
                    *walk.whole(impl),
                    *_shares(impl, terms, parts, fetches),
                    *walk.executions(),
                    float(bool(past.results)),
                    float(past.in_blocks),
                ],
                np.float32,
            ),
            terms,
        )

    def _terms(self, impl: Impl) -> npt.NDArray[np.float64]:
        paid = self._multiplicities.of(impl)
        terms = np.array([paid.get(t, 0.0) * self._coefficients.get(t, 0.0) for t in TERMS])
        terms[-1] = max(0.0, impl.cost - terms.sum())
        return terms

    def cycles(self, site: Site) -> float:
        """The affine cost of all calls of a kernel in an iteration."""
        return site.calls * apply(Select(site.kernel.name), site.spec, self.target).cost

    def caches(self) -> list[CacheGeometry]:
        """The models of `_CACHES`: three levels of caches, and the first TLB."""
        second, first = self.target.levels[1], self.target.levels[2]
        sets = PAGE_BYTES // LINE_BYTES  # a first-level cache is indexed by a page's offset
        ways = -(-first.capacity // sets)
        machine = self.machine
        return [
            CacheGeometry(LINE_BYTES, ways * sets, sets),
            CacheGeometry(LINE_BYTES, second.capacity, _lines(machine.l2.kib) // machine.l2.ways),
            CacheGeometry(LINE_BYTES, _lines(machine.l3_kib), shared=True),
            CacheGeometry(PAGE_BYTES, machine.tlb.pages),
        ]

    def fetch_cycles(self) -> npt.NDArray[np.float64]:
        """The assumed cycles of each of `FETCHES`; lines that are written go both ways."""
        machine = self.machine
        near, far = LINE_BYTES / machine.l2_bytes, LINE_BYTES / machine.l3_bytes
        lines = [near, near, machine.l2.latency / 14, far, 2 * far, machine.l3_latency / 6]
        lines += [MEMORY_LINE, 2 * MEMORY_LINE, MEMORY_RUN]
        return np.array([*lines, PAGE, PAGE, PAGE, SPLIT, SPLIT, CALL])


class _Walk:
    """The loops of a program in pre-order."""

    def __init__(
        self, root: ProgramLoop, cost: float, featurizer: Featurizer, past: Collection[str]
    ) -> None:
        self.cost, self.featurizer, self.past = max(cost, 1.0), featurizer, past
        self.footprints = Footprints(root)
        self.loops = self.footprints.loops
        self.caches = featurizer.caches()
        self.traffic = [self.footprints.traffic(cache) for cache in self.caches]
        near, second, last, pages = self.traffic
        self.traffic = [near, *(_in_order(far, near) for far in (second, last)), pages]
        self.forwarded = forwarded(root)
        self.written = {
            access.array
            for loop in self.loops
            for site in loop.sites
            for access in site.accesses
            if access.written
        }
        self.opcodes: list[int] = []
        self.rows: list[list[float]] = []
        self.parts: list[list[float]] = []
        self.nesting: list[tuple[int, int]] = []
        self.flow: list[tuple[int, int]] = []
        self.splits = [0.0, 0.0]
        self.executed = dict.fromkeys(EXECUTED, 0.0)
        # the previous call left what fits
        self._visit(0, 1.0, 1, tuple(self.footprints.fits(0, cache) for cache in self.caches))

    def _visit(self, number: int, entries: float, outside: int, resident: tuple[bool, ...]) -> None:
        """Append the features of a loop that is entered `entries` times, and of those in it.

        `outside` is the trip count of the loop around it; `resident` says of each cache whether it
        held what the loop touches before.
        """
        loop, code = self.loops[number], self._code(number)
        groups, calls = dict.fromkeys(GROUPS, 0.0), dict.fromkeys(GROUPS, 0.0)
        costs = [self.featurizer.cycles(site) for site in loop.sites]
        for site, cost in zip(loop.sites, costs, strict=True):
            group = site.kernel.group
            groups[group] += cost
            calls[group] += site.calls
        bounds = _bounds(loop, code, sum(groups.values()), self.featurizer.machine)
        executions = entries * loop.times
        self._count(entries, executions, code, bounds)
        most = max(groups, key=lambda group: groups[group])
        self.opcodes.append(OPCODES.index(most) if loop.sites else 0)
        every, kernels = max(1, sum(site.calls for site in loop.sites)), bounds["kernels"]
        row = [
            *map(_log, groups.values()), *map(_log, calls.values()),
            *(_log(code[feature]) for feature in _CODE),
            *map(_log, bounds.values()),
            *(log2((1 + bounds[bound]) / (1 + kernels)) for bound in _BOUNDS[1:]),
            _log(kernels / every), _log((code["load_bytes"] + code["store_bytes"]) / every),
            _log(loop.times), _log(outside), _log(executions),
            executions * kernels / self.cost, float(loop.depth), float(not loop.inner),
            _log(loop.prefetched), *map(_log, self._touched(number)),
        ]  # fmt: skip
        for traffic in self.traffic:
            row += (_log(n / loop.times) for n in self._fetched(traffic[number]))
        self.rows.append([*row, *map(float, resident), *map(_log, _work(loop, costs))])
        inner = self.footprints.inner[number]
        self.nesting += ((number, child) for child in inner)
        self._connect(inner)
        inside = tuple(
            before or (loop.times > 1 and self.footprints.fits(number, cache))
            for before, cache in zip(resident, self.caches, strict=True)
        )
        for child in inner:
            self._visit(child, executions, loop.times, inside)

    def _count(
        self, entries: float, executions: float, code: dict[str, float], bounds: dict[str, float]
    ) -> None:
        """Add the executions of a loop's code, and append the parts of its cycles."""
        for kind in EXECUTED:
            self.executed[kind] += executions * code[kind]
        self.splits[0] += executions * code["load_splits"]
        self.splits[1] += executions * code["store_splits"]
        kernels = bounds["kernels"]
        self.parts.append(
            [
                executions * kernels,
                executions * max(0.0, max(bounds["latency"], bounds["chain"]) - kernels),
                executions * max(0.0, max(bounds["loads"], bounds["stores"]) - kernels),
                executions * ITERATION,
                entries * ENTRY,
                executions * code["forwarded"] * FORWARD,
                executions * code["stalled"] * STALL,
            ]
        )

    def _touched(self, number: int) -> list[float]:
        """The lines that an iteration touches, the lines and runs of all, and the pages of one."""
        once = self.footprints.touched(number, LINE_BYTES, once=True).values()
        whole = self.footprints.touched(number, LINE_BYTES, once=False).values()
        pages = self.footprints.touched(number, PAGE_BYTES, once=True).values()
        runs = sum(amount.runs for amount in whole)
        return [_units(once), _units(whole), runs, _units(pages)]

    def _connect(self, inner: list[int]) -> None:
        """Add flow edges between sibling loops: from the last writer of an array to its readers."""
        wrote: dict[str, int] = {}
        for number in inner:
            for array in self.footprints.touched(number, LINE_BYTES, once=False):
                if array in wrote:
                    self.flow.append((wrote[array], number))
                if array in self.written:
                    wrote[array] = number

    def _fetched(self, traffic: ByArray) -> tuple[float, float, float]:
        """The units of read-only arrays, those of other arrays, and the runs of all.

        Those of arrays that are stored past the caches are half as many, as they go one way.
        """
        read = written = runs = 0.0
        for array, amount in traffic.items():
            runs += amount.runs
            if array in self.past:
                written += amount.units / 2
            elif array in self.written:
                written += amount.units
            else:
                read += amount.units
        return read, written, runs

    def _code(self, number: int) -> dict[str, float]:
        """The features `_CODE` of an iteration of a loop."""
        loop, code = self.loops[number], dict.fromkeys(_CODE, 0.0)
        sums: set[Register] = set()
        for site in loop.sites:
            code["flops"] += site.calls * site.spec.flops
            code["instructions"] += site.instructions
            if site.kernel.group == _SUMS:
                code["multiply_adds"] += site.instructions
                sums |= site.sums
            for access in site.accesses:
                _add(access, loop.name, code)
            if site.kernel.masked:
                for access in site.accesses:
                    code["masked_loads"] += access.read * len(access.starts)
                    code["masked_stores"] += access.written * len(access.starts)
        code["sums"] = len(sums)
        code["forwarded"], code["stalled"] = self.forwarded[number]
        return code

    def fetches(self) -> npt.NDArray[np.float64]:
        """Cycles of `FETCHES` of the whole program, if caches are warm from a previous call."""
        fetched: list[float] = []
        for cache, traffic in zip(self.caches, self.traffic, strict=True):
            missing = self.footprints.missing(cache)
            fetched += (missing * units for units in self._fetched(traffic[0]))
        return np.array([*fetched, *self.splits, 1.0]) * self.featurizer.fetch_cycles()

    def executions(self) -> Iterator[float]:
        """The least cycles of each class of instructions, relative to the cost."""
        machine = self.featurizer.machine
        for kind, count in self.executed.items():
            rate = {"instructions": _DECODED, "multiply_adds": machine.multiply_adds}.get(
                kind, machine.loads if "load" in kind else machine.stores
            )
            yield log2(count / rate / self.cost + 1e-3)

    def whole(self, impl: Impl) -> Iterator[float]:
        """The first of `PROGRAM_FEATURES`."""
        spec, target = impl.spec, self.featurizer.target
        touched = self.footprints.touched(0, LINE_BYTES, once=False)
        yield from (_log(impl.cost), _log(spec.flops), _log(spec.bytes), _log(len(self.loops)))
        yield float(max(loop.depth for loop in self.loops))
        yield _log(sum(site.instructions for loop in self.loops for site in loop.sites))
        yield from (float(len(touched)), _log(_units(touched.values())))
        capacities = [level.capacity for level in target.levels[1:]]
        yield from (held / most for held, most in zip(impl.peak, capacities, strict=True))


def _work(loop: ProgramLoop, costs: Sequence[float]) -> Iterator[float]:
    """The cycles of an iteration by class of work, and those of kernels on caches alone."""
    kernels = [site.kernel for site in loop.sites]
    cycles = dict.fromkeys(WORK, 0.0)
    for kernel, cost in zip(kernels, costs, strict=True):
        cycles[work_of(kernel)] += cost
    yield from cycles.values()
    yield sum(cost for kernel, cost in zip(kernels, costs, strict=True) if in_cache(kernel))


def _add(access: Access, loop: str, code: dict[str, float]) -> None:
    """Add an access to the features of the code that contains it."""
    steps, times = dict(access.steps), len(access.starts)
    kinds = ["store"] if access.written else []
    kinds += ["load"] if access.read else []
    for kind in kinds:
        code[f"{kind}_bytes"] += times * access.bytes
        if access.elements == 1:
            code[f"{kind}_scalars"] += times
        elif access.spans[0][1] == access.size:
            width = min(LINE_BYTES, access.spans[0][0] * access.size)
            vectors = access.bytes / width
            moved = gcd(LINE_BYTES, *steps.values())
            beyond = sum(max(0, width - gcd(moved, start)) for start in access.starts)
            code[f"{kind}_vectors"] += times * vectors
            code[f"{kind}_splits"] += vectors * beyond / LINE_BYTES
        else:
            code[f"{kind}_strided"] += times * access.elements
    step = abs(steps.get(loop, 0))
    if step == 0:
        code["still"] += times
        code["carried"] += times * (access.read and access.written)
    else:
        far = "far" if step < PAGE_BYTES else "pages_apart"
        stride = "near" if step <= LINE_BYTES else far
        code[stride] += times
        code[f"stores_{stride}"] += times * access.written


def _shares(
    impl: Impl,
    terms: npt.NDArray[np.float64],
    parts: npt.NDArray[np.float64],
    fetches: npt.NDArray[np.float64],
) -> list[float]:
    """The last of `PROGRAM_FEATURES`: shares of the cost, and logarithms of parts of it."""
    cost = max(impl.cost, 1.0)
    logs = np.log2(np.concatenate([parts.sum(axis=0), fetches]) / cost + 1e-3)
    return [*(terms / cost).tolist(), *logs.tolist()]


def _bounds(
    loop: ProgramLoop, code: dict[str, float], kernels: float, machine: Machine
) -> dict[str, float]:
    """The bounds of an iteration in cycles, by the names of `_BOUNDS`."""
    adds, sums = code["multiply_adds"], code["sums"]
    kinds = ("vectors", "splits", "scalars", "strided")
    return {
        "kernels": kernels,
        "latency": machine.latency * adds / sums if sums else 0.0,
        "loads": sum(code[f"load_{kind}"] for kind in kinds) / machine.loads,
        "stores": sum(code[f"store_{kind}"] for kind in kinds) / machine.stores,
        "chain": _chain(loop, machine),
    }


def _in_order(far: Sequence[ByArray], near: Sequence[ByArray]) -> list[ByArray]:
    """Traffic into a far cache, loop by loop, in the order in which a near one misses lines."""
    return [
        {array: amount.in_order_of(first.get(array, amount)) for array, amount in of_loop.items()}
        for of_loop, first in zip(far, near, strict=True)
    ]


def _units(traffic: Iterable[Traffic]) -> float:
    return sum(amount.units for amount in traffic)


def _chain(loop: ProgramLoop, machine: Machine) -> float:
    """The cycles of the longest chain of an iteration: of sums that wait for the ones before."""
    longest = 0.0
    for site in loop.sites:
        if site.sums:
            longest = max(longest, machine.latency * site.instructions / len(site.sums))
        moved = (dict(access.steps) for access in site.accesses if access.read and access.written)
        if any(not steps.get(loop.name, 0) for steps in moved):
            longest = max(longest, machine.latency + _FORWARDING)
    return longest


def _lines(kib: int) -> int:
    return (kib << 10) // LINE_BYTES


def _log(x: float) -> float:
    return log2(1.0 + x)
