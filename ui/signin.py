"""Sign in with Hugging Face, through Gradio's own OAuth routes attached to the whole app, so that every route sees it.

There is no sign-in, and no stand-in for one, where the host has not set it up. The visitor's token stands in their
signed, HttpOnly cookie alone; it is never written into a page, and the owner's tokens leave the environment at start.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.core.text import safe_value
from runner.addresses import hosted
from runner.gate import Account
from runner.logins import Logins
from runner.mirror import Mirror
from ui.clean_start import settings
from ui.targets import Targets

NEEDED = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")
SCOPES = ("openid", "profile", "gated-repos", "inference-api")
OWNERS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "HUGGINGFACE_API_KEY", "L2BENCH_RESULTS_TOKEN")
LOGIN, BACK, LOGOUT = "/login/huggingface", "/login/callback", "/logout"
TARGET = "l2_target"  # in the session: the ticket of the way back, by the state of the login that was begun
LOGINS = "l2_logins"  # in the scope
STATES = "_state_huggingface"
KEPT_STATES = 2  # logins begun and not finished; each adds some 300 bytes to a cookie of 4,096
KEPT_TARGETS = 3  # of logins begun before, in other tabs
KEPT_INFO = ("sub", "name", "preferred_username")
log = logging.getLogger(__name__)


def configured(environ: Mapping[str, str] | None = None) -> bool:
    """Whether this host offers a sign-in: a Space with all four OAuth settings."""
    environ = settings() if environ is None else environ
    return bool(environ.get("SPACE_ID", "").strip()) and all(environ.get(name, "").strip() for name in NEEDED)


class Owner:
    """The tokens of whoever runs this app, taken out of the environment when it starts.

    Attributes:
        mirror: the results repo with its token, or None.
    """

    def __init__(self, environ: MutableMapping[str, str] | None = None) -> None:
        environ = settings() if environ is None else environ
        self.mirror = Mirror.from_env(environ)
        found = [environ.pop(name, "").strip() for name in OWNERS]
        self._token = "" if hosted() else (found[0] or found[1])

    def __repr__(self) -> str:
        return "Owner(...)"

    def local_token(self) -> str | None:
        """On a visitor's own machine the token the command line would use; on a hosted Space always None."""
        if hosted():
            return None
        from huggingface_hub import get_token

        return self._token or get_token()


_owner: Owner | None = None


def take_owner_tokens() -> Owner:
    """Take the owner's tokens out of the environment; called first thing at start, once for each app built."""
    global _owner
    found = Owner()
    if _owner is not None and not found._token:
        found._token = "" if hosted() else _owner._token
    _owner = found
    return found


def token_of(request: Any) -> str | None:
    """The token that reads for whoever asks: the signed-in visitor's own, or on one's own machine the machine's."""
    if hosted():
        found = account(request)
        return found.token if found else None
    return (_owner or take_owner_tokens()).local_token()


def account(request: Any) -> Account | None:
    """Who is signed in, from a Starlette or a Gradio request or its scope; None for nobody, after the token's end and after
    the sign-out, which ends every copy of the cookie and every stream that was opened with it."""
    real = getattr(request, "request", None) or request
    scope = real if isinstance(real, Mapping) else getattr(real, "scope", None) or {}
    session, logins = scope.get("session"), scope.get(LOGINS)
    info = session.get("oauth_info") if isinstance(session, Mapping) else None
    user = info.get("userinfo") if isinstance(info, Mapping) else None
    if not isinstance(info, Mapping) or not isinstance(user, Mapping):
        return None
    name, token, until = user.get("preferred_username"), info.get("access_token"), info.get("expires_at")
    expires = float(until) if isinstance(until, int | float) else None
    if not (isinstance(name, str) and name and isinstance(token, str) and token):
        return None
    if (expires is not None and expires <= time.time()) or logins is None or not logins.live(info.get("login")):
        return None
    return Account(str(user.get("sub") or name), name, token, expires)


