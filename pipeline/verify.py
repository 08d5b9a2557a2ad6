"""Checks a run from its files alone: `python -m pipeline.verify RUN.zip` or a run folder. Never asks a network.

Recomputes scores from weights and verdicts, then counts, means, intervals and digests, and says "agrees" or what differs.
Exit code 0: agrees; 1: something differs; 2: the files cannot be read.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core.written import guarded
from pipeline.errors import UserError
from pipeline.events import Event, RunStarted, TaskFinished, VerdictGiven
from pipeline.judging.outcomes import CUT_OFF, Outcome
from pipeline.judging.score import task_score
from pipeline.report.export.bounded import MOST_BYTES, Archive, bad
from pipeline.report.export.source import Run, check_start, events_of, json_object, read_manifest
from pipeline.report.manifest import build_manifest
from pipeline.report.view import Attempt, Fold, RunView
from pipeline.spec import canonical

CLOSE = 1e-9
CLOSE_INTERVAL = 1e-8
"""Interval ends are kept to 9 decimals, of which the last may differ between machines."""
MOST_SHOWN = 200
SAY_HOW_FAR = frozenset({"README.txt", "view.json", "competency.svg", "eee.json", "hf.yaml", "model-index.yaml"})
"""Files of a run that ended early which say so since format 2 of the manifest."""


class Files:
    """The files of a run by name, from a zip or a folder; nothing is unpacked to disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive = None if path.is_dir() else Archive(path)

    def close(self) -> None:
        """Let go of the file."""
        if self._archive:
            self._archive.__exit__()

    def names(self) -> list[str]:
        """Names of the files there are."""
        return list(self._archive.members) if self._archive else [p.name for p in self.path.iterdir() if p.is_file()]

    def read(self, name: str) -> bytes:
        """One file whole."""
        return self._archive.read(name) if self._archive else (self.path / name).read_bytes()

    def manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            UserError: there is none, or it cannot be read.
        """
        found = json_object(self._archive.read("manifest.json"), self.path) if self._archive else read_manifest(self.path)
        if found is None:
            raise bad("it holds no manifest.json: the run has not ended", self.path)
        return found

    def journal(self) -> Iterator[bytes]:
        """The journal in pieces."""
        if self._archive:
            yield from self._archive.chunks("events.jsonl", MOST_BYTES)
            return
        try:
            with (self.path / "events.jsonl").open("rb") as file:
                yield from iter(lambda: file.read(1 << 20), b"")
        except OSError as error:
            raise bad("it holds no events.jsonl", self.path) from error


def verify(path: Path) -> list[str]:
    """Every difference between a run's files and what follows from its journal; empty where all agree.

    Raises:
        UserError: the files cannot be read.
    """
    files = Files(path)
    try:
        manifest = files.manifest()
        digest, pieces = hashlib.sha256(), []
        keep = any(name in files.names() for name in ("README.txt", "view.json", "tasks.csv"))

        def read() -> Iterator[bytes]:
            for chunk in files.journal():
                digest.update(chunk)
                if keep:
                    pieces.append(chunk)
                yield chunk

        view, found = check_journal(events_of(read()))
        found += check_manifest(manifest, view, digest.hexdigest())
        return [*dict.fromkeys([*found, *_check_tables(files, Run(b"".join(pieces), view, manifest))])]
    except OSError as error:
        raise bad(error.strerror or "the system refused", path) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # events that no run could have written
        raise bad("its journal contradicts itself", path) from error
    finally:
        files.close()


def check_journal(events: Iterable[Event]) -> tuple[RunView, list[str]]:
    """The view of a journal with every score recomputed, and what in the journal contradicts itself.

    Raises:
        UserError: there is no start of a run in it.
    """
    found: list[str] = []
    fold, start, stretch = Fold(), None, _Stretch()
    for event in events:
        fold.apply(event)
        found += stretch.take(event)
        if isinstance(event, RunStarted):
            found += _check_start(event, start)
            start = event
    view = fold.view
    check_start(view)
    found += _check_plan(view)
    weights = {t.key: {c.id: c.weight for c in t.criteria} for t in view.tasks}
    for at, attempt in list(view.attempts.items()):
        found += _check_attempt(attempt, weights.get(attempt.task), view)
        view.attempts[at] = _recomputed(attempt, weights.get(attempt.task))
    return view, found


class _Stretch:
    """What one stretch of a run has said; a second, other word on the same thing means that two processes wrote at once.

    A resume may replace what stood before it: an answer whose record was lost is asked for anew.
    """

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, int, str], bool] = {}
        self._ends: dict[tuple[str, int], tuple[Outcome, float | None]] = {}

    def take(self, event: Event) -> Iterator[str]:
        """Take one event in; gives what contradicts an earlier one."""
        if isinstance(event, RunStarted):
            self.__init__()  # type: ignore[misc]
        elif isinstance(event, VerdictGiven) and event.verdict is not None:
            before = self._verdicts.setdefault((event.task, event.epoch, event.criterion), event.verdict)
            if before is not event.verdict:
                yield (f"task {event.task}, epoch {event.epoch}: the verdict on {event.criterion} is {before}, and then "
                       f"{event.verdict}, in one stretch of the run: two processes wrote it at once")
        elif isinstance(event, TaskFinished):
            end = event.outcome, event.score
            before_end = self._ends.setdefault((event.task, event.epoch), end)
            if before_end != end:
                yield (f"task {event.task}, epoch {event.epoch}: ended twice in one stretch of the run, as "
                       f"{_end_words(before_end)} and as {_end_words(end)}: two processes wrote it at once")


def _end_words(end: tuple[Outcome, float | None]) -> str:
    return end[0].value if end[1] is None else f"{end[0].value} ({_number(end[1])})"


def _check_start(start: RunStarted, before: RunStarted | None) -> Iterator[str]:
    """A stretch has the tasks and epochs of the one before; one that grew names the spec before it and keeps all of them."""
    if (digest := spec_digest(start.spec)) != start.spec_digest:
        yield f"spec digest: {start.spec_digest!r} in the journal, {digest!r} recomputed from its settings"
    said, old = start.spec.get("grown_from", ""), before.spec.get("grown_from", "") if before else ""
    if said != old and said != (before.spec_digest if before else ""):
        yield f"plan: the run says that it grew from the spec {said[:12]!r}, which is not the one before"
    elif before and said != old:
        now = {t.key: t for t in start.tasks}
        if any(now.get(t.key) != t for t in before.tasks) or start.spec.get("epochs", 1) < before.spec.get("epochs", 1):
            yield "plan: the run grew, and has lost tasks, criteria or epochs that it had before"
    elif before and (start.tasks != before.tasks or start.spec.get("epochs", 1) != before.spec.get("epochs", 1)):
        yield "plan: a resumed stretch of the run has other tasks or criteria than the first"


def _check_plan(view: RunView) -> Iterator[str]:
    for key, n in Counter(t.key for t in view.tasks).items():
        if n > 1:
            yield f"plan: task {key} is planned {n} times"
    for t in view.tasks:
        if len({c.id for c in t.criteria}) != len(t.criteria):
            yield f"plan: task {t.key} has a criterion twice"


def _check_attempt(a: Attempt, weights: dict[str, int] | None, view: RunView) -> Iterator[str]:
    name = f"task {a.task}, epoch {a.epoch}"
    if weights is None:
        yield f"{name}: not in the plan"
        return
    if not 1 <= a.epoch <= view.epochs:
        yield f"{name}: only {view.epochs} epochs were planned"
    for criterion, v in a.verdicts.items():
        if criterion not in weights:
            yield f"{name}: verdict on {criterion}, which is not in the plan"
        if view.spec.get("verdict_parser") == "strict" and v.strict is not None and v.strict != v.verdict:
            yield f"{name}: verdict on {criterion} is {v.verdict}, the strict rule read {v.strict}"
    if a.outcome is not Outcome.SCORED:
        if a.score is not None:
            yield f"{name}: has a score of {a.score:g} though it ended as {a.outcome.value if a.outcome else 'not ended'}"
        return
    score = _score(a, weights)
    if isinstance(score, str):
        yield f"{name}: {score}"
    elif a.score is None or not _near(a.score, score, CLOSE):
        yield f"{name}: score {_number(a.score)} in the journal, {_number(score)} recomputed from weights and verdicts"


def _score(a: Attempt, weights: dict[str, int]) -> float | str:
    """The score recomputed, or why it cannot be."""
    missing = [c for c in weights if (v := a.verdicts.get(c)) is None or v.verdict is None]
    if missing:
        return f"scored although {len(missing)} of {len(weights)} verdicts are missing ({', '.join(missing[:3])})"
    if not any(w > 0 for w in weights.values()):
        return "scored although no criterion has a positive weight"
    return task_score((w, bool(a.verdicts[c].verdict)) for c, w in weights.items())


def _recomputed(a: Attempt, weights: dict[str, int] | None) -> Attempt:
    if a.outcome is not Outcome.SCORED or weights is None:
        return a if a.outcome is Outcome.SCORED else replace(a, score=None)
    score = _score(a, weights)
    return a if isinstance(score, str) else replace(a, score=score)


def check_manifest(manifest: dict[str, Any], view: RunView, journal_sha256: str) -> list[str]:
    """Where the manifest differs from one built anew from the journal: digests, ids, counts, means, intervals, spend."""
    expected = _as_written(manifest, json.loads(json.dumps(build_manifest(view, journal_sha256))))
    found = []
    spec = manifest.get("spec")
    if isinstance(spec, dict) and spec_digest(spec) != manifest.get("spec_digest"):
        found.append(f"spec digest: {manifest.get('spec_digest')!r} in the manifest, {spec_digest(spec)!r} recomputed from "
                     "its settings")
    return found + list(_differences(manifest, expected, ""))


def _as_written(manifest: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """What is expected of a manifest of format 1, which counted tasks that the end of the run cut off as ended."""
    said = manifest.get("summary")
    if manifest.get("format") == 1 and isinstance(said, dict):
        expected["format"] = 1
        if any(expected["counts"][o.value] for o in CUT_OFF):
            expected["summary"] |= {name: said[name] for name in ("ended", "advice") if name in said}
            if isinstance(spend := said.get("spend"), dict) and "cost_per_task" in spend:
                expected["summary"]["spend"]["cost_per_task"] = spend["cost_per_task"]
    return expected


def spec_digest(spec: dict[str, Any]) -> str:
    """Hex sha256 of a spec's canonical JSON, as `RunSpec.digest` makes it, from plain data of any version."""
    return hashlib.sha256(canonical(spec).encode("utf-8", "replace")).hexdigest()


