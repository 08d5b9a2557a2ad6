"""The sentences of an estimate: what it rests on, what is unknown, and its lines for the command line.

Prints an unknown price as unknown, never as $0. No arithmetic beyond rounding for the eye.
"""

from typing import TYPE_CHECKING, Any

from pipeline.cost.priors import priors
from pipeline.cost.tokens import ERROR

if TYPE_CHECKING:
    from pipeline.cost.estimate import Estimate, RoleEstimate
    from pipeline.spec import RunSpec


def rests_on(spec: "RunSpec", solver: "RoleEstimate", judge: "RoleEstimate", solver_reasons: bool) -> tuple[str, ...]:
    """What the figures rest on, one sentence each."""
    said = [f"Input tokens: counted by rule for the model's family, ±{ERROR:.0%} for English text."]
    if not (solver.calibrated and judge.calibrated):
        said.append("Some texts are not English or a model's tokenizer is not known: the token count is not calibrated.")
    said.append(_outputs(solver, "answer", priors()["solver_text"]["basis"]))
    if solver_reasons and not solver.seen_calls:
        said.append("The solver is likely to reason in hidden tokens, which are billed and count towards its answer limit.")
    said.append(_outputs(judge, "verdict", priors()["judge_reasoning"]["basis"]))
    said.append("The length of a prompt does not tell the length of an answer; no discount for cached input is assumed.")
    said.append("One judge call for each criterion" + (f" and epoch, {spec.epochs} epochs." if spec.epochs > 1 else "."))
    if spec.verdict_retries:
        said.append(f"High counts {spec.verdict_retries} more judge calls for every criterion, as verdict retries allow.")
    return tuple(said)


def _outputs(role: "RoleEstimate", what: str, basis: str) -> str:
    if role.seen_calls:
        return f"Length of one {what}: from {role.seen_calls} calls of this run, and from the prior."
    return f"Length of one {what}: a prior. {basis}"


def unknowns(solver: "RoleEstimate", judge: "RoleEstimate") -> tuple[str, ...]:
    """What is not known, one sentence each."""
    return tuple(
        f"The price of the {name} {role.model} is unknown: set a cap in calls or tokens instead of money."
        for name, role in (("solver", solver), ("judge", judge)) if not role.price_source
    )


def free_tier_note(solver: "RoleEstimate", judge: "RoleEstimate") -> str:
    """A sentence where calls to OpenRouter's free models pass what a free key may make in a day, else ""."""
    free = [r for r in (solver, judge) if r.model.startswith("openrouter/") and r.model.endswith(":free")]
    calls, limit = sum(round(r.calls.expected) for r in free), priors()["openrouter_free_calls_a_day"]
    if calls <= limit:
        return ""
    return (f"{calls} calls go to free models, against {limit} a day on a free OpenRouter key. "
            "Choose fewer tasks, or the paid version.")


ROOM = {"solver": 512, "judge": 200}
"""Tokens beside the reasoning budget that an answer and a verdict should have at least."""


def cautions(spec: "RunSpec") -> tuple[str, ...]:
    """What will probably spoil the run as it is set, one sentence each: an answer limit that reasoning can use up."""
    found = []
    for role, least in ROOM.items():
        config = getattr(spec, role).config
        most, budget = config.get("max_tokens"), config.get("reasoning_tokens")
        if most and budget and most - budget < least:
            found.append(
                f"The {role}'s reasoning may take {budget:,} of its {most:,} tokens, so that {max(most - budget, 0):,} are left "
                "for its text. Raise the limit, or lower the reasoning budget."
            )
    return tuple(found)


def summary_lines(estimate: "Estimate") -> list[str]:
    """The estimate as lines of plain text for a terminal."""
    e = estimate
    lines = [
        f"Tasks     {e.tasks} of {e.available}, {e.epochs} epoch{'s' if e.epochs > 1 else ''}",
        f"Calls     solver {_number(e.solver.calls.expected)}, judge {_number(e.judge.calls.expected)}"
        + (f" (at most {_number(e.judge.calls.high)} with retries)" if e.judge.calls.high > e.judge.calls.expected else ""),
        f"{'':<10}{'low':>12}{'expected':>14}{'high':>12}",
        *_role_lines("Solver", e.solver), *_role_lines("Judge", e.judge),
        _line("Total", e.total, _money, e.solver.free and e.judge.free),
        _line("Time", e.seconds, _duration) + f"   at {e.connections} connections",
        *_precision(e),
    ]
    for name, role in (("Solver", e.solver), ("Judge", e.judge)):
        lines.append(f"{name} price: {_price(role)}")
    lines += [e.free_note] if e.free_note else []
    return [*lines, *(f"Unknown: {u}" for u in e.unknown), *(f"Rests on: {r}" for r in e.rests_on)]


def _role_lines(name: str, role: "RoleEstimate") -> list[str]:
    return [_line(name, role.cost, _money, role.free), _line("  input", role.input_tokens, _number),
            _line("  output", role.output_tokens, _number)]


def _line(name: str, figures: Any, show: Any, free: bool = False) -> str:
    if figures is None or free:
        word = "unknown" if figures is None else "free"
        return f"{name:<10}{word:>12}{word:>14}{word:>12}"
    return f"{name:<10}{show(figures.low):>12}{show(figures.expected):>14}{show(figures.high):>12}"


def _precision(e: "Estimate") -> list[str]:
    if e.half_width is None:
        return ["Interval  one task: no interval"]
    found = [f"Interval  about ±{100 * e.half_width:.1f} points at {e.tasks} tasks"]
    for points, tasks, cost in ((5, e.tasks_for_5, e.cost_for_5), (3, e.tasks_for_3, e.cost_for_3)):
        if tasks is not None:
            price = "price unknown" if cost is None else f"about {_money(cost)}" if cost else "free"
            beyond = f", more than the {e.available} there are" if tasks > e.available else ""
            found.append(f"          ±{points} points would take {tasks} tasks ({price}{beyond})")
    return found


def _price(role: "RoleEstimate") -> str:
    if not role.price_source:
        return "unknown"
    checked = f", checked {role.price_checked}" if role.price_checked else ""
    if role.free:
        return f"free ({role.price_source}{checked})"
    return f"${role.price_input} in, ${role.price_output} out per million tokens ({role.price_source}{checked})"


def _money(dollars: float) -> str:
    if dollars == 0:
        return "$0.00"
    return f"${dollars:,.2f}" if dollars >= 0.995 else f"${dollars:.4f}" if dollars >= 0.0001 else "<$0.0001"


def _number(count: float) -> str:
    return f"{round(count):,}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
