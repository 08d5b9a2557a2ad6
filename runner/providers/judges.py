"""Which judges are offered, and what is known of each one's stability. Never says that two judges agree."""

from dataclasses import dataclass

from runner.providers.catalogue import provider
from runner.providers.entry import Provider

ANOTHER = "another judge: not comparable with published scores"
REFERENCE = "Claude Sonnet 4.6, the judge of the published scores"
SOURCE = "stability notebook in the benchmark authors' public repository: 76 criteria of 5 tasks, judged 3 times each"

# Per cent of criteria on which three repeats gave one verdict, by prompt version.
STABILITY: dict[str, dict[str, float]] = {
    "Claude Sonnet 4.5": {"v1": 96.1, "v2": 94.7, "v3": 97.4, "v4": 98.7},
    "Claude Sonnet 4.6": {"v1": 100.0, "v2": 98.7, "v3": 94.7, "v4": 94.7},
    "DeepSeek V3.2": {"v1": 93.4, "v2": 84.2, "v3": 93.4, "v4": 89.5},
    "Kimi K2.5": {"v1": 98.7, "v2": 72.4, "v3": 72.4, "v4": 88.2},
}
_MARKS = {
    "Claude Sonnet 4.5": ("claude-sonnet-4-5", "claude-sonnet-4.5"),
    "Claude Sonnet 4.6": ("claude-sonnet-4-6", "claude-sonnet-4.6"),
    "DeepSeek V3.2": ("deepseek-v3.2", "deepseek.v3.2", "deepseek-v3p2"),
    "Kimi K2.5": ("kimi-k2.5", "kimi-k2p5"),
}
_NOTES = {
    "gemma-4-31b": "As its own judge it scored about 8 points higher than Claude Sonnet 4.6 did, in one outside run.",
    "smollm2-135m": "Far too small to judge; its verdicts are close to chance.",
}


@dataclass(frozen=True)
class JudgeOption:
    """One judge on offer.

    Attributes:
        model: inspect's name.
        reference: whether it is the model behind the published scores (by whichever route).
        label: stands beside the name; for every other model it says that scores are not comparable.
        stability: what is known, in one sentence.
    """

    model: str
    provider: str
    reference: bool
    open_weights: bool
    label: str
    stability: str


def known_model(name: str) -> str:
    """The measured judge behind an id, by whichever route, or ""."""
    low = name.lower()
    return next((k for k, marks in _MARKS.items() if any(m in low for m in marks)
                 and not any(f"{m}-exp" in low or f"{m}-special" in low for m in marks)), "")


def stability(name: str, prompt_version: str = "v1") -> str:
    """What is known of a judge's stability with this prompt version, in one sentence."""
    if found := STABILITY.get(known_model(name), {}).get(prompt_version):
        return f"Gave the same verdict three times on {found:.1f} % of 76 criteria with prompt {prompt_version}."
    note = next((n for mark, n in _NOTES.items() if mark in name.lower()), "")
    return f"Stability not measured. {note}".strip()


def label(name: str) -> str:
    """What stands beside a judge's name. A scripted judge says that it is one."""
    if name.startswith("demo/"):
        return f"scripted, {ANOTHER}"
    return REFERENCE if known_model(name) == "Claude Sonnet 4.6" else ANOTHER


def judge_options(entry: str | Provider, prompt_version: str = "v1") -> list[JudgeOption]:
    """The judges known to a provider; first its route to Claude Sonnet 4.6, where it has one."""
    found = provider(entry)
    options = []
    for model in found.judges:
        name = f"{found.prefix}/{model}"
        options.append(JudgeOption(name, found.id, known_model(name) == "Claude Sonnet 4.6", model in found.open_judges,
                                   label(name), stability(name, prompt_version)))
    return options
