"""Which names say that a secret stands behind them, in a settings object, a header or the environment; and where one does.

Never returns a secret in a message: a place is told by the names that lead to it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pipeline.core.json_in import FROM_BROWSER, BadJson, read_json
from pipeline.core.keys import bare_key
from pipeline.core.redact import looks_like_key

_GLUED = re.compile(
    "apikey|accesskey|secretkey|privatekey|subscriptionkey|authkey|accesstoken|authtoken|apitoken|sessiontoken|securitytoken"
    "|bearertoken|refreshtoken|idtoken|clientsecret|secret|passw|passphrase|passcode|credential|authorization|bearer|cookie")
_WORDS = frozenset({"auth", "authentication", "creds", "pwd", "pass", "jwt", "otp", "sas", "sig", "signature", "apikeys"})
_PLAIN_KEYS = frozenset({"cache", "primary", "sort", "foreign", "partition", "idempotency", "group", "routing", "hash", "trace"})
_PLAIN_TOKENS = frozenset({"bos", "eos", "pad", "stop", "unk", "sep", "start", "end", "special", "mask", "per", "next", "image",
                           "audio", "max", "min", "first", "last", "prompt", "each", "by"})
_HELD = re.compile(r"(?i:bearer|basic|token|negotiate)\s+\S{8,}|AWS4-HMAC|-----BEGIN|\beyJ[\w-]{10,}\.[\w-]+\.|://[^/\s]*@"
                   r"|[?&#](?i:(?:api|access|auth)?[-_]?(?:key|token)|secret|password|sig|signature)=")
_ENVIRONMENT = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.I)
_NO_SECRET = re.compile(r"(?:_FILE|_PATH|_URL|_NAME|_HELPER|_COMMAND|TOKENS|PARALLELISM|_LIMIT|_TIMEOUT)$"
                        r"|^(?:KEYBOARD|SSH_|GPG_)", re.I)
SCHEMAS = ("response_schema",)
"""Settings whose names are the names of an answer's fields, not of what is sent with it."""


def says_secret(name: str) -> bool:
    """Whether a name says that a key, token or password stands behind it, however it is spelled."""
    plain = unicodedata.normalize("NFKC", name)
    words = [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)]
    glued = "".join(words)
    if not words or _GLUED.search(glued) or any(w in _WORDS for w in words):
        return bool(words)
    before = words[-2] if len(words) > 1 else ""
    if words[-1] in ("key", "keys"):
        return before not in _PLAIN_KEYS
    return words[-1] == "token" and before not in _PLAIN_TOKENS


def secret_place(value: Any, path: str = "") -> str | None:
    """Where in a settings value a secret seems to stand: the names that lead there, or None.

    A name that says so counts where there is text behind it; text counts where it has the shape of a key.
    """
    if isinstance(value, str):
        return (path or "the text") if looks_like_key(value) or _HELD.search(value) else None
    if isinstance(value, Mapping):
        for name, inner in value.items():
            shown = f"{path}.{_shown(name)}" if path else _shown(name)
            if looks_like_key(str(name)) or says_secret(str(name)) and _has_text(inner):
                return shown
            if name not in SCHEMAS and (found := secret_place(inner, shown)) is not None:
                return found
    elif isinstance(value, list | tuple):
        return next((found for inner in value if (found := secret_place(inner, path)) is not None), None)
    return None


def _shown(name: Any) -> str:
    text = str(name)
    return "a name" if looks_like_key(text) or len(text) > 60 else text


def _has_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_text, value))
    return isinstance(value, str | bytes) and bool(value)


def environment_secrets(env: Mapping[str, str]) -> list[str]:
    """Values of all variables whose names say that they are secrets, and passwords within addresses of any variable."""
    found: set[str] = set()
    for name, value in env.items():
        value = value.strip()
        if _ENVIRONMENT.search(name) and not _NO_SECRET.search(name) and not re.fullmatch(r"[\d.]*|true|false|/\S*", value, re.I):
            found.update(_keys_in(value))
        if "@" in value and "://" in value:
            found.update(_passwords([value]))
    return sorted(found)


def _keys_in(value: str) -> Iterable[str]:
    """The key in a variable's value; of a JSON object, what its names say is secret."""
    if value.startswith("{"):
        try:
            held = read_json(value, FROM_BROWSER)
        except BadJson:
            return ()
        return [v for k, v in held.items() if isinstance(v, str) and says_secret(k)] if isinstance(held, dict) else ()
    return [key] if (key := bare_key(value)) else ()


def _passwords(addresses: Iterable[str]) -> Iterable[str]:
    for address in addresses:
        user, _, password = urlsplit(address).netloc.rpartition("@")[0].partition(":")
        yield from {user, password, unquote(user), unquote(password)} - {""}


def machine_secrets(env: Mapping[str, str]) -> list[str]:
    """As `environment_secrets`, with the token that the Hub's own client keeps in a file."""
    home = Path(env.get("HF_HOME") or Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface")
    try:
        token = Path(env.get("HF_TOKEN_PATH") or home / "token").read_text(encoding="utf-8").strip()
    except (OSError, ValueError, RuntimeError):
        token = ""
    return [*environment_secrets(env), *([token] if token else [])]
