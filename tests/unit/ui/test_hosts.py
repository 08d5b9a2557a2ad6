"""Which Host names the app answers to, by the settings it was started with, and whose pages may write to it."""

import asyncio
from typing import Any

import pytest

from pipeline.errors import UserError
from ui import hosts
from ui.hosts import Answered, Hosts, foreign

SPACE = {"SPACE_ID": "me/l2-bench-live", "SPACE_HOST": "me-l2-bench-live.hf.space, www.example.org"}
OWN = {"L2BENCH_HOSTS": "bench.example.org, inner.example:8443"}
FOREIGN = ["evil.example", "evil.example:7860", "rebind.localhost.evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
           "10.0.0.7:7860", "192.168.1.5", "0.0.0.0:7860", "169.254.169.254", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1",
           "[::]:7860", "[::ffff:10.0.0.1]", "[fd00::1]", "EVIL.EXAMPLE", "xn--lcalhost-12a", "me-l2-bench-live.hf.space"]
BROKEN = ["", " ", "localhost.", "127.0.0.1.:7860", "localhost:", "localhost:0", "localhost:99999", "localhost:7860:1", "localhost:-1",
          "localhost:78 60", "user@localhost", "user:pw@localhost:7860", "localhost@evil.example", "localhost/", "http://localhost",
          "localhost,evil.example", "localhost evil.example", "::1", "[::1", "[::1]x", "[::1%25eth0]", "[1.2.3.4]", "local\u00a0host", "ｌocalhost",
          "localhost\x00", "local..host", "-", "?", "localhost?x", "localhost#x", "a" * 300]


def answer(settings: dict[str, str], *named: str, path: str = "/", arrived: str = "127.0.0.1", kind: str = "http") -> int:
    """The status of one request with these Host headers; 200 where it got through."""
    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        seen.append(message)

    scope = {"type": kind, "method": "GET", "path": path, "query_string": b"", "server": (arrived, 7860),
             "headers": [(b"host", name.encode("utf-8", "surrogateescape")) for name in named]}
    asyncio.run(Answered(inner, Hosts.from_env(settings))(scope, None, send))  # type: ignore[arg-type]
    return seen[0]["status"]


@pytest.mark.parametrize("named", ["localhost", "localhost:7860", "127.0.0.1:1", "127.9.8.7:65535", "[::1]", "[::1]:7860", "[0:0::1]:80",
                                   "LOCALHOST:7860"])
@pytest.mark.parametrize("settings", [{}, SPACE, OWN])
def test_local_names_are_answered_at_every_port(named: str, settings: dict[str, str]) -> None:
    assert answer(settings, named) == 200


@pytest.mark.parametrize("named", FOREIGN)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_foreign_name_is_421(named: str, kind: str) -> None:
    # DNS rebinding: a page of evil.example, pointed at 127.0.0.1, started runs on a local start and reached private addresses.
    assert answer({}, named, kind=kind) == 421


@pytest.mark.parametrize("named", BROKEN)
def test_what_is_no_host_name_is_400(named: str) -> None:
    assert answer({}, named) == 400 and answer(SPACE, named) == 400


def test_no_name_two_names_and_a_whole_address_as_path_are_400() -> None:
    assert answer({}) == 400
    assert answer({}, "localhost", "localhost") == 400 and answer({}, "localhost", "evil.example") == 400
    for path in ("http://evil.example/", "http://localhost/", "evil.example:443", "*", ""):
        assert answer({}, "localhost", path=path) == 400


@pytest.mark.parametrize(("named", "status"), [
    ("me-l2-bench-live.hf.space", 200), ("www.example.org", 200), ("WWW.example.org:443", 200), ("me-l2-bench-live.hf.space:7860", 421),
    ("other.hf.space", 421), ("huggingface.co", 421), ("me-l2-bench-live.hf.space.evil.example", 421), ("evil.example", 421),
])
def test_a_space_answers_to_its_own_names(named: str, status: int) -> None:
    assert answer(SPACE, named) == status


def test_a_space_that_is_told_no_name_has_the_one_that_follows_from_its_id() -> None:
    assert answer({"SPACE_ID": "Me/L2_Bench.live"}, "me-l2-bench-live.hf.space") == 200
    assert answer({"SPACE_ID": "Me/L2_Bench.live"}, "evil.example") == 421


def test_a_hosts_health_check_asks_by_the_address_that_it_reached() -> None:
    assert answer(SPACE, "10.0.0.7:7860", arrived="10.0.0.7") == 200
    assert answer(SPACE, "10.0.0.7:7860", arrived="::ffff:10.0.0.7") == 200
    assert answer(SPACE, "10.0.0.8:7860", arrived="10.0.0.7") == 421
    assert answer({}, "10.0.0.7.", arrived="10.0.0.7") == 400


