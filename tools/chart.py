"""Draw `docs/race.svg`, the bar chart of the front page: run by `make picture`.

The figures are those of the table "On Zen 4" of `docs/benchmarks.md`: the time of other libraries
over ours, on one thread.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURE = DOCS / "race.svg"

GROUPS = {
    "softmax, 12 sizes": "softmax",
    "bf16 1x2048x16384, by rows, by columns": "bf16 vector x matrix",
    "- 1x4096x4096, 8x4096x4096": "f32, 1 and 8 rows x matrix",
    "softmax(Q K^T), 1024x64": "attention scores",
    "bias and relu or gelu": "matmul, bias, relu or gelu",
    "conv": "conv",
    "- squares 16 to 2048": "f32 squares, 16 to 2048",
}
"""The rows of the table that are drawn, and how the picture calls them."""
RIVALS = {"torch": "torch", "oneDNN": "oneDNN", "best": "the fastest other library of each case"}
"""The columns of the table that are drawn."""
TITLE = "Time of other libraries over that of Morello: one thread of a Zen 4"
LONGEST = 3.5
"""The ratio at the right edge."""

LEFT, WIDTH, BAR, GAP = 190, 400, 11, 12

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.torch { fill: #d29922 } .oneDNN { fill: #2f81f7 } .best { fill: #3fb950 }
line { stroke: #57606a; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b1 } line { stroke: #9da7b1 }
}
"""


def figures(page: str, section: str) -> dict[str, dict[str, float]]:
    """The numbers of the first table of a section: by row, by column."""
    table = page.partition(f"## {section}\n")[2].partition("\n| ")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    head, _, *rows = cells
    found: dict[str, dict[str, float]] = {}
    for name, *values in rows:
        numbers = zip(head[1:], values, strict=True)
        found[name] = {column: float(v) for column, v in numbers if re.fullmatch(r"[\d.]+", v)}
    return found


def picture(table: dict[str, dict[str, float]]) -> str:
    """The chart as SVG, which follows the reader's choice of light or dark."""
    step = len(RIVALS) * BAR + GAP
    height = 62 + step * len(GROUPS)
    body = [f'<text x="0" y="14">{TITLE}</text>']
    x = LEFT
    for rival, name in RIVALS.items():
        body.append(f'<rect class="{rival}" x="{x}" y="24" width="10" height="10"/>')
        body.append(f'<text class="small" x="{x + 14}" y="33">{name}</text>')
        x += 40 + 7 * len(name)
    for number, (row, label) in enumerate(GROUPS.items()):
        top = 48 + number * step
        middle = top + len(RIVALS) * BAR / 2 + 4
        body.append(f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end">{escape(label)}</text>')
        for place, rival in enumerate(RIVALS):
            ratio, y = table[row][rival], top + place * BAR
            length = ratio / LONGEST * WIDTH
            body.append(
                f'<rect class="{rival}" x="{LEFT}" y="{y}" '
                f'width="{length:.1f}" height="{BAR - 1}"/>'
            )
            body.append(
                f'<text class="small" x="{LEFT + length + 4:.1f}" y="{y + BAR - 1}">'
                f"{ratio:.2f}</text>"
            )
    one = LEFT + WIDTH / LONGEST
    body.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="42" y2="{height - 12}"/>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 40} {height}" '
            f'width="{LEFT + WIDTH + 40}" role="img">',
            f"<title>{TITLE}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )


def main() -> None:
    PICTURE.write_text(picture(figures((DOCS / "benchmarks.md").read_text(), "On Zen 4")))


if __name__ == "__main__":
    main()
