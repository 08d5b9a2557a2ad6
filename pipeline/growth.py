"""A run that goes on: what may differ from how it began, and how it grows by more tasks or epochs on what is paid for.

One rule for page and command line, read from the column `on_resume` of the settings table. A run that grows gets a new
spec that names the old one; the journal holds both. Never makes a run smaller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.data.choose import choose, passes
from pipeline.data.records import Task
from pipeline.errors import UserError
from pipeline.events import RunStarted, read_journal
from pipeline.report.view import RunView
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import RunSpec, canonical

TABLE = {row.name: row for row in SETTINGS}
GROWING = tuple(row.name for row in SETTINGS if row.on_resume == "grow")
FREE = tuple(row.name for row in SETTINGS if row.on_resume == "free")
MAY_CHANGE = frozenset((*GROWING, *FREE))
AS_BEGUN = "A run goes on as it began."
CHAIN = 100
"""Times that one run can grow; far more than anyone needs, so that a journal made by hand cannot hold a reader up."""


def going_on(spec: RunSpec, changes: Mapping[str, Any], view: RunView) -> RunSpec:
    """The spec of a run that goes on.

    Args:
        spec: as the run's folder has it. view: the run so far, by its journal.
        changes: values given anew, by the names of the settings table.

    Raises:
        UserError: a setting cannot change, would leave tasks out that were asked already, or is no such value; or a cap
            is below what was spent.
    """
    for name, value in changes.items():
        if name not in MAY_CHANGE and name != "pilot":  # a run that goes on is never a pilot
            _check_same(name, value, spec)
    begun = _begun(view) or spec
    pinned = {"data_digest": spec.data_digest or begun.data_digest, "revision": spec.revision or begun.revision, "pilot": False}
    try:
        new = RunSpec(**{**spec.model_dump(), **{n: v for n, v in changes.items() if n in MAY_CHANGE}, **pinned})
    except ValueError as error:
        raise UserError(f"A setting has a value that cannot be used: {first_error(error)}.", "", "Correct it.") from None
    _check_caps(new, changes, view)
    if not view.tasks:
        return new
    if all(getattr(new, name) == getattr(begun, name) for name in GROWING):
        return new.model_copy(update={"grown_from": begun.grown_from})
    _check_wider(new, view)
    return new.model_copy(update={"grown_from": view.spec_digest})


def first_error(error: ValueError) -> str:
    """Where pydantic's first error stands, and what it is."""
    errors = error.errors() if hasattr(error, "errors") else []
    return f"{'.'.join(map(str, errors[0]['loc']))}: {errors[0]['msg']}" if errors else str(error)[:200]


def _begun(view: RunView) -> RunSpec | None:
    """The spec of the run's last start, or None where there was none that this version understands."""
    try:
        return RunSpec.model_validate(view.spec) if view.tasks else None
    except (ValueError, UserError):
        return None


def _check_same(name: str, value: Any, spec: RunSpec) -> None:
    role, dot, field = name.partition(".")
    if not dot:
        now = getattr(spec, name, None)
    else:
        model = getattr(spec, role)
        now = getattr(model, field) if field in ("model", "base_url") else model.config.get(field)
    if (tuple(value) if isinstance(value, list) and isinstance(now, tuple) else value) != now:
        raise UserError(f"{label(name)} differs from what this run began with.", AS_BEGUN,
                        f"Leave it out, or start a new run. What may change: {', '.join(TABLE[n].flag for n in FREE)}; "
                        f"what may grow: {', '.join(TABLE[n].flag for n in GROWING)}.")


def label(name: str) -> str:
    """The flag of a setting, of a generation setting that the table does not list, or of an endpoint's address."""
    row: Setting | None = TABLE.get(name)
    if row is not None:
        return row.flag
    role, dot, field = name.partition(".")
    if not dot:
        return name
    return f"--{'scorer' if role == 'judge' else role}-{field.replace('_', '-')}"


def _check_caps(new: RunSpec, changes: Mapping[str, Any], view: RunView) -> None:
    """A cap that was passed already would end the run before its first call.

    Raises:
        UserError: it is named, with what was spent.
    """
    parts = view.spend.values()
    spent = {"max_cost": sum(s.cost for s in parts), "max_calls": sum(s.calls for s in parts),
             "max_tokens": sum(s.input + s.output for s in parts)}
    for name, used in spent.items():
        cap = getattr(new, name)
        if name in changes and cap is not None and cap < used:
            said = (f"${used:.4f}", f"${cap:g}") if name == "max_cost" else (f"{used:,}", f"{cap:,}")
            raise UserError(f"{TABLE[name].flag} {said[1]} is below the {said[0]} that this run has used already.",
                            "Nothing could be asked under it.", "Give more than that, or leave it out.")


