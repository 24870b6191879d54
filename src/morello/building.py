"""From a request to a compiled, verified kernel."""

from __future__ import annotations

import json

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
from morello.request.goal import check_callable, spec_of
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
        goal, table = request.goal, request.table
        if asked is None or table is None or not isinstance(goal, Spec):
            return kernel
        if asked == question(what, options):  # nothing was changed meanwhile
            remember(asked, kernel, table, places(goal, request.target, request.weights))
    return kernel


def build(request: Request, *, verify: bool = True) -> Kernel:
    """The kernel of a program that is requested, compiled, verified and callable.

    Raises `MorelloError`.
    """
    check_callable(request.goal, request.target)
    compiler = find_compiler(request.compiler)
    known = recalled(request)
    if known is None and verify:
        check_verifiable(spec_of(request.goal))  # before the search, which takes longer
    kernel = compiled(*(known or answer(request)), compiler)
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
        check_verifiable(kernel.spec)

        def laying_out(*inputs: Array, out: Array) -> object:
            return kernel(*lay_out(kernel.spec, inputs), out=out)

        error = verify_kernel(laying_out, plain(kernel.spec))
        mark_verified(library, spec, error)
    return error
