"""What happens on a change of the form: lists, estimate, the sentence beside Run, the start. Knows no layout.

Handlers know components only by name. A key is read from the vault for the length of one call and put nowhere.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from pipeline.errors import UserError
from pipeline.spec import RunSpec
from runner.local_model import LOCAL
from runner.providers.catalogue import provider
from runner.providers.judges import label, stability
from runner.providers.models import ModelList, ModelLists
from runner.providers.names import split_model_name
from runner.providers.probe import Probe, probe
from runner.service import RunService
from ui import visitor
from ui.estimate_panel import Worked, panel, work_out
from ui.form import Keys, credentials_of, spec_of, values_of, why_not
from ui.gated import account_html, source_html
from ui.keys import KeyRing
from ui.page import JUDGE, SOLVER, Parts, model_choices, task_choices
from ui.run_routes import held_fields
from ui.sources import Offer, Sources
from ui.words import pick_language, words

log = logging.getLogger(__name__)
PILOT_TASKS = 5


@dataclass
class Room:
    """What the handlers need."""

    service: RunService
    ring: KeyRing
    lists: ModelLists
    sources: Sources


def table(request: gr.Request) -> dict[str, str]:
    """The words for this visitor."""
    real: Any = request
    query = dict(getattr(real, "query_params", None) or {})
    headers = getattr(real, "headers", None) or {}
    return words(pick_language(headers.get("accept-language"), query.get("lang")))


def keys_of(room: Room, values: dict[str, Any], request: gr.Request) -> Keys:
    """The fields held by this session for the form's two providers."""
    session, token = visitor.session_of(visitor.cookies_of(request)), visitor.hf_token(request)
    found = {role: held_fields(room.ring, session, role, str(values[f"{role}_provider"]), token) for role in ("solver", "judge")}
    return Keys(found["solver"], found["judge"])


