"""One task from question to outcome: the solver's answer, one judge call per criterion, one outcome.

Independent verdicts: one fault costs one verdict, never its siblings, and never a new solver call. All calls go
through the door. Never scores a task of which a verdict is missing.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, ModelOutput

from pipeline import events
from pipeline.admission import Admission
from pipeline.core import machine
from pipeline.cost.bounds import OVERHEAD, upper_bound, upper_bound_text
from pipeline.data.records import Criterion, Task
from pipeline.door import Answer, Door, RoleModel, Stopped
from pipeline.faults import CallFailed
from pipeline.judging.outcomes import PROGRAM, Outcome
from pipeline.judging.prompts import JudgePrompt
from pipeline.judging.score import task_score
from pipeline.judging.verdict import read_verdict
from pipeline.ledger import CallId

CUT = ("max_tokens", "model_length", "length")
BY_FAULT = {"filtered": Outcome.FILTERED, "cancelled": Outcome.CANCELLED, "key_limit": Outcome.SKIPPED_BY_CAP,
            "machine": Outcome.CANCELLED}
Asked = Callable[..., str]
"""The judge's prompt of one answer; the criterion is still open."""
STAYED_IN_REASONING = "The answer stayed in the model's reasoning; no text came after it."


@dataclass(frozen=True, slots=True)
class Judged:
    """One criterion's verdict, or why there is none. `reason` may quote the judge: for the private log only."""

    criterion: Criterion
    verdict: bool | None
    strict: bool | None = None
    cause: str = ""
    reason: str = ""
    stopped: bool = False
    api_fault: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How one task of one epoch ended."""

    task: Task
    epoch: int
    outcome: Outcome
    score: float | None = None
    cut: bool = False
    stage: str = ""
    reason: str = ""
    judged: tuple[Judged, ...] = ()

    def record(self) -> dict[str, Any]:
        """The score record of the log: the reference's three fields per criterion, with layer and reason added."""
        return {
            "outcome": self.outcome.value, "cut": self.cut, "stage": self.stage, "reason": self.reason,
            "scoring_results": [
                {"criterion_id": j.criterion.id, "weight": j.criterion.weight, "judgement": j.verdict,
                 "layer": j.criterion.layer.value, "reason": j.reason or j.cause, "strict": j.strict}
                for j in self.judged
            ],
        }


