"""The frame of the server-rendered pages: templates, words, numbers as text. No Gradio, no inline script or style.

Every value a template prints is escaped; text of models and data has no other way into a page.
"""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from pipeline.report.stats import Interval
from ui.assets import plotly_path
from ui.words import LANGUAGES, pick_language, say, words
from ui.words.said import translated

TEMPLATES = Path(__file__).parent / "templates"
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
    """What a template knows of the request: its language, its words and its own address with changed parameters."""

    def __init__(self, request: Request, noindex: bool = False) -> None:
        self.request, self.noindex = request, noindex
        self.lang = pick_language(request.headers.get("accept-language"), request.query_params.get("lang"))
        self.table = words(self.lang)

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
        query = self.request.query_params
        items = list(query.multi_items()) if path is None else [("lang", query["lang"])] if "lang" in query else []
        items = [(k, v) for k, v in items if k not in changes and k != "part"]
        for key, value in changes.items():
            values = value if isinstance(value, list | tuple) else [value]
            items += [(key, str(v)) for v in values if v is not None and v != ""]
        return f"{path or ''}?{urlencode(items)}" if items or path is None else path

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
