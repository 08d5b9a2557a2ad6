"""Checks a key with one cheap call, and says in one sentence what came of it.

Never sends a key to a host that is not its provider's, never follows a redirect, never repeats a reply's text.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipeline.errors import UserError
from pipeline.faults import classify
from pipeline.replies import provider_words, signs
from runner.providers.calls import Route, route
from runner.providers.catalogue import provider
from runner.providers.entry import Call, Provider
from runner.providers.keys import clean_fields, redactor, wrong_provider
from runner.providers.models import ModelList, ModelLists, gone, read_list
from runner.providers.wire import Reply, Unreachable, send

__all__ = ["KeyCheck", "check_key", "free_tier_warning"]

Status = Literal["valid", "refused", "no_credit", "no_access", "wrong_provider", "unreachable", "malformed"]

FREE_PER_DAY = 50
"""Calls a day to `:free` models on OpenRouter for an account that bought under 10 credits; above that 1,000."""

@dataclass(frozen=True)
class KeyCheck:
    """What a check found.

    Attributes:
        sentence: for the page; holds no part of a key.
        credit, limit: US dollars left and the key's own limit where the provider tells, else None.
        free_limit, free_left: calls a day to free models, and how many are left today, where the provider tells.
        expires: ISO time at which the key ends, or "".
        models: how many models the key's list holds, or None.
        address: where the endpoint answered, where that is not the address that was typed; to be used from now on.
    """

    status: Status
    sentence: str
    credit: float | None = None
    limit: float | None = None
    free_limit: int | None = None
    free_left: int | None = None
    expires: str = ""
    models: int | None = None
    address: str = ""

    @property
    def ok(self) -> bool:
        """Whether a run can be started with this key."""
        return self.status == "valid"


async def check_key(entry: str | Provider, fields: Mapping[str, str], model: str | None = None,
                    lists: ModelLists | None = None) -> KeyCheck:
    """Check the fields of one provider with one cheap call, and that it lists `model` where one is given.

    Args:
        lists: where the provider's open list is asked for, when the check itself brings none.

    Raises:
        UserError: only for a provider that does not exist; everything else is a status.
    """
    found = provider(entry)
    if not found.fields:
        return KeyCheck("valid", f"{found.name} needs no key.")
    try:
        cleaned = clean_fields(found, fields)
        if wrong := wrong_provider(found, cleaned):
            return KeyCheck("wrong_provider", wrong)
        where = await route(found, cleaned)
        call = found.check or found.listing
        assert call is not None
        request = where.get(call)
    except UserError as error:
        return KeyCheck("malformed", str(error))
    try:
        reply = await send(request)
    except Unreachable as error:
        return KeyCheck("unreachable", f"{_who(found)} could not be asked. {error}")
    result = _refusal(where, reply) or _READERS[found.reader](where, reply)
    if found.id == "custom" and result.sentence == no_list_here(where) and (better := await _elsewhere(where, call)):
        where, reply, result = better
    if result.status == "valid" and model:
        return await _with_model(where, reply, result, model, lists)
    return result


async def _elsewhere(where: Route, call: Call) -> tuple[Route, Reply, KeyCheck] | None:
    """The same endpoint with its `/v1`, or without it, where its list of models is there; it is the same host and port."""
    other = replace(where, base=where.base.removesuffix("/v1") if where.base.endswith("/v1") else f"{where.base}/v1")
    try:
        reply = await send(other.get(call))
    except Unreachable:
        return None
    result = _refusal(other, reply) or _read_list(other, reply)
    if result.status != "valid":
        return None
    said = f"The endpoint answers at {other.base}, and this address is used from now on. {result.sentence}"
    return other, reply, replace(result, sentence=said, address=other.base)


def _who(entry: Provider) -> str:
    return "The endpoint" if entry.id == "custom" else entry.name


def _refusal(where: Route, reply: Reply) -> KeyCheck | None:
    """What a reply other than a plain success means. Its words decide, and are not shown."""
    entry, status, who = where.entry, reply.status, _who(where.entry)
    body = reply.body if isinstance(reply.body, Mapping) else {}
    if 200 <= status < 300 and not body.get("error"):
        return None
    if 300 <= status < 400:
        return KeyCheck("unreachable", f"{who} answered with a redirect, which is not followed. Check the address.")
    fault = classify(reply.exchange(), None, redactor(where.fields))
    if fault.kind in ("no_credit", "key_limit"):
        return KeyCheck("no_credit", f"{who} knows the key, but its credit is used up. Add credit, then check again.")
    if fault.kind == "quota":
        return KeyCheck("no_credit", f"{who} knows the key, but its quota is used up for now. Check again later, or raise it.")
    if fault.kind == "key_refused":
        do = "Check that it is whole, not revoked, and of the right account."
        if entry.auth == "sigv4" and "expired" in f"{provider_words(reply.body)} {signs(reply.body, reply.headers)}".lower():
            do = "The session token has expired: make new temporary credentials."
        return KeyCheck("refused", f"{who} refused the key. {do}")
    if fault.kind == "no_access":
        knows = "knows the key, but it may not be used for this" if reply.body is not None else "refused access without a reason"
        return KeyCheck("no_access", f"{who} {knows}. {_rights(entry)}")
    if fault.kind == "rate_limit":
        wait = fault.wait
        when = f"in {wait:.0f} seconds" if wait and wait < 3600 else "later"
        return KeyCheck("unreachable", f"{who} is limiting the rate of calls. Check again {when}.")
    if status in (404, 405) and entry.id == "custom":
        return KeyCheck("unreachable", no_list_here(where))
    return KeyCheck("unreachable", f"{who} answered with an error of its own ({status}). Check again later.")


def _rights(entry: Provider) -> str:
    if entry.auth == "sigv4":
        return "Give its user the right bedrock:ListFoundationModels and bedrock:InvokeModel, and check the region."
    if entry.id == "openai":
        return "A restricted key needs the permissions to list models and to write to model capabilities."
    return "Check its permissions, and that the account is open in your country."


def no_list_here(where: Route) -> str:
    """What to try when an endpoint of the visitor's own has nothing at this address."""
    if where.base.endswith("/v1"):
        return ("The endpoint has no list of models at this address. Check the address, and that the server is "
                "OpenAI-compatible.")
    return f"The endpoint has nothing at this address: try {where.base}/v1"


