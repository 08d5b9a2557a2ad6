"""The engine: runs apart from each other, keys in one place each, a stop that holds, a crash that loses nothing."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.events import to_line
from pipeline.growth import going_on
from pipeline.ledger import read_ledger
from tests.http.engine_kit import Engine, order
from tests.http.fake_llm import FakeLLM
from tests.http.test_canary import every_byte, runs_in, said

KEYS = [("canary-a-solver-9f31", "canary-a-judge-77c2"), ("canary-b-solver-5d08", "canary-b-judge-e1b4")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(tmp_path_factory.mktemp("engine")) as started:
        yield started


def in_files(folder: Path, words: list[str]) -> list[str]:
    """Which words stand in any file below, also inside the compressed members of `.eval` logs."""
    import zipfile

    from inspect_ai.log import read_eval_log

    found = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        raw = path.read_bytes()
        if path.suffix == ".eval":
            raw += read_eval_log(str(path)).model_dump_json().encode()
            raw += "".join(zipfile.ZipFile(path).namelist()).encode()
        found += [word for word in words if word.encode() in raw]
    return found


def test_two_runs_at_once_never_mix_and_each_server_sees_its_own_keys(engine, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/4411 and /pull/1323: one eval a process, keys in the environment,
    # a cached model that used an older key.  https://github.com/vllm-project/vllm/pull/52523: a key in the arguments.
    with FakeLLM() as one, FakeLLM() as other:
        for n, fake in enumerate((one, other)):
            fake.script("solver", {"delay": 0.4, "every": True})
            (tmp_path / str(n)).mkdir()
            spec, places = order(fake.url, tmp_path / str(n), 3 + n)
            engine.start(f"mix{n}", spec, places, KEYS[n])
        pids = [engine.process.pid, *(engine.pid(f"mix{n}") for n in (0, 1))]
        words = [w for pair in KEYS for w in pair]
        seen = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for pid in pids for name in ("cmdline", "environ"))
        assert not [w for w in words if w.encode() in seen]
        assert [engine.finish(f"mix{n}") for n in (0, 1)] == [0, 0]
        for n, fake in enumerate((one, other)):
            assert {r["key"] for r in fake.received("solver")} == {KEYS[n][0]} and {r["key"] for r in fake.received("judge")} == {KEYS[n][1]}
            assert engine.view(f"mix{n}").counts()["scored"] == 3 + n
    assert not in_files(tmp_path, words)


def test_a_key_that_the_provider_echoes_reaches_no_file_and_no_event(engine, tmp_path):
    # https://github.com/Unstructured-IO/unstructured-api/pull/578: the rejected key stood in reply and log
    with FakeLLM() as fake:
        fake.script("solver", {"status": 401, "error": f"Incorrect API key provided: {KEYS[0][0]}.", "every": True})
        spec, places = order(fake.url, tmp_path, 2)
        engine.start("echo", spec, places, KEYS[0])
        assert engine.finish("echo") == 1
    assert not in_files(tmp_path, [KEYS[0][0], "9f31"])
    said = str(engine.lines["echo"])
    assert KEYS[0][0] not in said and engine.view("echo").status == "failed" and "key" in engine.view("echo").reason


def test_no_part_of_a_key_reaches_a_file_a_line_or_the_engines_own_log(engine, tmp_path):
    # case R3: the last 16 characters of a key reached the journal, the page and the log
    solver, judge = "Zk7-canary_solver+9f31/aa07Q==", "pW4-canary.judge~77Qx2Lw90-e"
    with FakeLLM() as fake:
        for n, words in enumerate([w for key in (solver, judge) for w in said(key)][::2], 1):
            step = {"text": f"It is {words}"} if n % 2 else {"status": 400, "error": words}
            fake.script("solver", {**step, "match": f"lesson {n},"})
        fake.script("judge", {"text": f"{solver[-16:]}\n\ntrue"}, {"text": f"{judge[5:]}\n\ntrue"})
        spec, places = order(fake.url, tmp_path, 15, (5,), api_retries=0)
        engine.start("parts", spec, places, (solver, judge))
        assert engine.finish("parts") == 0
    assert not runs_in(every_byte(tmp_path) + str(engine.lines["parts"]), solver, judge)
    assert engine.view("parts").counts()["scored"] == 8


def test_no_request_arrives_later_than_two_seconds_after_a_stop(engine, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/issues/4859: stop left calls already queued running and billing
    with FakeLLM() as fake:
        fake.script("judge", {"delay": 0.3, "every": True})
        spec, places = order(fake.url, tmp_path, 60, max_connections=4)
        engine.start("stop", spec, places, KEYS[0])
        engine.wait("stop", lambda line: line.get("event", {}).get("kind") == "verdict")
        asked = time.time()
        engine.say("stop", "stop")
        engine.finish("stop")
        time.sleep(1)
        assert max(r["t"] for r in fake.received()) < asked + 2
        view = engine.view("stop")
        answered = [e for e in read_ledger(Path(places["run_dir"]) / "private" / "ledger.jsonl") if not e.fault]
        assert view.status == "stopped" and sum(view.counts().values()) == 60 > view.done and len(answered) == len(fake.received())


def test_twenty_crashes_lose_no_verdict_and_pay_for_nothing_twice(engine, tmp_path):
    chance, crashes, tasks, at_once = random.Random(7), 20, 60, 3
    with FakeLLM() as fake:
        for role in ("solver", "judge"):
            fake.script(role, {"delay": 0.05, "every": True})
        spec, places = order(fake.url, tmp_path, tasks, max_connections=at_once)
        planned, stretches = tasks * 4, []
        for n in range(crashes):  # each after 1 to 6 more calls, so 240 calls outlast them all on a machine of any speed
            name, before = f"crash{n}", len(fake.received())
            stretches.append(name)
            engine.start(name, spec, places, KEYS[0], resume=n > 0)
            fake.wait_for(before + chance.randint(1, 6))
            time.sleep(chance.uniform(0, 0.05))
            engine.kill(name)
        engine.start("last", spec, places, KEYS[0], resume=True)
        assert engine.finish("last") == 0
        view = engine.view(*stretches, "last")
        assert view.counts()["scored"] == tasks and view.status == "finished"
        assert planned <= len(fake.received()) <= planned + crashes * at_once
        verdicts = {(e.task, e.criterion) for e in engine.events(*stretches) if e.kind == "verdict"}
        kept = {(a.task, c) for a in view.attempts.values() for c in a.verdicts}
        assert len(verdicts) >= 3 and verdicts <= kept
        assert view.spend["solver"].calls + view.spend["judge"].calls >= planned


def test_a_key_is_asked_again_and_a_raised_cap_goes_on(engine, tmp_path):
    with FakeLLM() as fake:
        spec, places = order(fake.url, tmp_path, 6, max_calls=9, max_connections=2)
        engine.start("cap1", spec, places, KEYS[0])
        assert engine.finish("cap1") == 1 and len(fake.received()) <= 9
        first = engine.view("cap1")
        assert first.status == "capped" and first.counts()["skipped_by_cap"] == 4 and first.counts()["scored"] == 2
        engine.start("cap2", spec.model_copy(update={"max_calls": 100}), places, KEYS[1], resume=True)
        assert engine.finish("cap2") == 0 and len(fake.received()) == 24
        assert engine.view("cap1", "cap2").counts()["scored"] == 6
        assert fake.received("judge")[-1]["key"] == KEYS[1][1]


def test_spend_never_passes_a_cap_in_money(engine, tmp_path):
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/3193: the cost limit worked per sample only
    with FakeLLM() as fake:
        for role in ("solver", "judge"):
            fake.script(role, {"usage": {"in": 400, "out": 50}, "every": True})
        base, places = order(f"{fake.url}/api", tmp_path, 20, max_connections=5)
        model = {"pricing": {"prompt": "0.000001", "completion": "0.00001"}}
        live = {"fake/solver": model, "fake/judge": model}
        spec = base.model_copy(update={
            "max_cost": 0.05,
            "solver": base.solver.model_copy(update={"model": "openrouter/fake/solver", "config": {"max_tokens": 300}}),
            "judge": base.judge.model_copy(update={"model": "openrouter/fake/judge", "config": {"max_tokens": 100}}),
        })
        engine.start("money", spec, places, KEYS[0], live=live)
        engine.finish("money")
        view = engine.view("money")
        assert view.status == "capped" and view.cost is not None and 0 < view.cost <= 0.05
        assert view.counts()["skipped_by_cap"] > 0 and view.counts()["scored"] > 0
        assert sum(view.counts().values()) == 20


def test_a_worker_grows_a_run_from_the_journal_of_its_folder(engine, tmp_path):
    """R9 on the page: the order's spec names the old one, whose tasks the worker reads from the journal."""
    with FakeLLM() as fake:
        spec, places = order(fake.url, tmp_path, 12, sampling="stratified", sample_limit=5)
        engine.start("five", spec, places, KEYS[0])
        engine.finish("five")
        first = engine.view("five")
        (tmp_path / "run" / "events.jsonl").write_text("".join(to_line(e) + "\n" for e in engine.events("five")))
        more = going_on(spec, {"sample_limit": 10, "epochs": 2}, first)
        assert more.grown_from == first.spec_digest and more.data_digest == first.spec["data_digest"]
        engine.start("ten", more, places, KEYS[0], resume=True)
        engine.finish("ten")
        view = engine.view("five", "ten")
        assert view.counts()["scored"] == view.planned == 20 and len(fake.received()) == 20 * 4
        assert {t.key for t in first.tasks} < {t.key for t in view.tasks} and [s.tasks for s in view.grown] == [5]


def test_a_pilot_runs_five_tasks_and_going_on_keeps_them(engine, tmp_path):
    with FakeLLM() as fake:
        spec, places = order(fake.url, tmp_path, 12, sampling="stratified", pilot=True)
        engine.start("pilot", spec, places, KEYS[0])
        assert engine.finish("pilot") == 0
        view = engine.view("pilot")
        assert view.status == "paused" and view.counts()["scored"] == 5 and view.reestimates
        engine.start("on", spec.model_copy(update={"pilot": False}), places, KEYS[0], resume=True)
        engine.finish("on")
        assert engine.view("pilot", "on").counts()["scored"] == 12 and len(fake.received()) == 12 * 4
