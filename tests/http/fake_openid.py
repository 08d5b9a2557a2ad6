"""A stand-in for Hugging Face's sign-in on a real loopback socket: discovery, keys, a consent page, tokens (RS256).

Speaks what Authlib asks and checks what a provider checks: client, redirect address, one use of a code. Holds no real data.
"""

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "l2-client", "l2-client-secret-canary"
SCOPES = "openid profile gated-repos inference-api"


class FakeOpenID:
    """The provider's state.

    Attributes:
        people: user name -> access token; the consent page offers each of them.
        life: seconds that a token lives.
        organisations: how many each account belongs to; many of them make an id token larger than a cookie.
        down: every answer is 500 while true.
        front: where browsers reach the consent page, if not at `url`.
        authorize, log: queries of the consent page, and paths of all requests.
    """

    def __init__(self) -> None:
        self.people = {"granted": "hf_granted_token", "plain": "hf_plain_token"}
        self.life, self.organisations, self.down = 3600, 2, False
        self.authorize: list[dict[str, str]] = []
        self.log: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig", "alg": "RS256"})
        self.url = self.front = ""

    def environ(self, space: str = "me/l2-bench-live") -> dict[str, str]:
        """What a Space with sign-in has in its environment, with this provider."""
        return {"SYSTEM": "spaces", "SPACE_ID": space, "OAUTH_CLIENT_ID": CLIENT, "OAUTH_CLIENT_SECRET": SECRET,
                "OAUTH_SCOPES": f"email {SCOPES} write-repos", "OPENID_PROVIDER_URL": self.url}

    def token(self, code: str, redirect: str) -> dict[str, Any] | None:
        """The answer to a code; None where it is not known, used before, or was given for another address."""
        asked = self.codes.pop(code, None)
        if asked is None or asked["redirect_uri"] != redirect:
            return None
        now, name = int(time.time()), asked["who"]
        organisations = [{"sub": f"o{i}", "name": f"Organisation {i}", "preferred_username": f"organisation-number-{i}",
                          "roleInOrg": "read"} for i in range(self.organisations)]
        claims = {"iss": self.url, "aud": CLIENT, "sub": f"id-of-{name}", "iat": now, "exp": now + 3600, "name": name.title(),
                  "nonce": asked.get("nonce", ""), "preferred_username": name, "profile": f"{self.url}/{name}",
                  "picture": f"{self.url}/{name}.png", "isPro": False, "orgs": organisations}
        return {"access_token": self.people[name], "token_type": "bearer", "expires_in": self.life, "scope": SCOPES,
                "id_token": jwt.encode({"alg": "RS256", "kid": "k1"}, claims, self.key)}


@contextmanager
def running() -> Iterator[FakeOpenID]:
    """A provider that listens while the block runs; `openid.url` is its address."""
    openid = FakeOpenID()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"openid": openid}))
    server.daemon_threads = True
    openid.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield openid
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    openid: FakeOpenID

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on standard error."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        self.openid.log.append(url.path)
        if self.openid.down:
            self._json({}, 500)
        elif url.path == "/.well-known/openid-configuration":
            self._json(_discovery(self.openid.url, self.openid.front))
        elif url.path == "/oauth/jwks":
            self._json({"keys": [self.openid.key.as_dict(private=False)]})
        elif url.path == "/oauth/authorize":
            self.openid.authorize.append(query)
            self._consent(query)
        elif url.path == "/oauth/answer":
            self._answer(query)
        else:
            self._json({"error": "not found"}, 404)

    def do_POST(self) -> None:
        body = parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        self.openid.log.append(urlsplit(self.path).path)
        wanted = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.openid.down:
            return self._json({}, 500)
        if self.headers.get("Authorization") != wanted:
            return self._json({"error": "invalid_client"}, 401)
        found = self.openid.token(body.get("code", [""])[0], body.get("redirect_uri", [""])[0])
        self._json(found or {"error": "invalid_grant"}, 200 if found else 400)

    def _consent(self, query: dict[str, str]) -> None:
        if query.get("client_id") != CLIENT or query.get("response_type") != "code":
            return self._json({"error": "unauthorized_client"}, 400)
        asked = {k: query.get(k, "") for k in ("redirect_uri", "state", "nonce")}
        links = "".join(_link(f"accept-{who}", {**asked, "who": who}) for who in self.openid.people) + _link("refuse", asked)
        self._send(200, f"<!doctype html><title>Consent</title>{links}".encode(), {"Content-Type": "text/html"})

    def _answer(self, query: dict[str, str]) -> None:
        if "who" in query:
            code = secrets.token_urlsafe(16)
            self.openid.codes[code] = query
            answer = {"code": code, "state": query["state"]}
        else:
            answer = {"error": "access_denied", "error_description": "The user denied access", "state": query["state"]}
        joiner = "&" if "?" in query["redirect_uri"] else "?"
        self._send(302, b"", {"Location": query["redirect_uri"] + joiner + urlencode(answer)})

    def _json(self, body: Any, status: int = 200) -> None:
        self._send(status, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _link(name: str, query: dict[str, str]) -> str:
    return f'<p><a id="{escape(name)}" href="/oauth/answer?{escape(urlencode(query))}">{escape(name)}</a></p>'


def _discovery(url: str, front: str) -> dict[str, Any]:
    return {"issuer": url, "authorization_endpoint": f"{front or url}/oauth/authorize", "token_endpoint": f"{url}/oauth/token",
            "userinfo_endpoint": f"{url}/oauth/userinfo", "jwks_uri": f"{url}/oauth/jwks", "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"], "subject_types_supported": ["public"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"]}
