"""The command line: `python -m pipeline.eval --model PROVIDER/MODEL [...]`.

Exit 0: every task scored. 1: finished, some tasks not scored. 2: nothing was started. 130: interrupted, log readable.
Every flag comes from `pipeline.settings` or from inspect's GenerateConfig. Never prints a key.
"""

import argparse
import os
import shutil
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from pipeline import run_folder
from pipeline.core import machine
from pipeline.core.files import write_whole
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.core.printing import json_text
from pipeline.core.text import safe_value
from pipeline.core.written import KNOWN, guarded
from pipeline.errors import UserError
from pipeline.flags import ENV_FILE, build_parser, lists_of, spec_of
from pipeline.growth import going_on, keep_spec
from pipeline.report.console import Progress, dry_run_data, dry_run_lines, note_lines, result_data, result_lines
from pipeline.report.view import RunView
from pipeline.settings import SETTINGS
from pipeline.spec import Credentials, Places, RunSpec

OWN_STOP_GRACE, PATIENCE = 5.0, 1.0


@guarded
def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    try:
        args = _safe(build_parser().parse_args(argv))
        _read_env(args.env_file)
        return _dry_run(args) if args.dry_run else _run(args)
    except UserError as error:
        return _nothing(argv, str(error))
    except Exception as error:  # noqa: BLE001 - whoever ran it is told, and not in a trace
        found = machine.words(error) or f"A fault of this program: {type(error).__name__}: {str(error)[:300]}"
        return _nothing(argv, found)
    except KeyboardInterrupt:  # before the run had its own handler, or a second time while it was ending
        print("Interrupted.", file=sys.stderr)
        return 130


