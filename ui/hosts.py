"""Which names this app answers to, and which sites' pages may write to it. Both read one list. Asks no resolver.

A page of another site whose name was pointed at this machine (DNS rebinding) sends that name as Host, and is refused
before any route sees it. https://en.wikipedia.org/wiki/DNS_rebinding
"""

import ipaddress
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.errors import UserError

SETTING = "L2BENCH_HOSTS"
_SHAPE = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?))(?::(?P<port>[0-9]{1,5}))?"
)
_EVERY = ("0.0.0.0", "::", "")
_USUAL = (None, 80, 443)
# Gradio builds the page's own address from these without asking who sent them.
_TOLD = (b"x-forwarded-host", b"x-gradio-server")


@dataclass(frozen=True)
class Name:
    """A host in lower case, an IPv6 one without brackets, and its port where one was written."""

    host: str
    port: int | None = None

    @classmethod
    def read(cls, text: str) -> "Name | None":
        """`host`, `host:port` or `[v6]:port`; None for anything else: users, paths, a dot at the end, a port out of range."""
        found = _SHAPE.fullmatch(text.lower()) if text.isascii() else None
        if found is None:
            return None
        port = int(found["port"]) if found["port"] else None
        if port is not None and not 0 < port < 65536:
            return None
        if found["six"]:
            try:
                return cls(str(ipaddress.IPv6Address(found["six"])), port)
            except ValueError:
                return None
        return None if ".." in found["name"] else cls(found["name"], port)

    @property
    def ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The address where the host is one in numbers, in the usual form only."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


@dataclass(frozen=True)
class Hosts:
    """The names of this app.

    Attributes:
        public: names other machines know it by. A name with a port is that port's; one without is good for any port.
        space: names of a Space, which are behind a proxy and have only the usual ports.
        machine: names of this machine, good for any port.
    """

    public: frozenset[Name] = frozenset()
    space: frozenset[str] = frozenset()
    machine: frozenset[str] = frozenset()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Hosts":
        """The names that the settings give.

        Raises:
            UserError: an entry of the setting is no host name.
        """
        bound = environ.get("L2BENCH_HOST", "").strip()
        own = {bound.lower().strip("[]")} if bound not in _EVERY else set()
        if bound in _EVERY[:2]:  # open to the network: also by the machine's own name
            own |= {name for name in _machine_names() if Name.read(name)}
        space = {h.strip().lower() for h in environ.get("SPACE_HOST", "").split(",") if h.strip()}
        if not space and (space_id := environ.get("SPACE_ID", "").strip()):
            space = {re.sub(r"[^a-z0-9]+", "-", space_id.lower()).strip("-") + ".hf.space"}
        return cls(frozenset(_listed(environ.get(SETTING, ""))), frozenset(space), frozenset(own))

    def answer_to(self, name: Name, arrived: str) -> bool:
        """Whether a request that names this host is meant for this app.

        Args:
            arrived: the address of this machine that the connection came in at. A page of another site cannot send a
                number that is not its own, and a host's health check asks by it.
        """
        ip = name.ip
        if name.host == "localhost" or (ip is not None and (ip.is_loopback or str(ip) == _plain(arrived))):
            return True
        return name.host in self.machine or self.publicly(name)

    def publicly(self, name: Name) -> bool:
        """Whether this is a name by which others know the app, whatever name its proxy passes on."""
        if name.host in self.space:
            return name.port in _USUAL
        return name in self.public or Name(name.host) in self.public


class Answered:
    """Pure ASGI middleware, outside all others: 400 for a request that names no host, 421 for one that is not ours."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, without the headers by which a sender could give the app another name."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        named = [value for key, value in scope["headers"] if key == b"host"]
        name = Name.read(named[0].decode("latin-1")) if len(named) == 1 else None
        if name is None or not scope["path"].startswith("/"):  # a whole address in the request line names a host too
            answer = PlainTextResponse("The request has to name this host, once, in its Host header.", 400)
        elif not self.hosts.answer_to(name, (scope.get("server") or ("",))[0]):
            answer = PlainTextResponse(f"Nothing is served here under this name. Its owner can add it to {SETTING}.", 421)
        else:
            headers = [(k, v) for k, v in scope["headers"] if k not in _TOLD or self._ours(k, v)]
            await self.app({**scope, "headers": headers}, receive, send)
            return
        await answer(scope, receive, send)

    def _ours(self, key: bytes, value: bytes) -> bool:
        names = [Name.read(part.strip()) for part in value.decode("latin-1").split(",")]
        return key == b"x-forwarded-host" and all(n is not None and self.hosts.publicly(n) for n in names)


def foreign(scope: Scope, hosts: Hosts) -> bool:
    """Whether another site's page sends this write. A request without an Origin is no browser's cross-site one."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return False
    headers = Headers(scope=scope)
    given = headers.getlist("origin")
    if len(given) > 1:
        return True
    scheme, _, rest = given[0].lower().partition("://") if given else ("", "", "")
    origin = Name.read(rest) if scheme in ("http", "https") else None
    if origin is not None and hosts.publicly(_bare(origin, scheme)):
        return False
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return True
    return bool(given) and (origin is None or rest != headers.get("host", "").lower())


def _bare(name: Name, scheme: str) -> Name:
    return Name(name.host) if name.port == {"http": 80, "https": 443}[scheme] else name


def _listed(text: str) -> Iterable[Name]:
    for word in re.split(r"[,\s]+", text.strip()):
        if not word:
            continue
        if (name := Name.read(word)) is None:
            raise UserError(f"{SETTING} holds {word!r}, which is no host name.", "Names such as bench.example.org or "
                            "bench.example.org:8443, with commas between them.", "Correct it.")
        yield name


def _machine_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.split(".")[0] + ".local"}


def _plain(address: str) -> str:
    """An address as `ipaddress` writes it; a socket for both families gives IPv4 ones in IPv6 dress."""
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return address
    return str(getattr(ip, "ipv4_mapped", None) or ip)
