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
from runner.visitors import visitor_of
from ui import signin
from ui.cookies import FRAMED

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
    more = FRAMED if hosted() else "SameSite=Lax"
    response.headers.append("set-cookie", f"{COOKIE}={new}; Path=/; HttpOnly; {more}")
    return new


def _request_of(request: Any) -> Any:
    """The Starlette request behind one of Gradio's, which hands out its attributes but is none."""
    return getattr(request, "request", None) or request


def cookies_of(request: Any) -> dict[str, str]:
    """Cookies of a Starlette or Gradio request."""
    return dict(getattr(_request_of(request), "cookies", None) or {})


def hf_user(request: Any) -> str | None:
    """The lasting id of a signed-in visitor's Hugging Face account, which names its owner; None once the sign-in has ended."""
    found = signin.account(request)
    return found.id if found else None


def hf_token(request: Any) -> str | None:
    """The signed-in visitor's own token while it is valid; on one's own machine the machine's. Else None.

    Goes to the Hub, to Hugging Face's own providers and to the engine's pipe, and nowhere else.
    """
    return signin.token_of(request)


def owner(request: Any) -> Owner:
    """Who the run belongs to and is counted under."""
    return Owner(hf_user=hf_user(request), visitor=counted_as(request))


def mark(request: Any) -> str:
    """What tells this browser from others: its cookie; where it keeps none, and is not on its own machine, its address."""
    return session_of(cookies_of(request)) or counted_as(request)


def counted_as(request: Any) -> str:
    """The name that limits count whoever asks under; "" on a visitor's own machine, where visitors are not told apart."""
    if not hosted():
        return ""
    real = _request_of(request)
    headers = getattr(real, "headers", None) or {}
    # A second line of the same name follows the first, as if they were one: the proxy's word is the last in either form.
    lines = headers.getlist("x-forwarded-for") if hasattr(headers, "getlist") else [headers.get("x-forwarded-for", "")]
    return visitor_of(lines, getattr(getattr(real, "client", None), "host", "") or "")
