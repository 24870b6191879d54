"""Names of modules whose values are loaded, or made, when they are first used."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes a while to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")


def loader(package: str, defined_in: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports the module that each name is defined in."""

    def load(name: str) -> Any:
        if name not in defined_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(defined_in[name]), name)

    return load


def maker(module: str, makers: Mapping[str, Callable[[], T]]) -> Callable[[str], T]:
    """The `__getattr__` of a module: it makes the value of each name, or gives the one made before.

    Makers should remember what they made.
    """

    def make(name: str) -> T:
        if name not in makers:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return makers[name]()

    return make
