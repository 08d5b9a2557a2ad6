"""A stand-in for the evaluation engine that speaks its protocol by a script: standard library only, starts in 50 ms.

What a run does is read from `spec.solver.config` (tasks, criteria, delay, ...). Never sends anything anywhere.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

OUT = threading.Lock()
STOPS: dict[str, threading.Event] = {}


def tell(data: dict[str, Any]) -> None:
    """One protocol line."""
    with OUT:
        sys.stdout.write(json.dumps(data) + "\n")
        sys.stdout.flush()


class Run:
    """One scripted run in a thread."""

    def __init__(self, token: str, order: dict[str, Any]) -> None:
        self.token, self.order = token, order
        self.script = order["spec"]["solver"]["config"]
        self.folder = Path(order["places"]["run_dir"])
        self.prefix = order["spec"]["solver"]["model"].split("/")[-1]
        self.stop = STOPS[token] = threading.Event()

    def say(self, kind: str, **fields: Any) -> None:
        """One event."""
        tell({"run": self.token, "event": {"kind": kind, "t": time.time(), **fields}})

    def keys(self) -> list[str]:
        """Task keys, unlike those of a run of another model."""
        return [f"{self.prefix}{i}" for i in range(self.script.get("tasks", 3))]

    def criteria(self, key: str) -> list[dict[str, Any]]:
        """Planned criteria of a task."""
        return [{"id": f"{key}-{c:02d}", "layer": "task", "weight": 1 + c % 3} for c in range(self.script.get("criteria", 4))]

    def go(self) -> None:
        """The whole run, and its exit."""
        time.sleep(self.script.get("before", 0))
        if self.script.get("refuse"):
            return self.exit(2, self.script["refuse"])
        self.start()
        ledger = self.folder / "private" / "ledger.jsonl"
        known = set(ledger.read_text().split()) if self.order.get("resume") and ledger.exists() else set()
        with open(ledger, "a") as answered:
            for number, key in enumerate(self.keys()):
                if self.stop.is_set():
                    return self.stopped()
                if number == self.script.get("die_at") and not self.order.get("resume"):
                    os._exit(9)
                self.task(number, key, replay=key in known)
                if key not in known:
                    answered.write(key + "\n")
                    answered.flush()
        if self.script.get("silent"):
            return self.exit(0)
        self.say("run_finished", status="finished")
        self.exit(0)

    def start(self) -> None:
        """The first event."""
        tasks = [{"key": k, "competency": f"0{i % 3}. competency", "criteria": self.criteria(k)} for i, k in enumerate(self.keys())]
        self.say(
            "run_started", spec=self.order["spec"], spec_digest="d" * 64, tasks=tasks, versions={"engine": "scripted"},
            data={"kind": self.order["spec"]["source"], "name": "scripted", "available": len(tasks)},
            prompt={"version": "v1", "source": "own", "digest": "p" * 64}, differences=["scripted"],
            resumed=bool(self.order.get("resume")),
        )

    def task(self, number: int, key: str, replay: bool) -> None:
        """One task: answer, verdicts, outcome."""
        delay = 0 if replay else self.script.get("delay", 0)
        self.say("task_started", task=key)
        if self.script.get("wait") and not replay:
            tell({"run": self.token, "reserved": 0.25})
            self.say("waiting", role="solver", reason="rate_limit", seconds=self.script["wait"], attempt=2)
            self.stop.wait(self.script["wait"])
        self.stop.wait(delay)
        self.call(f"s/{key}/1/1", "solver", key)
        self.say("answered", task=key, model="scripted-1")
        for place, criterion in enumerate(self.criteria(key)):
            self.call(f"j/{key}/1/{criterion['id']}/1/1", "judge", key)
            verdict = None if (number + place) % 11 == 10 else (number + place) % 3 != 0
            extra = {} if verdict is None else {"verdict": verdict}
            self.say("verdict", task=key, criterion=criterion["id"], **{"verdict": None, **extra})
        reason = f"echo {json.dumps(self.order['credentials'])}" if self.script.get("echo") else ""
        if reason:
            print(reason, file=sys.stderr, flush=True)
        self.say("task_finished", task=key, outcome="scored", score=round(number % 7 / 7, 6), reason=reason)

    def call(self, name: str, role: str, key: str) -> None:
        """One answered call."""
        self.say("call", id=name, role=role, task=key, input=900, output=120, cost=0.0001, cost_source="table", seconds=0.1)

    def stopped(self) -> None:
        """The end after a stop."""
        if self.script.get("deaf"):
            return
        self.say("run_finished", status="stopped", reason="The run was stopped.")
        self.exit(1)

    def exit(self, code: int, error: str = "") -> None:
        """The last line of a run."""
        tell({"run": self.token, "exit": code, "error": error})


def main() -> None:
    """Read orders until standard input ends."""
    if "--broken" in sys.argv:
        sys.exit("this engine does not start")
    Path("environment.json").write_text(json.dumps(dict(os.environ)))
    tell({"ready": True, "versions": {"engine": "scripted"}, "pid": os.getpid()})
    orders = sys.stdin.buffer
    while line := orders.readline():
        order = json.loads(line)
        if order["op"] == "start":
            body = json.loads(orders.read(order["bytes"]))
            run = Run(order["run"], body)
            tell({"run": order["run"], "started": True, "pid": os.getpid()})
            threading.Thread(target=run.go, daemon=True).start()
        elif order["run"] in STOPS:
            stamp = Path(os.environ["HOME"]) / f"{order['op']}-{order['run']}"
            stamp.write_text(repr(time.time()))
            STOPS[order["run"]].set()
            if order["op"] == "kill":
                tell({"run": order["run"], "exit": -9, "error": ""})
    os._exit(0)


if __name__ == "__main__":
    main()
