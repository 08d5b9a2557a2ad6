"""The mounted Gradio on a real socket: what reaches it, what of the server's files can be had through it, whose its events are."""

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from gradio import processing_utils

from runner.service import RunService
from tests.http.runner_kit import ENGINE
from ui.gradio_door import CALL, EVENTS, JOIN, METHODS, GradioDoor
from ui.site import build_app

CANARY = "canary-8c1f-of-a-file-outside"
STARTED = time.time()


class Site:
    """The running app: a client, the door, and a client that reaches Gradio behind the door."""

    def __init__(self, url: str, bare: str, app: Any, canary: Path) -> None:
        self.url, self.app, self.canary = url, app, canary
        self.door: GradioDoor = app.routes[-1].app
        self.client = httpx.Client(base_url=url, timeout=30)
        self.bare = httpx.Client(base_url=bare, timeout=30)
        self.functions = {n: f for n, f in self.door.inner.blocks.fns.items() if f.fn}

    def values(self, number: int) -> list[Any]:
        """What the page sends at first to a handler."""
        return [component.value for component in self.functions[number].inputs]


@contextlib.contextmanager
def served(app: Any, **config: Any) -> Iterator[str]:
    """An ASGI app on a port of its own."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1, **config))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The whole app, and beside it the Gradio inside of it without the door."""
    home, canary = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("elsewhere") / "secret.svg"
    canary.write_text(f"<svg>{CANARY}</svg>")
    app = build_app(home, RunService(home, ENGINE))
    with served(app) as url, served(app.routes[-1].app.inner, lifespan="off") as bare:  # type: ignore[attr-defined]
        yield Site(url, bare, app, canary)


def record(path: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "meta": {"_type": "gradio.FileData"}, **more}


def call(client: httpx.Client, path: str, number: Any, data: Any, session: Any = "page1", **more: Any) -> httpx.Response:
    return client.post(path, json={"data": data, "fn_index": number, "session_hash": session, **more})


def told(client: httpx.Client, session: str) -> str:
    """Everything that the event stream of a session says until it ends."""
    with client.stream("GET", EVENTS, params={"session_hash": session}) as stream:
        return "\n".join(line for line in stream.iter_lines()) if stream.status_code == 200 else ""


def copies() -> list[Path]:
    """Files with the canary, or with an environment, that Gradio made in the folder that it serves."""
    folder = Path(processing_utils.utils.get_upload_folder())
    new = [p for p in folder.rglob("*") if p.is_file() and p.stat().st_mtime >= STARTED - 1] if folder.exists() else []
    return [p for p in new if CANARY.encode() in p.read_bytes() or p.name == "environ"]


def asked_with_records(site: Site, client: httpx.Client) -> Iterator[str]:
    """All that both doors answer to a record of a file in every input of every handler."""
    paths = [str(site.canary), "/proc/self/environ"]
    seen: set[int] = set()
    for number, function in site.functions.items():
        for place, component in enumerate(function.inputs):
            if component._id in seen and place:  # the same component in another handler
                continue
            seen.add(component._id)
            path = paths[place % 2]
            for made in (record(path), [record(path)], {"a": [{"b": record(path, url="x")}]})[: 1 if place else 3]:
                data = site.values(number)
                data[place] = made
                yield call(client, CALL, number, data).text
                if not place or not function.queue:
                    session = f"join{number}x{place}"
                    joined = call(client, JOIN, number, data, session)
                    yield joined.text + (told(client, session) if joined.status_code == 200 else "")


def nothing_of_a_file_in(site: Site, answers: Iterator[str]) -> None:
    for answer in answers:
        assert CANARY not in answer
        for found in set(re.findall(r"/[^\s'\"\\]*/(?:secret\.svg|environ)", answer)):
            for client in (site.client, site.bare):
                served_now = client.get(f"/gradio_api/file={found}")
                assert served_now.status_code >= 400 and CANARY not in served_now.text, found
    assert not copies()


def test_no_handler_reads_a_file_of_the_server(site: Site) -> None:
    # Platform facts, section 0: a record of a file as the value of any field gave any file of the server to anyone.
    nothing_of_a_file_in(site, asked_with_records(site, site.client))


