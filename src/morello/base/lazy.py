"""Names of packages that are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes a while to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def loader(package: str, defined_in: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports the module that each name is defined in."""

    def load(name: str) -> Any:
        if name not in defined_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(defined_in[name]), name)

    return load
