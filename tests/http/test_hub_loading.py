"""The gated dataset over a real socket: who may read it, from which cache, at which commit, and what each fault says."""

import errno
import os
from pathlib import Path

import pytest

from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, Places, RunSpec
from tests import synthetic
from tests.http import fake_hub
from tests.http.fake_hub import FakeHub, Repo

REPO = "owner/bench"
CSV = "l2-bench_tasks.csv"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with a gated dataset of 12 tasks; the client's own cache and token lie in the test's folder."""
    from huggingface_hub import constants

    with fake_hub.running() as running:
        repo = running.add(Repo("dataset", REPO, gated=True, granted=("granted",)))
        repo.commit(files(tmp_path / "first", 12))
        repo.lfs.add(CSV)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "TASKS_CSV_FILE", "TASKS_RESOURCES_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("TASKS_REPO", REPO)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "shared"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        yield running


def files(folder: Path, tasks: int, resources: int = 6) -> dict[str, bytes]:
    folder.mkdir()
    csv_path, shelf = synthetic.write(folder, tasks, resources, seed=tasks)
    return {CSV: csv_path.read_bytes()} | {f"resources_for_tasks/{p.name}": p.read_bytes() for p in shelf.iterdir()}


def spec(**options) -> RunSpec:
    return RunSpec(**{"source": "hub", "solver": ModelSpec(model="demo/strong"), **options})


def load(tmp_path: Path, token: str | None = "hf_granted_token", cache: str = "granted", **options):
    """As the page does it: a token, and a cache of this visitor's own."""
    return load_tasks(spec(**options), Places(tmp_path, cache_dir=tmp_path / cache if cache else None), token)


def refused(tmp_path: Path, *arguments, **options) -> UserError:
    with pytest.raises(UserError) as caught:
        load(tmp_path, *arguments, **options)
    said = str(caught.value)
    assert not any(token in said for token in ("hf_granted_token", "hf_plain_token", "hf_wrong_token"))
    assert caught.value.do and caught.value.__cause__ is None
    return caught.value


def test_a_visitor_with_access_gets_the_tasks_and_the_commit_is_recorded(hub: FakeHub, tmp_path):
    found = load(tmp_path)
    assert len(found.tasks) == 12 and found.notices == ()
    assert any(t.resources and not t.resources[0].missing for t in found.tasks)
    source = found.source
    assert (source.kind, source.name, source.gated) == ("hub", REPO, True)
    assert source.revision == hub.repos[("dataset", REPO)].sha


def test_access_is_checked_with_the_visitors_own_token_before_anything_else(hub: FakeHub, tmp_path):
    load(tmp_path)
    assert hub.log[0]["path"] == f"/api/datasets/{REPO}/auth-check"
    assert {entry["token"] for entry in hub.log if "/agent-harnesses" not in entry["path"]} == {"hf_granted_token"}
    hub.log.clear()
    load(tmp_path)
    assert hub.log[0]["path"].endswith("/auth-check")
    assert not [path for path in hub.paths("GET") if "/resolve/" in path]


def test_a_visitors_cache_never_serves_another_visitor(hub: FakeHub, tmp_path):
    # the Hub's client answers a refused token from a cache it shares; a cache for each visitor does not
    load(tmp_path)
    load(tmp_path, "hf_granted_token", "")
    assert "not accepted the terms" in refused(tmp_path, "hf_plain_token", "plain").found
    assert "not accepted the terms" in refused(tmp_path, "hf_plain_token", "granted").found
    assert not [p for p in (tmp_path / "plain").rglob("*") if p.is_file()]


def test_without_the_check_the_shared_cache_would_leak(hub: FakeHub, tmp_path):
    """The fault this guards against is real: the client hands the file to a token that the Hub refuses."""
    from huggingface_hub import hf_hub_download

    load(tmp_path, "hf_granted_token", "")
    leaked = hf_hub_download(REPO, CSV, repo_type="dataset", token="hf_plain_token", endpoint=hub.url)
    assert synthetic.TASK_CANARY.encode() in Path(leaked).read_bytes()
    refused(tmp_path, "hf_plain_token", "")


