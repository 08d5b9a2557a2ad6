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
from typing import Any, NoReturn

from pipeline import run_folder
from pipeline.core import machine
from pipeline.core.address import clean_address
from pipeline.core.files import write_whole
from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.core.printing import json_text
from pipeline.core.text import safe_text, safe_value
from pipeline.core.written import KNOWN, guarded
from pipeline.environment import address_of
from pipeline.errors import UserError
from pipeline.growth import first_error, going_on, keep_spec
from pipeline.report.console import Progress, dry_run_data, dry_run_lines, note_lines, result_data, result_lines
from pipeline.report.view import RunView
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import JUDGE_DEFAULTS, SOLVER_DEFAULTS, Credentials, ModelSpec, Places, RunSpec

DEMO_JUDGE = "demo/judge"
ENVIRONMENT = {
    "judge.model": "DEFAULT_JUDGE_MODEL", "prompt_version": "DEFAULT_JUDGE_PROMPT_VERSION",
    "judge.reasoning_tokens": "DEFAULT_JUDGE_REASONING_TOKENS", "verdict_retries": "DEFAULT_JUDGE_MAX_RETRIES",
}
"""Environment variables of the reference pipeline, by the setting they give a default to."""
ENV_FILE = Path(".env")
ALIASES = {"prompt_version": ["--judge-prompt-version"], "judge.model": ["--judge-model"]}
OWN_STOP_GRACE, PATIENCE = 5.0, 1.0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[:1].upper()}{message[1:]}.", "", "python -m pipeline.eval --help lists every flag.")


def build_parser() -> argparse.ArgumentParser:
    """The whole parser; flags of the settings table have no default of argparse, so that what was given can be told.

    What it cannot parse is a UserError.
    """
    from pipeline.judging.generation import add_flags

    parser = _Parser(prog="python -m pipeline.eval", usage="python -m pipeline.eval --model PROVIDER/MODEL [flags]",
                     description="Answer and judge L2-Bench tasks.")
    for row in SETTINGS:
        parser.add_argument(row.flag, *ALIASES.get(row.name, []), dest=row.name, default=None, help=_help(row), **_kind(row))
    parser.add_argument("--log-dir", type=Path, help="Folder for the .eval log and the run's records.")
    parser.add_argument("--resume", type=Path, metavar="LOG_DIR", help="Go on with the run in this folder; nothing is paid twice.")
    parser.add_argument("--csv-path", type=Path, help="A local tasks file; needs --resources-dir too.")
    parser.add_argument("--resources-dir", type=Path, help="Folder of the local tasks file's resources.")
    parser.add_argument("--model-base-url", "--solver-base-url", dest="solver_base_url", help="Address of the solver's endpoint.")
    parser.add_argument("--scorer-base-url", dest="judge_base_url", help="Address of the judge's endpoint.")
    parser.add_argument("--env-file", type=Path, default=ENV_FILE, help="File of environment variables to read (default .env).")
    parser.add_argument("--continue-on-fail", action=argparse.BooleanOptionalAction, default=True,
                        help="Go on after a task that failed (default); --no-continue-on-fail stops the run at the first.")
    parser.add_argument("--dry-run", action="store_true", help="Show tasks, calls, cost and differences; send nothing.")
    parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else on standard output.")
    add_flags(parser)
    return parser


def _help(row: Setting) -> str:
    default = "" if row.default in (None, (), "", False) else f" (default {row.default})"
    return (row.help + default).replace("%", "%%")


def _kind(row: Setting) -> dict[str, Any]:
    if row.kind is bool:
        return {"action": "store_true"}
    if row.choices:
        return {"type": row.kind, "choices": list(row.choices)}
    many = {"nargs": "+", "action": "extend"} if row.many else {}
    return {"type": row.kind, "metavar": row.name.rpartition(".")[2].upper(), **many}


