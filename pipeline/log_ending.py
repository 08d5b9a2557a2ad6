"""What the `.eval` log says of how it ended: its status, and an error for each sample that was not scored.

inspect calls an evaluation a success when every sample came back, and ours always do: with a score, or with the reason
why there is none. So the two facts are handed to inspect's logger as it writes them, and the file is never edited after.
"""

import atexit
import functools
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from inspect import signature
from typing import Any
from weakref import WeakValueDictionary

from inspect_ai._eval.task.log import TaskLogger
from inspect_ai._util.error import EvalError

from pipeline.judging.evaluate import Evaluator
from pipeline.judging.outcomes import RETRIABLE, Outcome


@dataclass
class _Written:
    """What one log holds so far, by outcome, and the reason of the first sample that has no score."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reason: str = ""


_evaluators: WeakValueDictionary[str, Evaluator] = WeakValueDictionary()
_written: dict[str, _Written] = {}


def tell_log(spec_digest: str, evaluator: Evaluator) -> None:
    """Let the log of the evaluation whose metadata has this digest say how it ended."""
    _evaluators[spec_digest] = evaluator
    _hook()


@functools.cache
def _hook() -> None:
    """Put our word into inspect's logger, once a process.

    A private class, since no hook of inspect may change what is written: https://inspect.aisi.org.uk/extensions.html#hooks
    Both names are in all versions from 0.3.205 to 0.3.285; `complete_sample_streaming` only in the newer ones.
    """
    for name in ("complete_sample", "complete_sample_streaming"):
        if (write := getattr(TaskLogger, name, None)) is not None:
            setattr(TaskLogger, name, _with_error(write))
    TaskLogger.log_finish = _with_status(TaskLogger.log_finish)  # type: ignore[method-assign]


def _with_error(write: Any) -> Any:
    @functools.wraps(write)
    async def complete_sample(self: TaskLogger, sample: Any, *args: Any, **kwargs: Any) -> Any:
        return await write(self, marked(sample, self.eval.eval_id) if _evaluator(self) else sample, *args, **kwargs)

    return complete_sample


def _with_status(finish: Any) -> Any:
    @functools.wraps(finish)
    async def log_finish(self: TaskLogger, *args: Any, **kwargs: Any) -> Any:
        if (evaluator := _evaluator(self)) is None:
            return await finish(self, *args, **kwargs)
        evaluator.written = True  # from here on a cancellation would leave half a log
        given = signature(finish).bind(self, *args, **kwargs).arguments
        ids = self.eval.dataset.sample_ids
        samples = (len(ids) if ids else self.eval.dataset.samples or 0) * (self.eval.config.epochs or 1)
        given["status"], sentence = ending(given["status"], _written.get(self.eval.eval_id, _Written()), evaluator, samples)
        if sentence:
            given["error"] = _error(sentence)
            _fail_the_shell()
        if (results := given.get("results")) is not None:
            results.completed_samples = self.samples_completed
        return await finish(**given)

    return log_finish


def _evaluator(logger: TaskLogger) -> Evaluator | None:
    return _evaluators.get(str((logger.eval.metadata or {}).get("spec_digest")))


def marked(sample: Any, eval_id: str) -> Any:
    """The sample with an error where its task can be taken up again; its score is NaN and keeps the verdicts there are.

    What the model itself failed at (an empty, cut or filtered answer) is no error: asking again would be another try.
    """
    record = next((s.metadata or {} for s in (sample.scores or {}).values()), {})
    outcome, reason = str(record.get("outcome") or ""), str(record.get("reason") or "")
    written = _written.setdefault(eval_id, _Written())
    written.outcomes[outcome] += 1
    if outcome != Outcome.SCORED:
        written.reason = written.reason or reason
    if outcome not in RETRIABLE or sample.error is not None:
        return sample
    return sample.model_copy(update={"error": _error(f"{outcome}: {reason}")})


def ending(status: str, written: _Written, evaluator: Evaluator, samples: int) -> tuple[str, str]:
    """Status and error sentence, from inspect's own status and from what ended the run.

    A run that was stopped, or cut at its cap, was cancelled: it can go on, and no fault ended it. One whose key or provider
    gave out ended with an error, and so did one in which nothing was scored. A pilot is all that its log was to hold.
    """
    closed, scored = evaluator.door.closed, written.outcomes[Outcome.SCORED.value]
    if status not in ("success", "cancelled") or (samples and scored >= samples):
        return status, ""
    if closed is not None:
        return ("error", closed.sentence) if closed.cause == "failed" else ("cancelled", "")
    if status == "success" and not scored and samples:
        counts = ", ".join(f"{n} {outcome or 'ended by an error'}" for outcome, n in sorted(written.outcomes.items()))
        return "error", f"No task was scored ({counts}). {written.reason}".strip()
    return status, ""


def _fail_the_shell() -> None:
    """Let the `inspect` command exit 1: it has no exit code of its own for an evaluation that failed."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if os.path.basename(sys.argv[0]) in ("inspect", "inspect.exe") or main is not None and main.name.startswith("inspect_ai."):
        atexit.register(_exit_1)


def _exit_1() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(1)


def _error(message: str) -> EvalError:
    return EvalError(message=message, traceback="", traceback_ansi="")
