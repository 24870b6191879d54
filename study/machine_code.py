"""Machine code as features: what the instructions of a program do, as often as they are executed.

Programs are compiled to assembly as their times were measured, several in a file. A second version
counts how often each basic block is executed, and is run once: so the counts are exact, whatever
the compiler unrolled, vectorized or did not inline. `features` has for each program the executions
of each class of instructions, and the cycles that its blocks take at least.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from morello.frontends.text import parse
from morello.impl.tree import Impl
from morello.learn.corpus import MeasuredSpec
from morello.learn.hardware import TOGETHER
from morello.learn.label import source
from morello.native.toolchain import Compiler, arch_flags, base_flags, without_linking
from morello.runtime.load import Library
from morello.runtime.packing import random_inputs
from morello.runtime.verify import CheckedOutputs
from morello.targets.catalog import uncalibrated

Floats = npt.NDArray[np.float64]

CLASSES = (
    "multiply_adds", "arithmetic", "divisions", "shuffles", "broadcasts", "moves", "masks",
    "gathers", "integers", "branches", "calls", "prefetches",
    "loads", "stores", "stack_loads", "stack_stores", "wide_loads", "wide_stores",
)  # fmt: skip
"""Classes of instructions; one that computes on memory is also a load. "wide" are 64 bytes."""

FEATURES = (*CLASSES, "instructions", "ports", "latency", "core", "loop_bytes", "code_bytes")
"""Executions of each class, and of all; the cycles of all blocks by ports, by carried latency, and
by the greater of both in each block; bytes of the innermost loop that takes longest, and of all."""

# Of cores since Ice Lake: per cycle, and cycles.
_ISSUE, _VECTOR, _SHUFFLES, _BRANCHES, _DIVISION, _GATHER = 6.0, 2.0, 1.0, 1.0, 12.0, 8.0
_LOADS, _WIDE_LOADS, _STORES, _WIDE_STORES = 3.0, 2.0, 2.0, 1.0
_LATENCY = {"multiply_adds": 4, "arithmetic": 4, "divisions": 16, "shuffles": 3, "broadcasts": 3,
            "masks": 3, "gathers": 20, "loads": 5}  # fmt: skip

_KINDS = (
    ("branches", r"j"),
    ("calls", r"call"),
    ("prefetches", r"prefetch"),
    ("gathers", r"vp?(gather|scatter)"),
    ("multiply_adds", r"vf(n?m(add|sub))|vdpbf16|vpdp|vpmadd"),
    ("divisions", r"v(div|sqrt)|i?div|sqrt"),
    ("broadcasts", r"vp?broadcast"),
    ("shuffles", r"vp?(perm|shuf|unpck|insr?|extr?|align|pack|compress|expand)|vpmov[sz]x|vmov"
                 r"([hl]{2}|[ds][hlu]d?dup)|vpmov[a-z]{2}\b"),
    ("masks", r"k[a-z]+[bwdq]\b"),
    ("moves", r"vmov|mov"),
    ("arithmetic", r"v"),
)  # fmt: skip
_REGISTER = re.compile(r"%([a-z]+[0-9]*[a-z]*)")
_LABEL = re.compile(r"^([.\w$]+):")


@dataclass(frozen=True)
class Instruction:
    """An instruction in AT&T syntax, its operands with the destination last."""

    name: str
    operands: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The class of what it does, besides loading or storing."""
        return _kind(self.name)

    @property
    def memory(self) -> str:
        """Its operand in memory, or nothing."""
        if self.name.startswith(("lea", "nop")) or self.kind in ("branches", "calls"):
            return ""
        return next((operand for operand in self.operands if "(" in operand), "")

    @property
    def stores(self) -> bool:
        """True for an instruction that stores to memory."""
        compares = self.name.startswith(("cmp", "test", "prefetch"))
        return bool(self.memory) and self.memory == self.operands[-1] and not compares

    @property
    def loads(self) -> bool:
        """Whether the instruction reads from memory."""
        only_stores = self.stores and self.name.startswith(("mov", "v"))
        return bool(self.memory) and not only_stores and self.kind != "prefetches"

    def classes(self) -> Iterator[str]:
        """All classes that it counts in."""
        kind, memory = self.kind, self.memory
        if not (kind == "moves" and memory):
            yield kind
        if "{1to" in memory and kind != "broadcasts":
            yield "broadcasts"
        stack = re.search(r"\(%(rsp|rbp)\)", memory)
        wide = any("%zmm" in operand for operand in self.operands) and "{1to" not in memory
        for done, what in ((self.loads, "loads"), (self.stores, "stores")):
            if done:
                yield what
                if stack:
                    yield f"stack_{what}"
                if wide:
                    yield f"wide_{what}"

    def registers(self) -> tuple[set[str], set[str]]:
        """The registers that it reads, and those that it writes."""
        found = [{_whole(name) for name in _REGISTER.findall(text)} for text in self.operands]
        if not found:
            return set(), set()
        kind, last = self.kind, found[-1]
        read = set().union(*found[:-1])
        if self.stores or kind in ("branches", "calls", "prefetches"):
            return read | last, set()
        three = self.name.startswith(("v", "k", "mov", "lea")) and kind != "multiply_adds"
        if not three or "{%k" in self.operands[-1]:
            read |= last
        if three and len(found) == 3 and "xor" in self.name and found[0] == found[1]:
            read = set()
        return read, set() if self.name.startswith(("cmp", "test", "vucomi")) else last


