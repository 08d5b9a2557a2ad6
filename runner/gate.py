"""The gate of the full data set: who may read it, where their copy lies, and what the others may know of it.

A visitor's own token opens it and nobody else's ever does. Each account has a cache of its own in a folder that is not
served: the Hub's client hands out files of a shared cache even to a token that the Hub refuses. Never writes a token.

    python -m runner.gate counts --source hub      # the owner's own build of the public counts
"""

import asyncio
import hashlib
import hmac
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.data import hub
from pipeline.data.records import TaskSet
from pipeline.data.sources import load_tasks
from pipeline.errors import UserError
from pipeline.spec import Credentials, ModelSpec, Places, RunSpec
from runner.addresses import hosted

State = Literal["demo", "no_access", "open", "error"]
OPEN_SECONDS = 60.0  # how long a passed check is trusted
CLOSED_SECONDS = 3.0  # how long any other answer is: long enough for the burst of one page load
KEPT = 20  # task sets in memory, some 10 MB each
IDLE_SECONDS = 3600.0
STRAY_SECONDS = 600.0  # a worker that began as its visitor signed out has read its tasks by then
NOWHERE = Path(os.devnull)


@dataclass(frozen=True)
class Account:
    """A signed-in visitor.

    Attributes:
        id: the account's lasting id, which a change of name does not change.
        name: the user name, for the page.
        token: the visitor's own access token.
        expires: Unix seconds when the token ends, or None where that was not told.
    """

    id: str
    name: str
    token: str = field(repr=False)
    expires: float | None = None


@dataclass(frozen=True)
class GateState:
    """Whether the full set is open to an account, the sentence that says so, and where to go on ("" where nowhere)."""

    state: State
    sentence: str
    url: str = ""


@dataclass
class _Slot:
    """What is kept of one account while it is signed in."""

    token: bytes
    expires: float | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    state: GateState | None = None
    until: float = 0.0
    tasks: TaskSet | None = None
    loaded: float = 0.0
    used: float = 0.0


class Gate:
    """Access checks, caches and task sets by account. Thread-safe; its blocking methods belong in a thread.

    Args:
        home: data folder of the app. The caches lie in the machine's temporary folder under a name that belongs to it,
            so that gated text never reaches a mounted bucket.
        clock: Unix seconds.
    """

    def __init__(self, home: Path, clock: Callable[[], float] = time.time) -> None:
        self._clock, self._salt = clock, secrets.token_bytes(32)
        name = hashlib.sha256(str(Path(home).resolve()).encode()).hexdigest()[:16]
        self.root = Path(tempfile.gettempdir()) / f"l2bench-gate-{os.getuid() if hasattr(os, 'getuid') else 0}-{name}"
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Delete what an earlier process left and make the folder anew, for this user alone."""
        if self.root.is_symlink():
            self.root.unlink()
        shutil.rmtree(self.root, ignore_errors=True)
        try:
            self.root.mkdir(mode=0o700)
        except FileExistsError:  # it belongs to somebody else, who could read it
            self.root = Path(tempfile.mkdtemp(prefix="l2bench-gate-"))

    def close(self) -> None:
        """Forget every account and delete every cache."""
        with self._lock:
            self._slots.clear()
        shutil.rmtree(self.root, ignore_errors=True)

    # -- access

    async def access(self, account: Account | None, fresh: bool = False) -> GateState:
        """As `check`, without blocking."""
        return await asyncio.to_thread(self.check, account, fresh)

    def check(self, account: Account | None, fresh: bool = False) -> GateState:
        """Whether the full set is open to this account by its own token. Asks the Hub at most once a minute.

        Args:
            fresh: ask again unless it is known to be open, as for a visitor who comes back from the terms.
        """
        if account is None or self._ended(account):
            return GateState("demo", SIGNED_OUT, LOGIN)
        slot = self._slot(account)
        with slot.lock:
            known = slot.state
            if known is None or self._clock() >= slot.until or (fresh and known.state != "open"):
                known = _ask(account)
                slot.state = known
                slot.until = self._clock() + (OPEN_SECONDS if known.state == "open" else CLOSED_SECONDS)
                if known.state == "no_access":
                    slot.tasks = None
                    shutil.rmtree(self._folder(account), ignore_errors=True)
            return known

    def cache_dir(self, account: Account) -> Path:
        """The account's own folder for the Hub's files (mode 700); its name tells nothing of the account."""
        folder = self._folder(account)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def task_set(self, account: Account) -> TaskSet:
        """The full set, read with the visitor's token into their own cache, and kept in memory for an hour.

        Raises:
            UserError: no access, or the Hub or the data cannot be used.
        """
        state = self.check(account)
        if state.state != "open":
            raise UserError(state.sentence, "", "")
        slot = self._slot(account)
        with slot.lock:
            if slot.tasks is None or self._clock() - slot.loaded > IDLE_SECONDS:
                slot.tasks = load_tasks(data_spec(), Places(NOWHERE, cache_dir=self.cache_dir(account)), account.token)
                slot.loaded = self._clock()
            return slot.tasks

    # -- forgetting

    def forget(self, account: Account) -> None:
        """Sign-out: drop the task set from memory and delete the cache."""
        with self._lock:
            self._slots.pop(account.id, None)
        shutil.rmtree(self._folder(account), ignore_errors=True)

    def sweep(self) -> int:
        """Drop accounts whose token has ended or who were not seen for an hour; how many were dropped."""
        now = self._clock()
        with self._lock:
            gone = [i for i, s in self._slots.items() if now - s.used > IDLE_SECONDS or (s.expires and s.expires <= now)]
            for account_id in gone:
                del self._slots[account_id]
            known = {self._path(account_id).name for account_id in self._slots}
        for account_id in gone:
            shutil.rmtree(self._path(account_id), ignore_errors=True)
        self._remove_strays(known)
        return len(gone)

    def _remove_strays(self, known: set[str]) -> None:
        """Delete what a worker wrote after its visitor had signed out."""
        for folder in self.root.iterdir() if self.root.is_dir() else ():
            if folder.name not in known and folder.stat().st_mtime < self._clock() - STRAY_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)

    # -- inside

    def _ended(self, account: Account) -> bool:
        return account.expires is not None and account.expires <= self._clock()

    def _slot(self, account: Account) -> _Slot:
        """The account's slot. Another token of the same account (a new sign-in) is checked anew."""
        token = hashlib.sha256(account.token.encode()).digest()
        with self._lock:
            slot = self._slots.get(account.id)
            if slot is None or not hmac.compare_digest(slot.token, token):
                slot = self._slots[account.id] = _Slot(token, account.expires)
            slot.used = self._clock()
            self._slots.move_to_end(account.id)
            with_tasks = [s for s in self._slots.values() if s.tasks is not None]
            for old in with_tasks[: max(0, len(with_tasks) - KEPT)]:
                old.tasks = None
        return slot

    def _folder(self, account: Account) -> Path:
        return self._path(account.id)

    def _path(self, account_id: str) -> Path:
        return self.root / hmac.new(self._salt, account_id.encode(), hashlib.sha256).hexdigest()[:32]


