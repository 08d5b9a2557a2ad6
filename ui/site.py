"""Puts the whole app together: guard, our own routes, Gradio last. Evaluates nothing and opens no port.

Our routes win over Gradio's because they stand first. The service is opened and closed with the app.
"""

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000")

from fastapi import FastAPI  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.middleware.cors import CORSMiddleware  # noqa: E402
from starlette.responses import PlainTextResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402
from starlette.types import ASGIApp, Receive, Scope, Send  # noqa: E402

from runner import api  # noqa: E402
from runner.gate import Gate  # noqa: E402
from runner.local_model import LOCAL  # noqa: E402
from runner.logins import Logins  # noqa: E402
from runner.openrouter_oauth import OpenRouterOAuth  # noqa: E402
from runner.providers.models import ModelLists  # noqa: E402
from runner.service import RunService  # noqa: E402
from runner.vault import Vault  # noqa: E402
from ui import assets, cookies, keys, mounted, page, privacy, run_routes, signin, visitor  # noqa: E402
from ui.address import Address  # noqa: E402
from ui.fair import Fair  # noqa: E402
from ui.farewell import Farewell, Going  # noqa: E402
from ui.gated import Gated  # noqa: E402
from ui.guard import Guard  # noqa: E402
from ui.hosts import Answered, Hosts  # noqa: E402
from ui.index import Index  # noqa: E402
from ui.policy import Policy  # noqa: E402
from ui.sources import Sources  # noqa: E402
from ui.start import Room  # noqa: E402
from ui.theme import theme  # noqa: E402
from ui.wiring import connect  # noqa: E402
from ui.words import words  # noqa: E402

log = logging.getLogger(__name__)
THREADS = 64
STYLES = ("tokens", "base", "page")
# Put in after Gradio's own styles, so that ours win where names meet.
HEAD = "".join(f'<link rel="stylesheet" href="/static/style/{name}.css">' for name in STYLES) + (
    '<script type="module" src="/static/js/page.js"></script>'
)


class Site(FastAPI):
    """The app with what has to stand outside of all, the session's layer and the handler of faults among them."""

    hosts = Hosts()

    def build_middleware_stack(self) -> ASGIApp:
        """As Starlette's, in our own coat."""
        return Policy(Answered(cookies.Partitioned(super().build_middleware_stack()), self.hosts))


def build_app(home: Path, service: RunService | None = None) -> FastAPI:
    """The app on the data folder `home`, to be given to an ASGI server.

    Args:
        service: another service than the real one on `home`, for tests.
    """
    hosts = Hosts.from_env()
    owner = signin.take_owner_tokens()
    service = service or RunService(home, mirror=owner.mirror)
    gated = Gated(Gate(home), signin.configured())
    vault, lists, logins = Vault(), ModelLists(), Logins(home)
    ring = keys.KeyRing(vault)
    room = Room(service, ring, lists, Sources(gated))
    going = Going()
    app: Site = Site(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_life(service, vault, gated.gate, logins),
        middleware=[
            Middleware(Farewell, going=going),
            Middleware(Guard, hosts=hosts),
            Middleware(Address),
            Middleware(Fair, limits=service.limits, sessions=lambda: app.state.sessions),
            Middleware(CORSMiddleware, allow_origins=[]),
            Middleware(Index),
            Middleware(signin.SignIn, on_out=gated.gate.forget, on_leave=keys.leaving(ring), logins=logins),
        ],
    )
    app.hosts = hosts
    offered = signin.attach(app)  # puts the session around all of these
    ours = [
        *assets.routes,
        *(cookies.routes if offered else ()),
        *keys.routes(ring, OpenRouterOAuth(vault), lists),
        *run_routes.routes(service, ring, lists, gated.places),
        *api.routes(service, visitor.hf_user, visitor.counted_as),
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
    door = mounted.mount(
        app,
        demo,
        theme=theme(),
        head=HEAD,
        i18n=page.I18N,
        favicon_path=str(assets.ROOT / "assets" / "style" / "mark.svg"),
    )
    app.state.sessions = door.sessions
    return app


def _results(service: RunService, room: Room, gated: Gated) -> list[Any]:
    """The routes of the result pages and of what they offer to take along."""
    try:
        found, downloads = importlib.import_module("ui.results"), importlib.import_module("ui.downloads")
    except ImportError as error:
        log.warning("the result pages are missing: %s", error)
        return []
    pages = found.routes(service, gated.texts, gated.kept, room.sources, visitor.hf_user)
    return [*downloads.routes(service, visitor.hf_user, gated.texts), *pages]


def _life(service: RunService, vault: Vault, gate: Gate, logins: Logins) -> Any:
    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        # One visitor's requests hold a few threads at most; there are enough for the journals of running runs beside them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))

        async def forget() -> None:
            while True:
                await asyncio.sleep(60)
                vault.sweep()
                logins.sweep()
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
