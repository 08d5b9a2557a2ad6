"""What stands on top of a result page, as plain values: model, both means, differences, subset, judge, spend.

Computes no statistic; a value that is unknown stays None and is printed as unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.report.figures import Mean, Summary
from pipeline.report.view import RunView
from ui.results.charts import note
from ui.results.frame import day, interval_text, money, percent
from ui.words.said import translated

T = Callable[..., str]


@dataclass(frozen=True)
class Score:
    """One mean as text: value, its interval or why there is none, and the tasks under it."""

    value: str
    interval: str
    why: str
    count: str


@dataclass(frozen=True)
class Head:
    """The top of the page. `facts` are pairs of a name and its text."""

    model: str
    scored: Score
    attempted: Score
    clipped: str
    differences: tuple[str, ...]
    facts: list[tuple[str, str]]
    share_text: str
    scripted: bool


def head(view: RunView, summary: Summary, t: T) -> Head:
    """Everything above the charts."""
    scored = _score(summary.scored, _over("scored", summary.scored_count, summary, t) + _cut_short(summary, t), t)
    attempted = _score(summary.attempted, _over("attempted", summary.attempted_count, summary, t), t)
    clipped = (
        t("result.clipped", value=percent(summary.clipped.value), interval=interval_text(summary.clipped.interval))
        if summary.clipped
        else ""
    )
    if summary.reweighted:
        r = summary.reweighted
        clipped += " " + t("result.reweighted", value=percent(r.value), interval=interval_text(r.interval))
    share = f"{scored.value} ({scored.interval or scored.why}), {scored.count}"
    return Head(
        summary.solver,
        scored,
        attempted,
        clipped.strip(),
        tuple(translated(d, t("lang")) for d in summary.differences),
        facts(view, summary, t),
        share,
        any(m.startswith("demo/") for m in (summary.solver, summary.judge)),
    )


def _over(which: str, n: int, summary: Summary, t: T) -> str:
    if summary.planned > summary.tasks:
        return t(f"result.over_{which}", n=t("result.task_runs", n=n, tasks=summary.tasks))
    return t(f"result.over_{which}" + ("_one" if n == 1 else ""), n=n)


def _cut_short(summary: Summary, t: T) -> str:
    """How far a run came that ended early: it stands beside the score wherever the score is shown."""
    if not summary.cut_short:
        return ""
    return " · " + t("cut_short", done=summary.ended, planned=summary.planned, status=t(f"status_{summary.status}"))


def _score(mean: Mean, count: str, t: T) -> Score:
    if mean.value is None:
        return Score(t("live_no_score"), "", "", count)
    return Score(percent(mean.value), interval_text(mean.interval), note(mean.note, t), count)


def facts(view: RunView, summary: Summary, t: T) -> list[tuple[str, str]]:
    """Subset, judge, date, spend, cost per task; and epochs, retries and cut answers where there were any."""
    spend = summary.spend
    found = [
        (t("result.fact.subset"), subset(view, t)),
        (t("result.fact.judge"), judge(view, summary, t)),
        (t("result.fact.date"), f"{day(view.started)} UTC"),
        (t("result.fact.spend"), spent(summary, t)),
        (t("result.cost_per_task"), money(spend.cost_per_task) if spend.cost_per_task is not None else t("est_unknown")),
    ]
    if view.epochs > 1:
        found.append((t("set_epochs"), _epochs(summary, t)))
    if summary.cut:
        found.append((t("result.fact.cut"), t("result.fact.cut_value", n=summary.cut, of=summary.scored_count)))
    if summary.lenient_only:
        found.append((t("result.fact.lenient"), str(summary.lenient_only)))
    found.append(
        (t("result.fact.retries"), t("result.fact.retries_value", api=summary.api_retries, verdict=summary.verdict_retries))
    )
    return found


def _epochs(summary: Summary, t: T) -> str:
    each = ", ".join(f"{e.epoch}: {percent(e.mean)} (n {e.scored})" for e in summary.epochs)
    return each + (f"; {t('result.spread')} {percent(summary.epoch_spread)}" if summary.epoch_spread is not None else "")


def subset(view: RunView, t: T) -> str:
    """Which tasks, in one line: how many of how many, how chosen, and every filter."""
    spec, data = view.spec, view.data
    name = translated(data.name, t("lang")) if data else str(spec.get("source", ""))
    parts = [t("result.subset", n=len(view.tasks), of=data.available if data and data.available else "?", name=name)]
    parts += [", ".join(map(str, spec.get(k) or ())) for k in ("competency", "subcompetency")]
    parts.append(", ".join(f"{k} = {v}" for k, v in spec.get("context") or ()))
    parts.append(t("result.subset_ids") if spec.get("task_ids") else "")
    if spec.get("sample_limit"):
        parts.append(t("result.sampled", seed=spec.get("seed", 0)) if spec.get("sampling") == "stratified" else t("sampling_first"))
    return "; ".join(p for p in parts if p)


def judge(view: RunView, summary: Summary, t: T) -> str:
    """The judge, its prompt and whose text that is."""
    prompt = view.prompt
    text = t("result.prompt", version=summary.prompt or view.spec.get("prompt_version", "")) if summary.prompt else ""
    if prompt:
        text += " " + t(f"result.prompt_{prompt.source}")
    return f"{summary.judge}; {text}" if text else summary.judge


def spent(summary: Summary, t: T) -> str:
    """Money over both roles, or that the price is unknown; never $0 for an unknown price."""
    s = summary.spend
    if s.cost is None:
        return t("spend_unpriced") + "; " + t("spend_calls", n=s.calls)
    total = t("spend_free") if s.cost == 0 and s.calls else money(s.cost)
    text = (
        f"{total} ({t('est_solver')} {money(s.solver_cost)}, {t('est_judge')} {money(s.judge_cost)}); {t('spend_calls', n=s.calls)}"
    )
    return text + (f"; {t('spend_unknown', n=s.unknown_calls)}" if s.unknown_calls else "")
