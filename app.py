"""L2-Bench Live: `python app.py` opens the app on this machine; a Hugging Face Space starts the same file.

Settings: L2BENCH_HOME (data folder, ./data), L2BENCH_HOST (127.0.0.1; 0.0.0.0 on a Space), L2BENCH_PORT (7860).
This process never imports the evaluation framework; runs live in the engine's processes.
"""

import os
import signal
import socket
import sys
from pathlib import Path

from pipeline.core.written import guarded
from pipeline.errors import UserError
from ui import clean_start


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
        found = f"{host}:{port} cannot be used: {error.strerror}."
        raise UserError(found, "", "Set L2BENCH_PORT or L2BENCH_HOST.") from None
    return bound


@guarded
def main() -> int:
    """Serve until interrupted; the exit code."""
    host = os.environ.get("L2BENCH_HOST") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    raw = os.environ.get("L2BENCH_PORT") or "7860"
    try:
        if not raw.isdigit() or int(raw) > 65535:
            raise UserError(f"L2BENCH_PORT is {raw!r}.", "A port from 0 to 65535.", "Correct it.")
        bound = listen(host, int(raw))
        from ui.serving import serve  # takes seconds

        serve(Path(os.environ.get("L2BENCH_HOME") or "data"), bound)
    except UserError as error:
        print(f"Nothing was started. {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would only break into the end
        print("Ended. What was running is kept and can be resumed.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    clean_start.clean()
    code = main()
    sys.stdout.flush()
    os._exit(code)  # taking the large modules down one by one would last longer than the whole shutdown
