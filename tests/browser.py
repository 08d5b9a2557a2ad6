"""Which browser the tests and the bench drive, and how it is started: without a window, and silent on the network."""

import os

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
