"""Which tasks a run takes: the subset first, then the cap. Keeps the order of the file; never draws twice the same way
from another seed, nor differently on another version of Python."""

import difflib
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from pipeline.data.facets import normal_key
from pipeline.data.records import Task
from pipeline.errors import UserError
from pipeline.spec import RunSpec

SHOWN = 5
ALL_SHOWN = 12


def choose(tasks: Sequence[Task], spec: RunSpec, before: Sequence[RunSpec] = ()) -> list[Task]:
    """The tasks of a run: subset, then sample, in file order.

    Args:
        before: for a run that grew, the specs that it had, the oldest first: what they chose is kept.

    Raises:
        UserError: a name or id is unknown, nothing is left, or a task of the run that grew would be.
    """
    chosen: list[Task] = []
    for step in (*before, spec):
        keep = frozenset(t.key for t in chosen)
        left = subset(tasks, step)
        if lost := keep - {t.key for t in left}:
            raise UserError(f"{len(lost)} tasks of this run would be left out, such as {_list(sorted(lost), 1)}.",
                            "A wider choice that holds all of them.", "Name the old tasks too, or start a new run.")
        if 0 < step.sample_limit < len(keep):
            raise UserError(f"This run has {len(keep)} tasks; it cannot go on with {step.sample_limit}.",
                            "A run can grow, never shrink.", "Leave --sample-limit out, or start a new run.")
        chosen = sample(left, step.sample_limit, step.sampling, step.seed, keep)
    return chosen


def subset(tasks: Sequence[Task], spec: RunSpec) -> list[Task]:
    """Tasks that pass every filter of the spec; any value of one filter is enough.

    Names are compared without regard to case and to the number of blanks, and otherwise exactly; a competency may
    also be given by the number it begins with ("03", or "3": inspect hands on `-T competency=03` as 3).

    Raises:
        UserError: a name or id is unknown, or no task passes.
    """
    chosen = list(tasks)
    if spec.task_ids:
        wanted = _known_ids(tasks, spec.task_ids)
        chosen = [t for t in chosen if t.key in wanted]
    if spec.competency:
        names = _known(spec.competency, [t.competency for t in tasks], "competency", "--competency")
        chosen = [t for t in chosen if _fold(t.competency) in names]
    if spec.subcompetency:
        have = [name for t in tasks for name in t.subcompetencies]
        names = _known(spec.subcompetency, have, "sub-competency", "--subcompetency")
        chosen = [t for t in chosen if any(_fold(name) in names for name in t.subcompetencies)]
    for key, values in _known_context(tasks, spec.context).items():
        chosen = [t for t in chosen if any(_fold(v) in values for v in _values(t, key))]
    if not chosen:
        raise UserError(
            f"No task is left of {len(tasks)}.",
            "At least one task that passes all filters together.",
            "Take one filter away, or choose another value.",
        )
    return chosen


def passes(task: Any, spec: RunSpec) -> bool:
    """Whether one task, whole or as the journal plans it, passes every filter of the spec. Refuses no name."""
    if spec.task_ids and task.key not in {i.strip() for i in spec.task_ids}:
        return False
    if spec.competency and not _named(spec.competency, (task.competency,)):
        return False
    if spec.subcompetency and not _named(spec.subcompetency, task.subcompetencies):
        return False
    wanted: dict[str, set[str]] = {}
    for key, value in spec.context:
        wanted.setdefault(_fold_key(key), set()).add(_fold(value))
    return all(any(_fold(v) in values for v in _values(task, key)) for key, values in wanted.items())


def _named(wanted: Sequence[str], have: Iterable[str]) -> bool:
    names = {_fold(name) for name in wanted}
    heads = {name.lstrip("0") for name in names}
    return any(_fold(name) in names or _fold(name).partition(".")[0].lstrip("0") in heads for name in have)


def sample(
    tasks: Sequence[Task], limit: int, sampling: Literal["first", "stratified"], seed: int, keep: Collection[str] = ()
) -> list[Task]:
    """At most `limit` tasks (0: all): the first ones, or a seeded draw in proportion to the competencies.

    A stratified draw gives every competency its share by largest remainder, and at least one task where the limit
    allows one each. Within a competency the tasks with the smallest sha256 of seed and key are taken.

    Args:
        keep: keys of tasks that are taken in any case, at most `limit` of them: largest remainders alone can give a
            competency fewer tasks of a larger sample, so that it would not hold the smaller one.
    """
    if limit <= 0 or limit >= len(tasks):
        return list(tasks)
    if sampling == "first":
        taken = {*keep, *[task.key for task in tasks if task.key not in keep][: limit - len(keep)]}
        return [task for task in tasks if task.key in taken]
    strata: dict[str, list[Task]] = {}
    for task in tasks:
        strata.setdefault(task.competency, []).append(task)
    kept = {name: sum(task.key in keep for task in group) for name, group in strata.items()}
    shares = _shares({name: len(group) for name, group in strata.items()}, limit, seed, kept)
    taken = set[str]()
    for name, group in strata.items():
        ranked = sorted(group, key=lambda task: (task.key not in keep, _draw(seed, task.key)))
        taken.update(task.key for task in ranked[: shares[name]])
    return [task for task in tasks if task.key in taken]