def _check_wider(new: RunSpec, view: RunView) -> None:
    """Refuse what would leave out a task or an epoch of the run.

    Raises:
        UserError: it would.
    """
    if new.epochs < view.epochs:
        raise UserError(f"This run has {view.epochs} epochs; it cannot go on with {new.epochs}.", "A run can grow, never shrink.",
                        "Leave --epochs out, or start a new run.")
    if 0 < new.sample_limit < len(view.tasks):
        raise UserError(f"This run has {len(view.tasks)} tasks; it cannot go on with {new.sample_limit}.",
                        "A run can grow, never shrink.", "Leave --sample-limit out, or start a new run.")
    lost = [t.key for t in view.tasks if not passes(t, new)]
    if lost:
        raise UserError(f"{len(lost)} of this run's {len(view.tasks)} tasks would be left out, such as {lost[0]}.",
                        "A wider choice that holds all of them.", "Name the old tasks too, or start a new run.")


def keep_spec(run_dir: Path, view: RunView) -> None:
    """Leave the spec that the run had so far in its folder, as `specs/<digest>.json`, before another takes its place.

    Raises:
        OSError: the folder cannot be written.
    """
    if view.spec_digest:
        folder = run_dir / "specs"
        folder.mkdir(exist_ok=True)
        (folder / f"{view.spec_digest}.json").write_text(canonical(view.spec), encoding="utf-8")


def ancestors(spec: RunSpec, run_dir: Path) -> list[RunSpec]:
    """The specs that this one grew from, the oldest first, by the starts that the run's journal tells of.

    Raises:
        UserError: the journal does not hold one of them.
    """
    found: list[RunSpec] = []
    starts = _starts(run_dir / "events.jsonl") if spec.grown_from else {}
    while spec.grown_from:
        old = starts.get(spec.grown_from)
        if old is None or len(found) >= CHAIN:
            raise UserError(f"The spec that this run grew from ({spec.grown_from[:12]}) is not in its journal.",
                            "The folder of the run as it was left.", "Bring back its events.jsonl, or start a new run.")
        try:
            spec = RunSpec.model_validate(old.spec)
        except ValueError:
            raise UserError("This run grew from one of another version of this program.", "",
                            "Go on with that version, or start a new run.") from None
        found.insert(0, spec)
    return found


def _starts(journal: Path) -> dict[str, RunStarted]:
    if not journal.exists():
        return {}
    with journal.open("rb") as lines:  # only the lines that can be a start are read: a long run has thousands of others
        events = list(read_journal(line for line in lines if b'"run_started"' in line))
    return {event.spec_digest: event for event in events if isinstance(event, RunStarted)}


@dataclass(frozen=True)
class Grown:
    """A run's choice of tasks with how it came about: the specs it had before, and the number of tasks of each."""

    spec: RunSpec
    chosen: tuple[Task, ...]
    before: tuple[RunSpec, ...]
    sizes: tuple[int, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        """What a reader is to know of a run that grew: it was enlarged by someone who could see results."""
        epochs = tuple(s.epochs for s in (*self.before, self.spec))
        return tuple(f"{what} added after results were seen: {' → '.join(f'{n:,}' for n in steps)}"
                     for what, numbers in (("tasks", (*self.sizes, len(self.chosen))), ("epochs", epochs))
                     if len(steps := [n for i, n in enumerate(numbers) if not i or n != numbers[i - 1]]) > 1)


def chosen_by(tasks: Sequence[Task], spec: RunSpec, run_dir: Path) -> Grown:
    """The tasks of a run, all those that it had before it grew among them. A spec that asks for nothing new is the old one.

    Raises:
        UserError: as `ancestors` and `choose`.
    """
    before = ancestors(spec, run_dir)
    sizes = tuple(len(choose(tasks, s, before[:i])) for i, s in enumerate(before))
    chosen = choose(tasks, spec, before)
    if before and len(chosen) == sizes[-1] and spec.epochs == before[-1].epochs:
        old = before.pop()
        spec = spec.model_copy(update={"grown_from": old.grown_from, **{name: getattr(old, name) for name in GROWING}})
        sizes = sizes[:-1]
    return Grown(spec, tuple(chosen), tuple(before), sizes)
