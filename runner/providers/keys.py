"""The fields of a provider, each cleaned, and whose key one is by its shape.

Never sends anything, and never puts any part of a key into a message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipeline.core.address import clean_address, served_address
from pipeline.core.keys import clean_key, trimmed
from pipeline.core.redact import Redactor
from pipeline.errors import UserError
from pipeline.spec import PLAIN_FIELDS
from runner.providers.entry import KeyField, Provider


@dataclass(frozen=True)
class Shape:
    """The start of one provider's keys; `homes` are domains of a custom endpoint that take them all the same."""

    provider: str
    name: str
    pattern: str
    homes: tuple[str, ...] = ()


SHAPES: tuple[Shape, ...] = (
    Shape("anthropic", "Anthropic", r"sk-ant-", ("anthropic.com",)),
    Shape("openrouter", "OpenRouter", r"sk-or-", ("openrouter.ai",)),
    Shape("openai", "OpenAI", r"sk-(?:proj|svcacct|admin)-", ("openai.com",)),
    Shape("google", "Google", r"AIza[\w-]{20}", ("googleapis.com",)),
    Shape("groq", "Groq", r"gsk_", ("groq.com",)),
    Shape("hf-inference-providers", "Hugging Face", r"(?:api_org|hf)_",
          ("huggingface.co", "huggingface.cloud", "hf.space")),
    Shape("bedrock", "AWS", r"(?:AKIA|ASIA)[A-Z0-9]{12}", ("amazonaws.com",)),
    Shape("bedrock", "AWS Bedrock", r"ABSK[A-Za-z0-9+/=]{20}|bedrock-api-key-", ("amazonaws.com",)),
    Shape("fireworks", "Fireworks", r"fw_", ("fireworks.ai",)),
    Shape("together", "Together", r"tgp_v\d_", ("together.xyz", "together.ai")),
    Shape("", "xAI", r"xai-", ("x.ai",)),
    Shape("", "Perplexity", r"pplx-", ("perplexity.ai",)),
    Shape("", "NVIDIA", r"nvapi-", ("nvidia.com",)),
    Shape("", "Cerebras", r"csk-", ("cerebras.ai",)),
    Shape("", "Replicate", r"r8_", ("replicate.com",)),
    Shape("", "GitHub", r"(?:gh[pousr]_|github_pat_)", ("github.ai", "github.com")),
)


def clean_fields(entry: Provider, fields: Mapping[str, str]) -> dict[str, str]:
    """The entry's own fields, each cleaned; others are left out, and an optional one that is empty too.

    Raises:
        UserError: a field that must be there is empty, or a value cannot be one.
    """
    found: dict[str, str] = {}
    for spec in entry.fields:
        raw = fields.get(spec.name)
        if spec.optional and not trimmed(raw):
            continue
        value = _clean(spec, raw, entry.prefix)
        if spec.pattern and not re.fullmatch(spec.pattern, value):
            hint = f"For example {spec.hint}." if spec.hint else ""
            raise UserError(f"The {_lower_first(spec.label)} cannot be read.", hint)
        found[spec.name] = value
    return found


def _clean(spec: KeyField, raw: str | None, prefix: str) -> str:
    if spec.name == "base_url":
        return served_address(clean_address(raw), f"{prefix}/")
    return clean_key(raw, "key" if spec.name == "api_key" else _lower_first(spec.label))


def _lower_first(label: str) -> str:
    return label[:1].lower() + label[1:]


def shape_of(key: str) -> Shape | None:
    """Whose key this is by its first characters, or None where that does not tell."""
    return next((s for s in SHAPES if re.match(s.pattern, key)), None)


def wrong_provider(entry: Provider, fields: Mapping[str, str]) -> str:
    """A sentence where a secret is plainly another provider's, or another field's, so that it is not sent; else ""."""
    home = urlsplit(fields.get("base_url", "")).hostname or ""
    for spec in entry.fields:
        shape = shape_of(fields.get(spec.name, "")) if spec.secret else None
        if shape is None or _at_home(shape, home) or not _tells(shape, entry, spec):
            continue
        if shape.provider == entry.id:
            return f"What stands in {spec.label!r} does not belong in that field. It was not sent. See its hint."
        do = "Paste the key that belongs here."
        if shape.provider:
            do = f"Choose {shape.name} as the provider, or paste the key that belongs here."
        whose = "this endpoint" if entry.id == "custom" else entry.name
        return f"This looks like a key of {shape.name}, not of {whose}. It was not sent. {do}"
    return ""


def _tells(shape: Shape, entry: Provider, spec: KeyField) -> bool:
    """Whether this shape in this field is a mistake. Secret access keys and session tokens are random text: only the
    long, unmistakable starts count there."""
    if entry.auth != "sigv4":
        return shape.provider != entry.id
    if spec.name == "aws_access_key_id":
        return shape.name != "AWS"
    return len(shape.pattern) > 6 or shape.provider == "openrouter"


def _at_home(shape: Shape, home: str) -> bool:
    return bool(home) and any(home == h or home.endswith(f".{h}") for h in shape.homes)


def redactor(fields: Mapping[str, str]) -> Redactor:
    """Takes these secrets, and anything shaped like a key, out of a text."""
    return Redactor(value for name, value in fields.items() if name not in PLAIN_FIELDS)
