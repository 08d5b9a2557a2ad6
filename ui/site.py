"""Puts the whole app together: guard, our own routes, Gradio last. Evaluates nothing and opens no port.

Our routes win over Gradio's because they stand first. The service is opened and closed with the app.
"""

import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")

from fastapi import FastAPI  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.middleware.cors import CORSMiddleware  # noqa: E402
from starlette.responses import PlainTextResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402
from starlette.types import Receive, Scope, Send  # noqa: E402

from runner import api  # noqa: E402
from runner.gate import Gate  # noqa: E402
from runner.local_model import LOCAL  # noqa: E402
from runner.openrouter_oauth import OpenRouterOAuth  # noqa: E402
from runner.providers.models import ModelLists  # noqa: E402
from runner.service import RunService  # noqa: E402
from runner.vault import Vault  # noqa: E402
from ui import assets, keys, mounted, page, privacy, run_routes, signin, visitor  # noqa: E402
from ui.farewell import Farewell, Going  # noqa: E402
from ui.gated import Gated  # noqa: E402
from ui.guard import Guard, allowed_hosts  # noqa: E402
from ui.index import Index  # noqa: E402
from ui.sources import Sources  # noqa: E402
from ui.start import Room  # noqa: E402
from ui.theme import theme  # noqa: E402
from ui.wiring import connect  # noqa: E402
from ui.words import words  # noqa: E402

log = logging.getLogger(__name__)
STYLES = ("tokens", "base", "page")
# Put in after Gradio's own styles, so that ours win where names meet.
HEAD = "".join(f'<link rel="stylesheet" href="/static/style/{name}.css">' for name in STYLES) + (
    '<script type="module" src="/static/js/page.js"></script>'
)


def build_app(home: Path, service: RunService | None = None) -> FastAPI:
    """The app on the data folder `home`, to be given to an ASGI server.

    Args:
        service: another service than the real one on `home`, for tests.
    """
    owner = signin.take_owner_tokens()
    service = service or RunService(home, mirror=owner.mirror)
    gated = Gated(Gate(home), signin.configured())
    vault, lists = Vault(), ModelLists()
    ring = keys.KeyRing(vault)
    room = Room(service, ring, lists, Sources(gated))
    going = Going()
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_life(service, vault, gated.gate),
        middleware=[
            Middleware(Farewell, going=going),
            Middleware(Guard, hosts=allowed_hosts()),
            Middleware(CORSMiddleware, allow_origins=[]),
            Middleware(Index),
            Middleware(signin.SignIn, on_out=gated.gate.forget),
        ],
    )
    signin.attach(app)  # puts the session around all of these
    ours = [
        *assets.routes,
        *keys.routes(ring, OpenRouterOAuth(vault), lists),
        *run_routes.routes(service, ring, lists, gated.places),
        *api.routes(service, visitor.hf_user),
        *privacy.routes,
        *_results(service, room, gated),
    ]
    app.router.routes += [*ours, *_wrong_methods(ours)]
    app.state.service, app.state.room, app.state.gated, app.state.going = service, room, gated, going
    return _with_gradio(app, room)


class _WrongMethod:
    """Answers 405; without it a wrong method would go on to Gradio, which says that our address does not exist."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = ", ".join(sorted(allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("method not allowed", 405, {"Allow": self.allowed})(scope, receive, send)


def _wrong_methods(routes: list[Any]) -> list[Route]:
    allowed: dict[str, set[str]] = {}
    for route in routes:
        allowed.setdefault(route.path, set()).update(route.methods)
    return [Route(path, _WrongMethod(found)) for path, found in allowed.items() if not path.startswith("/static/")]


def _with_gradio(app: FastAPI, room: Room) -> FastAPI:
    demo, parts = page.build(room.sources.offer("demo", words()), room.sources.kinds())
    connect(demo, parts, room)
    mounted.mount(
        app,
        demo,
        theme=theme(),
        head=HEAD,
        i18n=page.I18N,
        favicon_path=str(assets.ROOT / "assets" / "style" / "mark.svg"),
    )
    return app


def _results(service: RunService, room: Room, gated: Gated) -> list[Any]:
    """The routes of the result pages and of what they offer to take along."""
    try:
        found, downloads = importlib.import_module("ui.results"), importlib.import_module("ui.downloads")
    except ImportError as error:
        log.warning("the result pages are missing: %s", error)
        return []
    pages = found.routes(
        service, may_see_text=gated.may_see, kept_tasks=gated.kept, sources=room.sources, viewer=visitor.hf_user
    )
    return [*downloads.routes(service, visitor.hf_user, gated.may_see_text), *pages]


def _life(service: RunService, vault: Vault, gate: Gate) -> Any:
    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        import asyncio

        async def forget() -> None:
            while True:
                await asyncio.sleep(60)
                vault.sweep()
                await asyncio.to_thread(gate.sweep)

        await service.open()
        await asyncio.to_thread(gate.open)
        sweeping = asyncio.create_task(forget())
        try:
            yield
        finally:
            sweeping.cancel()
            await service.close()
            await asyncio.to_thread(gate.close)
            await asyncio.to_thread(LOCAL.stop)

    return life
