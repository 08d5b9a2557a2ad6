"""Stands in for the engine in `bench.live_page`: one run of so many tasks at so many a second. Evaluates nothing.

Speaks the engine's protocol on its pipe; numbers come from the run's solver settings.
"""

import json
import random
import sys
import time
from typing import Any

LAYERS = ("task", "consensus", "universal")


def tell(data: dict[str, Any]) -> None:
    """One line of the protocol."""
    sys.stdout.write(json.dumps(data, separators=(",", ":")) + "\n")


def plan(tasks: int, criteria: int) -> list[dict[str, Any]]:
    """Tasks over 12 competencies, each with its criteria over the three layers; every 17th weight is a penalty."""
    return [
        {
            "key": str(100 + i),
            "competency": f"{1 + i % 12:02d}. Competency number {1 + i % 12}",
            "criteria": [
                {
                    "id": f"{100 + i}-{c:02d}",
                    "layer": LAYERS[min(2, c * 3 // criteria)],
                    "weight": -3 if (i + c) % 17 == 16 else 1 + c % 7,
                }
                for c in range(criteria)
            ],
        }
        for i in range(tasks)
    ]


def start(run: str, spec: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """The first event."""
    return {
        "run": run,
        "event": {
            "kind": "run_started",
            "t": time.time(),
            "spec": spec,
            "spec_digest": "0" * 64,
            "versions": {},
            "tasks": tasks,
            "data": {"kind": "demo", "name": "scripted tasks", "available": len(tasks)},
            "prompt": {"version": "v1", "source": "own", "digest": "0" * 64},
            "differences": ["scripted run"],
        },
    }


def say(run: str, kind: str, **fields: Any) -> None:
    """One event."""
    tell({"run": run, "event": {"kind": kind, "t": time.time(), **fields}})


def one_task(run: str, task: dict[str, Any], dice: random.Random) -> None:
    """All events of one task, as a run of a priced model says them."""
    key, met, most = task["key"], 0, 0
    say(run, "task_started", task=key)
    say(
        run,
        "call",
        id=f"s/{key}/1/1",
        role="solver",
        task=key,
        input=900,
        output=700,
        cost=0.004,
        cost_source="table",
        seconds=9.0,
    )
    say(run, "answered", task=key)
    for criterion in task["criteria"]:
        verdict = dice.random() < 0.7
        most += max(0, criterion["weight"])
        met += criterion["weight"] if verdict else 0
        say(
            run,
            "call",
            id=f"j/{key}/1/{criterion['id']}/1/1",
            role="judge",
            task=key,
            criterion=criterion["id"],
            input=2400,
            output=300,
            cost=0.011,
            cost_source="table",
            seconds=4.0,
        )
        say(run, "verdict", task=key, criterion=criterion["id"], verdict=verdict, strict=verdict)
    say(run, "task_finished", task=key, outcome="scored", score=met / most)


def perform(run: str, order: dict[str, Any]) -> None:
    """The run, in its own time."""
    config, dice = order["spec"]["solver"]["config"], random.Random(1)
    tasks = plan(config["tasks"], config["criteria"])
    tell({"run": run, "started": True, "pid": 0})
    tell(start(run, order["spec"], tasks))
    sys.stdout.flush()
    time.sleep(config["before"])
    begun = time.monotonic()
    for number, task in enumerate(tasks):
        wait = begun + number / config["rate"] - time.monotonic()
        if wait > 0:
            sys.stdout.flush()
            time.sleep(wait)
        one_task(run, task, dice)
    say(run, "run_finished", status="finished")
    tell({"run": run, "exit": 0, "error": ""})
    sys.stdout.flush()


if __name__ == "__main__":
    tell({"ready": True, "versions": {}, "pid": 0})
    sys.stdout.flush()
    while line := sys.stdin.buffer.readline():
        given = json.loads(line)
        if given["op"] == "start":
            perform(given["run"], json.loads(sys.stdin.buffer.read(given["bytes"])))
