"""The live stream and the JSON routes over a real socket: nothing lost, few bytes, and one answer for what is not there."""

import asyncio
import contextlib
import json
import time
from pathlib import Path

from starlette.applications import Starlette

from pipeline.events import read_journal
from pipeline.report.view import fold
from runner.api import routes
from runner.limits import Limits
from runner.sharing import Owner
from tests.http.runner_kit import Reader, ended, key, served, service, site, spec, until

POST = {"content-type": "application/json"}


def test_the_run_goes_on_when_its_watcher_goes_away(tmp_path: Path) -> None:
    # https://github.com/gradio-app/gradio/issues/13584: a broken stream ended the job behind it.
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=30, criteria=3, delay=0.03), key())
            reader = Reader()
            await reader.read(client, rid, drop_after=3)
            assert len(reader.finished) < 30
            await ended(s, rid)
            answer = (await client.get(f"/api/runs/{rid}")).json()
            assert (answer["status"], answer["done"]) == ("finished", 30)
            assert all(len(t["verdicts"]) == 3 for t in answer["tasks"])

    asyncio.run(go())


def test_reconnecting_loses_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=60, criteria=5, delay=0.02), key())
            reader = Reader()
            for drop in (1, 2, 1):
                await reader.read(client, rid, drop_after=drop)
            await asyncio.sleep(0.3)
            await reader.read(client, rid)
            assert sorted(reader.finished) == list(range(60)) and reader.done == {"status": "finished"}
            whole = Reader()
            await whole.read(client, rid)
            assert whole.finished == reader.finished
            indexes = [i[0] for i in reader.items if isinstance(i[0], int)]
            assert len(indexes) == 60, "a finished task came twice"

    asyncio.run(go())


def test_the_stream_says_what_the_journal_says(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=15, criteria=12), key())
            reader = Reader()
            await reader.read(client, rid)
            [path] = tmp_path.glob("runs/*/events.jsonl")
            view = fold(read_journal(path.read_bytes().splitlines()))
            plan = (await client.get(f"/api/runs/{rid}/plan")).json()
            for place, (task_key, competency, _, _, criteria) in enumerate(plan["tasks"]):
                attempt = view.attempts[task_key, 1]
                index, letters, outcome, score = reader.finished[place]
                assert plan["outcomes"][outcome] == attempt.outcome and score == round(attempt.score, 4)
                assert plan["competencies"][competency] == view.tasks[place].competency
                for letter, (criterion, layer, weight) in zip(letters, criteria, strict=True):
                    verdict = attempt.verdicts[criterion].verdict
                    assert letter == {True: "P", False: "F", None: "x"}[verdict]
                    assert plan["layers"][layer] == "task" and weight >= 1
            assert reader.states["$"][1] == round(view.cost, 6)

    asyncio.run(go())


def test_a_thousand_tasks_of_twenty_verdicts_stay_under_60_kb(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=1000, criteria=20, delay=0.002), key())
            reader = Reader()
            started = time.monotonic()
            await reader.read(client, rid)
            seconds = time.monotonic() - started
            assert len(reader.finished) == 1000 and all(len(i[1]) == 20 for i in reader.finished.values())
            brief = await client.send(client.build_request("GET", f"/api/runs/{rid}/plan?brief=1"), stream=True)
            plan = sum([len(part) async for part in brief.aiter_raw()])
            assert reader.bytes + plan <= 60_000, (reader.bytes, plan)
            assert reader.messages <= 5 * seconds + 3
            assert not {"v", "t"} & {i[0] for i in reader.items if isinstance(i[0], str)}

    asyncio.run(go())


def test_a_small_run_shows_single_verdicts_before_the_task_ends(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=2, criteria=3), key())
            reader = Reader()
            await reader.read(client, rid)
            kinds = [i[0] for i in reader.items]
            assert kinds.count("v") == 6 and kinds.count("t") == 4
            assert next(kind for kind in kinds if kind not in ("s", "$")) == "p"

    asyncio.run(go())


def test_waiting_on_the_provider_is_shown_within_three_seconds(tmp_path: Path) -> None:
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/1277: no sign that a run was waiting on retries.
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=2, wait=40), key())
            asked = time.monotonic()
            reader = Reader()
            reading = asyncio.ensure_future(reader.read(client, rid))
            await until(lambda: "w" in reader.states)
            assert time.monotonic() - asked < 3
            _, seconds, reason, role, attempt = reader.states["w"]
            assert 35 < seconds <= 40 and (reason, role, attempt) == ("rate_limit", "solver", 2)
            await until(lambda: reader.states.get("$", [0, 0, None])[2] == 0.25)
            answer = (await client.get(f"/api/runs/{rid}")).json()
            assert answer["waiting"]["text"].startswith("waiting on provider, next try in ")
            late = Reader()
            await late.read(client, rid, drop_after=1)
            assert late.states["w"][1] <= seconds
            await s.stop(rid)
            await asyncio.wait_for(reading, 20)
            assert reader.states["s"][1] == "stopped" and reader.done == {"status": "stopped"}

    asyncio.run(go())


