"""Before a run: one small question to the model with the run's settings, so that what it refuses is known and said.

At most three calls, each of some twenty tokens. Never changes a setting silently: every change is a listed difference.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.core.reach import nothing_there
from pipeline.errors import UserError
from pipeline.faults import Fault, classify
from runner.providers.calls import Route, route
from runner.providers.catalogue import provider
from runner.providers.check import needs_profile, no_list_here
from runner.providers.dialects import Settings, ask, thinking
from runner.providers.entry import Provider
from runner.providers.keys import clean_fields, redactor, wrong_provider
from runner.providers.wire import Reply, Unreachable, send

MOST_CALLS = 3
HF_SETTINGS = "https://huggingface.co/settings/inference-providers"


@dataclass(frozen=True)
class Adaptation:
    """One setting the model refuses.

    Attributes:
        setting: the GenerateConfig field it is about.
        changes: what to set in the config instead; None takes a field out.
        sentence: how it is listed among the differences.
    """

    setting: str
    changes: Mapping[str, Any]
    sentence: str


@dataclass(frozen=True)
class Probe:
    """What the probe found.

    Attributes:
        status: "ready" (the model answered, perhaps after adaptations), "blocked" (a run would fail), or "unknown".
        sentences: what to tell the visitor; every adaptation is among them.
        replies: what came back to each of them, None where nothing did.
    """

    status: Literal["ready", "blocked", "unknown"]
    adaptations: tuple[Adaptation, ...] = ()
    sentences: tuple[str, ...] = ()
    replies: tuple[Reply | None, ...] = ()

    @property
    def calls(self) -> int:
        """Requests that were sent."""
        return len(self.replies)

    @property
    def differences(self) -> tuple[str, ...]:
        """The sentences for the list of differences from the reference settings."""
        return tuple(a.sentence for a in self.adaptations)

    def apply(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The generation settings with every adaptation made."""
        found = dict(config)
        for change in self.adaptations:
            for name, value in change.changes.items():
                if value is None:
                    found.pop(name, None)
                else:
                    found[name] = value
        return found


@dataclass
class _State:
    """The settings as they stand while they are being found."""

    settings: dict[str, Any]
    limit_name: str = "max_tokens"
    found: list[Adaptation] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    replies: list[Reply | None] = field(default_factory=list)

    def end(self, status: Literal["ready", "blocked", "unknown"], *more: str) -> Probe:
        told = [f"{a.sentence[:1].upper()}{a.sentence[1:]}." for a in self.found]
        return Probe(status, tuple(self.found), tuple(dict.fromkeys([*told, *self.said, *more])), tuple(self.replies))


async def probe(entry: str | Provider, model: str, fields: Mapping[str, str], settings: Settings) -> Probe:
    """Ask the model one small question with these settings, and adapt what it refuses.

    Args:
        model: the provider's id, without inspect's prefix.
        settings: fields of GenerateConfig as the run would set them.
    """
    found = provider(entry)
    state = _State({k: v for k, v in settings.items() if v is not None})
    _before(found, model, state)
    if found.dialect == "none":
        return state.end("ready")
    try:
        cleaned = clean_fields(found, fields)
        if wrong := wrong_provider(found, cleaned):
            return state.end("blocked", wrong)
        where = await route(found, cleaned)
        return await _ask_until_answered(where, model, state)
    except UserError as error:
        return state.end("blocked", str(error))


async def callable_at_all(entry: str | Provider, fields: Mapping[str, str]) -> str:
    """Why this provider cannot be called with these fields, as far as that is known without a request; "" where it can.

    An endpoint of the visitor's own is tried with a bare connection, to the one address that was checked.
    """
    found = provider(entry)
    if found.dialect == "none":
        return ""
    try:
        cleaned = clean_fields(found, fields)
        if wrong := wrong_provider(found, cleaned):
            return wrong
        where = await route(found, cleaned)
    except UserError as error:
        return str(error)
    why = await asyncio.to_thread(nothing_there, where.base, where.pinned) if where.pinned else ""
    return f"{found.name} cannot be called: {why}." if why else ""


def _before(entry: Provider, model: str, state: _State) -> None:
    """What is known without a call: a budget that cannot be sent, and a limit that leaves no room for a verdict."""
    budget, limit = state.settings.get("reasoning_tokens") or 0, state.settings.get("max_tokens")
    if budget and entry.dialect != "none" and not thinking(entry, model, state.settings):
        _adapt(state, "reasoning_tokens")
        return
    if budget and limit and limit < budget + 100:
        state.said.append(f"The limit of {limit} tokens leaves no room for an answer beside {budget} reasoning tokens: "
                          f"set it to {budget + 100} or more.")


