"""From the form to a started run: keys from the vault, the estimate, the probe of both models, the start. Knows no layout.

A key is read from the vault for the length of one call and put nowhere.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import gradio as gr

from pipeline.cost.prices import price_for
from pipeline.errors import UserError
from runner.local_model import LOCAL
from runner.probing import probe_models
from runner.providers.models import ModelLists
from runner.service import RunService
from ui import visitor
from ui.estimate_panel import Worked, work_out
from ui.form import Keys, credentials_of, spec_of, why_not
from ui.keys import KeyRing
from ui.query import home_query
from ui.run_routes import held_fields
from ui.sources import Sources
from ui.words import pick_language, words
from ui.words.said import translated


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
    headers = getattr(real, "headers", None) or {}
    return words(pick_language(headers.get("accept-language"), home_query(request).get("lang")))


def keys_of(room: Room, values: dict[str, Any], request: gr.Request) -> Keys:
    """The fields held by this session for the form's two providers."""
    session, token = visitor.session_of(visitor.cookies_of(request)), visitor.hf_token(request)
    found = {
        role: held_fields(room.ring, session, role, str(values[f"{role}_provider"]), token)
        for role in ("solver", "judge")
    }
    return Keys(found["solver"], found["judge"])


async def live_prices(room: Room, values: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """Prices from the providers' own lists, by the model's id; empty where the lists give none."""
    return await room.lists.prices(
        (str(values[f"{role}_provider"]), str(values[f"{role}_model"] or "").strip(), fields)
        for role, fields in (("solver", keys.solver), ("judge", keys.judge))
    )


async def prepare(
    room: Room, values: dict[str, Any], w: dict[str, str], request: gr.Request
) -> tuple[Worked | None, str]:
    """What the run would be, and why it cannot start ("" where it can)."""
    offer = await asyncio.to_thread(room.sources.offer, values["source"] or "demo", w, request)
    if offer.tasks is None:
        return None, offer.why
    values = {**values, "source": offer.kind}
    keys = keys_of(room, values, request)
    why = ""
    try:
        why = why_not(values, keys, w)
        spec = await asyncio.to_thread(spec_of, values, keys, offer.repo)  # may ask the resolver for an endpoint's name
        worked = await work_out(spec, offer.tasks, await live_prices(room, values, keys), bool(values["cap_auto"]))
    except UserError as error:
        return None, why or translated(str(error), w["lang"])
    except ValueError as error:
        return None, why or _pydantic(error)
    return worked, why or worked.why_not(w)


async def begin(room: Room, values: dict[str, Any], w: dict[str, str], request: gr.Request, pilot: bool) -> str:
    """Start the run that the form describes and return its secret id; everything is worked out again here.

    Raises:
        UserError: it cannot start; the sentence says why.
    """
    if "local" in (values["solver_provider"], values["judge_provider"]):
        await asyncio.to_thread(LOCAL.start)  # its address is part of what the run is
    worked, why = await prepare(room, values, w, request)
    if why or worked is None:
        raise UserError(why or w["why_not_here"])
    offer = await asyncio.to_thread(room.sources.offer, values["source"] or "demo", w, request)
    keys = keys_of(room, values, request)
    if offer.tasks is None:
        raise UserError(offer.why)
    data = offer.tasks.source  # the run reads the very commit that was shown here
    spec = worked.spec.model_copy(
        update={"pilot": pilot, "revision": data.revision, "data_digest": data.digest, "max_cost": worked.limit}
    )
    live = await live_prices(room, values, keys) or None
    models = {"solver": spec.solver, "judge": spec.judge}
    prices = {role: price_for(m.model, live=live, base_url=m.base_url) for role, m in models.items()}
    spec, asked = await probe_models(spec, {"solver": keys.solver, "judge": keys.judge}, prices, worked.estimate)
    token = visitor.hf_token(request) if spec.source == "hub" else None
    credentials = await asyncio.to_thread(credentials_of, values, keys, token)
    return await room.service.start(spec, credentials, offer.places, visitor.owner(request), asked, live)


def _pydantic(error: ValueError) -> str:
    """The first sentence of a validation error, with no input value in it."""
    errors = getattr(error, "errors", None)
    if not errors:
        return "A setting cannot be used."
    first = errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(str(p) for p in first.get('loc', ())) or 'A setting'}: {first.get('msg', 'cannot be used')}."
