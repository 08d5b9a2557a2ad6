"""The frame of the server-rendered pages: templates, words, numbers as text. No Gradio, no inline script or style.

Every value a template prints is escaped; text of models and data has no other way into a page.
"""

import asyncio
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from pipeline.report.stats import Interval
from ui.assets import plotly_path
from ui.query import Names, Query
from ui.words import LANGUAGES, pick_language, say, words
from ui.words.said import translated

TEMPLATES = Path(__file__).parent / "templates"
ROOM = 500_000  # bytes of long texts in one page
NO_INDEX = {"X-Robots-Tag": "noindex, nofollow"}


@cache
def environment() -> Environment:
    """The one template environment; a missing variable is an error, never an empty string."""
    env = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
                      trim_blocks=True, lstrip_blocks=True)
    env.filters |= {"percent": percent, "points": points, "money": money, "day": day, "interval": interval_text,
                    "translated": translated}
    return env


class Page:
    """What a template knows of the request: its language, its words and its own address with changed parameters.

    Args:
        names: the parameters that the page reads beside `lang`; it knows no others.
    """

    def __init__(self, request: Request, names: Names | None = None, noindex: bool = False) -> None:
        self.request, self.noindex = request, noindex
        self.query = Query.of(request.scope.get("query_string", b""), names or {})
        self.lang = pick_language(request.headers.get("accept-language"), self.query.get("lang"))
        self.table = words(self.lang)
        self._room = ROOM

    def t(self, key: str, **values: Any) -> str:
        """The words under a key, filled."""
        return say(self.table, key, **values)

    def plural(self, key: str, n: int, **values: Any) -> str:
        """The words under `key.one` for 1 and `key.many` for every other number, with {n} filled."""
        return self.t(f"{key}.{'one' if n == 1 else 'many'}", n=n, **values)

    def link(self, path: str | None = None, **changes: Any) -> str:
        """This address (or `path` with no parameters but the language) with parameters set, or removed by None.

        The page's own address stays relative, so that it does not print the id it was asked for.
        """
        if path is not None:
            return Query({}, self.query.items).link(path, **changes)
        return self.query.link(**{"part": None, **changes})

    def fit(self, text: str) -> str:
        """A long text of the data or of a model, whole as long as the texts of this page fit, else cut with the number of
        characters that are left out."""
        shown = text.encode("utf-8", "replace")[: self._room].decode("utf-8", "ignore")
        self._room -= len(shown.encode())
        left = len(text) - len(shown)
        return shown + self.t("result.text.left_out", n=left) if left else text

    async def answer(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """As `respond`, in a thread: for pages that can be long."""
        return await asyncio.to_thread(self.respond, template, status, **values)

    def respond(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """The page. `noindex` pages say so in their header too."""
        body = environment().get_template(template).render(
            page=self, t=self.t, plural=self.plural, link=self.link, languages=LANGUAGES, plotly_url=plotly_path(), **values)
        headers = {"Cache-Control": "no-store", "Vary": "Accept-Language", "Referrer-Policy": "no-referrer"}
        return HTMLResponse(body, status, headers | (NO_INDEX if self.noindex else {}))


def percent(value: float | None, digits: int = 1) -> str:
    """A share of 1 as percent, such as 78.2%, or a dash where there is none. Never prints a minus zero."""
    if value is None:
        return "–"
    text = f"{value * 100:.{digits}f}"
    return ("0" + text[2:] if text.lstrip("-").strip("0.") == "" and text.startswith("-") else text).replace("-", "−") + "%"


def points(value: float | None, digits: int = 1) -> str:
    """A difference in percentage points with its sign, such as +3.1."""
    if value is None:
        return "–"
    text = f"{value * 100:+.{digits}f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def interval_text(interval: Interval | None) -> str:
    """The two ends as percent, such as 74.1–82.0%; words where an end is negative; "" for none."""
    if interval is None:
        return ""
    low, high = percent(interval.low)[:-1], percent(interval.high)
    return f"{low} to {high}" if "−" in low + high else f"{low}–{high}"


def money(value: float | None) -> str:
    """US dollars with as many digits as matter, or a dash where unknown. An unknown price is never $0."""
    if value is None:
        return "–"
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}".rstrip("0") if value >= 0.0001 else f"${value:.2g}"


def day(unix: float | None) -> str:
    """A date such as 2026-07-30, in UTC."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d") if unix else "–"
