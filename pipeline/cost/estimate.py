"""What a run will cost before it starts: calls, tokens, money and time as low, expected and high, by role. Pure.

An unknown price stays unknown: money is then None, never 0. Says what each figure rests on.
"""

from collections.abc import Mapping, Sequence
from math import ceil

from pydantic import BaseModel, ConfigDict

from pipeline.cost import priors
from pipeline.cost.bounds import most_output, upper_bound
from pipeline.cost.estimate_words import cautions, free_tier_note, rests_on, unknowns
from pipeline.cost.estimate_words import summary_lines as estimate_summary_lines
from pipeline.cost.prices import Price, worst_cost
from pipeline.cost.priors import Range
from pipeline.cost.seen import RoleSeen, Seen, seen_from_view
from pipeline.cost.token_table import Count, TokenTable, token_table
from pipeline.cost.tokens import ERROR, FAMILIES, UNCALIBRATED, factor, family, pieces
from pipeline.data.records import Task
from pipeline.report import stats
from pipeline.spec import ModelSpec, RunSpec

__all__ = ["Estimate", "Figures", "RoleEstimate", "Seen", "default_cap", "estimate", "estimate_summary_lines", "seen_from_view"]

DEFAULT_CAP, CAP_MARGIN = 1.0, 1.25
RETRY_TOKENS = 80
"""Tokens that asking again for a verdict adds to a prompt, about."""
PRIOR_WEIGHT = 2.0
"""The prior counts as much as this many calls beside what was seen."""
SPREAD = 0.6
"""Standard deviation of one call over its mean, where only means were seen."""


class Figures(BaseModel):
    """Low, expected and high of one figure."""

    model_config = ConfigDict(frozen=True)
    low: float
    expected: float
    high: float


class RoleEstimate(BaseModel):
    """Solver or judge.

    Attributes:
        calls: requests; high counts every verdict retry that is allowed.
        cost: US dollars, or None where the price is unknown. `free` says that the source calls the route free.
        price_input, price_output: US dollars per million tokens, as decimal text; "" where unknown.
        price_checked: ISO date, "" where unknown.
        calibrated: whether the token estimate's stated error holds for these texts and this model's family.
    """

    model_config = ConfigDict(frozen=True)
    model: str
    family: str
    calls: Figures
    input_tokens: Figures
    output_tokens: Figures
    cost: Figures | None
    seconds_per_call: Figures
    free: bool = False
    price_input: str = ""
    price_output: str = ""
    price_source: str = ""
    price_checked: str = ""
    price_url: str = ""
    calibrated: bool = True
    seen_calls: int = 0

    @property
    def per_call(self) -> tuple[float, int]:
        """US dollars (0 where the price is unknown) and tokens of one call, expected."""
        calls = max(self.calls.expected, 1.0)
        cost = self.cost.expected if self.cost is not None else 0.0
        return cost / calls, round((self.input_tokens.expected + self.output_tokens.expected) / calls)


class Estimate(BaseModel):
    """A run's estimate; `model_dump(mode="json")` goes into its events.

    Attributes:
        total: US dollars over both roles, or None where one price is unknown.
        seconds: wall clock at `connections` calls at the same time.
        half_width: half of the 95 % interval to be expected of the mean at this cap, on the 0-to-1 scale; None for one task.
        tasks_for_5, tasks_for_3: tasks after which the interval is ±5 or ±3 points; None where no number will do.
        cost_for_5, cost_for_3: US dollars for that many tasks, expected; None where a price is unknown.
        free_note: where a free tier's daily limit is less than the calls of this run, else "".
        rests_on: what the figures rest on, one sentence each. `unknown`: what is not known, one sentence each.
        cautions: what will probably spoil the run as it is set, one sentence each.
        seen_tasks: tasks that had ended when the estimate was refined; 0 for the first estimate.
        start_cost, start_calls: what must be free under a cap for the first task to start: its answer at the worst, its
            verdicts as expected; US dollars, None where a price is unknown.
    """

    model_config = ConfigDict(frozen=True)
    tasks: int
    available: int
    epochs: int
    connections: int
    solver: RoleEstimate
    judge: RoleEstimate
    total: Figures | None
    total_calls: Figures
    total_tokens: Figures
    seconds: Figures
    half_width: float | None
    tasks_for_5: int | None
    cost_for_5: float | None
    tasks_for_3: int | None
    cost_for_3: float | None
    free_note: str = ""
    rests_on: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    seen_tasks: int = 0
    start_cost: float | None = None
    start_calls: int = 0


