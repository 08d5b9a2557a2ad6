"""What the environment gives to the models of a run, cleaned before anything is sent: keys, and the addresses they go to.

Refuses by the name of the variable, never by what it holds. Only variables that these models read are looked at.
"""

import os

from pipeline.core.address import clean_address, served_address
from pipeline.core.keys import clean_key, trimmed
from pipeline.needs import Needs, needs_of, plain
from pipeline.spec import RunSpec

_AWS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION",
        "AWS_DEFAULT_REGION")
_AWS_ADDRESSES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")


def key_names(model: str) -> tuple[str, ...]:
    """The variables that may hold the key of a model with this whole name."""
    needs = _needs(model)
    return (*needs.key, *(_AWS if needs.account == "aws" else ()))


def address_names(model: str) -> tuple[str, ...]:
    """The variables that may hold the address of a model with this whole name, in the order they are read."""
    needs = _needs(model)
    return (*needs.address, *(_AWS_ADDRESSES if needs.account == "aws" else ()))


def _needs(model: str) -> Needs:
    return needs_of(model) or plain(model.partition("/")[0].upper().replace("-", "_"), "")


def address_of(model: str, given: str | None, flag: str = "address") -> str | None:
    """The base address that a model is called at, from its flag or else from the environment; None for its own.

    Raises:
        UserError: it could carry a secret, or is none; the flag or the variable is named.
    """
    named = [(trimmed(given), flag), *((trimmed(os.environ.get(name)), f"variable {name}") for name in address_names(model))]
    value, what = next((pair for pair in named if pair[0]), ("", ""))
    if not value:
        return None
    if model.startswith("grok/") and "://" not in value:  # xAI's client takes a bare host
        return clean_address(f"https://{value}", what).removeprefix("https://")
    return served_address(clean_address(value, what), model)


def clean_environment(spec: RunSpec) -> None:
    """Trim the keys that this run takes from the environment, in place.

    Raises:
        UserError: one of them is no key as it stands, or an address could carry a secret.
    """
    names = {name for model in (spec.solver, spec.judge) for name in key_names(model.model)}
    if spec.source == "hub" or spec.prompt_source == "auto" and spec.source != "demo":
        names.add("HF_TOKEN")
        if trimmed(os.environ.get("HF_ENDPOINT")):
            clean_address(os.environ["HF_ENDPOINT"], "variable HF_ENDPOINT")
    for name in sorted(names):
        if trimmed(raw := os.environ.get(name)) and (clean := clean_key(raw, f"variable {name}")) != raw:
            os.environ[name] = clean
