"""Every command and every piece of Python that the pages show runs, and does what they say."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.docs import test_tutorial as tutorial
from tests.docs.pages import (
    MACHINE,
    PAGES,
    ROOT,
    Command,
    blocks,
    check_count,
    check_output,
    code,
    commands,
    python,
    rows,
)

import morello
from morello.cli.parser import main
from morello.frontends.functions import SUGGESTED
from morello.frontends.ranges import family
from morello.frontends.text import parse, parse_type
from morello.importers.text import graph_of
from morello.ir.dtype import COMPUTED
from morello.learn.predictors import learned
from morello.targets import find_target
from morello.targets.catalog import host_machine

LANGUAGE = ROOT / "docs" / "language.md"
COMMAND = ROOT / "docs" / "command.md"
MAKEFILE = (ROOT / "Makefile").read_text()

SHORTER = {
    "precompute": {
        "m=1..2048": "m=1..2", "k=1..2048": "k=2", "n=1..2048": "n=2", "EXTRA": "--workers 1",
    },
    "model": {"EXTRA": "--samples 4 --seconds 0.001"},
    "bench": {"EXTRA": "--seconds 0.05"},
}  # fmt: skip
"""Options that make slow commands quick, by command: words for other words, and words to add."""

QUICK = (
    "relu(f32[256,1024] @ f32[1024,4096] + f32[4096])",
    "bf16[1,2048] @ bf16[2048,16384]",
)
"""Expressions of that page that take a second or two to search; the others are read."""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder to work in, on a machine that was not calibrated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MORELLO_CALIBRATION", "off")
    return tmp_path


def alike() -> bool:
    """Whether this machine is like the one that the pages were written on."""
    machine = host_machine()
    return machine is not None and machine.name == MACHINE


def run(words: list[str]) -> str:
    """The output of a command."""
    output = StringIO()
    with redirect_stdout(output):
        assert main(words) == 0
    return output.getvalue()


def as_run(command: Command) -> list[str]:
    """The words after `morello` of a command, or of the one that a target of make runs."""
    words = command.words
    if words[0] == "make":
        recipe = re.search(rf"^{words[1]}: .*\n\t\$\(BIN\)/(.*)$", MAKEFILE, re.MULTILINE)
        assert recipe is not None, f"make {words[1]} runs no morello"
        words = Command(recipe[1], "").words
    assert words[0] == "morello", command.line
    shorter = SHORTER.get(words[1], {})
    return [shorter.get(word, word) for word in words[1:]] + shorter.get("EXTRA", "").split()


CONSOLE = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    if page != tutorial.PAGE
    for number, block in enumerate(commands(page))
]
"""Those of all pages but one, which `test_tutorial` follows as a whole."""


@pytest.mark.parametrize("block", CONSOLE)
def test_console_blocks(block: list[Command]) -> None:
    for command in block:
        said = re.search(r"# .*?: ([\d,]+) Specs, not ([\d,]+)$", command.line)
        words = as_run(command)
        if said is not None:
            fresh = [word for word in words if word not in ("--db", "specs.db")]
            for one, count in ((words, said[1]), (fresh, said[2])):
                found = json.loads(run([*one, "--json"]))["search"]["specs"]
                if alike():
                    check_count(found, int(count.replace(",", "")))
            continue
        output = run([*words, "--json"] if "known: no search" in command.line else words)
        if "known: no search" in command.line:
            assert json.loads(output)["search"]["specs"] == 0
        elif command.shown:
            predicted = learned(find_target("native")) is not None
            check_output(output, command.shown, alike=alike(), predicted=predicted)
        elif words[0] == "bench":
            assert "searched" in output
        elif words[0] == "synth":
            written = [words[i + 1] for i, word in enumerate(words) if word in ("-o", "--header")]
            assert output == "" and all(Path(name).stat().st_size for name in written)


def test_there_are_console_blocks() -> None:
    found = {as_run(command)[0] for page in PAGES for block in commands(page) for command in block}
    assert found >= {"bench", "explain", "model", "precompute", "synth"}


PYTHON = [page for page in PAGES if blocks(page, "python") and not page.stem.startswith("adding-")]
"""The others show changes of the source, and are run by `test_adding`."""


RESULTS = {
    "README": ("y", "np.maximum(x @ w + b, 0)"),
    "language": ("y", "x @ weights"),
}
"""For some pages: the variable that their code computes, and the same in NumPy.

