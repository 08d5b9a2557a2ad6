"""Whether something listens at an address: one TCP connection that is closed without a byte, so that it costs nothing.

Never sends a request, and never waits longer than `SECONDS`, whatever resolver and network do.
"""

import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

SECONDS = 3.0
"""For finding the name and for connecting, together."""
PORTS = {"http": 80, "https": 443}
T = TypeVar("T")


class Late(Exception):
    """It took longer than it may."""


def nothing_there(url: str, pinned: str = "") -> str:
    """Why nobody can be reached at this address, as the end of a sentence; "" where a connection opened.

    Args:
        url: one that `clean_address` takes. pinned: the only IP address that its name may stand for, or "".
    """
    host, port, by = _door_of(url, pinned)
    through = f" (the proxy on the way to {_shown(url)})" if by else ""
    try:
        within(SECONDS, lambda: _connect(host, port))
    except socket.gaierror:
        return f"the name {host} is not known to the network{through}"
    except (Late, TimeoutError):
        return f"nothing answered at {host}:{port} within {SECONDS:.0f} seconds{through}"
    except (OSError, UnicodeError) as error:
        refused = isinstance(error, ConnectionRefusedError)
        why = "" if refused else f" ({getattr(error, 'strerror', None) or type(error).__name__})"
        return f"nothing listens at {host}:{port}{why}{through}"
    return ""


def _door_of(url: str, pinned: str) -> tuple[str, int, bool]:
    """Host and port to connect to, and whether they are those of a proxy: the clients go by it, so we do."""
    split = urlsplit(url)
    host = split.hostname or ""
    proxy = "" if pinned or proxy_bypass(host) else next((p for k in (split.scheme, "all") if (p := getproxies().get(k))), "")
    if proxy:
        way = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if way.hostname:
            return way.hostname, way.port or PORTS.get(way.scheme, 1080), True
    return pinned or host, split.port or PORTS.get(split.scheme, 443), False


def _shown(url: str) -> str:
    split = urlsplit(url)
    return f"{split.hostname}:{split.port}" if split.port else split.hostname or ""


def _connect(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=SECONDS).close()


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` gives, or what it raises, if that takes no longer; a resolver knows no timeout of its own.

    Raises:
        Late: it took longer. Its thread is left to end by itself.
    """
    found: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            found.append((True, work()))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            found.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise Late
    good, value = found[0]
    if good:
        return value  # type: ignore[no-any-return]
    raise value
