"""A page of Hugging Face that shows the Space in a frame: two names on the loopback, TLS as the Spaces proxy ends it.

The proxy gives connections to `huggingface.co` to the stand-in of its sign-in, and those to the Space's name to the app.
"""

import json
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import BrowserContext, BrowserType

from tests.browser import CHROMIUM, FLAGS, patient

HUB, SPACE = "huggingface.co", "me-l2-bench-live.hf.space"
PAGE = f'<!doctype html><title>Space</title><h1>Hugging Face</h1><iframe name="space" width="1200" height="800" src="https://{SPACE}/"></iframe>'
_HEAD = re.compile(rb"(GET|POST|DELETE|HEAD) (\S+) HTTP/1\.1\r\n(?=[Hh]ost: ([^\r]+)\r\n)")


class Proxy:
    """Ends TLS in front of the app and of the sign-in.

    Attributes:
        port: where it listens.
        unpartitioned: takes the word out of every cookie, as if the browser did not know it.
    """

    def __init__(self, folder: Path, app: int, hub: int) -> None:
        self.app, self.hub, self.unpartitioned = app, hub, False
        cert, key = folder / "cert.pem", folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2",
                        "-subj", "/CN=loopback", "-addext", f"subjectAltName=DNS:{HUB},DNS:{SPACE}"], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        with suppress(OSError), raw, self.context.wrap_socket(raw, server_side=True) as client:
            server: socket.socket | None = None
            while got := client.recv(65536):
                head = _HEAD.match(got)
                if head and (own := self._own(head[2].decode(), head[3].decode(), got)):
                    client.sendall(own)
                    break
                if head and server is None:
                    server = socket.create_connection(("127.0.0.1", self.hub if head[3] == HUB.encode() else self.app))
                    threading.Thread(target=self._down, args=(server, client), daemon=True).start()
                if server:
                    server.sendall(_HEAD.sub(rb"\1 \2 HTTP/1.1\r\nX-Forwarded-Proto: https\r\n", got, count=1))
            if server:
                server.close()

    def _down(self, server: socket.socket, client: ssl.SSLSocket) -> None:
        with suppress(OSError):
            while got := server.recv(65536):
                client.sendall(got.replace(b"; Partitioned", b"") if self.unpartitioned else got)
            client.shutdown(socket.SHUT_RDWR)

    def _own(self, path: str, host: str, request: bytes) -> bytes:
        """The page with the frame, and on the Space's name a plain third-party cookie, to see what the browser does with one."""
        more, body = b"", b""
        if host == HUB and path == "/spaces":
            more, body = b"Content-Type: text/html\r\n", PAGE.encode()
        elif path == "/set-plain":
            more = b"Set-Cookie: plain=1; Path=/; Secure; SameSite=None\r\n"
        elif path == "/get-plain":
            body = b"yes" if b"plain=1" in request else b"no"
        else:
            return b""
        return b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextmanager
def browsing(kind: BrowserType, folder: Path, port: int, third_party_cookies: bool) -> Iterator[BrowserContext]:
    """A browser with a profile of its own, which blocks third-party cookies or allows them, and knows the two names."""
    profile = folder / f"profile-{third_party_cookies}"
    (profile / "Default").mkdir(parents=True)
    wanted = {"profile": {"cookie_controls_mode": 0 if third_party_cookies else 1, "block_third_party_cookies": not third_party_cookies}}
    (profile / "Default" / "Preferences").write_text(json.dumps(wanted))
    rules = ", ".join(f"MAP {name} 127.0.0.1:{port}" for name in (HUB, SPACE))
    context = kind.launch_persistent_context(
        profile, executable_path=CHROMIUM, args=[*FLAGS, f"--host-resolver-rules={rules}"], ignore_https_errors=True,
        viewport={"width": 1280, "height": 900})
    try:
        yield patient(context)
    finally:
        context.close()
