"""Who counts as one visitor: one name for all the addresses that one subscriber has. Reads addresses, asks nobody.

The Space's proxy appends the address it saw to X-Forwarded-For; everything before it was sent by the visitor and may
be invented.
"""

import ipaddress
import re
from collections.abc import Iterable

UNKNOWN = "unknown"
"""The one name of all whose address cannot be read, so that unreadable addresses are no way to many names."""
LONGEST = 80  # characters; an IPv6 address with zone, brackets and port has fewer
SUBSCRIBER = 64  # bits of an IPv6 address that one connection to the network gets; it chooses the others itself
_BRACKETS = re.compile(r"\[([^\[\]]*)\](?::\d{1,5})?")
_PORT = re.compile(r"([\d.]+):\d{1,5}")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def visitor_of(forwarded: Iterable[str], peer: str) -> str:
    """The name that limits count a visitor under; never empty.

    Args:
        forwarded: the X-Forwarded-For lines of a request, in their order.
        peer: the address of the connection, for where no proxy told one that can be read.
    """
    last = [line.rpartition(",")[2] for line in forwarded][-1:]
    return next((name for name in map(canonical, [*last, peer]) if name), UNKNOWN)


def canonical(text: str) -> str:
    """One spelling of one subscriber's address: an IPv4 address, or the /64 of an IPv6 one; "" for what is none.

    An IPv6 address that carries an IPv4 one (mapped, translated, 6to4, Teredo) is that IPv4 address. Brackets, ports,
    zones, quotes and upper case are spelling.
    """
    text = text.strip().strip('"')
    if len(text) > LONGEST:
        return ""
    if found := _BRACKETS.fullmatch(text) or _PORT.fullmatch(text):
        text = found[1]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if carried := _carried(address):
        return str(carried)
    return str(ipaddress.ip_network((int(address), SUBSCRIBER), strict=False))


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