def test_gradios_own_check_alone_holds(site: Site) -> None:
    # Its check is off until launch() has run, which a mounted app never does.
    nothing_of_a_file_in(site, asked_with_records(site, site.bare))
    assert site.bare.get(f"/gradio_api/file={site.canary}").status_code == 403


def test_the_door_alone_holds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = site.door.inner.blocks
    monkeypatch.setattr(blocks, "has_launched", False)
    monkeypatch.setattr(blocks, "is_running", False)
    monkeypatch.setattr(blocks, "blocked_paths", [])
    nothing_of_a_file_in(site, asked_with_records(site, site.client))


@pytest.mark.parametrize("text", [
    '{"p\\u0061th": "/etc/hostname", "m\\u0065ta": {"_typ\\u0065": "gradio.F\\u0069leData"}}',
    '{"path": "https://files.example.org/x.png", "meta": {"_type": "gradio.FileData"}}',
    '{"url": "https://files.example.org/x.png", "meta": {"_type": "gradio.FileData"}}',
    '{"path": "/etc/hostname"}', '{"meta": {"_type": "gradio.FileData"}, "path": "x", "is_stream": true}',
    '{"_type": "gradio.FileData"}', '[[[{"a": {"path": "x", "meta": {}}}]]]', '{"a": 1}', '[{"a": 1}]',
])
@pytest.mark.parametrize("field", ["data", "event_data", "trigger_id", "session_hash", "other"])
def test_a_body_that_names_a_file_is_refused_in_a_sentence(
    site: Site, monkeypatch: pytest.MonkeyPatch, text: str, field: str
) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr(processing_utils, "async_ssrf_protected_download", lambda *a, **k: fetched.append(a))
    monkeypatch.setattr(processing_utils, "ssrf_protected_download", lambda *a, **k: fetched.append(a))
    number = next(n for n, f in site.functions.items() if len(f.inputs) == 1)
    body = {"data": ["demo"], "event_data": None, "trigger_id": None, "session_hash": "a1", "fn_index": number, "other": 1}
    raw = ", ".join(f'"{k}": {(f"[{text}]" if k == "data" else text) if k == field else json.dumps(v)}' for k, v in body.items())
    named = "path" in text or "p\\u0061th" in text or "_type" in text
    for path in (CALL, JOIN):
        answer = site.client.post(path, content="{" + raw + "}", headers={"content-type": "application/json"})
        if named or field in ("data", "trigger_id", "session_hash"):
            assert answer.status_code == 400 and answer.json()["error"].endswith("."), answer.text
    assert not fetched


@pytest.mark.parametrize("path", [
    "/gradio_api/file=", "/file=", "/gradio_api/file/", "/file/", "//gradio_api/file=", "/gradio_api//file=", "/GRADIO_API/FILE=",
    "/gradio_api/%66ile=", "/gradio_api/file%3D", "/gradio_api/./file=", "/gradio_api/x/../file=", "/gradio_api/file=/",
    "/gradio_api%2Ffile=", "/gradio_api/file=%2F..", "/gradio_api/file=file://", "/gradio_api/file=https://files.example.org/",
    "/gradio_api/proxy=https://x.hf.space/", "/static/..", "/static/js/../..", "/assets/..", "/assets/%2e%2e/%2e%2e", "/svelte/..",
])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_no_spelling_of_an_address_serves_a_file(site: Site, path: str, method: str) -> None:
    for end in (str(site.canary), f"{site.canary}?x=1", f"{site.canary}/"):
        raw = httpx.URL(site.url).copy_with(raw_path=(path + end).encode())
        answer = site.client.request(method, raw)
        assert answer.status_code in (404, 405) and CANARY not in answer.text


def every_route(routes: Any, prefix: str = "") -> Iterator[tuple[str, frozenset[str]]]:
    """Each address that the mounted Gradio answers, with made values for its parts."""
    for route in routes:
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        path = prefix + (getattr(route, "path", "") or "")
        if inner:
            yield from every_route(inner, prefix)
        elif path:
            yield re.sub(r"{[^}]*}", "1", path), frozenset(getattr(route, "methods", None) or {"GET"})


