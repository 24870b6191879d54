"""How much CPU time cgroups leave, in file systems made up here."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from morello.runtime import threads
from morello.runtime.quota import cpu_quota


def files(root: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_the_tightest_group_counts(tmp_path: Path) -> None:
    groups = "sys/fs/cgroup"
    files(
        tmp_path,
        **{
            "proc/self/cgroup": "0::/outer/inner\n",
            f"{groups}/outer/cpu.max": "150000 100000\n",
            f"{groups}/outer/inner/cpu.max": "max 100000\n",
        },
    )
    assert cpu_quota(tmp_path) == 1.5


def test_a_container_that_sees_its_group_as_the_top(tmp_path: Path) -> None:
    top = "sys/fs/cgroup/cpu"
    files(
        tmp_path,
        **{
            "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/docker/ab12\n",
            f"{top}/cpu.cfs_quota_us": "400000\n",
            f"{top}/cpu.cfs_period_us": "100000\n",
        },
    )
    assert cpu_quota(tmp_path) == 4


def test_no_limit(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == inf
    files(tmp_path, **{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"})
    assert cpu_quota(tmp_path) == inf


def test_threads_are_as_many_as_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "usable_cpus", lambda: 8)
    for quota, count in ((inf, 8), (2.5, 3), (0.2, 1), (64, 8)):
        monkeypatch.setattr(threads, "cpu_quota", lambda quota=quota: quota)
        assert threads.thread_count("all") == count
    threads.check_threads(8)  # more than have time all the time are no error
