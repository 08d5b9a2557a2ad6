"""What the environment gives to the models of a run, cleaned before anything is sent: keys, and the addresses they go to.

Refuses by the name of the variable, never by what it holds. Only variables that these models read are looked at.
"""

import os

from pipeline.core.address import clean_address, served_address
from pipeline.core.keys import clean_key, trimmed
from pipeline.spec import RunSpec

LAST_ADDRESS = "INSPECT_EVAL_MODEL_BASE_URL"
"""Inspect's last resort for the address of any model."""
_AWS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION",
        "AWS_DEFAULT_REGION")
_AWS_ADDRESSES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
_KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "google/vertex": ("VERTEX_API_KEY",), "grok": ("XAI_API_KEY", "GROK_API_KEY"), "hf-inference-providers": ("HF_TOKEN",),
    "hf": ("HF_TOKEN",), "bedrock": _AWS, "sagemaker": _AWS, "anthropic/bedrock": _AWS, "demo": (), "mockllm": (), "none": (),
    "azureai": ("AZURE_API_KEY", "AZUREAI_API_KEY", "AZUREAI_ENDPOINT_KEY"),
    "cf": ("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"),
}
_ADDRESSES: dict[str, tuple[str, ...]] = {
    "openai/azure": ("AZUREAI_OPENAI_BASE_URL", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", LAST_ADDRESS),
    "anthropic/bedrock": ("ANTHROPIC_BEDROCK_BASE_URL", "BEDROCK_ANTHROPIC_BASE_URL", LAST_ADDRESS),
    "anthropic/vertex": ("ANTHROPIC_VERTEX_BASE_URL", "VERTEX_ANTHROPIC_BASE_URL", LAST_ADDRESS),
    "google/vertex": ("GOOGLE_VERTEX_BASE_URL", "VERTEX_BASE_URL", LAST_ADDRESS),
    "grok": ("XAI_BASE_URL", "GROK_BASE_URL", LAST_ADDRESS), "bedrock": ("BEDROCK_BASE_URL", LAST_ADDRESS, *_AWS_ADDRESSES),
    "sagemaker": _AWS_ADDRESSES[1:], "cf": ("CLOUDFLARE_BASE_URL", LAST_ADDRESS), "hf-inference-providers": (),
    "azureai": ("AZURE_ENDPOINT_URL", "AZUREAI_ENDPOINT_URL", "AZUREAI_BASE_URL", LAST_ADDRESS),
    "demo": (), "mockllm": (), "none": (), "hf": (),
}
"""Variables that inspect's providers and the vendors' clients read, in their order, where it is not PROVIDER_API_KEY and
PROVIDER_BASE_URL. By provider, or by provider/service."""


def key_names(model: str) -> tuple[str, ...]:
    """The variables that may hold the key of a model with this whole name."""
    provider, service, name = _service(model)
    if service == "azure":
        return f"AZUREAI_{provider.upper()}_API_KEY", f"AZURE_{provider.upper()}_API_KEY"
    return _KEYS.get(f"{provider}/{service}") or _KEYS.get(provider, (f"{name}_API_KEY",))


def address_names(model: str) -> tuple[str, ...]:
    """The variables that may hold the address of a model with this whole name, in the order they are read."""
    provider, service, name = _service(model)
    if service == "azure" and f"{provider}/azure" not in _ADDRESSES:
        return f"AZUREAI_{provider.upper()}_BASE_URL", f"AZURE_{provider.upper()}_BASE_URL", LAST_ADDRESS
    return _ADDRESSES.get(f"{provider}/{service}") or _ADDRESSES.get(provider, (f"{name}_BASE_URL", LAST_ADDRESS))


def _service(model: str) -> tuple[str, str, str]:
    provider, _, rest = model.partition("/")
    service = rest.partition("/")[0] if "/" in rest else ""
    return provider, service, (service if provider == "openai-api" else provider).upper().replace("-", "_")


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
