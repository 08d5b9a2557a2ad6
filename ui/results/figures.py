"""Plotly figures as plain dictionaries: data and layout, colours named by CSS variables. Draws nothing, reads no run.

Importing plotly costs a second, so figures are written by hand here and held to plotly's own validators in a test.
Plotly reads names as light HTML; every name goes through `label`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from pipeline.report.stats import Interval
from ui.results.palette import LIGHT

Spec = dict[str, Any]
FEW = 5
"""Groups under this many tasks are greyed: their mean says little."""
CLEAR = "rgba(0,0,0,0)"


@dataclass(frozen=True)
class Bar:
    """One bar: a share of 1 with its interval, over `n` tasks or verdicts. `value` None where nothing was scored."""

    name: str
    n: int
    value: float | None
    interval: Interval | None = None
    note: str = ""


def label(text: str, width: int = 22) -> str:
    """A name as Plotly shows it: escaped, in lines of at most `width` characters where words allow."""
    return "<br>".join(escape(line, quote=False) for line in wrap(text, width) or [""])


def themed(value: Any, palette: dict[str, str] | None = None) -> Any:
    """The same figure with its colour names replaced by values; the light theme's unless told otherwise."""
    palette = palette or LIGHT
    if isinstance(value, dict):
        return {k: themed(v, palette) for k, v in value.items()}
    if isinstance(value, list):
        return [themed(v, palette) for v in value]
    if isinstance(value, str) and value.startswith("var(") and value.endswith(")"):
        return palette.get(value[4:-1], "#000000")
    return value


def layout(height: int, **more: Any) -> Spec:
    """What all figures share: no template, clear ground, small margins, one font, no legend."""
    return {
        "template": None,
        "height": height,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "font": {"family": "var(--font)", "size": 12, "color": "var(--ink)"},
        "margin": {"l": 8, "r": 12, "t": 8, "b": 36},
        "hoverlabel": {"bgcolor": "var(--surface)", "bordercolor": "var(--line)", "font": {"color": "var(--ink)"}},
        **more,
    }


def axis(**more: Any) -> Spec:
    """A quiet axis."""
    return {
        "gridcolor": "var(--line)",
        "zerolinecolor": "var(--ink-2)",
        "linecolor": "var(--line)",
        "automargin": True,
        "fixedrange": True,
        **more,
    }


def share_axis(low: float = 0.0, **more: Any) -> Spec:
    """An axis of shares from 0 to 1, or from `low` where penalties push a mean below 0."""
    return axis(range=[min(0.0, low), 1.02], tickformat=".0%", **more)


def bars(items: Sequence[Bar], width: int = 22, grey: bool = False) -> Spec:
    """Horizontal bars with intervals, the first on top. With `grey`, bars under `FEW` tasks lose their colour."""
    names = [label(b.name, width) for b in items]
    height = 48 + len(items) * max(26, 15 * _lines(names) + 6)
    lowest = min([0.0, *(b.value or 0.0 for b in items), *(b.interval.low for b in items if b.interval)])
    y = axis(autorange="reversed", tickvals=list(range(len(items))), ticktext=names, showgrid=False, zeroline=False)
    # Two traces: Plotly draws an end even to an interval that is not there.
    placed = list(enumerate(items))
    data = [_bars([p for p in placed if (p[1].interval is not None) is known], grey) for known in (True, False)]
    more: Spec = {"xaxis": share_axis(lowest), "yaxis": y, "annotations": _values(items, grey), "margin": WIDE}
    return {"data": [trace for trace in data if trace["y"]], "layout": layout(height, barmode="overlay", **more)}


def _bars(placed: Sequence[tuple[int, Bar]], grey: bool) -> Spec:
    """The bars at their places; all of them have an interval, or none has."""
    values = [b.value if b.value is not None else 0.0 for _, b in placed]
    trace: Spec = {
        "type": "bar",
        "orientation": "h",
        "width": 0.7,
        "x": values,
        "y": [place for place, _ in placed],
        "cliponaxis": False,
        "marker": {"color": ["var(--cell-none)" if grey and b.n < FEW else "var(--bar)" for _, b in placed]},
        "hovertext": [f"{label(b.name, 40)}<br>{_said(b)}" for _, b in placed],
        "hoverinfo": "text",
    }
    ends = [(b.interval.low, b.interval.high) for _, b in placed if b.interval]
    if ends:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, e[1] - v) for e, v in zip(ends, values, strict=True)],
            "arrayminus": [max(0.0, v - e[0]) for e, v in zip(ends, values, strict=True)],
            "color": "var(--ink)",
            "thickness": 1.4,
            "width": 4,
        }
    return trace