@cache
def _kind(name: str) -> str:
    return next((kind for kind, like in _KINDS if re.match(like, name)), "integers")


def _whole(register: str) -> str:
    """The vector register that a register is part of, or the integer register by its letters."""
    if register[1:3] == "mm":
        return f"v{register[3:]}"
    return register.lstrip("re").rstrip("dwbl") if register[0] in "er" else register


@dataclass(frozen=True)
class Block:
    """Instructions that are executed together, and whether the last one jumps to the first."""

    instructions: tuple[Instruction, ...]
    loops: bool

    @cached_property
    def counts(self) -> Floats:
        """How many instructions are of each class, and in all."""
        found = [kind for each in self.instructions for kind in each.classes()]
        return np.array([*map(found.count, CLASSES), len(self.instructions)], np.float64)

    @cached_property
    def ports(self) -> float:
        """The least cycles that an execution takes if no instruction waits for another."""
        n: Mapping[str, float] = dict(zip(CLASSES, self.counts, strict=False))
        vector = sum(n[kind] for kind in ("multiply_adds", "arithmetic", "shuffles", "masks"))
        return max(
            len(self.instructions) / _ISSUE,
            (vector + _DIVISION * n["divisions"]) / _VECTOR,
            n["shuffles"] / _SHUFFLES,
            n["branches"] / _BRANCHES,
            (n["loads"] + n["wide_loads"] * (_LOADS / _WIDE_LOADS - 1)) / _LOADS,
            (n["stores"] + n["wide_stores"] * (_STORES / _WIDE_STORES - 1)) / _STORES,
            _GATHER * n["gathers"],
        )

    @cached_property
    def latency(self) -> float:
        """The cycles from one iteration of a loop to the next if only results are waited for."""
        if not self.loops:
            return 0.0
        ready: dict[str, float] = {}
        ends = []
        for _ in range(4):
            for each in self.instructions:
                read, written = each.registers()
                start = max((ready.get(register, 0.0) for register in read), default=0.0)
                moved = each.kind == "moves" and not each.memory
                took = 0.0 if moved else _LATENCY.get(each.kind, 1.0)
                if each.loads and each.kind != "multiply_adds":  # whose loads wait for no sums
                    took += _LATENCY["loads"]
                ready |= dict.fromkeys(written, start + took)
            ends.append(max(ready.values(), default=0.0))
        return ends[-1] - ends[-2]


def features(measured: MeasuredSpec, compiler: Compiler) -> tuple[list[int], Floats]:
    """The numbers of a Spec's programs that are still legal, and `FEATURES` of each (n, features).

    Compiles them and runs each once in this process.
    """
    numbered = [(n, impl) for n, impl in enumerate(measured.impls()) if impl is not None]
    spec = parse(measured.expression)
    inputs = random_inputs(spec)
    arrays = (*inputs.taken, *CheckedOutputs(spec, inputs.plain).taken)
    rows = [np.empty((0, len(FEATURES)))]
    for start in range(0, len(numbered), TOGETHER):
        impls = [impl for _, impl in numbered[start : start + TOGETHER]]
        rows.append(_of_file(impls, compiler, arrays))
    return [n for n, _ in numbered], np.concatenate(rows)


