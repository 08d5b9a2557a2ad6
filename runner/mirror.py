"""Copies shared runs to a dataset repo on the Hub and reads them back at start. Only public files, only own runs.

Every push looks at the repo first and names the commit it saw, so that two servers never overwrite each other. A
repo that does not answer delays copies, never a run. Never logs the token.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.core.files import write_whole
from pipeline.core.hub_json import watch_hub
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.errors import UserError
from pipeline.report.export.source import read_manifest, run_of
from pipeline.report.summary import summarise
from runner.sharing import Meta, is_public
from runner.store import Store

PUBLIC_FILES = ("events.jsonl", "manifest.json", "spec.json")
CARD = "run.json"
EVERY = 600.0
SLOW = 60.0
TRIES = 6
LARGEST = 64 << 20
log = logging.getLogger(__name__)


class Moved(Exception):
    """Somebody committed since the repo was looked at."""


@dataclass(frozen=True)
class Commit:
    """What one push changes: files by path in the repo, files that go, and the metas it makes true."""

    add: dict[str, Path | bytes] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    metas: tuple[Meta, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.add and not self.delete


@dataclass(frozen=True, repr=False)
class Mirror:
    """The repo and how to reach it; blocking calls, to be made in a thread."""

    repo: str
    token: str
    endpoint: str | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Mirror | None":
        """The repo that `L2BENCH_RESULTS_REPO` names, with `L2BENCH_RESULTS_TOKEN` (else `HF_TOKEN`), or None."""
        repo = env.get("L2BENCH_RESULTS_REPO", "").strip()
        token = (env.get("L2BENCH_RESULTS_TOKEN") or env.get("HF_TOKEN") or "").strip()
        return cls(repo, token, env.get("HF_ENDPOINT") or None) if repo and token else None

    def look(self) -> tuple[str, dict[str, str]]:
        """The newest commit and the content id of every file under `runs/`. Makes the repo, private, if there is none.

        Raises:
            huggingface_hub.errors.HfHubHTTPError, OSError: the repo does not answer.
        """
        from huggingface_hub.errors import RepositoryNotFoundError

        api = self._api()
        try:
            head = api.dataset_info(self.repo).sha
        except RepositoryNotFoundError:
            api.create_repo(self.repo, repo_type="dataset", private=True, exist_ok=True)
            head = api.dataset_info(self.repo).sha
        tree = api.list_repo_tree(self.repo, recursive=True, revision=head, repo_type="dataset")
        files = {f.path: f.blob_id for f in tree if getattr(f, "blob_id", "") and f.size <= LARGEST}
        return head or "", {path: oid for path, oid in files.items() if path.startswith("runs/")}

    def fetch(self, path: str, head: str, into: Path) -> Path:
        """Download one file as of a commit into a folder of ours, past any shared cache."""
        return Path(self._api().hf_hub_download(self.repo, path, repo_type="dataset", revision=head, local_dir=into))

    def push(self, commit: Commit, head: str) -> None:
        """Commit on top of `head`.

        Raises:
            Moved: `head` is no longer the newest commit.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete
        from huggingface_hub.errors import HfHubHTTPError

        operations: list[Any] = [CommitOperationDelete(path_in_repo=p, is_folder=False) for p in commit.delete]
        operations += [
            CommitOperationAdd(path_in_repo=p, path_or_fileobj=c if isinstance(c, bytes) else str(c))
            for p, c in commit.add.items()
        ]
        try:
            message = f"{len(commit.metas)} runs shared, {len(commit.delete)} files withdrawn"
            self._api().create_commit(
                self.repo, operations, commit_message=message, repo_type="dataset", parent_commit=head
            )
        except HfHubHTTPError as error:
            if getattr(error.response, "status_code", None) in (409, 412):
                raise Moved from None
            raise

    def _api(self) -> Any:
        from huggingface_hub import HfApi

        watch_hub()
        return HfApi(endpoint=self.endpoint, token=self.token)