WIDE = {"l": 8, "r": 48, "t": 8, "b": 36}
"""Margins with room for a column of numbers at the right."""


def _values(items: Sequence[Bar], grey: bool) -> list[Spec]:
    """The value of each bar, as a column at the right where no interval crosses it."""
    return [
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "left",
            "xshift": 6,
            "y": place,
            "yanchor": "middle",
            "showarrow": False,
            "text": f"{bar.value:.0%}",
            "font": {"color": "var(--ink-2)" if grey and bar.n < FEW else "var(--ink)"},
        }
        for place, bar in enumerate(items)
        if bar.value is not None
    ]


def _said(bar: Bar) -> str:
    if bar.value is None:
        return f"n = {bar.n}"
    span = f" [{bar.interval.low:.1%}, {bar.interval.high:.1%}]" if bar.interval else ""
    return f"{bar.value:.1%}{span}, n = {bar.n}"


STEPS = (0.5, 0.65, 0.75, 0.85)
"""Where the heat map of shares changes its colour; below the first lies the lightest of five."""


def step(value: float, top: float | None = None) -> int:
    """The colour class, 0 to 4, of a share, or of a count where the largest one is given."""
    if top is not None:
        return min(4, int(5 * value / top)) if top > 0 else 0
    return sum(value >= edge for edge in STEPS)


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    counts: bool = False,
) -> Spec:
    """A heat map in five colours, each with a text colour that can be read on it; the cells also say their number.

    Drawn as bars of equal length: Plotly's own heat map tests the browser with an inline style, which our policy forbids.
    """
    most = max((v for row in values for v in row if v is not None), default=0.0) if counts else None
    data = [_column(i, [row[i] for row in values], [row[i] for row in texts], most) for i in range(len(columns))]
    names = [label(r) for r in rows]
    heads = [label(c, 12) for c in columns]
    above = 15 * max((h.count("<br>") + 1 for h in heads), default=1)
    return {
        "data": data,
        "layout": layout(
            34 + above + len(rows) * max(28, 15 * _lines(names) + 6),
            barmode="overlay",
            bargap=0,
            xaxis=axis(
                side="top",
                tickvals=list(range(len(columns))),
                ticktext=heads,
                showgrid=False,
                zeroline=False,
                tickangle=0,
                range=[-0.5, len(columns) - 0.5],
            ),
            yaxis=axis(autorange="reversed", tickvals=list(range(len(rows))), ticktext=names, showgrid=False, zeroline=False),
        ),
    }


def _column(place: int, values: Sequence[float | None], texts: Sequence[str], most: float | None) -> Spec:
    classes = [step(v, most) if v is not None else None for v in values]
    return {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(values))),
        "x": [1] * len(values),
        "base": place - 0.5,
        "marker": {
            "color": ["var(--cell-none)" if k is None else f"var(--heat-{k})" for k in classes],
            "line": {"color": "var(--surface)", "width": 2},
        },
        "text": list(texts),
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "none",
        "insidetextfont": {"color": ["var(--ink)" if k is None else f"var(--heat-ink-{k})" for k in classes]},
        "hoverinfo": "skip",
    }


def _lines(names: Sequence[str]) -> int:
    """Lines of the longest label."""
    return max((n.count("<br>") + 1 for n in names), default=1)


def histogram(edges: Sequence[float], counts: Sequence[int], x_title: str, y_title: str) -> Spec:
    """How many tasks have a score between each two edges (one more edge than counts)."""
    middles = [(a + b) / 2 for a, b in zip(edges, edges[1:], strict=False)]
    trace = {
        "type": "bar",
        "x": middles,
        "y": list(counts),
        "width": [b - a for a, b in zip(edges, edges[1:], strict=False)],
        "marker": {"color": "var(--bar)", "line": {"color": "var(--surface)", "width": 1}},
        "hoverinfo": "text",
        "hovertext": [f"{a:.0%} – {b:.0%}: {n}" for a, b, n in zip(edges, edges[1:], counts, strict=False)],
    }
    return {
        "data": [trace],
        "layout": layout(
            260,
            bargap=0,
            xaxis=axis(range=[edges[0], edges[-1] + 0.02], dtick=0.2, tickformat=".0%", title={"text": x_title}),
            yaxis=axis(title={"text": y_title}, rangemode="tozero", nticks=5),
        ),
    }


