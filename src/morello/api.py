"""The functions that users call.

They import what they need when they are called: a kernel that is remembered needs little of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from morello.base.errors import SeveralKernelsError
from morello.kernel import Kernel as Kernel
from morello.questions import question
from morello.recall import recall
from morello.search.budget import SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from morello.frontends.calls import TensorLike
    from morello.impl.tree import Impl
    from morello.ir.spec import Spec
    from morello.memo.program_table import ProgramTable
    from morello.options import Options
    from morello.scheduling import Schedule
    from morello.search.budget import Progress
    from morello.search.result import SearchStatistics
    from morello.targets.target import Target


def compile(
    what: str | Spec | Impl | Schedule,
    *,
    target: str | Target = "native",
    threads: int | str = 1,
    verify: bool = True,
    compiler: str | None = None,
    table: ProgramTable | str | Path | None = None,
    weights: str = "plain",
    measure: int = 1,
    rank: str | None = None,
    choice: int = 1,
    budget: float = SECONDS,
    gap: float = 0.0,
    progress: Progress | bool | None = None,
) -> Kernel:
    """The fastest program of a Spec under the cost model, compiled, verified and callable.

        layer = morello.compile("relu(f32[16,64] @ f32[64,32] + f32[32])")
        y = layer(x, w, b)  # arrays in this order, with these dtypes and shapes

    An expression that no single kernel computes, such as one with views, is a `TextProgram` of
    several, which is called in the same way.

    - `what`: an expression, a Spec, a program that `implement` found, or a schedule made by hand,
      which runs on the number of threads that it was made for.
    - `target`: the machine, a name that `morello targets` lists, or a `Target`.
    - `threads`: the number of threads, or "all": as many as CPUs that this process may use.
    - `verify`: whether to compare the kernel with NumPy in float64 on random data, once for each
      shared object.
    - `compiler`: the C compiler, such as "gcc"; by default `$CC`, else the best one found.
    - `table`: a `Table`, or the path of one, with the results of earlier searches; those of this
      one are added. By default programs are remembered in the cache folder; "off" uses and keeps
      nothing.
    - `weights`: with "constant", second factors of products and filters may be prepacked in the
      cheapest layout: pack them once with `Kernel.pack`. With "streamed", they also are in no
      cache, as other data evict them between calls.
    - `measure`: how many different programs, including the cheapest, to build and time, at most
      64; the fastest is taken, and a table keeps it for later calls.
    - `rank`: the order of programs: by "cost", or "learned", by the time that a model predicts
      and by cost, for one thread on x86-64. The first is taken, or with `measure` the first few
      are timed. By default, those that are measured are in the learned order where there is one.
    - `choice`: which of the cheapest programs to take, 1 for the cheapest: its number in the list
      of `alternatives`.
    - `budget`: the seconds that the search may take, or up to four times as many while other
      processes have the processor; it may also take half of the free memory. If it has not
      finished by then, the best program so far is taken, and `Kernel.statistics.gap` says how far
      from the cheapest it may be. More than 10 %, and more than `gap`, is a
      `morello.SearchWarning`. The C compiler and the comparison with NumPy take their time
      besides.
    - `gap`: the search ends once its program is proven to cost at most this fraction more than the
      cheapest, such as 0.02; with 0, no program is cheaper.
    - `progress`: with True, a line on standard error, if that is a terminal. Or a function that is
      called during the search with the numbers of Specs and of rewrites expanded so far; what it
      raises ends the search.

    Raises `MorelloError` (see `morello.errors`).
    """
    options: Options = {
        "target": target, "threads": threads, "compiler": compiler, "table": table,
        "weights": weights, "measure": measure, "rank": rank, "choice": choice, "budget": budget,
        "gap": gap,
    }  # fmt: skip
    kernel = recall(question(what, options), verify=verify)
    if kernel is not None:
        return kernel
    from morello.building import compile_anew

    try:
        return compile_anew(what, options | {"progress": progress}, verify=verify)
    except SeveralKernelsError:
        if not isinstance(what, str):
            raise
    from morello.program import compile_program

    return compile_program(what, options | {"progress": progress}, verify=verify)


def compile_all(
    whats: Iterable[str | Spec | Impl | Schedule],
    *,
    verify: bool = True,
    **options: Unpack[Options],
) -> list[Kernel]:
    """The kernels of several Specs, in their order, found and built on all cores.

        add, product = compile_all(["f32[64] + f32[64]", "f32[64,64] @ f32[64,64]"])

    Each is a kernel as `compile` gives with these options, or a program of several, which are
    compiled last, one after the other. Equal Specs get one kernel. Specs that have much in common
    are searched together, a few at a time: with a gap, the programs may be others within that
    gap. One search is for all that differ in the constants of functions alone.
    The `budget` is that of each search, and `progress` is called with the counts of all searches
    that have ended and of the one in this process. Programs are measured in this process, one
    after the other, as what is timed has to run alone; so are all searches if the table is in
    memory.

    Raises `MorelloError` before any search if an option or a Spec is invalid, and
    `CompileAllError` after all of them if there is no kernel for some.
    """
    from morello.base.errors import SpecError
    from morello.impl.tree import Impl
    from morello.ir.spec import Spec
    from morello.scheduling import Schedule
    from morello.several import compile_each

    if isinstance(whats, str | Spec | Impl | Schedule) or not isinstance(whats, Iterable):
        raise SpecError("give a list of expressions or Specs; compile takes a single one.")

    def program(text: str, options: Options) -> Callable[[], Kernel]:
        from morello.program import compile_program, read_program  # slow to import

        read_program(text, options)  # raises before any search
        return partial(compile_program, text, options, verify=verify)

    return compile_each([(what, {}) for what in whats], verify=verify, program=program, **options)


def matmul(a: TensorLike, b: TensorLike, **options: Any) -> Kernel:
    """Compile `a @ b`, by NumPy's rules, of types ("f32[64,64]"), tensor specs or arrays.

        product = morello.matmul(a, b)  # for arrays like a and b
        c = product(a, b)

    Takes the options of `compile`, and raises the same.
    """
    from morello.frontends.calls import matmul as goal

    return compile(goal(a, b), **options)


def implement(
    what: str | Spec | Impl | Schedule, **options: Unpack[Options]
) -> tuple[Impl, SearchStatistics | None]:
    """The Impl of a Spec, found by search or scheduled by hand, and the search's statistics.

        impl, statistics = morello.implement("f32[64,64] @ f32[64,64]", target="avx2")
        impl.cost, impl.peak  # in cycles; in lines of each cache, and registers

    The statistics are None if nothing was searched. The options are those of `compile`; the
    compiler is for programs that are measured. Raises `MorelloError`.
    """
    from morello.options import requested
    from morello.request import answer
    from morello.request.warning import warn

    with requested(what, **options) as request:
        impl, statistics = answer(request)
    warn(impl.spec, impl.target, statistics, request.budget)
    return impl, statistics


def alternatives(what: str | Spec, count: int = 5, **options: Unpack[Options]) -> list[Impl]:
    """The cheapest programs of a Spec, up to `count`, the cheapest first, no two alike.

    They differ in structure: the kernels, the register tile, what is copied and in which layout,
    or the steps of a decomposition. Of all programs of one structure, which differ in the order of
    loops, say, the cheapest is listed. The order of costs is exact. There are fewer if there are no
    others, or if the budget does not suffice. `compile` takes each, or with `choice` the one of
    that number. The options are those of `compile`, but programs are neither measured nor ranked.
    Raises `MorelloError`.
    """
    from morello.options import requested
    from morello.request.choosing import alternatives as find

    with requested(what, **(options | {"choice": count})) as request:
        return find(request)


def schedule(
    what: str | Spec, *, target: str | Target = "native", threads: int | str = 1
) -> Schedule:
    """Start scheduling a Spec by hand; see `Schedule`.

        s = morello.schedule("f32[64,64] @ f32[64,64]").to_accumulate().tile(m=8, n=32)
        kernel = morello.compile(s.solve())

    Raises `MorelloError`.
    """
    from morello.base.errors import SpecError
    from morello.impl.tree import Impl
    from morello.request.goal import goal_and_target
    from morello.scheduling import Schedule

    if isinstance(what, Impl | Schedule):
        raise SpecError("it is scheduled already; give an expression or a Spec.")
    return Schedule.of(*goal_and_target(what, target, threads))
