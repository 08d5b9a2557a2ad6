"""The private record of every call: written before it leaves and after it came back; a resumed run replays it.

Holds answer and judge text, so it is never served to anyone but the run's owner. Never holds a key.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from pipeline.core import lock
from pipeline.core.append import Appender, Room, free_bytes
from pipeline.cost.usage import Usage
from pipeline.events import Role

ROOM = 256 << 10
"""Bytes kept free while calls are made: the answers of all that are under way when the disk is full."""
LOW = 128 << 10
"""Bytes that must be free beside those for a call to leave: the log and the manifest are written after the last answer."""
PATIENCE = 5.0
"""Seconds for which what the disk refused is tried again at the end."""


@dataclass(frozen=True)
class CallId:
    """Names one call of the plan; `attempt` numbers the times it left, from 1."""

    role: Role
    task: str
    epoch: int = 1
    criterion: str = ""
    verdict_try: int = 1

    def text(self, attempt: int) -> str:
        """`s/<task>/<epoch>/<attempt>` or `j/<task>/<epoch>/<criterion>/<verdict try>/<attempt>`."""
        if self.role == "solver":
            return f"s/{self.task}/{self.epoch}/{attempt}"
        return f"j/{self.task}/{self.epoch}/{self.criterion}/{self.verdict_try}/{attempt}"


@dataclass(frozen=True)
class Entry:
    """One call that came back, or failed, or (`fault` "interrupted") left and was never heard of again."""

    id: CallId
    attempt: int
    text: str = ""
    reasoning: str = ""
    stop: str = ""
    model: str = ""
    usage: Usage | None = None
    cost: float | None = None
    cost_source: str = "none"
    seconds: float = 0.0
    fault: str = ""
    status: int | None = None
    reserve_cost: float | None = None
    reserve_tokens: int = 0


@dataclass
class Ledger:
    """Append-only file of calls, and what an earlier stretch of the run left in it. One process at a time has it open.

    Raises:
        lock.Held: another process makes the calls of this run.
        OSError: the file cannot be written.
    """

    path: Path
    entries: dict[CallId, list[Entry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lock = lock.take(self.path.with_name("ledger.lock"), "Another process makes the calls of this run")
        self.earlier_tries: dict[str, int] = {}
        for entry in read_ledger(self.path):
            self.entries.setdefault(entry.id, []).append(entry)
            if (call := entry.id).role == "judge":
                self.earlier_tries[call.task] = max(call.verdict_try, self.earlier_tries.get(call.task, 0))
        self._told: dict[str, int] = {}
        self._fresh: dict[tuple[str, int], list[CallId]] = {}
        self.resumed = bool(self.entries)
        try:
            self._room = Room(self.path.with_name("ledger.room"), ROOM)
            self._file = Appender(self.path, self._room.give)
        except OSError:
            self.lock.release()
            raise
        self.trouble: Callable[[OSError], None] = lambda error: None

    def sent(self, call: CallId, attempt: int, reserve_cost: float | None, reserve_tokens: int) -> None:
        """Note that a call is about to leave, with what is reserved for it.

        Raises:
            OSError: that cannot be written, or its answer might not fit any more, so the call must not leave.
        """
        if free_bytes(self.path.parent) < LOW:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._write({"id": call.text(attempt), "sent": True, **_id_fields(call, attempt),
                     "reserve_cost": reserve_cost, "reserve_tokens": reserve_tokens}, must=True)

    def came_back(self, entry: Entry) -> None:
        """Note an answer or a fault. An answer is in the file before anyone is told of it, or, where the disk refuses, in
        memory until the disk takes it; `trouble` is told."""
        if (known := self.entries.get(entry.id)) is None:
            self.entries[entry.id] = known = []
            self._fresh.setdefault((entry.id.task, entry.id.epoch), []).append(entry.id)
        known.append(entry)
        self._write(to_data(entry))

    def never_left(self, call: CallId, attempt: int) -> None:
        """Take back what `sent` noted: not a byte of it left, so it is no call and holds no reserve."""
        self._write({"id": call.text(attempt), "sent": False})

    def forget(self, task: str, epoch: int) -> None:
        """Let go of what this stretch added for a task that has ended; the file keeps it."""
        for call in self._fresh.pop((task, epoch), ()):
            del self.entries[call]

    def _write(self, data: dict[str, Any], must: bool = False) -> None:
        error = self._file.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
        if error is not None:
            if must:
                self._file.drop_last()
                raise error
            self.trouble(error)

    def give_room(self) -> bool:
        """Give back the bytes that were kept free, for what must still be written; whether there were any."""
        return self._room.give()

    @property
    def unwritten(self) -> int:
        """Records that the disk has refused so far."""
        return self._file.waiting

    def answer(self, call: CallId) -> Entry | None:
        """The answer this call already has, or None."""
        return next((e for e in self.entries.get(call, ()) if not e.fault), None)

    def told(self, id: str) -> None:
        """Take in, from the journal, a call that this file has lost: its number is not given to another one."""
        call, _, attempt = id.rpartition("/")
        if attempt.isdigit():
            self._told[call] = max(int(attempt), self._told.get(call, 0))

    def filtered(self, call: CallId) -> Entry | None:
        """The content filter's refusal that ended this call, or None. It is an answer of the model, and may have been billed."""
        last = next(reversed(self.entries.get(call, ())), None)
        return last if last is not None and last.fault == "filtered" else None

    def next_attempt(self, call: CallId) -> int:
        """1, or one more than the last time it left."""
        told = self._told.get(call.text(0).rpartition("/")[0], 0)
        return max([told, *(e.attempt for e in self.entries.get(call, ()))]) + 1

    def close(self) -> None:
        """Close the file, and let another process have it; where the disk refuses, it is tried for some seconds more."""
        self._file.close(PATIENCE)
        self._room.give()
        self.lock.release()


