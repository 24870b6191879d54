"""Loads of what was just stored, in programs that were made for it."""

from __future__ import annotations

from dataclasses import replace

from tests.learn.drawn import EXPRESSIONS, programs

from morello.learn.forwarding import IN_FLIGHT
from morello.learn.forwarding import forwarded as by_loop
from morello.learn.nest import Access, Nests, ProgramLoop, Site
from morello.targets.catalog import find_target

TARGET = find_target("avx512")
(IMPL, *_) = programs(TARGET, EXPRESSIONS[0])
SITE = next(site for loop in Nests().of(IMPL).walk() for site in loop.sites)


def access(*, count: int, read: bool = False, written: bool = False) -> Access:
    """An access to `count` neighbouring floats of one array."""
    return Access("x", (), ((count, 4),), 4, (0,), read, written)


def site(one: Access, masked: bool = False) -> Site:
    return replace(SITE, accesses=(one,), kernel=replace(SITE.kernel, masked=masked))


def loop(*sites: Site, inner: tuple[ProgramLoop, ...] = (), times: int = 1) -> ProgramLoop:
    return ProgramLoop(f"i.{times}", times, 0, sites, inner, 0.0)


def forwarded(whole: ProgramLoop) -> tuple[float, float]:
    first, *_ = by_loop(whole)
    return first


STORE, LOAD = access(count=16, written=True), access(count=16, read=True)


def test_a_load_of_what_one_store_wrote_is_forwarded() -> None:
    assert forwarded(loop(site(STORE), site(LOAD))) == (1.0, 0.0)
    assert forwarded(loop(site(LOAD))) == forwarded(loop(site(STORE))) == (0.0, 0.0)


def test_wider_and_masked_ones_stall() -> None:
    narrow = access(count=1, written=True)
    assert forwarded(loop(site(narrow), site(LOAD))) == (0.0, 1.0)
    assert forwarded(loop(site(STORE), site(access(count=1, read=True)))) == (1.0, 0.0)
    assert forwarded(loop(site(STORE, masked=True), site(LOAD))) == (0.0, 1.0)


def test_another_loop_forwards_if_it_stores_little() -> None:
    few, many = (loop(site(STORE), times=times) for times in (4, IN_FLIGHT + 1))
    reader = loop(site(LOAD), times=4)
    assert forwarded(loop(inner=(few, reader))) == (4.0, 0.0)
    assert forwarded(loop(inner=(many, reader))) == (0.0, 0.0)
    assert forwarded(loop(site(LOAD), inner=(few,))) == (1.0, 0.0)
    # what a loop forwards to itself counts there
    assert forwarded(loop(inner=(loop(site(STORE), site(LOAD), times=4),))) == (0.0, 0.0)
