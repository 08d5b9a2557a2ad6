"""Turns an entry of the catalogue and a visitor's fields into requests: address, headers, signature.

Never sends; never puts a key into an address. Credentials come from the fields alone, never from this machine.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from runner.addresses import resolve
from runner.providers.catalogue import base_override
from runner.providers.entry import Call, Provider
from runner.providers.wire import Request, post

ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, repr=False)
class Route:
    """One provider with one visitor's fields, its address settled.

    Attributes:
        base: what takes the place of the entry's hosts, or "".
        pinned: the IP of the visitor's own endpoint, or "".
    """

    entry: Provider
    fields: Mapping[str, str]
    base: str = ""
    pinned: str = ""

    def get(self, call: Call) -> Request:
        """The GET for a call of the entry."""
        return self._signed("GET", self.entry.url(call, self.fields, self.base))

    def chat(self, model: str, body: Mapping[str, Any]) -> Request:
        """The POST that asks a model."""
        path = self.entry.chat.replace("{model}", quote(model, safe=""))
        return self._signed("POST", self.entry.url(Call(path), self.fields, self.base), body)

    def _signed(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> Request:
        headers = _headers(self.entry, self.fields)
        request = Request(method, url, headers, None, self.pinned) if body is None else post(url, body, headers, self.pinned)
        return _sigv4(request, self.fields) if self.entry.auth == "sigv4" else request


async def route(entry: Provider, fields: Mapping[str, str]) -> Route:
    """The route for cleaned fields; the visitor's own address is looked up once and pinned.

    Raises:
        UserError: that address is not allowed.
    """
    if any(f.name == "base_url" for f in entry.fields):
        address = await asyncio.to_thread(resolve, fields.get("base_url", ""))
        return Route(entry, fields, address.url, address.pinned)
    return Route(entry, fields, base_override(entry, fields))


def _headers(entry: Provider, fields: Mapping[str, str]) -> dict[str, str]:
    key = fields.get("api_key", "")
    headers = {"accept": "application/json"}
    if entry.auth == "bearer" and key:
        headers["authorization"] = f"Bearer {key}"
    elif entry.auth in ("x-api-key", "x-goog-api-key"):
        headers[entry.auth] = key
    if entry.dialect == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    return headers


def _sigv4(request: Request, fields: Mapping[str, str]) -> Request:
    """Signed as AWS asks, with these credentials only: no client is made, so no chain of credentials is looked up."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    credentials = Credentials(fields["aws_access_key_id"], fields["aws_secret_access_key"],
                              fields.get("aws_session_token"))
    signed = AWSRequest(request.method, request.url, dict(request.headers), request.content)
    SigV4Auth(credentials, "bedrock", fields["region_name"]).add_auth(signed)
    return Request(request.method, request.url, dict(signed.headers.items()), request.content, request.pinned)