def _read_list(where: Route, reply: Reply) -> KeyCheck:
    assert where.entry.listing is not None
    models = read_list(where.entry.listing, reply)
    if models is None:
        if where.entry.id == "custom":
            return KeyCheck("unreachable", no_list_here(where))
        return KeyCheck("unreachable", f"{_who(where.entry)} gave an answer that cannot be read. Check again later.")
    subject = "The endpoint answers" if where.entry.id == "custom" else "The key works"
    if not models:
        return KeyCheck("no_access", f"{subject}, but no model is open to it.", models=0)
    return KeyCheck("valid", f"{subject}: {len(models)} model{'s' if len(models) > 1 else ''}.", models=len(models))


def _read_openrouter(where: Route, reply: Reply) -> KeyCheck:
    """`limit_remaining` is null for a key without a limit; the account's balance is only told to management keys."""
    data = reply.body.get("data") if isinstance(reply.body, Mapping) else None
    if not isinstance(data, Mapping):
        return KeyCheck("unreachable", "OpenRouter gave an answer that cannot be read. Check again later.")
    if data.get("is_management_key") or data.get("is_provisioning_key"):
        return KeyCheck("no_access", "This is a key for managing keys; it cannot call models. Make an API key.")
    free = data.get("free_model_daily_requests")
    free = free if isinstance(free, Mapping) else {}
    left, limit = _number(data.get("limit_remaining")), _number(data.get("limit"))
    limit_free, expires = _whole(free.get("limit")), data.get("expires_at")
    if limit_free is None and data.get("is_free_tier"):
        limit_free = FREE_PER_DAY
    base = KeyCheck("valid", "", left, limit, limit_free, _whole(free.get("remaining")),
                    expires if isinstance(expires, str) else "")
    if left is not None and left <= 0:
        return replace(base, status="no_credit", sentence="The key works, but its limit is used up. Raise the limit at "
                       "OpenRouter, or use a free model." if limit else "The key works, but it has no credit left.")
    if left is not None:
        return replace(base, sentence=f"The key works: ${left:,.2f} of its limit is left.")
    note = " Only free models can be called until credit is bought." if data.get("is_free_tier") else (
        " It has no limit of its own; a key with one is safer.")
    return replace(base, sentence=f"The key works.{note}")


