"""Serves our own styles, scripts, fonts, words and plotly.js; never a path outside the lists it makes at the start.

Text is compressed once in memory. Every answer has a digest of its content as tag, so that a new version is seen at once.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

ROOT = Path(__file__).resolve().parent.parent
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
FOLDERS = {
    "style": ROOT / "assets" / "style",
    "js": ROOT / "assets" / "js",
    "fonts": ROOT / "assets" / "fonts",
    "words": ROOT / "ui" / "words",
}
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """One file, ready to send; `packed` by encoding, smallest first."""

    body: bytes
    kind: str
    tag: str
    packed: tuple[tuple[str, bytes], ...]
    cache: str


def pack(body: bytes, kind: str, cache_control: str) -> Asset:
    """The asset with its compressed forms; brotli where the package is there."""
    packed: list[tuple[str, bytes]] = []
    if not kind.startswith(("font/", "image/png")):
        try:
            import brotli

            packed.append(("br", brotli.compress(body, quality=9 if len(body) < 500_000 else 5)))
        except ImportError:
            pass
        packed.append(("gzip", gzip.compress(body, 6, mtime=0)))
    return Asset(body, kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"', tuple(packed), cache_control)


@cache
def table() -> dict[str, Path]:
    """Every file that may be asked for, by its path under /static/."""
    found = {}
    for name, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in TYPES:
                found[f"{name}/{path.relative_to(folder).as_posix()}"] = path
    return found


def plotly_path() -> str:
    """Address of plotly.js; its version is in the name, so that it may be kept for ever."""
    from importlib.metadata import version

    return f"/static/plotly-{version('plotly')}.js"


@cache
def _plotly() -> Asset:
    import importlib.util

    spec = importlib.util.find_spec("plotly")
    assert spec is not None and spec.origin is not None
    body = (Path(spec.origin).parent / "package_data" / "plotly.min.js").read_bytes()
    return pack(body, TYPES[".js"], FOREVER)


_kept: dict[str, tuple[int, Asset]] = {}


def _asset(name: str) -> Asset | None:
    path = table().get(name)
    if path is None:
        return None
    stamp = path.stat().st_mtime_ns
    if _kept.get(name, (0, None))[0] != stamp:
        _kept[name] = (
            stamp,
            pack(path.read_bytes(), TYPES[path.suffix], FOREVER if path.suffix == ".woff2" else "public, no-cache"),
        )
    return _kept[name][1]


async def serve(request: Request) -> Response:
    """Answer one file under /static/."""
    name = request.path_params["path"]
    found = _plotly() if f"/static/{name}" == plotly_path() else _asset(name)
    if found is None:
        return PlainTextResponse("not found", 404)
    headers = {"Cache-Control": found.cache, "ETag": found.tag, "Vary": "Accept-Encoding"}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    accepted = request.headers.get("accept-encoding", "")
    for encoding, body in found.packed:
        if encoding in accepted:
            return Response(body, 200, {**headers, "Content-Encoding": encoding}, found.kind)
    return Response(found.body, 200, headers, found.kind)


class _Known(Route):
    """Matches our own files only: Gradio serves files of its own under /static/."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        name = child.get("path_params", {}).get("path", "")
        known = name in table() or f"/static/{name}" == plotly_path()
        return (match, child) if known else (Match.NONE, {})


routes = [_Known("/static/{path:path}", serve, methods=["GET", "HEAD"])]
