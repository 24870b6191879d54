"""`MORELLO_DEBUG=search,c,cost,verify`: topics of which Morello reports its work on stderr."""

from __future__ import annotations

import os
import sys

from morello.base.errors import MorelloError, quoted

VARIABLE = "MORELLO_DEBUG"

TOPICS = {
    "search": "each wave of a search's expansion, and the engine's counts",
    "c": "each C file that is built, the compiler's command, and its time",
    "cost": "the best program's cost by node",
    "verify": "each program whose statements are verified before they are printed as C",
}


def topics() -> frozenset[str]:
    """The topics that the environment variable names; raises `MorelloError` for other words."""
    text = os.environ.get(VARIABLE, "")
    words = frozenset(word.strip() for word in text.split(",")) - {""}
    for word in sorted(words - TOPICS.keys()):
        raise MorelloError(f"{VARIABLE}: {quoted(word)} is none of {', '.join(TOPICS)}.")
    return words


def shows(topic: str) -> bool:
    """Whether a topic is reported."""
    return VARIABLE in os.environ and topic in topics()


def show(topic: str, text: str) -> None:
    """Report a line or several, each of which starts with the topic."""
    for line in text.splitlines():
        print(f"{topic}: {line}", file=sys.stderr)
