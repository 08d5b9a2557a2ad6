"""The server around the app: how it is set up, and how it ends. Opens no port; takes one that is open."""

import asyncio
import socket
from pathlib import Path

import uvicorn

from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.core.written import guard_logs
from runner.service import RunService
from ui.clean_start import settings
from ui.connection import Connection, notice_the_gone
from ui.farewell import Server
from ui.site import build_app

PATIENCE = 1  # seconds; what streams has had its last word before, so this is for answers that are being made


def serve(home: Path, bound: socket.socket) -> None:
    """Serve the app on the data folder `home` until a signal comes, which is raised again at the end.

    Raises:
        UserError: the app cannot be set up, or another server uses the data folder. KeyboardInterrupt: it was ended with Ctrl-C.
    """
    guard_logs(Redactor(machine_secrets(settings())))
    notice_the_gone(bound)
    app = build_app(home)
    config = uvicorn.Config(
        # Its parser is h11, by name: the other one hides that a request line held a whole address.
        app, http=Connection, log_level="warning", access_log=False, timeout_graceful_shutdown=PATIENCE, proxy_headers=False
    )
    # Not asyncio.run: at the end it would wait for every thread, such as one that waits for a download.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_serve(app.state.service, Server(config, app.state.going), bound))


async def _serve(service: RunService, server: Server, bound: socket.socket) -> None:
    """Take the data folder first: a server that may not have it ends in words, before anyone is told its address."""
    await service.open()
    host, port = bound.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    print(f"L2-Bench Live: http://{shown}:{port}", flush=True)
    await server.serve(sockets=[bound])