@dataclass
class Evaluator:
    """Answers and judges tasks of one run. `lost` holds how tasks ended that were not scored; the log has the others.

    `idle` is called when a stopped run has nothing under way any more; `written` says that the log is being ended.
    """

    door: Door
    solver: RoleModel
    judge: RoleModel
    prompt: JudgePrompt
    admission: Admission
    say: Callable[[Any], None]
    verdict_retries: int = 0
    parser: Literal["strict", "lenient"] = "strict"
    lost: dict[tuple[str, int], Result] = field(default_factory=dict)
    idle: Callable[[], None] = lambda: None
    written: bool = False
    _under_way: set[tuple[str, int]] = field(default_factory=set)

    async def answer(self, task: Task, epoch: int, messages: list[ChatMessage]) -> ModelOutput | None:
        """The solver's output, or None where the task has ended without an answer (see `lost`)."""
        try:
            return await self._answer(task, epoch, messages)
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this task and no other
            self._broke(task, epoch, error)
            return None

    async def _answer(self, task: Task, epoch: int, messages: list[ChatMessage]) -> ModelOutput | None:
        try:
            await self.admission.admit(task, epoch, self.solver, self.judge, self.prompt)
            self._under_way.add((task.key, epoch))
            self.say(events.TaskStarted(t=time.time(), task=task.key, epoch=epoch))
            call = CallId("solver", task.key, epoch)
            answer = await self.door.ask(self.solver, call, lambda: messages, upper_bound(messages))
        except Stopped as stop:
            self._end(_stopped(task, epoch, stop, "solver"))
            return None
        except CallFailed as failed:
            outcome = BY_FAULT.get(failed.fault.kind, Outcome.API_ERROR)
            stage = PROGRAM if failed.fault.kind == PROGRAM else "solver"
            self._end(Result(task, epoch, outcome, stage=stage, reason=failed.fault.sentence))
            return None
        return self._accept(task, epoch, answer)

    def _accept(self, task: Task, epoch: int, answer: Answer) -> ModelOutput | None:
        entry = answer.entry
        cut = entry.stop in CUT
        if entry.text.strip():
            self.say(events.Answered(t=time.time(), task=task.key, epoch=epoch, cut=cut, model=entry.model))
            return answer.output
        if cut:
            self._end(Result(task, epoch, Outcome.SOLVER_CUT, stage="solver",
                             reason="The answer was cut by length before any text came; raise the solver's max tokens."))
            return None
        reason = STAYED_IN_REASONING if entry.reasoning.strip() else "The model sent an empty answer."
        self._end(Result(task, epoch, Outcome.SOLVER_EMPTY, stage="solver", reason=reason))
        return None

    async def judge_answer(self, task: Task, epoch: int, output: ModelOutput) -> Result:
        """Verdicts on every criterion, and the task's outcome."""
        if (ended := self.lost.get((task.key, epoch))) is not None:
            return ended
        try:
            return await self._judge_answer(task, epoch, output)
        except Exception as error:  # noqa: BLE001 - as in `answer`
            return self._broke(task, epoch, error)

    def _broke(self, task: Task, epoch: int, error: Exception) -> Result:
        """End a task by an exception that is no provider's: this program's own, or this machine's, which pauses the run."""
        self.door.broke(error)
        result = Result(task, epoch, Outcome.API_ERROR, stage=PROGRAM, reason=_program(error))
        if machine.words(error):
            self.door.pause(error)
            result = Result(task, epoch, Outcome.CANCELLED, reason=machine.sentence(error))
        try:
            self._end(result)
        except Exception as again:  # noqa: BLE001 - the run's end gives the task its outcome
            self.door.broke(again)
        return result

    async def _judge_answer(self, task: Task, epoch: int, output: ModelOutput) -> Result:
        asked = partial(self.prompt.fill, task_text=task.user_message, reference_answer=task.reference_answer,
                        ai_response=output.completion)
        # Most of a prompt is the same for all criteria of a task: its tokens are counted once.
        shared = upper_bound_text(asked(criterion_description=""), self.prompt.retry_suffix)
        judged = await asyncio.gather(*(self._one(task, epoch, c, asked, shared) for c in task.criteria))
        result = _outcome(task, epoch, judged, str(output.stop_reason) in CUT, self.door.closed)
        self._end(result)
        return result

    async def _one(self, task: Task, epoch: int, criterion: Criterion, asked: Asked, shared: int) -> Judged:
        try:
            judged = await self._ask_judge(task, epoch, criterion, asked, shared)
        except Stopped as stop:
            return Judged(criterion, None, cause=stop.cause, reason=stop.sentence, stopped=True)
        except CallFailed as failed:
            filtered, stopped = failed.fault.kind == "filtered", failed.fault.kind == "machine"
            judged = Judged(criterion, None, cause="judge_filtered" if filtered else failed.fault.kind,
                            reason=failed.fault.sentence, stopped=stopped, api_fault=not (filtered or stopped))
        except Exception as error:  # noqa: BLE001 - it costs this verdict and no other
            self.door.broke(error)
            if machine.words(error):
                self.door.pause(error)
                return Judged(criterion, None, cause="paused", reason=machine.sentence(error), stopped=True)
            judged = Judged(criterion, None, cause=PROGRAM, reason=_program(error), api_fault=True)
        if judged.verdict is None:
            self._say_verdict(task, epoch, judged, "")
        return judged

    async def _ask_judge(self, task: Task, epoch: int, criterion: Criterion, asked: Asked, shared: int) -> Judged:
        first = self._first_try(task, epoch, criterion)
        bound = shared + upper_bound_text(criterion.description) - OVERHEAD
        judged = Judged(criterion, None)
        for n in range(first, first + self.verdict_retries + 1):
            call = CallId("judge", task.key, epoch, criterion.id, n)
            prompt = partial(self._judge_messages, criterion, asked, n > first)
            entry = (await self.door.ask(self.judge, call, prompt, bound)).entry
            reading = read_verdict(entry.text, self.parser)
            if reading.verdict is not None:
                judged = Judged(criterion, reading.verdict, reading.strict)
                self._say_verdict(task, epoch, judged, entry.model)
                return judged
            judged = _unread(criterion, entry.text, entry.stop, reading.last_line)
        return judged

    def _judge_messages(self, criterion: Criterion, asked: Asked, again: bool) -> list[ChatMessage]:
        words = asked(criterion_description=criterion.description)
        return [ChatMessageUser(content=self.prompt.retry(words) if again else words)]

    def _first_try(self, task: Task, epoch: int, criterion: Criterion) -> int:
        """1, or after the tries of an earlier stretch that all stayed unreadable: a resumed run asks for those anew."""
        tries = self.door.ledger.earlier_tries.get(task.key, 0)
        for n in range(1, tries + 1):
            entry = self.door.ledger.answer(CallId("judge", task.key, epoch, criterion.id, n))
            if entry is None or read_verdict(entry.text, self.parser).verdict is not None:
                return n
        return tries + 1

    def _say_verdict(self, task: Task, epoch: int, judged: Judged, model: str) -> None:
        self.say(events.VerdictGiven(t=time.time(), task=task.key, epoch=epoch, criterion=judged.criterion.id,
                                     verdict=judged.verdict, strict=judged.strict, cause=judged.cause, model=model))

    def _end(self, result: Result) -> None:
        if result.outcome is not Outcome.SCORED:
            self.lost[result.task.key, result.epoch] = result
        self.door.ledger.forget(result.task.key, result.epoch)
        self._under_way.discard((result.task.key, result.epoch))
        if self.door.closed is not None and not self._under_way:
            self.idle()
        self.admission.ended(result.task, result.epoch)
        self.say(events.TaskFinished(t=time.time(), task=result.task.key, epoch=result.epoch, outcome=result.outcome,
                                     score=result.score, cut=result.cut, stage=result.stage, reason=result.reason))


