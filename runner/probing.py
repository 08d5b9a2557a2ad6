"""Both models are asked one small question before a run, as far as its caps leave room, and what that cost is the run's own.

Never starts a run and keeps no key. The calls stand first in the run's ledger, so its caps hold them and its page shows them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from pipeline.cost.estimate import Estimate
from pipeline.cost.meter import Meter, Worst
from pipeline.cost.prices import Price, worst_cost
from pipeline.errors import UserError
from pipeline.events import Role
from pipeline.fault_words import money_spent
from pipeline.ledger import CallId, Entry
from pipeline.reported import reported_cost, reported_usage
from pipeline.spec import ModelSpec, RunSpec
from runner.providers.catalogue import provider
from runner.providers.dialects import SMALL
from runner.providers.names import split_model_name
from runner.providers.probe import MOST_CALLS, Probe, callable_at_all, probe
from runner.providers.wire import Reply

ASKED = 300
"""Most tokens of the question, with what a vendor puts around it."""
ROLES: tuple[Role, Role] = ("solver", "judge")


async def probe_models(
    spec: RunSpec, fields: Mapping[str, Mapping[str, str] | None], prices: Mapping[str, Price | None], planned: Estimate
) -> tuple[RunSpec, list[Entry]]:
    """The spec without the settings that a model refuses, and the calls that this took.

    Args:
        fields: secret fields by role. prices: by role. planned: the run's estimate; where a cap holds little more than the
            run itself, nothing is asked, and the run's own calls find out what is refused.

    Raises:
        UserError: a model that would fail every call.
    """
    entries: list[Entry] = []
    asked = [r for r in ROLES if provider(split_model_name(getattr(spec, r).model)[0]).dialect != "none"]
    await refuse_uncallable({r: (split_model_name(getattr(spec, r).model)[0], fields.get(r)) for r in asked})
    if not _room(spec, asked, prices, planned):
        return spec, entries
    for role in asked:
        part: ModelSpec = getattr(spec, role)
        provider_id, model = split_model_name(part.model)
        found = await probe(provider_id, model, fields.get(role) or {}, part.config)
        entries += _entries(role, found, _worst(part), prices.get(role))
        if found.status == "blocked":
            why = " ".join(found.sentences) or "The model did not answer."
            raise UserError(f"{role.capitalize()}, before the run: {why} {money_spent(entries)}")
        spec = spec.model_copy(update={role: part.model_copy(update={"config": found.apply(part.config)})})
    return spec, entries


async def refuse_uncallable(asked: Mapping[Role, tuple[str, Mapping[str, str] | None]]) -> None:
    """Look at both roles (provider and secret fields) before either is asked: nothing is paid for a run that cannot start.

    Raises:
        UserError: one of them cannot be called; what stands against both is said together.
    """
    found = await asyncio.gather(*(callable_at_all(entry, fields or {}) for entry, fields in asked.values()))
    lacks = [f"{role.capitalize()}, before the run: {why}" for role, why in zip(asked, found, strict=True) if why]
    if lacks:
        raise UserError(" ".join([*lacks, "Nothing was started."]))


def _worst(part: ModelSpec) -> Worst:
    budget = int(part.config.get("reasoning_tokens") or 0)
    return Worst(ASKED, SMALL + 2 * budget)


def _room(spec: RunSpec, roles: list[Role], prices: Mapping[str, Price | None], planned: Estimate) -> bool:
    """Whether the caps hold the most that asking can take beside what the run is expected to need for a start."""
    worst = {r: _worst(getattr(spec, r)) for r in roles}
    tokens = MOST_CALLS * sum(w.tokens for w in worst.values())
    if spec.max_calls is not None and spec.max_calls < planned.total_calls.expected + MOST_CALLS * len(roles):
        return False
    if spec.max_tokens is not None and spec.max_tokens < planned.total_tokens.expected + tokens:
        return False
    known = [(w, p) for r, w in worst.items() if (p := prices.get(r)) is not None]
    money = MOST_CALLS * sum(worst_cost(w.input_tokens, w.output_tokens, p) for w, p in known)
    return spec.max_cost is None or spec.max_cost >= (planned.start_cost or 0.0) + money


def _entries(role: Role, found: Probe, worst: Worst, price: Price | None) -> list[Entry]:
    meter, entries = Meter(), []
    for attempt, reply in enumerate(found.replies, 1):
        call = CallId(role, "", criterion="probe" if role == "judge" else "")
        usage = None if reply is None else reported_usage(reply.body)
        if reply is not None and reply.status >= 300 and usage is None:
            entries.append(Entry(call, attempt, cost=0.0, fault="probe", status=reply.status))
            continue
        reserved = meter.reserve(role, worst, price)
        assert reserved is not None
        if usage is not None and reply is not None:
            usage = replace(usage, cost=reported_cost(reply.body))
        charge = meter.charge(reserved, usage, price)
        entries.append(Entry(call, attempt, usage=usage, cost=charge.cost, cost_source=charge.source, fault=_fault(reply),
                             reserve_cost=reserved.cost, reserve_tokens=reserved.tokens))
    return entries


def _fault(reply: Reply | None) -> str:
    return "" if reply is not None and reply.status < 300 else "probe"