def attach(app: Any, environ: Mapping[str, str] | None = None) -> bool:
    """Add Gradio's sign-in routes and the signed session to the app. Whether there is a sign-in now."""
    environ = settings() if environ is None else environ
    if not configured(environ):
        return False
    from gradio import oauth

    for name in NEEDED:  # the module read them when it was imported
        setattr(oauth, name, environ[name].strip())
    asked = environ["OAUTH_SCOPES"].split()
    oauth.OAUTH_SCOPES = " ".join(s for s in SCOPES if s in asked or s in ("openid", "profile"))
    before = os.environ.get("SYSTEM")
    os.environ["SYSTEM"] = "spaces"  # without it Gradio would mock the sign-in with the owner's account
    try:
        oauth.attach_oauth(app)
    finally:
        if before is None:
            del os.environ["SYSTEM"]
        else:
            os.environ["SYSTEM"] = before
    return True


def safe_target(target: str) -> str:
    """A path on this site, whatever was asked for; "/" where it names another one.

    https://github.com/gradio-app/gradio/issues/13593: a target taken from the link led to another site.
    """
    if any(ord(c) < 33 or ord(c) == 127 or c == "\\" for c in target) or not target.startswith("/") or target.startswith("//"):
        return "/"
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or parts.path.startswith("//") or parts.path.startswith((LOGIN, BACK, LOGOUT)):
        return "/"
    return quote(parts.path, safe="/%:@!$&'()*+,;=~-._") + (f"?{parts.query}" if parts.query else "")


