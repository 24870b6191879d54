"""Checking a certificate: every number in it is derived anew, and nothing is searched.

What this rests on is the definition of the space (`space/`), of its rewrites and their costs
(`rewrites/`, `targets/`), and how programs are saved (`impl/`): nothing of the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from morello.base.errors import CertificateError
from morello.certificate.exact import Exact
from morello.certificate.file import Certificate, hash_of, read
from morello.certificate.graph import ProofGraph
from morello.certificate.machine import as_text, check_machine, read_machine
from morello.certificate.relaxed import RelaxedBounds
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.ir.spec import Spec
from morello.targets.target import Target

ROUNDING = 1e-9
"""A program that costs at most this much more than a bound, as a fraction, is the cheapest."""


@dataclass(frozen=True)
class Checked:
    """A proven lower bound: no program of the Spec costs less than `lower`.

    `relaxed` and `specs` count the Specs that were derived, and `rewrites` all of their rewrites.
    """

    impl: Impl
    lower: float
    relaxed: int
    specs: int
    rewrites: int

    @property
    def gap(self) -> float:
        """How much more than the cheapest the program may cost, as a fraction."""
        return max(0.0, self.impl.cost / self.lower - 1)

    @property
    def cheapest(self) -> bool:
        """Whether no program costs less, but for rounding."""
        return self.gap <= ROUNDING


class Derived:
    """The bounds and the graph of a goal on a machine, which its certificates share."""

    def __init__(self, goal: Spec, target: Target) -> None:
        self.bounds, self.graph = RelaxedBounds(goal, target), ProofGraph(goal, target)


def check(data: bytes, derived: Callable[[Spec, Target], Derived] = Derived) -> Checked:
    """Verify the certificate in the bytes of a file; raises `MorelloError` if it is invalid.

    For many certificates of one goal, what is `derived` may be kept.
    """
    certificate = read(data)
    impl = _program(certificate)
    given = derived(impl.spec, impl.target)
    bounds = given.bounds
    _same(bounds.rewrites, certificate.relaxed_rewrites, "the number of relaxed rewrites")
    _same(hash_of(bounds.values), certificate.relaxed_sha256, "the hash of the bounds")
    exact = Exact(given.graph, bounds, _Marks(certificate.marks))
    if not np.array_equal(exact.marks, certificate.marks):
        raise CertificateError("the certificate marks other Specs than those that can be expanded.")
    _same(exact.rewrites, certificate.rewrites, "the number of rewrites")
    if exact.values.tobytes() != certificate.values.tobytes():
        raise CertificateError("a value of the certificate is not what its Spec costs at least.")
    _same(float(exact.values[0]), certificate.lower, "the lower bound")
    return Checked(
        impl, certificate.lower, len(bounds.values), len(exact.marks),
        exact.rewrites + bounds.rewrites,
    )  # fmt: skip


def _program(certificate: Certificate) -> Impl:
    """The program, which is legal, and costs what is stated on the machine that is stated."""
    impl = saved.load(certificate.program, read_machine(certificate.machine))
    check_machine(certificate.machine, impl.target, impl.spec)
    if as_text(saved.save(impl)) != as_text(certificate.program):
        raise CertificateError("the program is not what the certificate states of it.")
    _same(impl.cost, certificate.cost, "the cost of the program")
    return impl


class _Marks:
    """The marks of Specs, as the certificate states them in their order."""

    def __init__(self, marks: Ints) -> None:
        self._left = marks

    def __call__(self, batch: Batch) -> Bools:
        marks, self._left = self._left[: len(batch)], self._left[len(batch) :]
        _same(len(batch), len(marks), "the number of the next Specs")
        result: Bools = marks == 1
        return result


def _same(derived: object, given: object, what: str) -> None:
    if derived != given:
        raise CertificateError(f"{what} is {derived}, and the certificate states {given}.")
