"""Every adversary finds a planted defect, shrinks it, and gives a line that shows it again."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

import morello
from fuzz import (
    arguments,
    caches,
    certificates,
    commands,
    kills,
    launch,
    nodes,
    programs,
    schedules,
)  # fmt: skip
from fuzz.__main__ import environment
from fuzz.adversary import PASSED, REFUSED, Adversary, FaultError, fault_of, numbered
from fuzz.bounded import DTYPES
from fuzz.campaign import Finding
from fuzz.damage import damaged, fewer
from fuzz.kinds import KINDS
from fuzz.meaning import evaluate
from fuzz.memory import Guarded
from fuzz.process import CaseWorker
from fuzz.reading import Node, read
from fuzz.shrink import shrink
from morello.base.errors import MorelloError
from morello.graph.interpreter import evaluate as evaluated
from morello.runtime.argument import argument


def fault(kind: Adversary, case: str) -> str | None:
    """The sort of fault that a case shows, if any."""
    try:
        kind.check(case)
    except Exception as error:
        return fault_of(error).sort
    return None


def found(name: str, cases: int = 60) -> Finding:
    """The first fault of a kind, shrunk; the line that is printed shows it again."""
    kind = KINDS[name]
    for number in range(cases):
        case = kind.case(numbered(name, 0, number))
        sort = fault(kind, case)
        if sort is not None:
            break
    else:
        raise AssertionError("nothing was found")
    smallest = shrink(case, kind.smaller, lambda one: fault(kind, one) == sort)
    finding = Finding(name, 0, number, sort, "", smallest)
    *command, again = shlex.split(finding.line)
    assert command == ["python", "-m", "fuzz", name, "--case"]
    assert again == smallest and fault(kind, again) == sort
    return finding


# ---- programs


class Computed:
    """A stand-in for a kernel: the reference's results, with a defect."""

    statistics = None

    def __init__(self, text: str, spoil: Callable[[Node, list[Any], Any], None]) -> None:
        self.root, self.result = read(text).graph, read(text).result
        self.spoil = spoil
        filled = self.root.operation.startswith("fill")
        self.inputs = [] if filled else self.root.inputs()
        self.arguments = [argument("x", morello.ir.dtype.F32, (1,))] * (len(self.inputs) + 1)

    def pack(self, name: str, values: Any) -> Any:
        return values

    def __call__(self, *given: Any, out: Any = None) -> Any:
        arrays = dict(zip(self.inputs, given, strict=True))
        dtype = self.result.dtype if self.result else None
        made = evaluate(self.root, arrays or {n: np.zeros(n.type.shape) for n in self.root.inputs()
                                              if n.type}, dtype)[self.root]  # fmt: skip
        if out is None:
            out = np.empty(made.shape, DTYPES[made.dtype])
        with np.errstate(all="ignore"):
            out[...] = made.value
        self.spoil(self.root, list(given), out)
        return out


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts kernels with a defect in the place of compiled ones."""

    def planted(spoil: Callable[[Node, list[Any], Any], None]) -> None:
        monkeypatch.setattr(programs, "_compiled", lambda p: Computed(p.text, spoil))

    return planted


def test_programs_find_a_wrong_element(plant: Callable[..., None]) -> None:
    def spoil(root: Node, given: list[Any], out: Any) -> None:
        if any(node.operation == "multiply" for node in root.nodes()):
            out[(-1,) * out.ndim] = 77

    plant(spoil)
    finding = found("programs")
    assert finding.sort == "wrong number"
    (text,) = (json.loads(finding.case)["text"],)
    assert "*" in text and len(text) < 40, text


def test_programs_find_what_is_written_beside(plant: Callable[..., None]) -> None:
    def beyond(root: Node, given: list[Any], out: Any) -> None:
        memory = out.base
        if memory is not None:
            memory[out.ctypes.data - memory.ctypes.data - 1] ^= 1

    plant(beyond)
    assert found("programs", 5).sort == "written outside"

    def inputs(root: Node, given: list[Any], out: Any) -> None:
        if given:
            given[0].view(np.uint8)[..., -1] ^= 1

    plant(inputs)
    assert fault(KINDS["programs"], "f32[3] + f32[3]") == "an input changed"


def test_programs_find_nothing_where_nothing_is_wrong(plant: Callable[..., None]) -> None:
    plant(lambda root, given, out: None)
    kind = KINDS["programs"]
    outcomes = [kind.check(kind.case(numbered("programs", 1, n))) for n in range(150)]
    assert set(outcomes) <= {PASSED, REFUSED} and outcomes.count(PASSED) > 100


def test_programs_run_what_is_compiled() -> None:
    assert KINDS["programs"].check('{"text": "f32[3] - f32[3]", "threads": 2}') == PASSED
    assert KINDS["programs"].check("f32[3] @") == REFUSED


def test_a_gap_that_is_written_shows() -> None:
    array = Guarded((2, 3), (20, 4), np.dtype(np.float32), 0xFF, 1)
    array.view[...] = 1
    assert array.changed(output=True) == ""
    np.ndarray((5,), np.float32, array.view.base, array.view.ctypes.data
               - array.view.base.ctypes.data)[3] = 1  # type: ignore[union-attr]  # fmt: skip
    assert "byte 12" in array.changed(output=True)


# ---- the others


def test_texts_find_an_error_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> None:
        if "@" in text:
            raise KeyError(text)

    monkeypatch.setattr(morello, "parse", parse)
    assert found("text").case == "'@'"


def test_texts_find_long_messages() -> None:
    kind = KINDS["text"]
    assert fault(kind, "'f32[4,4]'") is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuzz.texts.LONGEST", 5)
        smallest = shrink("'f32[' + '1' * 4000", kind.smaller, lambda c: fault(kind, c) is not None)
    assert len(smallest) < 20


def test_schedules_find_what_gives_no_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def generate(impl: Any) -> None:
        raise IndexError(impl)

    monkeypatch.setattr(schedules, "GOALS", ("sum(f32[4,16], axis=0)",))
    monkeypatch.setattr(schedules, "generate", generate)
    finding = found("schedules", 200)
    assert finding.sort.startswith("IndexError")
    said = json.loads(finding.case)
    assert len(said.get("edits", ()) or said["steps"]) == 1


def test_tables_find_damage_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(morello.Table, "check", lambda self: [])
    assert found("tables").sort == "damage that is not named"


def test_caches_find_crashes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def used(at: Path) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.so").write_bytes(bytes(99))
    monkeypatch.setattr(caches, "_good", lambda: tmp_path / "cache")
    monkeypatch.setattr(caches, "_used", used)
    assert found("cache").sort == "crash: SIGKILL"


def test_arguments_find_wrong_results_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(*given: Any, out: Any = None) -> Any:
        if any(x is None for x in given):
            raise MorelloError("None")
        return np.zeros(4)

    monkeypatch.setattr(arguments, "_kernel", lambda name: kernel)
    kind = KINDS["arguments"]
    assert fault(kind, "add(a0, a0)") == "a wrong result"
    assert kind.check("add(a0, None)") == REFUSED
    assert fault(kind, "morello.parse(3)") in (None, "TypeError in frontends/tokens.py:tokens")


def test_commands_find_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(folder: Path, line: list[str], **other: Any) -> tuple[int, str]:
        return (1, "Traceback (most recent call last):\nKeyError") if "--json" in line else (0, "")

    monkeypatch.setattr(commands, "saved_text", lambda goal: "{}")
    monkeypatch.setattr(commands, "_run", run)
    finding = found("commands")
    assert json.loads(finding.case) == {"line": ["--json"], "environment": {}, "streams": {}}


def test_commands_run_commands() -> None:
    case = {"line": ["targets", "--nonsense"], "environment": {"CC": "true"},
            "streams": {"stdin": "closed"}}  # fmt: skip
    assert KINDS["commands"].check(json.dumps(case)) == REFUSED


def test_certificates_find_what_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "check", lambda data, derived: None)
    kind = KINDS["certificates"]
    sort = fault(kind, kind.case(numbered("certificates", 0, 0)))
    assert sort is not None and sort.endswith(" is accepted")


def test_a_process_that_stays_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(launch, "_GONE_S", 0.3)
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'],\n"
        "                 start_new_session=True)\n"
        "print('ready', flush=True)\n"
        "time.sleep(3600)\n"
    )
    command = launch.Command.start(("-c", code), tmp_path)
    assert command.process.stdout is not None
    assert command.process.stdout.readline() == "ready\n"
    with pytest.raises(FaultError, match="a process left"):
        command.after(0, signal.SIGKILL, PATIENCE_S)
    assert launch.marked(command.mark) == []


def test_what_a_kill_broke_is_found(tmp_path: Path) -> None:
    clean = kills.Clean(1.0, {"x.c": "whole"})
    (tmp_path / "x.c").write_text("who")
    with pytest.raises(FaultError, match="in pieces"):
        kills._check_files(tmp_path, clean, old=True)
    (tmp_path / "x.c").write_text(kills.OLD)
    kills._check_files(tmp_path, clean, old=True)
    with morello.Table(tmp_path / "t.db") as table:
        table.keep_program("space", "goal", "text")
        there = kills._content(table)
    kills._check_tables(tmp_path, {"t.db": there})
    with pytest.raises(FaultError, match="rows lost"):
        kills._check_tables(tmp_path, {"t.db": {*there, "goal space other text"}})
    interrupts = kills.Interrupts()
    interrupts.judge(130, "morello: interrupted.")
    with pytest.raises(FaultError, match="exit code"):
        interrupts.judge(1, "")
    with pytest.raises(FaultError, match="a traceback"):
        interrupts.judge(1, 'Traceback (most recent\n  File "cli.py", line 1, in main\n')


def test_nodes_find_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(
        nodes, "_evaluated", lambda graph, inputs: [x + 1 for x in evaluated(graph, inputs)]
    )
    finding = found("nodes")
    assert finding.sort.endswith(": wrong")
    assert len(json.loads(finding.case)) == 2  # the change is not what is wrong


# ---- what they share


def test_shrinking_ends_at_the_smallest() -> None:
    def smaller(number: int) -> list[int]:
        return [number // 2, number - 1]

    assert shrink(1000, smaller, lambda number: number >= 37) == 37


def test_damage_is_done_and_undone() -> None:
    data = bytes(range(256))
    assert damaged(data, [("cut", 500_000, 1, 0)]) == data[:127]
    assert damaged(data, [("flip", 0, 1, 0)])[0] == 1
    assert damaged(b"", [("copy", 0, 4, 0), ("grow", 0, 3, 0)]) == bytes(3)
    edits = [("flip", 0, 1, 0), ("cut", 9, 1, 0)]
    assert edits[:1] in [list(one) for one in fewer(edits)]


def test_cases_depend_on_their_number_alone() -> None:
    for kind in KINDS.values():
        cases = [kind.case(numbered(kind.name, 3, number)) for number in range(20)]
        assert cases == [kind.case(numbered(kind.name, 3, number)) for number in range(20)]
        assert all("\n" not in case for case in cases) and kind.what
        assert isinstance(kind.case(Random(0)), str)


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *words], capture_output=True, text=True, timeout=PATIENCE_S,
        cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip


@pytest.mark.parametrize("case", ["__import__('time').sleep(3600)", "sum(iter(int, 1))"])
def test_what_sleeps_or_spins_hangs(case: str, tmp_path: Path) -> None:
    with CaseWorker(tmp_path / "0", environment(tmp_path)) as worker:
        assert worker.check("arguments", "np.float32(3)", PATIENCE_S).name == "passed"
        began = time.monotonic()
        assert worker.check("arguments", case, 0.5).sort == "hang"
        assert time.monotonic() - began > 0.5


def test_what_waits_for_a_cpu_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.process._spent", lambda pid: 0.0)  # as if it had none so far
    with CaseWorker(tmp_path / "0", environment(tmp_path)) as worker:
        slow = "sum(i for i in range(10**7))"
        assert worker.check("arguments", slow, 0.1).name == "passed"


def test_the_command_survives_what_crashes() -> None:
    done = fuzz("arguments", "--case", "ctypes.string_at(0)")
    assert done.returncode == 1 and "crash: SIGSEGV" in done.stderr


def test_the_command_counts_and_reports() -> None:
    done = fuzz("text", "--seed", "0", "--count", "200", "--json", "-j", "2")
    data = json.loads(done.stdout)
    assert data["seed"] == 0 and data["kinds"]["text"]["cases"] == 200
    assert done.returncode == bool(data["findings"]), done.stderr
    assert "seed 0" in done.stderr and "cases/s" in done.stderr