def estimate(
    tasks: Sequence[Task], spec: RunSpec, prices: Mapping[str, Price | None], seen: Seen | None = None,
    template: str | None = None, available: int | None = None, connections: int | None = None,
) -> Estimate:
    """Estimate a run over the chosen tasks.

    Args:
        prices: price by role ("solver", "judge"), None where unknown.
        seen: what the run has shown so far; refines the priors.
        template: text of the judge's prompt; a usual length by version where None.
        available: tasks of the whole set, for the interval; the chosen ones where None.
        connections: calls at the same time; the spec's where None.
    """
    seen, table = seen or Seen(), token_table(tasks)
    answer = priors.answer_text(spec.solver.model, table.reference * FAMILIES["openai"])
    solver = _solver(table, spec, prices.get("solver"), seen.solver, answer)
    judge = _judge(table, spec, prices.get("judge"), seen, _visible(answer, spec.solver, seen.solver), template)
    parallel = connections or spec.max_connections
    population = max(available or 0, len(tasks))
    need5, need3 = _tasks_needed(0.05, population), _tasks_needed(0.03, population)
    total = None if solver.cost is None or judge.cost is None else _sum(solver.cost, judge.cost)
    return Estimate(
        tasks=len(tasks), available=population, epochs=spec.epochs, connections=parallel, solver=solver, judge=judge,
        total=total, total_calls=_sum(solver.calls, judge.calls),
        total_tokens=_sum(_sum(solver.input_tokens, solver.output_tokens), _sum(judge.input_tokens, judge.output_tokens)),
        seconds=_wall_clock(solver, judge, parallel), half_width=stats.expected_half_width(len(tasks), population=population),
        tasks_for_5=need5, cost_for_5=_cost_for(need5, total, len(tasks)),
        tasks_for_3=need3, cost_for_3=_cost_for(need3, total, len(tasks)),
        free_note=free_tier_note(solver, judge), seen_tasks=seen.tasks,
        rests_on=rests_on(spec, solver, judge, priors.reasons(spec.solver)), unknown=unknowns(solver, judge),
        cautions=cautions(spec),
        start_cost=_start_cost(tasks[0], spec, prices.get("solver"), judge) if tasks else None,
        start_calls=1 + len(tasks[0].criteria) if tasks else 0,
    )


def _start_cost(task: Task, spec: RunSpec, price: Price | None, judge: RoleEstimate) -> float | None:
    if price is None or judge.cost is None:
        return None
    config = spec.solver.config
    most = most_output(config.get("max_tokens"), config.get("reasoning_tokens"))
    return worst_cost(upper_bound([task.system_prompt, task.user_message]), most, price) + len(task.criteria) * judge.per_call[0]


def default_cap(estimate: Estimate) -> float | None:
    """The cap that the form begins with, in US dollars: $1 or the expected figure times 1.25, whichever is less.

    None where the price is unknown, and where all models run on this machine, so that nothing can be billed.
    """
    if estimate.total is None or all(_here(r.model) for r in (estimate.solver, estimate.judge)):
        return None
    return min(DEFAULT_CAP, estimate.total.expected * CAP_MARGIN)


def _here(model: str) -> bool:
    return priors.scripted(model) or model.startswith(("local/", "openai-api/local/"))


def _solver(table: TokenTable, spec: RunSpec, price: Price | None, seen: RoleSeen | None, answer: Range) -> RoleEstimate:
    m = spec.solver
    calls = Range(*[float(table.tasks * spec.epochs)] * 3)
    per_call = 1 / max(table.tasks, 1)
    prompt = _tokens(table.solver.times(per_call), m.model).plus(2.0 * priors.priors()["message_overhead"])
    output = priors.in_family(answer, m.model).plus(priors.answer_reasoning(m))
    longest = table.longest_solver * factor(m.model)
    return _role(m, calls, prompt, priors.capped_output(output, m), price, seen, longest, _calibrated(table.solver, m.model))


def _judge(
    table: TokenTable, spec: RunSpec, price: Price | None, seen: Seen, answer: Range, template: str | None
) -> RoleEstimate:
    m, version = spec.judge, spec.prompt_version
    planned = float(table.judge_calls * spec.epochs)
    calls = Range(planned, planned, planned * (1 + spec.verdict_retries))
    with_reference = "{reference_answer}" in template if template is not None else version in ("v1", "v2")
    text = table.judged + table.criteria + (table.references if with_reference else Count())
    frame = _template_tokens(template, spec)
    prompt = _tokens(text.times(1 / max(table.judge_calls, 1)), m.model)
    prompt = prompt.plus(frame.plus(priors.in_family(answer, m.model))).plus(float(priors.priors()["message_overhead"]))
    if spec.verdict_retries:
        prompt = prompt.plus(Range(0, 0, RETRY_TOKENS))
    longest = table.longest_judged * factor(m.model) + frame.high + answer.high
    output = priors.verdict_output(m, version != "v1")
    return _role(m, calls, prompt, output, price, seen.judge, longest, _calibrated(text, m.model))


def _template_tokens(template: str | None, spec: RunSpec) -> Range:
    if template is None:
        number = float(priors.priors()["template_tokens"][spec.prompt_version])
        return priors.in_family(Range(number, number, number), spec.judge.model)
    return _tokens(Count(pieces(template).number), spec.judge.model)


def _visible(answer: Range, solver: ModelSpec, seen: RoleSeen | None) -> Range:
    """Answer tokens that the judge reads, OpenAI-like: without hidden reasoning, within the answer limit."""
    limit = solver.config.get("max_tokens")
    if limit:
        answer = answer.map(lambda n: min(n, float(limit)))
    if seen is None or priors.reasons(solver):
        return answer
    own = FAMILIES["openai"] / factor(solver.model)
    return _refined(answer, seen.output_mean * own, None if seen.output_std is None else seen.output_std * own, seen.n)


