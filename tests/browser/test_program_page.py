"""The page of a program of several kernels: every button and key, without an error or a request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from tests.browser.browsing import Opened
from tests.models.graphs import chain, compiled_by_rule, forked

from morello.models.regrouping import Weighing
from morello.models.reporting import program_report

LONG = 60
"""More kernels than ResNet-50 has."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of a program that leaves something to NumPy, and of one of many kernels."""
    folder = tmp_path_factory.mktemp("programs")
    graphs = {"forked": forked(), "chain": chain(LONG)}
    written = {name: folder / f"{name}.html" for name in graphs}
    for name, graph in graphs.items():
        compiled = compiled_by_rule(graph)
        compiled = replace(compiled, plan=replace(compiled.plan, weighing=Weighing(line=5.0)))
        written[name].write_text(program_report(compiled, ("f32[8,16]",)).measured(0.01).html())
    return written


def current(opened: Opened) -> int:
    name = opened.page.locator("#kernels [aria-selected=true]").get_attribute("id")
    return int(name.removeprefix("kernel-"))


def test_keys_walk_the_kernels_and_open_their_programs(
    browser: Any, pages: dict[str, Path]
) -> None:
    opened = Opened(browser, pages["forked"])
    page = opened.page
    assert page.locator("#kernels .plain").count() == 2  # what is left to NumPy
    page.locator("#kernel-0 .row").click()
    for key, number in [("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", 0), ("End", 4), ("Home", 0)]:
        page.keyboard.press(key)
        assert current(opened) == number, key
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_selector("#tree .row")
    assert not page.locator("#model").is_visible()
    assert page.locator("#tree .row", has_text="exp_").count()
    page.keyboard.press("2")
    assert opened.panel() == "c" and "exp" in page.locator("#c").inner_text()
    page.locator("#step-0").press("Escape")
    assert page.locator("#model").is_visible() and current(opened) == 4
    page.keyboard.press("Home")
    page.locator("#open").click()
    page.wait_for_selector("#back:visible")
    assert page.locator("#tree .row", has_text="for k in").count()
    page.locator("#back").click()
    assert page.evaluate("document.activeElement.id") == "kernel-0"
    opened.close()


def test_tabs_and_links_lead_to_kernels(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["forked"])
    page = opened.page
    for key, panel in [
        ("2", "areas"),
        ("3", "cuts"),
        ("4", "left"),
        ("5", "left"),
        ("1", "kernel"),
    ]:
        page.keyboard.press(key)
        assert opened.panel() == panel
    for panel in ("areas", "cuts", "left", "kernel"):
        page.locator(f"#tab-{panel}").click()
        assert opened.panel() == panel
    assert page.locator("#left tbody tr").count() == 2
    page.keyboard.press("2")
    area = page.locator("#areas g").nth(1)
    area.click()
    assert str(current(opened)) == area.get_attribute("data-number")
    assert area.get_attribute("aria-pressed") == "true"
    page.keyboard.press("3")
    first = page.locator("#cuts tbody tr").first
    assert "at best -" in first.inner_text()
    first.locator("button").nth(1).click()
    assert opened.panel() == "kernel" and current(opened) == 1
    page.locator("#kernel tbody button").last.click()
    assert current(opened) == 3
    opened.close()


def test_help_tells_the_keys_of_kernels(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["forked"])
    opened.toggles("#model .help", "#model-keys")
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_window_of_kernels_scrolls_only_down(
    browser: Any, pages: dict[str, Path], scheme: str
) -> None:
    opened = Opened(browser, pages["forked"], width=400, scheme=scheme)
    opened.scrolls_only_down("1234")
    opened.close()


def test_paper_shows_all_that_is_known(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["forked"])
    opened.prints(("kernels", "kernel", "areas", "cuts", "left"), hidden="#open")
    opened.close()


def test_a_page_of_many_kernels_opens_within_a_second(browser: Any, pages: dict[str, Path]) -> None:
    began = perf_counter()
    opened = Opened(browser, pages["chain"])
    assert perf_counter() - began < 1.0
    assert opened.page.locator("#kernels .row").count() == LONG
    opened.close()
