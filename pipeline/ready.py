"""Whether both models of a run can be called, found out before the first call of either: keys, regions, addresses, names.

The page, the command line, `--dry-run` and `inspect eval` all ask here. Sends no request to any model; an address that is
not a vendor's own is tried with a bare connection. What the environment gives to a role is gathered in `gathered`.
"""

import importlib.util
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from inspect_ai.model import Model

from pipeline.accounts import aws_lacks, google_lacks
from pipeline.core.address import clean_address
from pipeline.core.keys import trimmed
from pipeline.core.reach import nothing_there
from pipeline.core.redact import Redactor
from pipeline.errors import UserError
from pipeline.events import Role
from pipeline.models import CANNOT, build
from pipeline.needs import LAST_ADDRESS, Needs, needs_of
from pipeline.spec import PINNED, Credentials, ModelSpec, ProviderKey, RunSpec

ROLES: tuple[Role, Role] = ("solver", "judge")
_HERE = ("localhost", "127.0.0.1", "::1")
_OF_ITS_OWN = ("pip install", "not recognized")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, repr=False)
class Gathered:
    """What one role's client is given: the key and the address, and the variable each came from ("": named for this run)."""

    key: str = ""
    key_from: str = ""
    address: str = ""
    address_from: str = ""


def gathered(needs: Needs, fields: Mapping[str, str], base_url: str | None) -> Gathered:
    """The key and the address of one role, from what was named for it or else from the environment, as inspect reads them."""
    key, key_from = fields.get("api_key", ""), ""
    if not key:
        key, key_from = _first(needs.key)
    address, address_from = base_url or fields.get("base_url", ""), ""
    if not address:
        address, address_from = _first(needs.address)
    return Gathered(trimmed(key), key_from, trimmed(address), address_from)


def _first(names: tuple[str, ...]) -> tuple[str, str]:
    return next(((value, name) for name in names if trimmed(value := os.environ.get(name, ""))), ("", ""))


def models(spec: RunSpec, keys: Credentials, redact: Redactor) -> dict[Role, Model]:
    """Both models, built, each of which can be called as far as that can be known without a call.

    Args:
        redact: takes all secrets of the run out of what a provider sends.

    Raises:
        UserError: one of them cannot; what stands against both is said together.
    """
    found: dict[Role, Model] = {}
    lacking: list[str] = []
    for role, part, key in _parts(spec, keys):
        model, lacks = _look(part, key, spec.max_connections, whole=True, redact=redact)
        if model is not None:
            found[role] = model
        lacking += _said(role, part, lacks)
    _refuse(lacking, bool(keys.solver.fields or keys.judge.fields))
    return found


def why_not(spec: RunSpec, keys: Credentials) -> list[str]:
    """Why a run could not start, a sentence for each role that stands in its way; a model of this process is not loaded."""
    return [said for role, part, key in _parts(spec, keys)
            for said in _said(role, part, _look(part, key, spec.max_connections, whole=False)[1])]


def beside(solver: Model, judge: Model | ModelSpec, connections: int) -> Model:
    """The judge's model of an evaluation whose solver, and perhaps its judge too, inspect has built.

    Raises:
        UserError: one of the two cannot be called.
    """
    lacking = _said("solver", *_built(solver))
    if isinstance(judge, ModelSpec):
        model, lacks = _look(judge, ProviderKey(), connections, whole=True)
        lacking += _said("judge", judge, lacks)
    else:
        model = judge
        lacking += _said("judge", *_built(judge))
    _refuse(lacking, typed=False)
    assert model is not None
    return model


def _built(model: Model) -> tuple[ModelSpec, list[str]]:
    """A model that is there already, as a spec, and what it lacks."""
    fields = {k: v for k, v in (getattr(model.api, "model_args", None) or {}).items() if isinstance(v, str)}
    if isinstance(held := getattr(model.api, "api_key", None), str):
        fields["api_key"] = held
    headers = {"extra_headers": model.config.extra_headers} if model.config.extra_headers else {}
    named = getattr(model.api, "base_url", None) or getattr(model.api, "_init_base_url", None)  # the second is vLLM's
    part = ModelSpec.model_construct(model=str(model), config=headers, base_url=named)
    needs = needs_of(part.model) or Needs()
    return part, _before(needs, part, fields) or _held(needs, model) or _reach(needs, part, fields)


def _parts(spec: RunSpec, keys: Credentials) -> list[tuple[Role, ModelSpec, ProviderKey]]:
    return [("solver", spec.solver, keys.solver), ("judge", spec.judge, keys.judge)]


def _said(role: Role, part: ModelSpec, lacks: list[str]) -> list[str]:
    return [f"The {role} {part.model} cannot be called: {'; '.join(dict.fromkeys(lacks))}."] if lacks else []


def _refuse(lacking: list[str], typed: bool) -> None:
    if lacking:
        do = "Correct the key or the address, then start again." if typed else (
            "Set what is missing in the environment or in .env, or name another model.")
        raise UserError(" ".join(lacking), "", do)


