"""Connecting OpenRouter against a fake of its two endpoints on a real socket."""

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.errors import UserError
from runner.openrouter_oauth import LIFETIME, OpenRouterOAuth, challenge_of
from runner.vault import Vault
from tests.http.fake_providers import FakeProvider, Say, Seen, fake_provider

KEY = "sk-or-v1-" + "0123456789abcdef" * 4
BACK = "http://127.0.0.1:7860/openrouter/back"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Router:
    """OpenRouter as its documentation describes it: a code is bound to a challenge, and good once."""

    fake: FakeProvider
    codes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fake.on("/api/v1/auth/keys", self.exchange)

    def allow(self, authorize_url: str) -> tuple[str, str]:
        """What the visitor's browser does: allow, and come back with a code; returns state and code."""
        query = parse_qs(urlsplit(authorize_url).query)
        assert query["code_challenge_method"] == ["S256"] and urlsplit(authorize_url).path == "/auth"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query["code_challenge"][0]
        back = urlsplit(query["callback_url"][0])
        return parse_qs(back.query).get("state", [back.path.rsplit("/", 1)[-1]])[0], code

    def exchange(self, seen: Seen) -> Say:
        challenge = self.codes.pop(seen.body["code"], "")
        made = base64.urlsafe_b64encode(hashlib.sha256(seen.body["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if not challenge or made != challenge or seen.body["code_challenge_method"] != "S256":
            return Say(403, {"error": {"message": "Invalid code or code_verifier"}})
        return Say(200, {"key": KEY, "user_id": "u"})


@pytest.fixture
def router() -> Iterator[Router]:
    with fake_provider() as fake:
        yield Router(fake)


def flow(router: Router, clock: Clock | None = None) -> tuple[OpenRouterOAuth, Vault]:
    vault = Vault()
    return OpenRouterOAuth(vault, f"{router.fake.url}/api/v1", clock or Clock()), vault


def refused(oauth: OpenRouterOAuth, state: str, code: str, session: str) -> str:
    with pytest.raises(UserError) as caught:
        asyncio.run(oauth.finish(state, code, session))
    return str(caught.value)


def test_the_key_lands_in_the_vault_of_the_session_that_began(router: Router) -> None:
    oauth, vault = flow(router)
    url = oauth.begin("alice", BACK)
    state, code = router.allow(url)
    handle = asyncio.run(oauth.finish(state, code, "alice"))
    held = vault.get(handle, "alice")
    assert held is not None and held.provider == "openrouter" and held.fields == {"api_key": KEY}
    assert vault.get(handle, "mallory") is None
    assert KEY not in url and KEY not in handle
    assert router.fake.seen[0].method == "POST" and "?" not in router.fake.seen[0].path


def test_the_verifier_is_not_in_the_address_and_the_challenge_is_its_hash(router: Router) -> None:
    oauth, _ = flow(router)
    url = oauth.begin("alice", BACK)
    state, code = router.allow(url)
    asyncio.run(oauth.finish(state, code, "alice"))
    verifier = router.fake.seen[0].body["code_verifier"]
    assert 43 <= len(verifier) <= 128 and verifier not in url and challenge_of(verifier) in url
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_wrong_state_asks_for_nothing(router: Router) -> None:
    oauth, vault = flow(router)
    _, code = router.allow(oauth.begin("alice", BACK))
    for state in ("guess", "", "x" * 5000):
        refused(oauth, state, code, "alice")
    assert not router.fake.seen and not len(vault)


def test_a_state_is_good_once(router: Router) -> None:
    oauth, _ = flow(router)
    state, code = router.allow(oauth.begin("alice", BACK))
    asyncio.run(oauth.finish(state, code, "alice"))
    refused(oauth, state, code, "alice")
    assert len(router.fake.seen) == 1


def test_another_session_gets_nothing_and_uses_the_state_up(router: Router) -> None:
    oauth, vault = flow(router)
    state, code = router.allow(oauth.begin("alice", BACK))
    refused(oauth, state, code, "mallory")
    refused(oauth, state, code, "")
    refused(oauth, state, code, "alice")
    assert not router.fake.seen and not len(vault)


def test_a_state_ends_after_ten_minutes(router: Router) -> None:
    clock = Clock()
    oauth, _ = flow(router, clock)
    state, code = router.allow(oauth.begin("alice", BACK))
    clock.now = LIFETIME - 1
    asyncio.run(oauth.finish(state, code, "alice"))
    state, code = router.allow(oauth.begin("alice", BACK))
    clock.now += LIFETIME
    refused(oauth, state, code, "alice")


def test_a_code_of_another_flow_is_refused_by_its_verifier(router: Router) -> None:
    oauth, vault = flow(router)
    _, stolen = router.allow(oauth.begin("mallory", BACK))
    state, _ = router.allow(oauth.begin("alice", BACK))
    assert "403" in refused(oauth, state, stolen, "alice")
    assert not len(vault)


@pytest.mark.parametrize("answer", [
    Say(500, b"x"), Say(200, {}), Say(200, {"key": ""}), Say(200, {"key": 5}), Say(200, b"<html>"), Say(200, {"key": "a b"}),
    Say(302, b"", {"Location": "http://127.0.0.1:9/"}), Say(200, [KEY])])
def test_an_odd_answer_gives_no_key_and_says_so(router: Router, answer: Say) -> None:
    oauth, vault = flow(router)
    state, code = router.allow(oauth.begin("alice", BACK))
    router.fake.on("/api/v1/auth/keys", answer)
    words = refused(oauth, state, code, "alice")
    assert "OpenRouter" in words and KEY not in words and not len(vault)


def test_when_the_endpoint_is_down_it_says_so() -> None:
    with fake_provider() as fake:
        router = Router(fake)
        oauth, _ = flow(router)
        state, code = router.allow(oauth.begin("alice", BACK))
    assert "could not be" in refused(oauth, state, code, "alice")


def test_no_code_asks_for_nothing(router: Router) -> None:
    oauth, _ = flow(router)
    for code in ("", "a\nb", "x" * 3000):
        state, _ = router.allow(oauth.begin("alice", BACK))
        refused(oauth, state, code, "alice")
    assert not router.fake.seen


def test_the_state_may_stand_in_the_path_and_the_callbacks_query_is_kept(router: Router) -> None:
    oauth, _ = flow(router)
    state, code = router.allow(oauth.begin("alice", BACK + "/{state}"))
    asyncio.run(oauth.finish(state, code, "alice"))
    query = parse_qs(urlsplit(oauth.begin("alice", BACK + "?tab=run")).query)
    assert parse_qs(urlsplit(query["callback_url"][0]).query)["tab"] == ["run"]


@pytest.mark.parametrize("back", ["", "javascript:alert(1)", "//evil.example", "/back", "http://u:p@host/", "http://h/#x"])
def test_an_address_that_is_none_is_refused(router: Router, back: str) -> None:
    oauth, _ = flow(router)
    with pytest.raises(UserError):
        oauth.begin("alice", back)


def test_without_a_session_nothing_begins(router: Router) -> None:
    oauth, _ = flow(router)
    with pytest.raises(UserError):
        oauth.begin("", BACK)


def test_the_real_addresses_are_openrouters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "me/space")
    monkeypatch.setenv("L2BENCH_PROVIDER_HOSTS", '{"openrouter": "http://127.0.0.1:1/api/v1"}')
    url = OpenRouterOAuth(Vault()).begin("alice", "https://me-space.hf.space/openrouter/back")
    assert url.startswith("https://openrouter.ai/auth?callback_url=https%3A%2F%2Fme-space.hf.space%2F")


def test_one_visitor_ends_no_connection_that_another_began(router: Router) -> None:
    # A thousand connections begun by one visitor pushed out those of all others.
    oauth, vault = flow(router)
    state, code = router.allow(oauth.begin("alice", BACK, "192.0.2.1"))
    for i in range(1200):
        oauth.begin(f"mallory{i}", BACK, "2001:db8::/64")
    assert vault.get(asyncio.run(oauth.finish(state, code, "alice", "192.0.2.1")), "alice")
