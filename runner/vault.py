"""Keeps visitors' keys in this process's memory, behind opaque handles, for an hour after their last use.

Never writes them anywhere (file, log, repr, pickle), and never gives one to another session than put it there.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pipeline.errors import UserError


@dataclass(frozen=True, repr=False)
class Held:
    """The secret fields of one provider, as `providers.catalogue` names them."""

    provider: str
    fields: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Held({self.provider!r}, ...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a held key is not written anywhere")

    @property
    def tail(self) -> str:
        """The last four characters of the secret a person would know it by; fewer where it is short."""
        for name in ("api_key", "aws_access_key_id", *sorted(self.fields)):
            if value := self.fields.get(name):
                return value[-4:] if len(value) >= 12 else ""
        return ""


@dataclass(repr=False)
class _Slot:
    held: Held
    owner: bytes
    expires: float
    visitor: str


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()


class Vault:
    """Handles to keys, thread-safe.

    Args:
        ttl: seconds after the last use at which a key is forgotten.
        most: keys held at once; above it the one that was not used for the longest time goes.
        each: keys held at once for one session. of_one: for one visitor, whose browser may make any number of sessions.
        clock: monotonic seconds.
    """

    def __init__(self, ttl: float = 3600, most: int = 2000, each: int = 8, of_one: int = 80,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl, self._most, self._each, self._of_one, self._clock = ttl, most, each, of_one, clock
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Vault({len(self)} held)"

    def __len__(self) -> int:
        with self._lock:
            return len(self._slots)

    def __reduce__(self) -> NoReturn:
        raise TypeError("the vault is not written anywhere")

    def put(self, provider: str, fields: Mapping[str, str], session: str, visitor: str = "") -> str:
        """Hold `fields` for this session alone; the handle (256 random bits) is all that may travel.

        Args:
            visitor: the name that limits count under, "" where visitors are not told apart.

        Raises:
            UserError: no session, so that the key would belong to nobody.
        """
        if not session:
            raise UserError("Your browser sent no session cookie.", "", "Allow cookies for this page and reload it.")
        handle, owner = secrets.token_urlsafe(32), _digest(session)
        with self._lock:
            self._sweep()
            self._make_room([h for h, slot in self._slots.items() if slot.owner == owner], self._each)
            self._make_room([h for h, slot in self._slots.items() if visitor and slot.visitor == visitor], self._of_one)
            self._make_room(list(self._slots), self._most)
            self._slots[handle] = _Slot(Held(provider, dict(fields)), owner, self._clock() + self._ttl, visitor)
        return handle

    def get(self, handle: str, session: str) -> Held | None:
        """What the handle stands for, its hour begun anew; None when unknown, expired or another session's."""
        with self._lock:
            slot = self._own(handle, session)
            if slot is None:
                return None
            slot.expires = self._clock() + self._ttl
            self._slots.move_to_end(handle)
            return slot.held

    def describe(self, handle: str, session: str) -> dict[str, Any] | None:
        """What the page may show: provider, tail, seconds left. Does not begin the hour anew."""
        with self._lock:
            slot = self._own(handle, session)
            if slot is None:
                return None
            left = int(slot.expires - self._clock())
            return {"provider": slot.held.provider, "tail": slot.held.tail, "expires_in": left}

    def forget(self, handle: str, session: str) -> bool:
        """Drop the key at once; whether there was one of this session's."""
        with self._lock:
            if self._own(handle, session) is None:
                return False
            del self._slots[handle]
            return True

    def forget_session(self, session: str) -> int:
        """Drop every key of a session; how many there were."""
        owner = _digest(session)
        with self._lock:
            own = [h for h, slot in self._slots.items() if slot.owner == owner]
            for handle in own:
                del self._slots[handle]
            return len(own)

    def sweep(self) -> int:
        """Drop what has expired; how many were dropped. Called from a timer, so that an idle app forgets too."""
        with self._lock:
            return self._sweep()

    def _sweep(self) -> int:
        now = self._clock()
        gone = [h for h, slot in self._slots.items() if slot.expires <= now]
        for handle in gone:
            del self._slots[handle]
        return len(gone)

    def _make_room(self, handles: list[str], most: int) -> None:
        """Drop those of `handles` that were not used for longest, so that one more is not above `most`."""
        for handle in handles[: max(0, len(handles) - most + 1)]:
            del self._slots[handle]

    def _own(self, handle: str, session: str) -> _Slot | None:
        slot = self._slots.get(handle) if isinstance(handle, str) else None
        if slot is None or not session or not hmac.compare_digest(slot.owner, _digest(session)):
            return None
        if slot.expires <= self._clock():
            del self._slots[handle]
            return None
        return slot
