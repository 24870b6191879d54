"""Small C kernels, written by hand, and the arrays they take."""

from __future__ import annotations

from pathlib import Path

from morello.ir.dtype import F32
from morello.native.build import build
from morello.native.toolchain import arch_flags, find_compiler
from morello.runtime.argument import Argument, argument
from morello.runtime.kernel import CompiledKernel

M, K, N = 5, 7, 6

MATMUL = f"""
void kernel(const float *restrict a, const float *restrict b, float *restrict c)
{{
    for (int i = 0; i < {M}; i++)
        for (int j = 0; j < {N}; j++) {{
            float sum = 0;
            for (int k = 0; k < {K}; k++)
                sum += a[i * {K} + k] * b[k * {N} + j];
            c[i * {N} + j] = sum;
        }}
}}

void misses_one_product(const float *a, const float *b, float *c)
{{
    kernel(a, b, c);
    c[{M * N - 1}] -= a[{M * K - 1}] * b[{K * N - 1}];
}}

void leaves_one_out(const float *a, const float *b, float *c)
{{
    float before = c[3];
    kernel(a, b, c);
    c[3] = before;
}}

void writes_beyond(const float *a, const float *b, float *c)
{{
    kernel(a, b, c);
    c[{M * N}] = 1;
}}

void writes_before(const float *a, const float *b, float *c)
{{
    kernel(a, b, c);
    c[-1] = 1;
}}

void writes_input(float *a, const float *b, float *c)
{{
    kernel(a, b, c);
    a[2] = 0;
}}

void reads_beyond(const float *a, const float *b, float *c)
{{
    kernel(a, b, c);
    c[0] += 0 * b[{K * N}];
}}

void adds_to_output(const float *a, const float *b, float *c)
{{
    c[0] += 1;
}}
"""

NOTHING = """
void one(void *a) {}
void two(void *a, void *b) {}
void kernel(void *a, void *b, void *c) {}
"""


def matmul_arguments() -> tuple[Argument, ...]:
    """a[M, K] @ b[K, N] = c[M, N], all row-major f32."""
    return (
        argument("a", F32, (M, K)),
        argument("b", F32, (K, N)),
        argument("c", F32, (M, N), output=True),
    )


def compile_kernel(
    source: str,
    symbol: str,
    arguments: tuple[Argument, ...],
    *,
    cache: Path | None = None,
    release_gil: bool = False,
) -> CompiledKernel:
    """The function of this name in a C text, for this machine."""
    compiler = find_compiler()
    flags = arch_flags(compiler, "native")
    path = build(source, compiler=compiler, flags=flags, cache=cache)
    return CompiledKernel(path, symbol, arguments, compiler=compiler, release_gil=release_gil)
