"""Compiling several Specs at once, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Unpack

from morello.base.errors import (
    CompileAllError,
    MorelloError,
    SeveralKernelsError,
    TargetError,
)
from morello.base.sharing import SharedWork
from morello.base.status import tell
from morello.building import build_together, remember_answer
from morello.impl.saved import load_spec, save_spec
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.kernel import Kernel
from morello.memo import Table
from morello.options import Options, requested
from morello.questions import question
from morello.recall import recall_all
from morello.request import Request
from morello.request.together import grouped
from morello.runtime.threads import available_threads
from morello.scheduling import Schedule
from morello.status_line import shown
from morello.tables import opened
from morello.targets.catalog import find_target
from morello.targets.target import Target

What = str | Spec | Impl | Schedule
_Result = Kernel | Exception


def compile_each(
    whats: Iterable[tuple[What, Options]],
    *,
    verify: bool = True,
    program: Callable[[str, Options], Callable[[], Kernel]] | None = None,
    **options: Unpack[Options],
) -> list[Kernel]:
    """`compile_all` for Specs that may each have `weights` and a `budget` of their own.

    For texts that no single kernel computes, `program` gives what compiles them.
    """
    asked = [_Asked(question(what, options | own), what, own) for what, own in whats]
    known = recall_all((each.question for each in asked), verify=verify)
    with shown(options.get("progress")) as report:
        missing = [each for each in asked if each.question not in known]
        new = iter(_compiled_anew(missing, options | {"progress": report}, verify, program))
    results = [known[each.question] if each.question in known else next(new) for each in asked]
    failed = [n for n, result in enumerate(results) if isinstance(result, Exception)]
    if failed:
        raise CompileAllError(
            f"{len(failed)} of {len(results)} Specs have no kernel; the first is number "
            f"{failed[0] + 1}: {results[failed[0]]}",
            tuple(results),
        )
    return [kernel for kernel in results if isinstance(kernel, Kernel)]


@dataclass(frozen=True)
class _Asked:
    """A Spec to compile, with options of its own, and its question."""

    question: str | None
    what: What
    own: Options


def _compiled_anew(
    asked: Sequence[_Asked],
    options: Options,
    verify: bool,
    program: Callable[[str, Options], Callable[[], Kernel]] | None,
) -> list[_Result]:
    """The kernel of each Spec, or the error that it raised.

    Equal Specs are compiled once. The kernels are remembered.
    """
    items: dict[Hashable, tuple[_Asked, Request]] = {}
    programs: dict[Hashable, Callable[[], Kernel]] = {}
    keys: list[Hashable] = []
    for each in asked:
        try:
            with requested(each.what, **options | each.own) as request:
                keys.append(_key(request))
        except SeveralKernelsError:
            if program is None or not isinstance(each.what, str):
                raise
            keys.append((each.what, *sorted(each.own.items())))
            if keys[-1] not in programs:
                programs[keys[-1]] = program(each.what, options | each.own)
        else:
            items.setdefault(keys[-1], (each, request))
    results = _compiled([*items.values()], options, verify)
    with opened(options.get("table")) as table:
        for (each, request), result in zip(items.values(), results, strict=True):
            now = question(each.what, options | each.own)
            if isinstance(result, Kernel) and each.question == now:
                remember_answer(each.question, result, replace(request, table=table))
    kernels = dict(zip(items, results, strict=True))
    for key, compiled in programs.items():
        try:
            kernels[key] = compiled()
        except MorelloError as error:
            kernels[key] = error
    return [kernels[key] for key in keys]


def _key(request: Request) -> Hashable:
    """Equal for requests that get one kernel: names are those of its arguments."""
    goal = request.goal
    if isinstance(goal, Impl):
        return id(goal)
    return goal, goal.names, request.weights, request.target


@dataclass(frozen=True)
class _Movable:
    """A Spec that can be sent to a worker: when it is pickled, it becomes the Spec of its data."""

    spec: Spec
    data: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self.data,)


def _loaded(data: Mapping[str, Any]) -> Spec:
    return load_spec(data)[0]


def _movable(what: What, target: Target) -> What | _Movable:
    """A Spec as data for a worker, if these data mean the same; anything else as it is."""
    if not isinstance(what, Spec):
        return what
    data = save_spec(what, target)
    try:
        same = _loaded(data)
    except MorelloError:
        return what
    return _Movable(what, data) if (same, same.names) == (what, what.names) else what


def _compiled(
    items: Sequence[tuple[_Asked, Request]], options: Options, verify: bool
) -> list[_Result]:
    """The kernel of each item, or the error that it raised."""
    sent = _sendable(options)
    processes = available_threads() if sent is not None else 1
    groups = grouped([request for _, request in items], processes)
    share = 1 / min(processes, max(len(groups), 1))
    either = [(_movable(each.what, request.target), each.own) for each, request in items]
    work: SharedWork[list[tuple[What | _Movable, Options]], Sequence[_Result]] = SharedWork(
        [[either[number] for number in group] for group in groups],
        here=lambda some: _build(
            [(what.spec if isinstance(what, _Movable) else what, each) for what, each in some],
            options | {"progress": reported}, verify, share,
        ),
        there=partial(_build_there, sent or {}, verify, share),
        movable=lambda some: (
            sent is not None and all(isinstance(what, str | _Movable) for what, _ in some)
        ),
    )  # fmt: skip
    progress = options.get("progress")

    def reported(specs: int = 0, rewrites: int = 0) -> None:
        if callable(progress):
            ended = [_statistics(result) for result in _by_item(groups, work.results).values()]
            tell(done=len(ended), count=len(items))
            progress(specs + sum(n for n, _ in ended), rewrites + sum(n for _, n in ended))

    def waiting() -> None:
        tell(phase="search", cost=inf, ends=inf, note="in other processes")
        reported()

    work.do(processes - 1, waiting=waiting)
    results = _by_item(groups, work.results)
    return [results[number] for number in range(len(items))]


def _by_item(
    groups: Sequence[Sequence[int]], results: Mapping[int, Sequence[_Result] | Exception]
) -> dict[int, _Result]:
    """The results of items by their numbers, given those of groups."""
    every: dict[int, _Result] = {}
    for number, result in list(results.items()):
        for place, item in enumerate(groups[number]):
            every[item] = result if isinstance(result, Exception) else result[place]
    return every


def _build(
    whats: Sequence[tuple[What, Options]], options: Options, verify: bool, share: float
) -> Sequence[_Result]:
    """The kernels of Specs that are searched together, or the errors that they raised.

    They are given with options of their own. A search gets a share of the memory that one alone
    would have.
    """
    with ExitStack() as stack:
        requests = [stack.enter_context(requested(what, **options | own)) for what, own in whats]
        memory = share * requests[0].budget.memory
        return build_together(
            [replace(each, budget=replace(each.budget, memory=memory)) for each in requests],
            verify=verify,
        )


def _build_there(
    options: Options, verify: bool, share: float, items: Sequence[tuple[What, Options]]
) -> Sequence[_Result]:
    """`_build` in a worker."""
    return _build(items, options, verify, share)


def _sendable(options: Options) -> Options | None:
    """The options as they are pickled for a worker; None if it cannot do what they ask for."""
    sent, target, table = options.copy(), options.get("target", "native"), options.get("table")
    sent.pop("progress", None)
    if options.get("measure", 1) > 1:
        return None
    if isinstance(target, Target):
        if not _is_known(target):
            return None
        sent["target"] = target.name
    if isinstance(table, Table):
        if str(table.path) == ":memory:":
            return None
        sent["table"] = table.path
    return sent


def _is_known(target: Target) -> bool:
    try:
        return find_target(target.name) == target
    except TargetError:
        return False


def _statistics(result: _Result) -> tuple[int, int]:
    """The numbers of Specs and rewrites that the search for a kernel expanded."""
    if isinstance(result, Exception) or result.statistics is None:
        return 0, 0
    return result.statistics.specs, result.statistics.rewrites
