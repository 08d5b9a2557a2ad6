"""What went wrong at the Hugging Face Hub, and what a person can do about it. Never sends, never shows a token."""

import errno
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.json_in import BadJson
from pipeline.errors import UserError

DEFAULT_REPO = "OUP/l2-bench"
# by name: the client is built on httpx in one of the two pinned sets and on httpx2 in the other
NETWORK_FAULTS = {"TransportError", "ConnectionError", "TimeoutError", "gaierror", "LocalEntryNotFoundError"}


@dataclass(frozen=True)
class Request:
    """What is asked of the Hub, for whom, and where it is kept."""

    repo: str
    revision: str
    csv: str
    resources: str
    cache_dir: Path | None
    token: str | None = field(repr=False)
    endpoint: str

    @property
    def page(self) -> str:
        """The dataset's page, where its terms are accepted."""
        return f"{self.endpoint.rstrip('/')}/datasets/{self.repo}"

    @property
    def common(self) -> dict[str, Any]:
        """Arguments that every download shares."""
        return {
            "repo_id": self.repo,
            "repo_type": "dataset",
            "cache_dir": self.cache_dir,
            "token": self.token,
            "endpoint": self.endpoint,
        }


class Unreachable(Exception):
    """The Hub did not answer, or answered that it is not well."""


class DownloadCut(UserError):
    """A download broke off; the client keeps what arrived and goes on from there when it is asked again."""


class TermsNotAccepted(UserError):
    """The token is good; its account has not accepted the dataset's terms."""


def explain(error: Exception, request: Request, downloading: bool = False) -> Exception:
    """A UserError for what a person can mend, `Unreachable` where the Hub was not there."""
    chain = _chain(error)
    for link in chain:
        if getattr(link, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(link):
            return UserError(
                "The disk is full: the dataset could not be stored.",
                "Some 20 MB of free space for tasks and resources.",
                "Free space, or set HF_HOME to a folder on another disk, and start again.",
            )
    for link in chain:
        status = getattr(getattr(link, "response", None), "status_code", None)
        if status is not None:
            return _by_answer(link, int(status), request)
    if isinstance(error, BadJson):
        return UserError(f"Hugging Face gave an answer that cannot be read. {error}", "", "Try again in a minute.")
    if type(error).__name__ == "HFValidationError":
        return _wrong_repo(request, "is not a dataset id")
    names = {base.__name__ for link in chain for base in type(link).__mro__}
    if "OfflineModeIsEnabled" in names:
        return Unreachable("HF_HUB_OFFLINE is set")
    if names & NETWORK_FAULTS or "onsistency" in str(error):
        return _cut(request) if downloading else Unreachable("no connection")
    if isinstance(error, PermissionError):
        return UserError(
            "The cache of the Hub cannot be written.",
            "A folder that this program may write to.",
            "Set HF_HOME to such a folder, or mend the permissions.",
        )
    return UserError(f"The dataset {request.repo} could not be fetched ({type(error).__name__}).", "", "Try again in a minute.")


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _by_answer(error: BaseException, status: int, request: Request) -> Exception:
    """What an answer of the Hub means; its error code is the class that the client gave it."""
    kind = type(error).__name__
    if kind == "GatedRepoError":
        return _terms(request) if _has_token(request) and status != 401 else not_signed_in(request)
    if kind == "RevisionNotFoundError":
        return UserError(
            f"The dataset {request.repo} has no revision {request.revision!r}.",
            "A branch, a tag or a full commit id.",
            f"Look it up at {request.page}/commits/main.",
        )
    if kind == "RemoteEntryNotFoundError":
        return UserError(
            f"The dataset {request.repo} has no file {request.csv} at revision {request.revision}.",
            "The tasks file named by TASKS_CSV_FILE, and its resources in the folder TASKS_RESOURCES_DIR.",
            f"Look at {request.page}/tree/{request.revision} and set TASKS_CSV_FILE or the revision.",
        )
    if status == 401 and kind != "RepositoryNotFoundError":
        return UserError(
            "Hugging Face refused the token.",
            "A token that is valid and has not expired.",
            "Sign in again (hf auth login, or the button on the page), or correct HF_TOKEN.",
        )
    if kind == "DisabledRepoError":
        return UserError(f"Hugging Face has disabled the dataset {request.repo}.", "", f"See {request.page}.")
    if kind == "RepositoryNotFoundError":
        return _wrong_repo(request, "does not exist, or is private, as far as this token can see")
    if status == 403:
        return UserError(
            f"The token may not read the dataset {request.repo}.",
            'A token with read access to "public gated repositories you can access".',
            "Change its permissions at https://huggingface.co/settings/tokens, or use another token; on the page, sign out and "
            "in again, and allow the access to gated repositories.",
        )
    if status == 429:
        return _quota(error)
    return Unreachable(f"it answered {status}")


def _has_token(request: Request) -> bool:
    from huggingface_hub import get_token

    return bool(request.token or get_token())


def not_signed_in(request: Request) -> UserError:
    """No token at all."""
    return UserError(
        f"The dataset {request.repo} is gated, and nobody is signed in to Hugging Face here.",
        "A Hugging Face account that has accepted the dataset's terms.",
        f"Accept the terms at {request.page}, then sign in: hf auth login or HF_TOKEN at the command line, "
        "the sign-in button on the page.",
    )


def _terms(request: Request) -> UserError:
    return TermsNotAccepted(
        f"This Hugging Face account has not accepted the terms of the dataset {request.repo}.",
        "Access, which is granted at once.",
        f"Accept the terms at {request.page} in a browser, signed in with the same account, and start again.",
    )


def _wrong_repo(request: Request, why: str) -> UserError:
    return UserError(
        f"The dataset {request.repo} {why}.",
        f"The id of a dataset, such as {DEFAULT_REPO}.",
        "Correct TASKS_REPO, or sign in with an account that may see it.",
    )


def _quota(error: BaseException) -> UserError:
    headers = getattr(getattr(error, "response", None), "headers", {})
    reset = re.search(r"\bt=(\d+)", headers.get("ratelimit", "")) or re.fullmatch(r"(\d+)", headers.get("retry-after", ""))
    wait = f"in {reset[1]} seconds" if reset else "in five minutes"
    return UserError(
        "Hugging Face has had too many requests from here (429, quota).",
        "Fewer requests; those of a signed-in account have a larger quota.",
        f"Try again {wait}.",
    )


def _cut(request: Request) -> DownloadCut:
    return DownloadCut(
        f"The download of {request.repo} was cut before it was complete.",
        "Whole files; what is complete is kept.",
        "Check the connection and start again: only what is missing is fetched.",
    )


def no_connection(request: Request, trouble: str) -> UserError:
    """The Hub was not there and nothing may stand in for it."""
    return UserError(
        f"The Hub could not be reached ({trouble}), and no copy of {request.repo} at revision {request.revision} "
        "may be used instead.",
        "A connection for the access check and the first download.",
        "Connect and start again, or use the demo tasks or a local file (--csv-path with --resources-dir).",
    )
