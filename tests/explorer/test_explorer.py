"""The explorer: its pages say of programs what the search and the code generator say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.pages import data_of

import morello
from morello.cli.parser import main
from morello.codegen.source import generate
from morello.explorer.others import Explored, explored
from morello.explorer.page import page
from morello.frontends import parse
from morello.impl import saved
from morello.impl.listing import listing
from morello.impl.reconstruct import reconstruct
from morello.impl.tree import Impl
from morello.native.toolchain import find_compiler
from morello.search.budget import UNTIMED, Budget
from morello.search.session import Session
from morello.targets import find_target

AVX2 = find_target("avx2")
TEXT = "relu(f32[16,32] @ f32[32,40] + f32[40])"


def best(text: str) -> Impl:
    result = Session(parse(text), AVX2).solve()
    return reconstruct(result.goal, AVX2, result.decisions)


@pytest.fixture(scope="module")
def cheapest() -> Explored:
    return explored(best(TEXT), UNTIMED)


def test_the_cheapest_program_loses_to_no_other(cheapest: Explored) -> None:
    assert cheapest.proven and cheapest.lower == pytest.approx(cheapest.impl.cost)
    entries = listing(cheapest.impl)
    assert [*cheapest.choices] == [entry.number for entry in entries]
    reasons = set()
    for entry in entries:
        for choice in cheapest.choices[entry.number]:
            for other in choice.others:
                reasons.add(re.split(r"[:+ ]", other.reason)[0])
                if other.exact:
                    assert other.cycles is not None
                    assert other.cycles >= choice.cycles * (1 - 1e-9)
                    assert other.program[0].cycles == pytest.approx(other.cycles)
                else:
                    assert not other.program
    assert {"", "as", "pruned", "does"} <= reasons


def test_first_decisions_are_those_of_the_steps(cheapest: Explored) -> None:
    for entry in listing(cheapest.impl):
        choices = cheapest.choices[entry.number]
        if len(choices) == 1:
            assert choices[0].words == entry.words
            assert choices[0].cycles == pytest.approx(entry.impl.cost)
    assert all(cheapest.choices[n] for n in (0, len(listing(cheapest.impl)) - 1))


def test_a_page_has_the_program_and_its_c(cheapest: Explored) -> None:
    text = page([cheapest], [("cost", "few <cycles>")])
    assert not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org)", text)
    data = data_of(text)["data"]
    assert data["facts"] == [["cost", "few <cycles>"]]
    assert [level["capacity"] for level in data["programs"][0]["levels"]] == list(AVX2.limits)
    (program,) = data["programs"]
    assert [step["words"] for step in program["steps"]] == [
        entry.words for entry in listing(cheapest.impl)
    ]
    own = sum(step["runs"] * step["own"] for step in program["steps"])
    assert own == pytest.approx(program["cost"]) == cheapest.impl.cost
    assert "\n".join(line for line, _ in program["c"]) + "\n" == generate(cheapest.impl).text


def test_lines_of_c_belong_to_their_steps(cheapest: Explored) -> None:
    (program,) = data_of(page([cheapest]))["data"]["programs"]
    steps, seen = program["steps"], set()
    for line, number in program["c"]:
        if "for (long" in line and "line" not in line:
            assert steps[number]["style"] == "loop", line
        kernel = re.search(r"\b(relu_f32x8|store_f32x8)\(", line)
        if kernel and number >= 0:
            seen.add(kernel[1])
            assert kernel[1] == steps[number]["words"]
    assert seen


def test_machine_code_belongs_to_the_steps_of_its_c() -> None:
    program = explored(best("f32[16,16] @ f32[16,16]"), UNTIMED)
    (data,) = data_of(page([program], compiler=find_compiler()))["data"]["programs"]
    products = {data["steps"][n]["words"] for text, n in data["machine"] if "vfmadd" in text}
    assert products and all(words.startswith("fma_") for words in products)


def test_parallel_loops_and_schedules_by_hand_have_pages() -> None:
    schedule = morello.schedule("f32[8,8] @ f32[8,16]", target="avx2", threads=2)
    impl = schedule.parallel(m=4).solve().impl
    program = explored(impl, UNTIMED)
    assert not program.proven or program.impl.cost == pytest.approx(impl.cost)
    data = data_of(page([program, program]))["data"]
    assert len(data["programs"]) == 2
    assert any(number >= 0 for _, number in data["programs"][0]["c"])


def test_a_short_budget_gives_a_page_without_others() -> None:
    program = explored(best("f32[64,64] @ f32[64,64]"), Budget(1e-6))
    (data,) = data_of(page([program]))["data"]["programs"]
    assert data["choices"] == [] and not program.proven and len(data["steps"]) > 10


def test_explain_writes_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expression, target = "f32[8,8] @ f32[8,16]", ["--target", "avx2", "--no-table"]
    other, html = tmp_path / "other.json", tmp_path / "x.html"
    impl = best(expression)
    other.write_text(json.dumps(saved.save(impl)))
    assert main(["explain", expression, *target, "--html", str(html), "--against", str(other)]) == 0
    data = data_of(html.read_text())["data"]
    assert len(data["programs"]) == 2
    assert data["facts"][0][0] == "cost" and "no program" in data["facts"][1][1]
    assert "measured" not in dict(data["facts"])  # for another machine than this one
    monkeypatch.setattr("morello.measure.choose.SECONDS", 0.01)
    both = ["--measure", "2", "--html", str(html), "--against", str(other)]
    assert main(["explain", expression, *target, *both]) == 0
    facts = dict(data_of(html.read_text())["data"]["facts"])
    assert re.fullmatch(r"[\d.]+ [mun]s", facts["measured"])
    assert re.fullmatch(r"[\d.]+ [mun]s", facts["measured, the other"])
    capsys.readouterr()
    for options, problem in [
        (["--against", str(other)], "add --html"),
        (["--html", str(tmp_path / "none" / "x.html")], "no folder"),
        (["--html", str(html), "--top", "2"], "leave out --top"),
    ]:
        assert main(["explain", expression, *target, *options]) != 0
        assert problem in capsys.readouterr().err
