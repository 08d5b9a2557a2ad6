"""The gate against the fake Hub: who passes, by which token, what lies where, and that it is gone afterwards."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import UserError
from runner import gated_counts
from runner.gate import Account, Gate, GateState, may_see, task_source
from tests.http import fake_hub
from tests.http.fake_hub import FakeHub, Repo

NAME = "OUP/l2-bench"
CANARY = "zebrafinch-canary"
GRANTED = Account("id-granted", "granted", "hf_granted_token")
PLAIN = Account("id-plain", "plain", "hf_plain_token")


def tasks_csv(count: int = 6) -> bytes:
    """A tasks file of the real shape whose every text holds the canary word."""
    columns = ["task_key", "competency", "task", "task_system_prompt", "task_variables", "subcompetency_1", "task_criteria",
               "consensus_criteria", "universal_criteria", "reference_answer", "task_resource_file_link_1",
               "task_resource_file_link_2", "task_resource_file_link_3"]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns)
    writer.writeheader()
    for n in range(1, count + 1):
        writer.writerow({
            "task_key": str(n), "competency": f"0{n % 2 + 1}. Competency", "task": f"Plan {CANARY}-task lesson {n} for the class.",
            "task_system_prompt": f"You help {CANARY}-system teachers.",
            "task_variables": json.dumps({"level": "A1" if n % 2 else "B2"}),
            "subcompetency_1": "a. Part", "task_criteria": f"01. Names the {CANARY}-criterion of lesson {n} ==5 | 02. Is short ==3",
            "consensus_criteria": "01a-01. Fits the learners ==2", "universal_criteria": "01u1. Is polite ==1",
            "reference_answer": f"A {CANARY}-reference for lesson {n}.", "task_resource_file_link_1": "one.md"})
    return out.getvalue().encode("utf-8-sig")


def gated_repo(hub: FakeHub) -> Repo:
    """The gated data set of this test on the hub, open to its owner and to `granted`."""
    repo = hub.add(Repo("dataset", NAME, gated=True, granted=("granted",)))
    repo.commit({"l2-bench_tasks.csv": tasks_csv(), "resources_for_tasks/one.md": f"# {CANARY}-resource".encode()})
    return repo


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with fake_hub.running() as made:
        gated_repo(made)
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        monkeypatch.delenv("TASKS_REPO", raising=False)
        yield made


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Gate(tmp_path / "home", clock)
    made.open()
    yield made
    made.close()


def checks(hub: FakeHub) -> list[str]:
    return [entry["token"] for entry in hub.log if entry["path"].endswith("/auth-check")]


def test_access_is_asked_with_the_visitors_own_token_and_trusted_for_a_minute(hub: FakeHub, gate: Gate, clock: Clock) -> None:
    assert asyncio.run(gate.access(GRANTED)).state == "open"
    gate.check(GRANTED, fresh=True)
    assert checks(hub) == ["hf_granted_token"]
    clock.now += 61
    gate.check(GRANTED)
    assert len(checks(hub)) == 2


def test_no_access_names_the_terms_and_is_checked_again_on_return(hub: FakeHub, gate: Gate) -> None:
    state = gate.check(PLAIN)
    assert state.state == "no_access" and state.url == f"{hub.url}/datasets/{NAME}" and "accept" in state.sentence
    with pytest.raises(UserError):
        gate.task_set(PLAIN)
    hub.repos["dataset", NAME].granted.add("plain")
    assert gate.check(PLAIN, fresh=True).state == "open"
    assert len(gate.task_set(PLAIN).tasks) == 6


def test_access_that_was_taken_back_closes_the_set_and_removes_the_copy(hub: FakeHub, gate: Gate, clock: Clock) -> None:
    gate.task_set(GRANTED)
    hub.repos["dataset", NAME].granted.discard("granted")
    clock.now += 61
    with pytest.raises(UserError):
        gate.task_set(GRANTED)
    assert not files(gate.root)


@pytest.mark.parametrize("fault", [
    {"status": 500}, {"status": 429, "headers": {"retry-after": "30"}}, {"status": 401}, {"status": 403},
])
def test_a_check_that_fails_is_an_error_not_a_verdict_on_access(hub: FakeHub, gate: Gate, fault: dict[str, Any]) -> None:
    hub.fail("auth-check", **fault)
    state = gate.check(GRANTED)
    assert state.state == "error" and "hf_granted_token" not in state.sentence


def test_a_hub_that_is_away_is_an_error(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert gate.check(GRANTED).state == "error"


def test_nobody_and_an_ended_token_have_the_demo(hub: FakeHub, gate: Gate, clock: Clock) -> None:
    assert gate.check(None).state == "demo"
    assert gate.check(Account("id-granted", "granted", "hf_granted_token", clock.now - 1)).state == "demo"
    assert not checks(hub)


def test_another_users_cached_copy_opens_nothing(hub: FakeHub, gate: Gate, tmp_path: Path) -> None:
    # https://github.com/huggingface/huggingface_hub: with one shared cache a token that the Hub answers 403 gets the files.
    from huggingface_hub import hf_hub_download

    shared = tmp_path / "shared"
    for token in (GRANTED.token, PLAIN.token):
        common = {"repo_type": "dataset", "token": token, "endpoint": hub.url}
        leaked = hf_hub_download(NAME, "l2-bench_tasks.csv", cache_dir=shared, **common)
    assert CANARY in Path(leaked).read_text(encoding="utf-8"), "the client's shared cache no longer leaks: this test can go"

    assert CANARY in gate.task_set(GRANTED).tasks[0].text
    with pytest.raises(UserError):
        gate.task_set(PLAIN)
    assert gate.cache_dir(PLAIN) != gate.cache_dir(GRANTED)
    assert not any(CANARY.encode() in f.read_bytes() for f in files(gate.cache_dir(PLAIN)))


def test_a_cache_is_private_nameless_and_outside_the_data_folder(hub: FakeHub, gate: Gate, tmp_path: Path) -> None:
    folder = gate.cache_dir(GRANTED)
    for path in (gate.root, folder):
        assert path.stat().st_mode & 0o777 == 0o700
    assert "granted" not in str(folder) and (tmp_path / "home") not in folder.parents


def test_the_revision_is_the_commit_that_was_read(hub: FakeHub, gate: Gate) -> None:
    assert gate.task_set(GRANTED).source.revision == hub.repos["dataset", NAME].sha


def test_a_second_look_reads_nothing_from_the_hub(hub: FakeHub, gate: Gate) -> None:
    first = gate.task_set(GRANTED)
    before = len(hub.log)
    assert gate.task_set(GRANTED) is first and len(hub.log) == before


def test_sign_out_start_and_an_idle_hour_each_remove_the_copy(hub: FakeHub, gate: Gate, clock: Clock, tmp_path: Path) -> None:
    gate.task_set(GRANTED)
    gate.forget(GRANTED)
    assert not files(gate.root)
    gate.task_set(GRANTED)
    clock.now += 3601
    assert gate.sweep() == 1 and not files(gate.root)
    gate.task_set(GRANTED)
    assert files(gate.root)
    again = Gate(tmp_path / "home", clock)
    again.open()
    assert again.root == gate.root and not files(gate.root)


def test_a_token_that_ended_takes_its_copy_with_it(hub: FakeHub, gate: Gate, clock: Clock) -> None:
    gate.task_set(Account("id-granted", "granted", "hf_granted_token", clock.now + 10))
    clock.now += 11
    assert gate.sweep() == 1 and not files(gate.root)


def test_a_new_token_of_the_same_account_is_checked_anew(hub: FakeHub, gate: Gate) -> None:
    gate.check(GRANTED)
    hub.users["hf_newer"] = "plain"
    assert gate.check(Account("id-granted", "granted", "hf_newer")).state == "no_access"


def test_two_accounts_at_once_load_apart(hub: FakeHub, gate: Gate) -> None:
    hub.repos["dataset", NAME].granted.add("plain")
    found: dict[str, Any] = {}
    threads = [threading.Thread(target=lambda a=a: found.update({a.name: gate.task_set(a)})) for a in (GRANTED, PLAIN)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert set(found) == {"granted", "plain"} and found["granted"] is not found["plain"]


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Gate(tmp_path / "home")
    (tmp_path / "elsewhere").mkdir()
    made.root.symlink_to(tmp_path / "elsewhere")
    made.open()
    assert not made.root.is_symlink() and made.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("account", "state", "hosted", "source", "leads"), [
    (None, "demo", True, "demo", "/login/huggingface"), (GRANTED, "open", True, "hub", ""), (PLAIN, "no_access", True, "demo", "https://x"),
    (GRANTED, "error", True, "demo", "https://x"), (None, "demo", False, "demo", ""),
])
def test_the_form_starts_with_what_the_visitor_may_use(account: Any, state: Any, hosted: bool, source: str, leads: str) -> None:
    found, sentence, url = task_source(account, GateState(state, "why", "https://x"), hosted)
    assert (found, url) == (source, leads) and (sentence or not hosted)


def test_text_is_shown_to_the_account_of_the_run_alone() -> None:
    def run(source: str, text: bool, bound: bool) -> Any:
        return SimpleNamespace(demo=source == "demo", text=text, owner=True, meta=SimpleNamespace(source=source, bound=bound))

    opened, closed = GateState("open", ""), GateState("no_access", "")
    assert may_see(run("demo", False, False), None, None, True)
    assert may_see(run("hub", True, True), GRANTED, opened, True)
    assert not may_see(run("hub", True, True), GRANTED, closed, True)
    assert not may_see(run("hub", False, True), PLAIN, opened, True)
    assert not may_see(run("hub", True, False), GRANTED, opened, True), "a run that no account is bound to shows nothing"
    assert not may_see(run("hub", True, True), None, None, True)
    assert may_see(run("local", True, False), None, None, False) and not may_see(run("local", False, False), None, None, False)


def test_the_public_counts_hold_numbers_and_no_text(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "counts.json"
    monkeypatch.setenv("HF_TOKEN", "hf_granted_token")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert gated_counts.main(["counts", "--source", "hub", "--out", str(out)]) == 0
    assert CANARY not in out.read_text()
    found = gated_counts.public_counts({"L2BENCH_GATED_COUNTS": str(out)})
    groups = {"competency": {"01. Competency": 3, "02. Competency": 3}, "level": {"A1": 3, "B2": 3}}
    assert found == {"name": NAME, "total": 6, "groups": groups}


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"total": "x", "groups": {}}'])
def test_counts_that_are_missing_or_broken_are_no_counts(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "c.json"
    if text is not None:
        path.write_text(text)
    assert gated_counts.public_counts({"L2BENCH_GATED_COUNTS": str(path)}) is None


def test_the_counts_command_says_why_it_cannot(hub: FakeHub, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_plain_token")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert gated_counts.main(["counts", "--source", "hub", "--out", str(tmp_path / "x")]) == 2
    assert "terms" in capsys.readouterr().err and not (tmp_path / "x").exists()


def files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]
