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
from morello.certificate.relaxed import Relaxed
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
    scaffold = _expanded(searches, impl)
    if scaffold is None:
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


def _expanded(searches: Iterable[Session], impl: Impl) -> list[Batch] | None:
    """The Specs that a search for an Impl's Spec expanded, if one was."""
    for session in searches:
        if (replace(session.goal, names=()), session.target) == (impl.spec, impl.target):
            return session.expanded_specs()
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
