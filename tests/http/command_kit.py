"""Commands at the price of a fork: a program that has loaded the command line once and forks one process for each.

    python -m tests.http.command_kit        (JSON lines on standard input and output)

`{"args": [...], "log": PATH}` answers with the child's pid, `{"wait": PID}` with its exit code (less than 0: the signal).
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def serve() -> None:
    """Load, then answer until standard input ends."""
    from pipeline import engine, eval

    engine.preload()
    print("{}", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
        elif (answer := os.fork()) == 0:
            out = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            code = 70
            try:
                code = eval.main(order["args"])
            finally:
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                os._exit(code)
        print(json.dumps(answer), flush=True)


class Commands:
    """`with Commands() as run: pid = run.start(args, log)`."""

    def __enter__(self) -> "Commands":
        self._process = subprocess.Popen([sys.executable, "-m", "tests.http.command_kit"], cwd=ROOT, text=True, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, env={**os.environ, "FAKE_API_KEY": "canary-env-000111"})
        assert self._process.stdout is not None and self._process.stdout.readline() == "{}\n"
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)

    def _ask(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, args: list[str], log: Path) -> int:
        """Fork one command; its pid. What it prints is added to `log`."""
        return self._ask({"args": args, "log": str(log)})

    def wait(self, pid: int) -> int:
        """Its exit code."""
        return self._ask({"wait": pid})


if __name__ == "__main__":
    serve()
