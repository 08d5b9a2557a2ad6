"""Mends what Gradio answers to a browser: the language of its one page before its scripts start, our tags in place of its
own, and a page of ours in place of its JSON where an address leads nowhere.

Touches no other answer. What Gradio's `head=` adds is only put in by its scripts, too late to choose a language.
"""

import re
from html import escape

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui import policy
from ui.query import HOME, Query
from ui.results.frame import Page
from ui.whole import Whole
from ui.words import pick_language, words

HEAD = (
    '<script src="/static/js/early.js"></script><meta name="color-scheme" content="light dark">'
    '<link rel="icon" href="/static/style/mark.svg">'
)
_THEIRS = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>')


class Index:
    """Pure ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; gather and mend the answer where it is the page."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        # Gradio looks some names up without asking whether they are there: `/?page=x` was a fault of the server.
        if scope["path"].rstrip("/") in ("", "/config"):
            asked = Query.of(scope["query_string"], HOME)
            scope = {**scope, "query_string": asked.link().partition("?")[2].encode()}
        if scope["path"] != "/":
            wanted = "text/html" in Headers(scope=scope).get("accept", "")
            await self.app(scope, receive, _Lost(scope, receive, send) if wanted else send)
            return
        lang = pick_language(
            Headers(scope=scope).get("accept-language"), Query.of(scope["query_string"], {}).get("lang")
        )
        await self.app(scope, receive, _Mending(send, lang))


class _Lost:
    """Puts our page in place of an answer that says only, as JSON, that nothing is there."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send, self.lost = scope, receive, send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self.lost = message["status"] == 404 and not kind.startswith("text/html")
            if self.lost:
                page = Page(Request(self.scope), noindex=True)
                answer = page.respond("message.html", 404, title=page.t("lost"), text=page.t("lost_help"), back="")
                await answer(self.scope, self.receive, self.send)
        if not self.lost:
            await self.send(message)


class _Mending(Whole):
    """Mends the page; anything that is not HTML goes straight through."""

    def __init__(self, send: Send, lang: str) -> None:
        super().__init__(send)
        self.lang = lang

    def wanted(self, start: Message) -> bool:
        return "text/html" in Headers(raw=start["headers"]).get("content-type", "")

    async def finish(self, start: Message) -> None:
        whole = mend(self.body, self.lang) if self.body else b""
        headers = MutableHeaders(raw=list(start["headers"]))
        if whole:
            headers["content-length"] = str(len(whole))
        headers["cache-control"] = "no-cache"
        headers[policy.HEADER] = policy.for_gradio(whole)
        await self.send({**start, "headers": headers.raw})
        await self.send({"type": "http.response.body", "body": whole})


def mend(page: bytes, lang: str) -> bytes:
    """Gradio's page with our head; text of the visitor is not put into it."""
    w = words(lang)
    told = (
        f'<meta name="description" content="{escape(w["app_lede"])}"><meta property="og:title" content="{escape(w["app_name"])}">'
        f'<meta property="og:description" content="{escape(w["app_lede"])}">'
    )
    head, sign, rest = page.partition(b"<head>")
    if not sign:
        return page
    before, config, after = rest.partition(b"window.gradio_config")
    before = _THEIRS.sub(b"", before)
    return (
        head.replace(b'lang="en"', f'lang="{lang}"'.encode(), 1)
        + b"<head>"
        + (HEAD + told).encode()
        + before
        + config
        + after
    )
