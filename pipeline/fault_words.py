"""The words about one call that failed in the end: at which stage, what happened, what to do, whether money was spent.

For the page, the journal and the log alike. Never quotes a request or a key: the fault's own sentence is clean already.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.cost.meter import dollars
from pipeline.events import Role
from pipeline.faults import Fault
from pipeline.ledger import Entry

_LATER = "Go on with the run later; what was answered is not asked again."
_DO = {
    "rate_limit": "Lower the number of connections, or go on with the run later.", "overloaded": _LATER, "server_error": _LATER,
    "timeout": _LATER, "broken": _LATER, "bad_answer": "Go on with the run later, or choose another model.",
    "unreachable": "Check the address and the network, then go on with the run.",
    "setup": "Check the key, the region and the address of this model, then go on with the run.",
    "not_sent": "Leave this task out, or choose another model.",
    "filtered": "Leave this task out, or choose another model.",
    "too_long": "Leave this task out, or choose a model that reads longer texts.",
    "setting_refused": "Leave this setting empty, or choose another model.",
    "bad_request": "Check the model's name and the settings.",
}
"""What to do by kind of fault, where its own sentence does not say so."""


def told(fault: Fault, role: Role, entries: Sequence[Entry], tries: int = 0) -> Fault:
    """The fault with a whole sentence; `entries` are all the times that its call left, `tries` those that it was to."""
    tries = max(tries, len(entries))
    times = f" It was tried {tries} times." if tries > 1 else ""
    parts = (f"{role.capitalize()}: {fault.sentence}{times}", _DO.get(fault.kind, ""), money_spent(entries))
    return replace(fault, sentence=" ".join(part for part in parts if part))


def money_spent(entries: Sequence[Entry]) -> str:
    """Whether these calls, which brought nothing, cost money."""
    charged = [e for e in entries if e.cost_source != "none" or e.cost is None]
    if any(e.cost is None for e in charged):
        return "It may have been billed; its price is unknown."
    cost = sum(e.cost or 0.0 for e in charged)
    if not cost:
        return "No money was spent on it."
    if any(e.cost_source == "reserve" for e in charged):
        return f"It may have been billed: {dollars(cost)} is counted for it, the most it can cost."
    return f"It cost {dollars(cost)}."
