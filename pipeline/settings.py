"""One table of run options: the form, the command line, README, RunSpec and the comparability line come from it.

Each row is written once, here. Generation settings beyond the four listed are every field of inspect's
GenerateConfig, derived from the installed class (`pipeline.judging.generation`), never typed by hand.
"""

from dataclasses import dataclass
from typing import Any, Literal

from pipeline.spec import REFERENCE_JUDGE

Place = Literal["cli", "form"]
OnResume = Literal["same", "free", "grow"]


@dataclass(frozen=True)
class Setting:
    """One run option.

    Attributes:
        name: field of RunSpec, or `solver.X` / `judge.X` for a generation setting or the model itself.
        flag: the command line's flag.
        kind: type of one value.
        default: value where nothing is given.
        reference: value of the reference settings; None where the reference leaves it open.
        help: one line, in plain words, shown beside the control.
        compared: whether a difference from the reference makes a score not comparable.
        on_resume: what it may be when a run goes on: the same; any value, since it changes no verdict; or only one that
            gives more tasks or epochs on top of those there are (`pipeline.growth`).
    """

    name: str
    flag: str
    kind: type
    default: Any
    reference: Any
    help: str
    choices: tuple[str, ...] = ()
    many: bool = False
    where: tuple[Place, ...] = ("cli", "form")
    compared: bool = True
    on_resume: OnResume = "same"


SETTINGS: tuple[Setting, ...] = (
    Setting("solver.model", "--model", str, None, None, "The model that answers the tasks, as provider/model.", compared=False),
    Setting("judge.model", "--scorer-model", str, REFERENCE_JUDGE, REFERENCE_JUDGE, "The model that gives a verdict on every criterion."),
    Setting("source", "--source", str, "demo", None, "Which tasks: demo, the gated set on the Hub, or local files.", ("demo", "hub", "local"), where=("cli",), compared=False),
    Setting("revision", "--revision", str, "", None, "Revision of the data set on the Hub; its newest where empty.", where=("cli",), compared=False),
    Setting("competency", "--competency", str, (), (), "Only tasks of these competencies.", many=True, on_resume="grow"),
    Setting("subcompetency", "--subcompetency", str, (), (), "Only tasks of these sub-competencies.", many=True, on_resume="grow"),
    Setting("context", "--context", str, (), (), "Only tasks with this context variable, as KEY=VALUE.", many=True, on_resume="grow"),
    Setting("task_ids", "--task-ids", str, (), (), "Only these tasks, by task_key.", many=True, on_resume="grow"),
    Setting("sample_limit", "--sample-limit", int, 0, 0, "At most this many tasks; 0 means all.", on_resume="grow"),
    Setting("sampling", "--sampling", str, "first", None, "How the cap chooses: the first N, or a seeded sample in proportion to the competencies.", ("first", "stratified"), compared=False),
    Setting("seed", "--seed", int, 0, None, "Seed of the stratified sample and of the intervals.", compared=False),
    Setting("epochs", "--epochs", int, 1, 1, "How many times every task is answered and judged.", on_resume="grow"),
    Setting("solver.temperature", "--solver-temperature", float, 0.0, 0.0, "Sampling temperature of the solver."),
    Setting("solver.max_tokens", "--solver-max-tokens", int, 4096, 4096, "Most tokens in one answer, hidden reasoning included."),
    Setting("judge.reasoning_tokens", "--scorer-reasoning-tokens", int, 1024, 1024, "Tokens the judge may think before its verdict; 0 switches thinking off."),
    Setting("judge.temperature", "--scorer-temperature", float, None, None, "Sampling temperature of the judge; excludes a reasoning budget."),
    Setting("prompt_version", "--prompt-version", str, "v1", "v1", "Which of the four judge prompts is used.", ("v1", "v2", "v3", "v4")),
    Setting("prompt_source", "--prompt-source", str, "auto", "auto", "auto reads the published prompt texts where they can be reached; own uses this project's.", ("auto", "own"), where=("cli",)),
    Setting("prompt_revision", "--prompt-revision", str, "main", None, "Revision of the Space the published prompt texts are read from.", where=("cli",), compared=False),
    Setting("verdict_retries", "--judge-verdict-retries", int, 0, 0, "How often an unreadable verdict is asked for again."),
    Setting("verdict_parser", "--judge-verdict-parser", str, "strict", "strict", "strict accepts only true or false on the last line; lenient also reads bold, quotes and a prefix.", ("strict", "lenient")),
    Setting("max_connections", "--max-connections", int, 20, None, "Most calls at the same time; fewer where the provider asks for it.", compared=False, on_resume="free"),
    Setting("api_retries", "--api-retries", int, 5, None, "How often a call that failed for a passing reason is sent again.", compared=False, on_resume="free"),
    Setting("call_timeout", "--call-timeout", int, 600, None, "Seconds after which one call is given up and sent again.", where=("cli",), compared=False, on_resume="free"),
    Setting("max_cost", "--max-cost", float, None, None, "Most US dollars over solver and judge together; the run stops before it passes them.", compared=False, on_resume="free"),
    Setting("max_calls", "--max-calls", int, None, None, "Most calls over solver and judge together.", compared=False, on_resume="free"),
    Setting("max_tokens", "--max-tokens", int, None, None, "Most tokens over solver and judge together.", compared=False, on_resume="free"),
    Setting("allow_missing_resources", "--allow-missing-resources", bool, False, False, "Run although a resource file is missing, with a placeholder in its place."),
)


def setting(name: str) -> Setting:
    """The row called `name`.

    Raises:
        KeyError: no such row.
    """
    for row in SETTINGS:
        if row.name == name:
            return row
    raise KeyError(name)
