"""The gated dataset from the Hugging Face Hub: access check, revision, download, and the reason where that fails.

A visitor's token is checked before anything is read, and their files lie in a cache of their own: the Hub's client
hands out files of a shared cache even to a token that the Hub refuses. Never writes a token anywhere.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pipeline.core.hub_json import watch_hub
from pipeline.core.text import safe_text
from pipeline.data.hub_faults import (
    DEFAULT_REPO,
    DownloadCut,
    Request,
    TermsNotAccepted,
    Unreachable,
    explain,
    no_connection,
    not_signed_in,
)
from pipeline.errors import UserError

DEFAULT_CSV = "l2-bench_tasks.csv"
DEFAULT_RESOURCES = "resources_for_tasks"
INFO_TIMEOUT = 30.0
DOWNLOAD_ATTEMPTS = 3
T = TypeVar("T")


@dataclass(frozen=True)
class Fetched:
    """Where the files of a dataset lie on disk. `inside` is the cache that holds snapshots and what they link to."""

    csv_path: Path
    resources_dir: Path
    inside: Path
    repo: str
    commit: str
    notices: tuple[str, ...] = ()


def repo_name(repo: str = "") -> str:
    """The dataset's id: the one given, else TASKS_REPO, else the published one."""
    return repo or safe_text(os.environ.get("TASKS_REPO", "")).strip() or DEFAULT_REPO


def dataset_page(repo: str = "") -> str:
    """Address of the dataset's page, where its terms are accepted."""
    return _request(repo_name(repo), "", None, None).page


def may_read(repo: str = "", token: str = "") -> bool:
    """Whether the Hub opens the dataset to this token now; False where its terms are not accepted.

    Raises:
        UserError: it cannot be asked, or the token or the dataset's name is refused.
    """
    request = _request(repo, "", None, token)
    if not request.token:
        raise not_signed_in(request)
    try:
        _ask(request, lambda: _auth_check(request))
    except TermsNotAccepted:
        return False
    except Unreachable as trouble:
        raise UserError(f"Hugging Face could not be reached ({trouble}).", "", "Try again in a minute.") from None
    return True


def fetch(repo: str, revision: str, cache_dir: Path | None, token: str | None) -> Fetched:
    """Tasks file and resources of the dataset, from the Hub or from what it left in the cache.

    Args:
        repo: dataset id; "" as in `repo_name`.
        revision: branch, tag or commit; "" means main.
        cache_dir: this visitor's own cache, or None for the command line's, where a cached copy may be used offline
            and the token on this machine is used when none is given.
        token: the visitor's token.

    Raises:
        UserError: no access, no such thing, no connection, no space; each with what to do.
    """
    request = _request(repo, revision, cache_dir, token)
    if cache_dir is not None:
        if not request.token:
            raise not_signed_in(request)
        cache_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    if cache_dir is not None or not sys.stderr.isatty():
        from huggingface_hub.utils import disable_progress_bars

        disable_progress_bars()
    try:
        return _online(request)
    except Unreachable as trouble:
        if cache_dir is not None:
            raise no_connection(request, str(trouble)) from None
        return _cached(request, str(trouble))


def _request(repo: str, revision: str, cache_dir: Path | None, token: str | None) -> Request:
    from huggingface_hub import constants

    return Request(
        repo_name(repo),
        revision or "main",
        os.environ.get("TASKS_CSV_FILE", "").strip() or DEFAULT_CSV,
        (os.environ.get("TASKS_RESOURCES_DIR", "").strip() or DEFAULT_RESOURCES).strip("/"),
        cache_dir,
        (token or "").strip() or None,
        os.environ.get("HF_ENDPOINT", "").strip() or constants.ENDPOINT,
    )


def _online(request: Request) -> Fetched:
    from huggingface_hub import HfApi, snapshot_download

    api = HfApi(endpoint=request.endpoint, token=request.token)
    _ask(request, lambda: _auth_check(request))
    info = _ask(request, lambda: api.dataset_info(request.repo, revision=request.revision, timeout=INFO_TIMEOUT))
    commit = str(info.sha)
    # By the branch's name first: that leaves in the cache which commit it meant, for a later start without network.
    path = _download(request, request.revision)
    if _snapshot(path, request).name != commit:
        path = _download(request, commit)
    patterns = [f"{request.resources}/*"]
    _ask(request, lambda: snapshot_download(revision=commit, allow_patterns=patterns, **request.common), True)
    return _fetched(Path(path), request, ())


def _auth_check(request: Request) -> None:
    """The client's own `auth_check`, which waits without end where the Hub accepts a connection and says nothing."""
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status, validate_repo_id

    validate_repo_id(request.repo)
    address = f"{request.endpoint.rstrip('/')}/api/datasets/{request.repo}/auth-check"
    headers = build_hf_headers(token=request.token)
    hf_raise_for_status(get_session().get(address, headers=headers, timeout=INFO_TIMEOUT))


def _download(request: Request, revision: str) -> str:
    from huggingface_hub import hf_hub_download

    return _ask(request, lambda: hf_hub_download(filename=request.csv, revision=revision, **request.common), True)


def _cached(request: Request, trouble: str) -> Fetched:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        path = hf_hub_download(filename=request.csv, revision=request.revision, local_files_only=True, **request.common)
    except (LocalEntryNotFoundError, ValueError):
        raise no_connection(request, trouble) from None
    commit = _snapshot(path, request).name
    notice = (
        f"The Hub could not be reached ({trouble}); the tasks are the copy in this machine's cache, commit {commit}. "
        "A newer revision would not be seen."
    )
    return _fetched(Path(path), request, (notice,))


def _snapshot(path: str, request: Request) -> Path:
    """The snapshot folder above a file; its name is the commit."""
    return Path(path).parents[len(PurePosixPath(request.csv).parts) - 1]


def _fetched(path: Path, request: Request, notices: tuple[str, ...]) -> Fetched:
    snapshot = _snapshot(str(path), request)
    return Fetched(path, snapshot / request.resources, snapshot.parents[2], request.repo, snapshot.name, notices)


def _give_up_at_a_quota() -> None:
    """The client sleeps until a quota is free again, up to five times over and without a word; a visitor is told instead."""
    hooks = watch_hub().event_hooks["response"]
    if _at_quota not in hooks:
        hooks.append(_at_quota)


def _at_quota(response: Any) -> None:
    from huggingface_hub.utils import hf_raise_for_status

    if response.status_code == 429:
        response.read()
        hf_raise_for_status(response)


def _ask(request: Request, call: Callable[[], T], downloading: bool = False) -> T:
    """Do one thing at the Hub; what goes wrong comes out as a UserError or as Unreachable.

    A download that was cut is asked for again: client 1.x gives up at the first cut, 2.x after five without progress.
    """
    attempts_left = DOWNLOAD_ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            _give_up_at_a_quota()
            return call()
        except Exception as error:  # the client's HTTP library differs between its versions: judge by kind
            reason = explain(error, request, downloading)
        if not isinstance(reason, DownloadCut) or not attempts_left:
            raise reason
