"""The process of one peer: reads and answers commands, one line of JSON each.

    python -m benchmarks.worker MODULE:CLASS OPTIONS

In a separate process, a peer has its own threads, settings and crashes, and disturbs no other.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from benchmarks.data import Data, WrongError, check, load, spoil
from benchmarks.native import Loop
from benchmarks.peers.peer import Candidate, Options, Peer, UnavailableError
from benchmarks.work import Work, from_json

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


class Server:
    """Holds the peer, and its fastest ways to do the current work, by language."""

    def __init__(self, peer: Peer, threads: int) -> None:
        self.peer, self.threads = peer, threads
        self.best: dict[str, Tried] = {}
        self.pools = ThreadpoolController()

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Execute a command."""
        if order["do"] == "sample":
            return {"seconds": self.sample(order["language"], order["calls"])}
        self.best = {}
        gc.collect()
        return {} if order["do"] == "forget" else self.prepare(order)

    def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        """Find the fastest correct way to do some work, for each language it is called from."""
        work = from_json(order["work"])
        data = load(work, Path(order["folder"]))
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
        return {
            "rejected": rejected,
            "ready": [
                {
                    "language": language,
                    "setting": self.setting(tried),
                    "seconds": tried.seconds,
                    "error": tried.error,
                    "facts": dict(tried.candidate.facts),
                }
                for language, tried in self.best.items()
            ],
        }

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

    def sample(self, language: str, calls: int) -> float:
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


def serve(name: str, options: Options, orders: Iterable[str], answers: TextIO) -> None:
    """Create the peer, answer with its version, then execute commands until there are no more."""

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    module, _, cls = name.partition(":")
    try:
        peer: Peer = getattr(importlib.import_module(module), cls)(options)
        say({"version": peer.version()})
    except Exception as problem:
        say({"unavailable": _why(problem)})
        return
    gc.disable()
    server = Server(peer, options.threads)
    for line in orders:
        try:
            say(server.answer(json.loads(line)))
        except Exception as problem:  # a failure of the peer, which is reported
            say({"unavailable": _why(problem)})


def _why(problem: Exception) -> str:
    first = str(problem).strip().split("\n", 1)[0]
    return first if isinstance(problem, UnavailableError) else f"{type(problem).__name__}: {first}"


def main() -> None:
    """Serve on stdin and stdout; what the peer itself prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.argv[1], Options(**json.loads(sys.argv[2])), sys.stdin, answers)


if __name__ == "__main__":
    main()
