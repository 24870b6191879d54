"""The cheapest programs of a Spec, listed and chosen by their number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import some

import morello
from morello.base.errors import SearchError, SpecError, quoted
from morello.cli.parser import main
from morello.codegen import generate
from morello.impl import saved
from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.memo import Table
from morello.memo.programs import StoredProgram, store_program
from morello.search.structure import structure
from morello.targets.catalog import find_target

GOAL = "f32[4,6] @ f32[6,8]"
FEW = "relu(f32[8])"
AVX2 = find_target("avx2")


def in_order(impls: Sequence[Impl]) -> bool:
    """Programs are in the order of their costs, which are rounded sums."""
    return all(a.cost <= b.cost * (1 + 1e-9) for a, b in pairwise(impls))


def test_they_are_different_and_in_order() -> None:
    found = morello.alternatives(GOAL, 8, target="avx2")
    assert len(found) == len({structure(impl) for impl in found}) == 8
    assert in_order(found) and found[0].cost < found[-1].cost
    assert found[0].cost == morello.implement(GOAL, target="avx2")[0].cost
    assert found[:3] == morello.alternatives(GOAL, 3, target="avx2")


@pytest.mark.parametrize("options", some([{}, {"threads": 2}, {"weights": "constant"}], 2), ids=str)
def test_a_choice_is_the_one_of_its_number(options: dict[str, Any]) -> None:
    known = {"target": AVX2, **options}
    found = morello.alternatives(GOAL, 6, **known)
    for number, wanted in enumerate(found, start=1):
        impl, statistics = morello.implement(GOAL, choice=number, **known)
        assert impl.cost == wanted.cost and (impl == wanted or number == 1)
        assert statistics is not None
        assert statistics.choice == number and statistics.proven


def test_layouts_of_weights_make_programs_different() -> None:
    found = morello.alternatives("f32[8,8] @ f32[8,16]", 12, target="avx2", weights="constant")
    assert in_order(found)
    assert len({(structure(impl), impl.spec) for impl in found}) == 12
    of_each: dict[Spec, list[float]] = {}
    for impl in found:
        of_each.setdefault(impl.spec, []).append(impl.cost)
    assert len(of_each) > 1
    for spec, costs in of_each.items():
        alone = morello.alternatives(spec, len(costs), target="avx2")
        assert costs == pytest.approx([impl.cost for impl in alone])


def test_a_chosen_program_is_compiled_and_not_kept_as_the_cheapest(tmp_path: Path) -> None:
    with Table(tmp_path / "specs.db") as table:
        third = morello.alternatives(GOAL, 3, table=table)[2]
        kernel = morello.compile(GOAL, choice=3, table=table)
        assert kernel.impl == third and kernel.max_error is not None
        assert morello.compile(third).source == kernel.source
        cheapest, _ = morello.implement(GOAL, table=table)
        assert cheapest != third and cheapest.cost <= third.cost
        assert morello.implement(GOAL, choice=3, table=table)[0] == third


def test_a_choice_is_not_what_was_measured() -> None:
    with Table(":memory:") as table:
        third = morello.alternatives(GOAL, 3, target="avx2", table=table)[2]
        cheapest, _ = morello.implement(GOAL, target="avx2", table=table)
        store_program(StoredProgram(cheapest, measured=5), table)
        assert morello.implement(GOAL, target="avx2", table=table, choice=3)[0] == third


def test_there_may_be_no_such_choice() -> None:
    found = morello.alternatives(FEW, 50, target="avx2")
    assert 1 < len(found) < 50
    with pytest.raises(SearchError) as error:
        morello.implement(FEW, target="avx2", choice=50)
    wanted = f"has {len(found)} programs of different structures, so there is no choice 50; choose"
    assert wanted in str(error.value)


def test_a_budget_may_not_suffice_for_a_choice() -> None:
    larger = "f32[60,64] @ f32[64,70]"
    assert len(morello.alternatives(larger, 999, target="avx2", budget=1e-6)) < 999
    with pytest.raises(SearchError, match=r"budget sufficed for \d+ .*, not for choice 999; give"):
        morello.implement(larger, target="avx2", choice=999, budget=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"choice": 2, "measure": 2}, "excludes measuring and ranking them; leave out one."),
        ({"choice": 2, "rank": "learned"}, "excludes measuring and ranking them; leave out one."),
        ({"choice": 2, "target": "x86-64-v3"}, "x86-64-v3 is many machines, each with an order"),
        ({"choice": 0}, "are numbered 1 to 1000, not 0."),
        ({"choice": "2"}, "are numbered 1 to 1000, not '2'."),
        ({"choice": 10**5000}, "not <int>."),
    ],
    ids=quoted,
)
def test_choices_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SearchError) as error:
        morello.implement(FEW, **options)
    assert said in str(error.value)


def test_a_schedule_has_no_alternatives() -> None:
    by_hand = morello.schedule(FEW, target="avx2").solve()
    with pytest.raises(SpecError, match="a schedule is one program; give an expression"):
        morello.alternatives(by_hand, 1)  # type: ignore[arg-type]
    with pytest.raises(SearchError, match="a schedule is one program; leave it out, or the choice"):
        morello.implement(by_hand, choice=2)


# ---- the command


def test_explain_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    found = morello.alternatives(GOAL, 3, target="avx2")
    assert main(["explain", GOAL, "--target", "avx2", "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{GOAL} for avx2: the cheapest programs of different structures"
    heads = [line for line in lines[2:] if not line.startswith(" ")]
    above = found[2].cost / found[0].cost - 1
    assert heads[0] == f"1  {found[0].cost:,.1f} cycles"
    assert heads[2] == f"3  {found[2].cost:,.1f} cycles, {above:.2%} above the cheapest"
    for trait in structure(found[2]) ^ structure(found[0]):
        sign = "+" if trait in structure(found[2]) else "-"
        assert f"     {sign} {trait}" in lines[lines.index(heads[2]) :]


def test_explain_says_that_there_are_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", FEW, "--target", "avx2", "--top", "50"]) == 0
    assert "There are no others, or" in capsys.readouterr().out


def test_explain_lists_all_decisions_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = morello.alternatives(GOAL, 3, target="avx2")
    assert main(["explain", GOAL, "--target", "avx2", "--top", "3", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["programs"]
    assert [program["choice"] for program in listed] == [1, 2, 3]
    assert [program["cost"] for program in listed] == [impl.cost for impl in found]
    assert [saved.load(program["schedule"]) for program in listed] == found
    assert listed[0]["without"] == [] and listed[0]["above"] == 0 and listed[0]["with"]
    assert listed[1]["with"] or listed[1]["without"]


def test_synth_takes_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    found = morello.alternatives(GOAL, 3, target="avx2")
    texts = []
    for choice in ("1", "3"):
        assert main(["synth", GOAL, "--target", "avx2", "--choice", choice]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] != texts[1]
    assert generate(found[2]).text.split("{", 1)[1] == texts[1].split("{", 1)[1]


def test_bench_says_which_choice_it_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", GOAL, "--choice", "2", "--seconds", "0.01"]) == 0
    assert "number 2 of the cheapest programs of different" in capsys.readouterr().out


def test_explain_says_which_choice_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", GOAL, "--target", "avx2", "--choice", "2"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Number 2 of the cheapest programs of different structures." in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", FEW, "--top", "2", "--choice", "2"], "--top lists programs, and --choice"),
        (["explain", FEW, "--top", "2", "--measure", "2"], "leave out one."),
        (["bench", FEW, "--choice", "2", "--rank", "learned"], "leave out one."),
        (["synth", FEW, "--choice", "0"], "are numbered 1 to 1000, not 0."),
        (["synth", FEW, "--choice", "999"], "so there is no choice 999; choose at most"),
    ],
    ids=str,
)
def test_misuse_gets_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and said in captured.err and captured.err.count("\n") == 1
