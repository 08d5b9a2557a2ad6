"""Lists of models: live or bundled, cached without a key, searched without losing what was typed."""

import asyncio
from dataclasses import dataclass

import pytest

from runner.providers import models as module
from runner.providers.calls import Route
from runner.providers.entry import Call
from runner.providers.models import ModelInfo, ModelList, ModelLists, gone, read_list, search
from runner.providers.wire import Reply, Request, Unreachable

BODY = {"data": [{"id": "anthropic/claude-sonnet-4.6", "name": "Claude", "context_length": 1000000,
                  "pricing": {"prompt": "0.000003", "completion": "0.000015"}},
                 {"id": "vendor/m:free", "pricing": {"prompt": "0"}}]}


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Requests that would have left; each is answered with BODY."""
    sent: list[Request] = []

    async def send(request: Request) -> Reply:
        sent.append(request)
        return Reply(200, {}, BODY, b"")

    monkeypatch.delenv("L2BENCH_PROVIDER_HOSTS", raising=False)
    monkeypatch.setattr(module, "send", send)
    return sent


def get(lists: ModelLists, *args: object) -> ModelList:
    return asyncio.run(lists.get(*args))  # type: ignore[arg-type]


def test_without_a_key_the_bundled_list_and_its_date(asked: list[Request]) -> None:
    found = get(ModelLists(), "anthropic")
    assert found.source == "bundled" and found.date == "2026-11-29" and "claude-sonnet-4-6" in found.ids and not asked


def test_an_open_list_is_read_without_a_key(asked: list[Request]) -> None:
    found = get(ModelLists(today=lambda: "2030-01-02"), "openrouter")
    assert found.source == "live" and found.date == "2030-01-02" and "authorization" not in asked[0].headers
    assert found.live["anthropic/claude-sonnet-4.6"]["pricing"]["prompt"] == "0.000003"
    assert found.live["anthropic/claude-sonnet-4.6"]["context_length"] == 1000000


def test_a_list_is_kept_ten_minutes_for_the_same_key_only(asked: list[Request]) -> None:
    clock = Clock()
    lists = ModelLists(clock)
    for key in ("key-aaaaaaaa", "key-aaaaaaaa", "key-bbbbbbbb"):
        get(lists, "openai", {"api_key": key})
    assert len(asked) == 2
    clock.now = 601
    get(lists, "openai", {"api_key": "key-aaaaaaaa"})
    assert len(asked) == 3
    assert "key-aaaaaaaa" not in repr(vars(lists))


@pytest.mark.parametrize("fields", [{"api_key": "a b"}, {"api_key": ""}, {"api_key": "sk-ant-" + "x" * 30}])
def test_a_key_that_is_none_gives_the_bundled_list_and_why(asked: list[Request], fields: dict[str, str]) -> None:
    found = get(ModelLists(), "openai", fields)
    assert found.source == "bundled" and found.notice and not asked


def test_a_provider_that_is_down_gives_the_bundled_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(request: Request) -> Reply:
        raise Unreachable("It could not be reached.")

    monkeypatch.setattr(module, "send", send)
    found = get(ModelLists(), "openai", {"api_key": "key-aaaaaaaa"})
    assert found.source == "bundled" and "could not be reached" in found.notice and found.ids


def test_a_list_that_is_none_is_not_read() -> None:
    for body in ({}, [], {"data": {}}, {"data": "x"}, None, 5):
        assert not read_list(Call("models"), Reply(200, {}, body, b""))
    assert read_list(Call("models"), Reply(500, {}, BODY, b"")) is None
    odd = {"data": [{"id": 5}, "x", {"id": "a b"}, {"id": "ok"}, {"id": "ok"}, {"x": 1}]}
    assert [m.id for m in read_list(Call("models"), Reply(200, {}, odd, b"")) or []] == ["ok"]


IDS = ["anthropic/claude-sonnet-4.6", "anthropic/claude-opus-4.7", "deepseek/deepseek-v3.2", "google/gemma-4-31b-it:free",
       "openai/gpt-5.4"]


@pytest.mark.parametrize(("typed", "best"), [
    ("sonnet", "anthropic/claude-sonnet-4.6"), ("4.6 claude", "anthropic/claude-sonnet-4.6"),
    ("SONNET 4.6", "anthropic/claude-sonnet-4.6"),
    ("dpsk", "deepseek/deepseek-v3.2"), ("openai/gpt-5.5", "openai/gpt-5.4"), ("gemma:free", "google/gemma-4-31b-it:free"),
    ("anthropic/claude-sonet-4.6", "anthropic/claude-sonnet-4.6")])
def test_search_finds_words_letters_and_near_spellings(typed: str, best: str) -> None:
    found = search(IDS, typed)
    assert found[0] == typed and found[1] == best


@pytest.mark.parametrize("typed", ["my/Own-Model:free", "a/b/c:d@e", "openai/gpt-5.4"])
def test_what_was_typed_is_always_offered_as_typed(typed: str) -> None:
    found = search(IDS, f"  {typed} ")
    assert found[0] == typed and found.count(typed) == 1


def test_an_empty_search_gives_the_list() -> None:
    assert search(IDS, " ") == IDS and search(IDS, "", 2) == IDS[:2]


def listed(provider: str, *ids: str, source: str = "live") -> ModelList:
    return ModelList(provider, tuple(ModelInfo(i) for i in ids), source, "2026-11-29")


@pytest.mark.parametrize(("provider", "ids", "model"), [
    ("openrouter", ["a/b"], "a/b:floor"), ("hf-inference-providers", ["org/m"], "org/m:groq"),
    ("bedrock", ["anthropic.claude-x"], "eu.anthropic.claude-x"), ("bedrock", ["x"], "arn:aws:bedrock:x"),
    ("anthropic", ["claude-haiku-4-5-20251001"], "claude-haiku-4-5"), ("google", ["gemini-x"], "models/gemini-x"),
    ("fireworks", ["accounts/fireworks/models/k"], "k"), ("custom", ["a"], "b"), ("openai", [], "x")])
def test_variants_and_aliases_are_not_called_missing(provider: str, ids: list[str], model: str) -> None:
    assert gone(listed(provider, *ids), model) == ""


def test_a_bundled_list_never_calls_a_model_missing() -> None:
    assert gone(listed("openai", "a", source="bundled"), "brand-new") == ""
    assert "brand-new" in gone(listed("openai", "a"), "brand-new")


def test_a_free_version_that_ended_names_the_paid_one() -> None:
    # https://github.com/vyancharuk/nodejs-api-boilerplate/issues/16: the run failed on an id that had gone
    words = gone(listed("openrouter", "vendor/model", "other/x:free"), "vendor/model:free")
    assert "free version has ended" in words and "paid vendor/model is still there" in words
    assert "still there" not in gone(listed("openrouter", "other/x"), "vendor/model:free")


def test_a_route_shows_nothing_of_a_key() -> None:
    from runner.providers.catalogue import provider

    where = Route(provider("openai"), {"api_key": "canary-12345678"})
    call = where.entry.listing
    assert call is not None
    assert "canary" not in repr(where) and "canary" not in repr(where.get(call))