class SignIn:
    """Pure ASGI middleware: answers for the three sign-in routes, and tells all others which sign-ins are over.

    To stand inside the session's. The way back is kept here, not in the address that goes to Hugging Face: it may hold a
    run's secret link.

    Args:
        on_out: told of the account that signs out.
        on_leave: told of the cookies of the browser that signs out, and of the answer that it gets.
        logins: the sign-ins that are over.
    """

    def __init__(self, app: ASGIApp, on_out: Callable[[Account], None] = lambda _: None,
                 on_leave: Callable[[Mapping[str, str], Response], None] = lambda *_: None,
                 logins: Logins | None = None) -> None:
        self.app, self.on_out, self.on_leave = app, on_out, on_leave
        self.logins, self.targets = logins or Logins(), Targets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a target of this site."""
        scope[LOGINS] = self.logins
        path = scope.get("path", "") if scope["type"] == "http" and "session" in scope else ""
        if path == LOGIN:
            await self._begin(scope, receive, send)
        elif path == BACK:
            await self._return(scope, receive, send)
        elif path == LOGOUT:
            await self._out(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        query, session = _query(scope), scope["session"]
        tickets = _tickets(session)
        # The second try of one login goes where the first would have.
        again = "_nb_redirects" in query and tickets
        ticket = list(tickets.values())[-1] if again else self.targets.keep(safe_target(query.get("_target_url", "/")))
        # https://github.com/lepture/authlib/issues/622: states of logins that were given up fill the cookie.
        for old in [k for k in session if k.startswith(STATES)][:-KEPT_STATES]:
            session.pop(old)
        _set_query(scope, {"_target_url": "/", **_redirects(query)})

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                to = parse_qs(urlsplit(MutableHeaders(scope=message).get("location", "")).query)
                kept = list(tickets.items())[-KEPT_TARGETS:]
                session[TARGET] = {**dict(kept), to.get("state", [""])[0]: ticket}
            await send(message)

        await self._guarded(scope, receive, sending, lambda word: _marked(self.targets.get(ticket), word), "unreachable")

    async def _return(self, scope: Scope, receive: Receive, send: Send) -> None:
        query, session = _query(scope), scope["session"]
        tickets = _tickets(session)
        state = query.get("state", "")
        ticket = tickets.get(state, list(tickets.values())[-1] if tickets else "")
        target = self.targets.get(ticket)
        if "error" in query:  # the visitor, or Hugging Face, said no
            session.pop(f"{STATES}_{state}", None)
            return await _away(scope, receive, send, _marked(target, "refused"))
        tries = _redirects(query)
        _set_query(scope, {k: query[k] for k in ("code", "state") if k in query} | {"_target_url": "/"} | tries)
        old, before = session.get("oauth_info"), account(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if session.get("oauth_info") not in (None, old):
                    headers["location"] = self._arrived(scope, old, before, target)
                    self.targets.drop(ticket)
                elif tries.get("_nb_redirects", "0").strip("0"):  # the cookie does not come back: a third try would not help
                    headers["location"] = _marked(target, "blocked")
                elif tickets.pop(state, None) is not None:  # another tab's login has come between: what is tried again is this
                    session[TARGET] = {**tickets, state: ticket}
            await send(message)

        await self._guarded(scope, receive, sending, lambda word: _marked(target, word), "failed")

    def _arrived(self, scope: Scope, old: Any, before: Account | None, target: str) -> str:
        """Take over what the provider told; the address to go on to."""
        session = scope["session"]
        session["oauth_info"] = _trimmed(session["oauth_info"], self.logins.new())
        for left in [k for k in session if k == TARGET or k.startswith(STATES)]:
            session.pop(left)
        self._end(old, before)
        if account(scope) is None:  # an answer without a token, or without a name
            session.pop("oauth_info")
            return _marked(target, "failed")
        return safe_target(target)

    def _end(self, info: Any, found: Account | None) -> None:
        if isinstance(info, Mapping):
            until = info.get("expires_at")
            self.logins.end(info.get("login"), float(until) if isinstance(until, int | float) else None)
        if found:
            self.on_out(found)

    async def _out(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        answer = _to(safe_target(_query(scope).get("_target_url", "/")))
        if request.headers.get("sec-fetch-site") != "cross-site":  # another site's picture or link signs nobody out
            session, found = scope["session"], account(scope)
            await asyncio.to_thread(self._end, session.get("oauth_info"), found)
            for name in [k for k in session if k in ("oauth_info", TARGET) or k.startswith(STATES)]:
                session.pop(name)
            self.on_leave(request.cookies, answer)
        await answer(scope, receive, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send, away: Callable[[str], str], word: str) -> None:
        """Pass on; a fault of the sign-in (its host does not answer, or answers wrongly) brings the visitor back here."""
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001 - the libraries beneath raise their own and each other's
            if begun:
                raise
            log.warning("a sign-in broke off (%s)", type(error).__name__)
            await _away(scope, receive, send, away(word))


def _tickets(session: Mapping[str, Any]) -> dict[str, str]:
    found = session.get(TARGET)
    return dict(found) if isinstance(found, dict) else {}


def _query(scope: Scope) -> dict[str, str]:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def _redirects(query: Mapping[str, str]) -> dict[str, str]:
    """Gradio's count of attempts, which it reads as a number without looking."""
    count = query.get("_nb_redirects", "")
    return {"_nb_redirects": count} if count.isascii() and count.isdigit() and len(count) < 3 else {}


def _set_query(scope: Scope, query: Mapping[str, str]) -> None:
    scope["query_string"] = urlencode(query).encode()


def _marked(target: str, word: str) -> str:
    safe = safe_target(target)
    return f"{safe}{'&' if '?' in safe else '?'}signin={word}"


def _to(target: str) -> Response:
    return RedirectResponse(target, 303, {"Cache-Control": "no-store"})


async def _away(scope: Scope, receive: Receive, send: Send, target: str) -> None:
    await _to(target)(scope, receive, send)


def _trimmed(info: Mapping[str, Any], login: str) -> dict[str, Any]:
    """What is needed of a sign-in. The rest (organisations, id token) can pass the 4,096 bytes that a cookie may have."""
    user = info.get("userinfo") or {}
    until = info.get("expires_at")
    if until is None and isinstance(info.get("expires_in"), int | float):
        until = int(time.time() + info["expires_in"])
    kept = {"access_token": info.get("access_token"), "token_type": "bearer", "scope": info.get("scope", ""),
            "userinfo": {k: user[k] for k in KEPT_INFO if k in user}, "login": login}
    return dict(safe_value(kept if until is None else {**kept, "expires_at": until}))
