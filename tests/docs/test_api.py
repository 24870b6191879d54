"""The page of the API names what there is, and `compile` says what its options are."""

from __future__ import annotations

import re
from inspect import getdoc, signature
from pathlib import Path
from pkgutil import resolve_name

import pytest

import morello
from morello.options import Options

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
NAMES = sorted(set(re.findall(r"^::: ([\w.]+)", PAGE.read_text(), re.MULTILINE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_api_page_names_exists(name: str) -> None:
    if name.startswith("morello.torch."):
        pytest.importorskip("torch")
    assert resolve_name(name) is not None


def test_compile_says_what_each_of_its_options_is() -> None:
    said = re.findall(r"^- `(\w+)`: ", getdoc(morello.compile) or "", re.MULTILINE)
    assert said == [*signature(morello.compile).parameters]
    assert {*said} - {"what", "verify"} == {*Options.__annotations__}
