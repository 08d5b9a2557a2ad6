"""The shape of one entry of the catalogue: all that the app knows of a provider. Never holds a key, never calls out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import UserError

Dialect = Literal["openai", "anthropic", "google", "bedrock", "none"]
Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "sigv4", "none"]
Reader = Literal["list", "openrouter", "deepseek", "whoami"]

REGION = r"[a-z]{2,3}(-[a-z]+){1,3}-\d{1,2}"


@dataclass(frozen=True)
class KeyField:
    """One thing to fill in.

    Attributes:
        name: as the provider's client takes it (`api_key`, `aws_access_key_id`, ...).
        secret: whether it goes to the vault as a secret and is typed into a password field.
        pattern: regular expression the whole value must match, or "".
        hint: what it looks like, in a few words.
    """

    name: str
    label: str
    secret: bool = True
    optional: bool = False
    pattern: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Call:
    """One GET of the provider.

    Attributes:
        path: from the base, or from the host's root where it starts with a slash.
        origin: another fixed https origin than the base's, or "".
        field: where the models stand in the answer; "" for a bare list.
        id_field: name of a model's id.
        strip: a prefix of every id that its clients do not use.
    """

    path: str
    origin: str = ""
    field: str = "data"
    id_field: str = "id"
    strip: str = ""


@dataclass(frozen=True)
class Provider:
    """All that is known of one provider.

    Attributes:
        base: fixed https base URL (`{region}` filled from the fields); "" where there is none or the visitor gives it.
        prefix: what inspect puts before the model's id.
        listing: how to list models, or None.
        check, reader: how to check a key (None: by the listing) and how its answer is read.
        public_list: the list is open to anyone and says nothing about a key.
        full_list: what is not listed cannot be called.
        reasoning: how a reasoning budget in tokens is sent, or "" where it cannot be.
        key_url, key_note: where to get a key, and one sentence on limiting what it can spend.
        judges: ids of known judge models; the first is the route to Claude Sonnet 4.6 where there is one.
        open_judges: those of them whose weights are open.
    """

    id: str
    name: str
    prefix: str
    base: str = ""
    dialect: Dialect = "openai"
    auth: Auth = "bearer"
    fields: tuple[KeyField, ...] = (KeyField("api_key", "API key"),)
    listing: Call | None = Call("models")
    check: Call | None = None
    reader: Reader = "list"
    chat: str = "chat/completions"
    public_list: bool = False
    full_list: bool = True
    reasoning: Literal["", "openrouter", "anthropic", "google", "bedrock"] = ""
    key_url: str = ""
    key_note: str = ""
    judges: tuple[str, ...] = ()
    open_judges: tuple[str, ...] = ()

    @property
    def needs_key(self) -> bool:
        """Whether there is anything that must be filled in."""
        return any(not f.optional for f in self.fields)

    def url(self, call: Call, fields: Mapping[str, str], base: str = "") -> str:
        """Address of a call.

        Args:
            base: takes the place of every host of this entry (the visitor's own endpoint, or a test's server).

        Raises:
            UserError: a region that is no region, which could otherwise name another host.
        """
        if base:
            return _join(base, call.path)
        return _join(_fill(call.origin or self.base, fields), call.path)


def _fill(base: str, fields: Mapping[str, str]) -> str:
    if "{region}" not in base:
        return base
    region = fields.get("region_name", "")
    if not re.fullmatch(REGION, region):
        raise UserError("The AWS region cannot be read.", "A region such as us-east-1 or eu-west-2.")
    return base.format(region=region)


def _join(base: str, path: str) -> str:
    if not path.startswith("/"):
        return f"{base.rstrip('/')}/{path}"
    scheme, _, rest = base.partition("://")
    return f"{scheme}://{rest.split('/', 1)[0]}{path}"