def test_a_visitor_without_a_token_never_borrows_the_machines(hub: FakeHub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_granted_token")
    for token in (None, "", "  "):
        assert "nobody is signed in" in refused(tmp_path, token, "nobody").found
    assert hub.log == []


def test_access_that_was_taken_away_is_refused_in_spite_of_the_cache(hub: FakeHub, tmp_path):
    load(tmp_path)
    hub.repos[("dataset", REPO)].granted.discard("granted")
    assert "not accepted" in refused(tmp_path).found


def test_access_that_was_granted_on_return_works_at_once(hub: FakeHub, tmp_path):
    error = refused(tmp_path, "hf_plain_token", "plain")
    assert f"/datasets/{REPO}" in error.do
    hub.repos[("dataset", REPO)].granted.add("plain")
    assert len(load(tmp_path, "hf_plain_token", "plain").tasks) == 12


def test_the_command_line_uses_the_token_of_the_machine(hub: FakeHub, tmp_path, monkeypatch):
    assert "hf auth login" in refused(tmp_path, None, "").do
    monkeypatch.setenv("HF_TOKEN", "hf_granted_token")
    assert len(load(tmp_path, None, "").tasks) == 12


def test_a_wrong_token_is_named_as_such(hub: FakeHub, tmp_path):
    assert "refused the token" in refused(tmp_path, "hf_wrong_token").found


def test_a_token_without_the_permission_is_told_which(hub: FakeHub, tmp_path):
    hub.fail("auth-check", status=403, message="enable access to public gated repositories")
    error = refused(tmp_path)
    assert "gated repositories" in error.expected and "settings/tokens" in error.do


@pytest.mark.parametrize("repo", ["owner/other", "not a repo id", "a/b/c", "../etc"])
def test_a_wrong_repository_is_named(hub: FakeHub, tmp_path, repo):
    error = refused(tmp_path, repo=repo)
    assert repo in error.found and "TASKS_REPO" in error.do


def test_the_repository_of_the_spec_goes_before_the_environment(hub: FakeHub, tmp_path):
    other = hub.add(Repo("dataset", "owner/own", granted=("granted",)))
    other.commit(files(tmp_path / "own", 3))
    assert len(load(tmp_path, repo="owner/own").tasks) == 3


def test_a_pinned_revision_is_used_when_main_has_moved(hub: FakeHub, tmp_path):
    repo = hub.repos[("dataset", REPO)]
    first = repo.sha
    repo.refs["v1.0"] = first
    assert load(tmp_path).source.revision == first
    second = repo.commit(files(tmp_path / "second", 20), "more")
    moved = load(tmp_path)
    assert (len(moved.tasks), moved.source.revision) == (20, second)
    for pinned in (first, "v1.0"):
        found = load(tmp_path, revision=pinned)
        assert (len(found.tasks), found.source.revision) == (12, first)
    assert moved.source.digest != found.source.digest


def test_an_unknown_revision_is_named(hub: FakeHub, tmp_path):
    for revision in ("v9", "0" * 40):
        assert revision in refused(tmp_path, revision=revision).found


def test_a_missing_tasks_file_is_named(hub: FakeHub, tmp_path, monkeypatch):
    monkeypatch.setenv("TASKS_CSV_FILE", "other.csv")
    error = refused(tmp_path)
    assert "other.csv" in error.found and "TASKS_CSV_FILE" in error.do


def test_files_under_other_names_are_found_by_the_environment(hub: FakeHub, tmp_path, monkeypatch):
    renamed = {f"data/{path}": content for path, content in files(tmp_path / "renamed", 5).items()}
    hub.repos[("dataset", REPO)].commit(renamed)
    monkeypatch.setenv("TASKS_CSV_FILE", f"data/{CSV}")
    monkeypatch.setenv("TASKS_RESOURCES_DIR", "data/resources_for_tasks/")
    found = load(tmp_path)
    assert len(found.tasks) == 5 and found.source.revision == hub.repos[("dataset", REPO)].sha


@pytest.mark.parametrize("gone", ["one", "all"])
def test_a_missing_resource_is_named_and_may_be_accepted(hub: FakeHub, tmp_path, gone):
    used = next(t.resources[0].name for t in load(tmp_path).tasks if t.resources)
    repo = hub.repos[("dataset", REPO)]
    paths = [p for p in repo.trees[repo.sha] if p.startswith("resources") and (gone == "all" or p.endswith(used))]
    repo.commit(dict.fromkeys(paths))
    assert used in refused(tmp_path).found
    found = load(tmp_path, allow_missing_resources=True)
    assert any(r.missing for t in found.tasks for r in t.resources)


def test_a_visitor_is_refused_while_the_hub_cannot_be_reached(hub: FakeHub, tmp_path, monkeypatch):
    load(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "could not be reached" in refused(tmp_path).found


@pytest.mark.parametrize("fault", ["closed", "502", "offline"])
def test_the_command_line_uses_its_cached_copy_and_says_so(hub: FakeHub, tmp_path, monkeypatch, fault):
    commit = load(tmp_path, cache="").source.revision
    if fault == "closed":
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    elif fault == "502":
        hub.fail(".", status=502)
    else:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    found = load(tmp_path, cache="")
    assert len(found.tasks) == 12 and found.source.revision == commit
    assert commit in found.notices[0] and "could not be reached" in found.notices[0]
    assert load(tmp_path, cache="", revision=commit).source.revision == commit


def test_the_command_line_without_a_copy_says_what_to_do(hub: FakeHub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    error = refused(tmp_path, cache="")
    assert "no copy" in error.found and "--csv-path" in error.do
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in refused(tmp_path, cache="").found


@pytest.mark.parametrize("part", [rf"resolve/.*/{CSV}", "resolve/.*/writing_001.md"])
def test_a_download_that_is_cut_is_named_and_the_next_start_completes_it(hub: FakeHub, tmp_path, part):
    fault = hub.fail(part, cut_at=0, method="GET")
    assert "cut" in refused(tmp_path).found
    hub.faults.remove(fault)
    assert len(load(tmp_path).tasks) == 12


def test_a_download_that_is_cut_once_is_taken_up_again(hub: FakeHub, tmp_path):
    hub.fail(rf"resolve/.*/{CSV}", cut_at=500, method="GET", times=1)
    assert len(load(tmp_path).tasks) == 12
    assert len([path for path in hub.paths("GET") if path.endswith(CSV)]) == 2


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_and_the_next_start_completes_the_download(hub: FakeHub, tmp_path, monkeypatch, code):
    from huggingface_hub import file_download

    def full(*arguments, **options):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(file_download, "http_get", full)
        error = refused(tmp_path)
    assert "disk is full" in error.found and "HF_HOME" in error.do
    assert len(load(tmp_path).tasks) == 12


@pytest.mark.parametrize("path", ["auth-check", f"/api/datasets/{REPO}/revision", rf"resolve/.*/{CSV}", "resolve/.*/resources_for_tasks"])
@pytest.mark.parametrize("headers", [{}, {"ratelimit": '"api";r=0;t=42'}, {"retry-after": "42"}])
def test_a_quota_answer_is_named_with_the_wait_and_not_waited_for(hub: FakeHub, tmp_path, monkeypatch, path, headers):
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    hub.fail(path, status=429, headers=headers)
    error = refused(tmp_path)
    assert "429" in error.found and not waits, "the client would have waited five times for the reset"
    assert ("42 seconds" if headers else "minutes") in error.do


def test_a_file_of_the_hub_that_a_check_refuses_is_refused(hub: FakeHub, tmp_path):
    repo = hub.repos[("dataset", REPO)]
    broken = repo.trees[repo.sha][CSV].replace(b" ==", b" == ", 1)
    repo.commit({CSV: broken})
    error = refused(tmp_path)
    assert "task_criteria" in error.found and "--hub" in error.do


def test_resources_that_the_cache_keeps_in_its_shared_store_are_read(hub: FakeHub, tmp_path):
    # huggingface_hub 2.4 may keep a file in <cache>/blobs and link to it from the dataset's own folder
    found = load(tmp_path)
    name = next(t.resources[0].name for t in found.tasks if t.resources)
    blob = next((tmp_path / "granted").rglob(f"snapshots/*/resources_for_tasks/{name}")).resolve()
    store = tmp_path / "granted" / "blobs" / "ab"
    store.mkdir(parents=True)
    blob.rename(store / "content")
    blob.symlink_to(store / "content")
    assert load(tmp_path).source.digest == found.source.digest


def test_a_hub_that_says_nothing_is_given_up(hub: FakeHub, tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr("pipeline.data.hub.INFO_TIMEOUT", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert "could not be reached" in refused(tmp_path).found


def test_the_full_size_set_loads_first_and_again(hub: FakeHub, tmp_path):
    hub.repos[("dataset", REPO)].commit(files(tmp_path / "full", 1000, 200))
    first = load(tmp_path)
    hub.log.clear()
    second = load(tmp_path)
    assert len(first.tasks) == 1000 and first.source == second.source
    assert not [path for path in hub.paths("GET") if "/resolve/" in path]
