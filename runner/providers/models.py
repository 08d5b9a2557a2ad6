"""Lists of models: the provider's own with a key, else the bundled one with its date; and the search in them.

Never holds a key: the cache is keyed by a digest. Never alters what a visitor typed.
"""

import difflib
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.errors import UserError
from runner.providers.calls import route
from runner.providers.catalogue import provider
from runner.providers.entry import Call, Provider
from runner.providers.keys import clean_fields, wrong_provider
from runner.providers.wire import Reply, Unreachable, send

BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "models.json"
KEPT_SECONDS = 600.0
MOST_MODELS = 5000
_REGIONAL = re.compile(r"^(us-gov|us|eu|apac|global|jp|au|ca)\.")


@dataclass(frozen=True)
class ModelInfo:
    """One model of a list.

    Attributes:
        id: exactly as the provider writes it.
        context: tokens it can read, or None where the list does not say.
        pricing: US dollars per token and the like as the list gives them (OpenRouter's `pricing`), or empty.
        aliases: other ids the list gives for it.
        profile_only: on Bedrock, called through an inference profile and not by this id.
    """

    id: str
    name: str = ""
    context: int | None = None
    pricing: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    profile_only: bool = False


@dataclass(frozen=True)
class ModelList:
    """A provider's models; `source` is "live" or "bundled", `date` the day it holds for, `notice` why not live."""

    provider: str
    models: tuple[ModelInfo, ...]
    source: str
    date: str
    notice: str = ""

    @property
    def ids(self) -> list[str]:
        """The ids in the list's order."""
        return [m.id for m in self.models]

    def find(self, model: str) -> ModelInfo | None:
        """The entry for an id as a visitor writes it, variants and aliases included; None where it is not listed."""
        wanted = set(spellings(self.provider, model))
        for info in self.models:
            if info.id in wanted or wanted & set(info.aliases):
                return info
        if self.provider == "anthropic":  # an alias such as claude-sonnet-4-5 is listed with its date only
            return next((m for m in self.models if re.fullmatch(re.escape(model) + r"-\d{8}", m.id)), None)
        return None

    @property
    def live(self) -> dict[str, dict[str, Any]]:
        """Prices and context by id, for `prices.price_for(live=...)`; empty where the list gives no prices."""
        priced = (m for m in self.models if m.pricing)
        return {m.id: {"id": m.id, "pricing": dict(m.pricing), "context_length": m.context} for m in priced}


def spellings(provider_id: str, model: str) -> list[str]:
    """The ids under which a list may hold this model."""
    found = [model]
    if provider_id == "openrouter":
        found.append(re.sub(r":(nitro|floor|online|exacto)$", "", model))
    elif provider_id == "hf-inference-providers":
        found.append(model.split(":", 1)[0])
    elif provider_id == "bedrock":
        found += [_REGIONAL.sub("", model), f"{_REGIONAL.sub('', model)}-v1:0"]
    elif provider_id == "google":
        found.append(model.removeprefix("models/"))
    elif provider_id == "fireworks":
        found.append(f"accounts/fireworks/models/{model}")
    return found


@cache
def _bundle() -> dict[str, Any]:
    return json.loads(BUNDLED.read_text(encoding="utf-8"))


def bundled(entry: str | Provider, notice: str = "") -> ModelList:
    """The list that came with the app; empty for a provider it does not know."""
    found, bundle = provider(entry), _bundle()
    ids = bundle["models"].get(found.id) or list(found.judges)
    return ModelList(found.id, tuple(ModelInfo(i) for i in ids), "bundled", bundle["date"], notice)


class ModelLists:
    """Live lists, kept in memory for ten minutes under a digest of provider and fields.

    Args:
        clock: monotonic seconds.
        today: the day a live list is stamped with, as ISO date.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, today: Callable[[], str] | None = None,
                 keep: float = KEPT_SECONDS, most: int = 200) -> None:
        self._clock, self._keep, self._most = clock, keep, most
        self._today = today or (lambda: time.strftime("%Y-%m-%d", time.gmtime()))
        self._kept: dict[str, tuple[float, ModelList]] = {}

    async def get(self, entry: str | Provider, fields: Mapping[str, str] | None = None) -> ModelList:
        """The provider's own list where it can be had (with a key, or openly), else the bundled one. Never raises."""
        found = provider(entry)
        if found.listing is None or (not fields and not found.public_list):
            return bundled(found)
        try:
            cleaned = clean_fields(found, fields or {}) if fields or not found.public_list else {}
            if wrong := wrong_provider(found, cleaned):
                return bundled(found, wrong)
            return await self._live(found, cleaned)
        except UserError as error:
            return bundled(found, str(error))
        except Unreachable as error:
            return bundled(found, f"The list of {found.name} could not be had. {error}")

    async def prices(self, wanted: Iterable[tuple[str, str, Mapping[str, str] | None]]) -> dict[str, Any]:
        """What the lists say of these models' prices, by model id, for `prices.price_for(live=...)`; empty where nothing.

        Args:
            wanted: provider, model's id and secret fields, None where none are held.
        """
        found: dict[str, Any] = {}
        for entry, model, fields in wanted:
            if model and fields is not None and provider(entry).listing is not None:
                listed = await self.get(entry, fields)
                info = listed.find(model)
                found |= {info.id: listed.live[info.id]} if info and info.pricing else {}
        return found

    async def _live(self, entry: Provider, fields: Mapping[str, str]) -> ModelList:
        digest = _digest(entry, fields)
        kept = self._kept.get(digest)
        if kept and kept[0] > self._clock():
            return kept[1]
        where = await route(entry, fields)
        assert entry.listing is not None
        reply = await send(where.get(entry.listing))
        models = read_list(entry.listing, reply)
        if models is None:
            return bundled(entry, f"{entry.name} gave no list of models ({reply.status}).")
        found = ModelList(entry.id, tuple(models), "live", self._today())
        now = self._clock()
        self._kept = {d: row for d, row in self._kept.items() if row[0] > now}
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[digest] = (now + self._keep, found)
        return found


