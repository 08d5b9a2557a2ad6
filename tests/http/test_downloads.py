"""Downloads over a real socket: each file to those who may have it, the log to its owner alone, one answer for the rest."""

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from pipeline.report.export.cells import safe
from pipeline.report.export.source import run_from_folder
from pipeline.report.manifest import write_manifest
from pipeline.spec import Places
from pipeline.verify import verify
from runner.gate import Texts
from runner.service import RunService
from runner.sharing import Meta, key_of, owner_digest
from tests.http.runner_kit import served, service
from tests.made_runs import Made, made_spec, write_run
from ui import downloads

SECRET = "canarysecretcanarysecret01"
PUBLIC = ["tasks.csv", "verdicts.csv", "competency.csv", "view.json", "manifest.json", "events.jsonl", "run.zip", "eee.json",
          "hf.yaml", "model-index.yaml", "competency.svg", "competency.png", "charts.html"]




def place(made: RunService, changes: dict[str, Any], source: str = "demo", owner: str = "") -> Path:
    """A finished run in the service's store, with a log that holds text."""
    digest = owner_digest(made.store.salt, owner)
    meta = Meta(key=key_of(SECRET), created=1.0, ended=2.0, source=source, owner=digest, bound=bool(digest) and source == "hub")
    folder = made.store.create(meta, made_spec(Made(**changes)), {})
    write_run(folder, answer="CANARYANSWER", **changes)
    write_manifest(run_from_folder(folder).view, Places(folder))
    (folder / "private" / "a.eval").write_bytes(b"CANARYEVAL old")
    (folder / "private" / "b.eval").write_bytes(b"CANARYEVAL new")
    return folder


class Allowed(Texts):
    """The rule with a gate that is open or shut."""

    def __init__(self, text: bool) -> None:
        self.text = text

    def allow(self, kind: Any, request: Any, found: Any) -> bool:
        return self.text and bool(found.owner and found.text)


def with_run(home: Path, use: Callable[[RunService, httpx.AsyncClient], Awaitable[None]], source: str = "demo", owner: str = "",
             text: bool = True, **changes: Any) -> None:
    """Serve the downloads of one made run and use them."""

    async def go() -> None:
        async with service(home) as made:
            place(made, {"tasks": 10, **changes}, source, owner)
            routes = downloads.routes(made, lambda r: r.headers.get("x-test-user"), Allowed(text))
            async with served(Starlette(routes=routes)) as client:
                await use(made, client)

    asyncio.run(go())


def test_every_name_is_served_to_who_holds_the_secret_and_to_the_public_link(tmp_path: Path) -> None:
    async def use(made: RunService, client: httpx.AsyncClient) -> None:
        shared = (await made.share(SECRET, "public")).public_id
        for rid in (SECRET, shared):
            for name in PUBLIC:
                answer = await client.get(f"/r/{rid}/download/{name}")
                assert answer.status_code == 200 and answer.content, name
                assert answer.headers["content-disposition"].startswith("attachment; filename=")
                assert answer.headers["x-robots-tag"].startswith("noindex") and "no-store" in answer.headers["cache-control"]
                assert answer.headers["x-content-type-options"] == "nosniff"
                for canary in (SECRET, key_of(SECRET), "CANARY", str(tmp_path)):
                    assert canary.encode() not in answer.content and canary not in str(answer.headers), name

    with_run(tmp_path, use)


