"""Builds the inspect models of a run from its spec and its keys, with every retry of inspect and of the SDKs off.

A key reaches the provider's client and nothing else: no environment variable, no memo, no log.
"""

import os
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelInfo, get_model, get_model_info, set_model_info
from pydantic import ValidationError

from pipeline import lanes, wire
from pipeline.accounts import aws_region
from pipeline.core.keys import clean_key, trimmed
from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.environment import address_of
from pipeline.errors import UserError
from pipeline.spec import PINNED, PLAIN_FIELDS, ModelSpec, ProviderKey

NO_INSPECT_RETRIES = {"max_retries": 0}
LONGEST_CALL = 3600
"""Seconds that a client may wait: as long as the longest call timeout; the door ends a call earlier."""
CONNECT = 60.0
MOST_WORDS = 300
"""Characters that are shown of an error that a provider's package raised."""
BEDROCK_TIMEOUTS = {"read_timeout": LONGEST_CALL, "connect_timeout": int(CONNECT)}
"""Long answers take more than botocore's default of 60 seconds; passed as the provider's own client options."""

ARGUMENTS: dict[str, dict[str, Any]] = {"bedrock": BEDROCK_TIMEOUTS, "hf-inference-providers": {"stream": False}}
"""Model arguments by provider, beside its key's fields."""

REGIONAL = ("bedrock", "sagemaker")
"""Providers whose client takes a region as an argument."""
CANNOT = "The model {} cannot be used: "
"""How the sentence on a model that cannot be built begins."""
DEEPSEEK_URL = "https://api.deepseek.com/v1"


def build(spec: ModelSpec, key: ProviderKey, connections: int, redact: Redactor | None = None) -> Model:
    """The inspect Model of one role, its generation settings in `model.config`.

    Args:
        redact: takes all secrets of the run out of what the provider sends; without it, those of this key.

    Raises:
        UserError: the name is no `provider/model`, a setting is unknown, a package or a key is missing.
    """
    if "/" not in spec.model:
        raise UserError(f"{spec.model!r} names no provider.", "A model is given as provider/model.",
                        "For example openrouter/anthropic/claude-sonnet-4.6 or demo/strong.")
    provider = spec.model.split("/", 1)[0]
    config = generate_config(spec.config, connections)
    fields = _secrets(provider, key)
    redact = redact or Redactor([*fields.values(), *machine_secrets(os.environ)])
    pinned = fields.pop(PINNED, "")
    args: dict[str, Any] = {**ARGUMENTS.get(provider, {}), **{k: v for k, v in fields.items() if k not in ("api_key", "base_url")}}
    if provider == "demo":
        import pipeline.demo  # noqa: F401 - registers the scripted provider
    name, base_url = _routed(spec, fields.get("base_url"))
    try:
        args |= lanes.model_args(name)
        if provider in REGIONAL and "region_name" not in args and (region := aws_region()):
            args["region_name"] = region
        model = get_model(name, config=config, base_url=base_url, api_key=fields.get("api_key"), memoize=False, **args)
    except Exception as error:  # noqa: BLE001 - each provider raises its own
        raise _unbuildable(spec.model, error, redact) from None
    prepare(model, redact, pinned)
    return model


def _for_provider(provider: str, config: GenerateConfig) -> GenerateConfig:
    if provider == "openai" and config.reasoning_summary is None:
        # Inspect would find out by a paid call of its own whether summaries are allowed.
        config.reasoning_summary = "none"
    if provider == "openrouter":
        config.extra_body = {"usage": {"include": True}, **(config.extra_body or {})}  # ask for the cost of each call
    return config


def _secrets(provider: str, key: ProviderKey) -> dict[str, str]:
    """The key's fields, cleaned; an ambient token must not beat them.

    Raises:
        UserError: a field is empty, or is no key as it stands. Its value is not quoted.
    """
    if not key.fields:
        return {}  # the environment's are cleaned before the run: `pipeline.environment`
    fields = {name: trimmed(value) for name, value in key.fields.items()}
    for name, value in fields.items():
        if name not in PLAIN_FIELDS and (value or name == "api_key"):
            clean_key(value, f"key for {provider}" if name == "api_key" else f"field {name} of the key for {provider}")
    os.environ.pop("ANTHROPIC_AUTH_TOKEN", None)
    return {name: value for name, value in fields.items() if value}


def _routed(spec: ModelSpec, given: str | None) -> tuple[str, str | None]:
    """The name and address to build; an inspect-ai without its own DeepSeek provider reaches it as a compatible one."""
    from inspect_ai._util.registry import registry_lookup

    base_url = address_of(spec.model, spec.base_url or given)
    if spec.model.startswith("deepseek/") and registry_lookup("modelapi", "inspect_ai/deepseek") is None:
        return f"openai-api/{spec.model}", base_url or DEEPSEEK_URL
    return spec.model, base_url


def prepare(model: Model, redact: Redactor, pinned: str = "") -> None:
    """Switch the SDK's own retries, short timeouts and extra calls off, and hang the hooks on."""
    _settle_server(model.api)
    client: Any = getattr(model.api, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    kind: Any = type(getattr(client, "timeout", None))
    if kind.__name__ == "Timeout":  # of httpx or its fork
        client.timeout = kind(float(LONGEST_CALL), connect=CONNECT)
    model.config = _for_provider(str(model).split("/", 1)[0], model.config.model_copy(update=NO_INSPECT_RETRIES))
    if str(model).split("/", 1)[0] in REGIONAL and (region := aws_region()):
        model.api.model_args.setdefault("region_name", region)  # type: ignore[attr-defined]  # botocore does not read AWS_REGION
    model.model_args.pop("http_client", None)  # inspect writes these into its log
    _look_up_once(str(model))
    wire.watch(model, redact, pinned)


def _settle_server(api: Any) -> None:
    """vLLM's provider makes its client with the first call, past our hooks: made here, where its server is named already."""
    named = getattr(api, "_init_base_url", None) or os.environ.get("VLLM_BASE_URL")
    if hasattr(api, "_resolve_server") and named and not getattr(api, "adapter_path", None):
        api._resolve_server()


def _look_up_once(name: str) -> None:
    """Keep what inspect knows of the model: asked by name, 0.3.205 else searches its whole table on every call."""
    set_model_info(name, get_model_info(name) or ModelInfo())


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
        raise UserError(f"A generation setting has a value that cannot be used: {_first_fault(error)}.") from None


def _first_fault(error: ValueError) -> str:
    """The first field that pydantic refuses, without the value and its own links."""
    faults = error.errors() if isinstance(error, ValidationError) else []
    return f"{faults[0]['loc'][0]}: {faults[0]['msg']}" if faults else _short(str(error))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_WORDS else text[:MOST_WORDS].rpartition(" ")[0] + " …"


def _unbuildable(name: str, error: BaseException, redact: Redactor) -> UserError:
    import re

    if isinstance(error, UserError):
        return error
    words = _short(redact(re.sub(r"\[/?[a-z ]*\]", "", str(error)).strip().removeprefix("ERROR: "))).rstrip(".")
    return UserError(f"{CANNOT.format(name)}{words}.", "",
                     "Check the provider's name, its key in the environment or .env, and that its package is installed.")
