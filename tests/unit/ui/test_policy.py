"""Policies and cookies of answers, whatever made them: who may frame a page, what a page may ask, which cookies a frame keeps."""

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from ui import policy
from ui.cookies import Partitioned, partitioned
from ui.policy import Policy


def headers_of(path: str = "/", query: str = "", **given: str) -> dict[str, str]:
    sent: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await Response("", 200, {k.replace("_", "-"): v for k, v in given.items()})(scope, receive, send)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    asyncio.run(Policy(inner)(scope, None, send))  # type: ignore[arg-type]
    names = [k for k, _ in sent[0]["headers"]]
    assert names.count(b"content-security-policy") == 1
    return {k.decode(): v.decode() for k, v in sent[0]["headers"]}


def test_headers_of_our_own_pages() -> None:
    headers = headers_of("/r/abc")
    assert "script-src 'self';" in headers["content-security-policy"] and "noindex" in headers["x-robots-tag"]
    assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
    assert "x-robots-tag" not in headers_of("/")
    assert "noindex" in headers_of("/", query="lang=es&run=abc")["x-robots-tag"]


def test_on_ones_own_machine_only_the_site_itself_may_frame_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert headers_of()["content-security-policy"].endswith("; frame-ancestors 'self'")


def test_a_space_may_be_framed_by_hugging_faces_page_and_by_no_other_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "me/x")
    found = headers_of()["content-security-policy"].split("frame-ancestors ")[1]
    assert found == "'self' https://huggingface.co"


def test_a_policy_that_an_answer_brings_stays_and_is_told_who_may_frame_it() -> None:
    found = headers_of(Content_Security_Policy="sandbox; default-src 'none'")["content-security-policy"]
    assert found == "sandbox; default-src 'none'; frame-ancestors 'self'"


def test_only_the_inline_scripts_that_stand_in_the_page_are_named() -> None:
    found = policy.for_gradio(b'<script>a</script><script src="/x.js"></script><script data-m>b</script>')
    assert found.count("'sha256-") == 2 and "unsafe-inline'; style" not in found.split("style-src")[0]
    assert "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='" in found


@pytest.mark.parametrize(("cookie", "grows"), [
    (b"session=abc; path=/; Max-Age=1; httponly; samesite=none; secure", True), (b"session=null; path=/; SameSite=None; Secure", True),
    (b"x=1; Path=/; SameSite=None; Secure; Partitioned", False), (b"x=samesite=none; Path=/; SameSite=Lax", False), (b"x=1", False),
])
def test_a_cookie_for_frames_is_partitioned_once(cookie: bytes, grows: bool) -> None:
    assert partitioned(cookie) == (cookie + b"; Partitioned" if grows else cookie)


def test_the_sessions_cookie_is_partitioned_when_it_is_set_and_when_it_is_deleted() -> None:
    # In Hugging Face's frame the browser dropped the unpartitioned cookie: an endless loop of consent pages.
    async def into(request: Request) -> Response:
        request.session["a"] = "b"
        return RedirectResponse("/")

    async def out(request: Request) -> Response:
        request.session.clear()
        return PlainTextResponse("")

    session = Middleware(SessionMiddleware, secret_key="s", same_site="none", https_only=True)
    app = Starlette(routes=[Route("/in", into), Route("/out", out)], middleware=[Middleware(Partitioned), session])
    with TestClient(app, base_url="https://testserver", follow_redirects=False) as client:
        for path in ("/in", "/out"):
            (cookie,) = client.get(path).headers.get_list("set-cookie")
            assert cookie.startswith("session=") and cookie.endswith("; Partitioned"), cookie
