"""What the Hub answers is read by our reader before its client parses it: a sentence, whatever it is."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.data.hub import fetch, may_read
from pipeline.errors import UserError
from pipeline.judging.prompts import load_prompt

ANSWERS = [b"[" * 100_000, b'{"sha": "a", "sha": "b"}', b'{"sha": NaN}', b'{"sha": 1e999}', b"[]", b"null", b'"x"', b"", b"{", b"\xff\xfe{\x00}\x00",
           b'{"sha": "\\ud83d\\u0000../..", "id": "x", "siblings": [{"rfilename": "\\ud83d"}]}', b'{"sha": {"a": 1}}', b'{"siblings": 5}']


class _Hub(BaseHTTPRequestHandler):
    body, status = b"", 200

    def do_GET(self) -> None:  # noqa: N802
        raw = b"{}" if self.path.endswith("/auth-check") and self.status == 200 else self.body
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Hub]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield _Hub
    _Hub.status = 200
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_an_answer_of_the_hub_of_any_kind_ends_in_a_sentence(hub: type[_Hub], body: bytes, tmp_path: Path) -> None:
    for status in (200, 403):
        hub.body, hub.status = body, status
        with pytest.raises(UserError) as said:
            fetch("org/tasks", "", tmp_path, "hf_token_for_tests")
        str(said.value).encode()
        assert "RecursionError" not in str(said.value) and "\x00" not in str(said.value)
        prompt = load_prompt("v1", "auto", "main", tmp_path)
        assert prompt.source == "own" and prompt.notice and "RecursionError" not in prompt.notice and prompt.notice.encode()
    hub.status = 403
    assert may_read("org/tasks", "hf_token_for_tests") in (True, False) if body == b"never" else True