def _of_file(impls: Sequence[Impl], compiler: Compiler, arrays: Sequence[np.ndarray]) -> Floats:
    names = [f"program_{n}" for n in range(len(impls))]
    flags = [*base_flags(compiler), *arch_flags(compiler, uncalibrated().arch)]
    with TemporaryDirectory() as name:
        folder = Path(name)

        def run(*arguments: str) -> None:
            command = [*compiler.command, *arguments]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)

        (folder / "programs.c").write_text(source(impls, names))
        run(*without_linking(flags), "-S", "programs.c", "-o", "programs.s")
        text = (folder / "programs.s").read_text()
        blocks, marked, counting = divided(text)
        (folder / "marked.s").write_text(marked)
        run("-c", "marked.s", "-o", "marked.o")
        sizes = _sizes(folder / "marked.o", len(blocks))
        (folder / "counting.s").write_text(counting)
        run("-shared", "-nostdlib", "counting.s", "-o", "counting.so")
        library = Library(folder / "counting.so")
        counts = (ctypes.c_int64 * len(blocks)).from_address(library.address("block_counts"))
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        executed = []
        for each in names:
            ctypes.memset(counts, 0, ctypes.sizeof(counts))
            ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(library.address(each))(
                *addresses
            )
            executed.append(np.array(counts, np.float64))
    return np.stack([_row(blocks, sizes, times) for times in executed])


def _row(blocks: Sequence[Block], sizes: Floats, times: Floats) -> Floats:
    ports, latency = (
        np.array([getattr(block, of) for block in blocks]) for of in ("ports", "latency")
    )
    core = np.maximum(ports, latency)
    loops = np.array([block.loops for block in blocks])
    longest = int(np.argmax(core * times * loops))
    counts = times @ np.array([block.counts for block in blocks])
    bounds = [times @ ports, times @ latency, times @ core]
    size = sizes[longest] if loops[longest] else 0.0
    return np.array([*counts, *bounds, size, sizes[times > 0].sum()])


def divided(text: str) -> tuple[list[Block], str, str]:
    """The basic blocks of assembly, the text with symbols before them, and text that counts."""
    marked: list[str] = []
    counting: list[str] = []
    blocks: list[Block] = []
    current: list[Instruction] = []
    labels: list[str] = []
    code = True
    fresh = False

    def close() -> None:
        if current:
            target = current[-1].operands[-1:] if current[-1].kind == "branches" else ()
            blocks.append(Block(tuple(current), bool(target) and target[0] in labels))
        current.clear()

    for line in text.splitlines():
        stripped = line.split("#")[0].strip()
        label = _LABEL.match(stripped)
        if stripped.startswith((".text", ".section", ".data", ".bss")):
            code = stripped.startswith((".text", ".section .text", ".section\t.text"))
        if not code or not stripped or (stripped.startswith(".") and not label):
            marked.append(line)
            counting.append(line)
            continue
        if label:
            if not fresh:
                close()
                labels.clear()
            labels.append(label.group(1))
            fresh = True
            marked.append(line)
            counting.append(line)
            continue
        if fresh or not current:
            close()
            number = len(blocks)
            if not fresh:
                labels.clear()
            marked.append(f".globl block_{number}\nblock_{number}:")
            counting.append(_counted(number))
            fresh = False
        name, _, rest = stripped.partition("\t")
        if not rest:
            name, _, rest = stripped.partition(" ")
        operands = tuple(re.split(r",\s*(?![^()]*\))", rest.strip())) if rest.strip() else ()
        current.append(Instruction(name, operands))
        marked.append(line)
        counting.append(line)
        if current[-1].kind == "branches" or name.startswith("ret"):
            close()
            labels.clear()
    close()
    names = "block_counts:\nblock_counts_local:"
    room = f".data\n.globl block_counts\n.p2align 3\n{names}\n.zero {8 * len(blocks)}"
    saved = ".local saved_rax\n.comm saved_rax,8,8\n"
    return blocks, "\n".join(marked) + "\n", "\n".join([*counting, room, saved])


def _counted(number: int) -> str:
    """Assembly that counts an execution of a block; it changes no register and no flag."""
    place = f"block_counts_local+{8 * number}(%rip)"
    return (
        f"\tmovq %rax, saved_rax(%rip)\n\tmovq {place}, %rax\n\tleaq 1(%rax), %rax\n"
        f"\tmovq %rax, {place}\n\tmovq saved_rax(%rip), %rax"
    )


def _sizes(path: Path, count: int) -> Floats:
    """The bytes of each block, with what aligns the next."""
    listed = subprocess.run(["nm", "-n", path], check=True, capture_output=True, text=True).stdout
    at = {
        name: int(address, 16)
        for address, _, name in (line.split() for line in listed.splitlines() if line[0] != " ")
        if name.startswith("block_")
    }
    starts = np.array([at[f"block_{n}"] for n in range(count)], np.float64)
    return np.clip(np.diff(starts, append=starts[-1]), 0, None)
