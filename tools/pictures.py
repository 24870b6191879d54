"""Draw the pictures of the documentation: run by `make pictures`.

Their figures are those of `docs/benchmarks.md`, and of the programs that were recorded on a machine
(`benchmarks/recording.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.recording import FOLDER, Recording, read
from morello.cli.charts import Bar, RooflinePoint, bars, roofline
from morello.frontends import parse
from morello.ir.dtype import F32
from morello.measure.bounds import moved_bytes, product_flops

DOCS = Path(__file__).resolve().parent.parent / "docs"

GROUPS = {
    "softmax, 12 sizes": "softmax",
    "bf16 1x2048x16384, by rows, by columns": "bf16 vector x matrix",
    "- 1x4096x4096, 8x4096x4096": "f32, 1 and 8 rows x matrix",
    "softmax(Q K^T), 1024x64": "attention scores",
    "bias and relu or gelu": "matmul, bias, relu or gelu",
    "conv": "conv",
    "- squares 16 to 2048": "f32 squares, 16 to 2048",
}
"""The rows of the table of a race that are drawn, and how the picture calls them."""
RIVALS = {"torch": "torch", "oneDNN": "oneDNN", "best": "the fastest other library of each case"}
"""The columns of the table of a race that are drawn."""

LONGEST = 3.5
"""The ratio at the right edge of the race."""

_DOOR = re.compile(r", (torch\.compile|morello\.jax\.jit|types of files)$")
"""The ends of models' names that the picture leaves out."""


def cells(page: str, section: str) -> dict[str, dict[str, str]]:
    """The first table of a section: by row, by column."""
    table = page.partition(f"## {section}\n")[2].partition("\n| ")[2].partition("\n\n")[0]
    lines = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    head, _, *rows = lines
    return {name: dict(zip(head[1:], values, strict=True)) for name, *values in rows}


def figures(page: str, section: str) -> dict[str, dict[str, float]]:
    """The numbers of the first table of a section: by row, by column."""
    table = cells(page, section)
    return {
        name: {column: float(v) for column, v in row.items() if re.fullmatch(r"[\d.]+", v)}
        for name, row in table.items()
    }


def race(page: str) -> str:
    """The front page's: the time of other libraries over ours."""
    table = figures(page, "On Zen 4")
    rows = {
        label: [
            Bar(table[row][rival], f"{table[row][rival]:.2f}", colour)
            for colour, rival in enumerate(RIVALS)
        ]
        for row, label in GROUPS.items()
    }
    title = "Time of other libraries over that of Morello: one thread of a Zen 4"
    return bars(title, rows, LONGEST, legend=[*RIVALS.values()], limit=(1.0, ""))


def models(page: str) -> str:
    """How many times as fast whole models are as in the fastest other program."""
    table = figures(page, "Whole models")
    ratios = {_DOOR.sub("", name): row["times as fast"] for name, row in table.items()}
    rows = {name: [Bar(ratio, f"{ratio:.2f}")] for name, ratio in ratios.items()}
    title = "Time of the fastest other program over that of Morello: one thread of a Zen 5"
    return bars(title, rows, max(ratios.values()), limit=(1.0, ""))


def products(page: str, recording: Recording) -> str:
    """The roofline of one thread of a machine, and the fastest programs recorded on it."""
    peak = re.search(r"adds at (\d+)\s+GFLOP/s in f32", page)
    reads = re.search(
        r"reads (\d+) GB/s from L1, (\d+) from L2, (\d+) from L3\s+and (\d+) from memory", page
    )
    assert peak and reads
    levels = ("L1", "L2", "L3", "memory")
    bandwidths = dict(zip(levels, map(float, reads.groups()), strict=True))
    title = f"Products of f32, and what one thread of a {recording.machine.name} can do at most"
    return roofline(title, {F32.name: float(peak[1])}, bandwidths, [*_points(recording)])


def _points(recording: Recording) -> Iterator[RooflinePoint]:
    """The fastest program of each Spec whose products are all of f32."""
    for each in recording.specs:
        spec = parse(each.expression)
        flops = product_flops(spec)
        if [*flops] == [F32.name]:
            count, seconds = flops[F32.name], min(seconds for _, seconds in each.programs)
            intensity = count / sum(moved_bytes(spec).values())
            yield RooflinePoint(intensity, count / seconds / 1e9, each.expression)


def pictures() -> dict[Path, str]:
    """All pictures, by the files that they belong in."""
    page = (DOCS / "benchmarks.md").read_text()
    recording = read(FOLDER / "sapphire-rapids.json.gz")
    return {
        DOCS / "race.svg": race(page),
        DOCS / "models.svg": models(page),
        DOCS / "roofline.svg": products(page, recording),
    }


def main() -> None:
    for path, text in pictures().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
