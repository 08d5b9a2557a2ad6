"""Makes the address of every request safe before any room reads it: length, odd characters, a parameter that only breaks.

Refuses nothing that a link of ours holds; what is refused is told in a few plain words.
"""

from urllib.parse import parse_qsl, unquote_plus, urlencode

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.core.text import safe_text

LONGEST = 32_768  # bytes of an address
LONGEST_NAME = 255  # bytes of one part of a path: what a file's name may have, and an id of ours never reaches
MOST_PARAMETERS = 4000


class Address:
    """Pure ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on with a safe address, or answer 404 or 414."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"]) > LONGEST:
            await PlainTextResponse(f"This address is too long: at most {LONGEST:,} bytes.", 414)(scope, receive, send)
        elif _odd(scope["path"]):
            await PlainTextResponse("not found", 404)(scope, receive, send)
        else:
            await self.app({**scope, "query_string": _query(scope["path"], scope["query_string"])}, receive, send)


def _odd(path: str) -> bool:
    return safe_text(path) != path or any(len(part.encode()) > LONGEST_NAME for part in path.split("/"))


def _query(path: str, raw: bytes) -> bytes:
    """The parameters with their text made safe; as they came where there is nothing to mend."""
    text = raw.decode("latin-1")
    # Gradio reads `page` as one of its own pages, of which there is one, and breaks at every other name.
    gradio = path.rstrip("/") in ("", "/config") and "page" in text
    if not gradio and text.isascii() and safe_text(plain := unquote_plus(text)) == plain:
        return raw
    try:
        pairs = parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return b""
    kept = [(safe_text(name), safe_text(value)) for name, value in pairs if not (gradio and name == "page")]
    return urlencode(kept).encode()