def spec_of(args: argparse.Namespace) -> RunSpec:
    """The RunSpec that the flags and the environment ask for.

    Raises:
        UserError: no model was named, or settings do not fit each other.
    """
    from pipeline.judging.generation import config_of, transport_of

    values = {k: v for k, v in vars(args).items() if v is not None and (v is not False or "." in k)}
    for name, variable in ENVIRONMENT.items():
        if name not in values and os.environ.get(variable):
            values[name] = safe_text(os.environ[variable])
    if "solver.model" not in values:
        raise UserError("No model was named.", "", "Give one with --model, for example --model demo/strong.")
    solver, judge = values.pop("solver.model"), values.pop("judge.model", None)
    judge = judge or (DEMO_JUDGE if solver.startswith("demo/") else setting_default("judge.model"))
    data = {row.name: values[row.name] for row in SETTINGS if "." not in row.name and row.name in values}
    data["source"] = _source(args)
    data |= _lists(data)
    data = {**transport_of(values), **data}
    if data["source"] == "hub":
        data["repo"] = safe_text(os.environ.get("TASKS_REPO", ""))
    try:
        return RunSpec(
            **data,
            solver=_at_its_address(solver, config_of(values, "solver", SOLVER_DEFAULTS), args.solver_base_url, "--model-base-url"),
            judge=_at_its_address(judge, _judge_config(values), args.judge_base_url, "--scorer-base-url"),
        )
    except UserError:
        raise
    except ValueError as error:
        raise UserError(f"A setting has a value that cannot be used: {first_error(error)}.") from None


def _at_its_address(model: str, config: dict[str, Any], given: str | None, flag: str) -> ModelSpec:
    """The model with the address that it is called at, whether the flag or the environment gives it."""
    address = address_of(model, given, f"address of {flag}")
    if given and address and address != clean_address(given):
        print(f"{flag}: the address used is {address}; the client adds the rest by itself.", file=sys.stderr)
    return ModelSpec(model=model, config=config, base_url=address)


def setting_default(name: str) -> Any:
    """The table's default of a setting."""
    return next(row.default for row in SETTINGS if row.name == name)


def _judge_config(values: dict[str, Any]) -> dict[str, Any]:
    """The judge's settings. A temperature that is set alone switches the default reasoning budget off."""
    from pipeline.judging.generation import config_of

    defaults = dict(JUDGE_DEFAULTS)
    if values.get("judge.temperature") is not None and "judge.reasoning_tokens" not in values:
        defaults.pop("reasoning_tokens")
        print("The judge's temperature is set, so its reasoning budget is off: the two exclude each other.", file=sys.stderr)
    config = config_of(values, "judge", defaults)
    if "reasoning_tokens" in config:
        config["reasoning_tokens"] = int(config["reasoning_tokens"])
    return config


def _source(args: argparse.Namespace) -> str:
    files = args.csv_path or args.resources_dir
    if files and args.source not in (None, "local"):
        raise UserError(f"--source {args.source} takes no --csv-path and no --resources-dir.", "", "Leave one of them out.")
    return args.source or ("local" if files else "hub" if os.environ.get("TASKS_REPO") else "demo")


def _lists(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {k: tuple(data[k]) for k in ("competency", "subcompetency") if k in data}
    if "task_ids" in data:
        found["task_ids"] = tuple(key.strip() for text in data["task_ids"] for key in text.split(",") if key.strip())
    if "context" in data:
        pairs = [text.partition("=") for text in data["context"]]
        if bad := next((k for k, mark, _ in pairs if not mark), None):
            raise UserError(f"--context {bad!r} has no value.", "A context variable is given as KEY=VALUE.")
        found["context"] = tuple((k.strip(), v.strip()) for k, _, v in pairs)
    return found


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
        return _out(json_text({"status": "not started", "reason": sentence, "exit_code": 2}), 2)
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
    from pipeline.run import prepare

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
    from pipeline.run import prepare

    spec = _resumed_spec(args, keep=False) if args.resume else spec_of(args)
    run_dir = (args.resume or args.log_dir or run_folder.fresh_dir(spec)).absolute()
    with ExitStack() as held:
        if args.resume:
            held.enter_context(run_folder.hold(run_dir))
            spec = _resumed_spec(args)  # as whoever had the folder until now left it
        places = _places(args, run_dir)
        plan, fresh = prepare(spec, places), False
        if not args.resume:  # what cannot be run leaves no folder
            fresh = run_folder.make(run_dir)
            held.enter_context(run_folder.hold(run_dir))
        return _held_run(args, plan, places, fresh)


def _held_run(args: argparse.Namespace, plan: Any, places: Places, fresh: bool) -> int:
    """The run itself, by the one process that may write its folder."""
    from pipeline.core.append import Appender
    from pipeline.run import Session, Switch, execute

    _occupy(places, plan.spec, resume=bool(args.resume))
    for line in note_lines(plan):
        print(line, file=sys.stderr)
    switch, progress = Switch(), Progress(sys.stderr)
    signal.signal(signal.SIGINT, _on_interrupt(switch))
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
    return {**transport, **given, **_lists(given)}


def _view_of(journal: Path) -> RunView:
    from pipeline.events import read_journal
    from pipeline.report.view import fold

    if not journal.exists():
        return fold(())
    with journal.open("rb") as lines:
        return fold(read_journal(lines))


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