def _tokens(count: Count, model: str) -> Range:
    """Pieces as tokens, with the stated error for English, a doubled one for a family we do not know, and more beyond."""
    error = ERROR if family(model) != "unknown" else 2 * ERROR
    english, foreign = (count.all - count.foreign) * factor(model), count.foreign * factor(model)
    return Range(english / (1 + error) + foreign * UNCALIBRATED[0], english + foreign,
                 english / (1 - error) + foreign * UNCALIBRATED[1])


def _calibrated(count: Count, model: str) -> bool:
    return family(model) != "unknown" and count.foreign <= 0.1 * count.all


def _refined(prior: Range, mean: float, std: float | None, n: int) -> Range:
    """The prior moved to the mean seen, more with every call, and narrowed to what so many calls tell."""
    weight = n / (n + PRIOR_WEIGHT)
    expected = weight * mean + (1 - weight) * prior.expected
    margin = max(2.0 * (std if std is not None else SPREAD * mean) / n**0.5, 0.05 * expected)
    low = weight * (expected - margin) + (1 - weight) * min(prior.low, expected)
    return Range(max(low, 0.0), expected, weight * (expected + margin) + (1 - weight) * max(prior.high, expected))


def _role(
    m: ModelSpec, calls: Range, prompt: Range, output: Range, price: Price | None, seen: RoleSeen | None,
    longest: float, calibrated: bool,
) -> RoleEstimate:
    seconds = priors.call_seconds(m, output)
    if seen is not None and seen.n:
        prompt = _refined(prompt, seen.input_mean, seen.input_std, seen.n)
        output = _refined(output, seen.output_mean, seen.output_std, seen.n)
        if seen.seconds_mean is not None:
            seconds = _refined(seconds, seen.seconds_mean, seen.seconds_std, seen.n)
    found = _money(prompt, output, price, longest, seen)
    base = price.base if price is not None else None
    return RoleEstimate(
        model=m.model, family=family(m.model), calls=_figures(calls), input_tokens=_whole(prompt.times(calls)),
        output_tokens=_whole(output.times(calls)), cost=None if found is None else _figures(found.times(calls)),
        seconds_per_call=_figures(seconds), free=bool(price and price.free),
        price_input=_plain(base.input) if base else "", price_output=_plain(base.output) if base else "",
        price_source=price.source if price else "", price_checked=price.checked if price else "",
        price_url=price.source_url if price else "", calibrated=calibrated, seen_calls=seen.n if seen else 0,
    )


def _money(prompt: Range, output: Range, price: Price | None, longest: float, seen: RoleSeen | None) -> Range | None:
    """US dollars a call: by price and tokens, moved to what calls were charged. High is at the dearest hour and length."""
    by_price = None
    if price is not None:
        top = price.dearest or price
        levels = zip((price, price, top), prompt, output, (prompt.low, prompt.expected, max(longest, prompt.high)), strict=True)
        by_price = Range(*[_call_cost(p, tokens_in, tokens_out, length) for p, tokens_in, tokens_out, length in levels])
    if seen is None or seen.cost_mean is None or not seen.n:
        return by_price
    if by_price is None:
        return _refined(Range(seen.cost_mean, seen.cost_mean, seen.cost_mean), seen.cost_mean, seen.cost_std, seen.n)
    return _refined(by_price, seen.cost_mean, seen.cost_std, seen.n)


def _call_cost(price: Price, tokens_in: float, tokens_out: float, length: float) -> float:
    rates = price.rates(int(length))
    return (tokens_in * float(rates.input) + tokens_out * float(rates.output)) / 1e6 + float(price.per_request)


def _wall_clock(solver: RoleEstimate, judge: RoleEstimate, connections: int) -> Figures:
    """Seconds with every connection busy, and never less than one answer and one verdict after another."""
    def at(level: str) -> float:
        s, j = (getattr(r.seconds_per_call, level) for r in (solver, judge))
        work = s * getattr(solver.calls, level) + j * getattr(judge.calls, level)
        return max(work / max(connections, 1), s + j) if solver.calls.expected else 0.0

    return Figures(low=round(at("low"), 1), expected=round(at("expected"), 1), high=round(at("high"), 1))


def _tasks_needed(half_width: float, population: int) -> int | None:
    return stats.tasks_needed(half_width, population=population) or stats.tasks_needed(half_width)


def _cost_for(needed: int | None, total: Figures | None, tasks: int) -> float | None:
    return None if needed is None or total is None or not tasks else total.expected / tasks * needed


def _figures(r: Range) -> Figures:
    return Figures(low=r.low, expected=r.expected, high=r.high)


def _whole(r: Range) -> Figures:
    return Figures(low=int(r.low), expected=round(r.expected), high=ceil(r.high))


def _sum(a: Figures, b: Figures) -> Figures:
    return Figures(low=a.low + b.low, expected=a.expected + b.expected, high=a.high + b.high)


def _plain(number: object) -> str:
    return f"{float(str(number)):.6f}".rstrip("0").rstrip(".")
