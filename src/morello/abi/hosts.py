"""A kernel's C file with functions by which XLA, TVM FFI and ONNX Runtime call the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from morello.abi.plans import HostArray, plan, text
from morello.base.errors import BuildError, SpecError, quoted
from morello.codegen.source import Source, joined
from morello.ir.spec import Spec
from morello.runtime.argument import Argument, arguments
from morello.runtime.threads import CLAIMS, SCHEDULED


@dataclass(frozen=True)
class HostAbi:
    """How a host calls a plan: files of C in this folder, and the function that it looks up.

    `threads` is the C by which parallel loops run on its threads, if they do; `takes_gaps` says
    whether its arrays can have gaps.
    """

    files: tuple[str, ...]
    function: Callable[[str], str]
    threads: tuple[str, ...] = ()
    takes_gaps: bool = False


def _xla(name: str) -> str:
    return f"""\
/* For jax.ffi.register_ffi_target, with platform="cpu". */
void *{name}_xla(XlaFrame *frame)
{{
    return xla_call(&abi_plan, frame);
}}
"""


def _tvm_ffi(name: str) -> str:
    return f"""\
/* The function {name} of tvm_ffi.load_module. */
int __tvm_ffi_{name}(void *self, const TvmAny *given, int32_t count, TvmAny *result)
{{
    (void)self;
    return tvm_call(&abi_plan, given, count, result);
}}
"""


def _ort(name: str) -> str:
    return f"""\
/* For SessionOptions.register_custom_ops_library: the operator {name} of the domain
   morello.{name}. */
