"""Where prices stand: OpenRouter's live list, the genai-prices package, and the table `assets/prices.json`.

Reads names and numbers only; never asks the network, never matches a model of one vendor to another's.
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.errors import UserError

TABLE = Path(__file__).parents[2] / "assets" / "prices.json"
_FREE_WORDS = re.compile(r"\bfree of charge\b", re.IGNORECASE)
_PLAIN_ROUTES = {
    "openrouter": "openrouter", "openai": "openai", "anthropic": "anthropic", "google": "google", "bedrock": "aws",
    "mistral": "mistral", "deepseek": "deepseek", "groq": "groq", "together": "together", "fireworks": "fireworks",
    "grok": "x-ai", "perplexity": "perplexity", "azureai": "azure", "cf": "cloudflare",
}
_CLOUD_ROUTES = {
    "openai/azure": "azure", "anthropic/bedrock": "aws", "anthropic/vertex": "google", "google/vertex": "google",
}
_OWN_HOSTS = {
    "openrouter": "openrouter.ai", "openai": "api.openai.com", "anthropic": "api.anthropic.com",
    "google": "generativelanguage.googleapis.com", "mistral": "api.mistral.ai", "deepseek": "api.deepseek.com",
    "groq": "api.groq.com", "together": "api.together.xyz", "fireworks": "api.fireworks.ai",
    "hf-inference-providers": "router.huggingface.co",
}
_LIVE_FIELDS = {
    "input": "prompt", "output": "completion", "cache_read": "input_cache_read", "cache_write": "input_cache_write",
    "reasoning": "internal_reasoning",
}
_PACKAGE_FIELDS = {
    "input": "input_mtok", "output": "output_mtok", "cache_read": "cache_read_mtok", "cache_write": "cache_write_mtok",
    "reasoning": "output_reasoning_mtok",
}


@dataclass(frozen=True)
class Reading:
    """What a source says about one model.

    Attributes:
        bands: rates per million tokens, each with `over` (input tokens above which they hold), rising; empty = free.
        varies: the source says that there is no fixed price.
    """

    bands: list[dict[str, Any]] = field(default_factory=list)
    per_request: Decimal = Decimal(0)
    varies: bool = False


def on_this_machine(model: str, base_url: str | None) -> str | None:
    """Why a model is free because it runs here: scripted, or the local small model; else None."""
    if model.startswith(("demo/", "mockllm/")):
        return "scripted demo"
    if model.startswith(("local/", "openai-api/local/")) and (base_url is None or _loopback(base_url)):
        return "runs on this machine"
    return None


def _loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def custom(model: str, base_url: str | None) -> bool:
    """Whether calls go to an address that is not the provider's own, so that its price list does not hold."""
    if not base_url:
        return False
    own = _OWN_HOSTS.get(model.split("/", 1)[0])
    parts = urlsplit(base_url)
    return not (own and parts.scheme == "https" and parts.hostname == own)


