"""The competency bars as a PNG, drawn with Pillow where it is installed. The same picture as `svg`, at twice its size."""

import io
from textwrap import wrap
from typing import Any

from pipeline.errors import UserError
from pipeline.report.export.svg import BAR, GREY, INK, LABEL, LINE, PLOT, QUIET, ROW, WIDTH, comparison_line, least_of, short
from pipeline.report.summary import Group, Summary, percent

SCALE = 2


def competency_png(s: Summary) -> bytes:
    """The picture.

    Raises:
        UserError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise UserError("A PNG needs Pillow, which is not installed.", "", "Take the SVG instead.") from error
    lines = [*wrap(comparison_line(s), 118), f"judge {s.judge}, prompt {s.prompt}"]
    top, least = 60 + 20 * len(lines), least_of(s)
    image = Image.new("RGB", (WIDTH * SCALE, (top + ROW * max(len(s.by_competency), 1) + 60) * SCALE), "#ffffff")
    pen = _Pen(ImageDraw.Draw(image), least)
    pen.text(20, 14, short(s.solver, 70), 18)
    for i, line in enumerate(lines):
        pen.text(20, 44 + 20 * i, line, colour=INK if i + 1 < len(lines) else QUIET)
    bottom = top + ROW * max(len(s.by_competency), 1)
    for tenth in (t for t in range(int(least * 10 // 2) * 2, 11, 2) if pen.x(t / 10) >= LABEL - 1):
        pen.line(pen.x(tenth / 10), top - 6, pen.x(tenth / 10), bottom, LINE)
        pen.text(pen.x(tenth / 10), bottom + 6, f"{tenth * 10} %", colour=QUIET, anchor="ma")
    for i, group in enumerate(s.by_competency):
        _row(pen, group, top + ROW * i)
    pen.text(20, bottom + 32, "Bars: mean over scored tasks. Thin lines: 95 % intervals. Grey: fewer than 5 tasks.", colour=QUIET)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=False)
    return out.getvalue()


class _Pen:
    """Draws in the units of the SVG."""

    def __init__(self, draw: Any, least: float) -> None:
        self.draw, self.least = draw, least

    def x(self, value: float) -> float:
        return LABEL + PLOT * (value - self.least) / (1 - self.least)

    def text(self, x: float, y: float, text: str, size: int = 13, colour: str = INK, anchor: str = "la") -> None:
        from PIL import ImageFont

        # Pillow's own font has Latin letters only; others show as boxes rather than break the picture.
        font = ImageFont.load_default(size * SCALE)
        self.draw.text((x * SCALE, y * SCALE), " ".join(text.split()), fill=colour, font=font, anchor=anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK) -> None:
        self.draw.line([(x1 * SCALE, y1 * SCALE), (x2 * SCALE, y2 * SCALE)], fill=colour, width=SCALE)

    def box(self, x1: float, y1: float, x2: float, y2: float, colour: str) -> None:
        self.draw.rectangle([(min(x1, x2) * SCALE, y1 * SCALE), (max(x1, x2) * SCALE, y2 * SCALE)], fill=colour)


def _row(pen: _Pen, g: Group, y: float) -> None:
    pen.text(LABEL - 10, y + 3, short(g.name, 40), anchor="ra")
    if g.scored.value is None:
        pen.text(LABEL + 6, y + 3, "no task scored", colour=QUIET)
        return
    pen.box(pen.x(0), y + 2, pen.x(g.scored.value), y + 18, GREY if g.scored.tasks < 5 else BAR)
    if (i := g.scored.interval) is not None:
        a, b = pen.x(max(i.low, pen.least)), pen.x(min(i.high, 1.0))
        pen.line(a, y + 10, b, y + 10)
        pen.line(a, y + 5, a, y + 15)
        pen.line(b, y + 5, b, y + 15)
    pen.text(WIDTH - 20, y + 3, f"{percent(g.scored.value)} · n {g.scored.tasks}", anchor="ra")