def test_streams_end_when_the_service_closes(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=500, delay=0.05), key())
            reading = asyncio.ensure_future(Reader().read(client, rid))
            await asyncio.sleep(0.3)
            asked = time.monotonic()
            await s.close()
            await asyncio.wait_for(reading, 20)
            assert time.monotonic() - asked < 5

    asyncio.run(go())


def test_a_server_that_is_told_to_end_does_not_wait_for_its_watchers(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s:
            rid = await s.start(spec(tasks=500, delay=0.05), key())
            async with site(s) as client:
                reading = asyncio.ensure_future(Reader().read(client, rid))
                await asyncio.sleep(0.3)
                asked = time.monotonic()
                s.end_streams()
                await asyncio.wait_for(reading, 20)
            assert time.monotonic() - asked < 5 and s.running() == 1

    asyncio.run(go())


def test_the_stream_headers_keep_proxies_from_holding_it_back(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=1), key())
            async with client.stream("GET", f"/api/runs/{rid}/events?after=0") as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                assert response.headers["x-accel-buffering"] == "no" and response.headers["cache-control"] == "no-store"
                assert (await anext(response.aiter_raw())).startswith(b"retry: 2000\n\n")

    asyncio.run(go())


def test_what_is_not_available_always_looks_the_same(tmp_path: Path) -> None:
    # https://github.com/everruns/everruns/pull/2565: share links need expiry and revoke, and must not tell which it was.
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            ids = [await s.start(spec(str(i), tasks=1), key()) for i in range(3)]
            for rid in ids:
                await ended(s, rid)
            revoked, expired, deleted = [(await s.share(rid, "public", days=9)).public_id for rid in ids]
            assert (await client.get(f"/api/runs/{revoked}")).status_code == 200
            await s.share(ids[0], "private")
            meta = s.get(ids[1]).meta
            s.store.save(type(meta)(**{**meta.to_json(), "expires": time.time() - 1}))
            await s.delete(ids[2])
            never = ["p-" + "A" * 20, "A" * 26, "0" * 32, s.get(ids[1]).key, "x", "%2e%2e", "p-é", ids[2]]
            seen = set()
            for rid in [revoked, expired, deleted, *never]:
                for path in ("", "/plan", "/events"):
                    r = await client.get(f"/api/runs/{rid}{path}")
                    shape = {k: v for k, v in r.headers.items() if k not in ("date", "server")}
                    seen.add((r.status_code, r.text, json.dumps(shape, sort_keys=True)))
                for path in ("stop", "share", "delete"):
                    r = await client.post(f"/api/runs/{rid}/{path}", headers=POST, content="{}")
                    seen.add((r.status_code, r.text, json.dumps({**shape}, sort_keys=True)))
            assert len(seen) == 1 and next(iter(seen))[0] == 404

    asyncio.run(go())


def test_a_revoked_link_ends_the_stream_it_opened(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=200, delay=0.05), key())
            public = (await s.share(rid, "public")).public_id
            reading = asyncio.ensure_future(Reader().read(client, public))
            await asyncio.sleep(0.4)
            await s.share(rid, "private")
            await asyncio.wait_for(reading, 20)
            assert rid in [r.id for r in s.list_for([rid])] and s.running() == 1
            await s.delete(rid)

    asyncio.run(go())


def test_a_public_reader_sees_the_record_and_may_change_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=2), key(), owner=Owner("ada"))
            await ended(s, rid)
            r = await client.post(f"/api/runs/{rid}/share", headers=POST, json={"level": "listed", "days": 7})
            public = r.json()["public_id"]
            assert r.status_code == 200 and public.startswith("p-")
            body = await client.get(f"/api/runs/{public}")
            assert rid not in body.text and s.get(rid).key not in body.text and "ada" not in body.text
            answer = body.json()
            assert (answer["owner"], answer["sharing"], answer["text"]) == (False, None, False)
            assert body.headers["x-robots-tag"].startswith("noindex")
            for path in ("stop", "share", "delete"):
                refused = await client.post(f"/api/runs/{public}/{path}", headers=POST, json={"level": "private"})
                assert refused.status_code == 404
            [row] = s.recent()
            assert row.id == public and not row.owner and not row.resumable and rid not in repr(row)
            signed_in = {"x-test-user": "Ada", **POST}
            assert (await client.get(f"/api/runs/{public}", headers=signed_in)).json()["owner"]
            gone = await client.post(f"/api/runs/{public}/delete", headers=signed_in, content="{}")
            assert gone.status_code == 200 and s.get(rid) is None

    asyncio.run(go())


