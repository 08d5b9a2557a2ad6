"""All files of a run as one `run.zip` of fixed bytes: manifest, journal, tables, records, and how to check them.

Made from the public journal alone, so it holds no text of tasks, answers or judges, and no secret id.
"""

import io
import zipfile
from collections.abc import Callable

from pipeline.errors import UserError
from pipeline.report.export.cells import to_csv
from pipeline.report.export.eee import eee_record
from pipeline.report.export.hf import eval_results_yaml, model_index_yaml
from pipeline.report.export.record import dumps, view_json
from pipeline.report.export.source import Run
from pipeline.report.export.svg import comparison_line, competency_svg
from pipeline.report.export.tables import tasks_csv, verdicts_csv
from pipeline.report.summary import summarise

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest time a zip can hold; the real times of the run stand in the journal."""

MAKERS: dict[str, Callable[[Run], bytes]] = {
    "tasks.csv": lambda run: tasks_csv(run.view),
    "verdicts.csv": lambda run: verdicts_csv(run.view),
    "view.json": lambda run: dumps(view_json(run.view)),
    "competency.csv": lambda run: competency_csv(run),
    "competency.svg": lambda run: competency_svg(summarise(run.view)),
    "eee.json": lambda run: dumps(eee_record(run.view)),
    "hf.yaml": lambda run: eval_results_yaml(run.view),
    "model-index.yaml": lambda run: model_index_yaml(run.view),
    "manifest.json": lambda run: dumps(run.manifest),
    "events.jsonl": lambda run: run.journal,
}
"""How each file of a run is made; `README.txt` and `run.zip` come on top."""
DERIVED = tuple(name for name in MAKERS if name not in ("manifest.json", "events.jsonl"))
NEEDS_SCORE = frozenset({"eee.json", "hf.yaml", "model-index.yaml"})
"""Files that have no form for a run without a score."""

README = """\
L2-Bench Live: one run, to take along
=====================================

Model    {model}
Score    {score}
Judge    {judge}, prompt {prompt}
Status   {status}

manifest.json     settings, versions, digests, chosen task ids, counts and both means with their intervals
events.jsonl      the journal: everything that happened, one event a line; all other files are made from it
tasks.csv         one row for each task and epoch        verdicts.csv   one row for each verdict
competency.csv    mean and interval by competency        competency.svg the same as a picture
view.json         the journal folded into one object
eee.json          Every Eval Ever record (schema 0.3.0)
hf.yaml           scores for a model repository on the Hugging Face Hub; model-index.yaml is the older form

No file holds text of a task, a resource, a rubric, a reference, an answer or a judge.

To check that these files agree with each other, from a checkout of the project:

    python -m pipeline.verify run.zip

It recomputes every task's score from weights and verdicts (sum of the weights judged true over the sum of the
positive weights), both means, the counts and the intervals, and compares them and all digests with the manifest.
It cannot tell whether whoever made the files told the truth: for that, repeat the run.

L2-Bench is by Oxford University Press; its data are under CC-BY-SA 4.0, behind a gate that asks not to publish examples
and not to train on them.
"""


def files_of(run: Run) -> dict[str, bytes]:
    """Every file of the zip by name, in its order; records that need a score are left out where there is none."""
    found = {"README.txt": readme(run)}
    for name, make in MAKERS.items():
        try:
            found[name] = make(run)
        except UserError:
            if name not in NEEDS_SCORE:
                raise
    return found


def run_zip(run: Run) -> bytes:
    """The zip; the same journal and manifest give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files_of(run).items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(info, data, compresslevel=6)
    return out.getvalue()


def readme(run: Run) -> bytes:
    """What the files are and how to check them, with the score and what makes it not comparable on one line."""
    s = summarise(run.view)
    text = README.format(model=_line(s.solver), score=_line(comparison_line(s)), judge=_line(s.judge), prompt=_line(s.prompt),
                         status=_line(f"{s.status} {run.view.reason}"))
    return text.encode("utf-8", "replace")


def competency_csv(run: Run) -> bytes:
    """Mean over scored and over attempted tasks by competency, with intervals on the scale where 1 is full marks."""
    s = summarise(run.view)
    head = ("competency", "tasks_chosen", "tasks_scored", "mean", "low", "high", "tasks_attempted", "mean_attempted",
            "low_attempted", "high_attempted", "note", "not_comparable")
    rows = ((g.name, g.chosen, g.scored.tasks, g.scored.value, *_ends(g.scored), g.attempted.tasks, g.attempted.value,
             *_ends(g.attempted), g.scored.note, "; ".join(s.differences)) for g in s.by_competency)
    return to_csv(head, rows)


def _ends(mean: object) -> tuple[float | None, float | None]:
    interval = getattr(mean, "interval", None)
    return (interval.low, interval.high) if interval else (None, None)


def _line(text: str) -> str:
    return " ".join(text.split())
