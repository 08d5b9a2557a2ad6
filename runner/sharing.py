"""Who may see a run and who may change it: secret ids, public ids, owners, levels, expiry. Never touches the disk.

A run is private unless shared. The secret id is never stored: a run is filed under a digest of it.
"""

import hashlib
import hmac
import secrets
import string
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from pipeline.errors import UserError
from runner.limits import NETWORK

Level = Literal["private", "public", "listed"]
LEVELS: tuple[Level, ...] = ("private", "public", "listed")
DAY = 86400.0
MAX_DAYS = 3650
_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Owner:
    """Who starts a run.

    Attributes:
        hf_user: Hugging Face user name of a signed-in visitor, or None. Only a salted digest of it is kept.
        visitor: name of their network address (`runner.visitors`), or "" where visitors are not told apart; lives in
            memory only.
    """

    hf_user: str | None = None
    visitor: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that limits count under: the account, else the address; and the network behind either, so that
        many accounts are no way around a limit."""
        own = f"hf:{self.hf_user.casefold()}" if self.hf_user else self.visitor
        return tuple(name for name in (own, f"{NETWORK}{self.visitor}" if self.visitor else "") if name)


@dataclass(frozen=True)
class Meta:
    """What is kept about a run beside its journal; `meta.json`. Holds no secret id and no person's name.

    Attributes:
        key: folder name, the first 32 hex digits of the secret id's sha256.
        owner: salted digest of the owner's Hugging Face name, or "".
        bound: a signed-in visitor's run: text, `.eval` and resume need their account, not only the secret link; where
            its tasks are gated, so do sharing and deleting.
        ended: Unix seconds when the last stretch of the run ended, None while it runs.
        card: the few public facts a list of runs shows.
        pulled: the run came from the results repo; it is not this server's to push.
        mirrored: digest of what was last pushed to the results repo, or "".
    """

    key: str
    created: float
    source: str = "demo"
    owner: str = ""
    bound: bool = False
    level: Level = "private"
    public_id: str = ""
    expires: float | None = None
    ended: float | None = None
    card: dict[str, Any] = field(default_factory=dict)
    pulled: bool = False
    mirrored: str = ""

    def shared(self, now: float) -> bool:
        """Whether the public id opens the run at `now` (Unix seconds)."""
        return self.level != "private" and bool(self.public_id) and (self.expires is None or now < self.expires)

    def to_json(self) -> dict[str, Any]:
        """For `meta.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Meta":
        """The reverse of `to_json`; unknown fields are passed over.

        Raises:
            ValueError: a field is missing or of the wrong kind.
        """
        meta = _META.validate_python({k: v for k, v in data.items() if k in cls.__dataclass_fields__})
        if not is_key(meta.key):
            raise ValueError("not a run's meta record")
        return meta


_META = TypeAdapter(Meta)


@dataclass(frozen=True)
class Access:
    """What the one who asked may do with a run.

    Attributes:
        owner: may share and delete it.
        text: may see all text of the run, fetch the `.eval` and resume it.
        holder: may stop it: has the secret link, or is the owner. Spending must end also where a sign-in has ended.
        demo: the tasks are the demo's, whose task text is free for everyone.
    """

    meta: Meta
    owner: bool
    text: bool
    holder: bool = False

    @property
    def key(self) -> str:
        """The run's folder name."""
        return self.meta.key

    @property
    def demo(self) -> bool:
        """Whether task, resource, reference and criterion text is free."""
        return self.meta.source == "demo"


def new_secret() -> str:
    """A run's secret id: 26 letters and digits, more than 150 random bits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(26))


def new_public() -> str:
    """A public id: `p-` and 20 letters and digits; a secret id never looks like it."""
    return "p-" + "".join(secrets.choice(_ALPHABET) for _ in range(20))


def key_of(secret: str) -> str:
    """Folder name of the run with this secret id."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()[:32]


def is_key(text: object) -> bool:
    """Whether `text` could be a folder name of ours; guards every path that is built from one."""
    return isinstance(text, str) and len(text) == 32 and all(c in "0123456789abcdef" for c in text)


def is_public(text: object) -> bool:
    """Whether `text` has the form of a public id."""
    return isinstance(text, str) and len(text) == 22 and text.startswith("p-") and all(c in _ALPHABET for c in text[2:])


def owner_digest(salt: bytes, hf_user: str | None) -> str:
    """Salted digest of a Hugging Face user name (names differ in more than case), or "" for None."""
    if not hf_user:
        return ""
    return hmac.new(salt, b"hf:" + hf_user.casefold().encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]


def access(meta: Meta, by: Literal["secret", "public", "key"], viewer: str, now: float) -> Access | None:
    """What a viewer may do, or None where the run must look as if it did not exist.

    Args:
        by: which kind of id was given; "key" opens nothing but to the owner's account.
        viewer: `owner_digest` of the signed-in viewer, or "".
    """
    same = bool(viewer) and bool(meta.owner) and hmac.compare_digest(viewer, meta.owner)
    holder = by == "secret" or same
    if not holder and (by == "key" or not meta.shared(now)):
        return None
    owner = same or (holder and not (meta.bound and meta.source == "hub"))
    return Access(meta, owner=owner, text=owner and (same or not meta.bound), holder=holder)


def shared_as(meta: Meta, level: str, days: float | None, now: float) -> Meta:
    """The record after its owner chose a level; going private revokes the public id for good.

    Args:
        days: the link's life from now; None means until revoked.

    Raises:
        UserError: no such level, or a life that is not above 0.
    """
    if level not in LEVELS:
        raise UserError(f"{str(level)[:40]!r} is no sharing level.", f"One of {', '.join(LEVELS)}.", "")
    if level == "private":
        return replace(meta, level="private", public_id="", expires=None)
    if days is not None and not 0 < days <= MAX_DAYS:
        raise UserError(
            "The link's life is not a number of days.",
            f"More than 0 and at most {MAX_DAYS}.",
            "Leave it empty for a link without end.",
        )
    # An expired link stays dead: sharing again makes another.
    public = meta.public_id if meta.shared(now) else new_public()
    return replace(meta, level=level, public_id=public, expires=None if days is None else now + days * DAY)
