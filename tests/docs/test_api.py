"""The page of the API names what there is; the site itself is built by `make docs`."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import pytest

import morello
from morello.options import Options

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
NAMES = sorted(set(re.findall(r"^::: ([\w.]+)", PAGE.read_text(), re.MULTILINE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_api_page_names_exists(name: str) -> None:
    assert resolve_name(name) is not None


def test_the_page_has_every_option_of_compile_and_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE.read_text(), re.MULTILINE)
    _, *options = signature(morello.compile).parameters.values()
    assert rows == [(option.name, repr(option.default).replace("'", '"')) for option in options]
    assert {name for name, _ in rows} - {"verify"} == {*Options.__annotations__}
