"""The lists of rooms in the pages are those of the source tree, in import order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.test_structure import LAYERS

SOURCE = ROOT / "src" / "morello"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


def listed(page: Path, head: str) -> list[str]:
    """The names in backticks in the first column of the table with this head."""
    lines = page.read_text().partition(f"\n{head}\n")[2].splitlines()
    length = next(n for n, line in enumerate([*lines, ""]) if not line.startswith("|"))
    return [name for line in lines[:length] for name in re.findall("`(.+?)`", line.split("|")[1])]


def room(layer: str) -> str:
    """A layer as a page names it: `ir/` for a package, `engine/` for a module."""
    name = layer.replace(".", "/")
    return f"{name}/" if (SOURCE / name).is_dir() else f"{name}.py"


def rooms() -> set[str]:
    """The modules and packages at the top of the source tree."""
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    return modules | {f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py")}


def test_architecture_lists_every_room_in_import_order() -> None:
    names = listed(ARCHITECTURE, "| room | what is in it |")
    layers = [room(layer) for layer in LAYERS]
    assert names[: len(layers)] == layers
    assert sorted(names) == sorted(rooms() | {*layers})


@pytest.mark.parametrize("path", sorted(SOURCE.glob("*/*/__init__.py")), ids=lambda p: p.parts[-2])
def test_architecture_names_every_package(path: Path) -> None:
    name = path.parent.relative_to(SOURCE).as_posix()
    assert f"`{name}/`" in ARCHITECTURE.read_text()
