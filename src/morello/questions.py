"""Questions that were answered before: hashes of all that the answer depends on.

By them, what was made of the programs that answered them is kept in the kernel cache. It holds as
long as the table has the same programs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any

from morello.base import debug
from morello.base.errors import TargetError
from morello.base.stamps import code_stamps, stamps
from morello.memo.program_table import ProgramTable
from morello.native.toolchain import COMMANDS
from morello.tables import OFF, keep_text
from morello.tables import VARIABLE as TABLE
from morello.targets.calibration_path import chosen_path
from morello.targets.cpu import host_cpu

VARIABLES = ("MORELLO_CALIBRATION", "CC")
"""The environment variables that answers depend on, beside what PATH leads to."""

USUAL = {"measure": 1, "choice": 1, "rank": None}
"""The values of options that choose among programs, for those that are kept."""

Places = Sequence[tuple[str, str]]
"""Where a table may have the program of a question: search spaces, and names of goals."""


def question(what: object, options: Mapping[str, Any]) -> str | None:
    """A hash of an expression or a Spec, the options, this machine, and Morello's code.

    None if what is made is not to be kept: of a program that is measured or ranked, or of anything
    but an expression or a Spec for the name of a target, or with a table of its own.
    """
    asked = {name: value for name, value in options.items() if name not in ("table", "progress")}
    plain = all(isinstance(value, str | int | float | None) for value in asked.values())
    plain = plain and all(asked.get(name, value) == value for name, value in USUAL.items())
    text = _text(what)
    if text is None or not plain or options.get("table") is not None:
        return None
    if os.environ.get(TABLE) == OFF or os.environ.get(debug.VARIABLE):
        return None
    if asked.get("threads") == "all":
        from morello.runtime.threads import available_threads  # slow to import

        asked["threads"] = available_threads()
    try:
        parts = [json.dumps([text, USUAL | asked], sort_keys=True)]
        parts += [*_machine(), *_toolchain(str(asked.get("compiler") or "")), _code()]
    except (OSError, TargetError, ValueError):  # no home directory; a name that no file can have
        return None
    return blake2b("\n".join(parts).encode(errors="replace"), digest_size=16).hexdigest()


def _text(what: object) -> str | None:
    """An expression, or a text that stands for a Spec; None for anything else."""
    if isinstance(what, str):
        return what
    from morello.impl.saved import spec_text  # slow to import, and expressions need none of it
    from morello.ir.spec import Spec

    return spec_text(what) if isinstance(what, Spec) else None


def kept(asked: str, table: ProgramTable, known: ProgramTable) -> tuple[str, dict[str, Any]] | None:
    """The program that answered a question, as text, and what was made of it.

    The program is in a `table`, and what was made of it in another one, `known` (see `texts`). None
    if there is none, or the table has other programs by now.
    """
    text = known.program("", asked)
    if text is None:
        return None
    record = json.loads(text)
    programs = _programs(table, record["places"])
    if [*map(_digest, programs)] != record["programs"]:
        return None
    return _first(programs), record["content"]


def keep(
    asked: str, content: Mapping[str, Any], table: ProgramTable, places: Places, decisions: object
) -> None:
    """Keep what was made of the program with these decisions, if the table has it."""
    programs = _programs(table, places)
    if not any(programs) or json.loads(_first(programs))["rewrites"] != decisions:
        return
    record = {"places": places, "programs": [*map(_digest, programs)], "content": content}
    keep_text(asked, json.dumps(record))


def _programs(table: ProgramTable, places: Places) -> list[str | None]:
    return [table.program(space, name) for space, name in places]


def _first(programs: Sequence[str | None]) -> str:
    """The program that a table gives for a goal; there must be one."""
    return next(text for text in programs if text is not None)


def _digest(text: str | None) -> str | None:
    return None if text is None else blake2b(text.encode(), digest_size=16).hexdigest()


# ---- what answers depend on


def _machine() -> Iterator[str]:
    """This CPU, and the file of the costs that were measured on it.

    How many of its cores the process may use is not asked for: threads are given as a number.
    """
    cpu = host_cpu()
    yield repr(replace(cpu, features=frozenset(), cores=0))
    yield from sorted(cpu.features)
    path = chosen_path(cpu)
    yield from stamps([str(path)] if path else [])


def _toolchain(requested: str) -> Iterator[str]:
    """The variables, the compilers that PATH or they lead to or that are requested, and the wheel
    that may have one.
    """
    values = {name: os.environ.get(name, "") for name in VARIABLES}
    yield from (f"{name}={value}" for name, value in values.items())
    folders = os.environ.get("PATH", "").split(os.pathsep)
    words = (*values["CC"].split(), *requested.split())
    yield from _compilers(words, (*folders,), (*stamps(folders),))
    yield from stamps([os.path.join(folder, "ziglang") for folder in sys.path])


@cache
def _compilers(
    words: tuple[str, ...], folders: tuple[str, ...], times: tuple[str, ...]
) -> Sequence[str]:
    """The stamps of compilers, and of what the words of a command name, in these folders.

    The answer holds as long as the folders' own stamps, `times`, are the same: these change as well
    when other programs come and go.
    """
    names = (*words, *COMMANDS)
    return [*stamps([os.path.join(folder, name) for name in names for folder in folders])]


@cache
def _code() -> str:
    """This package: the times and sizes of its files."""
    return code_stamps()
