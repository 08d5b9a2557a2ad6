"""The content policy of every answer, and the other headers by which a browser keeps a page to itself. No request of a page
leaves for another host; only Hugging Face may show a Space's pages in a frame.

Two policies: ours, without inline code, for all but one page, and Gradio's for its one page at `/`.
"""

import base64
import hashlib
import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runner.addresses import hosted

HEADER = "Content-Security-Policy"
PLAIN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)
# Gradio makes functions out of text (the js of events and of gr.HTML) and writes styles into its elements.
GRADIO = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'{inline}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'self'"
)
HUB = "https://huggingface.co"
UNLISTED = re.compile(r"^/(r/|compare|api/|keys|live/)")
RUN = re.compile(rb"(?:^|&)run=")
_INLINE = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.S | re.I)


def for_gradio(page: bytes) -> str:
    """The policy of Gradio's page as it is sent: of inline scripts only those that stand in it now, by their digests."""
    digests = {base64.b64encode(hashlib.sha256(text).digest()).decode() for text in _INLINE.findall(page)}
    return GRADIO.format(inline="".join(f" 'sha256-{d}'" for d in sorted(digests)))


def ancestors() -> str:
    """Who may show a page in a frame: the site itself, and where it is a Space, Hugging Face's own page of it.

    Not *.hf.space: anyone can have a site there.
    """
    return f"frame-ancestors 'self' {HUB}" if hosted() else "frame-ancestors 'self'"


class Policy:
    """Pure ASGI middleware around everything, so that refusals, redirects and faults have a policy too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; an answer that brings a policy of its own keeps it and is told who may frame it."""
        of_run = bool(RUN.search(scope.get("query_string", b"")))

        async def sending(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers[HEADER] = f"{headers.get(HEADER, PLAIN)}; {ancestors()}"
                if of_run or UNLISTED.match(scope["path"]):
                    headers["X-Robots-Tag"] = "noindex, nofollow"
            await send(message)

        await self.app(scope, receive, sending)
