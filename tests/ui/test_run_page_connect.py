""" "Connect OpenRouter" in a real browser against a fake of its two endpoints; and a run paid with the key it gave."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from runner.openrouter_oauth import challenge_of
from tests.browser import patient
from tests.ui.conftest import Served, choose, ready, serving

KEY = "sk-or-v1-canaryfromoauth0123456789abcdef0123456789"


class Fake(ThreadingHTTPServer):
    """OpenRouter's sign-in page (which agrees at once), its exchange, its key check, and its chat, that says true."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.challenges: dict[str, str] = {}
        self.authorised: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers as OpenRouter does."""

    server: Fake

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        """One JSON answer."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Sign-in, key, models."""
        split = urlsplit(self.path)
        if split.path.endswith("/auth"):
            query = parse_qs(split.query)
            self.server.challenges["the-code"] = query["code_challenge"][0]
            assert query["code_challenge_method"] == ["S256"]
            back = query["callback_url"][0]
            self.send_response(302)
            self.send_header("Location", f"{back}{'&' if '?' in back else '?'}code=the-code")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif split.path.endswith("/key"):
            self.server.authorised.append(self.headers.get("Authorization", ""))
            self.answer({"data": {"limit": 5, "limit_remaining": 4.5, "is_free_tier": False}})
        else:
            self.answer(
                {
                    "data": [
                        {"id": "openai/gpt-5.4-mini", "pricing": {"prompt": "0.00000075", "completion": "0.0000045"}}
                    ]
                }
            )

    def do_POST(self) -> None:
        """The exchange of the code, and chat."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/auth/keys"):
            right = self.server.challenges.pop(body["code"], "") == challenge_of(body["code_verifier"])
            self.answer({"key": KEY} if right else {"error": "no"}, 200 if right else 403)
        else:
            self.server.authorised.append(self.headers.get("Authorization", ""))
            self.answer(
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 1,
                    "model": body["model"],
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": "A short plan for the class.\n\ntrue"},
                        }
                    ],
                    "usage": {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59, "cost": 0.0001},
                }
            )


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    """The fake OpenRouter."""
    server = Fake()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def connected(fake: Fake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app with OpenRouter's host turned to the fake."""
    with serving(
        tmp_path_factory.mktemp("connected"), L2BENCH_PROVIDER_HOSTS=json.dumps({"openrouter": fake.url})
    ) as served:
        yield served


def test_connect_openrouter_gives_a_key_that_pays_for_a_run_and_is_nowhere(
    browser: Browser, connected: Served, fake: Fake
) -> None:
    # https://github.com/promptfoo/promptfoo/issues/8805: keys were found in the page's state, its database and its shared links.
    context = patient(browser.new_context())
    page = context.new_page()
    addresses: list[str] = []
    page.on("framenavigated", lambda frame: addresses.append(frame.url))
    page.goto(connected.url)
    ready(page)
    choose(page, "#solver-provider", "OpenRouter")
    page.click("text=Connect OpenRouter")
    page.wait_for_url("**/?connected=openrouter*")
    expect(page.locator("#solver-provider input")).to_have_value("OpenRouter")
    expect(page.locator("[data-card='solver/openrouter'] [data-said]")).to_contain_text("ends in 6789")
    page.click("[data-check]")
    expect(page.locator("[data-card='solver/openrouter'] [data-said]")).to_contain_text("$4.50")
    choose(page, "#solver-model", "openai/gpt-5.4-mini")
    choose(page, "#judge-model", "openai/gpt-5.4-mini")
    page.fill("#sample-limit input[type=number]", "2")
    page.keyboard.press("Tab")
    expect(page.locator("#estimate")).to_contain_text("2 tasks")
    ready(page)
    page.click("#run-button")
    page.wait_for_url("**run=*")
    expect(page.locator("[data-done]")).to_contain_text("2 of 2 ")
    assert set(fake.authorised) == {f"Bearer {KEY}"}
    kept = page.evaluate(
        "JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML"
    )
    files = b"".join(p.read_bytes() for p in connected.home.rglob("*") if p.is_file()) + connected.log.read_bytes()
    assert KEY not in kept and KEY not in json.dumps(context.cookies()) and KEY.encode() not in files
    assert not any(KEY in a or "code=" in a for a in addresses[-1:])
    context.close()


def test_a_state_that_was_not_begun_here_is_refused(browser: Browser, connected: Served) -> None:
    page = patient(browser.new_page())
    reply = page.goto(f"{connected.url}/keys/openrouter/back/{'A' * 43}?code=the-code")
    assert reply is not None and reply.status == 400
    assert "not begun here" in page.inner_text("main")
    page.close()
