"""The judge prompt in use: the published text where it can be read, else this project's own; filled in one pass.

The published files are data: fetched from their Space, parsed, never imported or executed. Never raises for a network
fault: the notice says what happened and which text is used instead.
"""

import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from pipeline.core.hub_json import watch_hub
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.core.text import safe_text
from pipeline.errors import UserError
from pipeline.events import PromptRecord
from pipeline.judging.published import Constant, constants, find_retry_suffix, find_template
from pipeline.judging.templates import OWN_RETRY_SUFFIX, OWN_TEMPLATES

PUBLISHED_SPACE = "OUP/l2-bench-pipeline"
REQUEST_SECONDS = 5.0
BUDGET_SECONDS = 15.0
"""Most seconds that reading the published prompts may hold up a run, all requests together."""
_MAX_BYTES = 500_000
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class JudgePrompt:
    """A judge template with where it came from.

    Attributes:
        template: str.format text with the placeholders of `fill`; v3 and v4 have no reference answer.
        retry_suffix: put after the prompt when the judge is asked again.
        digest, retry_digest: hex sha256 of the two texts.
        revision: commit of the Space that a published text was read from, else "".
        notice: one or two sentences for the person where something is not as asked, else "".
    """

    version: str
    template: str
    retry_suffix: str
    source: Literal["published", "own"]
    digest: str
    retry_digest: str
    revision: str = ""
    notice: str = ""

    def fill(self, *, task_text: str, reference_answer: str, ai_response: str, criterion_description: str) -> str:
        """The prompt for one criterion. Inserted texts are taken as they are: braces in them mean nothing."""
        values = {"task_text": task_text, "reference_answer": reference_answer, "ai_response": ai_response,
                  "criterion_description": criterion_description}
        return "".join(text + (values[name] if name is not None else "") for text, name in self._parts)

    @cached_property
    def _parts(self) -> tuple[tuple[str, str | None], ...]:
        return tuple((text, name) for text, name, _, _ in Formatter().parse(self.template))

    def retry(self, prompt: str) -> str:
        """The prompt asked again after an unreadable verdict."""
        glued = not prompt[-1:].isspace() and not self.retry_suffix[:1].isspace()
        return prompt + ("\n\n" if glued else "") + self.retry_suffix

    def record(self) -> PromptRecord:
        """What the journal and the manifest say about it; no text."""
        return PromptRecord(version=self.version, source=self.source, digest=self.digest,
                            retry_digest=self.retry_digest, revision=self.revision, notice=self.notice)


class _Unreadable(Exception):
    """The published prompts cannot be used; the message completes "... could not be used: "."""


@dataclass(frozen=True)
class _Published:
    template: Constant
    retry: Constant | None
    commit: str


def load_prompt(
    version: str, source: Literal["auto", "own"] = "auto", revision: str = "main",
    cache_dir: Path | str | None = None, token: str | None = None,
) -> JudgePrompt:
    """The judge prompt `version`: "auto" reads the published text and falls back on this project's, "own" uses no network.

    Args:
        revision: branch, tag or commit of the Space; a commit that is in the cache needs no network.
        cache_dir: Hub cache to use; None for the user's own.
        token: Hugging Face token of this visitor, or None for the one the Hub client finds.

    Raises:
        UserError: no such version.
    """
    if version not in OWN_TEMPLATES:
        raise UserError(f"There is no judge prompt {version!r}.", f"Known are {', '.join(OWN_TEMPLATES)}.", "Choose one of them.")
    if source == "own":
        return _own(version, "")
    space = safe_text(os.environ.get("L2BENCH_PROMPT_SPACE", "")) or PUBLISHED_SPACE
    cache = Path(cache_dir) if cache_dir is not None else None
    try:
        found = _within_budget(lambda until: _fetch(space, version, revision, cache, token, until))
    except _Unreadable as why:
        return _own(version, f"The published judge prompts of the Space {space} could not be used ({why}). "
                             "This project's own text is used instead.")
    return _published(version, space, found, cache)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _own(version: str, notice: str) -> JudgePrompt:
    template = OWN_TEMPLATES[version]
    return JudgePrompt(version, template, OWN_RETRY_SUFFIX, "own", _digest(template), _digest(OWN_RETRY_SUFFIX), "", notice)


def _published(version: str, space: str, found: _Published, cache: Path | None) -> JudgePrompt:
    template = found.template.text
    retry = found.retry.text if found.retry else OWN_RETRY_SUFFIX
    digest, retry_digest = _digest(template), _digest(retry)
    notices = []
    if space != PUBLISHED_SPACE:
        notices.append(f"The judge prompts were read from the Space {space}, not from {PUBLISHED_SPACE}.")
    if found.retry is None:
        notices.append("The published retry suffix was not found; this project's own is used where a verdict is asked for again.")
    seen = {version: digest} | ({"retry": retry_digest} if found.retry else {})
    notices += _changed(space, seen, found.commit, cache)
    return JudgePrompt(version, template, retry, "published", digest, retry_digest, found.commit, " ".join(notices))


def _within_budget(work: Callable[[float], _Published]) -> _Published:
    """Run `work` in a thread and give it up when the budget is spent: a request that hangs must not hold up a run."""
    box: list[_Published | Exception] = []

    def run() -> None:
        try:
            box.append(work(time.monotonic() + BUDGET_SECONDS))
        except Exception as error:  # noqa: BLE001 - whatever the network stack raises becomes a notice
            box.append(error)

    thread = threading.Thread(target=run, name="judge-prompts", daemon=True)
    thread.start()
    thread.join(BUDGET_SECONDS)
    result = box[0] if box else _Unreadable("no answer in time")
    if isinstance(result, Exception):
        raise result if isinstance(result, _Unreadable) else _Unreadable(_reason(result)) from result
    return result


