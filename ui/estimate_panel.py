"""What a run will be, before it starts: the chosen tasks, the estimate, the limit, the differences; and how that is shown.

Numbers come from `pipeline.cost.estimate` and `pipeline.report.comparability`; nothing is computed here but the wording.
An unknown price is shown as unknown, never as $0.
"""

import asyncio
from dataclasses import dataclass
from html import escape
from typing import Any

from pipeline.cost.estimate import Estimate, Figures, RoleEstimate, default_cap, estimate
from pipeline.cost.prices import price_for
from pipeline.data.choose import choose, subset
from pipeline.data.records import TaskSet
from pipeline.events import DataRecord, PromptRecord
from pipeline.judging.templates import OWN_TEMPLATES
from pipeline.report.comparability import cap_differences, differences
from pipeline.spec import RunSpec
from ui.words import say
from ui.words.said import translated

LEVELS = ("low", "expected", "high")
Words = dict[str, str]


@dataclass(frozen=True)
class Worked:
    """A run worked out before its start.

    Attributes:
        cap: the limit in US dollars by the default rule, where that was asked for and a price is known; else None.
        limit: the limit in US dollars that the run gets, or None.
    """

    spec: RunSpec
    estimate: Estimate
    differences: tuple[str, ...]
    cap: float | None
    limit: float | None

    @property
    def billed(self) -> bool:
        """Whether anything of the run can cost money: not where every model runs on this machine."""
        return self.estimate.total is None or default_cap(self.estimate) is not None

    def why_not(self, w: Words) -> str:
        """Why such a run cannot start: it has no limit that holds. "" where it can."""
        if not self.billed:
            return ""
        if self.estimate.total is None:
            counted = self.spec.max_calls is not None or self.spec.max_tokens is not None
            return "" if counted else w["why_no_counts"]
        if self.limit is None:
            return w["why_no_cap"]
        needed = self.estimate.start_cost
        return say(w, "why_cap_small", cap=money(self.limit, w), need=money(needed, w)) if needed and self.limit < needed else ""


async def work_out(spec: RunSpec, tasks: TaskSet, live: dict[str, Any], automatic: bool) -> Worked:
    """Choose and estimate, off the event loop.

    Args:
        live: prices of the providers' own lists, by model id.
        automatic: whether the limit follows from the estimate.

    Raises:
        UserError: no task is left, or a filter is unknown.
    """
    return await asyncio.to_thread(_work_out, spec, tasks, live, automatic)


def _work_out(spec: RunSpec, tasks: TaskSet, live: dict[str, Any], automatic: bool) -> Worked:
    chosen, available = choose(tasks.tasks, spec), len(tasks.tasks)
    found = {
        role: price_for(m.model, live=live or None, base_url=m.base_url)
        for role, m in (("solver", spec.solver), ("judge", spec.judge))
    }
    template = OWN_TEMPLATES[spec.prompt_version] if spec.source == "demo" else None
    made = estimate(chosen, spec, found, template=template, available=len(subset(tasks.tasks, spec)))
    rule = default_cap(made)
    # Four digits, so that a limit of a hundredth of a cent does not become 0.
    cap = float(f"{rule:.4g}") if automatic and rule is not None else None
    limit = cap if automatic else spec.max_cost
    source = tasks.source
    data = DataRecord(
        kind=spec.source, name=source.name, revision=source.revision, gated=source.gated, available=available
    )
    # Which text the judge gets is only known when the run reads it; the demo always takes this project's own.
    prompt = PromptRecord(
        version=spec.prompt_version, source="own" if spec.source == "demo" else "published", digest=""
    )
    said = differences(spec, len(chosen), available, prompt, data)
    capped = spec.model_copy(update={"max_cost": limit})
    return Worked(spec, made, (*said, *cap_differences(capped)), cap, limit)


def top(worked: Worked | None, w: Words) -> str:
    """What a visitor needs before the button, as HTML: cost, tasks, time, precision, and what to watch out for."""
    if worked is None:
        return f'<div class="l2"><p class="help">{escape(w["est_wait"])}</p></div>'
    e = worked.estimate
    notes = [*_cap_note(worked, w), *(translated(n, w["lang"]) for n in (e.free_note, *e.cautions, *e.unknown) if n)]
    warned = "".join(f'<p class="note warn">{escape(text)}</p>' for text in notes)
    return f'<div class="l2 est">{_top(worked, w)}{warned}</div>'


def panel(worked: Worked | None, w: Words) -> str:
    """The estimate in full, as HTML; every value is escaped."""
    if worked is None:
        return ""
    parts = [
        _table(worked.estimate, w),
        _facts(worked, w),
        _list(w["est_differences"], worked.differences, w, w["est_no_differences"]),
        _list(w["est_basis"], worked.estimate.rests_on, w),
    ]
    return f'<div class="l2 est">{"".join(parts)}</div>'


def money(value: float | None, w: Words) -> str:
    """US dollars for the eye; an unknown amount in words."""
    if value is None:
        return w["est_unknown"]
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.995 else f"${value:.4f}" if value >= 0.0001 else "<$0.0001"


