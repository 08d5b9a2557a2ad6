"""Which addresses a visitor's own endpoint may have, and which single address is then called.

Never fetches anything: it reads the URL, asks the resolver, and refuses. Nothing of a reply is ever seen here.
"""

import ipaddress
import os
import re
import socket
from dataclasses import dataclass

from pipeline.core.address import read_address
from pipeline.errors import UserError

IP = ipaddress.IPv4Address | ipaddress.IPv6Address

CUSTOM_SETTING = "L2BENCH_ALLOW_CUSTOM_URL"
_OFF = frozenset({"", "0", "no", "off", "false", "none"})

# Link-local and the addresses where clouds answer with the machine's own credentials: no setting opens them.
_NEVER = tuple(ipaddress.ip_network(n) for n in (
    "169.254.0.0/16", "fe80::/10", "0.0.0.0/32", "::/128", "168.63.129.16/32", "100.100.100.200/32",
    "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32"))
# Translators' prefixes, with an IPv4 address in the last 32 bits; the middle one is a network's own (RFC 8215).
_TRANSLATED = tuple(ipaddress.ip_network(n) for n in ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96"))
_NUMBER = re.compile(r"(0x[0-9a-f]*|\d+)", re.I)


@dataclass(frozen=True)
class Address:
    """A checked base URL and the address its name had when it was checked.

    Attributes:
        url: normalised, without a trailing slash.
        pinned: the IP to connect to, so that a name which changes its answer afterwards changes nothing.
    """

    url: str
    host: str
    port: int
    pinned: str


def hosted() -> bool:
    """Whether the app runs as a hosted Space."""
    return bool(os.environ.get("SPACE_ID", "").strip())


def _setting() -> str:
    return os.environ.get(CUSTOM_SETTING, "").strip().lower()


def custom_allowed() -> bool:
    """Whether visitors may name an endpoint of their own: always off a hosted Space, there only by its settings."""
    return not hosted() or _setting() not in _OFF


def private_allowed() -> bool:
    """Whether that endpoint may be in a private network or on this machine.

    On a hosted Space only the value `private` allows it; elsewhere any value that is not "off".
    """
    return _setting() == "private" if hosted() else _setting() not in _OFF


def check_base_url(url: str, allow_private: bool | None = None) -> str:
    """The base URL, normalised: http or https, no trailing or double slash.

    Args:
        allow_private: whether private, loopback and shared addresses are accepted; None asks the settings.

    Raises:
        UserError: another scheme, credentials, a query or fragment, no such host, or an address that is not allowed.
    """
    return resolve(url, allow_private).url


def resolve(url: str, allow_private: bool | None = None) -> Address:
    """As `check_base_url`, with the one address to connect to. Blocks while the resolver answers."""
    if not custom_allowed():
        raise UserError("An address of your own cannot be used on this hosted page.", "",
                        f"Run the app on your own machine, or set {CUSTOM_SETTING} in the settings of your copy of it.")
    private = private_allowed() if allow_private is None else allow_private
    parts = read_address(url)
    numbers = _numeric(parts.host, private)
    found = [numbers] if numbers else _lookup(parts.host, parts.port)
    for ip in found:
        _refuse(ip, private)
    host = str(numbers) if numbers else parts.host
    return Address(parts.url(host), host, parts.port, str(found[0]))


def pinned_address(url: str, allow_private: bool | None = None) -> str:
    """The IP to connect to for this URL, checked; connect to it and not to the name."""
    return resolve(url, allow_private).pinned


def _numeric(host: str, private: bool) -> IP | None:
    """The address where the host is one in numbers, in any of the forms that the C library reads; else None."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if ":" in host:
        raise UserError("The IPv6 address cannot be read.")
    if not all(_NUMBER.fullmatch(part) for part in host.split(".")):
        return None
    try:
        ip = ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        raise UserError("The host is a number that is no address.") from None
    if not private:
        raise UserError("The address is written in decimal, octal or hexadecimal form.",
                        "Four numbers with dots, or a name.")
    return ip


def _lookup(host: str, port: int) -> list[IP]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        rows = []
    # IPv4 first: "localhost" is often ::1 too, where a local server seldom listens.
    found = list(dict.fromkeys(str(row[4][0]).split("%")[0] for row in sorted(rows, key=lambda row: row[0] != socket.AF_INET)))
    if not found:
        raise UserError(f"The host {host} could not be found.", "", "Check its name, and your network.")
    return [ipaddress.ip_address(ip) for ip in found]


def _inner(ip: IP) -> IP:
    """The IPv4 address an IPv6 one carries (mapped, compatible, 6to4, Teredo, NAT64), else the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip.ipv4_mapped or ip.sixtofour:
        return ip.ipv4_mapped or ip.sixtofour or ip
    if ip.teredo:
        return ip.teredo[1]
    if any(ip in net for net in _TRANSLATED) or (int(ip) >> 32 == 0 and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def _refuse(ip: IP, private: bool) -> None:
    inner = _inner(ip)
    if any(candidate in net for candidate in (ip, inner) for net in _NEVER if net.version == candidate.version):
        raise UserError("The address is link-local, or one where machines keep their own credentials.",
                        "It is never opened.", "Give the address of your model server.")
    if not private and not (ip.is_global and inner.is_global):
        raise UserError("The address is on this machine or in a private network.",
                        "Only public addresses are opened here.",
                        f"On your own machine, start the app with {CUSTOM_SETTING}=private.")
