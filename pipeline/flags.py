"""The flags of the command line, and the RunSpec they ask for. Every flag comes from `pipeline.settings` or from inspect's
GenerateConfig. Reads the environment of the reference pipeline; starts nothing.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from pipeline.core.address import clean_address
from pipeline.core.text import safe_text
from pipeline.environment import address_of
from pipeline.errors import UserError
from pipeline.growth import first_error
from pipeline.settings import SETTINGS, Setting
from pipeline.spec import JUDGE_DEFAULTS, SOLVER_DEFAULTS, ModelSpec, RunSpec

ENV_FILE = Path(".env")


DEMO_JUDGE = "demo/judge"
ENVIRONMENT = {
    "judge.model": "DEFAULT_JUDGE_MODEL", "prompt_version": "DEFAULT_JUDGE_PROMPT_VERSION",
    "judge.reasoning_tokens": "DEFAULT_JUDGE_REASONING_TOKENS", "verdict_retries": "DEFAULT_JUDGE_MAX_RETRIES",
}
"""Environment variables of the reference pipeline, by the setting they give a default to."""
ALIASES = {"prompt_version": ["--judge-prompt-version"], "judge.model": ["--judge-model"]}


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
    data |= lists_of(data)
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


def lists_of(data: dict[str, Any]) -> dict[str, Any]:
    """What narrows the tasks, as the spec holds it: names, ids parted at commas, and pairs of KEY=VALUE.

    Raises:
        UserError: a context variable has no value.
    """
    found: dict[str, Any] = {k: tuple(data[k]) for k in ("competency", "subcompetency") if k in data}
    if "task_ids" in data:
        found["task_ids"] = tuple(key.strip() for text in data["task_ids"] for key in text.split(",") if key.strip())
    if "context" in data:
        pairs = [text.partition("=") for text in data["context"]]
        if bad := next((k for k, mark, _ in pairs if not mark), None):
            raise UserError(f"--context {bad!r} has no value.", "A context variable is given as KEY=VALUE.")
        found["context"] = tuple((k.strip(), v.strip()) for k, _, v in pairs)
    return found
