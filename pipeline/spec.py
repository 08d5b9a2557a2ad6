"""What a run is, without any secret: the frozen RunSpec, its canonical JSON and its digest; apart from it, the keys.

Never holds a key, a base URL with credentials, or a person's name (`RunSpec`). Never written anywhere (`Credentials`).
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_serializer, model_validator

from pipeline.core.address import clean_address
from pipeline.core.secret_names import secret_place
from pipeline.errors import UserError

SOLVER_DEFAULTS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 4096}
JUDGE_DEFAULTS: dict[str, Any] = {"reasoning_tokens": 1024}
PINNED = "pinned"
"""Beside a key: the one IP address that its endpoint's name may stand for."""
PLAIN_FIELDS = frozenset({"base_url", "region_name", PINNED})
"""Fields of a provider that are no secrets."""
REFERENCE_JUDGE = "bedrock/us.anthropic.claude-sonnet-4-6"


class ModelSpec(BaseModel):
    """A model as inspect names it (`provider/model`, kept exactly) with its generation settings.

    Attributes:
        config: fields of inspect's GenerateConfig that are set; a field given as 0 is set, an absent one is not.
        base_url: address of a custom endpoint, without credentials, or None for the provider's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str
    config: dict[str, Any] = Field(default_factory=dict)
    base_url: str | None = None

    @field_validator("base_url")
    @classmethod
    def _no_credentials(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url:  # kept as it is written: a recorded spec keeps its digest
            bare = str(info.data.get("model")).startswith("grok/") and "://" not in url  # what xAI's client takes
            clean_address(f"https://{url}" if bare else url)
        return url

    @field_validator("model")
    @classmethod
    def _no_key_as_name(cls, model: str) -> str:
        return _without_secret(model, "model's name")

    @field_validator("config")
    @classmethod
    def _finite(cls, config: dict[str, Any]) -> dict[str, Any]:
        if bad := [name for name, value in config.items() if isinstance(value, float) and not isfinite(value)]:
            raise ValueError(f"{', '.join(bad)} is no finite number")
        return config

    @field_validator("config")
    @classmethod
    def _no_key_in_settings(cls, config: dict[str, Any]) -> dict[str, Any]:
        return _without_secret(config, "setting")


def _without_secret(value: Any, what: str) -> Any:
    """The value, where no key stands in it: the spec, the journal and the log that hold it are shown to others."""
    if (place := secret_place(value)) is not None:
        named = f"The {what} {place}" if isinstance(value, dict) else f"The {what}"
        raise UserError(f"{named} holds a key, a token or a password.", "It would stand in the run's record and in its log.",
                        "Take it out. A key is given in the form's own field, or in the environment of the command line.")
    return value


class RunSpec(BaseModel):
    """Everything that decides what a run does. The defaults are those of `pipeline.settings`.

    Attributes:
        source: which of the three kinds of tasks; `repo` and `revision` apply to "hub", `data_digest` to all
            (filled when the tasks are loaded; hex sha256).
        context: pairs (context variable, value); values of one variable are alternatives, variables all apply.
        sample_limit: number of tasks at most; 0 means all.
        max_cost: USD over solver and judge together; None means no money cap.
        grown_from: digest of the spec that this run had before it was given more tasks or epochs, "" for most runs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    source: Literal["demo", "hub", "local"] = "demo"
    repo: str = ""
    revision: str = ""
    data_digest: str = ""
    competency: tuple[str, ...] = ()
    subcompetency: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    task_ids: tuple[str, ...] = ()
    sample_limit: int = Field(default=0, ge=0)
    sampling: Literal["first", "stratified"] = "first"
    seed: int = 0
    solver: ModelSpec
    judge: ModelSpec = ModelSpec(model=REFERENCE_JUDGE, config=JUDGE_DEFAULTS)
    prompt_version: Literal["v1", "v2", "v3", "v4"] = "v1"
    prompt_source: Literal["auto", "own"] = "auto"
    prompt_revision: str = "main"
    verdict_retries: int = Field(default=0, ge=0, le=10)
    verdict_parser: Literal["strict", "lenient"] = "strict"
    epochs: int = Field(default=1, ge=1, le=20)
    max_connections: int = Field(default=20, ge=1, le=500)
    api_retries: int = Field(default=5, ge=0, le=20)
    call_timeout: int = Field(default=600, ge=1, le=3600)
    max_cost: float | None = Field(default=None, ge=0, le=1e9, allow_inf_nan=False)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    allow_missing_resources: bool = False
    pilot: bool = False
    grown_from: str = Field(default="", pattern="^([0-9a-f]{64})?$")

    @model_serializer(mode="wrap")
    def _as_before(self, whole: Any) -> dict[str, Any]:
        """A run that never grew has the JSON, and so the digest, that it had before runs could grow."""
        return {name: value for name, value in whole(self).items() if name != "grown_from" or value}

    @field_validator("repo", "revision", "prompt_revision")
    @classmethod
    def _no_key_as_source(cls, text: str) -> str:
        return _without_secret(text, "data source")

    @model_validator(mode="after")
    def _reasoning_excludes_temperature(self) -> "RunSpec":
        config = self.judge.config
        if config.get("reasoning_tokens") and config.get("temperature") is not None:
            raise UserError(
                "The judge has both a reasoning budget and a temperature.",
                "Thinking models refuse a request that sets both.",
                "Leave the judge's temperature unset, or set its reasoning budget to 0.",
            )
        return self

    def canonical(self) -> str:
        """The spec as JSON with sorted keys and no spaces; equal specs give equal text."""
        return canonical(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """Hex sha256 of the canonical JSON."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()


def canonical(spec: dict[str, Any]) -> str:
    """A spec's canonical JSON, from its plain data, which may be of another version."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, repr=False)
class ProviderKey:
    """The secret fields of one role's provider, by the names its entry gives them (`api_key`, `aws_access_key_id`, ...).

    An empty mapping means: whatever the environment holds, as inspect reads it (command line only).
    """

    fields: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ProviderKey({sorted(self.fields)})"


@dataclass(frozen=True, repr=False)
class Credentials:
    """All secrets of one run. Lives in memory and in one pipe, never in a file, an argument or a message."""

    solver: ProviderKey = field(default_factory=ProviderKey)
    judge: ProviderKey = field(default_factory=ProviderKey)
    hf_token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(...)"

    def secrets(self) -> list[str]:
        """Every secret string of at least 6 characters, for redaction."""
        fields = [*self.solver.fields.items(), *self.judge.fields.items(), ("hf_token", self.hf_token or "")]
        values = [value for name, value in fields if name not in PLAIN_FIELDS]
        return sorted({v for v in values if len(v) >= 6}, key=len, reverse=True)

    def stay_out_of(self, spec: RunSpec, others: Iterable[str] = ()) -> None:
        """Check that no secret was given as a setting too.

        Args:
            others: secrets beside these.

        Raises:
            UserError: one was; it is not quoted.
        """
        text = spec.canonical()
        if any(len(s) >= 10 and not s.isalpha() and s in text for s in (*self.secrets(), *others)):
            raise UserError("A setting holds one of the run's own keys.", "It would stand in the run's record and in its log.",
                            "Take it out of the settings.")

    def to_json(self) -> dict[str, Any]:
        """For the pipe to the worker, and nothing else."""
        return {"solver": self.solver.fields, "judge": self.judge.fields, "hf_token": self.hf_token}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Credentials":
        """The reverse of `to_json`."""
        return cls(ProviderKey(data.get("solver") or {}), ProviderKey(data.get("judge") or {}), data.get("hf_token"))


@dataclass(frozen=True)
class Places:
    """Where a run finds and leaves its files; outside the spec, since a path is not part of what is measured.

    Attributes:
        run_dir: folder of the run; `events.jsonl` (public journal), `manifest.json`, and `private/` for the rest.
        csv_path, resources_dir: local tasks, both or neither.
        cache_dir: Hub cache of this visitor alone, or None for the user's own cache (command line).
        eval_dir: folder for the `.eval` log where it is not the run folder's `private/`.
    """

    run_dir: Path
    csv_path: Path | None = None
    resources_dir: Path | None = None
    cache_dir: Path | None = None
    eval_dir: Path | None = None

    @property
    def private(self) -> Path:
        """What only the run's owner may read."""
        return self.run_dir / "private"

    @property
    def logs(self) -> Path:
        """Where the `.eval` log goes: `private/` of the run folder unless the command line says otherwise."""
        return self.eval_dir or self.run_dir / "private"

    @property
    def journal(self) -> Path:
        """The public record."""
        return self.run_dir / "events.jsonl"

    @property
    def ledger(self) -> Path:
        """The private record of every call that was sent and answered, with text; resume reads it."""
        return self.run_dir / "private" / "ledger.jsonl"

    @property
    def manifest(self) -> Path:
        """Written last; makes the folder complete."""
        return self.run_dir / "manifest.json"
