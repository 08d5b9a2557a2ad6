"""The published results, from `assets/published.json`. They have no intervals and no costs, and none is invented."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "assets" / "published.json"


@dataclass(frozen=True)
class Published:
    """One published score (0 to 1) with where it comes from.

    Attributes:
        kind: "published" by the authors, "community" (a user's report), or "self_judged".
        date: ISO date, or a year where no more is known; `date_is` says what it is the date of.
    """

    model: str
    score: float
    kind: str
    judge: str
    prompt: str
    subset: str
    source: str
    url: str
    date: str
    date_is: str
    remark: str


@cache
def published() -> tuple[Published, ...]:
    """All published scores, best first within each set, sets in file order."""
    found = []
    for item in json.loads(PATH.read_text(encoding="utf-8"))["sets"]:
        shared = {k: item[k] for k in ("kind", "judge", "prompt", "subset", "source", "url", "date", "date_is", "remark")}
        found += [Published(model=s["model"], score=s["score"], **shared)
                  for s in sorted(item["scores"], key=lambda s: -s["score"])]
    return tuple(found)


def authors() -> tuple[Published, ...]:
    """The scores of the benchmark's authors alone: the context of a run's own score."""
    return tuple(p for p in published() if p.kind == "published")
