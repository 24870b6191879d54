"""The data in pages of the explorer."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    """The data in a page, by name."""
    packed = re.findall(r'<script type="text/plain" id="([^"]+)">([^<]+)<', page)
    return {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in packed}
