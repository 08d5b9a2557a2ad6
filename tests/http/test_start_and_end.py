"""`python app.py` as a process: what it and its children were started with, and how it ends with streams open and a run going on."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipeline.core.passwords import carries_password
from ui.clean_start import HANDED, KEPT, Settings, cleaned
from ui.signin import NEEDED, OWNERS

ROOT = Path(__file__).resolve().parents[2]
CANARY = "canary-5d2e"
SECRETS = {name: f"{CANARY}-{i}" for i, name in enumerate((
    "OAUTH_CLIENT_SECRET", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "L2BENCH_RESULTS_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY",
    "MY_PASSWORD", "UNHEARD_OF", "L2BENCH_UNHEARD_OF", "PYTHON_UNHEARD_OF", "HF_HUB_UNHEARD_OF", "SPACE_UNHEARD_OF", "LC_UNHEARD_OF"))} | {
    "DATABASE_URL": f"postgres://me:{CANARY}@127.0.0.1/x", "HTTPS_PROXY": f"http://me:{CANARY}@127.0.0.1:9",
    "http_proxy": f"{CANARY}@127.0.0.1:9", "HF_ENDPOINT": f"http://{CANARY}@127.0.0.1:9",
    "L2BENCH_PROVIDER_HOSTS": json.dumps({"openai": f"http://127.0.0.1:9/v1?api_key={CANARY}"})}
GRADIO = {"GRADIO_ALLOWED_PATHS": "/", "GRADIO_SHARE": "True", "GRADIO_SSR_MODE": "true", "GRADIO_MCP_SERVER": "true",
          "GRADIO_SERVER_NAME": "0.0.0.0", "GRADIO_ROOT_PATH": "/x", "GRADIO_VIBE_MODE": "1", "GRADIO_TEMP_DIR": "/etc"}


class Started:
    """The running program, a client of it, and what its streams said: (seconds, line)."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process, self.client = process, httpx.Client(base_url=url, timeout=60)
        self.said: dict[str, list[str]] = {}
        self.threads: list[threading.Thread] = []
        self.client.get("/")

    def join(self, session: str) -> None:
        """Press Run."""
        config = self.client.get("/config").json()
        values = {c["id"]: c["props"].get("value") for c in config["components"]}
        press = next(d for d in config["dependencies"] if d["backend_fn"] and d["queue"])
        body = {"data": [values[i] for i in press["inputs"]], "fn_index": press["id"], "session_hash": session}
        assert self.client.post("/gradio_api/queue/join", json=body).status_code == 200

    def run(self) -> str:
        """The secret id of a run that was started now."""
        self.join("start")
        for line in self.client.get("/gradio_api/queue/data", params={"session_hash": "start"}).text.splitlines():
            if found := re.search(r'"data":\["([A-Za-z0-9_-]{20,})"', line):
                return found[1]
        raise AssertionError("no run was started")

    def follow(self, path: str, **params: str) -> list[str]:
        """Read a stream in the background; gives the list that its lines come into, once the first has come."""
        lines: list[str] = []
        came = threading.Event()

        def reading() -> None:
            client = httpx.Client(base_url=self.client.base_url, timeout=60, cookies=dict(self.client.cookies))
            with client, client.stream("GET", path, params=params) as stream:
                came.set()
                lines.extend(stream.iter_lines())

        self.threads.append(threading.Thread(target=reading, daemon=True))
        self.threads[-1].start()
        assert came.wait(30)
        return lines

    def end(self, with_signal: int) -> tuple[float, str]:
        """Seconds until the program was over, and what it wrote to the error stream."""
        begun = time.monotonic()
        self.process.send_signal(with_signal)
        self.process.wait(30)
        took = time.monotonic() - begun
        for thread in self.threads:
            thread.join(10)
        assert self.process.stderr is not None
        return took, self.process.stderr.read()


def tree(root: int) -> dict[int, str]:
    """The living processes below and including `root`, with their arguments."""
    parents, found = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return {pid: found[pid] for pid in below if pid in found}


