"""Making a certificate: what a search expanded, without what the proof does not need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.base.errors import SearchError
from morello.base.status import tell
from morello.certificate.exact import Exact
from morello.certificate.file import Certificate, hash_of, written
from morello.certificate.graph import Floats, ProofGraph, Rewritten, costs
from morello.certificate.machine import machine_data
from morello.certificate.numbered import SpecKeys
from morello.certificate.relaxed import RelaxedBounds
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.search.budget import Budget, Progress
from morello.search.session import Session
from morello.space.kind import Kind

AnyFloats = npt.NDArray[np.floating[Any]]

_LITTLE = 1e-9
"""The fraction of what a Spec is to cost that is kept as a reserve for rounding."""


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
    expanded = session.expanded_specs()
    if expanded is None:
        raise SearchError(
            "the search was too short for a lower bound, without which there is no certificate; "
            "give it a larger budget."
        )
    tell(phase="prove")
    bounds = RelaxedBounds(impl.spec, impl.target)
    graph, known = ProofGraph(impl.spec, impl.target), _KnownBounds(expanded)
    least = min(impl.cost, session.result.cost * session.result.statistics.of_bound)
    while True:
        wanted = _Wanted(graph, bounds, known, least)
        whole = Exact(graph, bounds, wanted)
        if whole.values[0] >= least * (1 - _LITTLE) or not wanted.learn(whole):
            break
    needed = _needed(whole, min(float(whole.values[0]), impl.cost))
    trimmed = Exact(graph, bounds, lambda batch: needed[graph.specs.numbers(batch)])
    return written(
        Certificate(
            machine_data(impl.target, impl.spec), saved.save(impl), impl.cost,
            float(trimmed.values[0]), bounds.rewrites, hash_of(bounds.values),
            trimmed.marks.astype(np.int64), trimmed.values, trimmed.rewrites,
        )
    )  # fmt: skip


def _searched(searches: Iterable[Session], impl: Impl) -> Session | None:
    """The search for an Impl's Spec that expanded Specs, if there was one."""
    for session in searches:
        goal = replace(session.goal, names=()), session.target
        if goal == (impl.spec, impl.target) and session.expanded_specs() is not None:
            return session
    return None


class _KnownBounds:
    """Specs to expand for a proof, with what they cost at least, as far as is known."""

    def __init__(self, expanded: Iterable[tuple[Batch, AnyFloats]]) -> None:
        self._keys_of = SpecKeys()
        self._least: dict[Kind, dict[bytes, float]] = {}
        for batch, least in expanded:
            self.add(batch, least)

    def add(self, batch: Batch, least: AnyFloats) -> None:
        """Add Specs, or other costs of those in it."""
        costs = zip(self._keys_of(batch), least.tolist(), strict=True)
        self._least.setdefault(Kind.of(batch), {}).update(costs)

    def least(self, batch: Batch) -> Floats:
        """The lower bounds on the costs of Specs, -1 for those that are not in it."""
        known = self._least.get(Kind.of(batch), {})
        return np.array([known.get(key, -1.0) for key in self._keys_of(batch)])


