"""Whether an event says anything new: a run that goes on says again only what its journal does not hold yet.

Pure. Never decides what a run does, only what is worth a line.
"""

from pipeline.events import Answered, Call, DifferenceFound, Event, TaskFinished, TaskStarted, VerdictGiven
from pipeline.judging.outcomes import CUT_OFF, RETRIABLE
from pipeline.report.view import Attempt, Fold, Verdict


def adds(fold: Fold, event: Event) -> bool:
    """Whether `event` changes what the events in `fold` have said."""
    match event:
        case Call():
            return event.id not in fold.calls
        case DifferenceFound():
            return event.text not in fold.view.differences
        case TaskStarted() | Answered() | VerdictGiven() | TaskFinished():
            a = fold.view.attempts.get((event.task, event.epoch))
            return a is None or _tells(a, event)
    return True


def _tells(a: Attempt, event: TaskStarted | Answered | VerdictGiven | TaskFinished) -> bool:
    match event:
        case TaskStarted():
            return not a.started or a.outcome in RETRIABLE
        case Answered():
            return not a.answered or a.cut is not event.cut
        case VerdictGiven():
            return a.verdicts.get(event.criterion) != Verdict(event.verdict, event.strict, event.cause)
        case TaskFinished():
            if a.outcome is not None and a.outcome not in CUT_OFF and event.outcome in CUT_OFF:
                return False
            same = a.outcome, a.score, a.cut, a.stage, a.reason
            return same != (event.outcome, event.score, event.cut or a.cut, event.stage, event.reason)