def _differences(said: Any, is_: Any, at: str) -> Iterator[str]:
    if isinstance(said, dict) and isinstance(is_, dict):
        for key in [*is_, *(k for k in said if k not in is_)]:
            where = f"{at}.{key}" if at else str(key)
            if key not in said or key not in is_:
                missing = key not in said
                yield f"{where}: {'missing in the manifest' if missing else 'in the manifest, but not from the journal'}"
            else:
                yield from _differences(said[key], is_[key], where)
    elif isinstance(said, list) and isinstance(is_, list) and len(said) == len(is_):
        for i, (a, b) in enumerate(zip(said, is_, strict=True)):
            yield from _differences(a, b, f"{at}[{_name(b, i)}]")
    elif not _same(said, is_, at):
        yield f"{at}: {_short(said)} in the manifest, {_short(is_)} from the journal"


def _same(said: Any, is_: Any, at: str) -> bool:
    if isinstance(said, bool) or isinstance(is_, bool) or not isinstance(said, int | float) or not isinstance(is_, int | float):
        return type(said) is type(is_) and said == is_
    loose = at.endswith((".low", ".high"))
    return _near(said, is_, CLOSE_INTERVAL if loose else CLOSE)


def _near(a: float, b: float, close: float) -> bool:
    return abs(a - b) <= close * max(1.0, abs(b))