class _Wanted:
    """Marks the known Specs that are to cost more than their bounds.

    From the goal down, each Spec is to cost so much that no rewrite of those above it costs less
    than these are to. By Spec, this is in `_wanted`, and what it is expected to cost in `_least`.
    """

    def __init__(
        self, graph: ProofGraph, bounds: RelaxedBounds, known: _KnownBounds, least: float
    ) -> None:
        self._graph, self._of, self._known = graph, bounds.of, known
        self._bounds: Floats = np.empty(0)
        self._least: Floats = np.empty(0)
        self._wanted: Floats = np.empty(0)
        self._lacking: list[Ints] = []  # Specs that are wanted, and not known
        self._note_new()
        self._wanted[0] = least

    def __call__(self, batch: Batch) -> Bools:
        """Which Specs of a tier these are; called for one tier after another, the highest first."""
        specs = self._graph.specs.numbers(batch)
        wanted = self._wanted[specs] > self._bounds[specs]
        given = self._known.least(batch) >= 0
        self._lacking.append(specs[wanted & ~given])
        marks: Bools = wanted & given
        parent = specs[marks]
        rewritten = self._graph.rewrites(int(self._graph.specs.tier_of(specs[:1])[0]), parent)
        self._note_new()
        rewritten = rewritten._replace(parent=parent[rewritten.parent])
        _raise(rewritten, self._least, self._bounds, self._wanted)
        return marks

    def learn(self, exact: Exact) -> bool:
        """Make all known that was wanted, and expect no more than was proven.

        Returns whether what is known changed.
        """
        proven = np.full(len(self._least), np.inf)
        states = exact.expanded
        np.minimum.at(proven, exact.spec[states], exact.values[states])
        changed = proven < np.minimum(self._wanted, self._least) * (1 - _LITTLE / 10)
        changed[np.concatenate(self._lacking)] = True
        least = np.minimum(proven, self._least)
        for specs, batch in _by_kind(self._graph, changed):
            self._known.add(batch, least[specs])
        return bool(changed.any())

    def _note_new(self) -> None:
        """Add what newly reached Specs cost at least; what they are to cost is not known yet."""
        count, before = self._graph.specs.count, len(self._least)
        more = 0, count - before
        self._bounds, self._least = np.pad(self._bounds, more), np.pad(self._least, more)
        self._wanted = np.pad(self._wanted, more)
        for specs, batch in _by_kind(self._graph, np.arange(count) >= before):
            self._bounds[specs] = self._of(batch)
            self._least[specs] = np.maximum(self._bounds[specs], self._known.least(batch))


def _by_kind(graph: ProofGraph, chosen: Bools) -> Iterator[tuple[Ints, Batch]]:
    """The chosen Specs of each kind: their numbers, and a batch of them."""
    for kind in graph.specs.kinds:
        specs = graph.specs.nodes(kind)
        specs = specs[chosen[specs]]
        if len(specs):
            yield specs, graph.specs.batch(kind, specs)


def _needed(exact: Exact, least: float) -> Bools:
    """Which Specs to expand for a proof that the goal costs so much at least.

    From the goal down, each state is to cost so much that no rewrite of those above it costs less
    than these are to. A Spec need not be expanded where the bounds of all its states are as high.
    """
    wanted = np.zeros(len(exact.values))
    wanted[0] = least
    for wave in exact.waves:
        _raise(wave, exact.values, exact.bounds, wanted)
    needed = np.zeros(exact.graph.specs.count, np.bool_)
    needed[exact.spec[wanted > exact.bounds]] = True
    return needed


def _raise(rewritten: Rewritten, values: Floats, bounds: Floats, wanted: Floats) -> None:
    """Raise what children are to cost, so that rewrites cost what their parents are to.

    Where a rewrite costs enough if its children cost what they are expected to, their `values`,
    these need not be dearer than that, nor all of them so dear. Elsewhere, memory limits must rule
    out one of the children, or make it so dear that the rewrite costs enough with the others'
    values.
    """
    needed = rewritten.of(wanted[rewritten.parent] > bounds[rewritten.parent])
    now = costs(needed, np.maximum(bounds, np.minimum(wanted, values)))
    short = needed.of(now < wanted[needed.parent] * (1 + _LITTLE / 2))
    least, cost = wanted[short.parent], costs(short, values)
    enough = cost >= least
    cheap, spare = short.of(~enough), least[~enough] - cost[~enough]
    for child, times in zip(cheap.child.T, cheap.times.T, strict=True):
        given = child >= 0
        most = values[child[given]] + spare[given] / times[given]
        np.maximum.at(wanted, child[given], most * (1 + _LITTLE))
    rest = short.of(enough)
    rows = zip(
        least[enough].tolist(), cost[enough].tolist(), rest.child.tolist(), rest.times.tolist(),
        strict=True,
    )  # fmt: skip
    for to_cost, would_cost, children, runs in rows:
        _share(would_cost - to_cost * (1 + _LITTLE), children, runs, values, bounds, wanted)


def _share(
    spare: float,
    children: Sequence[int],
    times: Sequence[int],
    values: Floats,
    bounds: Floats,
    wanted: Floats,
) -> None:
    """Raise what the children of a rewrite are to cost, until it costs what its state is to.

    If they cost their `values`, it would cost `spare` more than that.
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
