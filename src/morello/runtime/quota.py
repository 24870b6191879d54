"""The CPU time that the cgroups of this process allow it, as containers limit it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path


def cpu_quota(root: Path = Path("/")) -> float:
    """How many CPUs' time this process may use; infinite if nothing limits it.

    `root` is where its file system begins.
    """
    return min(map(_limit, _folders(root)), default=inf)


def _folders(root: Path) -> Iterator[Path]:
    """The folders of the cgroups that may limit CPU time: this process's, and their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    mounted = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            top = mounted
        elif "cpu" in controllers.split(","):
            top = mounted / "cpu"
        else:
            continue
        folder = top / path.lstrip("/")
        yield folder
        # A container may see its own group as the top, and its path as it is outside.
        yield from (parent for parent in folder.parents if parent.is_relative_to(top))


def _limit(folder: Path) -> float:
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        return inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        allowed = int((folder / "cpu.cfs_quota_us").read_text(encoding="utf-8"))
        of = int((folder / "cpu.cfs_period_us").read_text(encoding="utf-8"))
        return inf if allowed < 0 else allowed / of
    return inf
