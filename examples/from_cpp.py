"""Write a kernel as a C file and a header, and call it from a C++ program (from_cpp.cpp)."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import morello
from morello.codegen import generate
from morello.native.toolchain import arch_flags, find_compiler

HERE = Path(__file__).parent


def main() -> None:
    compiler = find_compiler()
    cpp = compiler.cpp_command
    if shutil.which(cpp[0]) is None:
        print(f"skipped: {compiler} has no C++ compiler beside it")
        return
    impl, _ = morello.implement("f32[64,32] @ f32[32,48]")
    source = generate(impl, "matmul")
    flags = ("-O3", *arch_flags(compiler, impl.target.arch))
    with TemporaryDirectory() as folder:
        Path(folder, "matmul.c").write_text(source.text)
        Path(folder, "matmul.h").write_text(source.header)
        steps = (
            (*compiler.command, "-std=gnu11", *flags, "-c", "matmul.c", "-o", "matmul.o"),
            (*cpp, *flags, "-I.", "-c", str(HERE / "from_cpp.cpp"), "-o", "main.o"),
            (*compiler.command, *flags, "main.o", "matmul.o", "-lm", "-o", "main"),
            ("./main",),
        )
        print(source.header)
        for command in steps:
            subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
