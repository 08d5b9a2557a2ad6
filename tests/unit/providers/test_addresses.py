"""Which addresses of a visitor's own endpoint are opened, and which never."""

import socket
from typing import Any

import pytest

from pipeline.errors import UserError
from runner import addresses
from runner.addresses import check_base_url, custom_allowed, hosted, pinned_address, private_allowed, resolve


@pytest.fixture(autouse=True)
def own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    monkeypatch.delenv(addresses.CUSTOM_SETTING, raising=False)


def answer(monkeypatch: pytest.MonkeyPatch, *ips: str) -> None:
    """The resolver gives these for every name."""
    def look(host: str, port: int, **_: Any) -> list[Any]:
        if not ips:
            raise socket.gaierror
        return [(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ips]

    monkeypatch.setattr(socket, "getaddrinfo", look)


@pytest.mark.parametrize(("given", "normal"), [
    ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
    ("  http://LOCALHOST:8000//v1//  ", "http://localhost:8000/v1"),
    ("HTTP://127.0.0.1:11434", "http://127.0.0.1:11434"),
    ("http://localhost:80/", "http://localhost"),
    ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ("http://2130706433:1/v1", "http://127.0.0.1:1/v1"),
])
def test_an_address_is_normalised(given: str, normal: str) -> None:
    assert check_base_url(given, allow_private=True) == normal


@pytest.mark.parametrize("url", [
    "http://127.0.0.1:3000", "http://127.8.9.1", "http://localhost", "http://10.0.0.1", "http://172.16.5.5", "http://192.168.1.1",
    "http://100.64.0.1", "http://0.0.0.0", "http://[::1]", "http://[::]", "http://[fc00::1]", "http://[fd12::1]", "http://[fe80::1]",
    "http://[::ffff:127.0.0.1]", "http://[::ffff:10.0.0.1]", "http://[::127.0.0.1]", "http://[64:ff9b::7f00:1]",
    "http://[2002:7f00:1::]", "http://169.254.169.254/latest", "http://2130706433", "http://0x7f000001", "http://0177.0.0.1",
    "http://127.1", "http://0x7f.1", "http://127.0.0.1.", "http://①②⑦.⓪.⓪.①", "http://127。0。0。1", "http://198.18.0.1",
    "http://134744072", "http://192.0.2.1", "http://240.0.0.1", "http://224.0.0.1"])
def test_private_and_odd_addresses_are_refused(url: str) -> None:
    with pytest.raises(UserError):
        check_base_url(url, allow_private=False)


@pytest.mark.parametrize("url", [
    "http://169.254.169.254/latest/meta-data", "http://169.254.170.2", "http://[fe80::1]", "http://[fd00:ec2::254]",
    "http://100.100.100.200", "http://168.63.129.16", "http://2852039166", "http://[::ffff:169.254.169.254]", "http://0.0.0.0:8000"])
def test_machine_credentials_are_refused_even_where_private_addresses_are_allowed(url: str) -> None:
    with pytest.raises(UserError):
        check_base_url(url, allow_private=True)


@pytest.mark.parametrize("url", [
    "file:///etc/hostname", "ftp://x", "gopher://x", "javascript:alert(1)", "data:text/plain,x", "//host/v1", "host:8000/v1", "",
    "   ", "http://", "http:///v1", "http://u@host/v1", "http://u:p@host/v1", "http://host/v1?x=1", "http://host/v1?", "http://h/#f",
    "http://host\\@evil/", "http://ho st/", "http://host:99999/", "http://host:0/", "http://host:x/", "http://h/a/../b", "http://h/%2e%2e/",
    "http://ho%73t/", "http://[::1%25lo]/", "http://[zz]/", "http://999.1.1.1.1/", "http://h\n/", None])
def test_what_is_no_plain_http_address_is_refused(url: Any) -> None:
    with pytest.raises(UserError):
        check_base_url(url, allow_private=True)


def test_a_name_is_judged_by_every_address_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "93.184.216.34", "10.0.0.5")
    with pytest.raises(UserError):
        check_base_url("https://rebind.example/v1", allow_private=False)
    answer(monkeypatch, "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")
    assert check_base_url("https://public.example/v1", allow_private=False) == "https://public.example/v1"


def test_the_pinned_address_is_the_one_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "93.184.216.34")
    found = resolve("https://public.example/v1", allow_private=False)
    answer(monkeypatch, "127.0.0.1")
    assert found.pinned == "93.184.216.34" and found.port == 443
    with pytest.raises(UserError):
        pinned_address("https://public.example/v1", allow_private=False)


def test_a_name_that_is_not_found_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    with pytest.raises(UserError, match="could not be found"):
        check_base_url("https://nowhere.example/v1", allow_private=True)


@pytest.mark.parametrize(("space", "setting", "custom", "private"), [
    ("", "", True, False), ("", "1", True, True), ("", "private", True, True), ("", "0", True, False),
    ("me/space", "", False, False), ("me/space", "0", False, False), ("me/space", "1", True, False),
    ("me/space", "private", True, True)])
def test_the_setting_decides(monkeypatch: pytest.MonkeyPatch, space: str, setting: str, custom: bool, private: bool) -> None:
    monkeypatch.setenv("SPACE_ID", space)
    monkeypatch.setenv(addresses.CUSTOM_SETTING, setting)
    assert (hosted(), custom_allowed(), private_allowed()) == (bool(space), custom, private)


def test_a_hosted_page_refuses_any_address_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "93.184.216.34")
    monkeypatch.setenv("SPACE_ID", "me/space")
    for private in (True, False, None):
        with pytest.raises(UserError, match="hosted"):
            check_base_url("https://public.example/v1", private)
    monkeypatch.setenv(addresses.CUSTOM_SETTING, "1")
    assert check_base_url("https://public.example/v1")
    with pytest.raises(UserError):
        check_base_url("http://127.0.0.1:8000")


@pytest.mark.parametrize("url", ["http://[::ffff:0:127.0.0.1]/v1", "http://[64:ff9b:1::7f00:1]/v1", "http://[64:ff9b::a9fe:a9fe]/v1"])
def test_an_address_behind_a_translators_prefix_is_the_one_it_carries(url: str) -> None:
    with pytest.raises(UserError):
        resolve(url, allow_private=False)


def test_a_name_with_both_kinds_of_address_is_called_at_the_older_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` is often ::1 before 127.0.0.1, where Ollama and others do not listen."""
    answer(monkeypatch, "::1", "127.0.0.1")
    assert pinned_address("http://localhost:11434/v1", allow_private=True) == "127.0.0.1"


def test_the_worker_gets_the_one_address_that_was_checked_and_a_name_that_turned_private_is_refused(
        monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.providers.names import credentials_for

    fields = {"base_url": "https://models.example/v1", "api_key": "abcdefgh12345678"}
    answer(monkeypatch, "93.184.216.34")
    assert credentials_for("custom", fields).fields == {"api_key": "abcdefgh12345678", "pinned": "93.184.216.34"}
    answer(monkeypatch, "127.0.0.1")
    with pytest.raises(UserError):
        credentials_for("custom", fields)
    monkeypatch.setenv(addresses.CUSTOM_SETTING, "private")
    assert credentials_for("custom", fields).fields == {"api_key": "abcdefgh12345678"}
