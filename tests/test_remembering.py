"""A search is not repeated as long as its remembered answer holds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello import building, questions
from morello.base.errors import TableError
from morello.cli.parser import main
from morello.codegen import Source
from morello.impl.tree import Impl
from morello.memo import Table
from morello.memo.programs import StoredProgram, load_program, places, store_program
from morello.native.cache import is_whole
from morello.questions import question
from morello.request.goal import goal_and_target
from morello.runtime import threads
from morello.runtime.packing import random_inputs
from morello.runtime.verified import ENDING, mark_verified, verified_error
from morello.tables import VARIABLE
from morello.targets.calibration_path import default_path
from morello.targets.cpu import host_cpu

GOAL = "f32[8,24] @ f32[24,16]"
TARGET = "avx2"
COMPOSED = "relu(f32[4,8] + f32[4,8])"

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file where programs are remembered."""
    path = tmp_path / "remembered.db"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The goals that are searched for."""
    from morello.search.session import Session

    found: list[str] = []
    solve = Session.solve

    def counted(self: Session, *given: Any, **named: Any) -> Any:
        found.append(self.goal.expression)
        return solve(self, *given, **named)

    monkeypatch.setattr(Session, "solve", counted)
    return found


def implement(**options: Any) -> tuple[Impl, Any]:
    impl, statistics = morello.implement(GOAL, **{"target": TARGET} | options)
    assert statistics is not None
    return impl, statistics


# ---- which table


def test_programs_are_remembered_in_the_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, searches: list[str]
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("MORELLO_CACHE", str(folder))
    impl, _ = implement()
    again, statistics = implement()
    assert len(searches) == 1 and statistics.specs == 0 and again == impl
    assert [path.name for path in folder.glob("programs-*.db")] == ["programs-2.db"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.glob("*.db")))


@pytest.mark.parametrize("how", ["variable", "option"])
def test_nothing_is_remembered_if_it_is_off(
    how: str, table: Path, monkeypatch: pytest.MonkeyPatch, searches: list[str]
) -> None:
    options = {"table": "off"} if how == "option" else {}
    if how == "variable":
        monkeypatch.setenv(VARIABLE, "off")
    implement(**options)
    implement(**options)
    assert len(searches) == 2 and not table.exists()


def test_a_table_that_is_given_is_used_instead(
    table: Path, tmp_path: Path, searches: list[str]
) -> None:
    with Table(tmp_path / "own.db") as own:
        implement(table=own)
        implement(table=own)
        assert own.goals() and own.keys() and not table.exists()
    implement()
    assert len(searches) == 2


def test_searches_go_on_without_a_file_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, searches: list[str]
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path))
    (tmp_path / "programs-2.db").write_text("no table")
    implement()
    implement()
    assert len(searches) == 2 and (tmp_path / "programs-2.db").read_text() == "no table"


def test_a_file_that_is_named_must_be_a_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing" / "t.db"))
    with pytest.raises(TableError, match="there is no folder"):
        implement()


# ---- what is remembered


@pytest.mark.parametrize(
    ("options", "several"),
    [({"weights": "constant"}, False), ({"target": "x86-64-v3"}, True)],
    ids=["weights", "machines"],
)
def test_an_answer_over_layouts_or_machines_is_remembered(
    options: dict[str, Any], several: bool, table: Path, searches: list[str]
) -> None:
    impl, first = implement(**options)
    count = len(searches)
    again, statistics = implement(**options)
    assert (count > 1) == several and len(searches) == count and statistics.specs == 0
    assert again == impl and again.spec.placements == impl.spec.placements
    assert statistics.worst == first.worst
    implement()
    assert len(searches) == count + 1, "it is no answer to another question"


def test_an_answer_for_many_machines_is_for_these() -> None:
    goal, target = goal_and_target(GOAL, "x86-64-v3")
    fewer = replace(target, tunings=target.tunings[:1])
    assert len({*places(goal, target), *places(goal, fewer)}) == 4
    assert places(goal, target) == places(goal, replace(target))


def test_all_searches_of_an_answer_are_counted() -> None:
    _, plain = implement()
    _, many = implement(target="x86-64-v3")
    assert many.specs > plain.specs


def test_a_search_that_may_take_longer_is_made(table: Path, searches: list[str]) -> None:
    for weights in ("plain", "constant"):
        goal, target = goal_and_target(GOAL, TARGET)
        impl, _ = implement(table="off", weights=weights)
        with Table(table) as kept:
            of = None if weights == "plain" else goal
            store_program(StoredProgram(impl, gap=0.3, seconds=20.0), kept, of)
        searches.clear()
        _, statistics = implement(weights=weights, budget=20.0)
        assert searches == [] and statistics.gap == 0.3
        _, statistics = implement(weights=weights, budget=600.0)
        assert searches and statistics.proven
        with Table(table) as kept:
            found = load_program(goal, target, kept, weights)
            assert found is not None and found.gap == 0.0


# ---- kernels


IN_A_NEW_PROCESS = f"""
import sys, morello
kernel = morello.compile({GOAL!r})
loaded = set(sys.modules)
import numpy as np
a, b = np.ones((8, 24), np.float32), np.ones((24, 16), np.float32)
assert (kernel(a, b) == 24).all() and kernel.max_error < 1e-5
print(kernel.statistics.specs, *sorted(loaded))
assert str(kernel.spec) == str(kernel.impl.spec)
assert kernel.source.text.startswith("/*") and kernel.impl.complete
"""


def in_a_new_process(code: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_process_that_remembers_a_kernel_imports_little(table: Path) -> None:
    specs, *_ = in_a_new_process(IN_A_NEW_PROCESS)
    assert int(specs) > 0
    specs, *modules = in_a_new_process(IN_A_NEW_PROCESS)
    assert int(specs) == 0
    slow = ("psutil", "rich", "morello.rewrites", "morello.codegen", "morello.ir.spec")
    assert not {*slow, "morello.search.session", "morello.targets.catalog"} & {*modules}


def compiled(**options: Any) -> morello.Kernel:
    return morello.compile(GOAL, **options)


def test_a_kernel_is_the_same_when_it_is_remembered(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compiled()
    monkeypatch.setattr(building, "compile_anew", lambda *_, **__: pytest.fail("it was forgotten"))
    again = compiled()
    for name in ("spec", "impl", "source", "compiler", "threads", "max_error", "arguments"):
        assert getattr(again, name) == getattr(first, name), name
    assert again.statistics is not None and again.statistics.specs == 0
    random = np.random.default_rng(0)
    a, b = (argument.random(random) for argument in first.arguments[:-1])
    np.testing.assert_array_equal(again(a, b), first(a, b))
    assert compiled(verify=False).max_error is None


def test_kernels_for_threads_are_remembered(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("morello.runtime.threads.usable_cpus", lambda: 2)
    goal = "f32[256,256] @ f32[256,256]"  # so much that two threads pay on any machine
    first = morello.compile(goal, threads=2)
    monkeypatch.setattr(building, "compile_anew", lambda *_, **__: pytest.fail("it was forgotten"))
    again = morello.compile(goal, threads=2)
    assert again.threads == first.threads == 2
    a, b = random_inputs(again.spec).plain
    np.testing.assert_allclose(again(a, b), a.astype(float) @ b, rtol=1e-4, atol=1e-4)


def test_prepacked_weights_are_remembered(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled(weights="constant")
    monkeypatch.setattr(building, "compile_anew", lambda *_, **__: pytest.fail("it was forgotten"))
    again = compiled(weights="constant")
    a, b = random_inputs(again.spec).plain
    result = again(a, again.pack("b", b))
    np.testing.assert_array_equal(result, first(a, first.pack("b", b)))
    np.testing.assert_allclose(result, a.astype(float) @ b, rtol=1e-5, atol=1e-6)


def _another_program(kernel: morello.Kernel, path: Path) -> None:
    """A measured program of the goal is in the table by now."""
    with Table(path) as own:
        store_program(StoredProgram(kernel.impl, measured=2), own)


def _a_lost_object(kernel: morello.Kernel, path: Path) -> None:
    kernel.library.path.unlink()


def _another_object(kernel: morello.Kernel, path: Path) -> None:
    """The object was built anew, and not verified."""
    library = kernel.library.path
    text = library.read_bytes()
    library.unlink()
    library.write_bytes(text[:-1] + bytes([text[-1] ^ 1]))


@pytest.mark.parametrize("change", [_another_program, _a_lost_object, _another_object])
def test_a_kernel_is_made_anew_if_it_no_longer_holds(
    change: Callable[[morello.Kernel, Path], None], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = "f32[8,24] @ f32[24,40]"  # no other test has its object
    first = morello.compile(goal)
    change(first, table)
    made: list[str] = []
    anew = building.compile_anew

    def counted(*given: Any, **named: Any) -> morello.Kernel:
        made.append(given[0])
        return anew(*given, **named)

    monkeypatch.setattr(building, "compile_anew", counted)
    again = morello.compile(goal)
    assert made == [goal] and again.impl.decisions() == first.impl.decisions()
    assert is_whole(again.library.path)
    morello.compile(goal)
    assert made == [goal]


def test_a_kernel_that_was_not_verified_is_made_anew(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled(verify=False).max_error is None
    assert compiled().max_error is not None


def test_a_question_is_all_that_the_answer_depends_on(
    table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = {"target": "native", "threads": 1, "budget": 20.0}
    asked = [question(GOAL, options), question(COMPOSED, options)]
    asked += [question(GOAL, options | other) for other in ({"threads": 2}, {"budget": 2.0})]
    calibration = tmp_path / "costs.json"
    monkeypatch.setenv("MORELLO_CALIBRATION", str(calibration))
    asked.append(question(GOAL, options))
    calibration.write_text("{}")
    asked.append(question(GOAL, options))
    monkeypatch.delenv("MORELLO_CALIBRATION")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked.append(question(GOAL, options))
    own = default_path(host_cpu())
    own.parent.mkdir()
    own.touch()
    asked.append(question(GOAL, options))
    own.with_suffix(".peaks.json").touch()  # which bounds are made of, and no program
    assert question(GOAL, options) == asked[-1]
    monkeypatch.setenv("MORELLO_CALIBRATION", "off")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin")
    asked.append(question(GOAL, options))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "editor").touch()
    assert question(GOAL, options) == asked[-1]
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path / 'bin'}:/usr/bin")
    assert question(GOAL, options) == asked[-1]  # a folder without compilers
    (tmp_path / "bin" / "clang-19").touch()
    asked.append(question(GOAL, options))
    (tmp_path / "another").write_text("another")
    (tmp_path / "another").replace(tmp_path / "bin" / "clang-19")
    asked.append(question(GOAL, options))
    asked.append(question(GOAL, options | {"compiler": "wrapper gcc"}))
    (tmp_path / "bin" / "wrapper").touch()
    asked.append(question(GOAL, options | {"compiler": "wrapper gcc"}))
    monkeypatch.setenv("CC", "my-compiler")
    asked.append(question(GOAL, options))
    (tmp_path / "bin" / "my-compiler").touch()
    asked.append(question(GOAL, options))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ziglang").mkdir()
    asked.append(question(GOAL, options))
    cpu = replace(host_cpu(), features=frozenset({"another"}))
    monkeypatch.setattr(questions, "host_cpu", lambda: cpu)
    asked.append(question(GOAL, options))
    monkeypatch.setattr(questions, "_code", lambda: "another version")
    asked.append(question(GOAL, options))
    assert None not in asked and len({*asked}) == len(asked)
    monkeypatch.setattr(questions, "host_cpu", lambda: replace(cpu, cores=cpu.cores + 1))
    (tmp_path / "package").mkdir()  # in a folder of packages
    assert question(GOAL, options) == asked[-1]


@pytest.mark.parametrize(
    "options", [{"measure": 2}, {"rank": "learned"}, {"table": "t.db"}, {"table": "off"}]
)
def test_what_is_not_remembered_is_no_question(options: dict[str, Any], table: Path) -> None:
    assert question(GOAL, {}) is not None
    assert question(GOAL, options) is None
    assert question(GOAL, {"compiler": "a\0name"}) is None
    assert question(morello.schedule(GOAL), {}) is None


def test_a_spec_is_a_question_of_its_own(monkeypatch: pytest.MonkeyPatch, table: Path) -> None:
    """Of its operation, sizes and layouts, and of its names, which a kernel takes arrays by."""
    spec, wider = morello.parse(GOAL), morello.parse("f32[8,24] @ f32[24,32]")
    asked = [question(what, {}) for what in (spec, replace(spec, names=("x", "w", "y")), wider)]
    assert None not in asked and len({*asked}) == len(asked)
    assert asked[0] == question(morello.parse(GOAL), {}) != question(GOAL, {})
    everywhere = question(GOAL, {"threads": "all"})
    monkeypatch.setattr(threads, "usable_cpus", lambda: 7)
    monkeypatch.setattr(threads, "cpu_quota", lambda: 7.0)
    assert everywhere != question(GOAL, {"threads": "all"}) == question(GOAL, {"threads": 7})


# ---- verification


def test_what_was_verified_is_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = "f32[8,24] @ f32[24,24]"
    kernel = morello.compile(goal)
    mark = kernel.library.path.with_suffix(ENDING)
    assert mark.exists()
    verified: list[str] = []

    def verify(*_: Any, **__: Any) -> float:
        verified.append(goal)
        return 0.25

    monkeypatch.setattr(building, "verify_kernel", verify)
    assert morello.compile(goal).max_error == kernel.max_error and verified == []
    mark.write_text("damaged")
    assert morello.compile(goal).max_error == 0.25 and verified == [goal]
    assert morello.compile(goal).max_error == 0.25 and verified == [goal]
    mark.unlink()


def test_a_mark_is_of_one_object_and_one_spec(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(b"code" + b"x" * 40)
    assert verified_error(library, "spec") is None
    mark_verified(library, "spec", 1e-7)
    assert verified_error(library, "spec") == 1e-7
    assert verified_error(library, "another") is None
    library.write_bytes(b"code" + b"y" * 40)
    assert verified_error(library, "spec") is None


def test_what_others_can_write_is_not_used(
    table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Text of C, and what is called: only the kernel cache has it, not a table that is given."""
    monkeypatch.setenv("MORELLO_CACHE", str(tmp_path / "cache"))
    command = ["synth", GOAL, "--target", TARGET, "-o", str(tmp_path / "c.c")]
    assert main(command) == 0
    with Table(table) as own:
        assert {space for space, _ in own.goals()} != {""}
    monkeypatch.setattr("morello.cli.synthesis.synthesize", lambda *_: pytest.fail("made anew"))
    assert main(command) == 0
    (tmp_path / "cache" / "texts-2.db").chmod(0o666)
    with pytest.raises(pytest.fail.Exception, match="made anew"):
        main(command)


