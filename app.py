"""L2-Bench Live: `python app.py` opens the app on this machine; a Hugging Face Space starts the same file.

Settings: L2BENCH_HOME (data folder, ./data), L2BENCH_HOST (127.0.0.1; 0.0.0.0 on a Space), L2BENCH_PORT (7860).
This process never imports the evaluation framework; runs live in the engine's processes.
"""

import asyncio
import os
import socket
import sys
from pathlib import Path

import uvicorn

from pipeline.errors import UserError
from ui.site import build_app


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 takes any free one.

    Raises:
        UserError: the address is in use or not ours.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)
    except OSError as error:
        raise UserError(
            f"{host}:{port} cannot be used: {error.strerror}.", "", "Set L2BENCH_PORT or L2BENCH_HOST."
        ) from None
    return bound


def main() -> int:
    """Serve until interrupted."""
    host = os.environ.get("L2BENCH_HOST") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    raw = os.environ.get("L2BENCH_PORT") or "7860"
    try:
        if not raw.isdigit() or int(raw) > 65535:
            raise UserError(f"L2BENCH_PORT is {raw!r}.", "A port from 0 to 65535.", "Correct it.")
        bound = listen(host, int(raw))
        app = build_app(Path(os.environ.get("L2BENCH_HOME") or "data"))
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        print(f"L2-Bench Live: http://{shown}:{bound.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            # h11 by name: the other parser hides that a request line held a whole address.
            app, http="h11", log_level="warning", access_log=False, timeout_graceful_shutdown=3, proxy_headers=False
        )
        asyncio.run(uvicorn.Server(config).serve(sockets=[bound]))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