OrtStatus *RegisterCustomOps(void *options, const OrtBase *base)
{{
    static OrtPlan plans[] = {{{{.plan = &abi_plan}}}};
    return ort_register("morello.{name}", plans, 1, options, base);
}}
"""


HOSTS: Mapping[str, HostAbi] = {
    "xla": HostAbi(("xla.h", "xla.c"), _xla, threads=SCHEDULED),
    "tvm-ffi": HostAbi(("tvm_ffi.c",), _tvm_ffi, takes_gaps=True),
    "ort": HostAbi(("ort.c",), _ort, threads=(CLAIMS,)),
}
PLAIN = "c"
"""The function of the kernel itself, which all files have."""

ABIS = (PLAIN, *HOSTS)

POSIX = """\
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* for clocks, with a compiler for C alone */
#endif
"""
"""The first lines of a file with functions for hosts."""

_TAKEN = re.compile(
    r"(abi|xla|tvm|ort)_|(Abi|Xla|Tvm|Ort)[A-Z]|(ABI|XLA|TVM|ORT)_|RegisterCustomOps|"
    "(Claims|Body|Loop|Share|MOST_CLAIMS|MOST_SHARES|claimed|claims_between|claims_of|do_items|"
    "make_claims|take_first|take_half|unclaim|Gate|GATE|LINE|SPIN_NS|LOOKS_PER_CLOCK|now_ns|relax|"
    "wait_while|wake|sleep_while|sleep_through|spin_while|wake_sleepers|syscall|Scheduler|Region|leave|join|scheduled_run)$"
)
"""Names that the C of hosts has for itself."""


def abi_names(listed: str) -> tuple[str, ...]:
    """The ABIs in a list such as "c,xla"; raises `BuildError` for an unknown one."""
    names = tuple(dict.fromkeys(name.strip() for name in listed.split(",")))
    for name in names:
        if name not in ABIS:
            raise BuildError(f"unknown ABI {quoted(name)}; the known are: {', '.join(ABIS)}.")
    return names


def for_hosts(source: Source, spec: Spec, abis: Sequence[str]) -> Source:
    """The C of a kernel of the Spec, with functions for these `ABIS` after it.

    Hosts pass each argument as it lies in memory: the array of a column-major matrix is that of
    its transpose, and one in panels is flat. Functions of hosts return an error for any other
    arrays. Raises `SpecError` if the kernel takes arrays that a host does not have, and
    `BuildError` for a kernel whose name is used in the functions.
    """
    if not {*abis} - {PLAIN}:
        return source
    _check_new(spec)
    return function_for_hosts(source, arguments(spec), abis)


def function_for_hosts(source: Source, taken: Sequence[Argument], abis: Sequence[str]) -> Source:
    """`for_hosts`, for a function that takes these arguments, which updates none."""
    if not {*abis} - {PLAIN}:
        return source
    arrays = _host_arrays(taken, source.name)
    pointers = ", ".join(f"(void *)arrays[{number}]" for number in range(len(arrays)))
    call = f"{source.name}({pointers});"
    if source.parallel:
        call = f"{source.name}_on({pointers}, run, pool);"
    count = sum(argument.output for argument in taken)
    functions = host_functions(source.name, arrays[:-count], arrays[-count:], call, abis)
    text = joined([POSIX, source.text, *functions]).rstrip("\n") + "\n"
    return replace(source, text=text)


def host_functions(
    name: str,
    inputs: Sequence[HostArray],
    outputs: Sequence[HostArray],
    call: str,
    abis: Sequence[str],
    *,
    arena: int = 0,
) -> list[str]:
    """The C of functions for these `ABIS`, which check their arrays, and run the statement `call`.

    In it, `arrays` are the addresses of the inputs and outputs, `arena` is memory of so many bytes,
    and `run` and `pool` are what parallel loops run on. Raises as `for_hosts` does.
    """
    _check((*inputs, *outputs), name, abis)
    hosts = [HOSTS[abi] for abi in abis if abi != PLAIN]
    run = [
        "static void abi_call(const void *code, char *arena, char *const *arrays, parallel_t run,",
        "                     void *pool)",
        "{",
        "    (void)code;",
        "    (void)arena;",
        "    (void)run;",
        "    (void)pool;",
        f"    {call}",
        "}",
    ]
    threads = dict.fromkeys(c for host in hosts for c in host.threads)
    files = [*threads, text("plan.h"), *(text(file) for host in hosts for file in host.files)]
    tables = plan("abi", name, inputs, outputs, run="abi_call", arena=arena)
    return [*files, *run, "", *tables, "", *(host.function(name) for host in hosts)]


def check_hosts(spec: Spec, name: str, abis: Sequence[str]) -> None:
    """Raise as `for_hosts` would for a kernel of this name: before a search, which takes longer."""
    if {*abis} - {PLAIN}:
        _check_new(spec)
        _check(_host_arrays(arguments(spec), name), name, abis)


def _check(arrays: Sequence[HostArray], name: str, abis: Sequence[str]) -> None:
    if _TAKEN.match(name):
        raise BuildError(
            f"the C function cannot be called {quoted(name)} with --abi, as the functions for "
            "hosts use names that begin so; give it another name."
        )
    for abi in abis:
        for array in arrays:
            if array.has_gaps and abi != PLAIN and not HOSTS[abi].takes_gaps:
                raise SpecError(
                    f"{array.name} is {array}, and {abi} has no arrays with gaps; leave out the "
                    "strides, or that ABI."
                )


def _check_new(spec: Spec) -> None:
    """Raise `SpecError` if a Spec has results that are not new."""
    if updated := [argument.name for argument in arguments(spec) if argument.updated]:
        raise SpecError(
            f"{spec.expression} updates {' and '.join(updated)}, and hosts have new arrays for "
            "results; leave out --abi, or compute what is added as a Spec of its own."
        )


def _host_arrays(taken: Sequence[Argument], name: str) -> list[HostArray]:
    return [
        _host_array(argument, f"argument {number} of {name}, {argument.name},")
        for number, argument in enumerate(taken)
    ]


def _host_array(argument: Argument, name: str) -> HostArray:
    """The array of an argument, its dimensions in the order of memory."""
    size = argument.dtype.bytes
    steps = [stride // size for stride in argument.strides]
    order = [*range(len(steps))]
    if not argument.is_row_major:
        order.sort(key=lambda d: -steps[d])
    shape = tuple(argument.shape[d] for d in order)
    return HostArray(name, argument.dtype.np, shape, tuple(steps[d] for d in order))
