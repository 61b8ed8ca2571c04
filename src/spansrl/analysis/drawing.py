"""Charts as SVG, written by hand: a heat map, grouped bars, and named points.

A chart's colours are classes of CHART_STYLE, which follows the reader's light or dark setting. A page has the
style once; `standalone` puts it into a drawing that has to live as a file. Everything that came with the data
is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from spansrl.visualize.characters import advance, visible

FONT = 12
SERIES = 6  # colours that series have; a seventh would begin with the first again
CHART_STYLE = """\
.chart { font: 12px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
.chart { max-width: 100%; height: auto }
.chart text { fill: #1c1e24 } .chart .soft { fill: #5c6270 } .chart .on-dark { fill: #fff }
.chart .heat { fill: #0a5c9e } .chart .none { fill: #9aa0ad; fill-opacity: .18 }
.chart .line { stroke: #9aa0ad } .chart .mid { text-anchor: middle } .chart .end { text-anchor: end }
.chart .s0 { fill: #0072b2 } .chart .s1 { fill: #d55e00 } .chart .s2 { fill: #009e73 }
.chart .s3 { fill: #cc79a7 } .chart .s4 { fill: #b58900 } .chart .s5 { fill: #7f7f7f }
.chart text.s0, .chart text.s1, .chart text.s2, .chart text.s3 { fill: #1c1e24 }
@media (prefers-color-scheme: dark) {
  .chart text, .chart text.s0, .chart text.s1, .chart text.s2, .chart text.s3 { fill: #e8eaef }
  .chart .soft { fill: #a7adba } .chart .on-dark { fill: #fff } .chart .heat { fill: #2f8fdd }
  .chart .s0 { fill: #4aa8e0 } .chart .s1 { fill: #f08545 } .chart .s2 { fill: #2fc79a }
}
@media print { .chart text { fill: #000 } .chart .on-dark { fill: #fff } }
"""


class Heat(NamedTuple):
    """A cell of a heat map: how strong it is (0 to 1), what it says, and what hovering and searching use."""

    strength: float
    text: str
    title: str
    find: str = ""


class Point(NamedTuple):
    """A named point; `kind` is its colour's number, and `title` is what hovering tells."""

    x: float
    y: float
    name: str
    kind: int
    title: str


def heat_map(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Heat | None]]) -> str:
    """Rows and columns by name; a cell without a value is grey."""
    size, left, top = 38, _widest(rows) + 16, 46 + _widest(columns) * 0.72
    body = [_text(left - 8, top + size * (k + 0.5) + 4, name, "end") for k, name in enumerate(rows)]
    for k, name in enumerate(columns):
        x, y = left + size * (k + 0.5), top - 8
        body.append(f'<g transform="rotate(-45 {x:.1f} {y:.1f})">{_text(x, y, name)}</g>')
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            body.append(_heat_cell(left + size * column, top + size * row, size - 2, cell))
    body.append(_text(left - 8, 16, "gold ↓", "end soft") + _text(left, 16, "predicted →", "soft"))
    overhang = _widest(columns) * 0.72
    return _svg(left + size * len(columns) + overhang, top + size * len(rows) + 6, body)


def grouped_bars(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    unit: str,
    most: float = 100,
) -> str:
    """Bars from 0 to `most`, a group of them for each name, a colour for each series."""
    bar, gap, left, top, height = max(6, 20 // len(series) + 5), 12, 40, 34, 180
    step = max(bar * len(series) + gap, min(90, _widest(groups) * 0.72 + 8))
    bottom = top + height
    width = left + step * len(groups) + 12
    body = [_text(6, 16, unit, "soft"), *_legend([name for name, _ in series], left + 40)]
    for tick in range(5):
        y = bottom - height * tick / 4
        body.append(
            f'<line class="line" x1="{left}" x2="{width:.1f}" y1="{y:.1f}" y2="{y:.1f}" opacity=".5"/>'
        )
        body.append(_text(left - 6, y + 4, f"{most * tick / 4:g}", "end soft"))
    for k, group in enumerate(groups):
        x = left + step * k + (step - bar * len(series)) / 2
        for number, (name, values) in enumerate(series):
            if (value := values[k]) is not None:
                tall = height * min(max(value, 0), most) / most
                body.append(
                    f'<rect class="s{number % SERIES}" x="{x + bar * number:.1f}" y="{bottom - tall:.1f}" '
                    f'width="{bar - 1}" height="{tall:.1f}">{_title(f"{group}, {name}: {value:.2f}")}</rect>'
                )
        middle = left + step * (k + 0.5)
        name = _text(middle + 6, bottom + 14, group, "end")
        body.append(f'<g transform="rotate(-40 {middle:.1f} {bottom + 16})">{name}</g>')
    legend_width = left + 60 + sum(_width(name) + 46 for name, _ in series)
    return _svg(max(width, legend_width), bottom + 24 + _widest(groups) * 0.66, body)


def named_points(
    points: Sequence[Point], kinds: Sequence[str], *, width: int = 760, height: int = 560
) -> str:
    """Points at true proportions, each with its name where it hides the fewest others."""
    margin, top = 60, 40
    body = _legend(kinds, 10)
    placed = _scaled(points, margin, top, width - 2 * margin, height - top - margin)
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in placed]
    for (x, y), point in zip(placed, points, strict=True):
        body.append(
            f'<circle class="s{point.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">{_title(point.title)}</circle>'
        )
        box = _free_place(x, y, _width(point.name), taken)
        taken.append(box)
        body.append(_text(box[0], box[3] - 3, point.name, f"s{point.kind}"))
    return _svg(width, height, body)


def standalone(svg: str) -> str:
    """The drawing with its style inside, as a file."""
    head, _, rest = svg.partition(">")
    return f"{head}>\n<style>{CHART_STYLE}</style>{rest}\n"


def _heat_cell(x: float, y: float, size: float, cell: Heat | None) -> str:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{size}" height="{size}" rx="3"'
    if cell is None:
        return f'<rect class="none" {box}/>'
    find = f' data-find="{escape(cell.find)}"' if cell.find else ""
    tone = "mid on-dark" if cell.strength > 0.5 else "mid"
    opacity = f'fill-opacity="{0.04 + 0.9 * cell.strength:.3f}"'
    return (
        f'<g{find}><rect class="heat" {box} {opacity}>{_title(cell.title)}</rect>'
        f"{_text(x + size / 2, y + size / 2 + 4, cell.text, tone)}</g>"
    )


def _legend(names: Sequence[str], x: float) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        parts.append(
            f'<rect class="s{number % SERIES}" x="{x + 10:.1f}" y="7" width="11" height="11" rx="2"/>'
        )
        parts.append(_text(x + 26, 17, name))
        x += _width(name) + 46
    return parts


def _scaled(
    points: Sequence[Point], left: float, top: float, width: float, height: float
) -> list[tuple[float, float]]:
    xs, ys = [point.x for point in points], [point.y for point in points]
    scale = min(width / (max(xs) - min(xs) or 1), height / (max(ys) - min(ys) or 1))
    middle_x, middle_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    return [
        (left + width / 2 + scale * (x - middle_x), top + height / 2 - scale * (y - middle_y))
        for x, y in zip(xs, ys, strict=True)
    ]


_Box = tuple[float, float, float, float]  # left, top, right, bottom


def _free_place(x: float, y: float, width: float, taken: Sequence[_Box]) -> _Box:
    """Of the places around a point, the one that covers least of what is drawn already."""
    offsets = [
        (7, -8),
        (-7 - width, -8),
        (-width / 2, -22),
        (-width / 2, 7),
        (7, -19),
        (7, 4),
        (-7 - width, 4),
    ]
    boxes = [(x + dx, y + dy, x + dx + width, y + dy + 15) for dx, dy in offsets]
    return min(boxes, key=lambda box: sum(_overlap(box, other) for other in taken))


def _overlap(a: _Box, b: _Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _svg(width: float, height: float, body: Iterable[str]) -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" {box}>{"".join(body)}</svg>'


def _text(x: float, y: float, text: str, classes: str = "") -> str:
    named = f' class="{classes}"' if classes else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}">{escape(visible(text))}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(visible(text))}</title>"


def _width(text: str) -> float:
    return advance(visible(text)) * FONT


def _widest(names: Sequence[str]) -> float:
    return max(map(_width, names), default=0.0)
