"""C of kernels as it is compiled, so that their objects can be linked to one library."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from morello.codegen.source import Source, exported, workspace_lines

SHARED_WORKSPACE = "workspace_of_kernels"
"""The memory that kernels of a library work in, one after the other."""

_WEAK = '__attribute__((weak, visibility("hidden")))'
"""The attributes of a weak symbol: the linker takes a strong definition in its place, if any."""


@dataclass(frozen=True)
class Linkable:
    """The C of a kernel whose exported functions have names of their own, the main one `symbol`."""

    text: str
    symbol: str


def linkable(source: Source, threads: int = 1) -> Linkable:
    """The C of a kernel on so many threads, for an object that can be linked with others.

    Functions are named by a hash of the C. What does not fit on the stack is in a workspace for all
    kernels of a library, whose size the library defines; a library of one needs nothing else. What
    one kernel has used is still in the cache when the next one begins, which finds workspaces of
    its own evicted.
    """
    text = source.text
    if source.parallel:  # all who load a library share its pool
        text += f"/* on {threads} threads */\n"
    digest = blake2b(text.encode(), digest_size=12).hexdigest()
    symbol = f"{source.name}_{digest}"
    names = zip(exported(source.name), exported(symbol), strict=True)
    lines = [f"#define {name} {own}" for name, own in names]
    if source.borrowed:
        (own,) = workspace_lines(source.borrowed)
        text = text.replace(own, f"  unsigned char *const workspace = {SHARED_WORKSPACE};")
        lines.append(f"{_WEAK} {shared_workspace(source.borrowed)}")
    return Linkable("\n".join([*lines, text]), symbol)


def shared_workspace(size: int) -> str:
    """The definition of a workspace of this size for all kernels of a library."""
    return f"_Thread_local _Alignas(64) unsigned char {SHARED_WORKSPACE}[{size}];"