def count_bars(names: Sequence[str], counts: Sequence[int], colours: Sequence[str]) -> Spec:
    """Horizontal bars of whole numbers, each with its number at its end."""
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": list(counts),
        "y": list(range(len(names))),
        "marker": {"color": list(colours)},
        "text": [str(n) for n in counts],
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    y = axis(
        autorange="reversed", tickvals=list(range(len(names))), ticktext=[label(n) for n in names], showgrid=False, zeroline=False
    )
    x = axis(range=[0, max([1, *counts]) * 1.12], nticks=5)
    return {"data": [trace], "layout": layout(48 + 28 * len(names), bargap=0.3, yaxis=y, xaxis=x)}


@dataclass(frozen=True)
class Mark:
    """A model on the cost chart. `cost` in US dollars per task; None for a published score, drawn as a line across."""

    name: str
    score: float
    cost: float | None = None
    interval: Interval | None = None


def cost_chart(marks: Sequence[Mark], x_title: str, y_title: str) -> Spec:
    """Cost per task against score; what has no cost is a horizontal mark at its score, named at the right."""
    placed = [m for m in marks if m.cost is not None]
    lines = sorted((m for m in marks if m.cost is None), key=lambda m: -m.score)
    scores = [m.score for m in marks] + [i for m in placed if m.interval for i in (m.interval.low, m.interval.high)]
    low, high = max(-0.2, min([0.4, *scores]) - 0.05), max([0.95, *scores]) + 0.05
    # Room at the right for the names of the lines.
    most = (max([m.cost or 0.0 for m in placed] or [0.0]) or 0.01) * (3.2 if lines else 1.4)
    shapes = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": m.score,
            "y1": m.score,
            "layer": "below",
            "line": {"color": "var(--skip)", "width": 1, "dash": "dot"},
        }
        for m in lines
    ]
    return {
        "data": [_points(placed)],
        "layout": layout(
            400,
            shapes=shapes,
            annotations=_names(lines, (high - low) * 0.043),
            xaxis=axis(range=[0, most], tickprefix="$", nticks=5, title={"text": x_title}),
            yaxis=axis(range=[low, high], tickformat=".0%", title={"text": y_title}),
        ),
    }


SIDES = ("middle right", "middle left", "top right", "bottom left", "bottom right", "top left")


def _points(placed: Sequence[Mark]) -> Spec:
    """The models with a known cost, their names beside them on changing sides."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [m.cost for m in placed],
        "y": [m.score for m in placed],
        "text": [label(m.name, 16) for m in placed],
        "textposition": [SIDES[i % 6] for i in range(len(placed))],
        "hoverinfo": "text",
        "hovertext": [f"{label(m.name, 40)}<br>{m.score:.1%}, ${m.cost:.4g}" for m in placed],
        "cliponaxis": False,
        "marker": {"color": "var(--accent)", "size": 11, "symbol": "diamond"},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "color": "var(--accent)",
            "thickness": 1.6,
            "width": 5,
            "array": [m.interval.high - m.score if m.interval else 0.0 for m in placed],
            "arrayminus": [m.score - m.interval.low if m.interval else 0.0 for m in placed],
        },
    }


def _names(lines: Sequence[Mark], least: float) -> list[Spec]:
    """The names of the horizontal marks, at the right, moved apart where their scores lie close."""
    places = _apart([m.score for m in lines], least)
    return [
        {
            "xref": "paper",
            "x": 1,
            "xanchor": "right",
            "y": y,
            "yanchor": "middle",
            "showarrow": False,
            "align": "right",
            "text": f"{label(m.name.split('/')[-1], 60)} {m.score:.1%}",
            "font": {"size": 11, "color": "var(--ink-2)"},
            "bgcolor": "var(--surface)",
            "borderpad": 1,
        }
        for m, y in zip(lines, places, strict=True)
    ]


def _apart(values: Sequence[float], least: float) -> list[float]:
    """Places for labels of falling values: near their value, in order, at least `least` apart, spread both ways."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value, 1, value])  # sum, size, middle
        while len(groups) > 1 and groups[-2][2] - groups[-1][2] < least * (groups[-2][1] + groups[-1][1]) / 2:
            total, size, _ = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + size, 0]
            groups[-1][2] = groups[-1][0] / groups[-1][1]
    return [middle + least * ((size - 1) / 2 - i) for _, size, middle in groups for i in range(int(size))]
