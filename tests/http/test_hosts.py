"""The whole app on a real socket, spoken to byte by byte: under a foreign name nothing is served, and all that is has a policy."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from runner.service import RunService
from tests.http.runner_kit import ENGINE
from ui.site import build_app

ROUTES = ("/", "/?run=x", "/config", "/theme.css", "/static/js/page.js", "/static/style/base.css", "/gradio_api/info",
          "/gradio_api/queue/join", "/gradio_api/queue/data?session_hash=a", "/gradio_api/run/predict", "/gradio_api/startup-events",
          "/gradio_api/heartbeat/a", "/gradio_api/file=/etc/passwd", "/keys", "/keys/catalogue", "/keys/solver/openai",
          "/keys/openrouter/connect", "/api/runs/x", "/api/runs/x/events", "/api/runs/x/stop", "/live/x/facts", "/live/x/resume",
          "/r/x", "/r/x/share", "/r/x/download/run.zip", "/gallery", "/compare", "/explore", "/explore/estimate", "/privacy",
          "/login/huggingface", "/logout", "/nothing", "/assets/nothing.js", "/monitoring", "//evil", "/%2e%2e/etc")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an app that was started as on one's own machine."""
    home: Path = tmp_path_factory.mktemp("site")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build_app(home, RunService(home, ENGINE)), http="h11", log_level="error",
                                           timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(10)


def say(port: int, line: str, *headers: str) -> tuple[int, str]:
    """Status and head of the answer to a request, written as it stands here."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        end = [] if any(h.startswith("Upgrade:") for h in headers) else ["Connection: close"]
        connection.sendall("\r\n".join([line, *headers, *end, "", ""]).encode("latin-1"))
        got = b""
        while b"\r\n\r\n" not in got and (more := connection.recv(65536)):
            got += more
    head = got.split(b"\r\n\r\n")[0].decode("latin-1")
    return int(head.split()[1]), head


@pytest.mark.parametrize("route", ROUTES)
def test_under_a_foreign_name_no_route_answers_to_any_method(port: int, route: str) -> None:
    # DNS rebinding: on `make run` a page of another site could start runs, hold keys and have private addresses asked.
    for method in METHODS:
        more = ["Content-Length: 0"] if method in ("POST", "PUT", "PATCH") else []
        for named in (f"evil.example:{port}", "me.hf.space"):
            status, head = say(port, f"{method} {route} HTTP/1.1", f"Host: {named}", *more, f"X-Forwarded-Host: 127.0.0.1:{port}",
                               "Forwarded: host=localhost", f"Origin: http://{named}")
            assert status == 421, (method, route, named, head)
            assert "frame-ancestors" in head and "access-control-allow-origin" not in head.lower()


def test_every_protocol_and_form_of_a_request_line_is_asked_for_the_name(port: int) -> None:
    own, upgrade = f"Host: 127.0.0.1:{port}", ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    assert say(port, "GET /gradio_api/queue/join HTTP/1.1", "Host: evil.example", *upgrade)[0] in (400, 421)
    assert say(port, "GET /gradio_api/queue/join HTTP/1.1", own, *upgrade)[0] in (403, 404)
    for line in ("GET http://evil.example/ HTTP/1.1", f"GET http://127.0.0.1:{port}/ HTTP/1.1", "OPTIONS * HTTP/1.1",
                 "CONNECT evil.example:443 HTTP/1.1"):
        assert say(port, line, own)[0] in (400, 421), line
    assert say(port, "GET / HTTP/1.0")[0] == 400 and say(port, "GET / HTTP/1.1")[0] == 400
    for doubled in ((own, own), (own, "Host: evil.example"), ("Host: evil.example", own)):
        assert say(port, "GET /keys HTTP/1.1", *doubled)[0] == 400
    for named in ("localhost.", "u@localhost", f"127.0.0.1:{port},evil.example", "", "127.0.0.1:0", "127.0.0.1:x"):
        assert say(port, "GET /keys HTTP/1.1", f"Host: {named}")[0] == 400, named


def test_a_preflight_of_another_site_is_granted_nothing(port: int) -> None:
    _, head = say(port, "OPTIONS /keys/solver/openai HTTP/1.1", f"Host: 127.0.0.1:{port}", "Origin: https://evil.example",
                  "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
    assert "allow-origin" not in head.lower()


def test_local_names_are_served(port: int) -> None:
    for named in (f"127.0.0.1:{port}", "localhost", "[::1]:9", "127.8.8.8"):
        for route in ("/", "/config", "/keys/catalogue", "/privacy", "/static/js/page.js"):
            assert say(port, f"GET {route} HTTP/1.1", f"Host: {named}")[0] == 200, (named, route)


@pytest.mark.parametrize("route", ROUTES)
def test_every_answer_has_a_policy_that_names_no_other_host_and_who_may_frame_it(port: int, route: str) -> None:
    # Today Gradio's page, refusals, errors and JSON had no policy, and any site could show the page in a frame.
    for method in ("GET", "POST", "OPTIONS"):
        status, head = say(port, f"{method} {route} HTTP/1.1", f"Host: 127.0.0.1:{port}", *(["Content-Length: 0"] if method == "POST" else []))
        policy = re.findall(r"content-security-policy: (.*)\r?", head, re.I)
        assert len(policy) == 1, (method, route, status, head)
        assert policy[0].strip().endswith("frame-ancestors 'self'"), policy
        assert "http:" not in policy[0] and "https:" not in policy[0] and "*" not in policy[0]
        assert "x-frame-options" not in head.lower() and "nosniff" in head


def test_gradios_page_runs_no_script_but_its_own(port: int) -> None:
    answer = httpx.get(f"http://127.0.0.1:{port}/")
    policy = {part.split()[0]: part.split()[1:] for part in answer.headers["content-security-policy"].split(";")}
    assert policy["default-src"] == ["'none'"] and policy["connect-src"] == ["'self'"] and policy["form-action"] == ["'self'"]
    assert "'unsafe-inline'" not in policy["script-src"] and policy["font-src"] == ["'self'"]
    assert len([s for s in policy["script-src"] if s.startswith("'sha256-")]) == answer.text.count("<script>") + answer.text.count("<script data")
