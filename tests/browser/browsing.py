"""Chromium, and pages that are opened in it; tests that import this are skipped without."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no Chromium", allow_module_level=True)

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Opened:
    """A page in a window of its own, and what went wrong in it."""

    def __init__(self, browser: Any, path: Path, width: int = 1400, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-ready]")

    def chosen(self) -> int:
        name = self.page.locator("#tree [aria-selected=true]").get_attribute("id")
        return int(name.removeprefix("step-"))

    def panel(self) -> str:
        (shown,) = self.page.locator("[role=tabpanel]:visible").all()
        return str(shown.get_attribute("id"))

    def toggles(self, button: str, panel: str) -> None:
        """Check that a button shows a panel, and hides it again, and says so."""
        pressed, panel_of_keys = self.page.locator(button), self.page.locator(panel)
        for expanded in True, False:
            pressed.click()
            assert panel_of_keys.is_visible() == expanded
            assert pressed.get_attribute("aria-expanded") == str(expanded).lower()

    def scrolls_only_down(self, keys: str) -> None:
        """Check that no tab is wider than a window of 400 pixels."""
        for key in keys:
            self.page.keyboard.press(key)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= 400, key

    def prints(self, panels: Sequence[str], hidden: str) -> None:
        """Check that paper has all these panels, and lacks what is only for a screen."""
        self.page.emulate_media(media="print")
        for panel in panels:
            assert self.page.locator(f"#{panel}").is_visible(), panel
        assert not self.page.locator(hidden).is_visible()

    def close(self) -> None:
        assert self.problems == [] and len(self.requests) == 1
        self.context.close()