LOGIN = "/login/huggingface"
SIGNED_OUT = (
    "Nobody is signed in. The full L2-Bench is gated; sign in with a Hugging Face account that has accepted its terms to use it."
)
NO_SIGN_IN = "This page has no sign-in, which the gated full L2-Bench needs."
OPEN = "The full L2-Bench is open to you."
NO_ACCESS = (
    "Your account {name} has not accepted the terms of the full L2-Bench. Access is granted at once; accept the terms and "
    "come back, and this page checks again."
)
NOT_NOW = "Whether your account {name} may read the full L2-Bench could not be checked. {why}"


def _ask(account: Account) -> GateState:
    url = hub.dataset_page()
    try:
        granted = hub.may_read(token=account.token)
    except UserError as error:
        return GateState("error", NOT_NOW.format(name=account.name, why=error), url)
    if granted:
        return GateState("open", OPEN, url)
    return GateState("no_access", NO_ACCESS.format(name=account.name), url)


def task_source(account: Account | None, state: GateState, hosted: bool, sign_in: bool = True) -> tuple[str, str, str]:
    """Which tasks the form starts with and why.

    Args:
        hosted: whether the app runs on a public host; off it, a visitor uses their own machine's token and files.
        sign_in: whether this host offers a sign-in at all.

    Returns:
        Source ("demo" or "hub"), the sentence, and where the visitor can do something about it ("" where nowhere).
    """
    if not hosted:
        return "demo", "", ""
    if not sign_in:
        return "demo", NO_SIGN_IN, ""
    if account is None:
        return "demo", SIGNED_OUT, LOGIN
    return ("hub" if state.state == "open" else "demo"), state.sentence, "" if state.state == "open" else state.url


Kind = Literal["page", "log"]


class Texts:
    """Who may see text: the one place that decides it, for pages and for files. Whatever gives text out asks here.

    Args:
        gate: asked whether the account's own token opens the gated set. May block.
        account_of: who is signed in, by the request.
    """

    def __init__(self, gate: Gate, account_of: Callable[[Any], Account | None]) -> None:
        self._gate, self._account_of = gate, account_of

    def allow(self, kind: Kind, request: Any, found: Any) -> bool:
        """Whether the one who asks may see this text of the run behind `found` (a `runner.sharing.Access`).

        Args:
            kind: "page" is the text of its tasks, answers and judges on a page; "log" is the `.eval`, which is its owner's
                alone, also where the tasks are the demo's.
        """
        account = self._account_of(request) if hosted() else None
        needed = account is not None and not found.demo and found.text
        if not may_see(found, account, self._gate.check(account) if needed else None, hosted()):
            return False
        return kind == "page" or (found.owner and found.text)

    async def allows(self, kind: Kind, request: Any, found: Any) -> bool:
        """As `allow`, without blocking."""
        return await asyncio.to_thread(self.allow, kind, request, found)


def may_see(found: Any, account: Account | None, state: GateState | None, hosted: bool) -> bool:
    """The rule of `Texts`, for a run (`found`: a `runner.sharing.Access`).

    The demo's to everyone; on a visitor's own machine everything to who holds the run; gated text on a public host
    only to the account that started the run, and only while its own token still opens the data set.
    """
    if found.demo:
        return True
    if not found.text:
        return False
    if not hosted:
        return True
    return found.meta.bound and account is not None and state is not None and state.state == "open"


def refuse_ungated(spec: RunSpec, credentials: Credentials, user: str | None, places: Mapping[str, Any] | None) -> None:
    """On a hosted page, take no run on anything but the demo unless it is wholly a signed-in visitor's own.

    Raises:
        UserError: nobody is signed in, or the run would read with another token or from another cache than theirs.
    """
    if not hosted() or spec.source == "demo":
        return
    if spec.source != "hub" or not (user and credentials.hf_token and (places or {}).get("cache_dir")):
        raise UserError("These tasks are not open to you here.", "The demo tasks, or the full set after signing in.",
                        "Sign in with Hugging Face, or choose the demo tasks.")


def data_spec() -> RunSpec:
    """The spec that reads the whole gated set as it is now; its models are never called."""
    return RunSpec(source="hub", solver=ModelSpec(model="demo/strong"))


if __name__ == "__main__":
    import sys

    from runner.gated_counts import main

    sys.exit(main())
