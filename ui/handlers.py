"""What happens on a change of the form: lists, estimate, the sentence beside Run, filters, the start. Knows no layout.

Handlers know components only by name; `ui.wiring` binds them.
"""

import asyncio
import contextlib
from collections.abc import Callable
from html import escape
from typing import Any

import gradio as gr

from pipeline.errors import UserError
from runner.providers.catalogue import provider
from runner.providers.judges import label, stability
from runner.providers.models import ModelList
from ui.estimate_panel import panel, top
from ui.form import context_pair, context_value, values_of
from ui.gated import account_html, source_html
from ui.page import JUDGE, SOLVER, model_choices, task_choices
from ui.query import home_query
from ui.sources import Offer
from ui.start import Room, begin, keys_of, prepare, table
from ui.words.said import translated


class Acts:
    """The handlers, bound to one room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    async def refresh(self, request: gr.Request, *given: Any) -> tuple[Any, ...]:
        """Estimate, sentence, both buttons and the limit, after any change."""
        w = table(request)
        values = values_of(given)
        worked, why = await prepare(self.room, values, w, request)
        off = bool(why)
        cap: Any = gr.skip()
        if values["cap_auto"] and worked is not None:
            cap = "" if worked.cap is None else f"{worked.cap:.10f}".rstrip("0").rstrip(".")
        source = source_html(
            await asyncio.to_thread(self.room.sources.offer, values["source"] or "demo", w, request), w
        )
        return (
            top(worked, w),
            panel(worked, w),
            _why(why or w["why_ready"], off),
            gr.update(interactive=not off),
            gr.update(interactive=not off),
            cap,
            source,
        )

    def models(self, role: str, fresh: bool) -> Callable[..., Any]:
        """Choices of a role's model: the provider's own list where it can be had, else the bundled one."""

        async def choices(provider_id: str, model: str, request: gr.Request) -> Any:
            values = {"solver_provider": provider_id, "judge_provider": provider_id}
            fields = getattr(keys_of(self.room, values, request), role)
            listed: ModelList = await self.room.lists.get(provider_id, fields)
            known = model_choices(provider_id, role)
            ids = (
                known
                if listed.source == "bundled"
                else list(dict.fromkeys([*(known if role == "judge" else []), *listed.ids]))
            )
            if not fresh:
                return gr.update(choices=ids)
            return gr.update(choices=ids, value=ids[0] if ids and (role == "judge" or provider_id == "demo") else None)

        return choices

    def judge_along(self, solver: str, judge: str) -> tuple[Any, Any]:
        """A scripted judge makes no sense of a real model: the judge moves to the same provider's first known one."""
        known = provider(solver).judges
        if judge != "demo" or solver == "demo" or not known:
            return gr.skip(), gr.skip()
        return solver, gr.update(choices=model_choices(solver, "judge"), value=known[0])

    def connected(self, request: gr.Request) -> tuple[Any, ...]:
        """Back from a provider's sign-in: its models are chosen, and its route to the reference judge."""
        found = home_query(request).get("connected")
        if found != "openrouter":
            return (gr.skip(),) * 4
        judges = model_choices(found, "judge")
        return (
            found,
            gr.update(choices=model_choices(found, "solver"), value=None),
            found,
            gr.update(choices=judges, value=judges[0]),
        )

    def note(
        self, solver: str, judge: str, solver_model: str, judge_model: str, prompt: str, request: gr.Request
    ) -> str:
        """What is known of the chosen judge, in one line."""
        if not judge_model or judge == "demo":
            return ""
        name = f"{provider(judge).prefix}/{str(judge_model).strip()}"
        sentence = f"{label(name)[:1].upper()}{label(name)[1:]}. {stability(name, prompt or 'v1')}"
        return f'<div class="l2"><p class="help">{escape(sentence)}</p></div>'

    def source(self, kind: str, request: gr.Request) -> tuple[Any, ...]:
        """Another task set: its sentence, its filters, its size."""
        offer = self.room.sources.offer(kind, table(request), request)
        return (source_html(offer, table(request)), *_filters(offer), _limit(offer))

    def arrive(self, request: gr.Request) -> tuple[Any, ...]:
        """A visitor opens the page: the live tab for a run's link, the filters that a link carries, words of their language."""
        query, w = home_query(request), table(request)
        offer = self.room.sources.offer(query.get("source") or self.room.sources.default(request), w, request)
        choices = task_choices(offer)
        wanted = {name: set(query.getlist(name)) for name in ("competency", "subcompetency")}
        wanted["context"] = _contexts(query.getlist("context"))
        values = [[value for _, value in choices[name] if value in wanted[name]] for name in wanted]
        ids = query.get("task_ids")
        if offer.kind == "demo":  # the page was built with its choices
            source, limit, filters = gr.skip(), gr.skip(), [v if v else gr.skip() for v in values]
        else:
            source, limit = offer.kind, _limit(offer)
            filters = [
                gr.update(choices=choices[name], value=value) for name, value in zip(wanted, values, strict=True)
            ]
        tabs = gr.Tabs(selected="live") if query.get("run") else gr.skip()
        return tabs, *filters, ids or gr.skip(), account_html(request, w), source, limit, source_html(offer, w)

    def back(self, kind: str, request: gr.Request) -> tuple[Any, ...]:
        """Back on the page, perhaps from the terms: the gate is asked again, and the full set taken where it opens."""
        w, sources = table(request), self.room.sources
        opened = sources.default(request) == "hub"
        offer = sources.offer("hub" if opened else kind, w, request)
        changed = [*_filters(offer), offer.kind, _limit(offer)] if opened else [gr.skip()] * 5
        return *changed[:3], account_html(request, w), *changed[3:], source_html(offer, w)

    def preset_demo(self) -> tuple[Any, ...]:
        """Everything back to a run that starts without a key."""
        demo = [gr.update(choices=model_choices("demo", r)) for r in ("solver", "judge")]
        demo[0]["value"], demo[1]["value"] = SOLVER[1], JUDGE[1]
        return "demo", SOLVER[0], demo[0], JUDGE[0], demo[1], [], [], [], gr.skip(), "stratified", True

    def preset_competency(self, kind: str, request: gr.Request) -> tuple[Any, ...]:
        """Every task of one competency, the first of the file."""
        offer = self.room.sources.offer(kind, table(request), request)
        first = task_choices(offer)["competency"][:1]
        return [value for _, value in first], [], [], _size(offer)

    def preset_learners(self, kind: str, request: gr.Request) -> tuple[Any, ...]:
        """Tasks of the most common value of the data's first context variable, to be changed to one's own."""
        offer = self.room.sources.offer(kind, table(request), request)
        context = task_choices(offer)["context"]
        return [], [], [value for _, value in context[:1]], min(20, _size(offer))

    def start(self, pilot: bool) -> Callable[..., Any]:
        """Run or Pilot: everything is worked out again here, whatever the page had shown."""

        async def pressed(request: gr.Request, *given: Any) -> tuple[Any, Any, Any]:
            w, values = table(request), values_of(given)
            try:
                run = await begin(self.room, values, w, request, pilot)
            except UserError as error:
                return "", _why(translated(str(error), w["lang"]), True), gr.skip()
            return run, _why(w["why_ready"], False), gr.Tabs(selected="live")

        return pressed


def _contexts(given: list[str]) -> set[str]:
    """The context variables of a link, KEY=VALUE, as the form's choices are written; what is none is passed over."""
    found = set()
    for text in given:
        with contextlib.suppress(UserError):
            found.add(context_value(*context_pair(text)))
    return found


def _why(sentence: str, off: bool) -> str:
    return f'<div class="l2"><p class="why {"off" if off else "on"}" role="status">{escape(sentence)}</p></div>'


def _size(offer: Offer) -> int:
    return len(offer.tasks.tasks) if offer.tasks else 1


def _filters(offer: Offer) -> list[Any]:
    return [gr.update(choices=choices, value=[]) for choices in task_choices(offer).values()]


def _limit(offer: Offer) -> Any:
    size = _size(offer)
    return gr.update(maximum=max(2, size), value=min(20, size))
