"""The whole app on a real socket: what it refuses before any of its rooms, Gradio's among them, looks at a request."""

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
from ui.guard import LARGEST
from ui.site import build_app


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the app on a port of its own."""
    home: Path = tmp_path_factory.mktemp("site")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    app = build_app(home, RunService(home, ENGINE))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=20) as client:
        yield client
    server.should_exit = True
    thread.join(10)


@pytest.mark.parametrize(("method", "path", "allow"), [
    ("POST", "/api/runs/x", "GET, HEAD"), ("DELETE", "/api/runs/x/events", "GET, HEAD"), ("GET", "/api/runs/x/stop", "POST"),
    ("PUT", "/r/x", "GET, HEAD"), ("GET", "/r/x/delete", "POST"), ("PUT", "/keys/solver/openai", "DELETE, POST"),
])
def test_a_wrong_method_is_told_the_right_ones(site: httpx.Client, method: str, path: str, allow: str) -> None:
    answer = site.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


@pytest.mark.parametrize("path", ["/gradio_api/queue/join", "/gradio_api/run/predict", "/r/x/share", "/keys/solver/openai"])
def test_a_body_above_the_limit_is_refused(site: httpx.Client, path: str) -> None:
    assert site.post(path, content=b"x" * (LARGEST + 1), headers={"content-type": "application/json"}).status_code == 413

    def parts() -> Iterator[bytes]:
        for _ in range(LARGEST // 100_000 + 1):
            yield b"x" * 100_000

    assert 400 <= site.post(path, content=parts(), headers={"content-type": "application/json"}).status_code < 500


def test_the_page_and_gradios_own_files_are_served(site: httpx.Client) -> None:
    page = site.get("/")
    assert page.status_code == 200 and site.get("/config").status_code == 200 and site.get("/theme.css").status_code == 200
    assert site.head("/").status_code == 200 and site.get("/privacy").status_code == 200
