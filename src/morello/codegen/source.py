"""The C translation unit of an Impl: preamble, workspace, and the function."""

from __future__ import annotations

import re
from dataclasses import dataclass

from morello.codegen.body import Body
from morello.codegen.views import buffer_view
from morello.ir.spec import Spec
from morello.rewrites.impl import Impl
from morello.targets.target import Target

STACK_BYTES = 16 << 10
"""Workspaces up to this size live on the stack, larger ones in thread-local storage."""


@dataclass(frozen=True)
class Source:
    """C for one Impl: the file's text, the header's text, and the function's name."""

    name: str
    text: str
    header: str


def generate(impl: Impl, name: str = "kernel", schedule: str = "") -> Source:
    """Emit C for a complete Impl. `schedule` is printed above the function."""
    spec = impl.spec
    views = [
        buffer_view(operand.name, tensor.form.layout, tensor.shape)
        for operand, tensor in zip(spec.operation.operands, spec.tensors, strict=True)
    ]
    body = Body(impl.target)
    lines = body.emit(impl, views)
    parts = [_comment(f"{spec.expression}, for {impl.target.name}\n\n{schedule}".strip())]
    parts += [f"#include <{header}>" for header in _headers(impl.target, body.helpers)]
    parts += ["", *_helpers(impl.target, body.helpers), ""]
    parts.append(f"{signature(spec, name)} {{")
    parts += _workspace(body.workspace_bytes)
    parts += ["  " + line for line in lines]
    parts.append("}")
    text = "\n".join(parts) + "\n"
    return Source(name, re.sub(r"\n{3,}", "\n\n", text), _header(spec, name))


def signature(spec: Spec, name: str) -> str:
    """The C prototype: one restrict pointer per operand, inputs first."""
    parameters = []
    for operand, dtype in zip(spec.operation.operands, spec.dtypes, strict=True):
        const = "" if operand.written else "const "
        parameters.append(f"{const}{dtype.c} *restrict {operand.name}")
    return f"void {name}({', '.join(parameters)})"


def _header(spec: Spec, name: str) -> str:
    guard = re.sub(r"\W", "_", name).upper() + "_H"
    prototype = signature(spec, name).replace("restrict ", "MORELLO_RESTRICT ")
    shapes = ", ".join(
        f"{o.name}: {t.type}" for o, t in zip(spec.operation.operands, spec.tensors, strict=True)
    )
    return f"""\
#ifndef {guard}
#define {guard}
#ifdef __cplusplus
#define MORELLO_RESTRICT __restrict
extern "C" {{
#else
#define MORELLO_RESTRICT restrict
#endif
/* {spec.expression}
   {shapes}. Operands must not overlap. Safe to call from several threads. */
{prototype};
#ifdef __cplusplus
}}
#endif
#undef MORELLO_RESTRICT
#endif
"""


def _comment(text: str) -> str:
    first, *rest = text.splitlines()
    return "\n".join([f"/* {first}", *(f"   {line}".rstrip() for line in rest)]) + " */"


def _headers(target: Target, helpers: list[str]) -> list[str]:
    """Headers are slow to compile: only where a helper needs them."""
    needed = any("_mm" in target.helpers[name] for name in helpers)
    return list(target.headers) if needed else []


def _helpers(target: Target, names: list[str]) -> list[str]:
    """The definitions of the helpers, the vector types that they mention first."""
    texts = [target.helpers[name] for name in names]
    return list(dict.fromkeys(texts))


def _workspace(size: int) -> list[str]:
    if not size:
        return []
    storage = "" if size <= STACK_BYTES else "static _Thread_local "
    return [f"  {storage}_Alignas(64) unsigned char workspace[{size}];"]