def state(pid: int) -> str:
    """One letter, "Z" for a process that has ended and waits to be asked how; "" for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@contextmanager
def started(home: Path, **env: str) -> Iterator[Started]:
    """`python app.py` on a free port."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("L2BENCH_", "SPACE_", "HF_", "GRADIO_"))}
    settings = {"L2BENCH_HOME": str(home), "L2BENCH_PORT": "0", "HF_HUB_OFFLINE": "1", "L2BENCH_HOST": "127.0.0.1", **env}
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env={**clean, **settings}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found, line
        yield Started(process, found[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def no_longer(pids: Any) -> bool:
    """Whether the processes have gone within 10 seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if not [pid for pid in pids if state(pid) not in ("", "Z")]:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_process_was_started_with_a_secret_and_ctrl_c_ends_all_in_a_line(tmp_path: Path) -> None:
    # /proc/<pid>/environ keeps what a process was started with; taking a name out of os.environ changes nothing there.
    space = {"SPACE_ID": "me/space", "OAUTH_CLIENT_ID": "id", "OAUTH_SCOPES": "openid profile", "OPENID_PROVIDER_URL": "http://127.0.0.1:9"}
    with started(tmp_path, L2BENCH_DEMO_DELAY="0.5", **space, **SECRETS, **GRADIO) as app:
        assert app.client.get("/login/huggingface").status_code == 303, "the secret of the sign-in was handed over"
        run = app.run()
        lines = app.follow(f"/api/runs/{run}/events")
        found = tree(app.process.pid)
        assert app.process.pid in found and sum("pipeline.engine" in words for words in found.values()) >= 2, found
        for pid in found:
            for name in ("environ", "cmdline"):
                text = Path(f"/proc/{pid}/{name}").read_text()
                assert CANARY not in text and "GRADIO_" not in text, found[pid]
        took, errors = app.end(signal.SIGINT)
        assert app.process.returncode == 130 and "Traceback" not in errors and CANARY not in errors
        assert errors.strip().splitlines()[-1].startswith("Ended.") and "Ended" not in "".join(errors.strip().splitlines()[:-1])
        assert lines[-3] == "event: bye" and "restarted" in lines[-2]
        assert no_longer(found) and took < 2.5


def test_sigterm_ends_gradios_streams_with_a_last_word_whatever_still_waits(tmp_path: Path) -> None:
    slow = tmp_path / "slow-python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    silent = socket.create_server(("127.0.0.1", 0))  # a Hub that takes a connection and says nothing
    hub = {"HF_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}", "HF_TOKEN": "hf_x", "HF_HUB_OFFLINE": "0"}
    with silent, started(tmp_path / "home", L2BENCH_ENGINE_PYTHON=str(slow), **hub) as app:
        answers: list[int] = []
        source = next(d["id"] for d in app.client.get("/config").json()["dependencies"] if d["api_name"] == "source")
        body = {"data": ["hub"], "fn_index": source, "session_hash": "hub"}
        asking = threading.Thread(
            target=lambda: answers.append(app.client.post("/gradio_api/run/predict", json=body).status_code), daemon=True)
        app.join("waiting")
        lines = app.follow("/gradio_api/queue/data", session_hash="waiting", lang="es")
        found = tree(app.process.pid)
        assert any("sleep" in words for words in found.values())
        asking.start()
        held = silent.accept()
        took, errors = app.end(signal.SIGTERM)
        assert app.process.returncode == -signal.SIGTERM and not errors
        asking.join(10)
        assert answers == [503] and held
        words = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        assert [word["msg"] for word in words[-2:]] == ["unexpected_error", "close_stream"] and "reinició" in words[-2]["message"]
        assert no_longer(found) and took < 2.5


def test_ctrl_c_while_it_starts_is_a_line_too(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("L2BENCH_", "SPACE_"))}
    process = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env={**clean, "L2BENCH_HOME": str(tmp_path), "L2BENCH_PORT": "0"},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 20  # its port is open while the large modules are still loaded
    while time.monotonic() < until and "socket:" not in "".join(_open_files(process.pid)):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and errors.strip().splitlines() == ["Ended. What was running is kept and can be resumed."]


def _open_files(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            yield os.readlink(link)
        except OSError:
            continue


def test_every_setting_that_is_read_may_stay_or_is_handed_over() -> None:
    # A setting that is missing from the list would silently be ignored by `python app.py`.
    places = [ROOT / "app.py", *(p for name in ("ui", "runner", "pipeline") for p in (ROOT / name).rglob("*.py"))]
    text = "".join(path.read_text(encoding="utf-8") for path in places)
    read = set(re.findall(r"[\"'](L2BENCH_[A-Z_]+[A-Z])[\"']", text)) | {n for n in NEEDED + OWNERS}
    read |= set(re.findall(r"environ\.get\(\s*\"([A-Z_]+)\"", text))
    commands = {"DEEPSEEK_BASE_URL", "VLLM_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"}  # read by the command line alone
    assert read - KEPT - set(HANDED) <= commands, "add it to KEPT, or to HANDED if it is a secret"
    assert not [name for name in KEPT if re.search("SECRET|PASSWORD|_KEY|(?<!DISABLE_IMPLICIT_)TOKEN$", name)] and set(OWNERS) <= set(HANDED)


@pytest.mark.parametrize(("name", "value", "secret"), [
    ("HF_ENDPOINT", "http://127.0.0.1:80/x", False), ("HF_ENDPOINT", "https://me:pw@h", True), ("HF_ENDPOINT", "https://me@h/x", True),
    ("HF_ENDPOINT", "https:/me:pw@h", True), ("HF_ENDPOINT", "https:\\\\me:pw@h", True), ("HF_ENDPOINT", "https://h/x?api_key=1", True),
    ("HF_ENDPOINT", "https://h/me@x", False), ("http_proxy", "me:pw@h:1", True), ("http_proxy", "tok@h:1", True), ("HTTP_PROXY", "h:1", False),
    ("NO_PROXY", "127.0.0.1,localhost", False), ("LANG", "de_DE@euro", False), ("PATH", "/usr/bin:/me@home/bin", False), ("HOME", "/home/me@x", False),
])
def test_an_address_with_a_password_does_not_stay(name: str, value: str, secret: bool) -> None:
    assert carries_password(name, value) is secret and (name in cleaned({name: value})) is not secret


def test_a_secret_that_is_taken_is_in_no_place_any_more() -> None:
    first, second = {"HF_TOKEN": "a"}, {"HF_TOKEN": "b", "TZ": "UTC"}
    settings = Settings(first, second)
    assert settings.pop("HF_TOKEN") == "a" and not first and second == {"TZ": "UTC"} and settings.pop("HF_TOKEN", "") == ""
