"""The products of Gemma's decoder for a C++ program with threads of its own (matrix_vector.cpp)."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import morello
from morello.abi.rows import generate_rows, rows_of
from morello.codegen import Source
from morello.native.toolchain import arch_flags, find_compiler

HERE = Path(__file__).parent

SHAPES = {
    "gemma_2b_up": (16384, 2048), "gemma_2b_down": (2048, 16384),
    "gemma2_2b_up": (9216, 2304), "gemma2_2b_down": (2304, 9216),
    "gemma3_1b_up": (6912, 1152), "gemma3_1b_down": (1152, 6912),
}  # fmt: skip
"""Rows and columns of the weights of feed-forward layers. A row has a cache line of padding."""

BLOCK = 16


def product(name: str, rows: int, columns: int, stride: int) -> Source:
    """C for ranges of the rows of a product, scaled, to which a vector is added."""
    whole = rows_of(
        morello.parse(
            f"weights = bf16[{rows},{columns}]S({stride},1); x = bf16[{columns}]; "
            f"scale = f32[1]; bias = f32[{rows}]; (x @ transpose(weights)) * scale + bias"
        )
    )
    impls = [morello.implement(whole.block(count), gap=0.02)[0] for count in (BLOCK, 1)]
    return generate_rows(whole, impls, name)


def main() -> None:
    compiler = find_compiler()
    cpp = compiler.cpp_command
    if shutil.which(cpp[0]) is None:
        print(f"skipped: {compiler} has no C++ compiler beside it")
        return
    flags = ("-O3", *arch_flags(compiler, "native"))
    with TemporaryDirectory() as folder:
        includes, table = [], []
        for name, (rows, columns) in SHAPES.items():
            stride = columns + 32
            source = product(name, rows, columns, stride)
            Path(folder, f"{name}.c").write_text(source.text)
            Path(folder, f"{name}.h").write_text(source.header)
            includes.append(f'#include "{name}.h"\n')
            table.append(f'{{"{name}", {rows}, {columns}, {stride}, {name}_rows}}, ')
        header = f"{''.join(includes)}#define PRODUCTS {''.join(table)}\n"
        Path(folder, "products.h").write_text(header)
        compile_c = (*compiler.command, "-std=gnu11", *flags, "-c")
        objects = [f"{name}.o" for name in SHAPES]
        steps = (
            *((*compile_c, f"{name}.c", "-o", f"{name}.o") for name in SHAPES),
            (*cpp, *flags, "-I.", "-c", str(HERE / "matrix_vector.cpp"), "-o", "main.o"),
            (*compiler.command, *flags, "main.o", *objects, "-lm", "-o", "main"),
            ("./main",),
        )
        for command in steps:
            subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
