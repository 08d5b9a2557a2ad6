"""How much a visitor, and all visitors together, may start and keep. Decides from numbers; touches no disk, no clock.

Every limit has a default and an `L2BENCH_...` variable; 0 means no limit.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from pipeline.errors import UserError
from pipeline.spec import RunSpec

HOUR = 3600.0
VARIABLES: dict[str, str] = {
    "total_runs": "L2BENCH_MAX_RUNS",
    "visitor_runs": "L2BENCH_MAX_RUNS_PER_VISITOR",
    "visitor_starts": "L2BENCH_STARTS_PER_HOUR",
    "total_starts": "L2BENCH_TOTAL_STARTS_PER_HOUR",
    "total_demo_runs": "L2BENCH_MAX_DEMO_RUNS",
    "visitor_demo_runs": "L2BENCH_MAX_DEMO_RUNS_PER_VISITOR",
    "visitor_demo_starts": "L2BENCH_DEMO_STARTS_PER_HOUR",
    "total_demo_starts": "L2BENCH_TOTAL_DEMO_STARTS_PER_HOUR",
    "run_mb": "L2BENCH_MAX_RUN_MB",
    "free_mb": "L2BENCH_MIN_FREE_MB",
    "tasks": "L2BENCH_MAX_TASKS",
    "demo_tasks": "L2BENCH_MAX_DEMO_TASKS",
    "watchers": "L2BENCH_MAX_WATCHERS",
    "visitor_watchers": "L2BENCH_MAX_WATCHERS_PER_VISITOR",
    "visitor_queue": "L2BENCH_MAX_QUEUE_PER_VISITOR",
    "keep_days": "L2BENCH_KEEP_DAYS",
}
HOSTED_KEEP_DAYS = 30


@dataclass(frozen=True)
class Limits:
    """The limits in force; 0 means none.

    Attributes:
        total_runs, visitor_runs: keyed runs at the same time, over all visitors and of one.
        visitor_starts, total_starts: starts of keyed runs in any 60 minutes.
        total_demo_runs, ...: the same four for runs of two scripted models, which have their own slots and starts.
        run_mb: size of one run's folder, in megabytes; a run that passes it is stopped.
        free_mb: disk space that must be free for a run to start, in megabytes.
        tasks, demo_tasks: tasks times epochs of one run.
        watchers, visitor_watchers: event streams of runs open at the same time, of all and of one.
        visitor_queue: places in the page's queue that one visitor holds, and streams that tell of them.
        keep_days: days after which a private run that has ended is deleted.
    """

    total_runs: int = 8
    visitor_runs: int = 2
    visitor_starts: int = 30
    total_starts: int = 300
    total_demo_runs: int = 8
    visitor_demo_runs: int = 2
    visitor_demo_starts: int = 30
    total_demo_starts: int = 300
    run_mb: int = 500
    free_mb: int = 200
    tasks: int = 0
    demo_tasks: int = 0
    watchers: int = 1000
    visitor_watchers: int = 20
    visitor_queue: int = 10
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


NETWORK = "net:"
NETWORK_SHARE = 4
"""A network, such as a school's, may start as much as this many visitors, however many accounts stand behind it."""


def is_demo(spec: RunSpec) -> bool:
    """Whether a run is of the demo's class: both models are scripted. One real model makes it a keyed run."""
    return all(part.model.startswith("demo/") for part in (spec.solver, spec.judge))


class Admission:
    """Remembers starts of the last hour and decides whether one more run may start. One for each class of runs.

    Args:
        demo: for the demo's class; its limits are its own.
    """

    def __init__(self, limits: Limits, demo: bool = False) -> None:
        self.demo, self.noun = demo, "demo runs" if demo else "runs"
        self.total_runs = limits.total_demo_runs if demo else limits.total_runs
        self.visitor_runs = limits.visitor_demo_runs if demo else limits.visitor_runs
        self.total_starts = limits.total_demo_starts if demo else limits.total_starts
        self.visitor_starts = limits.visitor_demo_starts if demo else limits.visitor_starts
        self._starts: defaultdict[str, deque[float]] = defaultdict(deque)
        self._all: deque[float] = deque()

    def admit(self, names: Sequence[str], running: Sequence[Collection[str]], now: float) -> None:
        """Count one start, or refuse it.

        Args:
            names: under which the one who starts is counted; none where visitors are not told apart.
            running: the names behind each run of this class that is going on. now: Unix seconds.

        Raises:
            UserError: a limit is reached; the sentence says which and when to try again.
        """
        self._forget(now)
        if self.total_runs and len(running) >= self.total_runs:
            raise UserError(
                f"{len(running)} {self.noun} are going on here, which is as many as this server takes.",
                "",
                "Try again in a few minutes, or duplicate the Space.",
            )
        for name in names:
            self._check_runs(name, sum(name in behind for behind in running))
        if self.total_starts and len(self._all) >= self.total_starts:
            raise _too_often("This server has", self.noun, self._all, now)
        for name in names:
            starts = self._starts.get(name, ())
            if self.visitor_starts and len(starts) >= self.visitor_starts * _share(name):
                raise _too_often(_who(name), self.noun, starts, now)
        self._all.append(now)
        for name in names:
            self._starts[name].append(now)

    def _check_runs(self, name: str, count: int) -> None:
        most = self.visitor_runs * _share(name)
        if most and count >= most:
            raise UserError(
                f"{_who(name)} {count} {self.noun} going on.",
                f"At most {most} at a time.",
                "Wait until one has ended, or stop one.",
            )

    def _forget(self, now: float) -> None:
        for starts in (self._all, *self._starts.values()):
            while starts and starts[0] <= now - HOUR:
                starts.popleft()
        for visitor in [v for v, starts in self._starts.items() if not starts]:
            del self._starts[visitor]


def _share(name: str) -> int:
    return NETWORK_SHARE if name.startswith(NETWORK) else 1


def _who(name: str) -> str:
    return "Your network has" if name.startswith(NETWORK) else "You have"


def _too_often(who: str, noun: str, starts: Collection[float], now: float) -> UserError:
    minutes = max(1, int((next(iter(starts)) + HOUR - now) / 60) + 1)
    return UserError(
        f"{who} started {len(starts)} {noun} in the last hour, which is the limit.",
        "",
        f"Try again in {minutes} minute{'s' if minutes > 1 else ''}.",
    )
