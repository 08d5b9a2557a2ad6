"""Reads the body of a request that a browser or a script sends: one JSON object, or the fields of a form.

Every fault is a UserError, so that a route answers 400 with a sentence; what was sent is never repeated in it.
"""

from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from pipeline.core.json_in import FROM_BROWSER, BadJson, read_json
from pipeline.core.text import safe_text
from pipeline.errors import UserError

MOST_FIELDS = 100


async def json_object(request: Request, largest: int = FROM_BROWSER.size) -> dict[str, Any]:
    """The JSON object of the request; an empty body is an empty object.

    Raises:
        UserError: it is too large, or no JSON object that our reader takes.
    """
    raw = await _body(request, largest)
    try:
        found = read_json(raw, FROM_BROWSER) if raw else {}
    except BadJson as error:
        raise UserError(str(error), "A JSON object.") from None
    if not isinstance(found, dict):
        raise UserError("What was sent is no JSON object.", "A JSON object.")
    return found


async def form_fields(request: Request, largest: int = 20_000) -> ImmutableMultiDict[str, str]:
    """The fields of a form as a page of ours sends it.

    Read here and not by Starlette, which decodes a field in whatever encoding the sender names.

    Raises:
        UserError: it is too large, or no such form.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in ("", "application/x-www-form-urlencoded"):
        raise UserError("What was sent is no form of this site.", "The page's own form.")
    raw = await _body(request, largest)
    try:
        pairs = parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise UserError(f"What was sent has more than {MOST_FIELDS} fields.", "The page's own form.") from None
    return ImmutableMultiDict([(safe_text(name), safe_text(value)) for name, value in pairs])


async def _body(request: Request, largest: int) -> bytes:
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > largest:
            raise UserError(f"What was sent is too large: at most {largest:,} bytes.")
    return raw
