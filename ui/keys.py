"""The routes under /keys: a typed key goes from the page's own field into the vault, and never comes back.

Answers hold the provider, the last four characters and the minutes left; no handle, no key. Handles stay here, by session.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pipeline.errors import UserError
from runner.openrouter_oauth import PLACE, OpenRouterOAuth
from runner.providers.catalogue import NO_KEY, PROVIDERS, provider
from runner.providers.check import check_key
from runner.providers.entry import Provider
from runner.providers.keys import clean_fields, wrong_provider
from runner.providers.models import ModelLists
from runner.requests import json_object
from runner.vault import Vault
from ui.visitor import counted_as, ensure_session, session_of

ROLES = ("solver", "judge")
LARGEST = 20_000  # bytes of a body; the fields of one provider are far below
NO_STORE = {"Cache-Control": "no-store"}


class KeyRing:
    """Which handle a session holds for which role and provider. Thread-safe; keys themselves are in the vault alone."""

    def __init__(self, vault: Vault, most: int = 5000) -> None:
        self.vault, self._most = vault, most
        self._rings: OrderedDict[str, dict[tuple[str, str], str]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, session: str, role: str, entry: Provider, fields: dict[str, str], visitor: str = "") -> None:
        """Hold cleaned fields for a role."""
        self.adopt(session, role, entry.id, self.vault.put(entry.id, fields, session, visitor))

    def adopt(self, session: str, role: str, provider_id: str, handle: str) -> None:
        """Take over a handle that is in the vault already."""
        with self._lock:
            if len(self._rings) >= self._most and session not in self._rings:
                self._tidy()
            old = self._rings.setdefault(session, {}).get((role, provider_id))
            self._rings[session][role, provider_id] = handle
            self._rings.move_to_end(session)
        if old:
            self.vault.forget(old, session)

    def fields(self, session: str, role: str, provider_id: str) -> dict[str, str] | None:
        """The secret fields for a role; the judge falls back on the solver's key of the same provider."""
        handle = self._handle(session, self.holder(session, role, provider_id), provider_id)
        held = self.vault.get(handle, session) if handle else None
        return dict(held.fields) if held else None

    def holder(self, session: str, role: str, provider_id: str) -> str:
        """The role under which the key that this role uses is held."""
        handle = self._handle(session, role, provider_id)
        own = handle is not None and self.vault.get(handle, session) is not None
        return role if own or role == "solver" else "solver"

    def forget(self, session: str, role: str, provider_id: str) -> bool:
        """Drop one key at once; whether there was one."""
        with self._lock:
            handle = self._rings.get(session, {}).pop((role, provider_id), None)
        return bool(handle) and self.vault.forget(str(handle), session)

    def forget_session(self, session: str) -> int:
        """Drop every key of a session at once; how many there were."""
        with self._lock:
            self._rings.pop(session, None)
        return self.vault.forget_session(session) if session else 0

    def describe(self, session: str) -> dict[str, dict[str, Any]]:
        """What the page may show, by `role/provider`."""
        with self._lock:
            ring = dict(self._rings.get(session, {}))
        told = {f"{role}/{pid}": self.vault.describe(handle, session) for (role, pid), handle in ring.items()}
        return {name: {"tail": d["tail"], "expires_in": d["expires_in"]} for name, d in told.items() if d}

    def _tidy(self) -> None:
        """Drop the rings on which no key hangs any more; those that are left are fewer than the vault's keys."""
        for session, ring in list(self._rings.items()):
            if not any(self.vault.describe(handle, session) for handle in ring.values()):
                del self._rings[session]

    def _handle(self, session: str, role: str, provider_id: str) -> str | None:
        with self._lock:
            return self._rings.get(session, {}).get((role, provider_id))


def leaving(ring: KeyRing) -> Callable[[Mapping[str, str], Response], None]:
    """What a sign-out does with the keys of the browser that signs out: they are forgotten, and the next visitor of the
    same browser has another session, so that a copy of the old cookie opens nothing."""

    def leave(cookies: Mapping[str, str], answer: Response) -> None:
        ring.forget_session(session_of(cookies))
        ensure_session({}, answer)

    return leave


def public_catalogue() -> dict[str, dict[str, Any]]:
    """What the page needs to draw a key's card, by provider id; nothing secret."""
    return {
        p.id: {
            "name": p.name,
            "url": p.key_url,
            "note": p.key_note,
            "connect": p.id == "openrouter",
            "fields": [
                {"name": f.name, "label": f.label, "secret": f.secret, "optional": f.optional, "hint": f.hint}
                for f in p.fields
            ],
        }
        for p in PROVIDERS
    }


def routes(ring: KeyRing, oauth: OpenRouterOAuth, lists: ModelLists) -> list[Route]:
    """The routes, to stand before Gradio's."""
    room = _Keys(ring, oauth, lists)
    return [
        Route("/keys", room.held, methods=["GET"]),
        Route("/keys/catalogue", room.catalogue, methods=["GET"]),
        Route("/keys/openrouter/connect", room.connect, methods=["GET"]),
        Route("/keys/openrouter/back/{state}", room.back, methods=["GET"]),
        Route("/keys/{role}/{provider}", room.put, methods=["POST"]),
        Route("/keys/{role}/{provider}", room.forget, methods=["DELETE"]),
        Route("/keys/{role}/{provider}/check", room.check, methods=["POST"]),
    ]