# ---- the command


def test_synth_writes_what_it_wrote_before(
    table: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("c.c", "c.h", "c.json")]
    command = ["synth", GOAL, "--target", TARGET]
    written = [*command, "-o", *map(str, (paths[0], "--header", paths[1], "--save", paths[2]))]
    assert main(command) == 0 and main(written) == 0
    text, files = capsys.readouterr().out, [path.read_text() for path in paths]
    assert files[0] == text and "matmul" not in files[1]
    monkeypatch.setattr("morello.cli.synthesis.synthesize", lambda *_: pytest.fail("made anew"))
    assert main(command) == 0 and main(written) == 0
    assert capsys.readouterr().out == text and [path.read_text() for path in paths] == files
    monkeypatch.undo()
    assert main([*command, "--name", "other", "--no-table"]) == 0
    assert "void other(" in capsys.readouterr().out


SYNTH = f"""
import sys
from morello.cli.parser import main
assert main(["synth", {GOAL!r}, "--target", {TARGET!r}, "-o", sys.argv[1]]) == 0
print(*sorted(sys.modules))
"""


def test_synth_imports_little_for_what_it_wrote_before(table: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "c.c")
    assert "morello.codegen" in in_a_new_process(SYNTH, path)
    modules = in_a_new_process(SYNTH, path)
    assert "morello.questions" in modules
    assert not {"numpy", "rich", "morello.codegen"} & {*modules}


