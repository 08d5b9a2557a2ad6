"""Base addresses of providers, for page and command line alike: normalised, or refused where one could carry a secret.

Never asks a resolver and never quotes an address that is refused: what is wrong with it may be a password.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipeline.core.keys import trimmed
from pipeline.core.redact import looks_like_key
from pipeline.errors import UserError

LONGEST = 2048
_PATH = re.compile(r"[A-Za-z0-9._~:+-]+")
_PORTS = {"http": 80, "https": 443}
_ROUTES = re.compile(
    r"(?:/chat/completions|/messages/(?:count_tokens|batches)|/models/[^/]+:\w+|/api/(?:chat|generate|tags|show|ps)"
    r"|/models/[^/]+/(?:converse|invoke)(?:-\w+)*|/model/[^/]+/(?:converse|invoke)(?:-\w+)*"
    r"|(?:(?<=/v1)|(?<=/v1beta)|(?<=/v2)|(?<=/v3)|(?<=//HOST))/(?:completions|models|messages|responses|embeddings|complete|chat))$",
    re.I)
_ADDED = {"anthropic": ("/v1",), "google": ("/v1beta", "/v1alpha", "/v1"), "mistral": ("/v1",), "groq": ("/openai/v1",)}
"""What the clients of these providers add to a base address by themselves."""


@dataclass(frozen=True)
class Parts:
    """A base address, read: scheme, host in ASCII and lower case, port, and a path without a slash at its end."""

    scheme: str
    host: str
    port: int
    path: str

    def url(self, host: str = "") -> str:
        """The address in its one form, with another spelling of the host where one is given."""
        host = host or self.host
        shown = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{shown}{'' if self.port == _PORTS[self.scheme] else f':{self.port}'}{self.path}"


def clean_address(text: str | None, what: str = "address") -> str:
    """The base address in its one form: http or https, no double slash, none at the end.

    Args:
        what: what is told of it in a refusal: "address", "variable OPENAI_BASE_URL".

    Raises:
        UserError: another scheme, a user name or password, a query, a fragment, a key in the path, or what no plain
            address holds. Nothing of it is quoted.
    """
    return read_address(text, what).url()


def read_address(text: str | None, what: str = "address") -> Parts:
    """As `clean_address`, in parts.

    Raises:
        UserError: as there.
    """
    text = trimmed(text)
    if not text:
        raise UserError("Enter the address of the endpoint.", "For example http://localhost:8000/v1.")
    if len(text) > LONGEST:
        raise UserError(f"The {what} is {len(text)} characters long.", f"At most {LONGEST}.")
    if re.search(r"[\s\\]|[\x00-\x1f\x7f]", text):
        raise UserError(f"The {what} holds a blank, a backslash or a control character.", "", "Type it again.")
    try:
        split = urlsplit(text)
    except ValueError:
        raise _unreadable(what) from None
    if "@" in text or "%40" in text:
        raise UserError(f"The {what} holds a user name or password.", "A key belongs in its own field.", "Take it out.")
    if "?" in text or "#" in text:
        raise UserError(f"The {what} holds a query or a fragment.", "Only scheme, host, port and path are used.")
    if split.scheme not in _PORTS or "://" not in text:
        raise UserError(f"The {what} must start with http:// or https://.", "Other schemes are not opened.")
    try:
        port = split.port
    except ValueError:
        raise _unreadable(what) from None
    if port == 0:
        raise UserError("The port is 0.", "A port between 1 and 65535.")
    return Parts(split.scheme, _host(split.hostname or "", what), port or _PORTS[split.scheme], _path(split.path, what))


def _unreadable(what: str) -> UserError:
    return UserError(f"The {what} cannot be read.", "For example https://host.example:8000/v1.")


def _path(path: str, what: str) -> str:
    segments = [s for s in path.split("/") if s]
    if any(s in (".", "..") or "%2e" in s.lower() for s in segments):
        raise UserError(f"The {what} climbs out of its own path.", "A plain path such as /v1.")
    if any(looks_like_key(s) for s in segments):
        raise UserError(f"The {what} holds a key in its path.", "A key belongs in its own field.", "Take it out.")
    if not all(_PATH.fullmatch(s) for s in segments):
        raise UserError(f"The {what} holds a sign in its path that no plain path holds.", "A plain path such as /v1.")
    return "".join(f"/{s}" for s in segments)


def _host(raw: str, what: str) -> str:
    host = raw.rstrip(".").lower()
    if not host or "%" in host:
        raise UserError(f"The {what} names no host.", "For example https://host.example/v1.")
    if ":" in host:
        return host
    try:
        # Names in other letters, full-width digits among them, become what the resolver would make of them.
        host = host if host.isascii() else _idna(host)
    except (UnicodeError, ValueError):
        host = ""
    if not re.fullmatch(r"[a-z0-9._-]+", host) or len(host) > 253 or any(len(label) > 63 for label in host.split(".")):
        raise UserError("The host name cannot be read.", "Letters, digits, dots and hyphens.")
    return host


def _idna(host: str) -> str:
    import unicodedata

    plain = unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower()
    return plain if plain.isascii() else plain.encode("idna").decode("ascii")


def served_address(address: str, model: str = "") -> str:
    """The base address of a cleaned address in which a whole route was pasted; what a client adds itself is left out.

    Args:
        model: whole name of the model that is called there; its provider's client is the one meant.
    """
    scheme, _, rest = address.partition("://")
    host, slash, tail = rest.partition("/")
    path = slash + tail
    provider, _, name = model.partition("/")
    if provider != "azureai":  # its own addresses end in /models
        while (short := _without_route(path)) != path:
            path = short
    path = re.sub(r"(/v\d+(?:beta|alpha)?)\1+$", r"\1", path)
    if provider in _ADDED and name.partition("/")[0] not in ("azure", "vertex", "bedrock"):
        ending = next((end for end in _ADDED[provider] if path.lower().endswith(end)), "")
        path = path[: len(path) - len(ending)]
    return f"{scheme}://{host}{path}"


def _without_route(path: str) -> str:
    if (found := _ROUTES.search(f"//HOST{path}")) is None:
        return path
    kept = f"//HOST{path}"[: found.start()].removeprefix("//HOST")
    return f"{kept}/v1" if found[0].startswith("/api/") else kept  # Ollama's own routes stand beside its /v1