class _Keys:
    def __init__(self, ring: KeyRing, oauth: OpenRouterOAuth, lists: ModelLists) -> None:
        self.ring, self.oauth, self.lists = ring, oauth, lists

    async def held(self, request: Request) -> Response:
        """What this session holds; the first call gives the session its cookie."""
        response = JSONResponse({}, headers=NO_STORE)
        session = ensure_session(request.cookies, response)
        response.body = json.dumps({"held": self.ring.describe(session)}).encode()
        response.headers["content-length"] = str(len(response.body))
        return response

    async def catalogue(self, request: Request) -> Response:
        """The fields of every provider."""
        return JSONResponse(public_catalogue(), headers={"Cache-Control": "public, max-age=300"})

    async def put(self, request: Request) -> Response:
        """Take the typed fields into the vault; a key that is plainly another provider's is refused unsent."""
        try:
            role, entry = _slot(request)
            fields = clean_fields(entry, await _body(request))
            if wrong := wrong_provider(entry, fields):
                raise UserError(wrong)
            fields = fields or {"api_key": NO_KEY}
            self.ring.put(session_of(request.cookies), role, entry, fields, counted_as(request))
        except UserError as error:
            return _sorry(error)
        return JSONResponse({"held": self.ring.describe(session_of(request.cookies))}, headers=NO_STORE)

    async def forget(self, request: Request) -> Response:
        """Drop the key."""
        try:
            role, entry = _slot(request)
        except UserError as error:
            return _sorry(error)
        self.ring.forget(session_of(request.cookies), role, entry.id)
        return JSONResponse({"held": self.ring.describe(session_of(request.cookies))}, headers=NO_STORE)

    async def check(self, request: Request) -> Response:
        """One cheap call with the held key; the body may name the model to look for."""
        try:
            role, entry = _slot(request)
            fields = self.ring.fields(session_of(request.cookies), role, entry.id)
            if fields is None:
                raise UserError("No key is held for this provider.", "", "Enter it and press Use key.")
            model = str((await _body(request)).get("model", "")).strip()[:300]
            result = await check_key(entry, fields, model or None, self.lists)
            if result.address:
                session = session_of(request.cookies)
                self.ring.put(session, self.ring.holder(session, role, entry.id), entry, {**fields, "base_url": result.address})
        except UserError as error:
            return _sorry(error)
        return JSONResponse({"status": result.status, "ok": result.ok, "sentence": result.sentence}, headers=NO_STORE)

    async def connect(self, request: Request) -> Response:
        """Send the visitor to OpenRouter. The way back is built from this server's own address."""
        response = RedirectResponse("/", 303, headers=NO_STORE)
        session = ensure_session(request.cookies, response)
        try:
            response.headers["location"] = self.oauth.begin(
                session, f"{_origin(request)}/keys/openrouter/back/{PLACE}", counted_as(request)
            )
        except UserError as error:
            return _page(str(error), 400)
        return response

    async def back(self, request: Request) -> Response:
        """Where OpenRouter returns to: the key goes into the vault, the code out of the address."""
        session = session_of(request.cookies)
        try:
            state, code = request.path_params["state"], request.query_params.get("code", "")
            handle = await self.oauth.finish(state, code, session, counted_as(request))
        except UserError as error:
            return _page(str(error), 400)
        self.ring.adopt(session, "solver", "openrouter", handle)
        return RedirectResponse("/?connected=openrouter", 303, headers=NO_STORE)


def _slot(request: Request) -> tuple[str, Provider]:
    role = request.path_params["role"]
    if role not in ROLES:
        raise UserError("There is no such role.", "solver or judge.")
    return role, provider(request.path_params["provider"])


async def _body(request: Request) -> dict[str, str]:
    """The JSON object of the request, its values as text.

    Raises:
        UserError: it is too large or no JSON object; what it held is not repeated.
    """
    found = await json_object(request, LARGEST)
    return {k: v for k, v in found.items() if isinstance(v, str)}


def _origin(request: Request) -> str:
    """The page's public address; a Space's proxy speaks https to the visitor and http to us."""
    from runner.addresses import hosted

    host = request.headers.get("host", "localhost")
    return f"https://{host}" if hosted() else f"{request.url.scheme}://{host}"


def _sorry(error: UserError) -> Response:
    return JSONResponse({"error": str(error)}, 400, headers=NO_STORE)


def _page(sentence: str, status: int) -> Response:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>L2-Bench Live</title>'
        f'<link rel="stylesheet" href="/static/style/tokens.css"><link rel="stylesheet" href="/static/style/base.css">'
        f'<body class="plain l2"><main class="l2-frame l2-narrow"><h1>OpenRouter</h1><p>{escape(sentence)}</p>'
        f'<p><a href="/">L2-Bench Live</a></p></main></body></html>'
    )
    return HTMLResponse(body, status, headers=NO_STORE)