@pytest.mark.parametrize("command", ["synth", "bench", "explain"])
def test_a_typo_is_answered_without_the_rest_of_morello(command: str) -> None:
    code = (
        "import sys\nfrom morello.cli.parser import main\n"
        f"print(main([{command!r}, 'f32[8,24] @ f32[24']), *sorted(sys.modules))"
    )
    status, *modules = in_a_new_process(code)
    assert status == "2" and "morello.frontends.text" in modules
    assert not {"rich", "morello.codegen", "morello.rewrites"} & {*modules}


def test_tables_of_commands(table: Path, capsys: Capture, searches: list[str]) -> None:
    command = ["explain", GOAL, "--target", TARGET]
    assert main(command) == 0 and "Proven cheapest" in capsys.readouterr().out
    assert main(command) == 0 and "Known from the table" in capsys.readouterr().out
    assert main([*command, "--no-table"]) == 0
    assert "Proven cheapest" in capsys.readouterr().out
    assert len(searches) == 2
    assert main([*command, "--no-table", "--db", "t.db"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


# ---- other machines


def cost(capsys: Capture, *options: str) -> float:
    assert main(["explain", GOAL, "--target", TARGET, "--json", *options]) == 0
    found: float = json.loads(capsys.readouterr().out)["cost"]
    return found


def test_limits_are_those_of_another_machine(capsys: Capture) -> None:
    here = cost(capsys)
    assert cost(capsys, "--limits", "registers=16") == here
    assert cost(capsys, "--limits", "registers=4") > here
    assert cost(capsys, "--limits", "l1=24,registers=8") >= here


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("L9=3", "'L9=3' is no limit of a level of avx2; its levels and their limits are: L2=3072"),
        ("memory=3", "is no limit of a level"),
        ("L1", "'L1' is no limit"),
        ("L1=-1", "'L1=-1' is no limit"),
        ("", "'' is no limit"),
        ("L1=0", "'L1=0': a level has from 1 to 1,048,575 lines or registers."),
        ("registers=1048576", "from 1 to 1,048,575"),
    ],
)
def test_limits_that_cannot_be(limits: str, said: str, capsys: Capture) -> None:
    assert main(["synth", GOAL, "--target", TARGET, f"--limits={limits}"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_what_is_kept_for_one_machine_is_not_for_another(
    table: Path, capsys: Capture, searches: list[str]
) -> None:
    for _ in range(2):
        cost(capsys)
        cost(capsys, "--limits", "registers=8")
    assert len(searches) == 2


def test_a_source_is_worked_out_when_it_is_asked_for(table: Path) -> None:
    first = compiled()
    again = compiled()
    assert isinstance(again.source, Source) and again.source is again.source
    assert again.source.text == first.source.text


def test_a_source_has_the_arguments_of_its_kernel(table: Path) -> None:
    """One program is remembered for all names of operands, and equal ones are one argument."""
    for text in ("f32[4,8] + f32[4,8]", "a = f32[4,8]; a + a"):
        first = morello.compile(text, target=TARGET)
        again = morello.compile(text, target=TARGET)
        assert again.source.text == first.source.text
        assert again.spec.names == first.spec.names
