"""Who made a model, who served it and whether its weights are open, from inspect's name of it. Never asks a network.

A name says what a route calls a model; where it does not say who made it, the developer stays "unknown".
"""

import re
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import urlsplit

UNKNOWN = "unknown"
OWN = "l2-bench-live"

DIRECT = {"anthropic": "anthropic", "openai": "openai", "google": "google", "mistral": "mistralai", "grok": "xai",
          "deepseek": "deepseek-ai", "perplexity": "perplexity", "cohere": "cohere", "demo": OWN, "moonshot": "moonshotai"}
"""Providers that serve their own models."""
SELF_DEPLOYED = frozenset({"hf", "vllm", "sglang", "ollama", "llama-cpp-python", "transformer_lens", "nnterp", "demo"})
"""Providers whose models run on the machine of whoever runs the evaluation."""
EXTERNAL = frozenset({*DIRECT, "openrouter", "groq", "together", "fireworks", "hf-inference-providers", "bedrock", "vertex",
                      "azure", "azureai", "foundry", "cloudflare", "sambanova", "nebius", "goodfire"}) - {"demo"}
"""Providers that run the models themselves, whatever model it is."""
CLOUDS = frozenset({"bedrock", "vertex", "azure", "foundry"})
"""Second part of a name such as `anthropic/bedrock/...`: the maker's client, another platform."""
ROUTING_SUFFIX = re.compile(r":(free|nitro|floor|exacto|online|extended)\Z")
_REGION = re.compile(r"\A(global|us-gov|us|eu|apac|ap|jp|au|ca|sa|me|af|uk)\.(?=[a-z0-9-]+\.)")
_ARN = re.compile(r"\Aarn:[^/]*?:(?P<kind>[a-z-]+)/(?P<id>.+)\Z")

FAMILIES = (
    ("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"), ("claude", "anthropic"), ("gemini", "google"),
    ("gemma", "google"), ("llama", "meta-llama"), ("meta-llama", "meta-llama"), ("mistral", "mistralai"),
    ("mixtral", "mistralai"), ("magistral", "mistralai"), ("ministral", "mistralai"), ("codestral", "mistralai"),
    ("devstral", "mistralai"), ("pixtral", "mistralai"), ("qwen", "qwen"), ("qwq", "qwen"), ("deepseek", "deepseek-ai"),
    ("kimi", "moonshotai"), ("glm", "zai-org"), ("grok", "xai"), ("phi", "microsoft"), ("smollm", "HuggingFaceTB"),
    ("olmo", "allenai"), ("nemotron", "nvidia"), ("granite", "ibm-granite"), ("command", "cohere"), ("nova", "amazon"),
)
"""Start of a bare model name and who publishes that family; asked only where a name has no maker in it."""
OPEN = re.compile(r"gemma|gpt-oss|llama|qwen-?(2|3)(?!.*(max|plus|flash|turbo))|qwq|deepseek|kimi-k2|glm-(4|5)|mixtral|"
                  r"(magistral|mistral|devstral)-small|ministral|phi-?\d|smollm|olmo|nemotron|granite", re.I)
CLOSED = re.compile(r"\A(claude|gemini|gpt-(?!oss)|chatgpt|o[134](-|\Z)|nova-|sonar|grok-[3-9])", re.I)
_BAD = re.compile(r'[<>"|?*\\\x00-\x1f\x7f\s]+')
_RESERVED = frozenset({"CON", "PRN", "AUX", "NUL", *(f"{n}{i}" for n in ("COM", "LPT") for i in range(1, 10))})


@dataclass(frozen=True)
class ModelName:
    """A model as other tools know it.

    Attributes:
        requested: inspect's own name, account numbers taken out.
        developer: who made it, as the route spells it, or "unknown".
        name: its name without route, region and maker.
        platform: who served it, or "" where it ran on the evaluator's own machine.
        engine: program that ran it on the evaluator's own machine, or "".
        deployment: "externally_managed", "self_deployed" or "unknown".
        availability: "open_weights", "closed_weights" or "unknown".
    """

    requested: str
    developer: str
    name: str
    platform: str
    engine: str
    deployment: str
    availability: str

    @property
    def id(self) -> str:
        """`maker/name` in parts that may be folder names; the route stands in for a maker that is not known."""
        maker = self.developer if self.developer != UNKNOWN else (self.platform or self.engine or "custom")
        return f"{_part(maker)}/{'/'.join(_part(p) for p in self.name.split('/') if p) or 'unnamed'}"