def hold_run(run_dir: Path) -> lock.Lock:
    """The lock of whoever writes a run's journal; a run of the page has its worker hold the ledger's besides.

    Raises:
        lock.Held: another process works on this run.
        OSError: the folder cannot be written.
    """
    return lock.take(run_dir / "private" / "run.lock", "Another process works on this run")


_SAVED = tuple(f.name for f in fields(Entry) if f.name not in ("id", "attempt", "usage"))


def to_data(entry: Entry) -> dict[str, Any]:
    """The entry as its line in the file says it."""
    data = {k: v for k in _SAVED if (v := getattr(entry, k)) is not None and (v or k == "cost")}
    if entry.usage is not None:
        data["usage"] = asdict(entry.usage)
    return {"id": entry.id.text(entry.attempt), **_id_fields(entry.id, entry.attempt), **data}


def from_data(data: dict[str, Any]) -> Entry:
    """The reverse of `to_data`.

    Raises:
        KeyError, TypeError: it is no such line.
    """
    return _entry(data, None)


def _id_fields(call: CallId, attempt: int) -> dict[str, Any]:
    return {"role": call.role, "task": call.task, "epoch": call.epoch, "criterion": call.criterion,
            "verdict_try": call.verdict_try, "attempt": attempt}


def read_ledger(path: Path) -> Iterator[Entry]:
    """All calls of a ledger in the order they left; a call that never came back has the fault "interrupted".

    A line cut by a crash is passed over.
    """
    if not path.exists():
        return
    found: dict[str, Entry] = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                data = json.loads(line)
                if data.get("sent") is False:
                    found.pop(data["id"], None)
                    continue
                found[data["id"]] = _entry(data, found.get(data["id"]))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    yield from found.values()


def _entry(data: dict[str, Any], before: Entry | None) -> Entry:
    call = CallId(data["role"], data["task"], data["epoch"], data["criterion"], data["verdict_try"])
    reserve_cost = data.get("reserve_cost", before.reserve_cost if before else None)
    reserve_tokens = data.get("reserve_tokens", before.reserve_tokens if before else 0)
    if data.get("sent"):
        return Entry(call, data["attempt"], fault="interrupted", cost=reserve_cost, cost_source="reserve",
                     reserve_cost=reserve_cost, reserve_tokens=reserve_tokens)
    usage = Usage(**data["usage"]) if data.get("usage") else None
    names = ("text", "reasoning", "stop", "model", "cost_source", "fault")
    return Entry(call, data["attempt"], **{n: data.get(n, "none" if n == "cost_source" else "") for n in names},
                 usage=usage, cost=data.get("cost"), seconds=data.get("seconds", 0.0), status=data.get("status"),
                 reserve_cost=reserve_cost, reserve_tokens=reserve_tokens)