Other pages compare their results themselves.
"""


@pytest.mark.parametrize("page", PYTHON, ids=lambda page: page.stem)
def test_python_blocks(page: Path) -> None:
    """One after the other, with the outputs that the page shows."""
    if page.stem == "jax":
        pytest.importorskip("jax")
    names: dict[str, Any] = {}
    for block, shown in python(page):
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(block, page.name, "exec"), names)
        if shown:
            check_output(output.getvalue(), shown, alike=alike())
    if page.stem in RESULTS:
        result, wanted = RESULTS[page.stem]
        np.testing.assert_allclose(names[result], eval(wanted, names), rtol=1e-3, atol=1e-3)


def test_results_are_of_pages_with_code() -> None:
    assert {*RESULTS} <= {page.stem for page in PYTHON}
    assert sum(bool(shown) for page in PYTHON for _, shown in python(page)) > 5


# ---- what stands in the text


def test_expressions_can_be_read() -> None:
    said = [one for row in rows(LANGUAGE, "Expressions") for one in re.findall("`(.+?)`", row)]
    said += [row.strip("`") for row in rows(LANGUAGE, "Types")]
    said += [row.strip("`") for row in rows(LANGUAGE, "Several results")]
    assert len(said) > 12
    for text in said:
        if re.fullmatch(r"\w+\[[\d,]+\]\S*", text):
            parse_type(text)
        else:
            parse(text)
    assert {*QUICK} <= {*said}
    views = [one for row in rows(LANGUAGE, "Views") for one in re.findall("`(.+?)`", row)]
    for text in views:
        graph_of(text, **({"x": "f32[8,4]"} if text.startswith("x") else {}))
    assert len(views) > 5


@pytest.mark.parametrize("expression", QUICK)
def test_expressions_have_programs(expression: str) -> None:
    assert "Proven cheapest" in run(["explain", expression, "--budget", "200"])


def test_the_language_page_has_every_function_and_dtype() -> None:
    page = LANGUAGE.read_text()
    said = " ".join(rows(LANGUAGE, "Functions"))
    assert {*re.findall(r"`(\w+)[`(]", said)} == {*SUGGESTED}
    dtypes = re.search(r"The dtypes are `(.*?)`", page)
    assert dtypes is not None
    assert {*dtypes[1].split()} == {dtype.name for dtype in COMPUTED}


def helps() -> Iterator[tuple[str, str]]:
    """Each command, and what it says of itself."""
    for name in listed(text_of_help([])):
        own = text_of_help([name])
        yield name, " ".join([own, *(text_of_help([name, action]) for action in listed(own))])


def listed(text: str) -> list[str]:
    """The commands, or actions of one, that a help text lists."""
    return re.findall(r"^    (\w+)(?: |$)", text, re.MULTILINE)


def text_of_help(words: list[str]) -> str:
    return run([*words, "--help"])


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


def test_commands_have_the_options_that_the_pages_say() -> None:
    known = dict(helps())
    said = [row.strip("`") for row in rows(COMMAND, "All commands")]
    assert {text.split()[1] for text in said} == {*known}
    for text in said:
        assert options(text) <= options(known[text.split()[1]]), text
    every = set().union(*map(options, known.values()))
    for page in PAGES:
        for text in code(page):
            words = text.split()
            if words[0] == "morello" and len(words) > 1 and words[1] in known:
                assert options(text) <= options(known[words[1]]), f"{page.name}: {text}"
            elif words[0].startswith("--") and page != ROOT / "CONTRIBUTING.md":
                assert words[0].partition("=")[0] in every, f"{page.name}: {text}"


def test_targets_of_make_exist() -> None:
    known = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    for page in PAGES:
        said = re.findall(r"`make ([a-z-]+)", page.read_text())
        assert {*said} <= known, page.name


def test_what_python_code_calls_exists() -> None:
    for page in PAGES:
        for text in code(page):
            if called := re.match(r"morello\.(\w+)[.(]", text):
                known = called[1] in morello.__all__ or find_spec(f"morello.{called[1]}")
                assert known, f"{page.name}: {text}"


def test_pages_that_are_named_exist() -> None:
    for page in PAGES:
        for text in code(page):
            if re.fullmatch(r"[\w/]+\.(md|py)", text) and "/" in text:
                package = ROOT / "src" / "morello"
                places = (ROOT, ROOT / "tests", package, *package.glob("*/"))
                assert any((place / text).exists() for place in places), f"{page.name}: {text}"


def test_the_family_that_is_precomputed_has_the_goals_that_the_page_says() -> None:
    page = ROOT / "docs" / "table.md"
    (command,) = [c for block in commands(page) for c in block if "precompute" in c.line]
    said = re.search(r"has ([\d,]+) goals", page.read_text())
    assert said is not None
    expression, *ranges = command.words[2 : command.words.index("--db")]
    assert len(family(expression, ranges)) == int(said[1].replace(",", ""))


SHOWN = "kernel  2.58 ms  104.1  1.14x\nlargest error 1.2e-06\nsearched 1,000 Specs in 0.84 s\n"


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (SHOWN, ""),
        (SHOWN.replace("2.58 ms", "1.3 us").replace("104.1", "7.0").replace("1.14", "0.50"), ""),
        (SHOWN.replace("1,000", "1,299"), ""),
        (SHOWN.replace("1,000", "1,301"), "1,301 Specs, and the page says 1,000"),
        (SHOWN.replace("e-06", "e-04"), "largest error 1.2e-04"),
        (SHOWN.replace("largest", "greatest"), "is not, but for figures"),
        (SHOWN.replace("1.14x", ""), "is not, but for figures"),
        (SHOWN + "and more\n", "is not, but for figures"),
    ],
)
def test_outputs_are_compared(found: str, wrong: str) -> None:
    if not wrong:
        check_output(found, SHOWN, alike=True)
        return
    with pytest.raises(AssertionError, match=re.escape(wrong)):
        check_output(found, SHOWN, alike=True)


def test_the_changelog_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == morello.__version__
    heading = rf"^## {re.escape(morello.__version__)} - \d{{4}}-\d\d-\d\d$"
    assert re.search(heading, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
