"""Which addresses a visitor's own endpoint may have, and which single address is then called.

Never fetches anything: it reads the URL, asks the resolver, and refuses. Nothing of a reply is ever seen here.
"""

import ipaddress
import os
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

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
    scheme, host, port, path = _parts(url)
    numbers = _numeric(host, private)
    found = [numbers] if numbers else _lookup(host, port)
    for ip in found:
        _refuse(ip, private)
    host = str(numbers) if numbers else host
    shown = f"[{host}]" if ":" in host else host
    default = port == {"http": 80, "https": 443}[scheme]
    return Address(f"{scheme}://{shown}{'' if default else f':{port}'}{path}", host, port, str(found[0]))


def pinned_address(url: str, allow_private: bool | None = None) -> str:
    """The IP to connect to for this URL, checked; connect to it and not to the name."""
    return resolve(url, allow_private).pinned


def _parts(url: str) -> tuple[str, str, int, str]:
    """Scheme, host (lower case, ASCII), port and normalised path."""
    text = url.strip() if isinstance(url, str) else ""
    if not text:
        raise UserError("Enter the address of the endpoint.", "For example http://localhost:8000/v1.")
    if re.search(r"[\s\\]|[\x00-\x1f\x7f]", text):
        raise UserError("The address holds a blank, a backslash or a control character.", "", "Type it again.")
    try:
        split = urlsplit(text)
        port = split.port
    except ValueError:
        raise UserError("The address cannot be read.", "For example https://host.example:8000/v1.") from None
    if split.scheme not in ("http", "https") or "://" not in text:
        raise UserError("The address must start with http:// or https://.", "Other schemes are not opened.")
    if "@" in split.netloc:
        raise UserError("The address holds a user name or password.", "A key belongs in its own field.", "Take it out.")
    if "?" in text or "#" in text:
        raise UserError("The address holds a query or a fragment.", "Only scheme, host, port and path are used.")
    if port == 0:
        raise UserError("The port is 0.", "A port between 1 and 65535.")
    port = port or {"http": 80, "https": 443}[split.scheme]
    return split.scheme, _host(split.hostname or ""), port, _path(split.path)


def _path(path: str) -> str:
    segments = [s for s in path.split("/") if s]
    if any(s in (".", "..") or "%2e" in s.lower() for s in segments):
        raise UserError("The address climbs out of its own path.", "A plain path such as /v1.")
    return "".join(f"/{s}" for s in segments)


def _host(raw: str) -> str:
    host = raw.rstrip(".").lower()
    if not host or "%" in host:
        raise UserError("The address names no host.", "For example https://host.example/v1.")
    if ":" in host:
        return host
    try:
        # Names in other letters, full-width digits among them, become what the resolver would make of them.
        return host if host.isascii() else _idna(host)
    except (UnicodeError, ValueError):
        raise UserError("The host name cannot be read.", "Letters, digits, dots and hyphens.") from None


def _idna(host: str) -> str:
    import unicodedata

    plain = unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower()
    return plain if plain.isascii() else plain.encode("idna").decode("ascii")


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
