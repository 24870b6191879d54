"""The page of the API names what there is; the site itself is built by `make docs`."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
NAMES = sorted(set(re.findall(r"^::: ([\w.]+)", PAGE.read_text(), re.MULTILINE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_api_page_names_exists(name: str) -> None:
    assert resolve_name(name) is not None
