"""Runs folded from their events, kept in memory while they are in use. Never reads or writes a file."""

from collections import OrderedDict
from typing import Any

from pipeline.report.view import Fold, RunView
from runner.wire import Wire


class Folded:
    """A run's events folded into its view and its compact stream, which always stand at the same event."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.wire = Wire()
        self.events = 0

    @property
    def view(self) -> RunView:
        """The state after the last event."""
        return self.fold.view

    @property
    def weight(self) -> int:
        """Number of planned verdicts: what the memory of a folded run goes by."""
        return 1 + sum(len(t.criteria) for t in self.view.tasks) * self.view.epochs

    def apply(self, event: Any) -> None:
        """Take one event in."""
        self.fold.apply(event)
        self.wire.take(event, self.fold.view)
        self.events += 1


class Cache:
    """The folded runs used last, by total weight; at least one is kept."""

    def __init__(self, weight: int = 150_000) -> None:
        self._most = weight
        self._items: OrderedDict[str, Folded] = OrderedDict()

    def get(self, key: str) -> Folded | None:
        """The folded run, which then counts as used last."""
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def put(self, key: str, folded: Folded) -> None:
        """Keep a folded run, dropping those not used for longest."""
        self._items[key] = folded
        self._items.move_to_end(key)
        while len(self._items) > 1 and sum(f.weight for f in self._items.values()) > self._most:
            self._items.popitem(last=False)

    def drop(self, key: str) -> None:
        """Forget a run."""
        self._items.pop(key, None)

    def __len__(self) -> int:
        return len(self._items)


def card(view: RunView) -> dict[str, Any]:
    """The few public facts that a list of runs shows."""
    spec = view.spec
    return {
        "status": view.status,
        "reason": view.reason,
        "started": view.started,
        "finished": view.finished,
        "solver": spec.get("solver", {}).get("model", ""),
        "judge": spec.get("judge", {}).get("model", ""),
        "prompt": spec.get("prompt_version", ""),
        "planned": view.planned,
        "done": view.done,
        "cost": view.cost,
        "counts": view.counts(),
        "epochs": view.epochs,
        "source": spec.get("source", ""),
        "digest": view.spec_digest,
    }