def test_every_route_of_gradio_is_needed_or_closed(site: Site) -> None:
    # https://github.com/gradio-app/gradio/issues/13051: a list of what is closed leaves open what a new version adds.
    found = set(every_route(site.door.inner.routes))
    found |= {(p, m) for r in site.door.inner.routes if (o := vars(r).get("router") or vars(r).get("original_router"))
              for p, m in every_route(o.routes)}
    assert len(found) > 50, sorted(found)
    for path, methods in found:
        for method in methods:
            answer = site.client.request(method, path)
            if method in METHODS.get(path, ()):
                assert answer.status_code < 500, (method, path)
            else:
                assert answer.status_code in (404, 405), (method, path)
    for path in ("/docs", "/redoc", "/gradio_api/docs", "/gradio_api/openapi.json", "/gradio_api/mcp/", "/gradio_api/queue/join/"):
        assert site.client.get(path).status_code == 404, path


def test_a_route_of_a_new_version_is_closed_until_it_is_listed(site: Site) -> None:
    site.door.inner.add_api_route("/gradio_api/new_in_7", lambda: "open", methods=["GET", "POST"])
    assert site.bare.get("/gradio_api/new_in_7").status_code == 200
    assert site.client.get("/gradio_api/new_in_7").status_code == site.client.post("/gradio_api/new_in_7").status_code == 404


def test_gradio_is_mounted_as_launch_would_start_it(site: Site) -> None:
    blocks, inner = site.door.inner.blocks, site.door.inner
    assert blocks.has_launched and blocks.is_running and inner.startup_events_triggered and not blocks.vibe_mode
    assert blocks._queue.server_app is inner and blocks.delete_cache and blocks.root_path == ""
    assert site.bare.get("/gradio_api/startup-events").json() is False
    assert site.client.get("/gradio_api/startup-events").status_code == 404


@pytest.mark.parametrize("change", [
    {"fn_index": 9999}, {"fn_index": -1}, {"fn_index": "0"}, {"fn_index": None}, {"fn_index": 0.0}, {"fn_index": True},
    {"fn_index": [0]}, {"fn_index": 8}, {"fn_index": 10**30}, {"session_hash": None}, {"session_hash": ""}, {"session_hash": 5},
    {"session_hash": "../x"}, {"session_hash": "x" * 100}, {"data": None}, {"data": "x"}, {"data": {}}, {"data": []},
    {"data": [None] * 40}, {"data": [[]] * 27}, {"data": [{}] * 27}, {"trigger_id": "x"}, {"trigger_id": -1}, {"trigger_id": 1e99},
])
def test_what_the_page_would_not_send_gets_a_plain_no(site: Site, change: dict[str, Any]) -> None:
    for path in (CALL, JOIN):
        answer = site.client.post(path, json={"data": site.values(0), "fn_index": 0, "session_hash": "a", "trigger_id": 1, **change})
        assert answer.status_code in (400, 404) and answer.json()["error"].endswith("."), (path, answer.status_code, answer.text)


@pytest.mark.parametrize("raw", [
    b"", b"x", b"[]", b"null", b'"x"', b"{", b"[" * 100_000, b'{"data":' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"data":NaN}',
    b'{"data":[1e999]}', b'{"fn_index":0,"fn_index":1}', b'{"data":["\\ud800"]}', b"\xff\xfe{\x00}\x00", b'{"a":1}' * 2,
    b'{"data":[' + b"0," * 100_000 + b"0]}",
])
def test_a_body_that_is_none_gets_a_plain_no(site: Site, raw: bytes) -> None:
    for path, kind in ((CALL, "application/json"), (JOIN, "application/json"), (CALL, "text/plain"), (JOIN, "multipart/form-data")):
        answer = site.client.post(path, content=raw, headers={"content-type": kind})
        assert answer.status_code == 400 and answer.json()["error"].endswith("."), answer.text


