"""Making a certificate: what a search expanded, without what the proof does not need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from morello.base.errors import SearchError
from morello.base.status import tell
from morello.certificate.exact import Exact
from morello.certificate.file import Certificate, hash_of, written
from morello.certificate.graph import Floats, ProofGraph, costs
from morello.certificate.machine import machine_data
from morello.certificate.numbered import SpecKeys, batch_of
from morello.certificate.relaxed import Relaxed, RelaxedBounds
from morello.certificate.values import cheapest
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.search.budget import Budget, Progress
from morello.search.session import Session
from morello.space.kind import Kind

_LITTLE = 1e-9
"""The part of what a Spec is to cost at least that is kept as a reserve for rounding."""


def certify(
    impl: Impl,
    budget: Budget,
    progress: Progress | None = None,
    searches: Iterable[Session] = (),
) -> bytes:
    """A certificate that no program of an Impl's Spec costs less, or less than a bound.

    If none of the `searches` was for the Spec and without a table, of which nothing is proven, the
    Spec is searched within the budget. Raises `SearchError` if this gives no lower bound.
    """
    if impl.target.tunings:
        raise SearchError(
            f"{impl.target.name} is many machines, and a certificate is for one; name one machine."
        )
    impl = replace(impl, spec=replace(impl.spec, names=()))
    session = _searched(searches, impl)
    if session is None:
        session = Session(impl.spec, impl.target)
        session.solve(budget, progress)
    scaffold = session.expanded_specs()
    if scaffold is None:
        raise SearchError(
            "the search was too short for a lower bound, without which there is no certificate; "
            "give it a larger budget."
        )
    tell(phase="prove")
    relaxed = Relaxed(impl.spec, impl.target)
    bounds = relaxed.bounds(cheapest)

    graph = ProofGraph(impl.spec, impl.target)
    whole = Exact(graph, bounds, SomeSpecs(scaffold))
    values, _ = whole.values(cheapest)
    least = min(impl.cost, session.result.cost * session.result.statistics.of_bound)
    if values[0] < least * (1 - _LITTLE):  # the search closed Specs by other bounds
        whole = Exact(graph, bounds, _Affordable(whole, values, bounds, least))
        values, _ = whole.values(cheapest)
    needed = _needed(whole, values, min(float(values[0]), impl.cost))
    trimmed = Exact(graph, bounds, SomeSpecs(_specs_of(whole, needed)))
    values, choices = trimmed.values(cheapest)
    return written(
        Certificate(
            machine_data(impl.target, impl.spec), saved.save(impl), impl.cost, float(values[0]),
            bounds.choices, relaxed.rewrites, hash_of(bounds.values),
            trimmed.marks.astype(np.int64), choices[trimmed.expanded], values, trimmed.rewrites,
        )
    )  # fmt: skip


def _searched(searches: Iterable[Session], impl: Impl) -> Session | None:
    """The search for an Impl's Spec that expanded Specs, if there was one."""
    for session in searches:
        goal = replace(session.goal, names=()), session.target
        if goal == (impl.spec, impl.target) and session.expanded_specs() is not None:
            return session
    return None


def _specs_of(exact: Exact, states: Ints) -> list[Batch]:
    """The Specs of some states."""
    specs, chosen = exact.graph.specs, np.zeros(exact.graph.specs.count, np.bool_)
    chosen[exact.spec[states]] = True
    batches = [
        batch_of(kind, specs.table(kind)[chosen[specs.nodes(kind)]], exact.graph.space)
        for kind in specs.kinds
    ]
    return [batch for batch in batches if len(batch)]


