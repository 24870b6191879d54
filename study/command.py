"""How the commands of the study end."""

from __future__ import annotations

import sys
from collections.abc import Callable

from morello.base.errors import MorelloError

USAGE_ERROR, INTERRUPTED = 2, 130


def exit_code(name: str, command: Callable[[], None]) -> int:
    """The exit code of a command, which says on stderr why it ended early."""
    try:
        command()
    except MorelloError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print(f"{name}: interrupted.", file=sys.stderr)
        return INTERRUPTED
    return 0