@pytest.mark.parametrize("odd", ["nope", 7, True, None, "x" * 2000, ["a"], -1, 1e308, 10**60, "\\u202e"])
def test_no_value_of_a_field_is_a_fault_of_the_program(site: Site, odd: Any) -> None:
    for place in range(len(site.functions[0].inputs)):
        data = site.values(0)
        data[place] = odd
        answer = call(site.client, CALL, 0, data)
        assert answer.status_code in (200, 400), (place, answer.status_code, answer.text)


def test_the_page_is_read_without_its_address(site: Site) -> None:
    for query in ("page=nope", "deep_link=abc", "deep_link=..%2f..%2fetc", "page=&page=x"):
        assert site.client.get(f"/?{query}").status_code == site.client.get(f"/config?{query}").status_code == 200


def joined(client: httpx.Client, site: Site, session: str) -> None:
    number = next(n for n, f in site.functions.items() if f.queue)
    assert call(client, JOIN, number, site.values(number), session).status_code == 200


def test_events_belong_to_who_started_them(site: Site) -> None:
    with httpx.Client(base_url=site.url, timeout=30) as mine, httpx.Client(base_url=site.url, timeout=30) as other:
        assert mine.get("/").cookies.get("l2_session") and other.get("/").cookies.get("l2_session")
        for client in (other, httpx.Client(base_url=site.url), httpx.Client(base_url=site.url, cookies={"l2_session": "A" * 40})):
            joined(mine, site, "shared")
            assert client.get(EVENTS, params={"session_hash": "shared"}).status_code == 404
            event = {"session_hash": "shared", "fn_index": 0, "event_id": "x"}
            assert client.post("/gradio_api/cancel", json=event).status_code == client.post("/gradio_api/reset", json=event).status_code == 404
            assert client.get("/gradio_api/heartbeat/shared").status_code == client.get("/gradio_api/queue/status").status_code == 404
            assert "process_completed" in told(mine, "shared")


def test_another_visitor_of_the_same_name_has_a_session_of_their_own(site: Site) -> None:
    with httpx.Client(base_url=site.url, timeout=30) as mine, httpx.Client(base_url=site.url, timeout=30) as other:
        for client in (mine, other):
            client.get("/")
            joined(client, site, "both")
        assert told(mine, "both").count("process_completed") == 1
        assert told(other, "both").count("process_completed") == 1


def test_a_visitor_without_cookies_gets_their_events(site: Site) -> None:
    with httpx.Client(base_url=site.url, timeout=30) as bare:
        joined(bare, site, "nocookie")
        assert "process_completed" in told(bare, "nocookie")


def test_without_a_cookie_an_address_tells_visitors_apart_on_a_space(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "me/space")
    with httpx.Client(base_url=site.url, timeout=30) as bare:
        number = next(n for n, f in site.functions.items() if f.queue)
        body = {"data": site.values(number), "fn_index": number, "session_hash": "roam"}
        assert bare.post(JOIN, json=body, headers={"x-forwarded-for": "192.0.2.1"}).status_code == 200
        assert bare.get(EVENTS, params={"session_hash": "roam"}, headers={"x-forwarded-for": "192.0.2.2"}).status_code == 404
        answer = bare.get(EVENTS, params={"session_hash": "roam"}, headers={"x-forwarded-for": "192.0.2.1"})
        assert "process_completed" in answer.text


@pytest.mark.parametrize("query", ["", "session_hash=", "session_hash=unknown", "session_hash=a&session_hash=b", "session_hash=../x", "x=1"])
def test_a_stream_of_no_session_is_a_plain_no(site: Site, query: str) -> None:
    assert site.client.get(f"{EVENTS}?{query}").status_code in (400, 404)


def test_the_served_pages_load_nothing_from_another_host(site: Site) -> None:
    loads = re.compile(r"<(?:script|link|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|href|srcset|data)=[\"']?([^\"'\s>]+)", re.I)
    for path in ("/", "/privacy", "/gallery", "/compare", "/explore", "/nothing-here"):
        text = site.client.get(path, headers={"accept": "text/html"}).text
        found = loads.findall(text)
        assert found and not [address for address in found if re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", address, re.I)], path
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), path
    assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", site.client.get("/theme.css").text)
