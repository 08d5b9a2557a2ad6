"""The eight ways in which a task can end, and which of them enter a mean. Never decides a verdict."""

from enum import StrEnum


class Outcome(StrEnum):
    """How a task ended. Every task of every epoch ends in exactly one of these."""

    SCORED = "scored"
    SOLVER_EMPTY = "solver_empty"
    SOLVER_CUT = "solver_cut"
    FILTERED = "filtered"
    JUDGE_UNPARSABLE = "judge_unparsable"
    API_ERROR = "api_error"
    SKIPPED_BY_CAP = "skipped_by_cap"
    CANCELLED = "cancelled"


MODEL_FAILURES = frozenset({Outcome.SOLVER_EMPTY, Outcome.SOLVER_CUT, Outcome.FILTERED})
"""Failures of the model itself: they count as 0 in the mean over attempted tasks."""

ATTEMPTED = MODEL_FAILURES | {Outcome.SCORED}
"""The outcomes that enter the mean over attempted tasks; all others enter neither mean."""

CUT_OFF = frozenset({Outcome.SKIPPED_BY_CAP, Outcome.CANCELLED})
"""Outcomes of tasks that the end of the run cut off, most of them before they began: they have not ended, and can go on."""

RETRIABLE = frozenset({Outcome.JUDGE_UNPARSABLE, Outcome.API_ERROR, Outcome.SKIPPED_BY_CAP, Outcome.CANCELLED})
"""Outcomes that a resumed run takes up again."""

PROGRAM = "program"
"""The stage of a task that ended by a fault of this program: an `api_error`, counted apart from those of providers."""
