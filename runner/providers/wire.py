"""One bounded request to a provider: time, size, no redirect, no cookie, an address that was checked.

Never logs, never keeps a request, and never lets an exception out that holds one: a key stands in its headers.
"""

import asyncio
import json as jsonlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from pipeline.core.json_in import FROM_PROVIDER
from pipeline.core.text import safe_text
from pipeline.faults import Exchange, parse_body

SECONDS = 15.0
LARGEST = FROM_PROVIDER.size
"""Bytes; the longest list known (OpenRouter's) is about two million."""


class Unreachable(Exception):
    """No usable reply; the text is one public sentence. `left`: whether a byte of the request may have left."""

    def __init__(self, sentence: str, left: bool = True) -> None:
        super().__init__(sentence)
        self.left = left


@dataclass(frozen=True, repr=False)
class Request:
    """What is sent. `pinned` is the IP to connect to in place of asking for the name again."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    pinned: str = ""

    def __repr__(self) -> str:
        return f"Request({self.method})"


@dataclass(frozen=True, repr=False)
class Reply:
    """What came back; `body` is its JSON, or None where it is none that our reader takes."""

    status: int
    headers: Mapping[str, str]
    body: Any
    raw: bytes

    def exchange(self) -> Exchange:
        """The reply as `pipeline.faults` reads it."""
        return Exchange(self.status, dict(self.headers), self.body, "" if self.body is not None else self._text())

    def _text(self) -> str:
        text = safe_text(self.raw[:300].decode("utf-8", "replace"))
        return "" if "<" in text else text


def post(url: str, body: Mapping[str, Any], headers: Mapping[str, str], pinned: str = "") -> Request:
    """A POST with a JSON body."""
    content = jsonlib.dumps(body).encode()
    return Request("POST", url, {**headers, "content-type": "application/json"}, content, pinned)


async def send(request: Request, seconds: float = SECONDS, largest: int = LARGEST) -> Reply:
    """Send it once.

    Raises:
        Unreachable: no connection, no answer in time, too much of one, or one that cannot be read.
    """
    trouble, went = "", _Went()
    try:
        async with asyncio.timeout(seconds):
            return await _exchange(request, seconds, largest, went)
    except (TimeoutError, httpx.TimeoutException):
        trouble = f"It did not answer within {seconds:.0f} seconds."
    except httpx.ConnectError:
        trouble = "It could not be reached."
    except _TooMuch:
        trouble = "Its answer was longer than any that is expected here."
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError):
        trouble = "The connection broke, or its answer could not be read." if went.yes else "The request could not be made."
    # Raised out here so that no exception holding the request, and so the key, hangs on to this one.
    raise Unreachable(trouble, went.yes)


class _Went:
    """Whether bytes of a request were written, as httpx's connections tell it."""

    yes = False

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(".send_request_headers.started"):
            self.yes = self.yes or getattr(info.get("request"), "method", b"") != b"CONNECT"
        elif event.endswith(".send_request_headers.failed") and isinstance(info.get("exception"), httpcore.LocalProtocolError):
            self.yes = False


class _TooMuch(Exception):
    pass


async def _exchange(request: Request, seconds: float, largest: int, went: _Went) -> Reply:
    url, headers = httpx.URL(request.url), dict(request.headers)
    extensions: dict[str, Any] = {"trace": went.trace}
    if request.pinned:
        headers["host"] = urlsplit(request.url).netloc
        extensions["sni_hostname"] = url.host
        url = url.copy_with(host=request.pinned)
    # Compressed answers could unfold to any size, so none is asked for. Only the fixed https hosts go by a proxy.
    headers |= {"accept-encoding": "identity", "user-agent": "l2bench-live"}
    outside = url.scheme == "https" and not request.pinned
    async with httpx.AsyncClient(follow_redirects=False, trust_env=outside, timeout=seconds) as client:
        sent = client.build_request(request.method, url, headers=headers, content=request.content,
                                    extensions=extensions)
        reply = await client.send(sent, stream=True)
        try:
            if reply.headers.get("content-encoding", "identity").lower() != "identity":
                raise ValueError("compressed")
            parts: list[bytes] = []
            size = 0
            async for part in reply.aiter_raw():
                size += len(part)
                if size > largest:
                    raise _TooMuch
                parts.append(part)
        finally:
            await reply.aclose()
    raw = b"".join(parts)
    return Reply(reply.status_code, {k.lower(): safe_text(v) for k, v in reply.headers.items()}, parse_body(raw), raw)