def _reason(error: Exception) -> str:
    """A few plain words; never the error's own text, which may hold an address or a path."""
    kind = type(error).__name__
    words = {
        "OfflineModeIsEnabled": "the Hub client is offline", "LocalEntryNotFoundError": "the Hub could not be reached",
        "GatedRepoError": "access is restricted", "RepositoryNotFoundError": "the Space was not found",
        "RevisionNotFoundError": "the revision was not found", "EntryNotFoundError": "a file was not found",
        "RemoteEntryNotFoundError": "a file was not found", "HFValidationError": "the name is no repository name",
        "BadJson": "its answer cannot be read",
    }
    if kind in words:
        return words[kind]
    if "Timeout" in kind:
        return "no answer in time"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status:
        return f"the Hub answered with status {status}"
    return "the Hub could not be reached" if "Connect" in kind or "Protocol" in kind else f"the Hub could not be read: {kind}"


def _offline() -> bool:
    from huggingface_hub import constants as hub

    return hub.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _fetch(space: str, version: str, revision: str, cache: Path | None, token: str | None, until: float) -> _Published:
    """Read the prompts of one commit, from the cache where it holds that commit, else from the Hub."""
    if _COMMIT.fullmatch(revision) and (held := _from_cache(space, version, revision, cache)):
        return held
    if _offline():
        raise _Unreadable("the Hub client is offline")
    info = _info(space, revision, token)
    commit = info.sha or ""
    paths = [s.rfilename for s in info.siblings or [] if s.rfilename.endswith(".py")]
    likely = [p for p in paths if "prompt" in p.lower()]
    others = [p for p in paths if p not in likely]
    found: list[Constant] = []
    for batch in (likely, others):
        for path in batch:
            if time.monotonic() > until:
                raise _Unreadable("no answer in time")
            found += constants(path, _download(space, path, commit, cache, token))
        if template := find_template(found, version):
            return _Published(template, find_retry_suffix(found), commit)
    raise _Unreadable(f"no text was recognised as judge prompt {version}")


def _info(space: str, revision: str, token: str | None) -> Any:
    """Commit and file list. The Space is public: a token that the Hub refuses is left out rather than stopping the run."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    watch_hub()
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        return api.space_info(space, revision=revision, timeout=REQUEST_SECONDS, token=token)
    except HfHubHTTPError as error:
        if error.response is None or error.response.status_code not in (401, 403):
            raise
        return api.space_info(space, revision=revision, timeout=REQUEST_SECONDS, token=False)


def _download(space: str, path: str, commit: str, cache: Path | None, token: str | None) -> str:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError
    from tqdm.auto import tqdm

    class Silent(tqdm):  # type: ignore[type-arg]
        """A few kilobytes need no progress bar."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **(kwargs | {"disable": True}))

    def get(with_token: str | bool | None) -> str:
        return hf_hub_download(space, path, repo_type="space", revision=commit, cache_dir=cache, token=with_token,
                               etag_timeout=REQUEST_SECONDS, tqdm_class=Silent,
                               endpoint=os.environ.get("HF_ENDPOINT") or None)

    try:
        local = get(token)
    except HfHubHTTPError as error:
        if error.response is None or error.response.status_code not in (401, 403):
            raise
        local = get(False)
    return _text(Path(local))


def _text(path: Path) -> str:
    return path.read_text("utf-8-sig", errors="replace") if path.stat().st_size <= _MAX_BYTES else ""


def _from_cache(space: str, version: str, commit: str, cache: Path | None) -> _Published | None:
    from huggingface_hub import constants as hub

    folder = Path(cache or hub.HF_HUB_CACHE) / f"spaces--{space.replace('/', '--')}" / "snapshots" / commit
    found = [c for p in sorted(folder.rglob("*.py")) for c in constants(p.relative_to(folder).as_posix(), _text(p))]
    template = find_template(found, version)
    return _Published(template, find_retry_suffix(found), commit) if template else None


def _changed(space: str, seen: dict[str, str], commit: str, cache: Path | None) -> list[str]:
    """Remember the digests of this run; say which differ from those remembered. A disk that refuses is no fault."""
    from huggingface_hub import constants as hub

    file = Path(cache or hub.HF_HOME) / "l2bench" / "judge-prompts.json"
    try:
        memory = read_json(file.read_bytes(), FROM_FILE)
    except (OSError, ValueError):
        memory = {}
    memory = memory if isinstance(memory, dict) else {}
    said = []
    for name, digest in seen.items():
        before = memory.get(f"{space} {name}")
        if isinstance(before, dict) and before.get("digest") not in (None, digest):
            text = "retry suffix" if name == "retry" else f"judge prompt {name}"
            said.append(f"The published {text} has changed since it was last read here (commit {str(before.get('commit'))[:10]}, "
                        f"digest {str(before['digest'])[:10]}; now commit {commit[:10]}, digest {digest[:10]}).")
        memory[f"{space} {name}"] = {"digest": digest, "commit": commit}
    _write(file, json.dumps(memory, indent=1))
    return said


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as temporary:
            temporary.write(text)
        os.replace(temporary.name, file)
    except OSError:
        return
