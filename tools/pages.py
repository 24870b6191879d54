"""Pages of the site that stand elsewhere in the repository: a hook of MkDocs (see `mkdocs.yml`).

A page of `docs/` that consists of a snippet, such as `--8<-- "README.md"`, shows another file.
Links in it lead from that file's place in the repository, and must lead from the page's.
"""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath, relpath
from typing import Any

_SNIPPET = re.compile(r'--8<-- "([\w/]+\.md)"\s*')
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)#\s]+)")
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "races.md",
}
"""Where the site shows files that are not in `docs/`."""


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """The text of a page, with that of the file it shows."""
    shown = _SNIPPET.fullmatch(markdown)
    if shown is None:
        return markdown
    with open(join(dirname(config["config_file_path"]), shown[1]), encoding="utf-8") as file:
        return relinked(file.read(), shown[1])


def relinked(text: str, source: str) -> str:
    """The text of a file of the repository, with its links as a page of the site has them.

    What the site does not show, such as the licence, is named and not linked.
    """

    def target(match: re.Match[str]) -> str:
        path = normpath(join(dirname(source), match[2]))
        return match[1] + (PAGES.get(path) or relpath(path, "docs"))

    without = re.sub(r"\[([^\]]+)\]\(LICENSE\)", r"\1", text)
    return _LINK.sub(target, without)