def _name(item: Any, i: int) -> str:
    return str(item.get("name", i)) if isinstance(item, dict) else str(i)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    entries = f" ({len(value)} entries)" if isinstance(value, list | dict) else ""
    return text if len(text) <= 120 else f"{text[:117]}...{entries}"


def _check_tables(files: Files, run: Run) -> Iterator[str]:
    """The files made from the journal must be what the journal makes, byte for byte."""
    if not run.journal:
        return
    from pipeline.report.export.archive import DERIVED, MAKERS, readme

    makers, names = {name: MAKERS[name] for name in DERIVED} | {"README.txt": readme}, files.names()
    old = run.manifest.get("format") == 1 and run.view.status != "finished"  # did not say how far the run came
    for name in names:
        if old and name in SAY_HOW_FAR:
            continue
        if name in makers:
            try:
                same = files.read(name) == makers[name](run)
            except UserError:
                same = False
            if not same:
                yield f"{name}: differs from what the journal gives"
        elif "README.txt" in names and name not in MAKERS:
            yield f"{name}: no run.zip holds such a file"


@guarded
def main(argv: list[str] | None = None) -> int:
    """The command line; the exit code is returned."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.verify", description=(__doc__ or "").split("\n\n")[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN.zip|RUN_DIR", help="the downloaded run.zip, or a run folder")
    path = parser.parse_args(argv).run
    try:
        found = verify(path)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    for line in found[:MOST_SHOWN]:
        print(f"differs  {line}")
    if len(found) > MOST_SHOWN:
        print(f"... and {len(found) - MOST_SHOWN} more")
    count = "1 difference" if len(found) == 1 else f"{len(found)} differences"
    print(f"{path.name}: {count}" if found else f"{path.name}: agrees")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
