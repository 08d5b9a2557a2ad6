"""Who asks: the visitor's session cookie, and what limits and ownership need to know of them. Never reads a key.

The cookie is random, HttpOnly and means nothing outside this process's memory.
"""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from runner.addresses import hosted
from runner.sharing import Owner

COOKIE = "l2_session"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32,64}")


def session_of(cookies: Mapping[str, str]) -> str:
    """The session named by the cookie, or "" where there is none that could be ours."""
    found = cookies.get(COOKIE, "")
    return found if _SHAPE.fullmatch(found) else ""


def ensure_session(cookies: Mapping[str, str], response: Response) -> str:
    """The visitor's session; a new one is set on `response`.

    On a Space the app stands in another site's frame, where only a partitioned third-party cookie is kept.
    """
    found = session_of(cookies)
    if found:
        return found
    new = secrets.token_urlsafe(32)
    more = "SameSite=None; Secure; Partitioned" if hosted() else "SameSite=Lax"
    response.headers.append("set-cookie", f"{COOKIE}={new}; Path=/; HttpOnly; {more}")
    return new


def _request_of(request: Any) -> Any:
    """The Starlette request behind one of Gradio's, which hands out its attributes but is none."""
    return getattr(request, "request", None) or request


def cookies_of(request: Any) -> dict[str, str]:
    """Cookies of a Starlette or Gradio request."""
    return dict(getattr(_request_of(request), "cookies", None) or {})


def hf_user(request: Any) -> str | None:
    """Hugging Face user name of a signed-in visitor, as Gradio's sign-in keeps it in its signed cookie; else None."""
    info = _signed_in(request).get("userinfo")
    name = info.get("preferred_username") if isinstance(info, Mapping) else None
    return name if isinstance(name, str) and name else None


def hf_token(request: Any) -> str | None:
    """The signed-in visitor's own token while it is valid, else None. Goes to the engine's pipe and nowhere else."""
    import time

    info = _signed_in(request)
    token, until = info.get("access_token"), info.get("expires_at")
    fresh = not isinstance(until, int | float) or until > time.time()
    return token if isinstance(token, str) and token and fresh else None


def _signed_in(request: Any) -> Mapping[str, Any]:
    scope = getattr(_request_of(request), "scope", None) or {}
    session = scope.get("session")
    found = session.get("oauth_info") if isinstance(session, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def owner(request: Any) -> Owner:
    """Who the run belongs to and is counted under. On a visitor's own machine visitors are not told apart."""
    return Owner(hf_user=hf_user(request), visitor=_address(request) if hosted() else "")


def _address(request: Any) -> str:
    real = _request_of(request)
    # The Spaces proxy appends the address it saw; what stands before it was sent by the visitor and may be invented.
    forwarded = (getattr(real, "headers", None) or {}).get("x-forwarded-for", "")
    if forwarded:
        return forwarded.split(",")[-1].strip()
    client = getattr(real, "client", None)
    return getattr(client, "host", "") or ""
