"""Published prompts over real sockets: a fake Hub with one Space, moved, renamed, refused, slow and gone."""

import hashlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.judging import prompts
from pipeline.judging.prompts import JudgePrompt, load_prompt
from pipeline.judging.templates import OWN_RETRY_SUFFIX, OWN_TEMPLATES

SPACE = "owner/prompt-space"
FULL = "Judge {{json}} {task_text} {reference_answer} {ai_response} {criterion_description}"
BARE = "Judge {task_text} {ai_response} {criterion_description}"
PLAIN = {
    "README.md": "x", "index.html": "x", "src/pkg/eval.py": "raise SystemExit",
    **{f"src/pkg/prompts/v{i}/judge_prompt.py": f"CRITERION_JUDGE_PROMPT = {t!r}\n"
       for i, t in enumerate([FULL + "1", FULL + "2", BARE + "3", BARE + "4"], 1)},
    "src/pkg/prompts/retry.py": "CRITERION_JUDGE_RETRY_SUFFIX = '\\n\\nOnce more.'\n",
    "src/pkg/prompts/prompt_getter.py": "import nothing_of_the_kind\n",
}


class Hub:
    """One Space with commits; the two routes the client uses."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, str]] = {}
        self.refs: dict[str, str] = {}
        self.requests: list[str] = []
        self.tokens: set[str] = set()
        self.delay, self.refuse_tokens, self.status = 0.0, False, 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def commit(self, files: dict[str, str], ref: str = "main") -> str:
        sha = hashlib.sha1(json.dumps([files, len(self.commits)]).encode()).hexdigest()
        self.commits[sha], self.refs[ref] = files, sha
        return sha

    def answer(self, h: BaseHTTPRequestHandler) -> None:
        path = unquote(h.path.split("?")[0])
        self.requests.append(path)
        time.sleep(self.delay)
        token = h.headers.get("Authorization", "").removeprefix("Bearer ")
        self.tokens |= {token} - {""}
        if self.status:
            return self.send(h, self.status, b"{}")
        if token and self.refuse_tokens:
            return self.send(h, 401, b"{}")
        api, files = f"/api/spaces/{SPACE}/revision/", f"/spaces/{SPACE}/resolve/"
        if path.startswith(api):
            sha = self.refs.get(path[len(api):], path[len(api):])
            if sha not in self.commits:
                return self.send(h, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return self.send(h, 200, json.dumps({"_id": "x", "id": SPACE, "sha": sha, "private": False, "tags": [], "likes": 0,
                                                 "siblings": [{"rfilename": f} for f in self.commits[sha]]}).encode())
        if path.startswith(files):
            sha, name = path[len(files):].split("/", 1)
            body = self.commits[sha][name].encode()
            return self.send(h, 200, body, {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": sha})
        self.send(h, 404, b"{}", {"X-Error-Code": "RepoNotFound"})

    @staticmethod
    def send(h: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        h.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            h.send_header(name, value)
        h.end_headers()
        if h.command != "HEAD":
            h.wfile.write(body)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("L2BENCH_PROMPT_SPACE", SPACE)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def load(tmp_path: Path, version: str = "v1", **more: str) -> JudgePrompt:
    return load_prompt(version, cache_dir=tmp_path / "cache", **more)


def assert_own(prompt: JudgePrompt, version: str, *words: str) -> None:
    assert prompt.source == "own" and prompt.template == OWN_TEMPLATES[version] and prompt.revision == ""
    assert all(word in prompt.notice for word in words), prompt.notice


@pytest.mark.parametrize("version, end", [("v1", "1"), ("v2", "2"), ("v3", "3"), ("v4", "4")])
def test_the_published_text_is_used_with_commit_and_digest(hub: Hub, tmp_path: Path, version: str, end: str) -> None:
    sha = hub.commit(PLAIN)
    p = load(tmp_path, version)
    assert p.source == "published" and p.template.endswith(end) and p.revision == sha
    assert p.retry_suffix == "\n\nOnce more."
    assert p.record().digest == hashlib.sha256(p.template.encode()).hexdigest()
    assert not any(r.endswith("eval.py") for r in hub.requests), "only files under a prompt path are fetched"
    if version == "v1":
        assert p.fill(task_text="{x}", reference_answer="R", ai_response="A", criterion_description="C") \
            == "Judge {json} {x} R A C1"


@pytest.mark.parametrize("files", [
    {"lib/prompting/templates_v1.py": f"SOMETHING = {FULL!r}"},
    {"prompts.py": f"JUDGE_V3 = {BARE!r}\nJUDGE_V1: str = ({FULL!r})"},
    {"pkg/judging.py": f"V1 = {FULL!r}"},
])
def test_renamed_files_and_constants_are_found(hub: Hub, tmp_path: Path, files: dict[str, str]) -> None:
    hub.commit(files)
    p = load(tmp_path)
    assert p.source == "published" and p.template == FULL
    assert p.retry_suffix == OWN_RETRY_SUFFIX and "retry suffix was not found" in p.notice


def test_a_moved_revision_is_followed_and_a_changed_text_is_said(hub: Hub, tmp_path: Path) -> None:
    first = hub.commit(PLAIN)
    assert load(tmp_path).revision == first
    hub.commit({**PLAIN, "README.md": "new words"})
    unchanged = load(tmp_path)
    assert unchanged.revision != first and "changed" not in unchanged.notice
    moved = hub.commit({**PLAIN, "src/pkg/prompts/v1/judge_prompt.py": f"P = {FULL + 'new'!r}"})
    p = load(tmp_path)
    assert p.revision == moved and p.template.endswith("new") and "judge prompt v1 has changed" in p.notice
    assert "changed" not in load(tmp_path).notice


def test_the_revision_is_a_setting_and_a_cached_commit_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    old = hub.commit(PLAIN)
    hub.commit({**PLAIN, "src/pkg/prompts/v1/judge_prompt.py": f"P = {FULL + 'new'!r}"})
    assert load(tmp_path, revision=old).template.endswith("1")
    before = len(hub.requests)
    assert load(tmp_path, revision=old).revision == old and len(hub.requests) == before
    assert_own(load(tmp_path, revision="no-such-branch"), "v1", "revision was not found")


def test_nothing_recognisable_means_own_text_and_says_so(hub: Hub, tmp_path: Path) -> None:
    hub.commit({"prompts/v1.py": "P = 'no placeholders'", "prompts/broken.py": "def ("})
    assert_own(load(tmp_path), "v1", SPACE, "no text was recognised")


def test_an_unreachable_host_means_own_text_at_once(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{s.getsockname()[1]}")
        begun = time.monotonic()
        assert_own(load(tmp_path, "v3"), "v3", "could not be reached")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("status", [403, 500, 503])
def test_a_hub_that_refuses_means_own_text(hub: Hub, tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "BUDGET_SECONDS", 1.0)
    hub.status = status
    assert_own(load(tmp_path), "v1", "could not be used")


def test_a_space_that_is_missing_means_own_text(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2BENCH_PROMPT_SPACE", "owner/elsewhere")
    assert_own(load(tmp_path), "v1", "owner/elsewhere", "not found")


def test_a_hub_that_hangs_costs_no_more_than_the_budget(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "BUDGET_SECONDS", 0.6)
    hub.commit(PLAIN)
    hub.delay = 3
    begun = time.monotonic()
    assert_own(load(tmp_path), "v1", "no answer in time")
    assert time.monotonic() - begun < 2.5


def test_offline_is_respected(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit(PLAIN)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert_own(load(tmp_path), "v1", "offline")
    assert hub.requests == []


def test_a_refused_token_is_left_out_and_never_said(hub: Hub, tmp_path: Path) -> None:
    hub.commit(PLAIN)
    hub.refuse_tokens = True
    p = load(tmp_path, token="hf_canary_token")
    assert hub.tokens == {"hf_canary_token"}
    assert p.source == "published" and "canary" not in p.notice


def test_another_space_is_named(hub: Hub, tmp_path: Path) -> None:
    hub.commit(PLAIN)
    assert SPACE in load(tmp_path).notice


def test_a_cache_that_cannot_be_written_is_no_fault_of_the_digest_memory(hub: Hub, tmp_path: Path) -> None:
    hub.commit(PLAIN)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "l2bench").write_text("a file where the folder should be")
    assert load(tmp_path).source == "published"