def _digest(entry: Provider, fields: Mapping[str, str]) -> str:
    text = json.dumps([entry.id, entry.base, sorted(fields.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def read_list(call: Call, reply: Reply) -> list[ModelInfo] | None:
    """The models in a reply to the listing call; None where it is no list."""
    rows = reply.body
    if reply.status != 200:
        return None
    if isinstance(rows, Mapping):
        rows = rows.get(call.field or "data")
    if not isinstance(rows, list):
        return None
    found = [_info(call, row) for row in rows[:MOST_MODELS] if isinstance(row, Mapping) and _talks(row)]
    return list({m.id: m for m in found if m.id}.values())


def _talks(row: Mapping[str, Any]) -> bool:
    """Whether a model of the list writes text, as far as the list tells."""
    methods = row.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return False
    outputs = row.get("outputModalities")
    if isinstance(outputs, list) and "TEXT" not in outputs:
        return False
    can = row.get("capabilities")
    if isinstance(can, Mapping) and can.get("completion_chat") is False:
        return False
    return row.get("type") not in ("image", "embedding", "audio", "moderation", "rerank", "transcribe", "video")


def _info(call: Call, row: Mapping[str, Any]) -> ModelInfo:
    raw = row.get(call.id_field)
    model = raw.removeprefix(call.strip) if isinstance(raw, str) else ""
    if any(c.isspace() or not c.isprintable() for c in model):
        model = ""
    context = next((row[k] for k in ("context_length", "context_window", "max_context_length", "inputTokenLimit",
                                     "max_model_len", "max_input_tokens") if isinstance(row.get(k), int)), None)
    pricing, aliases, kinds = row.get("pricing"), row.get("aliases"), row.get("inferenceTypesSupported")
    name = row.get("display_name") or row.get("displayName") or row.get("modelName") or row.get("name")
    return ModelInfo(
        model, name if isinstance(name, str) else "", context,
        dict(pricing) if isinstance(pricing, Mapping) and "prompt" in pricing else {},
        tuple(a for a in aliases if isinstance(a, str)) if isinstance(aliases, list) else (),
        isinstance(kinds, list) and "ON_DEMAND" not in kinds and "INFERENCE_PROFILE" in kinds)


def search(models: ModelList | Iterable[str], typed: str, most: int = 50) -> list[str]:
    """Ids that fit what was typed, the best first; the exact text always stands first as it was typed.

    All words in any order come before letters in order, and those before near spellings.
    """
    ids = models.ids if isinstance(models, ModelList) else list(models)
    text = typed.strip()
    if not text:
        return ids[:most]
    words = re.findall(r"[a-z0-9]+", text.lower())
    ranked = sorted((rank, len(i), i) for i in ids if (rank := _rank(i.lower(), text.lower(), words)) is not None)
    found = [i for _, _, i in ranked]
    if not found:
        found = difflib.get_close_matches(text, ids, n=most, cutoff=0.6)
    return [text, *(i for i in found if i != text)][:most]


def _rank(model: str, text: str, words: list[str]) -> int | None:
    if model == text:
        return 0
    if text in model:
        return 1 if model.startswith(text) or f"/{text}" in model else 2
    if words and all(w in model for w in words):
        return 3
    letters = iter(model)
    return 4 if len(text) >= 4 and all(c in letters for c in text if c.isalnum()) else None


def gone(listed: ModelList, model: str, entry: Provider | None = None) -> str:
    """A sentence for the preflight where a live list that is complete does not hold this model; else "".

    A free variant that has ended is named as such, with the paid one where it is still there.
    """
    entry = entry or provider(listed.provider)
    if listed.source != "live" or not entry.full_list or not listed.models or listed.find(model):
        return ""
    if listed.provider == "bedrock" and model.startswith("arn:"):
        return ""
    if model.endswith(":free"):
        paid = model.removesuffix(":free")
        rest = (f" The paid {paid} is still there." if listed.find(paid) else "")
        return f"{model} is no longer offered by {entry.name}: the free version has ended.{rest} Choose another model."
    near = [m for m in search(listed, model, 4) if m != model] or difflib.get_close_matches(model, listed.ids, 3, 0.5)
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return f"{model} is not among the {len(listed.models)} models that {entry.name} lists for this key.{hint}"
