"""Room on the disk that all runs share: whether a run may start, and which runs make room for one. Deletes nothing itself."""

import shutil
from collections.abc import Container, Iterable
from pathlib import Path

from pipeline.errors import UserError
from runner.sharing import Meta


class Disk:
    """The disk of a data folder. `free_mb` must be free for a run to start; 0 means no limit."""

    def __init__(self, home: Path, free_mb: int) -> None:
        self.home, self.free_mb = home, free_mb

    def full(self) -> bool:
        """Whether too little is free."""
        return bool(self.free_mb) and shutil.disk_usage(self.home).free >> 20 < self.free_mb

    def check(self) -> None:
        """Refuse a start where too little is free.

        Raises:
            UserError: the disk is nearly full.
        """
        if self.full():
            raise UserError(
                "The server's disk is nearly full.",
                f"{self.free_mb} MB must be free to start a run.",
                "Tell the owner of this Space.",
            )


def spare(metas: Iterable[Meta], live: Container[str], now: float) -> list[Meta]:
    """The runs that go where the disk is full, first the oldest: private runs of two scripted models that have ended.

    Anyone may make any number of these for nothing; they must not stand in the way of runs that are paid for.
    """
    return sorted(
        (m for m in metas if m.ended and m.key not in live and not m.shared(now) and _scripted(m)), key=lambda m: m.created
    )


def _scripted(meta: Meta) -> bool:
    return all(str(meta.card.get(role, "")).startswith("demo/") for role in ("solver", "judge"))
