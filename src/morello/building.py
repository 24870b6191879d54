"""From a request to a compiled, verified kernel."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence

from morello.base.errors import MorelloError
from morello.base.status import tell
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.kernel import Kernel, compiled
from morello.memo.programs import places
from morello.native.toolchain import find_compiler
from morello.options import Options, requested
from morello.questions import question
from morello.recall import remember
from morello.request import Request, answer, recalled
from morello.request.alike import carried_over, likeness
from morello.request.goal import check_callable, spec_of
from morello.request.request import Answer, Program
from morello.request.warning import warn
from morello.runtime.argument import Array
from morello.runtime.packing import lay_out, plain
from morello.runtime.verified import mark_verified, verified_error
from morello.runtime.verify import check_verifiable
from morello.runtime.verify import verify as verify_kernel
from morello.scheduling import Schedule


def compile_anew(
    what: str | Spec | Impl | Schedule, options: Options, *, verify: bool = True
) -> Kernel:
    """The kernel of `compile`, which is remembered if these options allow it."""
    asked = question(what, options)
    with requested(what, **options) as request:
        kernel = build(request, verify=verify)
        warn(kernel.spec, kernel.impl.target, kernel.statistics, request.budget)
        if asked == question(what, options):  # nothing was changed meanwhile
            remember_answer(asked, kernel, request)
    return kernel


def remember_answer(asked: str | None, kernel: Kernel, request: Request) -> None:
    """Keep the kernel of a request, to be loaded when its question is asked again."""
    goal, table = request.goal, request.table
    if asked is not None and table is not None and isinstance(goal, Spec):
        remember(asked, kernel, table, places(goal, request.target, request.weights))


def build(request: Request, *, verify: bool = True) -> Kernel:
    """The kernel of a program that is requested, compiled, verified and callable.

    Raises `MorelloError`.
    """
    known = _checked(request, verify)
    return _built(request, known or answer(request), verify)


def build_together(
    requests: Sequence[Request], *, verify: bool = True
) -> list[Kernel | MorelloError]:
    """The kernels of requests that one search should answer, or the errors that they raised.

    They are a group (see `grouped`). Of those that are alike, one is searched for.
    """
    from morello.request.together import answer_together  # slow to import

    known: list[Answer | MorelloError | None] = []
    for request in requests:
        try:
            known.append(_checked(request, verify))
        except MorelloError as error:
            known.append(error)
    likenesses = [likeness(request) for request in requests]
    programs: dict[Hashable, Program] = {
        alike: each
        for alike, each in zip(likenesses, known, strict=True)
        if isinstance(each, tuple)
    }
    new = {
        likenesses[n]: n
        for n, each in enumerate(known)
        if not each and likenesses[n] not in programs
    }
    if len(new) > 1:
        together = answer_together([requests[number] for number in new.values()])
        for (alike, number), result in zip(new.items(), together, strict=True):
            known[number] = result
            programs |= {alike: result} if result else {}
    results: list[Kernel | MorelloError] = []
    for alike, request, each in zip(likenesses, requests, known, strict=True):
        try:
            if isinstance(each, MorelloError):
                raise each
            program: Program | None = each
            if program is None and alike in programs:
                program = carried_over(programs[alike], request)
            program = program or answer(request)
            programs.setdefault(alike, program)
            results.append(_built(request, program, verify))
        except MorelloError as error:
            results.append(error)
    return results


def _checked(request: Request, verify: bool) -> Answer | None:
    """The answer that the table has, if it has any.

    Raises `MorelloError` if there can be no kernel: before a search, which takes longer.
    """
    check_callable(request.goal, request.target)
    find_compiler(request.compiler)
    known = recalled(request)
    if known is None and verify:
        check_verifiable(spec_of(request.goal))
    return known


def _built(request: Request, program: Program, verify: bool) -> Kernel:
    """The kernel of a program, verified."""
    tell(phase="build", note="")
    kernel = compiled(*program, find_compiler(request.compiler))
    if verify:
        kernel.max_error = _verified(kernel)
    return kernel


def _verified(kernel: Kernel) -> float:
    """The largest error of a kernel on random values, laid out as it takes them.

    What was verified before is not verified again.
    """
    library = kernel.library.path
    spec = json.dumps(saved.spec_data(kernel.spec, kernel.impl.target))
    error = verified_error(library, spec)
    if error is None:
        tell(phase="verify")
        check_verifiable(kernel.spec)

        def laying_out(*inputs: Array, out: Array) -> object:
            return kernel(*lay_out(kernel.spec, inputs), out=out)

        error = verify_kernel(laying_out, plain(kernel.spec))
        mark_verified(library, spec, error)
    return error
