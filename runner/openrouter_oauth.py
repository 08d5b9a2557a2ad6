"""Connect OpenRouter by its OAuth flow with PKCE, so that a visitor gets a key into the vault without pasting one.

Never puts the key or the verifier into a page, an address or a message; a state is good once, for ten minutes, for the
session that began. (Flow: openrouter.ai/docs/guides/overview/auth/oauth.)
"""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pipeline.core.keys import clean_key
from pipeline.errors import UserError
from runner.providers.catalogue import hosts, provider
from runner.providers.entry import Call
from runner.providers.wire import Unreachable, post, send
from runner.vault import Vault

LIFETIME = 600.0
PLACE = "{state}"
"""A callback address may say with this where in its path the state goes; else it goes into the query."""


@dataclass(frozen=True, repr=False)
class _Begun:
    owner: bytes
    verifier: str
    expires: float
    visitor: str


def challenge_of(verifier: str) -> str:
    """The S256 code challenge (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _owner(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()


class OpenRouterOAuth:
    """The flows under way, in memory.

    Args:
        vault: where keys go.
        base: another base URL than OpenRouter's, for tests; its host answers `/auth` too.
        clock: monotonic seconds.
        most, of_one: flows under way, of all visitors and of one; above it the oldest is given up.
    """

    def __init__(self, vault: Vault, base: str = "", clock: Callable[[], float] = time.monotonic,
                 most: int = 1000, of_one: int = 20) -> None:
        self._vault, self._given, self._clock, self._most, self._of_one = vault, base, clock, most, of_one
        self._begun: OrderedDict[str, _Begun] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "OpenRouterOAuth()"

    def _url(self, path: str) -> str:
        entry = provider("openrouter")
        return entry.url(Call(path), {}, self._given or hosts().get("openrouter", ""))

    def begin(self, session: str, callback_url: str, visitor: str = "") -> str:
        """The address to send the visitor to.

        Args:
            session: the visitor's own cookie; only it can finish.
            callback_url: absolute address of the page OpenRouter returns to; the caller builds it, no visitor does.
            visitor: the name that limits count under, "" where visitors are not told apart.

        Raises:
            UserError: no session, or an address that OpenRouter could not return to.
        """
        if not session:
            raise UserError("Your browser sent no session cookie.", "", "Allow cookies for this page and reload it.")
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        back = _with_state(callback_url, state)
        with self._lock:
            self._sweep()
            own = [s for s, begun in self._begun.items() if visitor and begun.visitor == visitor]
            for old in own[: max(0, len(own) - self._of_one + 1)]:
                del self._begun[old]
            while len(self._begun) >= self._most:
                self._begun.popitem(last=False)
            self._begun[state] = _Begun(_owner(session), verifier, self._clock() + LIFETIME, visitor)
        query = {"callback_url": back, "code_challenge": challenge_of(verifier), "code_challenge_method": "S256"}
        return f"{self._url('/auth')}?{urlencode(query, quote_via=quote)}"

    async def finish(self, state: str, code: str, session: str, visitor: str = "") -> str:
        """Exchange the code for a key; the vault's handle is all that comes back.

        Raises:
            UserError: the state is unknown, used, expired or another session's; no code; OpenRouter refused or is down.
        """
        begun = self._take(state, session)
        if not isinstance(code, str) or not code or len(code) > 2000 or not code.isascii() or not code.isprintable():
            raise UserError("OpenRouter sent no code back.", "", "Connect again, and allow the access it asks for.")
        body = {"code": code, "code_verifier": begun.verifier, "code_challenge_method": "S256"}
        try:
            reply = await send(post(self._url("auth/keys"), body, {"accept": "application/json"}), largest=100_000)
        except Unreachable as error:
            raise UserError(f"OpenRouter could not be asked for the key. {error}", "", _again(0)) from None
        if reply.status != 200:
            raise UserError(f"OpenRouter did not give a key ({reply.status}).", "", _again(reply.status))
        raw = reply.body.get("key") if isinstance(reply.body, dict) else None
        try:
            key = clean_key(raw)
        except UserError:
            raise UserError("OpenRouter's answer held no usable key.", "", "Connect again, or paste a key.") from None
        return self._vault.put("openrouter", {"api_key": key}, session, visitor)

    def _take(self, state: str, session: str) -> _Begun:
        """The flow behind a state, used up by being asked for, whoever asks."""
        with self._lock:
            self._sweep()
            begun = self._begun.pop(state, None) if isinstance(state, str) else None
        if begun is None or not session or not hmac.compare_digest(begun.owner, _owner(session)):
            raise UserError("This connection was not begun here, was used already, or is older than ten minutes.", "",
                            "Press Connect OpenRouter again.")
        return begun

    def _sweep(self) -> None:
        now = self._clock()
        for state in [s for s, begun in self._begun.items() if begun.expires <= now]:
            del self._begun[state]


def _again(status: int) -> str:
    if status in (400, 401, 403):
        return "The code was refused: connect again, within a minute or two."
    return "Connect again in a minute."


def _with_state(callback_url: str, state: str) -> str:
    split = urlsplit(callback_url)
    if split.scheme not in ("http", "https") or not split.hostname or split.username or split.fragment:
        raise UserError("The address to return to cannot be used.", "An absolute http or https address.")
    if PLACE in callback_url:
        return callback_url.replace(PLACE, state)
    query = [*parse_qsl(split.query, keep_blank_values=True), ("state", state)]
    return urlunsplit((split.scheme, split.netloc, split.path or "/", urlencode(query), ""))
