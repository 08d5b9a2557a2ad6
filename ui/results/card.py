"""The preview picture of a run's link: model, score with interval, what makes it not comparable. Holds nothing private."""

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from ui.results.head import Head

FONTS = Path(__file__).resolve().parents[2] / "assets" / "fonts"
SIZE = (1200, 630)
INK, QUIET, ACCENT, GROUND, LINE = "#14212a", "#3d4b56", "#0b5c70", "#ffffff", "#cdd6db"
PAD = 72


@cache
def _font(bold: bool, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"IBMPlexSans-{'Bold' if bold else 'Regular'}.woff2", size)


def draw(head: Head, t: Callable[..., str]) -> bytes:
    """A PNG of 1200 x 630 pixels. Words are English: the bundled font has no Chinese signs."""
    image = Image.new("RGB", SIZE, GROUND)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, SIZE[0], 14), fill=ACCENT)
    pen.text((PAD, 54), "L2-Bench Live", font=_font(True, 32), fill=ACCENT)
    y = _lines(pen, head.model, 112, _font(True, 54), INK, 2)
    pen.text((PAD, y + 14), head.scored.value, font=_font(True, 120), fill=INK)
    left = PAD + pen.textlength(head.scored.value, font=_font(True, 120)) + 36
    pen.text((left, y + 42), head.scored.interval or head.scored.why, font=_font(False, 40), fill=QUIET)
    pen.text((left, y + 94), head.scored.count, font=_font(False, 30), fill=QUIET)
    y += 172
    pen.text(
        (PAD, y), f"{head.attempted.value}  {head.attempted.interval}  {head.attempted.count}", font=_font(False, 30), fill=QUIET
    )
    pen.line((PAD, y + 58, SIZE[0] - PAD, y + 58), fill=LINE, width=2)
    said = t("live_not_comparable", list="; ".join(head.differences)) if head.differences else t("result.no_differences")
    _lines(pen, said, y + 76, _font(False, 28), INK, 3)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _lines(pen: ImageDraw.ImageDraw, text: str, y: int, font: ImageFont.FreeTypeFont, colour: str, most: int) -> int:
    """Text in at most `most` lines that fit the picture, the last one cut with an ellipsis; gives the next free y."""
    lines: list[str] = []
    rest = " ".join(text.split())[:600]
    while rest and len(lines) < most:
        line = _fitting(pen, rest, font)
        rest = rest[len(line) :].lstrip()
        lines.append(line if not rest or len(lines) + 1 < most else line[:-1].rstrip() + "…")
    for line in lines:
        pen.text((PAD, y), line, font=font, fill=colour)
        y += int(font.size * 1.25)
    return y


def _fitting(pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont) -> str:
    """As many words as fit one line, or as many signs where a single word is too long."""
    room = SIZE[0] - 2 * PAD
    if pen.textlength(text, font=font) <= room:
        return text
    end = next(n for n in range(1, len(text) + 1) if pen.textlength(text[:n], font=font) > room) - 1
    space = text.rfind(" ", 0, end + 1)
    return text[:space] if space > end // 2 else text[: max(1, end)]
