"""Odd command lines and environments.

None of them may name a device of this machine as an output: writing to it could break the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError
from fuzz.schedules import saved_text
from fuzz.shrink import without_runs

PATIENCE_S = 90.0

_GOALS = (
    "f32[4,4] @ f32[4,4]", "sum(f32[4,8])", "", " ", "nonsense", "f32[0]", "f32[4", "relu(f32[2])",
    "f32[4,4] @ f32[4,4] -> bf16[4,4]", "f32[999999,999999] + f32[999999,999999]",
    "f32[4,4]{1,0:E(4)} @ f32[4,4]", "\x1b[31m[bold]", "--json", "x" * 5000, "fill_zero(f32[4])",
)  # fmt: skip
_WORDS: dict[str, tuple[str, ...]] = {
    "--target": ("avx2", "neon", "native", "nonsense", ""),
    "--threads": ("1", "2", "0", "-1", "all", "1e9", "99999999999999999999", "x", ""),
    "--db": ("t.db", ".", "link.db", "missing/t.db", "text.txt", "", "/"),
    "--weights": ("plain", "constant", "x"),
    "--rank": ("cost", "learned", "x"),
    "--measure": ("1", "2", "0", "-1", "65", "999999999999", "x", "1.5"),
    "-o": ("x.c", "link", "dangling", "missing/x.c", ".", "", "/proc/x", "text.txt"),
    "--header": ("x.h", "x.c", "link", ""),
    "--save": ("x.json", "x.c", "link", "./x.c"),
    "--name": ("kernel", "int", "a b", "1x", "", "x\n#include <x.h>", "main", "\u00fc", "x" * 300),
    "--schedule": ("good.json", "bad.json", "text.txt", ".", "missing.json", ""),
    "--vs": ("numpy", "x"),
    "--seconds": ("0.01", "0", "-1", "inf", "nan", "1e400", "x", ""),
    "--compiler": ("gcc", "zig", "true", "false", " ", "", "nonsense", "/", "gcc -fnonsense", "'"),
    "--samples": ("2", "0", "-1", "99999999999", "x"),
    "--seed": ("1", "-1", "99999999999999999999"),
    "--keep": ("1", "0", "-1", "65", "x"),
    "--workers": ("1", "0", "-1", "x", "99999"),
    "--cache": ("1", "0", "-1", "x", "99999999999999"),
    "--dask": ("", "nonsense", "tcp://127.0.0.1:1"),
    "--order": ("learned", "affine", "random", "nonsense"),
    "--json": (),
    "--no-verify": (),
    "--nonsense": (),
    "--help": (),
}
_OPTIONS = {
    "synth": ("--target", "--threads", "--db", "--weights", "-o", "--header", "--save", "--name",
              "--schedule", "--json", "--measure"),
    "bench": ("--target", "--threads", "--db", "--weights", "--measure", "--rank", "--vs",
              "--seconds", "--compiler", "--schedule", "--json", "--no-verify"),
    "explain": ("--target", "--threads", "--db", "--weights", "--schedule", "--json", "--measure",
                "--rank"),
    "model": ("--samples", "--seconds", "--seed", "--target", "--threads", "--compiler", "--json"),
    "tune": ("--order", "--seed", "--target", "--compiler", "--db", "--save", "--json"),
    "precompute": ("--db", "--target", "--keep", "--workers", "--cache", "--dask", "--json"),
    "targets": ("--json", "--nonsense", "--help"),
    "calibrate": ("--json", "--nonsense"),
}  # fmt: skip
_RANGES = ("m=1..4", "m=", "m=1..", "m=0", "m=4..1", "k=1,2", "m=1..999999999999", "=", "m")
_TABLES = ("stats", "check", "query", "merge", "nonsense")
_PATHS = ("t.db", "text.txt", "missing.db", ".", "link", "")

_ENVIRONMENT: dict[str, tuple[str | None, ...]] = {
    "CC": ("true", "false", "nonsense", " ", "gcc", "/", "'", "gcc -c"),
    "MORELLO_CACHE": ("/proc/none", "text.txt", "", "~nobody/x", "cache"),
    "MORELLO_CALIBRATION": ("text.txt", "bad.json", ".", "missing.json", "off"),
    "MORELLO_TABLE": ("text.txt", ".", "missing/t.db", "t.db", ""),
    "HOME": (None, "/nonexistent", ""),
    "XDG_CACHE_HOME": ("text.txt", "/nonexistent"),
    "TMPDIR": ("/nonexistent", "/proc"),
    "PATH": ("", "/nonexistent"),
    "LC_ALL": ("C", "POSIX", "nonsense"),
    "PYTHONIOENCODING": ("ascii", "utf-16"),
    "COLUMNS": ("0", "1", "-1", "x", "99999"),
    "TERM": ("dumb", ""),
    "OPENBLAS_NUM_THREADS": ("x", "0"),
}  # fmt: skip
_STREAMS = ("closed", "full", "pipe")


class Commands(Adversary):
    """Every command line is executed, or refused with a message."""

    name = "commands"
    what = "any command line, in any environment: exit code 0 or 2, and no traceback"
    patience_s = PATIENCE_S + 60

    def case(self, random: Random) -> str:
        environment = {
            name: random.choice(_ENVIRONMENT[name])
            for name in random.sample(sorted(_ENVIRONMENT), random.choice((0, 0, 1, 1, 2)))
        }
        streams = {}
        if random.random() < 0.25:
            streams[random.choice(("stdin", "stdout", "stderr"))] = random.choice(_STREAMS)
        return json.dumps({"line": _line(random), "environment": environment, "streams": streams})

    def check(self, case: str) -> str:
        fields = json.loads(case)
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            (folder / "text.txt").write_text("some text\n")
            (folder / "bad.json").write_text('{"morello": 2, "rewrites": [')
            (folder / "good.json").write_text(saved_text("sum(f32[4,16], axis=0)"))
            (folder / "link").symlink_to("text.txt")
            (folder / "dangling").symlink_to("nothing")
            (folder / "link.db").symlink_to("missing.db")
            code, errors = _run(folder, **fields)
        if "Traceback (most recent" in errors or "Exception ignored" in errors:
            raise FaultError(f"a traceback: {errors.strip().splitlines()[-1][:100]}", errors[-700:])
        if code not in (0, 2):
            raise FaultError("a strange exit code", f"{code}: {errors[-300:]}")
        if code == 2 and len(errors) > 4000:
            raise FaultError("a long message", f"{len(errors)} characters: {errors[:100]}")
        return PASSED if code == 0 else REFUSED

    def smaller(self, case: str) -> Iterator[str]:
        fields = json.loads(case)
        for name in fields["environment"]:
            rest = {k: v for k, v in fields["environment"].items() if k != name}
            yield json.dumps({**fields, "environment": rest})
        if fields["streams"]:
            yield json.dumps({**fields, "streams": {}})
        line = fields["line"]
        for kept in without_runs(line):
            yield json.dumps({**fields, "line": list(kept)})
        for i, word in enumerate(line):
            if len(word) > 20:
                yield json.dumps(
                    {**fields, "line": [*line[:i], word[: len(word) // 2], *line[i + 1 :]]}
                )


def _line(random: Random) -> list[str]:
    command = random.choice([*_OPTIONS, "synth", "bench", "explain", "table", "nonsense"])
    if command == "table":
        line = ["table", random.choice(_TABLES)]
        line += random.choices(_PATHS, k=random.choice((0, 1, 1, 2)))
        return line + ([random.choice(_GOALS)] if random.random() < 0.5 else [])
    line = [command]
    if command not in ("targets", "calibrate"):
        goal = random.choice(_GOALS) if random.random() < 0.4 else _GOALS[random.randrange(2)]
        line += [goal] if random.random() < 0.97 else []
    if command == "precompute":
        line[1:] = ["f32[m,4] @ f32[4,4]", *random.choices(_RANGES, k=random.choice((0, 1, 1, 2)))]
    if command == "model":
        line += ["--samples", "2", "--seconds", "0.01"]
    if command == "tune":
        line += ["--seconds", "0.5"]
    if command == "bench":
        line += ["--seconds", "0.01"]
    if command == "calibrate":
        line += ["--nonsense"]  # it would take minutes
    options = _OPTIONS.get(command, ())
    for option in random.sample(options, min(len(options), random.choice((0, 1, 1, 2, 3)))):
        values = _WORDS[option]
        line += [option, *([random.choice(values)] if values else [])]
    return line


def _run(
    folder: Path, line: list[str], environment: dict[str, str | None], streams: dict[str, str]
) -> tuple[int, str]:
    """Run a command line; returns its exit code and what it wrote to stderr."""
    changed: dict[str, Any] = dict(os.environ)
    for name, value in environment.items():
        changed.pop(name, None)
        if value is not None:
            changed[name] = value
    closed = [number for number, name in enumerate(("stdin", "stdout", "stderr"))
              if streams.get(name) == "closed"]  # fmt: skip
    log = folder / ".errors"
    with log.open("wb") as errors:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        given["stderr"] = errors
        opened: list[int] = []
        for name, how in streams.items():
            if how == "full":
                opened.append(os.open("/dev/full", os.O_RDWR))
                given[name] = opened[-1]
            elif how == "pipe" and name == "stdout":
                reader, writer = os.pipe()
                os.close(reader)
                opened.append(writer)
                given[name] = writer
        try:
            done = subprocess.run(
                [sys.executable, "-m", "morello", *line],
                cwd=folder,
                env=changed,
                timeout=PATIENCE_S,
                preexec_fn=_closing(closed),
                **given,
            )
        except subprocess.TimeoutExpired:
            raise FaultError("hang", f"still running after {PATIENCE_S:.0f} s") from None
        except ValueError as error:  # a NUL in an argument: no command at all
            return 2, str(error)
        finally:
            for descriptor in opened:
                os.close(descriptor)
    return done.returncode, log.read_text(errors="replace")


def _closing(numbers: list[int]) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close