def live_entry(model: str, live: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The entry of OpenRouter's list for an OpenRouter route; its ids look like other providers' whole names."""
    if not live or not model.startswith("openrouter/"):
        return None
    name = model.removeprefix("openrouter/")
    rows = live.get("data")
    if isinstance(rows, list):
        found = next((r for r in rows if isinstance(r, Mapping) and r.get("id") == name), None)
    elif live.get("id") == name:
        found = live
    else:
        found = live.get(name, live.get(model))
    return found if isinstance(found, Mapping) else None


def read_live(entry: Mapping[str, Any]) -> Reading | None:
    """OpenRouter's `pricing`: US dollars per token as strings, "-1" for a price that varies. None where none is named."""
    pricing = entry.get("pricing", entry)
    if not isinstance(pricing, Mapping):
        return None
    base = {ours: _per_million(pricing.get(theirs)) for ours, theirs in _LIVE_FIELDS.items()}
    if any(value is not None and value < 0 for value in base.values()):
        return Reading(varies=True)
    if base["input"] is None or base["output"] is None:
        return None
    base = _without_empty(base)
    bands = [base | {"over": -1}, *_live_bands(base, pricing.get("overrides"))]
    per_request = _number(pricing.get("request")) or Decimal(0)
    return Reading(bands, per_request, varies=per_request < 0)


def _live_bands(base: dict[str, Any], overrides: Any) -> Iterator[dict[str, Any]]:
    """Long-context bands; they hold from `min_prompt_tokens` on, inclusive, and restate only some of the rates."""
    rows = [o for o in overrides if isinstance(o, Mapping)] if isinstance(overrides, list) else []
    starts = [(int(o["min_prompt_tokens"]), o) for o in rows if isinstance(o.get("min_prompt_tokens"), int)]
    for start, row in sorted(starts, key=lambda pair: pair[0]):
        said = {ours: _per_million(row.get(theirs)) for ours, theirs in _LIVE_FIELDS.items()}
        yield base | {k: v for k, v in said.items() if v is not None and v >= 0} | {"over": start - 1}


def _without_empty(rates: dict[str, Decimal | None]) -> dict[str, Any]:
    """Rates without the ones that are not named; a list's 0 for caches or reasoning beside a paid model means no own price."""
    paid = bool(rates["input"] or rates["output"])
    return {k: v for k, v in rates.items() if v is not None and not (paid and v == 0 and k not in ("input", "output"))}


def _per_million(value: Any) -> Decimal | None:
    number = _number(value)
    return None if number is None else number * 1_000_000


def _number(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < 10**9 else None


def route(model: str) -> tuple[str, str] | None:
    """The price list a route is billed by, as genai-prices names it, and the model's name there; None where unknown."""
    prefix, _, rest = model.partition("/")
    cloud, _, inner = rest.partition("/")
    if inner and (provider := _CLOUD_ROUTES.get(f"{prefix}/{cloud}")):
        return provider, inner
    if prefix == "hf-inference-providers":
        name, colon, served_by = rest.rpartition(":")
        return (f"huggingface_{served_by}", name) if colon else None
    if not rest or prefix not in _PLAIN_ROUTES:
        return None
    return _PLAIN_ROUTES[prefix], rest.removeprefix("models/") if prefix == "google" else rest


@dataclass(frozen=True)
class PackageEntry:
    """A model of genai-prices under the provider that bills this route."""

    info: Any
    url: str

    @property
    def changes(self) -> bool:
        """Whether its price depends on the time of the request."""
        return isinstance(self.info.prices, list)

    def read(self, when: datetime) -> Reading | None:
        """Its rates at `when`, as the package resolves them; None where they do not make a price per token."""
        return _read_package(self.info.get_prices(when), self.info)


@lru_cache(maxsize=512)
def package_entry(model: str) -> PackageEntry | None:
    """The package's entry for this route, or None. Its fallbacks to other vendors' lists are not followed."""
    from genai_prices.data_snapshot import get_snapshot

    where = route(model)
    provider = next((p for p in get_snapshot().providers if where and p.id == where[0]), None)
    if where is None or provider is None:
        return None
    info = provider.find_model(where[1])
    if info is None or (where[0] == "openrouter" and ":" in where[1] and where[1].lower() != info.id.lower()):
        return None
    return PackageEntry(info, (provider.pricing_urls or [""])[0])


def _read_package(prices: Any, info: Any) -> Reading | None:
    values = {k: v for k, v in vars(prices).items() if v is not None and not k.startswith("_")}
    if not values:
        # No rate at all: the package writes free, subscription and unlisted models alike, so its words decide.
        said = info.id.endswith(":free") or _FREE_WORDS.search(info.price_comments or "")
        return Reading() if said else None
    if not {"input_mtok", "output_mtok"} <= values.keys():
        return None
    starts = sorted({t.start for name in _PACKAGE_FIELDS.values() for t in getattr(values.get(name), "tiers", ())})
    bands = [_band(values, over) for over in (-1, *starts)]
    if all(b["input"] == 0 and b["output"] == 0 for b in bands):
        return Reading()
    per_thousand = values.get("requests_kcount", Decimal(0))
    return Reading(bands, Decimal(getattr(per_thousand, "base", per_thousand)) / 1000)


def _band(values: Mapping[str, Any], over: int) -> dict[str, Any]:
    band: dict[str, Any] = {"over": over}
    for ours, theirs in _PACKAGE_FIELDS.items():
        if (value := values.get(theirs)) is not None:
            below = [t.price for t in getattr(value, "tiers", ()) if t.start <= over]
            band[ours] = below[-1] if below else getattr(value, "base", value)
    return band


def day_after(when: datetime) -> Iterator[datetime]:
    """Every half hour of the 24 hours after `when`."""
    start = when.replace(minute=0, second=0, microsecond=0)
    yield from (start + timedelta(minutes=30 * step) for step in range(1, 50))


@cache
def package_release() -> tuple[str, str]:
    """Name and version of the package, and the day this version came out ("" where it is not in the table)."""
    from importlib.metadata import version

    found = version("genai-prices")
    return f"genai-prices {found}", table()["genai_prices_releases"].get(found, "")


@cache
def table() -> dict[str, Any]:
    """The table of this project.

    Raises:
        UserError: the file is missing or is no JSON.
    """
    try:
        found: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError("The price table assets/prices.json cannot be read.", "A JSON object.", "Restore the file.") from None
    return found


def table_row(model: str, base_url: str | None) -> dict[str, Any] | None:
    """The row of this provider and model; a custom endpoint needs a row with its own address."""
    address = (base_url or "").rstrip("/") if custom(model, base_url) else ""
    for row in table()["prices"]:
        if f"{row['provider']}/{row['model']}" == model and row.get("base_url", "").rstrip("/") == address:
            return dict(row)
    return None


def decimals(row: Mapping[str, Any]) -> dict[str, Decimal]:
    """The rates of a table row, per million tokens."""
    return {k: Decimal(str(row[k])) for k in _PACKAGE_FIELDS if row.get(k) is not None}
