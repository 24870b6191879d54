"""Damaged, swapped or planted objects in the kernel cache: the right kernel must be loaded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import morello
from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError, fault_of
from fuzz.damage import damaged, edits, fewer
from morello.base.errors import MorelloError

GOALS = ("f32[4,4] + f32[4,4]", "f32[4,4] * f32[4,4]")
_KINDS = ("bytes", "bytes", "bytes", "empty", "other", "folder", "link", "dangling", "unreadable",
          "text", "missing")  # fmt: skip
_RIGHT, _REFUSED, _FAULT = 0, 10, 11


class Caches(Adversary):
    """A bad object in the kernel cache is rebuilt or refused."""

    name = "cache"
    what = "after damage to cached kernels, compile gives the right one or a sentence"

    def case(self, random: Random) -> str:
        kind = random.choice(_KINDS)
        fields: dict[str, Any] = {"file": random.randrange(6), "kind": kind}
        if kind == "bytes":
            fields["edits"] = edits(random)
        return json.dumps(fields)

    def check(self, case: str) -> str:
        fields = json.loads(case)
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder) / "cache"
            shutil.copytree(_good(), at)
            files = sorted(path for path in at.rglob("*") if path.is_file())
            _damage(files, fields)
            return _tried(at, folder)

    def smaller(self, case: str) -> Iterator[str]:
        fields = json.loads(case)
        for kept in fewer(fields.get("edits", ())):
            yield json.dumps({**fields, "edits": kept})


def _damage(files: list[Path], fields: dict[str, Any]) -> None:
    path = files[fields["file"] % len(files)]
    data = path.read_bytes()
    path.unlink()
    match fields["kind"]:
        case "bytes":
            path.write_bytes(damaged(data, fields["edits"]))
        case "empty":
            path.touch()
        case "other":
            same = [other for other in files if other.suffix == path.suffix and other != path]
            path.write_bytes(same[0].read_bytes() if same else b"")
        case "folder":
            path.mkdir()
        case "link":
            moved = path.with_name("moved")
            moved.write_bytes(data)
            path.symlink_to(moved)
        case "dangling":
            path.symlink_to(path.with_name("nothing"))
        case "unreadable":
            path.write_bytes(data)
            path.chmod(0)
        case "text":
            path.write_text("not a shared object")


def _tried(at: Path, folder: str) -> str:
    """Load from the cache in a separate process, which must not crash."""
    report = Path(folder) / "report"
    child = os.fork()
    if child == 0:
        code = _FAULT
        try:
            code = _used(at)
        except MorelloError:
            code = _REFUSED
        except BaseException as error:
            report.write_text(json.dumps([fault_of(error).sort, traceback.format_exc()[-300:]]))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise FaultError(f"crash: {signal.Signals(os.WTERMSIG(status)).name}", "while loading")
    code = os.waitstatus_to_exitcode(status)
    if code == _FAULT:
        sort, detail = json.loads(report.read_text())
        raise FaultError(sort, detail)
    return PASSED if code == _RIGHT else REFUSED


def _used(at: Path) -> int:
    os.environ["MORELLO_CACHE"] = str(at)
    for number, goal in enumerate(GOALS):
        kernel = morello.compile(_impls()[goal], verify=False)
        a, b = np.arange(32, dtype=np.float32).reshape(2, 4, 4)
        if not np.array_equal(kernel(a, b), a * b if number else a + b):
            raise FaultError("a wrong kernel", goal)
    return _RIGHT


@cache
def _impls() -> dict[str, Any]:
    return {goal: morello.implement(goal)[0] for goal in GOALS}


@cache
def _good() -> Path:
    """A folder with the kernels of the goals, made by another process."""
    at = Path(tempfile.mkdtemp(prefix="good-")) / "cache"
    _impls()
    outcome = _tried(at, str(at.parent))
    assert outcome == PASSED, outcome
    return at
