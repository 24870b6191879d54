"""The process of one peer: the peer, and the functions that the parent calls.

In a separate process, a peer has its own threads, settings and crashes, and disturbs no other.
"""

from __future__ import annotations

import gc
import importlib
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from benchmarks.data import Data, WrongError, check, load, spoil
from benchmarks.native import Loop
from benchmarks.peers.peer import Candidate, Language, Options, Peer, UnavailableError
from benchmarks.work import Work

TRIALS, TRIAL_S = 15, 0.06
"""How many samples decide which candidate is the fastest, and their seconds in all."""

MOST_CALLS = 10**8


@dataclass(frozen=True)
class Tried:
    """A candidate with a correct result: on how many threads, and about how long a call takes."""

    candidate: Candidate
    threads: int
    error: float
    seconds: float


@dataclass(frozen=True)
class Ready:
    """The fastest correct way of a peer to do some work, called from a language."""

    language: Language
    setting: str
    seconds: float
    error: float
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Prepared:
    """The ways in which a peer does some work, and why others were rejected."""

    ready: tuple[Ready, ...]
    rejected: tuple[str, ...]


class Server:
    """Holds the peer, and its fastest ways to do the current work, by language."""

    def __init__(self, peer: Peer, threads: int) -> None:
        self.peer, self.threads = peer, threads
        self.best: dict[Language, Tried] = {}
        self.pools = ThreadpoolController()

    def prepare(self, work: Work, folder: Path) -> Prepared:
        """Find the fastest correct way to do some work, for each language it is called from."""
        data = load(work, folder)
        rejected = []
        for candidate in self.peer.prepare(work, data.inputs):
            for threads in {self.threads, 1} if candidate.narrows else {self.threads}:
                try:
                    tried = self.tried(candidate, threads, work, data)
                except (WrongError, UnavailableError) as problem:
                    rejected.append(f"{candidate.setting}: {problem}")
                    break
                best = self.best.get(candidate.language)
                if best is None or tried.seconds < best.seconds:
                    self.best[candidate.language] = tried
        if not self.best:
            raise UnavailableError("; ".join(rejected) or "offered nothing")
        ready = (
            Ready(
                language, self.setting(tried), tried.seconds, tried.error,
                dict(tried.candidate.facts),
            )
            for language, tried in self.best.items()
        )  # fmt: skip
        return Prepared(tuple(ready), tuple(rejected))

    def forget(self) -> None:
        """Release what the current work needs."""
        self.best = {}
        gc.collect()

    def tried(self, candidate: Candidate, threads: int, work: Work, data: Data) -> Tried:
        """Check and time a candidate; raises `WrongError`."""
        with self.pools.limit(limits=threads):
            spoil(candidate.result())  # another candidate may have written it
            seconds = _typical(candidate.loop)
            return Tried(candidate, threads, check(work, data, candidate.result()), seconds)

    def setting(self, tried: Tried) -> str:
        """The name of a candidate, with a note if it uses fewer threads than it may."""
        narrow = tried.threads < self.threads
        return tried.candidate.setting + ", on one thread" * narrow

    def sample(self, language: Language, calls: int) -> float:
        """Seconds per call, over `calls` calls, after some calls to warm up."""
        best = self.best[language]
        with self.pools.limit(limits=best.threads):
            best.candidate.loop(1 + calls // 10)
            return best.candidate.loop(calls) / calls


def _typical(loop: Loop) -> float:
    """About how long a call takes: the median of some samples."""
    calls = 1
    loop(calls)
    while (seconds := loop(calls)) < TRIAL_S / TRIALS and calls < MOST_CALLS:
        calls = max(calls + 1, min(10 * calls, int(1.2 * calls * TRIAL_S / TRIALS / seconds)))
    if calls == 1:
        return seconds
    return statistics.median(loop(calls) for _ in range(TRIALS)) / calls


# ---- what other processes call

_servers: list[Server] = []
"""The server of this process, once it has begun."""


def begin(where: str, options: Options) -> str:
    """Create the peer of this process, a class as MODULE:CLASS; returns its version."""
    module, _, cls = where.partition(":")
    with _reasons():
        peer: Peer = getattr(importlib.import_module(module), cls)(options)
        version = peer.version()
    _servers.append(Server(peer, options.threads))
    gc.disable()
    return version


def prepare(work: Work, folder: Path) -> Prepared:
    """Do some work, with the data in a folder, in all ways; the fastest are kept."""
    (server,) = _servers
    server.forget()
    with _reasons():
        return server.prepare(work, folder)


def sample(language: Language, calls: int) -> float:
    """Seconds per call of the fastest way for a language."""
    (server,) = _servers
    with _reasons():
        return server.sample(language, calls)


def forget() -> None:
    """Release what the current work needs."""
    (server,) = _servers
    server.forget()


@contextmanager
def _reasons() -> Iterator[None]:
    """A failure of the peer becomes an `UnavailableError` of one line."""
    try:
        yield
    except Exception as problem:
        first = str(problem).strip().split("\n", 1)[0]
        if not isinstance(problem, UnavailableError):
            first = f"{type(problem).__name__}: {first}"
        raise UnavailableError(first) from None