def test_the_zip_from_the_page_verifies_and_is_the_same_each_time(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        first = (await client.get(f"/r/{SECRET}/download/run.zip")).content
        assert first == (await client.get(f"/r/{SECRET}/download/zip")).content
        (tmp_path / "run.zip").write_bytes(first)
        assert verify(tmp_path / "run.zip") == []
        with zipfile.ZipFile(io.BytesIO(first)) as archive:
            assert archive.read("tasks.csv") == (await client.get(f"/r/{SECRET}/download/tasks.csv")).content

    with_run(tmp_path, use)


def test_the_log_goes_to_the_owner_alone(tmp_path: Path) -> None:
    async def use(made: RunService, client: httpx.AsyncClient) -> None:
        shared = (await made.share(SECRET, "public")).public_id
        for name in ("run.eval", "eval"):
            assert (await client.get(f"/r/{SECRET}/download/{name}")).content == b"CANARYEVAL new"
            refused = await client.get(f"/r/{shared}/download/{name}")
            assert refused.status_code == 404 and b"CANARY" not in refused.content

    with_run(tmp_path, use)


def test_the_log_of_a_gated_run_needs_the_owners_account_not_only_the_link(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        path = f"/r/{SECRET}/download/run.eval"
        assert (await client.get(path)).status_code == 404
        assert (await client.get(path, headers={"x-test-user": "other"})).status_code == 404
        assert (await client.get(path, headers={"x-test-user": "ada"})).status_code == 200
        assert (await client.get(f"/r/{SECRET}/download/tasks.csv")).status_code == 200

    with_run(tmp_path, use, source="hub", owner="ada", kind="hub")


def test_the_log_stays_where_the_page_would_not_show_its_text(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        assert (await client.get(f"/r/{SECRET}/download/run.eval")).status_code == 404

    with_run(tmp_path, use, text=False)


def test_revoked_expired_deleted_and_never_existing_answer_alike(tmp_path: Path) -> None:
    # https://github.com/everruns/everruns/pull/2565: share links need expiry and revocation with one plain answer.
    async def use(made: RunService, client: httpx.AsyncClient) -> None:
        revoked = (await made.share(SECRET, "public")).public_id
        await made.share(SECRET, "private")
        expired = (await made.share(SECRET, "public", days=1e-9)).public_id
        closed = (revoked, expired, "p-" + "a" * 20, "nothing", key_of(SECRET))
        answers = [await client.get(f"/r/{rid}/download/run.zip") for rid in closed]
        answers.append(await client.get(f"/r/{SECRET}/download/nothing.zip"))
        answers.append(await client.get(f"/r/{SECRET}/download/meta.json"))
        await made.delete(SECRET)
        answers.append(await client.get(f"/r/{SECRET}/download/run.zip"))
        assert {(a.status_code, a.text) for a in answers} == {(404, "This run is not available.")}

    with_run(tmp_path, use)


@pytest.mark.parametrize("name", [
    "../spec.json", "..%2Fmeta.json", "private%2Fledger.jsonl", "%2e%2e/meta.json", "spec.json", "ledger.jsonl"])
def test_no_name_reaches_another_file(tmp_path: Path, name: str) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        answer = await client.get(f"/r/{SECRET}/download/{name}")
        assert answer.status_code == 404 and b"CANARY" not in answer.content

    with_run(tmp_path, use)


def test_a_run_without_a_score_says_so_and_still_gives_its_tables(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        refused = await client.get(f"/r/{SECRET}/download/eee.json")
        assert refused.status_code == 409 and "No task of this run has been scored" in refused.text
        table = await client.get(f"/r/{SECRET}/download/tasks.csv")
        assert len(list(csv.DictReader(io.StringIO(table.text)))) == 10

    with_run(tmp_path, use, done=0, status="running")


def test_a_journal_that_grows_gives_new_files(tmp_path: Path) -> None:
    async def use(made: RunService, client: httpx.AsyncClient) -> None:
        before = (await client.get(f"/r/{SECRET}/download/view.json")).json()
        write_run(made.store.folder(key_of(SECRET)), tasks=10, done=7, status="running", faults=0.0)
        after = (await client.get(f"/r/{SECRET}/download/view.json")).json()
        assert (before["done"], after["done"]) == (3, 7)
        assert (await client.get(f"/r/{SECRET}/download/manifest.json")).json()["status"] == "running"

    with_run(tmp_path, use, done=3, status="running", faults=0.0)


def test_only_the_public_link_is_named_as_the_source(tmp_path: Path) -> None:
    async def use(made: RunService, client: httpx.AsyncClient) -> None:
        path = f"/r/{SECRET}/download/hf.yaml"
        assert "/r/" not in (await client.get(path)).text
        shared = (await made.share(SECRET, "public")).public_id
        assert f"{str(client.base_url).rstrip('/')}/r/{shared}" in (await client.get(path)).text

    with_run(tmp_path, use)


def test_cells_of_a_served_table_start_no_formula(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        for name in ("tasks.csv", "verdicts.csv", "competency.csv"):
            for row in csv.reader(io.StringIO((await client.get(f"/r/{SECRET}/download/{name}")).text)):
                assert [c for c in row if safe(c) != c] == []
        assert "'=HYPERLINK(" in (await client.get(f"/r/{SECRET}/download/tasks.csv")).text

    with_run(tmp_path, use, differences=('=HYPERLINK("http://x")',))


def test_the_charts_file_shows_text_as_text_and_asks_no_network(tmp_path: Path) -> None:
    # https://github.com/Yamato-Security/senrigan/pull/54: text of a model ran as HTML in a report.
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        answer = await client.get(f"/r/{SECRET}/download/charts.html")
        assert "<img src=x" not in answer.text and "sandbox" in answer.headers["content-security-policy"]
        assert '<script src=' not in answer.text and "&lt;img src=x" in answer.text

    hostile = "</script><img src=x onerror=alert(1)>"
    with_run(tmp_path, use, solver=f"openrouter/{hostile}", differences=(hostile,))


def test_the_record_from_the_page_is_the_record_in_the_zip(tmp_path: Path) -> None:
    async def use(_: RunService, client: httpx.AsyncClient) -> None:
        record = (await client.get(f"/r/{SECRET}/download/eee.json")).content
        archive = zipfile.ZipFile(io.BytesIO((await client.get(f"/r/{SECRET}/download/run.zip")).content))
        assert archive.read("eee.json") == record and json.loads(record)["schema_version"] == "0.3.0"

    with_run(tmp_path, use)