def duration(seconds: float, w: Words) -> str:
    """Seconds for the eye."""
    if seconds < 90:
        return say(w, "second_short", n=max(1, round(seconds)))
    return (
        say(w, "minute_short", n=round(seconds / 60))
        if seconds < 5400
        else say(w, "hour_short", n=f"{seconds / 3600:.1f}")
    )


def _top(worked: Worked, w: Words) -> str:
    e = worked.estimate
    free = e.solver.free and e.judge.free
    total = w["est_free"] if free else money(e.total.expected if e.total else None, w)
    spread = f"{money(e.total.low, w)} – {money(e.total.high, w)}" if e.total and not free else ""
    tasks = f"{e.tasks} {w['est_tasks']} {say(w, 'est_of', n=e.available)}"
    width = say(w, "est_half_width_value", w=f"{100 * e.half_width:.1f}") if e.half_width is not None else ""
    said = [spread, tasks, say(w, "est_about", t=duration(e.seconds.expected, w)), width]
    return (
        f'<p class="est-top"><b>{escape(total)}</b> <span class="est-range">'
        f"{escape(' · '.join(part for part in said if part))}</span></p>"
    )


def _table(e: Estimate, w: Words) -> str:
    heads = "".join(
        f'<th scope="col" class="num">{escape(w[key])}</th>' for key in ("est_low", "est_expected", "est_high")
    )
    rows = ""
    for name, role in ((w["est_solver"], e.solver), (w["est_judge"], e.judge)):
        rows += _row(name, role.cost, lambda v: money(v, w), w)
        rows += _row(w["est_calls"], role.calls, lambda v: f"{round(v):,}", w, "sub")
        rows += _row(w["est_tokens_in"], role.input_tokens, lambda v: f"{round(v):,}", w, "sub")
        rows += _row(w["est_tokens_out"], role.output_tokens, lambda v: f"{round(v):,}", w, "sub")
    rows += _row(w["est_total"], e.total, lambda v: money(v, w), w, "total")
    return (
        f'<div class="table-wrap"><table><caption class="sr">{escape(w["section_estimate"])}</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(name: str, figures: Figures | None, show: Any, w: Words, kind: str = "role") -> str:
    cells = "".join(
        f'<td class="num">{escape(show(getattr(figures, level)) if figures else w["est_unknown"])}</td>'
        for level in LEVELS
    )
    return f'<tr class="{kind}"><th scope="row">{escape(name)}</th>{cells}</tr>'


def _facts(worked: Worked, w: Words) -> str:
    e = worked.estimate
    rows = [
        (w["spend_cap"], money(worked.limit, w) if worked.limit is not None else w["spend_none"]),
        (w["est_time"], say(w, "est_time_value", t=duration(e.seconds.expected, w), n=e.connections)),
    ]
    rows += [
        (f"{w['est_price']}: {name}", _price(role, w))
        for name, role in ((w["est_solver"], e.solver), (w["est_judge"], e.judge))
    ]
    if e.half_width is not None:
        width = say(w, "est_half_width_value", w=f"{100 * e.half_width:.1f}")
        rows.append((say(w, "est_half_width", n=e.tasks), width))
    for points, needed, cost in ((5, e.tasks_for_5, e.cost_for_5), (3, e.tasks_for_3, e.cost_for_3)):
        rows.append((say(w, "est_precision", w=points), _precision(needed, cost, e, w)))
    return (
        '<dl class="facts">'
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
        + "</dl>"
    )


def _precision(needed: int | None, cost: float | None, e: Estimate, w: Words) -> str:
    if needed is None:
        return w["est_unknown"]
    text = say(
        w,
        "est_precision_value",
        n=f"{needed:,}",
        cost=w["est_free"] if e.solver.free and e.judge.free else money(cost, w),
    )
    return f"{text} ({say(w, 'est_precision_out', n=e.available)})" if needed > e.available else text


def _price(role: RoleEstimate, w: Words) -> str:
    if not role.price_source:
        return w["est_unknown"]
    where = (
        say(w, "est_price_from", source=role.price_source, date=role.price_checked)
        if role.price_checked
        else role.price_source
    )
    if role.free:
        return f"{w['est_free']} · {where}"
    return f"{say(w, 'est_price_per', input=role.price_input, output=role.price_output)} · {where}"


def _cap_note(worked: Worked, w: Words) -> list[str]:
    total = worked.estimate.total
    if total is None or worked.limit is None or worked.limit >= total.expected:
        return []
    return [say(w, "est_cap_low", cap=money(worked.limit, w), cost=money(total.expected, w))]


def _list(title: str, items: tuple[str, ...], w: Words, empty: str = "") -> str:
    if not items:
        return f'<p class="help">{escape(empty)}</p>' if empty else ""
    rows = "".join(f"<li>{escape(translated(text, w['lang']))}</li>" for text in items)
    return f"<details><summary>{escape(title)} ({len(items)})</summary><ul>{rows}</ul></details>"
