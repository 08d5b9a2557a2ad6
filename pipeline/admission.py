"""Which tasks may start under the cap: one that could not be finished is not begun, so that money is not spent on halves.

What a task needs is the worst case of its solver call and a high figure for each judge call: first a cautious prior,
then, once some were seen, the dearest of them with half as much again. A task that has the cap to itself starts where its
likely need fits. Each single call still reserves its true worst case at the door, so the cap holds whatever is admitted.
"""

import asyncio
from dataclasses import dataclass, field

from pipeline.cost.bounds import upper_bound
from pipeline.cost.meter import Amount, Meter
from pipeline.cost.prices import worst_cost
from pipeline.data.records import Task
from pipeline.door import Door, RoleModel
from pipeline.judging.prompts import JudgePrompt
from pipeline.ledger import CallId, Entry

SEEN_BEFORE_LEARNING = 5
MARGIN = 1.5
ANSWER_TOKENS = 2000
"""Tokens of an answer, as judge input, before any was seen; published answers seldom pass it."""
VERDICT_TOKENS = 600
"""Tokens of a verdict with its critique, beside the reasoning budget."""
CHARACTERS_A_TOKEN = 3
"""Fewer than in running English text for any tokenizer, so that the figure is high."""


@dataclass
class Need:
    """What a task may still need, as (US dollars, tokens): its solver call, and one entry for each judge call left."""

    solver: tuple[float, int] | None
    judge: list[tuple[float, int]] = field(default_factory=list)


class Admission:
    """Admits tasks of one run, first come, first served.

    Args:
        likely: US dollars and tokens of one judge call as the estimate expects them.
    """

    def __init__(self, meter: Meter, door: Door, likely: tuple[float, int]) -> None:
        self.meter, self.door, self._likely = meter, door, likely
        self._active: dict[tuple[str, int], Need] = {}
        self._turn = asyncio.Lock()
        self._judge_calls, self._dearest, self._longest = 0, 0.0, 0
        self._money, self._tokens = 0.0, 0
        door.on_answer = self._answered

    async def admit(self, task: Task, epoch: int, solver: RoleModel, judge: RoleModel, prompt: JudgePrompt) -> None:
        """Return when the task may start.

        Raises:
            pipeline.door.Stopped: the run was closed, or this task no longer fits and nothing can make room for it.
        """
        call, ledger = CallId("solver", task.key, epoch), self.door.ledger
        if ledger.answer(call) is not None or ledger.filtered(call) is not None:
            return  # also after a stop: what is paid for is said again, and no call leaves for it
        if self.door.closed is not None:
            raise self.door.closed
        if not self.meter.capped:
            return
        need = _need(task, solver, judge, prompt)
        async with self._turn:
            while not self._fits(need):
                if self.door.closed is not None:
                    raise self.door.closed
                if not self._active:
                    if self._likely_fits(need):
                        break
                    self.door.close("capped", f"The cap was reached: {self.meter.lack(self._amount(need), 'the next task')}")
                    raise self.door.closed  # type: ignore[misc]
                await self.door.settled()
            self._active[task.key, epoch] = need

    def ended(self, task: Task, epoch: int) -> None:
        """The task needs no more."""
        self._active.pop((task.key, epoch), None)
        self.door.something_settled()

    def _fits(self, need: Need) -> bool:
        """Whether this need fits beside what started tasks may still need.

        Calls under way are counted in both the meter and the need of their task, so a little too much is held.
        """
        needs = [self._amount(n) for n in (need, *self._active.values())]
        cost, calls, tokens = sum(n.cost for n in needs), sum(n.calls for n in needs), sum(n.tokens for n in needs)
        under_way = self.meter.snapshot().reserved
        return self.meter.fits(max(0.0, cost - under_way.cost), max(0, calls - under_way.calls), max(0, tokens - under_way.tokens))

    def _likely_fits(self, need: Need) -> bool:
        """Whether a task that has the cap to itself is likely to be finished under it: else a small run would never start."""
        cost, tokens = self._likely
        if self._judge_calls >= SEEN_BEFORE_LEARNING:
            cost, tokens = self._money / self._judge_calls, self._tokens // self._judge_calls
        money, asked = need.solver or (0.0, 0)
        n = len(need.judge)
        return self.meter.fits(money + n * cost, n + (need.solver is not None), asked + n * tokens)

    def _amount(self, need: Need) -> Amount:
        money, tokens = need.solver or (0.0, 0)
        n = len(need.judge)
        judge_money, judge_tokens = sum(c for c, _ in need.judge), sum(t for _, t in need.judge)
        if self._judge_calls >= SEEN_BEFORE_LEARNING:
            judge_money, judge_tokens = n * self._dearest * MARGIN, int(n * self._longest * MARGIN)
        return Amount(money + judge_money, n + (need.solver is not None), tokens + judge_tokens)

    def _answered(self, entry: Entry) -> None:
        """A call came back with an answer: its task needs one less, and judge calls are learned from."""
        need = self._active.get((entry.id.task, entry.id.epoch))
        if entry.id.role == "solver":
            if need is not None:
                need.solver = None
            return
        if need is not None and need.judge:
            need.judge.pop()
        if entry.usage is not None and entry.usage.known:
            self._judge_calls += 1
            self._dearest = max(self._dearest, entry.cost or 0.0)
            self._longest = max(self._longest, entry.usage.total or 0)
            self._money += entry.cost or 0.0
            self._tokens += entry.usage.total or 0


def _need(task: Task, solver: RoleModel, judge: RoleModel, prompt: JudgePrompt) -> Need:
    asked = upper_bound([task.system_prompt, task.user_message])
    shared = len(prompt.template) + len(task.user_message) + len(task.reference_answer)
    thought = judge.model.config.reasoning_tokens or 0
    verdicts = []
    for c in task.criteria:
        read = (shared + len(c.description)) // CHARACTERS_A_TOKEN + min(ANSWER_TOKENS, solver.most_output)
        verdicts.append(_amount_of(judge, read, min(thought + VERDICT_TOKENS, judge.most_output)))
    return Need(_amount_of(solver, asked, solver.most_output), verdicts)


def _amount_of(role: RoleModel, input_tokens: int, output_tokens: int) -> tuple[float, int]:
    money = worst_cost(input_tokens, output_tokens, role.price) if role.price is not None else 0.0
    return money, input_tokens + output_tokens
