"""One visitor, one name: every spelling of an address, and what stands in a header beside it."""

from ipaddress import IPv6Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from runner.shares import Shares
from runner.visitors import UNKNOWN, canonical, visitor_of
from ui import visitor


@pytest.mark.parametrize(("text", "name"), [
    ("203.0.113.7", "203.0.113.7"), (" 203.0.113.7 ", "203.0.113.7"), ("203.0.113.7:443", "203.0.113.7"),
    ("::ffff:203.0.113.7", "203.0.113.7"), ("::FFFF:cb00:7107", "203.0.113.7"), ("[::ffff:203.0.113.7]:443", "203.0.113.7"),
    ("0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"), ("2002:cb00:7107::9", "203.0.113.7"), ("64:ff9b::203.0.113.7", "203.0.113.7"),
    ("2001:db8:5:6::1", "2001:db8:5:6::/64"), ("2001:0DB8:0005:0006:ffff:1:2:3", "2001:db8:5:6::/64"),
    ("[2001:db8:5:6::1]", "2001:db8:5:6::/64"), ("[2001:db8:5:6::1]:8080", "2001:db8:5:6::/64"),
    ("2001:db8:5:6::1%eth0", "2001:db8:5:6::/64"), ('"[2001:db8:5:6::1%25eth0]:1"', "2001:db8:5:6::/64"),
    ("", ""), ("unknown", ""), ("203.0.113", ""), ("203.0.113.07", ""), ("[203.0.113.7", ""), ("1::2::3", ""), ("1" * 30_000, ""),
    ("203.0.113.7 or so", ""), ("\u0661.2.3.4", ""),
])
def test_every_spelling_of_an_address_is_one_name(text: str, name: str) -> None:
    assert canonical(text) == name


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_all_addresses_of_one_subscriber_are_one_name(first: int, second: int) -> None:
    # Limits counted each of the 2^64 addresses of one connection as a visitor of its own.
    at = 0x20010DB8_00050006 << 64
    spelled = [canonical(IPv6Address(at + first).exploded.upper()), canonical(f"[{IPv6Address(at + second)}]:443")]
    assert spelled == ["2001:db8:5:6::/64"] * 2


@pytest.mark.parametrize(("lines", "peer", "name"), [
    (["198.51.100.1, 203.0.113.7"], "10.0.0.1", "203.0.113.7"),
    (["198.51.100.1", "203.0.113.7"], "10.0.0.1", "203.0.113.7"),
    (["198.51.100.1,,x, 2001:db8::5"], "10.0.0.1", "2001:db8::/64"),
    ([], "10.0.0.1", "10.0.0.1"), ([""], "10.0.0.1", "10.0.0.1"), (["198.51.100.1, "], "10.0.0.1", "10.0.0.1"),
    (["198.51.100.1, nonsense"], "10.0.0.1", "10.0.0.1"), (["nonsense"], "", UNKNOWN), ([], "testclient", UNKNOWN),
])
def test_only_what_the_proxy_appended_names_a_visitor(lines: list[str], peer: str, name: str) -> None:
    assert visitor_of(lines, peer) == name


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=20))
def test_no_header_leaves_a_visitor_without_a_name(lines: list[str], peer: str) -> None:
    # "198.51.100.1, " had the name "", which no limit counted.
    assert visitor_of(lines, peer)


def _request(*forwarded: str) -> Request:
    return Request({"type": "http", "headers": [(b"x-forwarded-for", f.encode()) for f in forwarded], "client": ("127.0.0.1", 9)})


def test_visitors_are_told_apart_on_a_hosted_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert visitor.counted_as(_request("203.0.113.7")) == "" and visitor.owner(_request("203.0.113.7")).names == ()
    monkeypatch.setenv("SPACE_ID", "me/space")
    # A visitor's own header line stands before the proxy's; the first of the two was believed.
    assert visitor.counted_as(_request("198.51.100.1", "203.0.113.7")) == "203.0.113.7"
    assert visitor.owner(_request("2001:db8:5:6::1")).names == visitor.owner(_request("2001:db8:5:6:7::")).names


def test_shares_are_limited_for_one_and_for_all_and_forget_who_holds_none() -> None:
    shares = Shares(2, 3)
    for name in ("a", "a", "b"):
        assert shares.refusal(name) is None
        shares.take(name)
    assert shares.refusal("a") == "visitor" and shares.refusal("c") == "all" and shares.refusal("") == "all"
    shares.give_back("b")
    assert shares.refusal("b") is None and shares.refusal("b", more=2) == "visitor" and dict(shares.held) == {"a": 2}
    free: Any = Shares(0, 0)
    for _ in range(50):
        free.take("a")
    assert free.refusal("a") is None