@pytest.mark.parametrize(("named", "status"), [
    ("bench.example.org", 200), ("bench.example.org:9000", 200), ("inner.example:8443", 200), ("inner.example", 421), ("inner.example:80", 421),
    ("a.bench.example.org", 421),
])
def test_another_deployment_names_its_own(named: str, status: int) -> None:
    assert answer(OWN, named) == status


@pytest.mark.parametrize("entry", ["*", "*.example.org", "https://bench.example.org", "bench.example.org/", "a.example.", "a.example:x", "u@a.example"])
def test_a_setting_that_is_no_name_stops_the_start_with_a_sentence(entry: str) -> None:
    with pytest.raises(UserError, match="L2BENCH_HOSTS"):
        Hosts.from_env({"L2BENCH_HOSTS": f"good.example,{entry}"})


def test_a_start_that_is_open_to_the_network_is_known_by_its_address_and_the_machines_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts.socket, "gethostname", lambda: "Study.lan")
    for bound in ("0.0.0.0", "::"):
        at = {"L2BENCH_HOST": bound}
        assert answer(at, "192.168.1.5:7860", arrived="192.168.1.5") == 200
        assert answer(at, "study.lan:7860") == 200 and answer(at, "study.local:7860") == 200
        assert answer(at, "192.168.1.6", arrived="192.168.1.5") == 421 and answer(at, "evil.example") == 421
    assert answer({}, "study.lan") == 421
    assert answer({"L2BENCH_HOST": "bench.home"}, "bench.home:7860") == 200


def test_a_forwarded_name_never_helps_and_does_not_reach_gradio() -> None:
    passed: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        passed.append({k for k, _ in scope["headers"]})

    def go(settings: dict[str, str], forwarded: str) -> set[bytes]:
        headers = [(b"host", b"localhost"), (b"x-forwarded-host", forwarded.encode()), (b"x-gradio-server", b"http://evil.example")]
        scope = {"type": "http", "path": "/", "server": ("127.0.0.1", 1), "headers": headers}
        asyncio.run(Answered(inner, Hosts.from_env(settings))(scope, None, None))  # type: ignore[arg-type]
        return passed.pop()

    assert go({}, "evil.example") == {b"host"} and go(SPACE, "www.example.org, evil.example") == {b"host"}
    assert go(SPACE, "www.example.org") == {b"host", b"x-forwarded-host"}


def writes(settings: dict[str, str], host: str, **headers: str) -> bool:
    given = [(k.replace("_", "-").encode(), v.encode()) for k, v in {"host": host, **headers}.items()]
    return not foreign({"type": "http", "method": "POST", "path": "/", "headers": given}, Hosts.from_env(settings))


@pytest.mark.parametrize(("settings", "host", "origin", "allowed"), [
    ({}, "127.0.0.1:7860", "http://127.0.0.1:7860", True), ({}, "127.0.0.1:7860", "http://127.0.0.1:3000", False),
    ({}, "127.0.0.1:7860", "http://localhost:7860", False), ({}, "127.0.0.1:7860", "http://127.0.0.1:7860@evil.example", False),
    ({}, "127.0.0.1:7860", "null", False), ({}, "127.0.0.1:7860", "", False), ({}, "127.0.0.1:7860", "file://", False),
    ({}, "127.0.0.1:7860", "chrome-extension://127.0.0.1:7860", False),
    (SPACE, "10.0.0.7:7860", "https://www.example.org", True), (SPACE, "10.0.0.7:7860", "https://www.example.org:443", True),
    (SPACE, "10.0.0.7:7860", "https://www.example.org:8443", False), (SPACE, "10.0.0.7:7860", "https://other.hf.space", False),
    (SPACE, "www.example.org", "https://huggingface.co", False), (OWN, "127.0.0.1:7860", "https://bench.example.org", True),
    (OWN, "127.0.0.1:7860", "https://inner.example:8443", True), (OWN, "127.0.0.1:7860", "https://inner.example", False),
])
def test_writes_are_taken_from_the_pages_of_the_same_names(settings: dict[str, str], host: str, origin: str, allowed: bool) -> None:
    assert writes(settings, host, origin=origin) is allowed


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_calls_foreign_is_foreign_though_it_names_no_origin(site: str) -> None:
    assert not writes({}, "127.0.0.1:7860", sec_fetch_site=site)
    assert not writes({}, "localhost:7860", sec_fetch_site=site, origin="http://localhost:3000")
