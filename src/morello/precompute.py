"""Solving a family of Specs into a table, on all cores or on a Dask cluster.

A task solves some members of the family with a table of its own, which does not depend on
other tasks. The tasks' tables are merged in task order, whichever finishes first, so that the
same family gives the same table, byte for byte, wherever it is computed and however often
that is interrupted.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from math import inf, log2
from pathlib import Path

from morello.base.errors import MorelloError, TableError, TargetError
from morello.frontends.ranges import SpecFamily
from morello.frontends.text import parse
from morello.memo import Key, Table
from morello.memo.page import decode, encode
from morello.memo.space_name import space_name
from morello.request import Request, answer
from morello.search.budget import Budget
from morello.targets.caches import limited
from morello.targets.catalog import find_target
from morello.targets.costs import on_cores
from morello.targets.target import Target

AHEAD = 4
"""Tasks submitted ahead for each worker, so that none is idle."""
WEIGHT = 1500.0
"""The approximate weight (see `_weight`) of a task, which takes a second or two."""
DASK_S = 10.0
"""The seconds that a Dask scheduler has to answer."""
PERIOD_S = 0.2
"""The seconds from one look at what workers have solved to the next."""
MEMORY = 0.7
"""The share of the free memory that all workers together may use."""


@dataclass(frozen=True)
class Setting:
    """The machine that a family is solved for, and the layouts of weights.

    `target` is the name of a target, `limits` are its capacities if they are others (see
    `targets.caches.limited`).
    """

    target: str
    threads: int = 1
    weights: str = "plain"
    limits: str = ""

    def machine(self) -> Target:
        """Raises `TargetError`."""
        target = find_target(self.target)
        if self.limits:
            target = limited(target, self.limits)
        return replace(target, cores=self.threads)

    @property
    def space(self) -> str:
        """The name of this machine's plain space (see `space_name`); raises `TargetError`."""
        return space_name(self.machine())


@dataclass(frozen=True)
class Task:
    """Members of a family, to be solved one after the other; `weight` estimates the time."""

    name: str
    expressions: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class TaskResult:
    """The result of a task: encoded pages, programs, and the errors of Specs that failed."""

    pages: tuple[tuple[Key, bytes], ...]
    programs: tuple[tuple[str, str, str], ...]
    failed: tuple[str, ...]


@dataclass(frozen=True)
class PrecomputeProgress:
    """How many tasks are done, how many goals are solved, and which share of the total work."""

    done: int
    tasks: int
    goals: int
    share: float
    failed: int


def tasks_of(family: SpecFamily, setting: Setting, keeps: int) -> list[Task]:
    """The tasks of a family, in order."""
    about = [setting.space, str(keeps), *[setting.weights] * (setting.weights != "plain")]
    tasks: list[Task] = []
    members: list[str] = []
    weight = 0.0
    for sizes, expression in family.expressions():
        members.append(expression)
        weight += _weight(sizes)
        if weight >= WEIGHT:
            tasks.append(_task(members, weight, about))
            members, weight = [], 0.0
    return [*tasks, _task(members, weight, about)] if members else tasks


def _weight(sizes: Sequence[int]) -> float:
    """A rough estimate of the search effort, which grows with the number of tilings."""
    weight = 20.0
    for size in sizes:
        weight *= 1 + log2(size) / 4
    return weight


def _task(members: Sequence[str], weight: float, about: Sequence[str]) -> Task:
    name = "\n".join([*about, *members])
    return Task(hashlib.blake2b(name.encode(), digest_size=12).hexdigest(), tuple(members), weight)


def solve_task(
    task: Task, setting: Setting, space: str, keeps: int, workers: int, log: Path | None = None
) -> TaskResult:
    """Solve the members of a task; called in one of `workers` worker processes.

    For each that is solved, the task's name is added to the `log`. There is no time limit, as the
    result must not depend on the time available.
    """
    here = min(workers, os.cpu_count() or 1)  # others may be on other machines
    budget = Budget(inf, MEMORY / here)
    if setting.space != space:
        raise TargetError(
            f"a worker's {setting.target} is another machine, or has another version of Morello, "
            "than the one that it works for; name a --target, and install the same version."
        )
    machine, weights = setting.machine(), setting.weights
    failed = []
    with Table(":memory:", keeps) as table:
        for expression in task.expressions:
            try:
                goal, own = on_cores(parse(expression), machine, setting.threads)
                answer(Request(goal, own, table=table, weights=weights, budget=budget))
            except MorelloError as error:
                failed.append(str(error))
            if log is not None:
                with log.open("a") as file:
                    file.write(f"{task.name}\n")
        pages = tuple((key, encode(page, str(key))) for key, page, _ in table.pages())
        programs = tuple((s, g, table.program(s, g) or "") for s, g in table.goals())
    return TaskResult(pages, programs, tuple(failed))


def precompute(
    family: SpecFamily,
    table: Table,
    setting: Setting,
    workers: Executor,
    count: int,
    log: Path | None = None,
) -> Iterator[PrecomputeProgress]:
    """Solve what a table lacks of a family, on `count` workers; yields progress.

    It does so after each task. With a `log`, an empty file that the workers can write to, it also
    does so again and again meanwhile, and counts what is solved of tasks that are not done. The
    caller shuts the workers down, and with them the tasks that were submitted ahead.
    """
    tasks = tasks_of(family, setting, table.keeps)
    known = table.done()
    done = {task.name for task in tasks if task.name in known}
    failed = 0
    yield _progress(tasks, done, failed, log)
    space = setting.space
    waiting: list[tuple[Task, Future[TaskResult]]] = []
    coming = (task for task in tasks if task.name not in known)
    while True:
        for task in islice(coming, AHEAD * count - len(waiting)):
            future = workers.submit(solve_task, task, setting, space, table.keeps, count, log)
            waiting.append((task, future))
        if not waiting:
            return
        task, future = waiting.pop(0)
        while log is not None and not wait([future], PERIOD_S).done:
            yield _progress(tasks, done, failed, log)
        result = future.result()
        table.add_task(
            task.name,
            {key: decode(body, str(key)) for key, body in result.pages},
            {Key(s, goal, ""): text for s, goal, text in result.programs},
        )
        done.add(task.name)
        failed += len(result.failed)
        yield _progress(tasks, done, failed, log)


def _progress(
    tasks: Sequence[Task], done: Collection[str], failed: int, log: Path | None
) -> PrecomputeProgress:
    """The progress once the tasks of some names are done, and the log has what it has."""
    solved = Counter({t.name: len(t.expressions) for t in tasks if t.name in done})
    if log is not None:
        solved |= Counter(log.read_text().split())
    total = sum(task.weight for task in tasks)
    share = sum(task.weight * solved[task.name] / len(task.expressions) for task in tasks) / total
    return PrecomputeProgress(len(done), len(tasks), solved.total(), share, failed)


@contextmanager
def dask_workers(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of the Dask cluster whose scheduler has this address, and how many."""
    try:
        from distributed import Client
    except ImportError:
        raise TableError("--dask needs Dask: pip install 'morello[dask]'.") from None
    try:
        client = Client(address, timeout=DASK_S)
    except (OSError, ValueError) as error:
        raise TableError(f"no Dask scheduler answers at {address}: {error}.") from None
    with client:
        threads = client.nthreads()
        if not threads:
            raise TableError(f"the Dask scheduler at {address} has no workers; start some.")
        yield client.get_executor(pure=False), sum(threads.values())
