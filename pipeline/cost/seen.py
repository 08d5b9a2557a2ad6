"""What a run has shown so far of its calls: means by role, from the folded view. Never holds text; pure."""

from dataclasses import dataclass, replace

from pipeline.report.view import RunView, Spend


@dataclass(frozen=True, slots=True)
class RoleSeen:
    """One role's calls that were answered with known usage.

    Attributes:
        n: how many they are.
        input_mean, output_mean: tokens a call.
        cost_mean: US dollars a call as charged, or None where a call had no price.
        seconds_mean: seconds a call.
        *_std: spread between calls where the caller knows it, or None.
    """

    n: int
    input_mean: float
    output_mean: float
    cost_mean: float | None = None
    seconds_mean: float | None = None
    input_std: float | None = None
    output_std: float | None = None
    cost_std: float | None = None
    seconds_std: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of each role, None where nothing."""

    solver: RoleSeen | None = None
    judge: RoleSeen | None = None
    tasks: int = 0


def seen_from_view(view: RunView) -> Seen:
    """What the view's calls show. Calls without usage count for money, at what they were charged, not for tokens."""
    solver, judge = (_role(_less(view.spend[role], view.probes[role])) for role in ("solver", "judge"))
    return Seen(solver, judge, view.done)


def _less(spend: Spend, probes: Spend) -> Spend:
    """Without the small questions before the run, which tell nothing of an answer's length."""
    sums = ("calls", "faults", "input", "output", "cost", "unknown", "seconds")
    return replace(spend, **{name: getattr(spend, name) - getattr(probes, name) for name in sums})


def _role(spend: Spend) -> RoleSeen | None:
    answered = max(spend.calls - spend.faults, 0)
    counted = max(answered - spend.unknown, 0)
    if not counted or not spend.input:
        return None
    return RoleSeen(counted, spend.input / counted, spend.output / counted,
                    spend.cost / answered if spend.priced else None, spend.seconds / spend.calls)