class SomeSpecs:
    """A set of Specs, which may be from different spaces."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._keys_of = SpecKeys()
        self._keys: dict[Kind, set[bytes]] = {}
        for batch in batches:
            self._keys.setdefault(Kind.of(batch), set()).update(self._keys_of(batch))

    def __call__(self, batch: Batch) -> Bools:
        """Which Specs of a batch are among them."""
        keys = self._keys.get(Kind.of(batch), set())
        return np.array([key in keys for key in self._keys_of(batch)], np.bool_)


class _Affordable:
    """Marks the Specs that were expanded, and all others that a program within a cost may contain.

    The lower bound of a Spec that was expanded is that of its states, and of any other the relaxed
    one. The most that it may cost follows from the programs that contain it.
    """

    def __init__(self, exact: Exact, values: Floats, bounds: RelaxedBounds, most: float) -> None:
        self._graph, self._of = exact.graph, bounds.of
        self._least: Floats = np.empty(0)
        self._most: Floats = np.empty(0)
        self._note_new()
        self._expanded = np.zeros(len(self._least), np.bool_)
        self._expanded[exact.spec[exact.expanded]] = True
        self._least[exact.spec] = np.inf
        np.minimum.at(self._least, exact.spec, values)
        self._most[0] = most

    def __call__(self, batch: Batch) -> Bools:
        """Which Specs of a tier these are; called for one tier after another, the highest first."""
        specs = self._graph.specs.numbers(batch)
        expanded = np.pad(self._expanded, (0, len(self._least) - len(self._expanded)))[specs]
        marks: Bools = expanded | (self._least[specs] < self._most[specs] * (1 - _LITTLE))
        parent = specs[marks]
        rewritten = self._graph.rewrites(int(self._graph.specs.tier_of(specs[:1])[0]), parent)
        self._note_new()
        spare = self._most[parent[rewritten.parent]] - costs(rewritten, self._least)
        for child, times in zip(rewritten.child.T, rewritten.times.T, strict=True):
            given = (child >= 0) & (spare >= 0)
            most = self._least[child[given]] + spare[given] / times[given]
            np.maximum.at(self._most, child[given], most)
        return marks

    def _note_new(self) -> None:
        """Add the lower bounds of newly reached Specs; what they may cost is not known yet."""
        specs, before = self._graph.specs, len(self._least)
        self._most = np.pad(self._most, (0, specs.count - before), constant_values=-np.inf)
        self._least = np.pad(self._least, (0, specs.count - before))
        for kind in specs.kinds:
            new = specs.nodes(kind)
            new = new[np.searchsorted(new, before) :]
            if len(new):
                batch = batch_of(kind, specs.table(kind, new), self._graph.space)
                self._least[new] = self._of(batch)


def _needed(exact: Exact, values: Floats, least: float) -> Ints:
    """The states to expand for a proof that the goal costs so much at least.

    From the goal down, each state is to cost so much that no rewrite of those above it costs less
    than these are to. A state whose bound is as high need not be expanded.
    """
    bounds = exact.bounds
    wanted = np.zeros(len(bounds))
    wanted[0] = least
    for wave in exact.waves:
        needed = wave.of(wanted[wave.parent] > bounds[wave.parent])
        now = costs(needed, np.maximum(bounds, wanted))
        short = needed.of(now < wanted[needed.parent] * (1 + _LITTLE / 2))
        rows = zip(
            wanted[short.parent].tolist(), costs(short, values).tolist(), short.child.tolist(),
            short.times.tolist(), strict=True,
        )  # fmt: skip
        for least, cost, children, times in rows:
            _raise(cost - least * (1 + _LITTLE), children, times, values, bounds, wanted)
    return np.flatnonzero(wanted > bounds)


def _raise(
    spare: float,
    children: Sequence[int],
    times: Sequence[int],
    values: Floats,
    bounds: Floats,
    wanted: Floats,
) -> None:
    """Raise what the children of a rewrite are to cost, so that it costs what its state is to.

    By their `values`, it would cost so much more: that is to `spare`.
    """
    runs: dict[int, int] = {}
    for child, count in zip(children, times, strict=True):
        if child >= 0 and values[child] > bounds[child]:
            runs[child] = runs.get(child, 0) + count
    endless = [child for child in runs if np.isinf(values[child])]
    if endless:
        wanted[endless[0]] = np.inf
        return
    gains = {child: n * float(values[child] - bounds[child]) for child, n in runs.items()}
    for child in sorted(runs, key=lambda child: (wanted[child] > bounds[child], gains[child])):
        if gains[child] <= spare:
            spare -= gains[child]
            continue
        want = float(values[child])
        if spare > 0:
            want, spare = want - spare / runs[child], 0.0
        wanted[child] = max(wanted[child], want)
