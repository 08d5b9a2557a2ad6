"""Words: one key set, one set of placeholders. Guard: whose writes are refused, how large a body may be, which headers a page has."""

import asyncio
import re
from typing import Any

import pytest

from ui.assets import ROOT
from ui.guard import Guard
from ui.hosts import Hosts
from ui.index import mend
from ui.words import LANGUAGES, pick_language, say, words


@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_every_language_has_the_same_keys_and_placeholders(lang: str) -> None:
    english, other = words("en"), words(lang)
    assert list(other) == list(english)
    for key, text in english.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", other[key])), key
        assert other[key].strip(), key


def test_the_bundled_chinese_font_has_every_character_of_the_words() -> None:
    # Without a Chinese font in the system, a language's own name stood as empty boxes on every page.
    cut = (ROOT / "assets" / "fonts" / "NotoSansSC-words.txt").read_text(encoding="utf-8").strip()
    said = (ROOT / "ui" / "words" / "said.zh-CN.json").read_text(encoding="utf-8")
    used = {c for text in (said, *words("zh-CN").values()) for c in text if ord(c) >= 0x3000}
    assert used <= set(cut), "".join(sorted(used - set(cut)))
    assert set(LANGUAGES["zh-CN"]) == set("简体中文")


@pytest.mark.parametrize(
    ("header", "asked", "found"),
    [
        ("", None, "en"),
        ("es-MX,es;q=0.9,en;q=0.8", None, "es"),
        ("en;q=0.5, es;q=0.9", None, "es"),
        ("zh", None, "zh-CN"),
        ("zh-TW, es;q=0.5", None, "es"),
        ("zh-Hans-CN", None, "zh-CN"),
        ("fr, de", None, "en"),
        ("es", "zh-CN", "zh-CN"),
        ("es", "xx", "es"),
        ("es;q=0", None, "en"),
        ("es;q=x,en", None, "en"),
        (None, "../../etc", "en"),
    ],
)
def test_the_language_is_the_one_asked_for_then_the_browsers(header: str | None, asked: str | None, found: str) -> None:
    assert pick_language(header, asked) == found


def test_a_value_is_never_read_as_a_format() -> None:
    assert say({"k": "a {n} b {m}"}, "k", n="{m}{0}", m=1).startswith("a ")
    assert say({"k": "{n}"}, "k", n="{__class__}") == "{__class__}"


def ask(
    path: str, method: str = "GET", headers: dict[str, str] | None = None, query: str = ""
) -> tuple[int, dict[str, str]]:
    """One request to a guarded app that answers everything with 200."""
    sent: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(k.lower().encode(), v.encode()) for k, v in {"host": "me.example", **(headers or {})}.items()],
    }
    asyncio.run(Guard(inner, Hosts(space=frozenset({"space.example"})))(scope, None, send))  # type: ignore[arg-type]
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "https://me.example"}, 200),
        ({"origin": "https://space.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://me.example.evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin", "origin": "https://me.example"}, 200),
    ],
)
def test_only_our_own_pages_may_write(headers: dict[str, str], status: int) -> None:
    assert ask("/api/runs/x/stop", "POST", headers)[0] == status


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_without_end_is_refused_before_it_is_taken(announced: bool) -> None:
    taken: list[int] = []
    sent: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["more_body"]:
            taken.append(len(message["body"]))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 100_000, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", b"2000000")] if announced else []
    scope = {"type": "http", "method": "POST", "path": "/gradio_api/queue/join", "query_string": b"", "headers": headers}
    asyncio.run(Guard(inner)(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 413 and sum(taken) <= 1_000_000 and bool(taken) is not announced


def test_the_page_is_mended_without_touching_its_config() -> None:
    page = b'<html lang="en"><head><meta property="og:title" content="Gradio" /><script>window.gradio_config = {"head": "<head>"};</script></head>'
    mended = mend(page, "es").decode()
    assert 'lang="es"' in mended and "early.js" in mended and 'content="Gradio"' not in mended
    assert '{"head": "<head>"}' in mended
