"""Certificates in which one thing is changed: none is accepted, and none makes a traceback."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random

from fuzz.adversary import REFUSED, Adversary, FaultError
from fuzz.mutations import mutated
from morello.base.errors import MorelloError
from morello.certificate.check import Derived, check
from morello.certificate.file import Certificate, read, written
from morello.certificate.write import certify
from morello.frontends import parse
from morello.impl.reconstruct import reconstruct
from morello.search.budget import UNTIMED
from morello.search.session import Session
from morello.targets import find_target
from morello.targets.caches import limited
from morello.targets.costs import on_cores


@dataclass(frozen=True)
class Goal:
    """An expression to certify, on a machine some of whose memory levels may be smaller."""

    text: str
    limits: str = ""


GOALS = (
    Goal("relu(f32[2,2] @ f32[2,4])", "registers=4"),
    Goal("f32[2,2] @ f32[2,4]", "L1=9,registers=6"),
    Goal("gelu(f32[4,8] + f32[8])"),
    Goal("transpose(f32[8,8])"),
)
TARGET = "avx2"


class Certificates(Adversary):
    """A certificate that differs from a true one anywhere is refused.

    A case is the number of a goal, and that of a mutation.
    """

    name = "certificates"
    what = "certificates with one thing changed: none is accepted"

    def case(self, random: Random) -> str:
        return f"{random.randrange(len(GOALS))} {random.randrange(1 << 32)}"

    def check(self, case: str) -> str:
        goal, number = map(int, case.split())
        where, other = mutated(true(GOALS[goal]), Random(number))
        try:
            check(written(other), _derived)
        except MorelloError:
            return REFUSED
        raise FaultError(f"{where.partition('[')[0]} is accepted", where)


_derived = lru_cache(maxsize=2 * len(GOALS))(Derived)


@cache
def true(goal: Goal) -> Certificate:
    """The certificate of a goal's cheapest program, which is accepted."""
    machine = find_target(TARGET)
    machine = limited(machine, goal.limits) if goal.limits else machine
    session = Session(*on_cores(parse(goal.text), machine))
    impl = reconstruct(session.goal, session.target, session.solve().decisions)
    data = certify(impl, UNTIMED)
    check(data, _derived)
    return read(data)
