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

from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.core.written import guard_logs, guarded
from pipeline.errors import UserError
from runner.service import RunService
from ui.connection import Connection, notice_the_gone
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
        notice_the_gone(bound)
    except OSError as error:
        sentence = f"{host}:{port} cannot be used: {error.strerror}."
        raise UserError(sentence, "", "Set L2BENCH_PORT or L2BENCH_HOST.") from None
    return bound


@guarded
def main() -> int:
    """Serve until interrupted."""
    host = os.environ.get("L2BENCH_HOST") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    raw = os.environ.get("L2BENCH_PORT") or "7860"
    guard_logs(Redactor(machine_secrets(os.environ)))
    try:
        if not raw.isdigit() or int(raw) > 65535:
            raise UserError(f"L2BENCH_PORT is {raw!r}.", "A port from 0 to 65535.", "Correct it.")
        bound = listen(host, int(raw))
        app = build_app(Path(os.environ.get("L2BENCH_HOME") or "data"))
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        config = uvicorn.Config(
            # Its parser is h11, by name: the other one hides that a request line held a whole address.
            app, http=Connection, log_level="warning", access_log=False, timeout_graceful_shutdown=3, proxy_headers=False
        )
        asyncio.run(_serve(app.state.service, f"http://{shown}:{bound.getsockname()[1]}", uvicorn.Server(config), bound))
    except UserError as error:
        print(f"Nothing was started. {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(service: RunService, address: str, server: uvicorn.Server, bound: socket.socket) -> None:
    """Take the data folder first: a server that may not have it ends in words, before anyone is told its address.

    Raises:
        UserError: another server uses the data folder, or it cannot be written.
    """
    await service.open()
    print(f"L2-Bench Live: {address}", flush=True)
    await server.serve(sockets=[bound])


if __name__ == "__main__":
    sys.exit(main())
