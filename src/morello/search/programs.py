"""Programs of whole goals in a table: what was asked before is answered at once."""

from __future__ import annotations

import hashlib
import json

from morello.errors import RewriteError
from morello.ir.spec import Spec
from morello.rewrites import saved
from morello.rewrites.impl import Impl
from morello.search.graph import panel_widths
from morello.search.memory import space_name
from morello.table import Table
from morello.targets.target import Target


def recall(goal: Spec, target: Target, table: Table) -> Impl | None:
    """The program that a table has of a goal, if it has one."""
    text = table.program(*_place(goal, target))
    if text is None:
        return None
    try:
        impl = saved.load(json.loads(text), target)
    except RewriteError:  # of a version whose rewrites were other ones
        return None
    return impl if impl.spec == goal else None


def keep(impl: Impl, table: Table) -> None:
    """Remember the program of a goal."""
    table.keep_program(*_place(impl.spec, impl.target), program_text(impl))


def program_text(impl: Impl) -> str:
    """What is kept of a program."""
    return json.dumps(saved.save(impl), separators=(",", ":"))


def _place(goal: Spec, target: Target) -> tuple[str, str]:
    text = json.dumps(saved.spec_data(goal, target), separators=(",", ":"))
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return space_name(target, panel_widths(goal)), name
