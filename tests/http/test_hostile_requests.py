"""Requests that no browser of good will sends, against every route of the app on a real socket: never an error of ours."""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.routing import Route

from runner.service import RunService
from tests.http.runner_kit import ENGINE
from tests.made_runs import Made
from tests.made_site import put_run, secret
from ui.site import build_app

VALUES = ["%00", "%ED%A0%BD", "%FF%FE", "%C0%80", "%1B%5B31m", "%EF%BF%BE", "%C2%85", "%u d83d".replace(" ", ""), "%", "%0D%0Ax:y",
          "..%2f..%2fetc", "%F0%9F%92%A9", "%5B%22", "1e999", "-1", "NaN", "9" * 400, "\\", "x" * 3000]
NAMES = ("lang", "source", "competency", "subcompetency", "context", "task_ids", "run", "runs", "part", "open", "sort", "page", "size", "x",
         "y", "q", "judge", "prompt", "subset", "outcome", "shape", "state", "down", "delete", "solver", "sample_limit", "after", "v",
         "brief", "means", "code", "state", "signin", "connected", "__theme", "file", "_nb_redirects", "_target_url", "deep_link", "session_hash")
JSON = [b"[" * 100_000, b'{"a":' * 200 + b"1" + b"}" * 200, b'{"level":1,"level":2}', b'{"level":NaN}', b'{"days":1e999}', b'{"days":-Infinity}',
        b'{"level":"\\ud83d"}', b'{"\\ud83d":1}', b'{"level":"\\u0000"}', b'{"level":"\xff"}', '{"level":"public"}'.encode("utf-16"), b"[]",
        b'"x"', b"1", b"null", b'{"level":' + b"1" * 5000 + b"}", b'{"a":[' + b"1," * 30_000 + b"1]}", b"{", b"\x00", b"{}x"]


class Site:
    """The app on a port, and raw requests to it: a client library would mend or refuse what is sent here."""

    def __init__(self, port: int, app: Any) -> None:
        self.port, self.app = port, app

    def ask(self, method: str, target: str | bytes, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Status and answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as to:
            named = {"host": f"127.0.0.1:{self.port}", "connection": "close", "content-length": str(len(body)), **headers}
            head = b"".join(f"{k.replace('_', '-')}: ".encode() + v.encode("latin-1") + b"\r\n" for k, v in named.items())
            raw = target if isinstance(target, bytes) else target.encode()
            to.sendall(method.encode() + b" " + raw + b" HTTP/1.1\r\n" + head + b"\r\n" + body)
            answer = b""
            while part := to.recv(1 << 16):
                answer += part
                if b"text/event-stream" in answer[:1000]:
                    break
        found = re.match(rb"HTTP/1\.1 (\d+)", answer)
        return (int(found[1]) if found else 0), answer.partition(b"\r\n\r\n")[2]

    def routes(self) -> list[tuple[str, str]]:
        """Every method and path of the app, Gradio's among them."""
        flat, found = list(self.app.routes), set()
        while flat:
            route = flat.pop()
            flat += getattr(route, "routes", None) or getattr(getattr(route, "app", None), "routes", None) or []
            if isinstance(route, Route):
                found |= {(m, route.path) for m in route.methods or ()}
        return sorted((m, p) for m, p in found if m in ("GET", "POST", "DELETE"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("hostile")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    put_run(home, "a", Made())
    app = build_app(home, RunService(home, ENGINE))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Site(listener.getsockname()[1], app)
    server.should_exit = True
    thread.join(10)


def filled(path: str, value: str) -> str:
    return re.sub(r"\{[^}]*\}", lambda _: value, path)


def test_no_address_gives_an_error_of_ours(site: Site) -> None:
    wrong = set()
    for method, path in site.routes():
        if "heartbeat" in path or "queue/data" in path or "pwa_icon" in path:  # streams; and one that Gradio's door closes
            continue
        for value in VALUES if "{" in path or method == "GET" else VALUES[:2]:
            query = "&".join(f"{name}={value}" for name in NAMES)
            status, _ = site.ask(method, f"{filled(path, value)}?{query}")
            wrong |= {(method, path, value[:12], status)} if status >= 500 or not status else set()
    assert not wrong, sorted(wrong)


@pytest.mark.parametrize("body", JSON, ids=range(len(JSON)))
def test_json_that_our_reader_refuses_is_a_400_with_a_sentence(site: Site, body: bytes) -> None:
    rid = secret("a")
    for path in (f"/api/runs/{rid}/share", f"/live/{rid}/resume", "/keys/solver/openai", "/keys/solver/openai/check"):
        status, answer = site.ask("POST", path, body, content_type="application/json")
        assert status == 400 and json.loads(answer)["error"].endswith("."), (path, answer)


@pytest.mark.parametrize("kind", [
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=b; charset=punycode", "multipart/form-data; boundary=b; charset=unicode_escape",
    "multipart/form-data", "text/plain", "application/json", "\xff",
])
def test_a_form_in_any_encoding_is_no_error_of_ours(site: Site, kind: str) -> None:
    # Starlette decodes a field in the encoding that the sender names: punycode gave a 500, unicode_escape half a character.
    part = b'--b\r\nContent-Disposition: form-data; name="level"\r\n\r\n\\ud83d\r\n--b--\r\n'
    for body in (part, b"level=%ff%00%ed%a0%bd&days=nan&source=%00", b"&".join(b"a=%d" % n for n in range(2000)), b"\xff\xfe\x00", b"level=public&days=1e999"):
        for path in (f"/r/{secret('a')}/share", f"/r/{secret('a')}/delete", "/explore/estimate"):
            status, answer = site.ask("POST", path, body, content_type=kind)
            assert 200 <= status < 500, (path, body[:40])
            answer.decode()


@pytest.mark.parametrize("value", ["\x80\x9f", "\xed\xa0\xbd", "x" * 3000, "[::", "%00", "a,b;q=NaN,c;q=1e999", '{"', "=?utf-8?b?7aC9?="])
def test_no_header_gives_an_error_of_ours(site: Site, value: str) -> None:
    names = ("accept_language", "cookie", "x_forwarded_for", "x_forwarded_proto", "if_none_match", "last_event_id", "accept", "user_agent",
             "range", "referer", "accept_encoding", "if_modified_since")
    for path in ("/", f"/r/{secret('a')}", f"/api/runs/{secret('a')}", f"/api/runs/{secret('a')}/plan", "/keys", "/gallery", "/explore",
                 "/static/js/said.js", f"/r/{secret('a')}/download/tasks.csv", "/privacy", "/keys/openrouter/connect"):
        status, _ = site.ask("GET", path, **{name: f"l2_session={value}" if name == "cookie" else value for name in names})
        assert 200 <= status < 500, path
