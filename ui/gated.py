"""The gate as the page uses it: which tasks a visitor is offered and why, and who may see the text of a run.

Everything it hands out belongs to the visitor who asks, by their own token; nothing is kept here. Blocking methods
(all but `account_html`) ask the Hub now and then and belong in a thread.
"""

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

from pipeline.data.records import TaskSet
from pipeline.errors import UserError
from runner.addresses import hosted
from runner.gate import LOGIN, Account, Gate, Texts, task_source
from runner.gated_counts import public_counts
from ui import signin
from ui.query import home_query
from ui.sources import Offer
from ui.words import say

TROUBLES = ("refused", "failed", "unreachable", "blocked")


class Gated:
    """The gate for requests.

    Args:
        offered: whether this host has a sign-in.

    Attributes:
        texts: who may see text.
    """

    def __init__(self, gate: Gate, offered: bool) -> None:
        self.gate, self.offered = gate, offered
        self.texts = Texts(gate, signin.account)

    def kinds(self) -> list[str]:
        """The sources of a hosted page."""
        return ["demo", "hub"] if self.offered else ["demo"]

    def default(self, request: Any) -> str:
        """The source a visitor's form starts with: the full set where their account opens it."""
        account = signin.account(request)
        return task_source(account, self.gate.check(account, fresh=True), hosted(), self.offered)[0]

    def offer(self, kind: str, request: Any, w: Mapping[str, str], demo: Offer) -> Offer:
        """What a hosted page offers for `kind`; `demo` is the offer that everyone has."""
        account = signin.account(request)
        state = self.gate.check(account)
        url = task_source(account, state, True, self.offered)[2]
        if kind != "hub" or not self.offered:
            return _with(demo, self._why("demo", account, w), url)
        if state.state != "open" or account is None:
            return Offer("hub", None, self._why("hub", account, w), {}, url=url)
        try:
            tasks = self.gate.task_set(account)
        except UserError as error:
            return Offer("hub", None, f"{w['source_failed']} {error}", {})
        why = say(dict(w), "source_hub_why", n=len(tasks.tasks), name=tasks.source.name)
        return Offer("hub", tasks, why, {"cache_dir": self.gate.cache_dir(account)}, tasks.source.name)

    def _why(self, kind: str, account: Account | None, w: Mapping[str, str]) -> str:
        state = self.gate.check(account)
        key = "no_sign_in" if not self.offered else {"demo": "signed_out"}.get(state.state, state.state)
        lead = w["gate_runs_demo"] if kind == "demo" else ""
        detail = state.sentence if state.state == "error" else ""
        said = say(dict(w), f"gate_{key}", name=account.name if account else "", why=detail)
        return f"{lead} {said}".strip()

    def places(self, request: Any, source: str) -> dict[str, Any]:
        """Where a run's worker may keep the Hub's files: this visitor's own cache.

        Raises:
            UserError: gated tasks, and nobody is signed in or the account does not open them.
        """
        if source != "hub" or not hosted():
            return {}
        account = signin.account(request)
        if account is None:
            raise UserError("This run uses gated tasks, and nobody is signed in.", "",
                            "Sign in with Hugging Face again as the one who started it, then resume.")
        state = self.gate.check(account, fresh=True)
        if state.state != "open":
            raise UserError(state.sentence, "", f"See {state.url}")
        return {"cache_dir": self.gate.cache_dir(account)}

    def kept(self, request: Any, digest: str) -> TaskSet | None:
        """The visitor's own copy of the full set, where it is the one with this digest."""
        account = signin.account(request)
        try:
            tasks = self.gate.task_set(account) if account else None
        except UserError:
            return None
        return tasks if tasks and tasks.source.digest == digest else None


def _with(offer: Offer, why: str, url: str) -> Offer:
    return Offer(offer.kind, offer.tasks, why, offer.places, offer.repo, url)


def account_html(request: Any, w: Mapping[str, str]) -> str:
    """The visitor's own line: the way to sign in, or who is signed in and the way out; "" where there is no sign-in."""
    if not signin.configured():
        return ""
    query = home_query(request)
    trouble = query.get("signin")
    here = urlencode({"_target_url": query.link("/", signin=None)})
    said = f'<p class="note bad" role="status">{escape(w[f"signin_{trouble}"])}</p>' if trouble in TROUBLES else ""
    found = signin.account(request)
    if found is None:
        line = f'<a class="button" id="sign-in" href="{LOGIN}?{escape(here)}">{escape(w["sign_in"])}</a>' + own_tab(w)
    else:
        name = escape(say(dict(w), "signed_in_as", name=found.name))
        out = f'<a id="sign-out" href="{signin.LOGOUT}?{escape(here)}">{escape(w["sign_out"])}</a>'
        line = f'<span id="signed-in">{name}</span> {out}'
    return f'<div class="l2"><p class="row account">{line}</p>{said}</div>'


def own_tab(w: Mapping[str, str]) -> str:
    """The way out of a frame, and what is said where its browser keeps no cookie; the page's script shows them there."""
    return (f' <a class="own-tab" href="/" target="_blank" rel="noopener">{escape(w["own_tab"])}</a>'
            f' <span class="no-cookie" role="status">{escape(w["signin_blocked"])}</span>')


def source_html(offer: Offer, w: Mapping[str, str]) -> str:
    """The sentence on which tasks the run uses and why, with what the visitor can do about it."""
    link = again = ""
    if offer.url == LOGIN:
        link = f' <a href="{LOGIN}">{escape(w["sign_in"])}</a>'
    elif offer.url:
        link = f' <a href="{escape(offer.url)}" target="_blank" rel="noopener noreferrer">{escape(w["gate_terms"])}</a>'
        again = f' <button type="button" data-recheck>{escape(w["gate_again"])}</button>'
    bad = "" if offer.tasks or offer.url else " bad"
    shown = _counts(w) if hosted() and offer.url else ""
    return f'<div class="l2"><p class="note{bad}">{escape(offer.why)}{link}{again}</p>{shown}</div>'


def _counts(w: Mapping[str, str]) -> str:
    found = public_counts()
    if not found:
        return ""
    tables = ""
    for group, values in found["groups"].items():
        rows = "".join(f'<tr><td>{escape(name)}</td><td class="num">{n}</td></tr>' for name, n in values.items())
        tables += f'<div class="table-wrap"><table><caption>{escape(group)}</caption><tbody>{rows}</tbody></table></div>'
    summary = escape(say(dict(w), "gate_counts", n=found["total"]))
    return f'<details class="gate-counts"><summary>{summary}</summary>{tables}</details>'
