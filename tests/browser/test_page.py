"""The explorer's page in a browser: every button and key, without an error or a request.

`make test-browser` installs what drives the browser; these tests are skipped without.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from tests.browser.browsing import Opened

from morello.cli.parser import main

CHAIN = "relu(f32[64,64] @ f32[64,64] + f32[64])"
CONV = "conv(f32[1,256,14,14], f32[256,256,3,3])"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of one program, of two, and of a large Spec."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in ("one", "two", "conv")}
    other = folder / "other.json"
    common = ["--target", "avx512", "--no-table"]
    assert main(["synth", CHAIN, *common, "--choice", "3", "--save", str(other)]) == 0
    assert main(["explain", CHAIN, *common, "--html", str(found["one"])]) == 0
    against = ["--against", str(other)]
    assert main(["explain", CHAIN, *common, "--html", str(found["two"]), *against]) == 0
    assert main(["explain", CONV, *common, "--html", str(found["conv"])]) == 0
    return found


def test_keys_walk_the_tree(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    page = opened.page
    page.locator("#step-0 .row").click()
    for key, chosen in [
        ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", 0), ("ArrowRight", 1), ("ArrowLeft", 1),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert opened.chosen() == chosen, key
    rows = page.locator("#tree .row:visible").count()
    assert rows == 2  # the last key folded the step
    page.keyboard.press("ArrowRight")
    assert page.locator("#tree .row:visible").count() > 50
    page.keyboard.press("End")
    last = opened.chosen()
    assert last > 50
    page.keyboard.press("ArrowDown")
    assert opened.chosen() == last
    page.keyboard.press("Home")
    assert opened.chosen() == 0
    opened.close()


def test_clicks_fold_and_select(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    page = opened.page
    everything = page.locator("#tree .row:visible").count()
    page.locator("#step-4 .fold").click()
    assert opened.chosen() == 4
    assert page.locator("#step-4").get_attribute("aria-expanded") == "false"
    assert page.locator("#tree .row:visible").count() < everything
    page.locator("#step-4 .fold").click()
    assert page.locator("#tree .row:visible").count() == everything
    page.locator("#step-7 .words").click()
    assert opened.chosen() == 7
    assert page.locator("#step h2").inner_text() in page.locator("#step-7 .words").inner_text()
    opened.close()


def test_three_clicks_tell_why_the_second_best_tile_lost(
    browser: Any, pages: dict[str, Path]
) -> None:
    opened = Opened(browser, pages["one"])
    page = opened.page
    tile = page.locator("#tree .row", has_text="for m in").first
    tile.click()
    other = page.locator("#step tbody tr button", has_text="for ").first
    assert "%" in other.locator("xpath=ancestor::tr").inner_text()
    other.click()
    assert other.get_attribute("aria-expanded") == "true"
    assert page.locator("#step .program h3").inner_text() == f"With {other.inner_text()}"
    assert page.locator("#step pre").inner_text().count("\n") > 10
    other.click()
    assert page.locator("#step pre").count() == 0
    opened.close()


def test_the_keyboard_reaches_others_and_comes_back(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    page = opened.page
    page.locator("#step-4 .row").click()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    assert opened.panel() == "step"
    page.keyboard.press("Enter")
    assert page.locator("#step pre").is_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "step-4"
    opened.close()


def test_tabs_by_key_and_click(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["two"])
    page = opened.page
    for key, panel in [
        ("2", "c"),
        ("3", "machine"),
        ("5", "both"),
        ("4", "cycles"),
        ("1", "step"),
        ("6", "step"),
    ]:
        page.keyboard.press(key)
        assert opened.panel() == panel
    for panel in ("c", "machine", "cycles", "both", "step"):
        page.locator(f"#tab-{panel}").click()
        assert opened.panel() == panel
    page.keyboard.press("ArrowRight")
    assert opened.panel() == "c"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert opened.panel() == "both"
    opened.close()


def test_c_and_areas_lead_to_steps(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    page = opened.page
    page.keyboard.press("2")
    line = page.locator("#c .c", has_text="for (long k").first
    line.click()
    assert str(opened.chosen()) == line.get_attribute("data-step")
    assert "own" in line.get_attribute("class")
    page.keyboard.press("3")
    product = page.locator("#machine .c.own, #machine .c.below", has_text="vfmadd").first
    product.click()
    assert str(opened.chosen()) == product.get_attribute("data-step")
    page.keyboard.press("4")
    area = page.locator("#cycles g").nth(1)
    area.click()
    assert area.get_attribute("aria-pressed") == "true"
    assert str(opened.chosen()) == area.get_attribute("data-number")
    other = page.locator("#cycles g").nth(2)
    other.focus()
    page.keyboard.press("Enter")
    assert other.get_attribute("aria-pressed") == "true"
    opened.close()


def test_two_programs_side_by_side(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["two"])
    page = opened.page
    page.keyboard.press("5")
    assert page.locator("#both .differs").count() > 0
    before = page.locator("#tree .row").all_inner_texts()
    page.locator("#which input").nth(1).click()
    assert page.locator("#tree .row").all_inner_texts() != before
    page.locator("#which input").nth(0).click()
    assert page.locator("#tree .row").all_inner_texts() == before
    page.locator("#both .plain").nth(1).click()
    assert page.locator("#which input").nth(1).is_checked()
    opened.close()


def test_help_tells_the_keys(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    opened.toggles("#help", "#keys")
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_window_scrolls_only_down(
    browser: Any, pages: dict[str, Path], scheme: str
) -> None:
    opened = Opened(browser, pages["two"], width=400, scheme=scheme)
    opened.scrolls_only_down("12345")
    opened.close()


def test_paper_shows_all_panels(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["one"])
    opened.prints(("step", "c", "cycles"), hidden="#tabs")
    opened.close()


def test_a_large_page_opens_within_a_second(browser: Any, pages: dict[str, Path]) -> None:
    began = perf_counter()
    opened = Opened(browser, pages["conv"])
    assert perf_counter() - began < 1.0
    opened.close()
