"""Files to take along from any log: `python -m pipeline.export LOG --to csv|json|eee|hf|svg|zip [--out DIR]`.

LOG is a run folder, a `run.zip`, or an inspect log (`.eval`, `.json`) of ours or of the reference pipeline, or its
folder. What comes out holds ids, weights, verdicts, figures and money, and never text of tasks, answers or judges.
"""

import argparse
import sys
from pathlib import Path

from pipeline.core.files import write_files
from pipeline.core.written import guarded
from pipeline.errors import UserError
from pipeline.report.export.archive import MAKERS, competency_csv, run_zip
from pipeline.report.export.eee import ORGANISATION, eee_path, eee_record
from pipeline.report.export.hf import eval_results_yaml, model_index_yaml
from pipeline.report.export.record import dumps
from pipeline.report.export.source import Run, run_from_folder, run_from_zip, run_of

FORMATS = ("csv", "json", "eee", "hf", "svg", "zip")
RELATIONSHIPS = ("third_party", "first_party", "collaborative", "other")


def open_run(path: Path) -> Run:
    """The run behind a folder, a zip or a log.

    Raises:
        UserError: it is none of these, or cannot be read.
    """
    if path.is_dir():
        logs = [] if (path / "events.jsonl").exists() else sorted(path.glob("*.eval"))
        if len(logs) > 1:
            raise UserError(f"{path.name} holds {len(logs)} logs.", "One log.", f"Name one of them, for example {logs[-1].name}.")
        if not logs:
            return run_from_folder(path)
        path = logs[0]
    if not path.exists():
        raise UserError(f"There is no file {path.name}.", "A run folder, a run.zip or an inspect log.", "Check the path.")
    if path.suffix == ".zip":
        return run_from_zip(path)
    if path.suffix == ".jsonl":
        return run_of(path.read_bytes())
    from pipeline.report.export.from_log import journal_of_log

    return run_of(journal_of_log(path))


def export(
    run: Run, to: str, *, source_url: str = "", organisation: str = ORGANISATION, relationship: str = "third_party",
) -> dict[str, bytes]:
    """The files of one format by their path below the output folder.

    Args:
        to: one of `FORMATS`. source_url: link to the run's public page, for hf. organisation, relationship: for eee.

    Raises:
        UserError: the format needs a score and the run has none.
    """
    if to == "eee":
        return {eee_path(run.view): dumps(eee_record(run.view, organisation, relationship))}
    if to == "hf":
        return {"hf.yaml": eval_results_yaml(run.view, source_url), "model-index.yaml": model_index_yaml(run.view, source_url)}
    if to == "zip":
        return {"run.zip": run_zip(run)}
    if to == "csv":
        return {n: MAKERS[n](run) for n in ("tasks.csv", "verdicts.csv")} | {"competency.csv": competency_csv(run)}
    return {n: MAKERS[n](run) for n in (("view.json", "manifest.json") if to == "json" else ("competency.svg",))}


def place_for(log: Path) -> Path:
    """Where exports of this log go unless told otherwise: `exports` in the run's folder, or beside a zip or a lone log."""
    if log.is_dir():
        return log / "exports"
    folder = log.parent.parent if log.parent.name == "private" else log.parent
    return folder / "exports" if (folder / "events.jsonl").exists() else folder / f"{log.stem}-exports"


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.export", description=(__doc__ or "").split("\n\n")[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, metavar="LOG", help="run folder, run.zip, or inspect log")
    parser.add_argument("--to", required=True, nargs="+", choices=FORMATS, help="one format or more")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the files go (default: exports in the run's folder)")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument("--source-url", default="", help="hf: link to the run's public page")
    parser.add_argument("--organisation", default=ORGANISATION, help="eee: who ran the evaluation")
    parser.add_argument("--relationship", default="third_party", choices=RELATIONSHIPS, help="eee: to the model's maker")
    return parser.parse_args(argv)


@guarded
def main(argv: list[str] | None = None) -> int:
    """The command line; the exit code is returned: 0 written, 2 not possible."""
    args = parse(argv)
    try:
        run, out = open_run(args.log), args.out or place_for(args.log)
        files: dict[Path, bytes] = {}
        for to in args.to:
            made = export(run, to, source_url=args.source_url, organisation=args.organisation, relationship=args.relationship)
            files |= {out / name: data for name, data in made.items()}
        for path in write_files(files, args.force):
            print(path)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"The files could not be written or read: {error.strerror or 'the system refused'}.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
