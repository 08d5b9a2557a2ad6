"""The server around the app: how it is set up, and how it ends. Opens no port; takes one that is open."""

import asyncio
import socket
from pathlib import Path

import uvicorn

from ui.farewell import Server
from ui.site import build_app

PATIENCE = 1  # seconds; what streams has had its last word before, so this is for answers that are being made


def serve(home: Path, bound: socket.socket) -> None:
    """Serve the app on the data folder `home` until a signal comes, which is raised again at the end.

    Raises:
        UserError: the app cannot be set up. KeyboardInterrupt: it was ended with Ctrl-C.
    """
    app = build_app(home)
    host, port = bound.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    print(f"L2-Bench Live: http://{shown}:{port}", flush=True)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=PATIENCE, proxy_headers=False
    )
    # Not asyncio.run: at the end it would wait for every thread, such as one that waits for a download.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(Server(config, app.state.going).serve(sockets=[bound]))
