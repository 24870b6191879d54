"""A page as one HTML file that needs no other and makes no request.

The HTML, the style and the scripts beside this file make up what it shows; the data are in it as
JSON, deflated.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def document(title: str, views: Sequence[str], show: str, data: Mapping[str, Any]) -> str:
    """The page with these views, each an HTML file and a script of that name.

    The function `show` of the scripts gets what is called "data" in the data, inflated; the script
    inflates the others, by their names, when they are asked for.
    """
    scripts = [_read(f"{name}.js") for name in ("common", *views)]
    text = _read("document.html")
    for name, value in {
        "TITLE": html.escape(title),
        "STYLE": _read("page.css"),
        "BODY": "".join(_read(f"{name}.html") for name in views),
        "SCRIPT": "\n".join([*scripts, f"start({show});\n"]),
        "DATA": "\n".join(_element(name, value) for name, value in data.items()),
    }.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _element(name: str, value: Any) -> str:
    packed = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 9)
    return f'<script type="text/plain" id="{name}">{base64.b64encode(packed).decode()}</script>'
