"""What the vault keeps, for whom, and for how long."""

import copy
import pickle
import threading
from dataclasses import dataclass

import pytest

from pipeline.errors import UserError
from runner.providers.catalogue import provider
from runner.vault import Vault
from ui.keys import KeyRing

KEY = "sk-or-v1-canary-0123456789"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_only_the_session_that_put_a_key_gets_it() -> None:
    vault = Vault()
    handle = vault.put("openrouter", {"api_key": KEY}, "alice")
    held = vault.get(handle, "alice")
    assert held is not None and held.fields["api_key"] == KEY and held.provider == "openrouter"
    for session in ("mallory", "", "alic"):
        assert vault.get(handle, session) is None and vault.describe(handle, session) is None
        assert not vault.forget(handle, session)
    assert vault.get("guess", "alice") is None and vault.get(None, "alice") is None  # type: ignore[arg-type]


def test_the_hour_begins_anew_with_each_use() -> None:
    clock = Clock()
    vault = Vault(ttl=3600, clock=clock)
    handle = vault.put("openai", {"api_key": KEY}, "alice")
    clock.now = 3599
    assert vault.get(handle, "alice")
    clock.now = 3599 + 3599
    assert vault.describe(handle, "alice") == {"provider": "openai", "tail": "6789", "expires_in": 1}
    clock.now = 3599 + 3600
    assert vault.get(handle, "alice") is None and len(vault) == 0


def test_forget_and_sweep() -> None:
    clock = Clock()
    vault = Vault(ttl=10, clock=clock)
    one, two = (vault.put("openai", {"api_key": KEY}, s) for s in ("alice", "bob"))
    assert vault.forget(one, "alice") and vault.get(one, "alice") is None and vault.get(two, "bob")
    vault.put("groq", {"api_key": KEY}, "bob")
    assert vault.forget_session("bob") == 2 and len(vault) == 0
    vault.put("openai", {"api_key": KEY}, "alice")
    clock.now = 10
    assert vault.sweep() == 1 and len(vault) == 0


def test_no_key_in_any_text_of_it() -> None:
    vault = Vault()
    handle = vault.put("openai", {"api_key": KEY}, "alice")
    held = vault.get(handle, "alice")
    assert held is not None
    for shown in (repr(vault), repr(held), str(held), f"{held!r}", repr([held]), str(vault.describe(handle, "alice"))):
        assert KEY not in shown and "0123456789" not in shown
    for thing in (vault, held):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.deepcopy(thing)
    assert len(handle) >= 40 and KEY not in handle


def test_a_short_secret_shows_no_tail() -> None:
    vault = Vault()
    short = vault.describe(vault.put("custom", {"api_key": "abcd"}, "a"), "a")
    assert short is not None and short["tail"] == ""
    aws = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "x" * 40, "region_name": "us-east-1"}
    described = vault.describe(vault.put("bedrock", aws, "a"), "a")
    assert described is not None and described["tail"] == "MPLE"


def test_it_never_grows_beyond_its_size() -> None:
    vault = Vault(most=20, each=3)
    own = [vault.put("openai", {"api_key": KEY}, "alice") for _ in range(5)]
    assert [vault.get(h, "alice") is not None for h in own] == [False, False, True, True, True]
    for n in range(100):
        vault.put("openai", {"api_key": KEY}, f"s{n}")
        vault.get(own[-1], "alice")
    assert len(vault) == 20 and vault.get(own[-1], "alice") is not None


def test_one_visitor_with_many_sessions_drops_no_key_of_another() -> None:
    # A cookie is made by whoever sends it: one visitor's thousand sessions pushed every other visitor's key out.
    vault = Vault(most=50, each=8, of_one=10)
    ring = KeyRing(vault, most=30)
    entry = provider("openrouter")
    ring.put("alice", "solver", entry, {"api_key": KEY}, "192.0.2.1")
    for i in range(200):
        ring.put(f"mallory{i}", "solver", entry, {"api_key": KEY}, "2001:db8::/64")
    assert len(vault) == 11 and ring.fields("alice", "solver", "openrouter") == {"api_key": KEY}
    assert ring.fields("mallory199", "solver", "openrouter") and not ring.fields("mallory0", "solver", "openrouter")


def test_without_a_session_nothing_is_kept() -> None:
    with pytest.raises(UserError):
        Vault().put("openai", {"api_key": KEY}, "")


def test_what_was_put_cannot_be_changed_from_outside() -> None:
    vault, fields = Vault(), {"api_key": KEY}
    handle = vault.put("openai", fields, "alice")
    fields["api_key"] = "other"
    held = vault.get(handle, "alice")
    assert held is not None and held.fields["api_key"] == KEY


def test_many_threads_at_once() -> None:
    vault = Vault(most=50)
    faults: list[BaseException] = []

    def work(session: str) -> None:
        try:
            for n in range(200):
                handle = vault.put("openai", {"api_key": f"{session}-{n}"}, session)
                held = vault.get(handle, session)
                assert held is None or held.fields["api_key"] == f"{session}-{n}"
                vault.forget(handle, session)
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(f"s{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(vault) <= 50
