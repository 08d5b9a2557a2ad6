"""One function for the three sources of tasks: demo, Hub, local files. Never runs on files that a check refuses.

Nothing is remembered between two calls: a second file brings its own rubric.
"""

from pathlib import Path

from pipeline.core.text import safe_text
from pipeline.data import hub
from pipeline.data.changed import what_changed
from pipeline.data.check import Checked, Problem, read_files
from pipeline.data.records import DataSource, TaskSet
from pipeline.errors import UserError
from pipeline.spec import Places, RunSpec

DEMO_DIR = Path(__file__).resolve().parents[2] / "assets" / "demo"
DEMO_CSV = DEMO_DIR / hub.DEFAULT_CSV
DEMO_RESOURCES = DEMO_DIR / hub.DEFAULT_RESOURCES
SHOWN_PROBLEMS = 5
SHOWN_WARNINGS = 3
PROMPTS_WITH_REFERENCE = ("v1", "v2")


def load_tasks(spec: RunSpec, places: Places, hf_token: str | None = None) -> TaskSet:
    """All tasks of the spec's source, checked, with where they came from.

    Args:
        spec: source, repo, revision, judge prompt (whether a reference answer is needed), allow_missing_resources
            and, where set, the digest that the data must have.
        places: the local files, and the visitor's own Hub cache.
        hf_token: token of this visitor; at the command line None means the one on this machine.

    Raises:
        UserError: the source cannot be had, cannot be read, or a check refuses it.
    """
    notices: tuple[str, ...] = ()
    needs_reference = spec.prompt_version in PROMPTS_WITH_REFERENCE
    if spec.source == "demo":
        checked = read_files(DEMO_CSV, DEMO_RESOURCES, needs_reference=needs_reference)
        source = DataSource("demo", "demo tasks", digest=checked.digest)
        advice = "python -m pipeline.check"
    elif spec.source == "local":
        csv_path, resources_dir = local_files(places)
        checked = read_files(csv_path, resources_dir, needs_reference=needs_reference)
        source = DataSource("local", safe_text(csv_path.name), digest=checked.digest, gated=True)
        advice = "python -m pipeline.check --csv-path FILE --resources-dir FOLDER"
    else:
        got = hub.fetch(spec.repo, spec.revision, places.cache_dir, hf_token)
        checked = read_files(got.csv_path, got.resources_dir, inside=got.inside, needs_reference=needs_reference)
        source = DataSource("hub", got.repo, got.commit, checked.digest, gated=True)
        notices, advice = got.notices, "python -m pipeline.check --hub"
    _refuse(checked, spec, advice, places)
    return TaskSet(checked.built.tasks, source, notices + checked.built.notices + _warnings(checked))


def local_files(places: Places) -> tuple[Path, Path]:
    """Tasks file and resources folder of a local source.

    Raises:
        UserError: only one of the two is given.
    """
    if places.csv_path is None or places.resources_dir is None:
        missing = "--csv-path" if places.csv_path is None else "--resources-dir"
        raise UserError(
            f"{missing} is not given.", "A local tasks file and its resources folder, both.", f"Add {missing}."
        )
    return Path(places.csv_path), Path(places.resources_dir)


def _refuse(checked: Checked, spec: RunSpec, advice: str, places: Places) -> None:
    problems = checked.built.problems
    errors = [p for p in problems if p.level == "error"]
    absent = [] if spec.allow_missing_resources else [p for p in problems if p.level == "missing_resource"]
    if errors:
        raise UserError(_said(errors + absent), "", f"Nothing was sent. Mend the file; {advice} names every problem.")
    if absent:
        raise UserError(
            _said(absent),
            "",
            "Nothing was sent. Put the files into the resources folder, or accept a placeholder in their place "
            f"(--allow-missing-resources); {advice} names every problem.",
        )
    if spec.data_digest and spec.data_digest != checked.digest:
        changed = what_changed(checked.built.tasks, places.private)
        raise UserError(
            f"The tasks are not those of this run: their digest is {checked.digest[:12]}. {changed}".rstrip(),
            f"Digest {spec.data_digest[:12]}.",
            "Use the same tasks file, resources and revision, or start a new run.",
        )


def _said(problems: list[Problem]) -> str:
    lines = [p.line for p in problems[:SHOWN_PROBLEMS]]
    more = f"\n… and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return f"The tasks file has {count}:\n" + "\n".join(lines) + more + "\n"


def _warnings(checked: Checked) -> tuple[str, ...]:
    """The first warnings and accepted placeholders, and how many more there are."""
    lines = [p.line for p in checked.built.problems]
    if len(lines) > SHOWN_WARNINGS:
        lines = [*lines[:SHOWN_WARNINGS], f"The file check has {len(lines) - SHOWN_WARNINGS} more warnings."]
    return tuple(lines)
