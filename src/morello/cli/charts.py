"""Charts as SVG, without a library; they follow the reader's choice of light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.c0 { fill: #d29922 } .c1 { fill: #2f81f7 } .c2 { fill: #3fb950 } .c3 { fill: #a371f7 }
line { stroke: #57606a } .limit { stroke-dasharray: 3 3 } .grid { stroke-opacity: .25 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b1 } line { stroke: #9da7b1 }
}
"""

_WIDTH, _BAR, _GAP, _RIGHT = 400, 11, 12, 40
_LETTER = 7.0
"""About how wide a letter is."""


@dataclass(frozen=True)
class Bar:
    """A bar of a chart: its length, what is written beside it, and the number of its colour."""

    value: float
    text: str
    colour: int = 1


def bars(
    title: str,
    rows: Mapping[str, Sequence[Bar]],
    longest: float,
    *,
    legend: Sequence[str] = (),
    limit: tuple[float, str] | None = None,
) -> str:
    """Horizontal bars in rows, the longest value that may be at the right edge.

    The `legend` has a name for each colour, from the first on, and `limit` a value at which there
    is a line, with its name.
    """
    left = max(_LETTER * max(map(len, rows)) + 12, 60)
    texts = max(len(bar.text) for row in rows.values() for bar in row)
    right = max(_RIGHT, _LETTER * texts + 8)
    body = [_text(0, 14, title), *_legend(legend, left)]
    y = 48.0
    for label, row in rows.items():
        body.append(_text(left - 8, y + len(row) * _BAR / 2 + 4, label, anchor="end"))
        for bar in row:
            length = bar.value / longest * _WIDTH
            body.append(
                f'<rect class="c{bar.colour}" x="{left:.0f}" y="{y:.0f}" width="{length:.1f}" '
                f'height="{_BAR - 1}"/>'
            )
            body.append(_text(left + length + 4, y + _BAR - 1, bar.text, small=True))
            y += _BAR
        y += _GAP
    if limit is not None:
        value, name = limit
        at = left + value / longest * _WIDTH
        body.append(_line(at, 42, at, y - _GAP / 2, "limit"))
        if name:
            y += 8
            body.append(_text(at, y, name, small=True, anchor="middle"))
    width = max(left + _WIDTH + right, _LETTER * len(title))
    return svg(title, width, y + 6, body)


@dataclass(frozen=True)
class RooflinePoint:
    """A point of a roofline chart: operations for each byte, 10^9 operations a second, its name."""

    intensity: float
    rate: float
    name: str


def roofline(
    title: str,
    peaks: Mapping[str, float],
    bandwidths: Mapping[str, float],
    points: Sequence[RooflinePoint],
) -> str:
    """A roofline chart: rates by intensity, both in powers of ten, below those that can be.

    The `peaks` are 10^9 operations a second by dtype, and the `bandwidths` GB/s by level.
    """
    intensities, highest = [point.intensity for point in points], max(peaks.values())
    low, high = floor(log10(min(intensities))), ceil(log10(max(intensities)))
    bottom, top = floor(log10(min(point.rate for point in points))), ceil(log10(highest))
    size, left, above = 130.0, 52.0, 32.0
    width, height = size * (high - low), size * (top - bottom)

    def x(intensity: float) -> float:
        return left + size * (log10(intensity) - low)

    def y(rate: float) -> float:
        return above + size * (top - log10(rate))

    body = [_text(0, 14, title)]
    for tick in (10.0**power for power in range(low, high + 1)):
        body.append(_line(x(tick), above, x(tick), above + height, "grid"))
        body.append(_text(x(tick), above + height + 16, f"{tick:g}", small=True, anchor="middle"))
    for tick in (10.0**power for power in range(bottom, top + 1)):
        body.append(_line(left, y(tick), left + width, y(tick), "grid"))
        body.append(_text(left - 6, y(tick) + 4, f"{tick:,g}", small=True, anchor="end"))
    for name, bandwidth in bandwidths.items():
        first = max(10.0**low, 10.0**bottom / bandwidth)
        last = min(10.0**high, highest / bandwidth)
        body.append(_line(x(first), y(first * bandwidth), x(last), y(last * bandwidth), "limit"))
        label = f"{name}, {bandwidth:g} GB/s"
        at = first * 1.15
        turn = f'<g transform="rotate(-45 {x(at):.1f} {y(at * bandwidth):.1f})">'
        body.append(f"{turn}{_text(x(at), y(at * bandwidth) - 4, label, small=True)}</g>")
    fastest = max(bandwidths.values())
    for name, peak in peaks.items():
        body.append(_line(x(peak / fastest), y(peak), left + width, y(peak), "limit"))
        label = f"{name}, {peak:,.0f} GFLOP/s"
        body.append(_text(left + width, y(peak) - 4, label, small=True, anchor="end"))
    for point in points:
        body.append(
            f'<circle class="c1" cx="{x(point.intensity):.1f}" '
            f'cy="{y(point.rate):.1f}" r="4"><title>{escape(point.name)}</title></circle>'
        )
    body.append(
        _text(left + width / 2, above + height + 34, "operations for each byte", anchor="middle")
    )
    return svg(title, left + width + 24, above + height + 44, body)


def svg(title: str, width: float, height: float, body: Iterable[str]) -> str:
    """A picture of this title and size; its elements have the classes and colours of charts."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )


def _legend(names: Sequence[str], left: float) -> Iterator[str]:
    """The names of the colours, from the first on."""
    for colour, name in enumerate(names):
        yield f'<rect class="c{colour}" x="{left:.0f}" y="24" width="10" height="10"/>'
        yield _text(left + 14, 33, name, small=True)
        left += 40 + _LETTER * len(name)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, *, small: bool = False, anchor: str = "") -> str:
    marks = (' class="small"' if small else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text{marks} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
