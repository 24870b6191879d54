"""The front page, its picture, and what the site shows of other folders; `make docs` builds it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.docs.pages import PAGES, ROOT
from tools import front_page, pages, pictures

TABLE_HEAD = re.compile(r"^(\|.*\|)\n\|(?:-+\|)+$", re.MULTILINE)


def test_pictures_are_what_the_command_draws() -> None:
    drawn = pictures.pictures()
    assert [path.name for path in drawn] == ["race.svg", "models.svg", "roofline.svg"]
    for path, text in drawn.items():
        assert path.read_text() == text
        ElementTree.parse(path)
    table = pictures.figures((ROOT / "docs" / "benchmarks.md").read_text(), "On Zen 4")
    longest = max(table[row][rival] for row in pictures.GROUPS for rival in pictures.RIVALS)
    assert longest < pictures.LONGEST


def test_figures_of_the_front_page_are_those_of_the_table() -> None:
    front = " ".join((ROOT / "README.md").read_text().split())
    table = pictures.figures((ROOT / "docs" / "benchmarks.md").read_text(), "On Zen 4")
    vectors, softmax = table["bf16 1x2048x16384, by rows, by columns"], table["softmax, 12 sizes"]
    assert f"is {vectors['torch'] + 0.01:.1f} times as fast as torch and twice as fast" in front
    assert round(vectors["best"], 1) == 2.0
    assert f"softmax {softmax['torch']:.1f} and {softmax['best']:.1f} times" in front
    times = (ROOT / "docs" / "benchmarks.md").read_text().partition("perceptron with norm")[2]
    ours, onnx, *_ = (int(one) for one in re.findall(r"(\d+) us", times))
    assert f"{ours / 1000:.2f} ms, {onnx / ours:.2f} times as fast as ONNX Runtime" in front


def test_the_summary_of_the_learned_model_is_of_its_table() -> None:
    page = (ROOT / "docs" / "learned-model.md").read_text()
    table = page.partition("### Specs that are held out")[2].partition("\n\nBy family")[0]
    rows = re.findall(r"\| (affine|network|network and cost) \| (.*?) \| (.*?) \| (.*?) \|", table)

    def ends(predictor: str, column: int) -> list[float]:
        every = [float(row[column].split(",")[0]) for row in rows if row[0] == predictor]
        return [min(every), max(every)]

    summary = page.partition("In short")[2].partition("\n\n")[0]
    said = [
        float(number) for pair in re.findall(r"([\d.]+) to ([\d.]+)", summary) for number in pair
    ]
    tau, error, choice = 1, 2, 3
    assert said[:4] == pytest.approx([*ends("network", tau), *ends("affine", tau)], abs=0.005)
    assert said[4:8] == pytest.approx([*ends("network", error), *ends("affine", error)], abs=0.5)
    assert said[8:] == pytest.approx(
        [*ends("network and cost", choice), *ends("affine", choice)], abs=0.5
    )


def test_the_front_page_has_the_table_of_whole_models() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    text = front_page.README.read_text()
    assert front_page.front_page(text, page) == text
    assert front_page.models(page).count("\n") > 10
    for name, row in pictures.figures(page, "Whole models").items():
        line = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        other = float(line.split("|")[3].split()[-1])
        assert other / row["Morello, ms"] == pytest.approx(row["times as fast"], abs=0.01)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks" / "README.md"], ids=lambda p: p.stem)
def test_tables_have_heads(page: Path) -> None:
    """Every column of a table has a name."""
    for head in TABLE_HEAD.findall(page.read_text()):
        assert all(cell.strip() for cell in re.split(r"(?<!\\)\|", head)[1:-1]), head


def test_links_of_pages_from_elsewhere_lead_to_pages_of_the_site() -> None:
    relinked = pages.relinked
    text = "[a](docs/api.md), [b](docs/api.md#x), [c](CHANGELOG.md), [d](benchmarks/README.md)"
    assert (
        relinked(text, "README.md")
        == "[a](api.md), [b](api.md#x), [c](changelog.md), [d](races.md)"
    )
    assert relinked("![p](docs/race.svg) [L](LICENSE)", "README.md") == "![p](race.svg) L"
    assert relinked("[up](../README.md)", "benchmarks/README.md") == "[up](index.md)"
    outside = "[web](https://example.org/docs/), [here](#start)"
    assert relinked(outside, "README.md") == outside


def test_the_hook_shows_the_file_that_a_page_stands_for() -> None:
    config = {"config_file_path": str(ROOT / "mkdocs.yml")}
    for source, page in pages.PAGES.items():
        shown = pages.on_page_markdown((ROOT / "docs" / page).read_text(), config=config)
        assert shown == pages.relinked((ROOT / source).read_text(), source)
    assert pages.on_page_markdown("# A page\n", config=config) == "# A page\n"


def test_files_that_pages_link_to_exist() -> None:
    for page in PAGES:
        for path in re.findall(r"\]\((?!\w+:)([\w/.-]+\.\w+)", page.read_text()):
            assert (page.parent / path).exists(), f"{page.name}: {path}"