async def _ask_until_answered(where: Route, model: str, state: _State) -> Probe:
    redact = redactor(where.fields)
    while len(state.replies) < MOST_CALLS:
        state.replies.append(None)
        try:
            reply = await send(where.chat(model, ask(where.entry, model, state.settings, state.limit_name)), seconds=60)
            state.replies[-1] = reply
        except Unreachable as error:
            if not error.left:  # no call, so nothing to pay, and nothing that a run could do better
                state.replies.pop()
            why = f"{where.entry.name} could not be asked before the run. {error}"
            return state.end("unknown" if error.left else "blocked", why)
        if _answered(where.entry, reply):
            return state.end("ready")
        if ended := _ended(where, model, reply):
            return state.end(*ended)
        fault = classify(reply.exchange(), None, redact)
        if not fault.parameter or not _adapt(state, fault.parameter, _renames(reply)):
            return state.end(*_verdict(where, model, fault))
    # The last refusal was taken into account, but there is no call left to see it accepted.
    return state.end("unknown", "Not every setting could be tried before the run.")


def _answered(entry: Provider, reply: Reply) -> bool:
    if not 200 <= reply.status < 300:
        # Some models refuse to stop so soon; that they tried shows that they take the settings.
        return reply.status == 400 and b"model output limit was reached" in reply.raw
    body = reply.body
    return isinstance(body, Mapping) and not body.get("error") and any(
        k in body for k in ("choices", "content", "candidates", "promptFeedback", "output"))


def _renames(reply: Reply) -> bool:
    return b"max_completion_tokens" in reply.raw


def _adapt(state: _State, name: str, renames: bool = False) -> bool:
    """Change one setting; False where it had been changed already, so that it was not what was wrong."""
    if name == "max_tokens":
        if not renames or state.limit_name != "max_tokens":
            return False
        state.limit_name = "max_completion_tokens"
        # Nothing to change in the config: the run's door renames it, and its cap still reads the limit from there.
        state.found.append(Adaptation(name, {}, "the answer limit was sent as max_completion_tokens"))
        return True
    if state.settings.get(name) is None:
        return False
    del state.settings[name]
    shown = "reasoning budget" if name == "reasoning_tokens" else name
    state.found.append(Adaptation(name, {name: None}, f"{shown} not sent"))
    return True


def _ended(where: Route, model: str, reply: Reply) -> tuple[Literal["ready", "blocked", "unknown"], str] | None:
    """Replies that no setting can mend and that have a better sentence here than the general one."""
    entry, words = where.entry, reply.raw[:4000].decode("utf-8", "replace").lower()
    if entry.id == "custom":
        if 300 <= reply.status < 400:
            return "blocked", "The endpoint answered with a redirect, which is not followed. Check the address."
        if reply.status in (404, 405) and not re.search(r"model|deployment", words) or 200 <= reply.status < 300:
            return "blocked", no_list_here(where)
    if entry.auth == "sigv4" and ("inference profile" in words or "on-demand throughput" in words):
        return "blocked", needs_profile(model, where.fields)
    if entry.id == "hf-inference-providers" and reply.status == 400 and re.search(
            r"not supported by any provider|model_not_supported|provider you have enabled", words):
        return "blocked", (f"No inference provider that your Hugging Face account has enabled serves {model}. Enable "
                           f"one in your account's settings ({HF_SETTINGS}), or choose another model.")
    if entry.id == "hf-inference-providers" and reply.status == 402:
        return "blocked", ("Your Hugging Face account has used up its monthly included credits for Inference "
                           "Providers. Buy prepaid credits, or use another provider.")
    return None


def _verdict(where: Route, model: str, fault: Fault) -> tuple[Literal["ready", "blocked", "unknown"], str]:
    """A fault that is no setting: whether it would stop a run. Holds nothing of a custom endpoint's own reply."""
    if where.entry.id == "custom":
        return ("unknown" if fault.again else "blocked", f"The endpoint did not answer as the model {model} "
                f"({fault.status or 'no status'}). Check the model's name, and the server's log.")
    if fault.again:
        return "unknown", f"{fault.sentence} The model could not be tried before the run."
    return "blocked", fault.sentence