def test_changes_need_json_and_sensible_values(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=1), key())
            await ended(s, rid)
            url = f"/api/runs/{rid}/share"
            form = await client.post(url, data={"level": "public"})
            plain = await client.post(url, content='{"level":"public"}', headers={"content-type": "text/plain"})
            assert form.status_code == plain.status_code == 415
            for body in ("{", '{"level":"all"}', '{"level":"public","days":0}', '{"level":"public","days":"x"}',
                         '{"level":"public","days":true}', '{"level":"public","days":NaN}', '{"level":[]}', "[]"):
                r = await client.post(url, content=body, headers=POST)
                assert r.status_code == 400 and r.json()["error"], body
            assert s.get(rid).meta.level == "private"

    asyncio.run(go())


def test_the_plan_is_cached_by_its_digest(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path) as s, site(s) as client:
            rid = await s.start(spec(tasks=40, criteria=10, before=0.3), key())
            early = await client.get(f"/api/runs/{rid}/plan")
            assert early.json() == {"tasks": [], "ready": False} and early.headers["cache-control"] == "no-store"
            reader = Reader()
            await reader.read(client, rid)
            digest = next(i[3] for i in reader.items if i[0] == "p")
            r = await client.get(f"/api/runs/{rid}/plan", params={"v": digest})
            assert "immutable" in r.headers["cache-control"] and r.headers["content-encoding"] == "gzip"
            same = await client.get(f"/api/runs/{rid}/plan", headers={"if-none-match": r.headers["etag"]})
            assert same.status_code == 304 and not same.content
            raw = await client.get(f"/api/runs/{rid}/plan", headers={"accept-encoding": "identity"})
            assert raw.json() == r.json()

    asyncio.run(go())


def test_watchers_are_bounded(tmp_path: Path) -> None:
    async def go() -> None:
        async with service(tmp_path, Limits(free_mb=0, watchers=1)) as s, site(s) as client:
            rid = await s.start(spec(tasks=100, delay=0.05), key())
            first = asyncio.ensure_future(Reader().read(client, rid))
            await asyncio.sleep(0.3)
            assert (await client.get(f"/api/runs/{rid}/events")).status_code == 503
            await s.delete(rid)
            await asyncio.wait_for(first, 20)

    asyncio.run(go())


def test_one_visitor_does_not_take_all_watchers_and_asks_instead(tmp_path: Path) -> None:
    # One visitor's open pages counted like everyone's: the thousandth of them left no stream for anybody else.
    async def go() -> None:
        async with service(tmp_path, Limits(free_mb=0, visitor_watchers=3)) as s:
            app = Starlette(routes=routes(s, visitor=lambda request: request.headers.get("x-visitor", "")))
            async with served(app) as client:
                rid = await s.start(spec(tasks=200, delay=0.05), key())
                path, me = f"/api/runs/{rid}/events", {"x-visitor": "me"}

                async def planned() -> bool:
                    return any(item[0] == "p" for item in (await client.get(path, params={"poll": 1})).json()["items"])

                await until(planned)
                async with contextlib.AsyncExitStack() as opened:
                    for _ in range(3):
                        assert (await opened.enter_async_context(client.stream("GET", path, headers=me))).status_code == 200
                    refused = await client.get(path, headers=me)
                    assert refused.status_code == 429 and refused.headers["retry-after"] == "60" and "3 places" in refused.json()["error"]
                    await opened.enter_async_context(client.stream("GET", path, headers={"x-visitor": "you"}))
                    news = (await client.get(path, params={"poll": 1}, headers=me)).json()
                    more = (await client.get(path, params={"poll": 1, "after": news["position"]}, headers=me)).json()
                    assert news["settled"] is False and any(item[0] == "p" for item in news["items"]) and more["position"] >= news["position"]
                    assert not any(item[0] == "p" for item in more["items"])

                async def free() -> bool:
                    async with client.stream("GET", path, headers=me) as again:
                        return again.status_code == 200

                await until(free, 10)
                await s.delete(rid)

    asyncio.run(go())
