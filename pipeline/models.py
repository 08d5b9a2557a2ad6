"""Builds the inspect models of a run from its spec and its keys, with every retry of inspect and of the SDKs off.

A key reaches the provider's client and nothing else: no environment variable, no memo, no log.
"""

import os
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model

from pipeline import wire
from pipeline.errors import UserError
from pipeline.spec import ModelSpec, ProviderKey

NO_INSPECT_RETRIES = {"max_retries": 0}
BEDROCK_TIMEOUTS = {"read_timeout": 600, "connect_timeout": 60}
"""Seconds: long answers take more than botocore's default of 60; passed as the provider's own client options."""

DEEPSEEK_URL = "https://api.deepseek.com/v1"


def build(spec: ModelSpec, key: ProviderKey, connections: int) -> Model:
    """The inspect Model of one role, its generation settings in `model.config`.

    Raises:
        UserError: the name is no `provider/model`, a setting is unknown, a package or a key is missing.
    """
    config = generate_config(spec.config, connections)
    args: dict[str, Any] = {k: v for k, v in key.fields.items() if k != "api_key"}
    provider = spec.model.split("/", 1)[0]
    if "/" not in spec.model:
        raise UserError(f"{spec.model!r} names no provider.", "A model is given as provider/model.",
                        "For example openrouter/anthropic/claude-sonnet-4.6 or demo/strong.")
    if provider == "demo":
        import pipeline.demo  # noqa: F401 - registers the scripted provider
    if provider == "hf-inference-providers":
        args["stream"] = False
    if provider == "bedrock":
        args = {**BEDROCK_TIMEOUTS, **args}
    name, base_url = _routed(spec)
    try:
        model = get_model(name, config=config, base_url=base_url, api_key=key.fields.get("api_key"),
                          memoize=False, **args)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - each provider raises its own
        raise _unbuildable(spec.model, error) from None
    prepare(model)
    return model


def _routed(spec: ModelSpec) -> tuple[str, str | None]:
    """The name and address to build; an inspect-ai without its own DeepSeek provider reaches it as a compatible one."""
    from inspect_ai._util.registry import registry_lookup

    if spec.model.startswith("deepseek/") and registry_lookup("modelapi", "inspect_ai/deepseek") is None:
        return f"openai-api/{spec.model}", spec.base_url or os.environ.get("DEEPSEEK_BASE_URL") or DEEPSEEK_URL
    return spec.model, spec.base_url


def prepare(model: Model) -> None:
    """Switch the SDK's own retries off and hang the response hook on."""
    client = getattr(model.api, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    model.config = model.config.model_copy(update=NO_INSPECT_RETRIES)
    wire.watch(model)


def generate_config(values: dict[str, Any], connections: int) -> GenerateConfig:
    """Inspect's GenerateConfig with our retries off; a reasoning budget of 0 means none.

    Raises:
        UserError: a field that the installed inspect-ai does not have, or a value it refuses.
    """
    known = {k: v for k, v in values.items() if v is not None and not (k == "reasoning_tokens" and v == 0)}
    unknown = sorted(set(known) - set(GenerateConfig.model_fields))
    if unknown:
        raise UserError(f"Unknown generation setting: {', '.join(unknown)}.", "",
                        "See --help for the settings of the installed inspect-ai.")
    try:
        return GenerateConfig(**{**known, **NO_INSPECT_RETRIES, "max_connections": connections})
    except ValueError as error:
        raise UserError(f"A generation setting has a value that cannot be used: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().replace("\n", " ")[:200]


def _unbuildable(name: str, error: BaseException) -> UserError:
    import re

    words = re.sub(r"\[/?[a-z ]*\]", "", _first_line(error))
    return UserError(f"The model {name} cannot be used: {words}", "",
                     "Check the provider's name, its key in the environment or .env, and that its package is installed.")
