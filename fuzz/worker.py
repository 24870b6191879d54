"""The worker process that runs cases, so that a crash loses only one case.

Reads orders as lines of JSON: `run` cases by number until the time is up, or `check` one.
Answers with lines of JSON. The number of the current case is in a shared file, so that the parent
knows it even after a crash.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import struct
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

from fuzz.adversary import fault_of, numbered
from fuzz.kinds import KINDS

REPORT_S = 0.5
"""The seconds between reports of progress."""


class Place:
    """The number of the current case, in a file that two processes share."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)

    def set(self, number: int) -> None:
        struct.pack_into("q", self._memory, 0, number)

    def get(self) -> int:
        return int(struct.unpack_from("q", self._memory, 0)[0])


def main() -> None:
    """Serve orders until stdin is closed."""
    memory, place = int(sys.argv[1]), Place(Path(sys.argv[2]))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    # What cases print goes to stderr, apart from the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _say(answers, ready=True)
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "run":
            _run(order, place, answers)
        else:
            _say(answers, **_checked(order["kind"], order["case"]))


def _run(order: dict[str, Any], place: Place, answers: IO[str]) -> None:
    """Run every `step`-th case from `first` on, until the time is up or `last` is reached."""
    kind, number = KINDS[order["kind"]], order["first"]
    until = reported = time.monotonic()
    until += order["seconds"]
    outcomes: Counter[str] = Counter()
    while number < order["last"]:
        place.set(number)
        case = kind.case(numbered(kind.name, order["seed"], number))
        result = _checked(kind.name, case)
        number += order["step"]
        outcomes[result["outcome"]] += 1
        now = time.monotonic()
        if result["outcome"] == "fault":
            _say(answers, fault=result, case=case, next=number, outcomes=outcomes, done=False)
        elif now - reported > REPORT_S:
            _say(answers, next=number, outcomes=outcomes, done=False)
        else:
            if now < until:
                continue
            break
        outcomes, reported = Counter(), now
        if now >= until:
            break
    _say(answers, next=number, outcomes=outcomes, done=True)


def _checked(kind: str, case: str) -> dict[str, Any]:
    try:
        return {"outcome": KINDS[kind].check(case)}
    except Exception as error:
        fault = fault_of(error)
        return {"outcome": "fault", "sort": fault.sort, "detail": fault.detail}


def _say(answers: IO[str], **what: Any) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
