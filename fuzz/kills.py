"""Commands killed or interrupted at any moment."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from fuzz.adversary import PASSED, Adversary, FaultError
from fuzz.launch import Command
from morello.base.errors import MorelloError
from morello.memo import Table

PATIENCE_S = 120.0
CALIBRATING_S = 8.0
"""Calibration is killed within this many seconds: all of it takes minutes."""
OLD = "what was there before\n"
_PRODUCT = "f32[16,16] @ f32[16,16]"

COMMANDS: dict[str, tuple[str, ...]] = {
    "synth": ("synth", _PRODUCT, "--target", "avx2", "-o", "x.c", "--header", "x.h",
              "--save", "x.json", "--db", "t.db"),
    "bench": ("bench", "f32[8,8] + f32[8,8]", "--seconds", "0.05", "--db", "t.db"),
    "measure": ("bench", "f32[8,8] @ f32[8,8]", "--seconds", "0.02", "--measure", "3"),
    "explain": ("explain", "softmax(f32[8,8])", "--target", "avx2", "--db", "t.db"),
    "precompute": ("precompute", "f32[m,k] @ f32[k,4]", "m=1..8", "k=1..4", "--target", "avx2",
                   "--db", "t.db", "--workers", "2"),
    "merge": ("table", "merge", "t.db", "more.db"),
    "calibrate": ("calibrate", "--dry-run"),
}  # fmt: skip
"""The commands that are run, each in its own folder."""

_MADE = {"x.c", "x.h", "x.json", "t.db", "more.db"}
_LOGS = {"t.db-wal", "t.db-shm", "more.db-wal", "more.db-shm"}

API = (
    "import sys\n"
    "try:\n"
    "    import morello\n"
    "    morello.compile('layer_norm(f32[4,8], f32[8], f32[8])', target='native')\n"
    "except KeyboardInterrupt:\n"
    "    sys.exit(130)\n"
)
"""The Python calls that are interrupted."""


@dataclass(frozen=True)
class Clean:
    """An undisturbed run of a command: its seconds, and the text files that it wrote."""

    seconds: float
    files: dict[str, str]


class Kills(Adversary):
    """Nothing is lost, half-written or left running when a command is killed."""

    name = "kills"
    what = "after SIGKILL no row is lost, no file is half there, no process is left"
    patience_s = 400.0
    number = signal.SIGKILL

    def case(self, random: Random) -> str:
        name = random.choice(list(COMMANDS))
        share = random.uniform(0.1, 1.1)
        return json.dumps([name, round(share, 3), random.random() < 0.5])

    def check(self, case: str) -> str:
        name, share, old = json.loads(case)
        clean = _clean(name)
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            before = _furnish(folder, old=old)
            command = Command.start(("-m", "morello", *COMMANDS[name]), folder)
            code, errors = command.after(share * clean.seconds, self.number, PATIENCE_S)
            self.judge(code, errors)
            if "best program so far" not in errors:  # which is another one
                _check_files(folder, clean, old=old)
            _check_tables(folder, before)
            if self.number == signal.SIGKILL and share > 0.9 and name != "calibrate":
                # the next command cleans up what the killed one left
                code, errors = Command.start(("-m", "morello", *COMMANDS[name]), folder).done(
                    PATIENCE_S
                )
                if code != 0:
                    raise FaultError("a command that fails after a kill", errors[-300:])
            self.judge_folder(folder)
        return PASSED

    def judge(self, code: int, errors: str) -> None:
        """Check an exit code and messages; raises `FaultError`."""

    def judge_folder(self, folder: Path) -> None:
        """Check the files that a command left; raises `FaultError`."""

    def smaller(self, case: str) -> Iterator[str]:
        name, share, old = json.loads(case)
        if old:
            yield json.dumps([name, share, False])


class Interrupts(Kills):
    """A command that is interrupted reports it, cleans up and ends."""

    name = "interrupts"
    what = "after SIGINT: exit code 130, no traceback, no process, no scrap of a file"
    number = signal.SIGINT

    def case(self, random: Random) -> str:
        if random.random() < 0.2:
            return json.dumps(["python", round(random.uniform(0.1, 1.1), 3), False])
        return super().case(random)

    def check(self, case: str) -> str:
        name, share, _ = json.loads(case)
        if name != "python":
            return super().check(case)
        with tempfile.TemporaryDirectory() as folder:
            command = Command.start(("-c", API), Path(folder))
            self.judge(*command.after(share * _api_seconds(), self.number, PATIENCE_S))
        return PASSED

    def judge(self, code: int, errors: str) -> None:
        if "Traceback" in errors and " in main\n" not in errors and "<string>" not in errors:
            return  # the signal came before Morello's code ran
        if "Traceback" in errors:
            raise FaultError("a traceback", errors[-500:])
        if code not in (0, 130):
            raise FaultError("a strange exit code", f"{code}: {errors[-300:]}")

    def judge_folder(self, folder: Path) -> None:
        extra = sorted(path.name for path in folder.iterdir())
        scraps = [name for name in extra if name not in _MADE | _LOGS]
        if scraps:
            raise FaultError("scraps of files", ", ".join(scraps))


def _furnish(folder: Path, *, old: bool) -> dict[str, set[str]]:
    """Write what commands need into a folder: tables, and `old` files to replace.

    Returns the contents of the tables.
    """
    tables = _tables()
    for name, (data, _) in tables.items():
        (folder / name).write_bytes(data)
    if old:
        for name in ("x.c", "x.h", "x.json"):
            (folder / name).write_text(OLD)
    return {name: keys for name, (_, keys) in tables.items()}


def _check_files(folder: Path, clean: Clean, *, old: bool) -> None:
    for name, text in clean.files.items():
        path = folder / name
        known = [text, OLD] if old else [text]
        if (old and not path.exists()) or (path.exists() and path.read_text() not in known):
            raise FaultError("a file in pieces", f"{name}: {path.exists()}")


def _check_tables(folder: Path, before: dict[str, set[str]]) -> None:
    for name, keys in before.items():
        try:
            with Table(folder / name, create=False) as table:
                problems, present = table.check(), _content(table)
        except MorelloError as error:
            raise FaultError("a damaged table", f"{name}: {error}") from None
        if problems:
            raise FaultError("a damaged table", f"{name}: {problems[0]}")
        if not keys <= present:
            raise FaultError("rows lost", f"{name}: {sorted(keys - present)[0][:200]}")


def _content(table: Table) -> set[str]:
    goals = {f"goal {space} {goal} {table.program(space, goal)}" for space, goal in table.goals()}
    return goals | {f"page {key}" for key, _, _ in table.pages()}


@cache
def _tables() -> dict[str, tuple[bytes, set[str]]]:
    """Two tables: the files, and their contents."""
    tables = {}
    for name, goal in (("t.db", "f32[4,4] @ f32[4,4]"), ("more.db", "sum(f32[4,4])")):
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            arguments = ("-m", "morello", "explain", goal, "--target", "avx2", "--db", name)
            code, errors = Command.start(arguments, folder).done(PATIENCE_S)
            assert code == 0, errors
            with Table(folder / name) as table:
                content = _content(table)
            tables[name] = (folder / name).read_bytes(), content
    return tables


@cache
def _clean(name: str) -> Clean:
    if name == "calibrate":
        return Clean(CALIBRATING_S, {})  # the whole of it takes minutes
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        _furnish(folder, old=False)
        began = time.monotonic()
        code, errors = Command.start(("-m", "morello", *COMMANDS[name]), folder).done(PATIENCE_S)
        seconds = time.monotonic() - began
        assert code == 0, errors
        texts = {
            path.name: path.read_text()
            for path in folder.iterdir()
            if path.suffix[1:] in ("c", "h", "json")
        }
        return Clean(seconds, texts)


@cache
def _api_seconds() -> float:
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        Command.start(("-c", API), Path(directory)).done(PATIENCE_S)
        return time.monotonic() - began
