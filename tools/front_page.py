"""Write the first table of the README, from `docs/benchmarks.md`: run by `make pictures`."""

from __future__ import annotations

import re

from tools.pictures import DOCS, cells

README = DOCS.parent / "README.md"

HEAD = "| model | Morello, ms | fastest other, ms | times as fast |\n|---|---|---|---|\n"


def models(page: str) -> str:
    """The time of each whole model, and that of the fastest other program that computes it."""
    lines = [HEAD]
    for name, row in cells(page, "Whole models").items():
        framework = row["framework"].removeprefix("eager ")
        times = {framework: float(row["framework, ms"])}
        for other in filter(None, row["others, ms"].split(", ")):
            program, time = other.split()
            times[program] = float(time)
        fastest = min(times, key=lambda program: times[program])
        other = f"{fastest} {times[fastest]:g}"
        lines.append(f"| {name} | {row['Morello, ms']} | {other} | {row['times as fast']} |\n")
    return "".join(lines)


def front_page(text: str, page: str) -> str:
    """The README, with the table of today in place of its own."""
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: models(page), text)


def main() -> None:
    page = (DOCS / "benchmarks.md").read_text()
    README.write_text(front_page(README.read_text(), page))


if __name__ == "__main__":
    main()