def messages_of(task: Task) -> list[ChatMessage]:
    """The solver's messages: the task's own system message, where it has one, and one user message."""
    user: list[ChatMessage] = [ChatMessageUser(content=task.user_message)]
    return [ChatMessageSystem(content=task.system_prompt), *user] if task.system_prompt else user


def _unread(criterion: Criterion, text: str, stop: str, last_line: str) -> Judged:
    if stop in CUT and not text.strip():
        return Judged(criterion, None, cause="judge_token_budget",
                      reason="The judge's token budget was used up before a verdict; raise --scorer-max-tokens.")
    if not text.strip():
        return Judged(criterion, None, cause="judge_empty", reason="The judge sent no text.")
    return Judged(criterion, None, cause="unreadable",
                  reason=f"The last line is not true or false: {last_line[:200]!r}")


def _stopped(task: Task, epoch: int, stop: Stopped, stage: str, judged: Sequence[Judged] = ()) -> Result:
    outcome = Outcome.SKIPPED_BY_CAP if stop.cause == "capped" else Outcome.CANCELLED
    return Result(task, epoch, outcome, stage=stage, reason=stop.sentence, judged=tuple(judged))


def _outcome(task: Task, epoch: int, judged: Sequence[Judged], cut: bool, closed: Stopped | None) -> Result:
    missing = [j for j in judged if j.verdict is None]
    if not missing:
        score = task_score((j.criterion.weight, bool(j.verdict)) for j in judged)
        return Result(task, epoch, Outcome.SCORED, score=score, cut=cut, judged=tuple(judged))
    n, of = len(missing), len(judged)
    if (limit := next((j for j in missing if j.cause == "key_limit"), None)) is not None:
        return Result(task, epoch, Outcome.SKIPPED_BY_CAP, cut=cut, stage="judge", reason=limit.reason, judged=tuple(judged))
    if faults := [j for j in missing if j.api_fault]:
        stage = PROGRAM if all(j.cause == PROGRAM for j in faults) else "judge"
        return Result(task, epoch, Outcome.API_ERROR, cut=cut, stage=stage, judged=tuple(judged),
                      reason=f"{len(faults)} of {of} verdicts failed: {faults[0].reason}")
    if closed is not None and any(j.stopped for j in missing):
        return _stopped(task, epoch, closed, "judge", judged)
    return Result(task, epoch, Outcome.JUDGE_UNPARSABLE, cut=cut, stage="judge", judged=tuple(judged),
                  reason=f"{n} of {of} verdicts could not be read ({_causes(missing)}); they can be asked for again alone.")


def _program(error: Exception) -> str:
    return f"A fault of this program ({type(error).__name__}) ended the task; go on with the run to try it again."


def _causes(missing: Sequence[Judged]) -> str:
    words = {"judge_token_budget": "judge token budget: raise the judge's max tokens", "judge_empty": "empty judge text",
             "unreadable": "last line not true or false", "judge_filtered": "judge stopped by a content filter"}
    return "; ".join(dict.fromkeys(words.get(j.cause, j.cause) for j in missing))
