"""Which browser the tests and the bench drive, how it is started (without a window, silent on the network), how long is waited."""

import os
from typing import Any

CHROMIUM = os.environ.get("L2BENCH_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 60_000
"""Milliseconds that a page is waited for; a busy machine is no fault."""


def patient(made: Any) -> Any:
    """A context or page that waits as long as all others."""
    made.set_default_timeout(PATIENCE)
    return made