def _look(
    part: ModelSpec, key: ProviderKey, connections: int, whole: bool, redact: Redactor | None = None
) -> tuple[Model | None, list[str]]:
    """The model of one role where it can be called, and what it lacks."""
    needs, fields = needs_of(part.model) or Needs(), dict(key.fields)
    lacks = _before(needs, part, fields)
    model = None
    served = needs.starts and not gathered(needs, fields, part.base_url).address
    if whole and not (served and lacks) or not (needs.loads or served):
        try:
            model = build(part, key, connections, redact)
        except UserError as error:
            words = error.found.removeprefix(CANNOT.format(part.model)).rstrip(".")
            if not lacks or any(sign in words for sign in _OF_ITS_OWN):  # what inspect says of a key is said already
                lacks.append(words)
    if model is not None and not lacks:
        lacks = _held(needs, model)
    return model, lacks or _reach(needs, part, fields)


def _before(needs: Needs, part: ModelSpec, fields: Mapping[str, str]) -> list[str]:
    """What is known to be missing or unusable without building anything."""
    got = gathered(needs, fields, part.base_url)
    lacks = _key_lacks(needs, got, fields, part.model)
    lacks += [f"the package {name} is not installed" for name in needs.loads if not _installed(name)]
    if part.model.startswith("none/"):
        lacks.append("none stands for no model")
    if needs.must_be_given and not got.address:
        lacks.append(f"its address is not set ({_or(needs.address)})")
    if needs.starts and not got.address and not _installed(needs.starts):
        lacks.append(f"no server is named ({_or(needs.address)}), and {needs.starts}, which would start one here, is not installed")
    if got.address and (wrong := _wrong(_whole(needs, got.address))):
        lacks.append(f"its address{_from(got.address_from)} {wrong}")
    return lacks + _header_lacks(part.config.get("extra_headers"))


def _key_lacks(needs: Needs, got: Gathered, fields: Mapping[str, str], name: str) -> list[str]:
    lacks = [f"{_or(group)} is not set" for group in needs.also if not _first(group)[0]]
    if got.key and needs.key:
        bad = not (got.key.isascii() and got.key.isprintable())
        lacks = [] if needs.account else lacks  # a key of its own stands in for the whole account
        return [f"its key{_from(got.key_from)} holds a character that no key holds", *lacks] if bad else lacks
    if needs.account == "aws":
        provider = name.partition("/")[0]
        regional = provider == "bedrock"
        return lacks + aws_lacks(fields, regional, bearer=provider != "sagemaker", placed=bool(got.address))
    if needs.account == "google":
        why = google_lacks("" if needs.key else "ANTHROPIC_VERTEX_PROJECT_ID")
        return [*lacks, f"{why}; {_or(needs.key)} would do too" if needs.key else why] if why else lacks
    if needs.key and not (needs.package and _installed(needs.package)):
        lacks.insert(0, f"its key is not set ({_or(needs.key)})")
    return lacks


def _header_lacks(headers: Any) -> list[str]:
    if not isinstance(headers, dict):
        return []
    bad = [str(n) for n, v in headers.items()
           if not _HEADER_NAME.fullmatch(str(n)) or not (str(v).isascii() and str(v).isprintable())]
    return [f"the header {ascii(name)} cannot be sent: a header holds plain ASCII" for name in bad]


def _held(needs: Needs, model: Model) -> list[str]:
    """What the built client itself could not send: an empty key, or headers of its own from the environment."""
    client: Any = getattr(model.api, "client", None)
    held = getattr(model.api, "api_key", None)
    if isinstance(held, str) and needs.key and not (needs.account or needs.package):
        if not held.strip():
            return [f"its key is empty ({_or(needs.key)})"]
        if not (held.isascii() and held.isprintable()):
            return [f"its key ({_or(needs.key)}) holds a character that no key holds"]
    try:
        headers = dict(getattr(client, "default_headers", None) or {})
    except Exception:  # noqa: BLE001 - a client that makes them only with a call
        return []
    return _header_lacks({k: v for k, v in headers.items() if isinstance(v, str)})


def _reach(needs: Needs, part: ModelSpec, fields: Mapping[str, str]) -> list[str]:
    """Whether somebody listens, for an address that is not a vendor's own."""
    given = gathered(needs, fields, part.base_url).address
    address, own = _whole(needs, given or needs.own), urlsplit(_whole(needs, needs.own)).hostname
    host = urlsplit(address).hostname if address and not _wrong(address) else None
    if host is None or host == own and own not in _HERE:
        return []
    why = nothing_there(address, fields.get(PINNED, ""))
    return [why] if why else []


def _wrong(address: str) -> str:
    """What is wrong with an address of a model server, as the end of a sentence; "" where it can be one."""
    try:
        clean_address(address, "")
    except UserError as error:
        return error.found.removeprefix("The").strip().rstrip(".")
    return ""


def _whole(needs: Needs, address: str) -> str:
    """With the scheme that one vendor's client, which takes a bare host, leaves out."""
    return f"https://{address}" if address and needs.own and "://" not in needs.own and "://" not in address else address


def _installed(name: str) -> bool:
    try:
        return shutil.which(name) is not None or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _from(variable: str) -> str:
    return f" in {variable}" if variable else ""


def _or(names: tuple[str, ...]) -> str:
    shown = [n for n in names if n != LAST_ADDRESS] or list(names)
    return " or ".join(shown)