def _safe(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments with their text made safe; paths stay as they are, since a file may have any name."""
    for name, given in vars(args).items():
        setattr(args, name, safe_value(given))
    return args


def _nothing(argv: list[str] | None, sentence: str) -> int:
    """Say that nothing was started, and why; the one JSON object that was asked for says it too."""
    print(f"Nothing was started. {sentence}", file=sys.stderr)
    if "--json" in (sys.argv[1:] if argv is None else argv):
        said = {"status": "not started", "reason": sentence, "exit_code": 2, "could_start": False, "because": [sentence]}
        return _out(json_text(said), 2)
    return 2


def _read_env(path: Path) -> None:
    from dotenv import load_dotenv

    if path != ENV_FILE and not path.is_file():
        raise UserError(f"There is no file {path}.", "", "Correct --env-file.")
    try:
        load_dotenv(path)
        KNOWN.look_again()
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text.", "", "Save it again as UTF-8, one NAME=value a line.") from None


def _dry_run(args: argparse.Namespace) -> int:
    from pipeline import ready
    from pipeline.plan import prepare

    spec = _resumed_spec(args, keep=False) if args.resume else spec_of(args)
    plan = prepare(spec, _places(args, args.resume or Path()))
    because = ready.why_not(plan.spec, Credentials())
    view = _view_of(args.resume / "events.jsonl") if args.resume else None
    if args.json:
        return _out(json_text(dry_run_data(plan, because, view)), 0)
    return _out("\n".join(dry_run_lines(plan, because, view)), 0)


def _places(args: argparse.Namespace, run_dir: Path) -> Places:
    """Where the tasks are; a run that goes on finds them where it found them before."""
    csv_path, resources_dir = args.csv_path, args.resources_dir
    if args.resume and csv_path is resources_dir is None:
        kept = run_folder.kept_places(run_dir)
        csv_path, resources_dir = (Path(p) if (p := kept.get(n)) else None for n in ("csv_path", "resources_dir"))
    return Places(run_dir, csv_path, resources_dir, eval_dir=run_dir)


def _run(args: argparse.Namespace) -> int:
    from pipeline.plan import prepare

    spec = _resumed_spec(args, keep=False) if args.resume else spec_of(args)
    run_dir = (args.resume or args.log_dir or run_folder.fresh_dir(spec)).absolute()
    with ExitStack() as held:
        if args.resume:
            held.enter_context(run_folder.hold(run_dir))
            spec = _resumed_spec(args)  # as whoever had the folder until now left it
        places = _places(args, run_dir)
        plan, fresh = prepare(spec, places), False
        if not args.resume:  # what cannot be run leaves no folder
            run_folder.refuse_foreign(run_dir)
            fresh = run_folder.make(run_dir)
            held.enter_context(run_folder.hold(run_dir))
        return _held_run(args, plan, places, fresh)


def _held_run(args: argparse.Namespace, plan: Any, places: Places, fresh: bool) -> int:
    """The run itself, by the one process that may write its folder."""
    from pipeline.core.append import Appender
    from pipeline.run import Session, execute
    from pipeline.switch import Switch

    _occupy(places, plan.spec, resume=bool(args.resume))
    for line in note_lines(plan):
        print(line, file=sys.stderr)
    switch, progress = Switch(), Progress(sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_interrupt(switch))
    try:
        journal = Appender(places.journal)
        session = Session(plan, places, Credentials(), lambda event: None, switch, stop_grace=OWN_STOP_GRACE,
                          resumed=bool(args.resume))
        session.sink = _sink(journal, session, progress, args)
        journal.room = session.give_room
        progress.earlier = session.fold.view
        execute(session)
        journal.close(PATIENCE if journal.waiting else 0)
    except UserError:
        if fresh:
            shutil.rmtree(places.run_dir, ignore_errors=True)
        raise
    finally:
        progress.end()
    return _finish(args, session, journal.waiting)


def _on_interrupt(switch: Any) -> Any:
    def handler(signum: int, frame: Any) -> None:
        if switch.asked is not None:
            raise KeyboardInterrupt
        switch.stop("The run was interrupted.")

    return handler


def _sink(journal: Any, session: Any, progress: Progress, args: argparse.Namespace) -> Any:
    from pipeline.events import TaskFinished, to_line

    def sink(event: Any) -> None:
        if (trouble := journal.write(to_line(event))) is not None:
            session.pause(trouble)
        progress.event(event)
        if isinstance(event, TaskFinished) and event.outcome != "scored" and not args.continue_on_fail:
            session.switch.stop(f"Task {event.task} was not scored, and --no-continue-on-fail was given.")

    return sink


def _finish(args: argparse.Namespace, session: Any, untold: int) -> int:
    """Write the manifest and print the closing lines, both from the whole journal: a run that went on has several stretches.

    Args:
        untold: lines of the journal that the disk refused to the end; what they say is then told from memory.
    """
    from pipeline.report.manifest import write_manifest

    view, problem = session.fold.view, _unwritten(session.ledger.unwritten, untold)
    try:
        if not untold:
            view = _view_of(session.places.journal)
            write_manifest(view, session.places)
    except OSError as error:
        problem = problem or f"The manifest is not written: {machine.words(error) or error.strerror} Go on with the run to have it."
    interrupted = view.status == "stopped" and "interrupted" in view.reason
    code = 130 if interrupted else int(view.counts()["scored"] < view.planned or bool(problem))
    if problem:
        print(problem, file=sys.stderr)
    if args.json:
        return _out(json_text(result_data(view, session.places, code) | {"problem": problem}), code)
    lost = [r for r in session.evaluator.lost.values() if view.attempts[r.task.key, r.epoch].outcome is r.outcome]
    return _out("\n".join(result_lines(view, session.places, lost)), code)


def _unwritten(calls: int, events: int) -> str:
    if not calls and not events:
        return ""
    lost = f" {calls} records of calls are lost: their answers were paid for and are asked for again." if calls else ""
    return f"The disk took no more to the end.{lost} Make room, then go on with --resume."


def _out(text: str, code: int) -> int:
    """Print to standard output, whole; the exit code."""
    try:
        print(text, flush=True)
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries once more at its end, with a trace
        print(f"Standard output took no more: {error.strerror}.", file=sys.stderr)
        return code or 1
    return code


def _resumed_spec(args: argparse.Namespace, keep: bool = True) -> RunSpec:
    """The spec of the run in LOG_DIR with what was given anew (see `pipeline.growth`).

    Args:
        keep: whether the spec that it replaces is left in the folder.

    Raises:
        UserError: no run is there, or it cannot go on like that.
    """
    try:
        spec = RunSpec(**read_json((args.resume / "spec.json").read_bytes(), FROM_FILE))
    except (OSError, ValueError, TypeError):
        raise UserError(f"No run that could go on is in {args.resume}.", "A run's folder holds spec.json.", "") from None
    view = _view_of(args.resume / "events.jsonl")
    new = going_on(spec, _given(args), view)
    if keep and new.grown_from == view.spec_digest:
        keep_spec(args.resume, view)
    return new


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags name of a run, by the names of its spec."""
    from pipeline.judging.generation import TRANSPORT, transport_of

    names = {row.name for row in SETTINGS}
    given = {k: v for k, v in vars(args).items() if v is not None and (k in names or "." in k)}
    transport = transport_of(given)
    given = {k: v for k, v in given.items() if k.partition(".")[2] not in TRANSPORT}
    for role in ("solver", "judge"):
        if (url := getattr(args, f"{role}_base_url")) is not None:
            given[f"{role}.base_url"] = url
    return {**transport, **given, **lists_of(given)}


def _view_of(journal: Path) -> RunView:
    from pipeline.events import read_journal_file
    from pipeline.report.view import fold

    return fold(read_journal_file(journal))


def _occupy(places: Places, spec: RunSpec, resume: bool) -> None:
    """Make the folder this run's own. The same run in the same folder goes on; another run that said anything is kept.

    Raises:
        UserError: the folder holds another run, or cannot be written.
    """
    run_dir = places.run_dir
    path = run_dir / "spec.json"
    try:
        (run_dir / "private").mkdir(parents=True, exist_ok=True)
        begun = path.exists() and places.journal.exists() and places.journal.stat().st_size > 0
        if begun and not resume and path.read_text(encoding="utf-8") != spec.canonical():
            raise UserError(f"{run_dir} holds another run.", "", "Name another --log-dir, or go on with that run by --resume.")
        write_whole(path, spec.canonical())
        places.manifest.unlink(missing_ok=True)  # it does not hold for a run that goes on
        run_folder.keep_places(places)
    except OSError as error:
        raise UserError(f"{run_dir} cannot be written: {error.strerror}.", "", "Name another --log-dir.") from None


if __name__ == "__main__":
    sys.exit(main())
