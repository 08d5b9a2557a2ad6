"""Competency bars with their intervals as a picture that needs no script: SVG text, made from a Summary.

Text from the data is escaped; what makes the score not comparable stands under the title.
"""

from collections.abc import Iterator
from html import escape
from textwrap import wrap

from pipeline.report.summary import Group, Summary, percent

WIDTH, LABEL, ROW = 900, 300, 30
PLOT = WIDTH - LABEL - 125
INK, QUIET, LINE, BAR, GREY = "#1d2733", "#5b6775", "#d7dde3", "#0f6e7c", "#a9b4bd"
FONT = "IBM Plex Sans, Segoe UI, Helvetica, Arial, sans-serif"


def competency_svg(s: Summary) -> bytes:
    """Bars of the mean over scored tasks by competency; thin lines are intervals, groups under 5 tasks are grey."""
    rows, head = s.by_competency, _head(s)
    top = 30 + 20 * len(head)
    bottom = top + ROW * max(len(rows), 1) + 10
    least = least_of(s)
    body = "\n".join([*head, *_axis(least, top, bottom), *(p for i, g in enumerate(rows) for p in _row(g, top + ROW * i, least))])
    foot = _words(20, bottom + 42, "Bars: mean over scored tasks. Thin lines: 95 % intervals. Grey: fewer than 5 tasks.", QUIET)
    title, height = _text(f"L2-Bench scores by competency: {s.solver}"), bottom + 60
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'font-family="{FONT}" font-size="13" fill="{INK}">\n<title>{title}</title>\n<desc>{_text(describe(s))}</desc>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{body}\n{foot}\n</svg>\n'
    ).encode("utf-8", "replace")


def describe(s: Summary) -> str:
    """The picture in words."""
    groups = "; ".join(f"{g.name} {percent(g.scored.value)} ({g.scored.tasks} tasks)" for g in s.by_competency)
    return f"{s.sentence}. By competency: {groups or 'none'}."


def least_of(s: Summary) -> float:
    """Left end of the scale: 0, or the lowest end of a bar or an interval below it."""
    return min([0.0, *(_low(g) for g in s.by_competency)])


def short(text: str, most: int) -> str:
    """The text cut to `most` characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def comparison_line(s: Summary) -> str:
    """Both means, how far a run came that ended early, and what makes them not comparable, on one line."""
    compared = f"not comparable: {'; '.join(s.differences)}" if s.differences else ""
    return " · ".join(part for part in (s.sentence, s.cut_short, compared) if part)


def _head(s: Summary) -> list[str]:
    """Model, then the score with what makes it not comparable, whole, then judge and prompt."""
    lines = [*wrap(comparison_line(s), 130), *wrap(f"judge {s.judge}, prompt {s.prompt}", 130)]
    first = f'<text x="20" y="30" font-size="18" font-weight="700">{_text(short(s.solver, 80))}</text>'
    return [first, *(_words(20, 52 + 20 * i, line, INK if i + 1 < len(lines) else QUIET) for i, line in enumerate(lines))]


def _words(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}">{_text(text)}</text>'


def _axis(least: float, top: float, bottom: float) -> Iterator[str]:
    for tenth in range(int(least * 10 // 2) * 2, 11, 2):
        x = _x(tenth / 10, least)
        if x >= LABEL - 1:
            yield f'<line x1="{x:.1f}" y1="{top - 8}" x2="{x:.1f}" y2="{bottom - 10:.1f}" stroke="{LINE}"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 8:.1f}" text-anchor="middle" fill="{QUIET}">{tenth * 10} %</text>'


def _row(g: Group, y: float, least: float) -> Iterator[str]:
    yield f'<text x="{LABEL - 10}" y="{y + 15}" text-anchor="end">{_text(short(g.name, 40))}</text>'
    if g.scored.value is None:
        yield f'<text x="{LABEL + 6}" y="{y + 15}" fill="{QUIET}">no task scored</text>'
        return
    zero, end = _x(0, least), _x(g.scored.value, least)
    colour = GREY if g.scored.tasks < 5 else BAR
    yield f'<rect x="{min(zero, end):.1f}" y="{y + 2}" width="{abs(end - zero):.1f}" height="16" fill="{colour}"/>'
    if (i := g.scored.interval) is not None:
        a, b = _x(max(i.low, least), least), _x(min(i.high, 1.0), least)
        yield f'<path d="M{a:.1f} {y + 10}H{b:.1f}M{a:.1f} {y + 5}v10M{b:.1f} {y + 5}v10" stroke="{INK}" fill="none"/>'
    yield f'<text x="{WIDTH - 20}" y="{y + 15}" text-anchor="end">{percent(g.scored.value)} · n {g.scored.tasks}</text>'


def _low(g: Group) -> float:
    return min(g.scored.value or 0.0, g.scored.interval.low if g.scored.interval else 0.0)


def _x(value: float, least: float) -> float:
    return LABEL + PLOT * (value - least) / (1 - least)


def _text(text: str) -> str:
    """Escaped, and without the control characters that XML forbids."""
    return escape("".join(c if c.isprintable() else " " for c in text))
