"""The gate in a real browser, with a provider of sign-ins and a Hub on real sockets: who gets the full set, who nothing of it."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from itsdangerous import TimestampSigner
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import patient
from tests.http import fake_hub, fake_openid
from tests.http.fake_hub import FakeHub
from tests.http.fake_openid import FakeOpenID
from tests.http.test_gate import CANARY, NAME, gated_repo
from tests.ui.conftest import Served, press_run, ready, serving

DOWNLOADS = ("tasks.csv", "verdicts.csv", "competency.csv", "view.json", "run.json", "manifest.json", "events.jsonl",
             "run.zip", "zip", "eee.json",
             "hf.yaml", "model-index.yaml", "competency.svg", "charts.html", "run.eval", "eval", "ledger.jsonl",
             "private/ledger.jsonl", "..%2fprivate%2fledger.jsonl")

LOOPBACK = ("http://127.0.0.1:", "data:", "blob:")


@dataclass
class World:
    """A hosted page with its Hub, its sign-in and its temporary folder."""

    app: Served
    hub: FakeHub
    openid: FakeOpenID
    temp: Path

    def cached(self) -> list[Path]:
        """Files with gated text outside the data folder."""
        return [p for p in self.temp.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


@contextmanager
def world(folder: Path, **env: str) -> Iterator[World]:
    with fake_hub.running() as hub, fake_openid.running() as openid:
        gated_repo(hub)
        temp = folder / "temp"
        temp.mkdir()
        settings = {**openid.environ(), "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1",
                    "L2BENCH_HOST": "127.0.0.1",
                    "HF_HOME": str(folder / "hf"), "TMPDIR": str(temp), "L2BENCH_DEMO_DELAY": "0.02", "HF_TOKEN": "hf_owner_token",
                    "L2BENCH_MAX_RUNS_PER_VISITOR": "0", **env}
        with serving(folder, **settings) as app:
            yield World(app, hub, openid, temp)


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("hosted")) as made:
        yield made


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """A browser of its own for each visitor; a fault in the page or the server, or a request elsewhere, fails the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def arrives() -> BrowserContext:
        context = patient(browser.new_context(viewport={"width": 1280, "height": 900}))
        context.on("page", lambda page: page.on("pageerror", lambda error: faults.append(str(error))))
        context.on("response", lambda r: faults.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        context.on("request", lambda r: None if r.url.startswith(LOOPBACK) else faults.append(f"request to {r.url}"))
        contexts.append(context)
        return context

    yield arrives
    for context in contexts:
        context.close()
    assert not faults


def opened(context: BrowserContext, at: World, path: str = "/") -> Page:
    page = context.new_page()
    page.goto(at.app.url + path)
    return page


def sign_in(page: Page, who: str) -> None:
    page.click("#sign-in")
    page.click(f"#accept-{who}")
    expect(page.locator("#signed-in")).to_contain_text(who)


def why(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("#source-why")).to_contain_text(text)


def finished(page: Page) -> None:
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")


def test_signed_out_the_form_says_demo_and_why_and_offers_the_way_in(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    page = opened(visitor(), hosted)
    why(page, "demo tasks")
    why(page, "nobody is signed in")
    ready(page)
    page.get_by_label("Full L2-Bench").check()
    why(page, "accepted its terms")
    expect(page.locator("#run-button")).to_be_disabled()


def test_declining_consent_leaves_the_visitor_signed_out_and_says_so(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    page = opened(visitor(), hosted, "/?competency=x")
    page.click("#sign-in")
    page.click("#refuse")
    expect(page.locator("#account")).to_contain_text("declined")
    assert "competency=x" in page.url and page.locator("#sign-in").count() == 1


def test_an_account_with_access_runs_the_full_set_and_its_record_names_the_commit(
        hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    page = opened(visitor(), hosted)
    sign_in(page, "granted")
    why(page, f"{NAME}, 6 tasks")
    expect(page.locator("#estimate")).to_contain_text("6 tasks")
    run = press_run(page)
    finished(page)
    view = httpx.get(f"{hosted.app.url}/api/runs/{run}").json()
    text = json.dumps(view)
    assert hosted.hub.repos["dataset", NAME].sha in text and CANARY not in text
    assert {entry["token"] for entry in hosted.hub.log if NAME in entry["path"]} <= {"hf_granted_token", "hf_plain_token"}


def test_no_access_leads_to_the_terms_and_is_checked_again_on_return(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    hosted.openid.people["later"] = "hf_later_token"
    hosted.hub.users["hf_later_token"] = "later"
    page = opened(visitor(), hosted)
    sign_in(page, "later")
    why(page, "has not accepted the terms")
    link = page.locator("#source-why a")
    assert link.get_attribute("href") == f"{hosted.hub.url}/datasets/{NAME}"
    ready(page)
    page.click("[data-recheck]")
    why(page, "has not accepted the terms")
    hosted.hub.repos["dataset", NAME].granted.add("later")
    time.sleep(0.3)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
    why(page, f"{NAME}, 6 tasks")
    expect(page.get_by_label("Full L2-Bench")).to_be_checked()


def test_sign_out_takes_the_cache_and_the_tasks_along(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    hosted.openid.people["leaver"] = "hf_leaver_token"
    hosted.hub.users["hf_leaver_token"] = "leaver"
    hosted.hub.repos["dataset", NAME].granted.add("leaver")
    before = set(hosted.cached())
    page = opened(visitor(), hosted)
    sign_in(page, "leaver")
    why(page, f"{NAME}, 6 tasks")
    own = set(hosted.cached()) - before
    assert own and not any(p.is_relative_to(hosted.app.home) for p in own)
    run = press_run(page)
    finished(page)
    page.click("#sign-out")
    expect(page.locator("#sign-in")).to_be_visible()
    assert f"run={run}" in page.url, "the way out leads back to the run that is watched"
    why(page, "nobody is signed in")
    assert not any(p.exists() for p in own)


def test_two_accounts_at_once_have_their_own(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    one, two = opened(visitor(), hosted), opened(visitor(), hosted)
    sign_in(one, "granted")
    sign_in(two, "plain")
    why(one, f"{NAME}, 6 tasks")
    why(two, "plain has not accepted the terms")
    assert press_run(one) != press_run(two)
    finished(one)
    finished(two)
    assert "OUP/l2-bench" in one.inner_text("[data-about]") and "OUP/l2-bench" not in two.inner_text("[data-about]")


def test_a_token_that_ends_in_mid_run_leaves_the_run_going_and_resume_asks_to_sign_in(
        tmp_path: Path, visitor: Callable[..., BrowserContext]) -> None:
    with world(tmp_path, L2BENCH_DEMO_DELAY="2") as at:
        page = opened(visitor(), at)
        sign_in(page, "granted")
        why(page, f"{NAME}, 6 tasks")
        stopped = press_run(page)
        assert httpx.post(f"{at.app.url}/api/runs/{stopped}/stop", json={}).status_code == 200
        page.goto(at.app.url)
        why(page, f"{NAME}, 6 tasks")
        run = press_run(page)
        end_token(page.context)
        page.reload()
        expect(page.locator("#sign-in")).to_be_visible()
        finished(page)
        assert _status(at, run) == "finished"
        answer = page.request.post(f"{at.app.url}/live/{stopped}/resume", data={})
        assert answer.status == 400 and "sign in" in answer.json()["error"].lower()
        sign_in(page, "granted")
        assert page.request.post(f"{at.app.url}/live/{stopped}/resume", data={}).status == 200
        assert _status(at, stopped) in ("running", "finished")


def end_token(context: BrowserContext) -> None:
    """Let the token in this browser's cookie have ended a second ago, as time would have done."""
    (cookie,) = [c for c in context.cookies() if c["name"] == "session"]
    signer = TimestampSigner(hashlib.sha256(f"{fake_openid.SECRET}-v4".encode()).hexdigest())
    session = json.loads(base64.b64decode(signer.unsign(cookie["value"])))
    assert session["oauth_info"]["expires_at"] > time.time()
    session["oauth_info"]["expires_at"] = int(time.time()) - 1
    cookie["value"] = signer.sign(base64.b64encode(json.dumps(session).encode())).decode()
    context.add_cookies([cookie])  # type: ignore[list-item]


def _status(at: World, run: str) -> str:
    return httpx.get(f"{at.app.url}/api/runs/{run}").json()["status"]


def test_a_visitor_without_access_sees_no_gated_text_anywhere(hosted: World, visitor: Callable[..., BrowserContext]) -> None:
    owner = opened(visitor(), hosted)
    sign_in(owner, "granted")
    why(owner, f"{NAME}, 6 tasks")
    run = press_run(owner)
    finished(owner)
    cookies = {c["name"]: c["value"] for c in owner.context.cookies()}
    with httpx.Client(base_url=hosted.app.url, cookies=cookies, timeout=20) as mine:
        assert CANARY in mine.get(f"/r/{run}", params={"open": "1"}).text, "the owner sees the text of their own run"
        assert mine.get(f"/r/{run}/download/run.eval").status_code == 200
        shared = mine.post(f"/api/runs/{run}/share", json={"level": "listed"}).json()["public_id"]
    other = opened(visitor(), hosted)
    sign_in(other, "plain")
    theirs = {c["name"]: c["value"] for c in other.context.cookies()}
    gated = [p for p in hosted.temp.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]
    folder = next((hosted.app.home / "runs").glob(f"*{_key(run)}*"))
    private = [p for p in folder.rglob("*") if p.is_file()]
    assert gated and any(CANARY.encode() in p.read_bytes() for p in private if p.suffix == ".jsonl" and "private" in str(p))
    for jar in ({}, theirs):
        with httpx.Client(base_url=hosted.app.url, cookies=jar, timeout=20, follow_redirects=True) as client:
            for path in _addresses(run, shared, folder.name, [*gated[:3], *private]):
                assert CANARY.encode() not in client.get(path).content, path
            assert client.get(f"/r/{run}/download/run.eval").status_code == 404
            for change in ("share", "delete"):
                assert client.post(f"/api/runs/{run}/{change}", json={"level": "private"}).status_code == 404
            assert client.post(f"/live/{run}/resume", json={}).status_code == 400
            for answer in _through_gradio(client):
                assert CANARY not in answer
    for name in ("events.jsonl", "manifest.json", "spec.json", "meta.json"):
        assert CANARY.encode() not in (folder / name).read_bytes(), name
    assert CANARY not in other.content()
    _deletion_removes_all(hosted, cookies, run, folder)


def _deletion_removes_all(at: World, cookies: dict[str, str], run: str, folder: Path) -> None:
    with httpx.Client(base_url=at.app.url, cookies=cookies) as mine:
        assert mine.post(f"/api/runs/{run}/delete", json={}).status_code == 200
        assert mine.get(f"/r/{run}").status_code == 404
    assert not folder.exists()


def _key(run: str) -> str:
    from runner.sharing import key_of

    return key_of(run)


def _addresses(run: str, shared: str, key: str, files: list[Path]) -> Iterator[str]:
    for rid in (run, shared, key):
        yield from (f"/r/{rid}", f"/r/{rid}?open=1", f"/r/{rid}?open=1&part=task", f"/r/{rid}?part=tasks",
                    f"/r/{rid}/charts.json", f"/api/runs/{rid}", f"/api/runs/{rid}/plan", f"/api/runs/{rid}/events", f"/live/{rid}/facts", f"/?run={rid}",
                    f"/compare?runs={rid}", f"/compare?a={rid}&b={rid}", f"/compare/charts.json?a={rid}&b={rid}")
        yield from (f"/r/{rid}/download/{name}" for name in DOWNLOADS)
    yield from ("/", "/config", "/gradio_api/info", "/gallery", "/explore", "/explore?source=hub", "/explore/charts.json?source=hub",
                "/explore/estimate?source=hub", "/gradio_api/startup-events", "/theme.css", "/privacy", "/gradio_api/app_id")
    for path in files:
        yield from (f"/gradio_api/file={path}", f"/file={path}", f"/static/..{path}", f"/static/js/..%2f..%2f..{path}")


def _through_gradio(client: httpx.Client) -> Iterator[str]:
    """Call every handler of the page by its number, asking for the gated source in every field that could take it."""
    config = client.get("/config").json()
    ids = {c["id"]: c for c in config["components"]}
    for number, wanted in enumerate(config["dependencies"]):
        if not wanted["backend_fn"]:
            continue
        data: list[Any] = [_value(ids[i]) for i in wanted["inputs"]]
        session = f"guess{number}"
        joined = client.post("/gradio_api/queue/join", json={"data": data, "fn_index": number, "session_hash": session})
        yield joined.text
        if joined.status_code != 200:
            continue
        with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as stream:
            for line in stream.iter_lines():
                yield line
                if "process_completed" in line or "close_stream" in line:
                    break


def _value(component: dict[str, Any]) -> Any:
    props = component["props"]
    return "hub" if props.get("elem_id") == "source" else props.get("value")


def test_without_oauth_settings_there_is_no_button_and_no_owner_token(tmp_path: Path, visitor: Callable[..., BrowserContext]) -> None:
    # https://github.com/advisories/GHSA-h3h8-3v2v-rg7m: started without them, a mocked login gave everyone the owner's token.
    with fake_hub.running() as hub:
        gated_repo(hub)
        settings = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_TOKEN": "hf_owner_token", "SPACE_ID": "me/space",
                    "SYSTEM": "spaces",
                    "L2BENCH_HOST": "127.0.0.1", "TMPDIR": str(tmp_path)}
        with serving(tmp_path, **settings) as app:
            context = visitor()
            page = context.new_page()
            page.goto(app.url)
            ready(page)
            assert page.locator("#sign-in").count() == 0
            why(page, "no sign-in")
            assert "hf_owner_token" not in page.content()
            assert httpx.get(f"{app.url}/login/huggingface").status_code == 404
            press_run(page)
            finished(page)
        assert not [e for e in hub.log if e["token"] == "hf_owner_token"]


def test_on_a_local_start_the_machines_own_token_reads_the_full_set(tmp_path: Path, visitor: Callable[..., BrowserContext]) -> None:
    with fake_hub.running() as hub:
        gated_repo(hub)
        settings = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_TOKEN": "hf_granted_token", "HF_HOME": str(tmp_path / "hf"),
                    "HF_HUB_DISABLE_XET": "1"}
        with serving(tmp_path, **settings) as app:
            page = visitor().new_page()
            page.goto(app.url)
            ready(page)
            assert page.locator("#sign-in").count() == 0
            page.get_by_label("Full L2-Bench").check()
            why(page, f"{NAME}, 6 tasks")
            press_run(page)
            finished(page)
            assert "hf_granted_token" not in page.content()
