"""The methods box: how the score is computed and what a stranger needs to repeat the run. Holds no secret and no text."""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.report.command import command_line, not_repeated, repeating
from pipeline.report.view import RunView
from pipeline.settings import setting
from pipeline.spec import RunSpec
from ui.words.said import translated

T = Callable[..., str]
LINKS = (("OUP/l2-bench", "https://huggingface.co/datasets/OUP/l2-bench", "result.cite.data"),
         ("OUP/l2-bench-pipeline", "https://huggingface.co/spaces/OUP/l2-bench-pipeline", "result.cite.space"),
         ("arXiv:2607.08842", "https://arxiv.org/abs/2607.08842", "result.cite.paper"))
CITATION = ("Edgell, Kennedy, Knight, Carvalho, Ku and Pattis (2026). L2-Bench: An Evaluation Benchmark for Measuring LLM "
            "Capabilities in Second Language Education. arXiv:2607.08842.")
LICENCE_URL = "https://creativecommons.org/licenses/by-sa/4.0/"


@dataclass(frozen=True)
class Methods:
    """What the box shows. `command` is "" where the spec cannot be read back."""

    command: str
    unsaid: tuple[str, ...]
    local: bool
    fields: list[tuple[str, str]]
    digests: list[tuple[str, str]]
    task_ids: str
    links: tuple[tuple[str, str, str], ...] = LINKS
    citation: str = CITATION
    licence_url: str = LICENCE_URL


def methods(view: RunView, t: T, journal_digest: str = "") -> Methods:
    """The box of one run.

    Args:
        journal_digest: hex sha256 of the journal as the manifest tells it, or "".
    """
    spec = repeating(view)
    data, prompt = view.data, view.prompt
    fields = [(t(f"result.manifest.{key}"), value) for key, value in (
        ("status", t(f"status_{view.status}") + (f": {translated(view.reason, t('lang'))}" if view.reason else "")),
        ("seed", str(view.spec.get("seed", 0))),
        ("solver", view.models.get("solver", "")), ("judge", view.models.get("judge", "")),
        ("data", f"{data.name} {data.revision}".strip() if data else ""),
        ("prompt", f"{prompt.version} {t('result.prompt_' + prompt.source)} {prompt.revision}".strip() if prompt else ""),
        ("notice", prompt.notice if prompt else ""),
        ("settings", _settings(view)), ("versions", ", ".join(f"{k} {v}" for k, v in view.versions.items())),
        ("resumed", str(view.resumes) if view.resumes else ""), ("waits", str(view.waits) if view.waits else "")) if value]
    digests = [(t(f"result.digest.{key}"), value) for key, value in (
        ("spec", view.spec_digest), ("data", data.digest if data else ""), ("prompt", prompt.digest if prompt else ""),
        ("retry", prompt.retry_digest if prompt else ""), ("journal", journal_digest)) if value]
    return Methods(command_line(spec) if spec else "", _unsaid(spec, t), bool(spec and spec.source == "local"), fields, digests,
                   ", ".join(task.key for task in view.tasks))


def _unsaid(spec: RunSpec | None, t: T) -> tuple[str, ...]:
    return tuple(setting(name).help for name in not_repeated(spec)) if spec else ()


def _settings(view: RunView) -> str:
    parts = []
    for role in ("solver", "judge"):
        config = (view.spec.get(role) or {}).get("config") or {}
        parts += [f"{role} {name} {value}" for name, value in config.items()]
    return ", ".join(parts)
