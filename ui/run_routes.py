"""Two routes of the live page beside `runner.api`: the few facts of a run's head, and going on with a run.

Facts hold nothing that the public record does not. Going on reads the keys of this session from the vault.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipeline.errors import UserError
from pipeline.growth import MAY_CHANGE, label
from pipeline.report.view import RunView
from pipeline.settings import setting
from pipeline.spec import Credentials
from runner.probing import refuse_uncallable
from runner.providers.catalogue import provider
from runner.providers.models import ModelLists
from runner.providers.names import credentials_for, split_model_name
from runner.requests import json_object
from runner.service import RunService
from ui import visitor
from ui.keys import KeyRing

HEADERS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"}


def routes(
    service: RunService, ring: KeyRing, lists: ModelLists, places: Callable[[Request, str], dict[str, Any]]
) -> list[Route]:
    """The routes under /live/.

    Args:
        places: where a run on the given source may keep the Hub's files for whoever asks; raises UserError without access.
    """
    room = _Live(service, ring, lists, places)
    return [
        Route("/live/{rid}/facts", room.facts, methods=["GET"]),
        Route("/live/{rid}/resume", room.resume, methods=["POST"]),
    ]


class _Live:
    def __init__(
        self, service: RunService, ring: KeyRing, lists: ModelLists, places: Callable[[Request, str], dict[str, Any]]
    ) -> None:
        self.service, self.ring, self.lists, self.places = service, ring, lists, places

    async def facts(self, request: Request) -> Response:
        """What the head of the live page says, with `?means=1` both means as the result page has them; 404 for every id that
        opens nothing."""
        await self.service.open()
        found = self.service.get(request.path_params["rid"], visitor.hf_user(request))
        if found is None:
            return JSONResponse({"error": "This run is not available."}, 404, HEADERS)
        watched = await self.service.watch(found.key)
        said = facts(watched.folded.view, found.holder)
        if request.query_params.get("means"):
            summary = await self.service.summary_of(found.key)
            said["means"] = summary.model_dump(mode="json", include={"scored", "attempted"}) if summary else None
        return JSONResponse(said, headers=HEADERS)

    async def resume(self, request: Request) -> Response:
        """Go on with a run, perhaps with raised caps; never a second time what was paid for."""
        rid = request.path_params["rid"]
        await self.service.open()
        found = self.service.get(rid, visitor.hf_user(request))
        if found is None or not found.holder:
            return JSONResponse({"error": "This run is not available."}, 404, HEADERS)
        try:
            changes = _changes(await json_object(request))
            view = (await self.service.watch(found.key)).folded.view
            held = self._held(view.spec, request)
            await refuse_uncallable({"solver": held["solver"][::2], "judge": held["judge"][::2]})
            keys = await asyncio.to_thread(self._credentials, view.spec, held, request)
            live = await self.lists.prices((pid, name, fields) for pid, name, fields in held.values())
            places = await asyncio.to_thread(self.places, request, found.meta.source)
            await self.service.resume(rid, keys, {"pilot": False, **changes}, visitor.owner(request), places, live or None)
        except UserError as error:
            return JSONResponse({"error": str(error)}, 400, HEADERS)
        return JSONResponse({"ok": True}, headers=HEADERS)

    def _held(self, spec: Mapping[str, Any], request: Request) -> dict[str, tuple[str, str, dict[str, str] | None]]:
        """Provider, model's id and this session's fields, by role.

        Raises:
            UserError: a key that is needed is not held.
        """
        session, token = visitor.session_of(request.cookies), visitor.hf_token(request)
        found = {}
        for role in ("solver", "judge"):
            provider_id, model = split_model_name(spec[role]["model"])
            fields = held_fields(self.ring, session, role, provider_id, token)
            if fields is None and provider(provider_id).needs_key:
                raise UserError(
                    f"No key is held for {provider(provider_id).name}.", "", "Enter it below; it was not stored."
                )
            if spec[role].get("base_url"):  # the run stays at its own address, whatever address was typed with the key
                fields = {**(fields or {}), "base_url": spec[role]["base_url"]}
            found[role] = (provider_id, model, fields)
        return found

    def _credentials(
        self, spec: Mapping[str, Any], held: Mapping[str, tuple[str, str, dict[str, str] | None]], request: Request
    ) -> Credentials:
        solver, judge = (credentials_for(held[role][0], held[role][2] or {}) for role in ("solver", "judge"))
        return Credentials(solver, judge, visitor.hf_token(request) if spec.get("source") == "hub" else None)


def held_fields(
    ring: KeyRing, session: str, role: str, provider_id: str, hf_token: str | None
) -> dict[str, str] | None:
    """The fields this session holds for a role; a signed-in visitor's own token serves Hugging Face's providers."""
    fields = ring.fields(session, role, provider_id) if session else None
    if fields is None and provider_id == "hf-inference-providers" and hf_token:
        return {"api_key": hf_token}
    return fields


def facts(view: RunView, owner: bool) -> dict[str, Any]:
    """The facts of a run's head."""
    spec = view.spec
    names = {role: str(spec.get(role, {}).get("model", "")) for role in ("solver", "judge")}
    scores = [a.score for a in view.attempts.values() if a.outcome == "scored" and a.score is not None]
    return {
        "owner": owner,
        "status": view.status,
        "reason": view.reason,
        "started": view.started,
        "finished": view.finished,
        "solver": names["solver"],
        "judge": names["judge"],
        "providers": {role: _provider(n) for role, n in names.items()},
        "data": f"{view.data.name} ({len(view.tasks)} / {view.data.available})" if view.data else "",
        "prompt": spec.get("prompt_version", ""),
        "differences": view.differences,
        "estimate": view.estimate,
        "max_cost": spec.get("max_cost"),
        "pilot": bool(spec.get("pilot")),
        "planned": view.planned,
        "done": view.done,
        "tasks": len(view.tasks),
        "epochs": view.epochs,
        "available": int((view.estimate or {}).get("available") or (view.data.available if view.data else 0)),
        "per_task": view.cost / view.done if view.cost is not None and view.done else None,
        "mean": sum(scores) / len(scores) if scores else None,
    }


def _provider(name: str) -> str:
    try:
        return split_model_name(name)[0]
    except UserError:
        return ""


def _changes(body: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in body.items():
        if name not in MAY_CHANGE:
            raise UserError(f"{label(name)} cannot change in a run that goes on.", f"One of {', '.join(sorted(MAY_CHANGE))}.",
                            "Leave it out, or start a new run.")
        _check_value(name, value)
    return dict(body)


def _check_value(name: str, value: Any) -> None:
    row = setting(name)
    if row.many:
        if not isinstance(value, list) or not all(isinstance(v, str | list) for v in value):
            raise UserError(f"The choice {name} is not a list of names.", "", "Correct it.")
    elif value is None and row.default is None:
        return
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise UserError(f"The limit {name} is not a number of 0 or more.", "", "Correct it.")
