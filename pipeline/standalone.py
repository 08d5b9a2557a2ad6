"""Builds the Task for `inspect eval pipeline/task.py`: inspect brings the solver and keeps the log, we bring the rest.

The one door, the cap and the verdicts are the same as everywhere; there is no journal, and no resume beyond inspect's own.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.solver import Solver, solver
from rich.markup import escape

from pipeline import ready
from pipeline.admission import Admission
from pipeline.core.address import clean_address
from pipeline.core.keys import clean_key, trimmed
from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets
from pipeline.cost.meter import Meter
from pipeline.door import Door, RoleModel, with_output_bound
from pipeline.environment import address_of
from pipeline.errors import UserError
from pipeline.events import DifferenceFound
from pipeline.flags import build_parser, spec_of
from pipeline.inspect_parts import build_task
from pipeline.judging.evaluate import Evaluator
from pipeline.judging.generation import TRANSPORT
from pipeline.ledger import Ledger
from pipeline.log_ending import tell_log
from pipeline.models import prepare as prepare_model
from pipeline.plan import Plan, prepare
from pipeline.spec import SOLVER_DEFAULTS, ModelSpec, Places


def task_for_inspect(given: dict[str, Any]) -> InspectTask:
    """The Task for the parameters of `pipeline.task.l2_bench`.

    Raises:
        PrerequisiteError: as `pipeline.run.prepare`'s UserError; inspect prints this one without a traceback.
    """
    model = get_model()
    try:
        plan = _plan(given, model)
        evaluator = _evaluator(plan, model)
    except UserError as error:
        raise PrerequisiteError(f"Nothing was started. {escape(str(error))}") from None
    for text in plan.differences:
        _difference(text)
    task = build_task(evaluator, plan.chosen, plan.spec.epochs, plan.data.source.name)
    task.metadata = {**(task.metadata or {}), **plan.log_metadata()}
    tell_log(plan.spec.digest, evaluator)
    task.config = GenerateConfig(**SOLVER_DEFAULTS)  # inspect's own flags, such as --temperature, beat these
    task.solver = [_bind(evaluator, plan), task.solver]  # type: ignore[assignment]
    return task


def _plan(given: dict[str, Any], model: Model) -> Plan:
    """The plan of the command line that has these parameters as its flags."""
    words = ["--model", str(model)]
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words += [flag] if value else []
        else:
            words += [f"{flag}={v}" for v in (value if isinstance(value, list | tuple) else [value])]
    args = build_parser().parse_args(words)
    spec = spec_of(args).model_copy(update=_of_inspect(model, given))
    return prepare(spec, Places(Path.cwd(), args.csv_path, args.resources_dir))


def _of_inspect(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """What inspect's own flags decide: the solver's settings, the judge of `--model-role`, connections, retries, timeout."""
    config = model.config.merge(active_generate_config())
    found: dict[str, Any] = {"solver": _spec(model, {**SOLVER_DEFAULTS, **_settings(config)})}
    if (grader := _grader()) is not None:
        found["judge"] = _spec(grader, _settings(grader.config))
    transport = {field: getattr(config, name, None) for name, field in TRANSPORT.items()}
    return found | {field: n for field, n in transport.items() if n is not None and field not in given}


def _spec(model: Model, config: dict[str, Any]) -> ModelSpec:
    """What inspect's own flags made of a model, where no key stands in what inspect writes into its log.

    Raises:
        UserError: one does, or the address holds a route that its client adds by itself.
    """
    given = {k: v for k, v in model.model_args.items() if k != "api_key" and not k.startswith("aws_")}  # inspect leaves these out
    ModelSpec(model=str(model), config=given)
    if (key := getattr(model.api, "api_key", None)) and clean_key(key, f"key for {model}") != key:
        model.api.api_key = trimmed(key)  # inspect made its client with the blanks around it
        getattr(model.api, "initialize", lambda: None)()
    asked = getattr(model, "explicit_base_url", None)
    address = address_of(str(model), asked, "address of --model-base-url")
    if asked and address and address != clean_address(asked):
        raise UserError(f"The address of {model} holds a part that its client adds by itself.", "", f"Give {address}.")
    return ModelSpec(model=str(model), config=config, base_url=address)


def _settings(config: GenerateConfig) -> dict[str, Any]:
    return {name: value for name, value in config.model_dump(exclude_none=True).items() if name not in TRANSPORT}


def _grader() -> Model | None:
    """The model of `--model-role grader=...`, or None."""
    try:
        return get_model(role="grader", required=True)
    except Exception:  # noqa: BLE001 - what it raises differs between versions
        return None


def _difference(text: str) -> None:
    print(f"Difference from the reference settings: {text}")


def _say(event: Any) -> None:
    """Of a run's events, inspect's own user is told what makes the score not comparable; the log has the rest."""
    if isinstance(event, DifferenceFound):
        _difference(event.text)


def _evaluator(plan: Plan, solver_model: Model) -> Evaluator:
    spec = plan.spec
    meter = Meter(spec.max_cost, spec.max_calls, spec.max_tokens)
    meter.check_can_hold({"solver": plan.solver_price, "judge": plan.judge_price})
    judge_model = ready.beside(solver_model, _grader() or spec.judge, spec.max_connections)
    folder = tempfile.TemporaryDirectory(prefix="l2bench-")
    door = Door(meter=meter, ledger=Ledger(Path(folder.name) / "ledger.jsonl"), say=_say,
                connections=spec.max_connections, retries=spec.api_retries, timeout=spec.call_timeout,
                redact=_redactor(solver_model))
    door.keep = folder  # type: ignore[attr-defined]  # the folder lives as long as the door
    judge = _judge(plan, judge_model, meter.capped)
    solver_role = RoleModel("solver", solver_model, plan.solver_price, with_output_bound(solver_model.config, meter.capped)[1])
    admission = Admission(meter, door, plan.estimate.judge.per_call)
    return Evaluator(door, solver_role, judge, plan.prompt, admission, lambda event: None,
                     spec.verdict_retries, spec.verdict_parser)


def _judge(plan: Plan, model: Model, capped: bool) -> RoleModel:
    prepare_model(model, _redactor(model))
    model.config, most = with_output_bound(model.config, capped)
    return RoleModel("judge", model, plan.judge_price, most)


def _redactor(model: Model) -> Redactor:
    """Of the secrets of this machine, and of the keys that inspect's own flags gave its models."""
    given = [str(getattr(m.api, "api_key", None) or "") for m in (model, _grader()) if m is not None]
    return Redactor([*given, *machine_secrets(os.environ)])


def _bind(evaluator: Evaluator, plan: Plan) -> Solver:
    """The model that inspect evaluates is known only inside the evaluation; it is taken from there, once."""

    @solver
    def bind_model() -> Solver:
        async def solve(state: Any, generate: Any) -> Any:
            model = get_model()
            if evaluator.solver.model is not model or "bound" not in evaluator.solver.adapted:
                config = evaluator.solver.model.config.merge(model.config)
                model.config = config
                prepare_model(model, _redactor(model))
                evaluator.solver.model = model
                evaluator.solver.adapted.add("bound")
            return state

        return solve

    return bind_model()
