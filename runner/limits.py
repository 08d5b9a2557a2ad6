"""How much a visitor, and all visitors together, may start and keep. Decides from numbers; touches no disk, no clock.

Every limit has a default and an `L2BENCH_...` variable; 0 means no limit.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from pipeline.errors import UserError
from pipeline.spec import RunSpec

HOUR = 3600.0
VARIABLES: dict[str, str] = {
    "total_runs": "L2BENCH_MAX_RUNS",
    "visitor_runs": "L2BENCH_MAX_RUNS_PER_VISITOR",
    "visitor_starts": "L2BENCH_STARTS_PER_HOUR",
    "total_starts": "L2BENCH_TOTAL_STARTS_PER_HOUR",
    "run_mb": "L2BENCH_MAX_RUN_MB",
    "free_mb": "L2BENCH_MIN_FREE_MB",
    "tasks": "L2BENCH_MAX_TASKS",
    "demo_tasks": "L2BENCH_MAX_DEMO_TASKS",
    "watchers": "L2BENCH_MAX_WATCHERS",
    "keep_days": "L2BENCH_KEEP_DAYS",
}
HOSTED_KEEP_DAYS = 30


@dataclass(frozen=True)
class Limits:
    """The limits in force; 0 means none.

    Attributes:
        total_runs, visitor_runs: runs at the same time, over all visitors and of one.
        visitor_starts, total_starts: starts in any 60 minutes.
        run_mb: size of one run's folder, in megabytes; a run that passes it is stopped.
        free_mb: disk space that must be free for a run to start, in megabytes.
        tasks, demo_tasks: tasks times epochs of one run.
        watchers: event streams open at the same time.
        keep_days: days after which a private run that has ended is deleted.
    """

    total_runs: int = 8
    visitor_runs: int = 2
    visitor_starts: int = 30
    total_starts: int = 300
    run_mb: int = 500
    free_mb: int = 200
    tasks: int = 0
    demo_tasks: int = 0
    watchers: int = 1000
    keep_days: int = 0

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Limits":
        """The defaults with what the environment overrides. On a hosted Space private runs are kept 30 days.

        Raises:
            UserError: a variable is not a whole number of at least 0.
        """
        limits = cls(keep_days=HOSTED_KEEP_DAYS if env.get("SPACE_ID") else 0)
        given = {f.name: env[VARIABLES[f.name]] for f in fields(cls) if env.get(VARIABLES[f.name], "").strip()}
        return replace(limits, **{name: _whole(VARIABLES[name], text) for name, text in given.items()})

    def check_size(self, spec: RunSpec) -> None:
        """Refuse a spec that asks for more tasks than allowed, as far as the spec alone tells.

        Raises:
            UserError: too many tasks asked for.
        """
        asked = [n for n in (spec.sample_limit, len(spec.task_ids)) if n]
        if asked:
            self.check_tasks(spec, min(asked) * spec.epochs)

    def check_tasks(self, spec: RunSpec, planned: int) -> None:
        """Refuse a run of `planned` tasks (times epochs).

        Raises:
            UserError: more than allowed for this kind of tasks.
        """
        most = min((n for n in (self.tasks, self.demo_tasks if spec.source == "demo" else 0) if n), default=0)
        if most and planned > most:
            raise UserError(
                f"This run would be {planned} tasks.",
                f"At most {most} are allowed here at a time.",
                "Lower the sample cap, or run it from the command line.",
            )


def _whole(name: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise UserError(f"{name} is {text!r}.", "It must be a whole number, 0 for no limit.", f"Correct {name}.")
    return number


class Admission:
    """Remembers starts of the last hour and decides whether one more run may start."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._starts: defaultdict[str, deque[float]] = defaultdict(deque)
        self._all: deque[float] = deque()

    def admit(self, visitor: str, running: int, of_visitor: int, now: float) -> None:
        """Count one start of `visitor` ("" where visitors are not told apart) or refuse it.

        Args:
            running: runs going on now. of_visitor: those of this visitor. now: Unix seconds.

        Raises:
            UserError: a limit is reached; the sentence says which and when to try again.
        """
        limits = self.limits
        self._forget(now)
        if limits.total_runs and running >= limits.total_runs:
            raise UserError(
                f"{running} runs are going on here, which is as many as this server takes.",
                "",
                "Try again in a few minutes, or duplicate the Space.",
            )
        if visitor and limits.visitor_runs and of_visitor >= limits.visitor_runs:
            raise UserError(
                f"You have {of_visitor} runs going on.",
                f"At most {limits.visitor_runs} at a time.",
                "Wait until one has ended, or stop one.",
            )
        if limits.total_starts and len(self._all) >= limits.total_starts:
            raise _too_often("This server has", len(self._all), self._all[0], now)
        if visitor and limits.visitor_starts and len(self._starts[visitor]) >= limits.visitor_starts:
            raise _too_often("You have", len(self._starts[visitor]), self._starts[visitor][0], now)
        self._all.append(now)
        if visitor:
            self._starts[visitor].append(now)

    def _forget(self, now: float) -> None:
        for starts in (self._all, *self._starts.values()):
            while starts and starts[0] <= now - HOUR:
                starts.popleft()
        for visitor in [v for v, starts in self._starts.items() if not starts]:
            del self._starts[visitor]


def _too_often(who: str, count: int, oldest: float, now: float) -> UserError:
    minutes = max(1, int((oldest + HOUR - now) / 60) + 1)
    return UserError(
        f"{who} started {count} runs in the last hour, which is the limit.",
        "",
        f"Try again in {minutes} minute{'s' if minutes > 1 else ''}.",
    )