class Mirroring:
    """Keeps the results repo and the store in step.

    Args:
        forget: told the key of a run whose files changed or went, so that nothing old is shown from memory.
    """

    def __init__(self, mirror: Mirror | None, store: Store, forget: Callable[[str], None]) -> None:
        self._mirror, self._store, self._forget = mirror, store, forget
        self._state = store.home / "mirror.json"
        state = _read(self._state)
        self._withdrawn: set[str] = {p for p in state.get("withdrawn", []) if is_public(p)}
        self._have: dict[str, dict[str, str]] = dict(state.get("have", {}))
        self._wanted = asyncio.Event()
        self._syncing = asyncio.Lock()
        self.status = "" if mirror is None else "The results repo has not been read yet."

    def nudge(self) -> None:
        """Something may have to be copied; soon is enough."""
        self._wanted.set()

    def remove(self, public_id: str) -> None:
        """Take a run that was deleted or revoked out of the repo, also after a restart."""
        if self._mirror is not None:
            self._withdrawn.add(public_id)
            self._save()
            self.nudge()

    async def run(self) -> None:
        """Until cancelled: read the repo at start, copy whenever there is something, look every ten minutes."""
        failures = 0
        while self._mirror is not None:
            self._wanted.clear()
            failures = 0 if await self._once() else failures + 1
            wait = min(EVERY, 5.0 * 2**failures) if failures else EVERY
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(_never() if failures else self._wanted.wait(), wait)
            await asyncio.sleep(0.1)  # several changes of one moment make one commit

    async def _once(self) -> bool:
        started = time.time()
        work = asyncio.ensure_future(self.sync())
        try:
            await asyncio.wait({work}, timeout=SLOW)
            if not work.done():
                self.status = _stalled(started, "no answer yet")
            await work
        except asyncio.CancelledError:
            work.cancel()
            raise
        except Exception as error:
            code = getattr(getattr(error, "response", None), "status_code", None)
            what = f"HTTP {code}" if code else type(error).__name__
            log.warning("the results repo cannot be reached: %s", what)
            self.status = _stalled(started, what)
            return False
        self.status = f"Shared runs are copied to the results repo (last looked at {_clock(time.time())})."
        return True

    async def sync(self) -> None:
        """Pull, then push what this server shares or withdraws; once more where somebody else was faster.

        Raises:
            Exception: whatever the Hub's client raises.
        """
        if self._mirror is not None:
            async with self._syncing:
                await self._sync(self._mirror)

    async def _sync(self, mirror: Mirror) -> None:
        for attempt in range(TRIES):
            head, files = await asyncio.to_thread(mirror.look)
            await self._pull(mirror, head, files)
            commit = self._commit(files)
            if not commit.empty:
                try:
                    await asyncio.to_thread(mirror.push, commit, head)
                except Moved:
                    if attempt == TRIES - 1:
                        raise
                    await asyncio.sleep(0.05 * 2**attempt)
                    continue
            return self._done(commit)

    async def _pull(self, mirror: Mirror, head: str, files: dict[str, str]) -> None:
        runs = _by_run(files)
        for meta in [m for m in list(self._store.metas.values()) if m.pulled and m.public_id not in runs]:
            self._forget(meta.key)
            await asyncio.to_thread(self._store.remove, meta.key)
            self._have.pop(meta.public_id, None)
        for public_id, contents in runs.items():
            local = self._store.by_public(public_id)
            own = local is not None and not local.pulled
            if own or public_id in self._withdrawn or (local and self._have.get(public_id) == contents):
                continue
            if await self._adopt(mirror, head, public_id, contents):
                self._have[public_id] = contents
                self._save()

    async def _adopt(self, mirror: Mirror, head: str, public_id: str, contents: dict[str, str]) -> bool:
        names = [n for n in (*PUBLIC_FILES, CARD) if n in contents]
        with tempfile.TemporaryDirectory(dir=self._store.home, prefix=".pull-") as temporary:
            into, paths = Path(temporary), {n: f"runs/{public_id}/{n}" for n in names}
            got = {n: await asyncio.to_thread(mirror.fetch, path, head, into) for n, path in paths.items()}
            meta = _meta(got.pop(CARD, None), public_id)
            if meta is None or (here := self._store.metas.get(meta.key)) and not here.pulled:
                return False  # not a run of this program, or one whose owner decides here
            if not await asyncio.to_thread(_is_run, got):
                return False
            self._forget(meta.key)
            self._store.adopt(meta, got)
        return True

    def _commit(self, files: dict[str, str]) -> Commit:
        now, there = time.time(), _by_run(files)
        own = [m for m in list(self._store.metas.values()) if not m.pulled]
        expired = {m.public_id for m in own if m.mirrored and m.public_id and not m.shared(now)}
        gone = sorted((self._withdrawn | expired) & there.keys())
        add: dict[str, Path | bytes] = {}
        metas = []
        for meta in own:
            mark = self._mark(meta)
            if meta.shared(now) and meta.ended is not None and (meta.mirrored != mark or meta.public_id not in there):
                metas.append(replace(meta, mirrored=mark))
                folder = self._store.folder(meta.key)
                add |= {f"runs/{meta.public_id}/{n}": folder / n for n in PUBLIC_FILES if (folder / n).exists()}
                add[f"runs/{meta.public_id}/{CARD}"] = json.dumps(_public(meta), sort_keys=True).encode()
        return Commit(
            add,
            tuple(f"runs/{p}/{name}" for p in gone for name in there[p]),
            tuple(metas),
            tuple(sorted(self._withdrawn)),
        )

    def _done(self, commit: Commit) -> None:
        for meta in commit.metas:
            if meta.key in self._store.metas:
                self._store.save(replace(self._store.metas[meta.key], mirrored=meta.mirrored))
        if commit.removed:
            self._withdrawn -= set(commit.removed)
            self._save()

    def _mark(self, meta: Meta) -> str:
        return hashlib.sha256(json.dumps([_public(meta), meta.ended], sort_keys=True).encode()).hexdigest()[:32]

    def _save(self) -> None:
        write_whole(self._state, json.dumps({"withdrawn": sorted(self._withdrawn), "have": self._have}))


