"""All measurements in one table: `python -m bench`, or `make bench`. Each part also runs alone (`python -m bench.speed`).

Exit 1 where an aim was missed. Figures are ratios within one run wherever the machine's speed would decide else.
`--full` measures the plain way on all 1,000 tasks too, which takes some minutes more.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator

from bench import cost, speed, start
from bench.table import Row, show

_LINE = re.compile(r"^(?P<name>.+?)\s+(?P<figure>[\d.,]+) (?P<unit>ms|s|bytes)[,\s]+aim (?:under )?(?P<aim>[\d.,]+)", re.M)


def main() -> int:
    """Run every part; 1 where an aim was missed or a part failed."""
    began = time.monotonic()
    met = show(rows("--full" in sys.argv))
    print(f"\n{time.monotonic() - began:.0f} s in all; {'all aims met' if met else 'an aim was missed'}")
    return int(not met)


def rows(full: bool) -> Iterator[Row]:
    """The rows of all parts, as they are measured."""
    yield from _printed("data")
    yield from start.rows()
    yield from speed.rows()
    yield from cost.rows(full)
    yield from _printed("live_page")


def _printed(part: str) -> Iterator[Row]:
    """The rows of a part that prints its figures with their aims."""
    done = subprocess.run([sys.executable, "-m", f"bench.{part}"], capture_output=True, text=True)
    found = [Row(part, m["name"], _number(m["figure"]), m["unit"], _number(m["aim"])) for m in _LINE.finditer(done.stdout)]
    if not found:
        words = (done.stderr.strip().splitlines() or ["no figures"])[-1]
        found = [Row(part, "did not run", 1, "", 0, words[:100])]
    yield from found


def _number(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))


if __name__ == "__main__":
    sys.exit(main())