async def live_prices(room: Room, values: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """Prices from the providers' own lists, by the model's id; empty where the lists give none."""
    found: dict[str, Any] = {}
    for role, fields in (("solver", keys.solver), ("judge", keys.judge)):
        provider_id, model = str(values[f"{role}_provider"]), str(values[f"{role}_model"] or "").strip()
        if provider(provider_id).listing is None or not model or fields is None:
            continue
        info = (await room.lists.get(provider_id, fields)).find(model)
        if info and info.pricing:
            found[info.id] = {"id": info.id, "pricing": dict(info.pricing), "context_length": info.context}
    return found


def connect(demo: gr.Blocks, parts: Parts, room: Room) -> None:
    """Wire the components to their handlers."""
    f, o = parts.field, parts.other
    acts = Acts(room)
    shown = [o["estimate"], o["why"], o["run"], o["pilot"], f["max_cost"], o["source_why"]]
    quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    with demo:
        changes = [c.change for name, c in f.items() if name not in ("max_cost", "cap_auto")]
        gr.on([*changes, f["max_cost"].input, f["cap_auto"].input, o["keys"].submit, demo.load], acts.refresh, parts.inputs, shown,
              trigger_mode="always_last", **quick)
        f["max_cost"].input(lambda: False, None, f["cap_auto"], **quick)
        for role in ("solver", "judge"):
            models = [f[f"{role}_provider"], f[f"{role}_model"]]
            f[f"{role}_provider"].input(acts.models(role, fresh=True), models, models[1], **quick)
            o["keys"].submit(acts.models(role, fresh=False), models, models[1], **quick)
        judge = [f["judge_provider"], f["judge_model"]]
        f["solver_provider"].input(acts.judge_along, [f["solver_provider"], judge[0]], judge, **quick)
        roles = [f["solver_provider"], f["judge_provider"], f["solver_model"], f["judge_model"]]
        gr.on([c.change for c in roles] + [demo.load], acts.note, [*roles, f["prompt_version"]], o["model_note"], **quick)
        gr.on([c.change for c in roles] + [demo.load], None, roles, None, js=ROLES_JS, **quick)
        filters = [f[n] for n in ("competency", "subcompetency", "context", "sample_limit")]
        f["source"].input(acts.source, f["source"], [o["source_why"], *filters], **quick)
        tail = [o["account"], f["source"], f["sample_limit"], o["source_why"]]
        demo.load(acts.arrive, None, [o["tabs"], *filters[:3], f["task_ids"], *tail], **quick)
        o["back"].click(acts.back, f["source"], [*filters[:3], *tail], **quick)
        demo.load(acts.connected, None, [f[n] for n in ("solver_provider", "solver_model", "judge_provider", "judge_model")], **quick)
        _presets(parts, acts, quick)
        for name in ("run", "pilot"):
            begun = o[name].click(acts.start(pilot=name == "pilot"), parts.inputs, [o["started"], o["why"], o["tabs"]],
                                  api_visibility="private", show_progress="hidden", concurrency_limit=20)
            begun.then(None, o["started"], None, js=OPEN_JS, **quick)
        o["mine"].select(None, None, None, js="() => { document.querySelector('[data-mine]')?.dispatchEvent(new Event('l2-show')); }", **quick)


ROLES_JS = "(s, j, sm, jm) => { window.l2roles = [s, j, {solver: sm, judge: jm}]; window.l2keys?.show(...window.l2roles); }"
OPEN_JS = "(id) => { if (id) window.l2open?.(id); }"


def _presets(parts: Parts, acts: "Acts", quick: dict[str, Any]) -> None:
    f, o = parts.field, parts.other
    demo_out = [f[n] for n in ("source", "solver_provider", "solver_model", "judge_provider", "judge_model", "competency", "subcompetency",
                               "context", "sample_limit", "sampling", "cap_auto")]
    o["preset_demo"].click(acts.preset_demo, None, demo_out, **quick)
    some = [f[n] for n in ("competency", "subcompetency", "context", "sample_limit")]
    o["preset_competency"].click(acts.preset_competency, f["source"], some, **quick)
    o["preset_learners"].click(acts.preset_learners, f["source"], some, **quick)


class Acts:
    """The handlers, bound to one room."""

    def __init__(self, room: Room) -> None:
        self.room = room

    async def refresh(self, request: gr.Request, *given: Any) -> tuple[Any, ...]:
        """Estimate, sentence, both buttons and the limit, after any change."""
        w = table(request)
        values = values_of(given)
        worked, why = await self._work_out(values, w, request)
        off = bool(why)
        cap: Any = gr.skip()
        if values["cap_auto"] and worked is not None:
            cap = "" if worked.cap is None else f"{worked.cap:.4f}".rstrip("0").rstrip(".")
        source = source_html(await asyncio.to_thread(self.room.sources.offer, values["source"] or "demo", w, request), w)
        return panel(worked, w), _why(why or w["why_ready"], off), gr.update(interactive=not off), gr.update(interactive=not off), cap, source

    async def _work_out(self, values: dict[str, Any], w: dict[str, str], request: gr.Request) -> tuple[Worked | None, str]:
        """What the run would be, and why it cannot start ("" where it can)."""
        offer = await asyncio.to_thread(self.room.sources.offer, values["source"] or "demo", w, request)
        if offer.tasks is None:
            return None, offer.why
        values = {**values, "source": offer.kind}
        keys = keys_of(self.room, values, request)
        why = why_not(values, keys, w)
        try:
            spec = spec_of(values, keys, offer.repo)
            worked = await work_out(spec, offer.tasks, await live_prices(self.room, values, keys), bool(values["cap_auto"]))
        except UserError as error:
            return None, why or str(error)
        except ValueError as error:
            return None, why or _pydantic(error)
        return worked, why or worked.why_not(w)

    def models(self, role: str, fresh: bool) -> Callable[..., Any]:
        """Choices of a role's model: the provider's own list where it can be had, else the bundled one."""

        async def choices(provider_id: str, model: str, request: gr.Request) -> Any:
            values = {"solver_provider": provider_id, "judge_provider": provider_id}
            fields = getattr(keys_of(self.room, values, request), role)
            listed: ModelList = await self.room.lists.get(provider_id, fields)
            known = model_choices(provider_id, role)
            ids = known if listed.source == "bundled" else list(dict.fromkeys([*(known if role == "judge" else []), *listed.ids]))
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
        found = request.query_params.get("connected", "")
        if found != "openrouter":
            return (gr.skip(),) * 4
        judges = model_choices(found, "judge")
        return (found, gr.update(choices=model_choices(found, "solver"), value=None), found, gr.update(choices=judges, value=judges[0]))

    def note(self, solver: str, judge: str, solver_model: str, judge_model: str, prompt: str, request: gr.Request) -> str:
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
        query, w = request.query_params, table(request)
        offer = self.room.sources.offer(query.get("source") or self.room.sources.default(request), w, request)
        choices = task_choices(offer)
        wanted = {name: [v for v in query.getlist(name)] if hasattr(query, "getlist") else [] for name in ("competency", "subcompetency", "context")}
        values = [[value for text, value in choices[name] if _wanted(name, value, wanted[name])] for name in wanted]
        ids = query.get("task_ids", "")
        if offer.kind == "demo":  # the page was built with its choices
            source, limit, filters = gr.skip(), gr.skip(), [v if v else gr.skip() for v in values]
        else:
            source, limit = offer.kind, _limit(offer)
            filters = [gr.update(choices=choices[name], value=value) for name, value in zip(wanted, values, strict=True)]
        tabs = gr.Tabs(selected="live") if query.get("run") else gr.skip()
        return tabs, *filters, ids or gr.skip(), account_html(request, w), source, limit, source_html(offer, w)

    def back(self, kind: str, request: gr.Request) -> tuple[Any, ...]:
        """The visitor is back on the page, perhaps from the terms: the gate is asked again, and the full set taken where it opens."""
        w, sources = table(request), self.room.sources
        opened = sources.default(request) == "hub"
        offer = sources.offer("hub" if opened else kind, w, request)
        changed = [*_filters(offer), offer.kind, _limit(offer)] if opened else [gr.skip()] * 5
        return *changed[:3], account_html(request, w), *changed[3:], source_html(offer, w)

    def preset_demo(self) -> tuple[Any, ...]:
        """Everything back to a run that starts without a key."""
        demo = [gr.update(choices=model_choices("demo", r)) for r in ("solver", "judge")]
        demo[0]["value"], demo[1]["value"] = SOLVER[1], JUDGE[1]
        return "demo", SOLVER[0], demo[0], JUDGE[0], demo[1], [], [], [], 20, "stratified", True

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

        async def begin(request: gr.Request, *given: Any) -> tuple[Any, Any, Any]:
            w, values = table(request), values_of(given)
            try:
                run = await self._begin(values, w, request, pilot)
            except UserError as error:
                return "", _why(str(error), True), gr.skip()
            return run, _why(w["why_ready"], False), gr.Tabs(selected="live")

        return begin

    async def _begin(self, values: dict[str, Any], w: dict[str, str], request: gr.Request, pilot: bool) -> str:
        if "local" in (values["solver_provider"], values["judge_provider"]):
            await asyncio.to_thread(LOCAL.start)  # its address is part of what the run is
        worked, why = await self._work_out(values, w, request)
        if why or worked is None:
            raise UserError(why or w["why_not_here"])
        offer = await asyncio.to_thread(self.room.sources.offer, values["source"] or "demo", w, request)
        keys = keys_of(self.room, values, request)
        if offer.tasks is None:
            raise UserError(offer.why)
        data = offer.tasks.source  # the run reads the very commit that was shown here
        spec = worked.spec.model_copy(update={"pilot": pilot, "revision": data.revision, "data_digest": data.digest, "max_cost": worked.limit})
        spec = await self._probed(spec, keys)
        credentials = credentials_of(values, keys, visitor.hf_token(request) if spec.source == "hub" else None)
        return await self.room.service.start(spec, credentials, offer.places, visitor.owner(request), worked.public,
                                             await live_prices(self.room, values, keys) or None)

    async def _probed(self, spec: RunSpec, keys: Keys) -> RunSpec:
        """The spec without the settings that a model refuses; each one left out becomes a listed difference.

        Raises:
            UserError: a model that would fail every call.
        """
        for role, fields in (("solver", keys.solver), ("judge", keys.judge)):
            part = getattr(spec, role)
            provider_id, model = split_model_name(part.model)
            if provider(provider_id).dialect == "none":
                continue
            found: Probe = await probe(provider_id, model, fields or {}, part.config)
            if found.status == "blocked":
                raise UserError(" ".join(found.sentences) or f"The {role} did not answer before the run.")
            spec = spec.model_copy(update={role: part.model_copy(update={"config": found.apply(part.config)})})
        return spec


def _wanted(name: str, value: str, given: list[str]) -> bool:
    from ui.form import context_pair

    if name != "context":
        return value in given
    return any("=" in text and context_pair(text) == context_pair(value) for text in given)


def _why(sentence: str, off: bool) -> str:
    return f'<div class="l2"><p class="why {"off" if off else "on"}" role="status">{escape(sentence)}</p></div>'


def _size(offer: Offer) -> int:
    return len(offer.tasks.tasks) if offer.tasks else 1


def _filters(offer: Offer) -> list[Any]:
    return [gr.update(choices=choices, value=[]) for choices in task_choices(offer).values()]


def _limit(offer: Offer) -> Any:
    size = _size(offer)
    return gr.update(maximum=max(2, size), value=min(20, size))


def _pydantic(error: ValueError) -> str:
    """The first sentence of a validation error, with no input value in it."""
    errors = getattr(error, "errors", None)
    if not errors:
        return "A setting cannot be used."
    first = errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(str(p) for p in first.get('loc', ())) or 'A setting'}: {first.get('msg', 'cannot be used')}."