def _public(meta: Meta) -> dict[str, Any]:
    """What the repo is told about a run: no owner, and of the secret id only the digest that names the folder."""
    names = ("key", "created", "source", "level", "public_id", "expires", "card", "bound", "ended")
    return {name: getattr(meta, name) for name in names}


def _meta(path: Path | None, public_id: str) -> Meta | None:
    try:
        data = _read(path) if path else {}
        meta = replace(Meta.from_json(data), owner="", pulled=True, mirrored="")
    except (TypeError, ValueError):
        return None
    right = meta.public_id == public_id and meta.level != "private" and isinstance(meta.card, dict)
    return meta if right else None


def _by_run(files: dict[str, str]) -> dict[str, dict[str, str]]:
    runs: dict[str, dict[str, str]] = {}
    for path, oid in files.items():
        parts = path.split("/")
        if len(parts) == 3 and is_public(parts[1]):
            runs.setdefault(parts[1], {})[parts[2]] = oid
    return {public_id: contents for public_id, contents in runs.items() if CARD in contents}


def _is_run(files: dict[str, Path]) -> bool:
    """Whether these files make a run that every page can show; what no run could have written is not taken in."""
    try:
        spec = read_json(files["spec.json"].read_bytes(), FROM_FILE) if "spec.json" in files else {}
        manifest = read_manifest(files["manifest.json"].parent) if "manifest.json" in files else None
        if "events.jsonl" in files:
            summarise(run_of(files["events.jsonl"].read_bytes(), manifest).view)
        return isinstance(spec, dict)
    except (UserError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        data = read_json(path.read_bytes(), FROM_FILE)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _stalled(since: float, what: str) -> str:
    return f"The results repo has not answered since {_clock(since)} ({what}). Runs are kept here and copied later."


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


async def _never() -> None:
    await asyncio.Event().wait()