def _read_deepseek(where: Route, reply: Reply) -> KeyCheck:
    rows = reply.body.get("balance_infos") if isinstance(reply.body, Mapping) else None
    if not isinstance(rows, list):
        return KeyCheck("unreachable", "DeepSeek gave an answer that cannot be read. Check again later.")
    found = {str(r.get("currency")): _number(r.get("total_balance")) for r in rows if isinstance(r, Mapping)}
    dollars, yuan = found.get("USD"), found.get("CNY")
    shown = f"${dollars:,.2f}" if dollars is not None else (f"{yuan:,.2f} CNY" if yuan is not None else "")
    if not reply.body.get("is_available", True):
        return KeyCheck("no_credit", "The key works, but the account has no balance left.", dollars)
    return KeyCheck("valid", f"The key works: {shown} is left." if shown else "The key works.", dollars)


def _read_whoami(where: Route, reply: Reply) -> KeyCheck:
    """A fine-grained token tells its rights; others may call whatever the account may."""
    body = reply.body if isinstance(reply.body, Mapping) else {}
    if not body.get("type") and not body.get("name"):
        return KeyCheck("unreachable", "Hugging Face gave an answer that cannot be read. Check again later.")
    auth = body.get("auth")
    token = auth.get("accessToken") if isinstance(auth, Mapping) else None
    if isinstance(token, Mapping) and token.get("role") == "fineGrained" and "inference.serverless.write" not in str(
            token.get("fineGrained")):
        return KeyCheck("no_access", "The token works, but it may not call Inference Providers. Give it the permission "
                        "\"Make calls to Inference Providers\" in your token settings.")
    return KeyCheck("valid", "The token works. What is left of the monthly allowance is not told by Hugging Face.")


_READERS = {"list": _read_list, "openrouter": _read_openrouter, "deepseek": _read_deepseek, "whoami": _read_whoami}


async def _with_model(where: Route, reply: Reply, result: KeyCheck, model: str, lists: ModelLists | None) -> KeyCheck:
    entry = where.entry
    if entry.reader == "list" and entry.listing is not None:
        listed = ModelList(entry.id, tuple(read_list(entry.listing, reply) or ()), "live", "")
    else:
        listed = await (lists or ModelLists()).get(entry, where.fields)
    if missing := gone(listed, model, entry):
        return replace(result, status="no_access", sentence=f"The key works, but {missing}")
    info = listed.find(model)
    if info is not None and info.profile_only and model == info.id:
        return replace(result, status="no_access", sentence=f"The key works, but {needs_profile(model, where.fields)}")
    return result


def needs_profile(model: str, fields: Mapping[str, str]) -> str:
    """What to write in place of a Bedrock id that is called through an inference profile."""
    return (f"{model} is called through an inference profile on Bedrock: use "
            f"{region_prefix(fields.get('region_name', ''))}.{model} or global.{model}.")


def region_prefix(region: str) -> str:
    """What stands before the ids of a region's inference profiles."""
    if region.startswith("us-gov"):
        return "us-gov"
    if region in ("ap-northeast-1", "ap-northeast-3"):
        return "jp"
    if region in ("ap-southeast-2", "ap-southeast-4"):
        return "au"
    return {"us": "us", "ca": "ca", "eu": "eu", "ap": "apac"}.get(region.split("-")[0], "global")


def free_tier_warning(model: str, calls: int, check: KeyCheck | None = None) -> str:
    """A sentence where a run on a free model needs more calls than a day allows; else "".

    Args:
        model: inspect's name or the provider's id.
        calls: calls this run makes to that model.
    """
    if not model.endswith(":free"):
        return ""
    limit = check.free_limit if check and check.free_limit is not None else FREE_PER_DAY
    left = check.free_left if check and check.free_left is not None else limit
    if calls <= left:
        return ""
    today = f", of which {left} are left today" if left < limit else ""
    return (f"This run makes {calls} calls to a free model, and OpenRouter allows {limit} a day{today}. "
            "Choose fewer tasks, or the paid version.")


def _number(value: Any) -> float | None:
    try:
        number = None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
