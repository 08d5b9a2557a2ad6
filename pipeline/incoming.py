"""What a provider's answer is turned into before its SDK reads it: plain JSON that our own reader has read and mended.

So no SDK, and not inspect behind it, ever parses what the reader refused, and all of them read the same value.
"""

import importlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from pipeline.core.json_in import FROM_PROVIDER, BadJson, read_json
from pipeline.core.text import safe_text

MOST_STREAMED = 8 * FROM_PROVIDER.size
"""Bytes of a whole event stream: each word of an answer travels with a few hundred bytes around it."""
Clean = Callable[[Any, bytes], Any]
"""Takes keys out of a JSON value or a line of text, the first argument; the second is what it came in."""


class UnreadableAnswer(Exception):
    """What came is no answer that can be read; raised in place of handing it on. The text is a public sentence."""


async def whole_body(response: Any) -> bytes:
    """The body of an httpx response, decompressed; its bytes are counted while they come.

    Raises:
        UnreadableAnswer: it is longer than any answer.
    """
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > FROM_PROVIDER.size:
            raise UnreadableAnswer(_too_large())
        parts.append(part)
    return b"".join(parts)


def put_body(response: Any, raw: bytes) -> None:
    """Make `raw` what the SDK reads of a response whose body was taken."""
    response._content = raw


def put_json(response: Any, value: Any) -> None:
    """Make a JSON value what the SDK reads, whatever encoding the response had announced."""
    put_body(response, as_json(value))
    response.headers["content-type"] = "application/json"


def as_json(value: Any) -> bytes:
    """The value as JSON in ASCII, which every parser reads alike."""
    return json.dumps(value).encode()


def clean_stream(response: Any, clean: Clean, refused: Callable[[str], None]) -> None:
    """Put our reader between an event stream and its SDK: each event's data is read, mended and written anew.

    Args:
        clean: takes keys out of what an event holds.
        refused: told why, where an event cannot be read; then `UnreadableAnswer` is raised in the SDK's loop.
    """
    kind = type(response)
    library = importlib.import_module(kind.__module__.partition(".")[0])  # httpx, or Mistral's copy of it
    inner = kind(response.status_code, headers=response.headers, stream=response.stream)

    class Cleaned(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for event in _events(inner.aiter_bytes()):
                    yield clean_event(event, clean)
            except UnreadableAnswer as error:
                refused(str(error))
                raise

        async def aclose(self) -> None:
            await inner.aclose()

    response.headers.pop("content-encoding", None)
    response.stream = Cleaned()


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The events of a stream, each with the blank line that ends it; what is left at the end is the last one."""
    rest, size = b"", 0
    async for chunk in chunks:
        size += len(chunk)
        rest += chunk
        if size > MOST_STREAMED or len(rest) > FROM_PROVIDER.size:
            raise UnreadableAnswer(_too_large())
        if b"\n" in chunk or b"\r" in chunk:
            held = rest[-1:] if rest.endswith(b"\r") else b""  # perhaps the first half of a line's end
            *whole, rest = rest[: len(rest) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
            rest += held
            for event in whole:
                yield event + b"\n\n"
    if rest.strip():
        yield rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\n\n"


def clean_event(event: bytes, clean: Clean) -> bytes:
    """One event of a stream with its data as plain JSON; a word such as `[DONE]` in place of JSON stays.

    Raises:
        UnreadableAnswer: the data cannot be read.
    """
    lines = safe_text(event.decode("utf-8", "replace")).strip("\n").split("\n")
    data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:")).strip()
    kept = [clean(line, event) for line in lines if not line.startswith("data:")]
    if data and not (data.startswith("[") and data[1:-1].isalpha()):
        data = as_json(clean(read_answer(data.encode()), event)).decode()
    if data:
        kept.append(f"data: {data}")
    return ("\n".join(kept) + "\n\n").encode()


def read_answer(raw: bytes, answered: bool = True) -> Any:
    """The JSON value of an answer.

    Args:
        answered: whether it came as a success; then it is an object in every dialect, and an SDK would build its records
            from whatever else it is. Errors may come in a list.

    Raises:
        UnreadableAnswer: it is none, or not one that our reader takes.
    """
    try:
        value = read_json(raw, FROM_PROVIDER)
    except BadJson as error:
        raise UnreadableAnswer(str(error)) from None
    if answered and not isinstance(value, dict):
        raise UnreadableAnswer("What was sent is no JSON object.")
    return value


def _too_large() -> str:
    return f"What was sent is too large: at most {FROM_PROVIDER.size:,} bytes."