def _shares(sizes: dict[str, int], limit: int, seed: int, kept: Mapping[str, int]) -> dict[str, int]:
    """How many tasks each stratum gives, `kept` of them at least; exact integer arithmetic, ties by the seed."""
    total = sum(sizes.values())
    one = int(limit >= sum(max(kept[name], 1) for name in sizes))
    least = {name: max(kept[name], one) for name in sizes}
    shares = {name: max(least[name], limit * size // total) for name, size in sizes.items()}

    def excess(name: str) -> tuple[int, str]:
        """Share minus quota, times the total; then the draw."""
        return shares[name] * total - limit * sizes[name], _draw(seed, name)

    while sum(shares.values()) > limit:
        shares[max((n for n in shares if shares[n] > least[n]), key=excess)] -= 1
    while sum(shares.values()) < limit:
        shares[min((n for n in shares if shares[n] < sizes[n]), key=excess)] += 1
    return shares


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\x00{name}".encode("utf-8", "surrogateescape")).hexdigest()


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()


def _known_ids(tasks: Sequence[Task], ids: Sequence[str]) -> set[str]:
    wanted = {i.strip() for i in ids}
    have = {t.key for t in tasks}
    unknown = [i for i in dict.fromkeys(i.strip() for i in ids) if i not in have]
    if unknown:
        near = _near(unknown, sorted(have), lambda key: key.lstrip("0"))
        raise UserError(
            f"No task has the key {_list(unknown)}.",
            f"Keys of the tasks file{near}.",
            "Correct --task-ids; keys are compared as text.",
        )
    return wanted


def _known(wanted: Sequence[str], have: Iterable[str], what: str, flag: str) -> set[str]:
    """Folded names of the file that were asked for.

    Raises:
        UserError: one of them is in no task.
    """
    names = {_fold(name): name for name in have}
    heads = {folded: folded.partition(".")[0] for folded in names}
    numbers = {head.lstrip("0"): folded for folded, head in heads.items() if head.isalnum()}
    found = {name: _fold(name) if _fold(name) in names else numbers.get(_fold(name).lstrip("0"), "") for name in wanted}
    unknown = [name for name, folded in found.items() if not folded]
    if unknown:
        raise UserError(
            f"No task has the {what} {_list(unknown)}.",
            f"One of the file's own names{_near(unknown, list(names.values()), _fold)}.",
            f"Correct {flag}.",
        )
    return set(found.values())


def _known_context(tasks: Sequence[Task], context: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """Folded values by folded context variable."""
    wanted: dict[str, set[str]] = {}
    if not context:
        return wanted
    names = {_fold_key(key): key for task in tasks for key in task.facets}
    for key, value in context:
        if _fold_key(key) not in names:
            raise UserError(
                f"No task has the context variable {_list([key])}.",
                f"One of the file's own variables{_near([key], list(names.values()), _fold_key)}.",
                "Correct --context KEY=VALUE.",
            )
        have = {_fold(v): v for task in tasks for v in _values(task, _fold_key(key))}
        if _fold(value) not in have:
            raise UserError(
                f"No task has {names[_fold_key(key)]} = {_list([value])}.",
                f"One of its values in the file{_near([value], list(have.values()), _fold)}.",
                "Correct --context KEY=VALUE.",
            )
        wanted.setdefault(_fold_key(key), set()).add(_fold(value))
    return wanted


def _fold_key(key: str) -> str:
    return normal_key(key.replace("_", " "))


def _values(task: Task, folded_key: str) -> list[str]:
    return [v for key, values in task.facets.items() if _fold_key(key) == folded_key for v in values]


def _near(unknown: Sequence[str], have: Sequence[str], fold: Callable[[str], str]) -> str:
    """The file's names that come nearest, for the message; all of them where there are few."""
    folded: dict[str, str] = {}
    for name in have:
        folded.setdefault(fold(name), name)
    close: list[str] = []
    for name in unknown:
        close += difflib.get_close_matches(fold(name), folded, n=SHOWN, cutoff=0.5)
        close += [f for f in folded if fold(name) and fold(name) in f]
    few = len(folded) <= ALL_SHOWN
    shown = [folded[f] for f in dict.fromkeys([*close, *(sorted(folded) if few or not close else [])])]
    return f"{':' if few else ', such as'} {_list(shown, ALL_SHOWN if few else SHOWN)}" if shown else ""


def _list(names: Sequence[str], limit: int = SHOWN) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
