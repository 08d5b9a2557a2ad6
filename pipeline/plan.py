"""A run that is ready to start: tasks loaded, checked and chosen, the judge's prompt read, the cost estimated. Sends nothing."""

import os
from dataclasses import dataclass, replace
from typing import Any

from pipeline import __version__, events
from pipeline.core.secret_names import machine_secrets
from pipeline.cost.estimate import Estimate, estimate
from pipeline.cost.prices import Price, price_for
from pipeline.data.choose import subset
from pipeline.data.records import Task, TaskSet
from pipeline.data.sources import load_tasks
from pipeline.environment import clean_environment
from pipeline.errors import UserError
from pipeline.growth import chosen_by
from pipeline.judging.prompts import JudgePrompt, load_prompt
from pipeline.models import generate_config
from pipeline.report.comparability import cap_differences, differences
from pipeline.spec import Credentials, Places, RunSpec


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start: nothing was sent to a model yet."""

    spec: RunSpec
    data: TaskSet
    chosen: tuple[Task, ...]
    prompt: JudgePrompt
    differences: tuple[str, ...]
    estimate: Estimate
    solver_price: Price | None
    judge_price: Price | None
    outgrown: tuple[str, ...] = ()
    """Differences that the run had before it grew, and has no more."""

    @property
    def calls(self) -> dict[str, int]:
        """Calls without any retry: one per task and epoch, and one per criterion and epoch."""
        tasks, epochs = self.chosen, self.spec.epochs
        return {"solver": len(tasks) * epochs, "judge": sum(len(t.criteria) for t in tasks) * epochs}

    def log_metadata(self) -> dict[str, Any]:
        """What the .eval log records of the run: settings, data, differences, and which judge prompt with its digest."""
        return {"spec": self.spec.model_dump(mode="json"), "spec_digest": self.spec.digest,
                "data": self.record.model_dump(mode="json"), "differences": list(self.differences),
                "prompt": self.prompt.record().model_dump(mode="json")}

    @property
    def record(self) -> events.DataRecord:
        """The public record of the data."""
        s = self.data.source
        return events.DataRecord(kind=s.kind, name=s.name, revision=s.revision, digest=s.digest, gated=s.gated,  # type: ignore[arg-type]
                                 available=len(self.data.tasks))


def prepare(spec: RunSpec, places: Places, hf_token: str | None = None, live: dict[str, Any] | None = None) -> Plan:
    """Load and check the tasks, choose, read the judge's prompt, estimate. Sends nothing to a model.

    Args:
        live: a provider's own price list, by model name, where one is known.

    Raises:
        UserError: the data cannot be used, nothing is chosen, or a setting does not fit another.
    """
    _check_models(spec)
    clean_environment(spec)
    Credentials(hf_token=hf_token).stay_out_of(spec, machine_secrets(os.environ))
    data = load_tasks(spec, places, hf_token)
    spec = spec.model_copy(update={"data_digest": data.source.digest, "revision": data.source.revision or spec.revision})
    grown = chosen_by(data.tasks, spec, places.run_dir)
    spec, chosen = grown.spec, grown.chosen
    prompt = load_prompt(spec.prompt_version, spec.prompt_source if spec.source != "demo" else "own",
                         spec.prompt_revision, token=hf_token)
    solver_price = price_for(spec.solver.model, live=live, base_url=spec.solver.base_url)
    judge_price = price_for(spec.judge.model, live=live, base_url=spec.judge.base_url)
    first = estimate(chosen, spec, {"solver": solver_price, "judge": judge_price}, template=prompt.template,
                     available=len(subset(data.tasks, spec)))
    plan = Plan(spec, data, chosen, prompt, (), first, solver_price, judge_price)
    said = differences(spec, len(chosen), len(data.tasks), prompt.record(), plan.record)
    gone = [text for old, n in zip(grown.before, grown.sizes, strict=True)
            for text in differences(old, n, len(data.tasks), prompt.record(), plan.record) if text not in said]
    return replace(plan, differences=(*grown.differences, *said, *cap_differences(spec)), outgrown=tuple(gone))


def _check_models(spec: RunSpec) -> None:
    for role, model in (("solver", spec.solver), ("judge", spec.judge)):
        provider, _, name = model.model.partition("/")
        if not provider or not name:
            raise UserError(f"The {role} {model.model!r} names no provider.", "A model is given as provider/model.",
                            "For example openrouter/anthropic/claude-sonnet-4.6 or demo/strong.")
        generate_config(model.config, 1)


def planned(t: Task) -> events.PlannedTask:
    """The public part of a task."""
    return events.PlannedTask(
        key=t.key, competency=t.competency, subcompetencies=t.subcompetencies, facets=t.facets,
        criteria=tuple(events.PlannedCriterion(id=c.id, layer=c.layer, weight=c.weight) for c in t.criteria),
    )


def versions() -> dict[str, str]:
    """Versions of the code that measures."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"l2-bench-live": __version__, "python": platform.python_version()}
    for name in ("inspect-ai", "openai", "anthropic", "google-genai", "huggingface-hub", "genai-prices"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
