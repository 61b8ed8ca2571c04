"""The charts of the report, drawn by matplotlib (extra `analysis`) as SVG, PDF and PNG.

A chart is plain data until `render` draws it, so that everything else works without matplotlib.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spansrl.errors import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "pdf", "png")
NEEDS_MATPLOTLIB = "figures need matplotlib; run: pip install 'spansrl[analysis]'"

# Okabe and Ito's colors, which people with the common kinds of color blindness can tell apart.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#7f7f7f")
_STYLE: Any = {
    "svg.hashsalt": "spansrl",  # the same input makes the same files
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups of bars, one per series; None leaves a bar out."""

    groups: tuple[str, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]
    unit: str

    def draw(self) -> Figure:
        n = len(self.series)
        figure, (axes,) = _new_figure(1 + 0.22 * len(self.groups) * (n + 1), 3)
        for k, (name, values) in enumerate(self.series):
            shown = [(x, value) for x, value in enumerate(values) if value is not None]
            offsets = [x + (k - (n - 1) / 2) * 0.8 / n for x, _ in shown]
            heights = [value for _, value in shown]
            axes.bar(offsets, heights, 0.8 / n, label=_short(name), color=_COLORS[k % len(_COLORS)])
        turned = max(map(len, self.groups), default=0) > 4
        axes.set_xticks(range(len(self.groups)), map(_short, self.groups), rotation=45 if turned else 0)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right" if turned else "center")
        axes.set_ylabel(self.unit)
        axes.set_ylim(0, 100)
        axes.grid(axis="y", alpha=0.4)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, ncols=min(n, 4), loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return figure


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Percentages by row (gold) and column (predicted); None is a cell without a value."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]

    def draw(self) -> Figure:
        figure, (axes,) = _new_figure(1.5 + 0.42 * len(self.columns), 1 + 0.38 * len(self.rows))
        if self.rows:
            values = [[float("nan") if value is None else value for value in row] for row in self.values]
            axes.imshow(values, cmap="Blues", vmin=0, vmax=100, aspect="auto")
        axes.set_xticks(range(len(self.columns)), self.columns, rotation=60)
        axes.set_yticks(range(len(self.rows)), self.rows)
        for y, row in enumerate(self.values):
            for x, value in enumerate(row):
                if value:
                    color = "white" if value > 55 else "black"
                    axes.text(x, y, f"{value:.0f}", ha="center", va="center", color=color)
        axes.set_xlabel("predicted")
        axes.set_ylabel("gold")
        return figure


@dataclass(frozen=True, slots=True)
class Points:
    """Named points in the plane; `kinds` gives the index of each point's kind in `legend`."""

    names: tuple[str, ...]
    points: tuple[tuple[float, float], ...]
    kinds: tuple[int, ...]
    legend: tuple[str, ...]

    def draw(self) -> Figure:
        figure, (axes,) = _new_figure(7, 5.5)
        for kind, name in enumerate(self.legend):
            own = [point for point, k in zip(self.points, self.kinds, strict=True) if k == kind]
            axes.scatter([x for x, _ in own], [y for _, y in own], s=22, color=_COLORS[kind], label=name)
        for name, point in zip(self.names, self.points, strict=True):
            axes.annotate(_short(name), point, xytext=(4, 3), textcoords="offset points")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.legend(frameon=False, loc="best")
        return figure


@dataclass(frozen=True, slots=True)
class Curves:
    """One panel per quantity, with one line per run: (epoch, y) pairs."""

    panels: tuple[tuple[str, tuple[tuple[str, tuple[tuple[float, float], ...]], ...]], ...]

    def draw(self) -> Figure:
        figure, panels = _new_figure(3.6 * len(self.panels), 3, len(self.panels))
        for axes, (title, series) in zip(panels, self.panels, strict=True):
            for k, (name, pairs) in enumerate(series):
                xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
                axes.plot(xs, ys, marker=".", color=_COLORS[k % len(_COLORS)], label=_short(name))
            axes.set_title(title)
            axes.set_xlabel("epoch")
            axes.grid(alpha=0.4)
        panels[0].legend(frameon=False)
        return figure


Chart = Bars | HeatMap | Points | Curves


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


@lru_cache(maxsize=64)  # the page and the files show the same
def render(chart: Chart) -> dict[str, bytes]:
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        figure = chart.draw()
        out = {}
        for format in FORMATS:
            buffer = io.BytesIO()
            dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[format]
            figure.savefig(buffer, format=format, dpi=150, bbox_inches="tight", metadata=dated)
            out[format] = buffer.getvalue()
    return out


def _new_figure(width: float, height: float, panels: int = 1) -> tuple[Figure, Sequence[Any]]:
    from matplotlib.figure import Figure

    size = min(max(width, 3.0), 20.0), min(max(height, 2.0), 20.0)
    figure = Figure(figsize=size, layout="constrained" if panels > 1 else None)
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _short(name: str) -> str:
    return shortened(name, 32)