def model_name(model: str, base_url: str | None = None) -> ModelName:
    """Read inspect's name of a model (`provider/...`).

    Args:
        base_url: address of a custom endpoint; one on the own machine or network means that it was self-deployed.
    """
    provider, _, rest = model.partition("/") if "/" in model else ("", "", model)
    if provider == "openai-api":
        return _endpoint(model, rest, base_url)
    cloud, _, after = rest.partition("/")
    platform = provider
    if after and cloud in CLOUDS and provider != "bedrock":
        platform, rest = cloud, after
    bedrock = platform == "bedrock"
    requested = model if not bedrock else model.replace(rest, _bedrock_id(rest)) if rest else model
    developer, name = _bedrock(rest) if bedrock else _maker(provider, rest)
    return _known(requested, developer, name, platform)


def _known(requested: str, developer: str, name: str, provider: str) -> ModelName:
    own = provider in SELF_DEPLOYED
    deployment = "self_deployed" if own else "externally_managed" if provider in EXTERNAL else UNKNOWN
    opened = provider in ("hf", "hf-inference-providers", "vllm", "sglang", "llama-cpp-python", "ollama")
    return ModelName(requested, developer or UNKNOWN, name or "unnamed", "" if own else provider, provider if own else "",
                     deployment, "open_weights" if opened else _availability(developer, name))


def _endpoint(model: str, rest: str, base_url: str | None) -> ModelName:
    """`openai-api/<service>/<model>`: a named service, our own small model, or an address whose models nobody vouches for."""
    service, _, name = rest.partition("/")
    if service in EXTERNAL:
        return replace(model_name(f"{service}/{name}"), requested=model)
    if service == "local":
        return ModelName(model, _family(name), name or "unnamed", "", "llama.cpp", "self_deployed", _availability("", name))
    return ModelName(model, UNKNOWN, name or service or "unnamed", "custom" if service in ("custom", "") else service, "",
                     "self_deployed" if _near(base_url) else UNKNOWN, UNKNOWN)


def _maker(provider: str, rest: str) -> tuple[str, str]:
    rest = ROUTING_SUFFIX.sub("", rest)
    if provider == "hf-inference-providers":
        rest = rest.partition(":")[0]
    if provider == "fireworks" and rest.startswith("accounts/"):
        rest = rest.rsplit("/", 1)[-1]
        return _family(rest), rest
    if provider == "cloudflare":
        rest = rest.removeprefix("@cf/").removeprefix("@hf/")
    if provider in DIRECT:
        return DIRECT[provider], rest.removeprefix("models/")
    if provider in ("mockllm", "none"):
        return UNKNOWN, rest
    maker, slash, name = rest.removeprefix("~").partition("/")  # OpenRouter's sign for "the newest of the family"
    return (maker, name) if slash and maker and name else (_family(rest), rest)


def _bedrock_id(rest: str) -> str:
    """The id without the account number that an ARN carries."""
    arn = _ARN.match(rest)
    return arn["id"] if arn else rest


def _bedrock(rest: str) -> tuple[str, str]:
    """Maker and name of a Bedrock id such as `us.anthropic.claude-...`; an own profile or import names no maker."""
    found = _bedrock_id(rest)
    plain = _REGION.sub("", found)
    maker, dot, name = plain.partition(".")
    if not (dot and name and re.fullmatch(r"[a-z][a-z0-9-]*", maker)):
        return _family(found), found
    # `deepseek.v3.2`: what comes after the maker is a version, not yet a name
    return maker, plain if re.match(r"[vr]\d", name) else name


def _family(name: str) -> str:
    start = name.rsplit("/", 1)[-1].lower()
    return next((maker for prefix, maker in FAMILIES if re.match(rf"{re.escape(prefix)}(?![a-z]{{2}})", start)), UNKNOWN)


def _availability(developer: str, name: str) -> str:
    bare = name.rsplit("/", 1)[-1]
    if developer == OWN:
        return UNKNOWN
    if CLOSED.match(bare):
        return "closed_weights"
    return "open_weights" if OPEN.search(bare) else UNKNOWN


def _near(base_url: str | None) -> bool:
    host = urlsplit(base_url).hostname if base_url else None
    if not host:
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def _part(text: str) -> str:
    """One folder name: portable characters, no reserved name, no dot or blank at its end."""
    text = _BAD.sub("-", text).strip("-").rstrip(". ")[:120] or "unnamed"
    if text.split(".", 1)[0].upper() in _RESERVED or text in ("data", UNKNOWN):
        text = f"_{text}"  # before it: Windows reserves a name whatever follows its first dot
    return text
