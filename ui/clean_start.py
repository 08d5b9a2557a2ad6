"""Starts the program a second time, in its own place, with an environment that holds no secret.

What a process was started with stays readable in /proc/<pid>/environ for as long as it lives, whatever it does to
`os.environ`, and each child that is given an environment shows that one. So the few secrets that the app needs go to
itself through a pipe, and everything that is not on the list below is left behind. Imports nothing large: it runs first.
"""

import contextlib
import json
import os
import stat
import sys
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from pipeline.core.passwords import carries_password

# A list of what may stay, not a pattern of what must go: nobody can list the names under which owners keep secrets.
KEPT = frozenset("""
ACCELERATOR CPU_CORES MEMORY SYSTEM SPACE_ID SPACE_HOST SPACE_AUTHOR_NAME SPACE_REPO_NAME SPACE_TITLE SPACE_SUBDOMAIN
SPACE_CREATOR_USER_ID OAUTH_CLIENT_ID OAUTH_SCOPES OPENID_PROVIDER_URL
HF_ENDPOINT HF_HOME HF_TOKEN_PATH HF_HUB_CACHE HF_HUB_OFFLINE HF_HUB_ETAG_TIMEOUT HF_HUB_DOWNLOAD_TIMEOUT HF_HUB_VERBOSITY
HF_HUB_DISABLE_TELEMETRY HF_HUB_DISABLE_XET HF_HUB_DISABLE_PROGRESS_BARS HF_HUB_DISABLE_SYMLINKS_WARNING
HF_HUB_DISABLE_IMPLICIT_TOKEN HF_XET_CACHE HUGGINGFACE_HUB_CACHE TASKS_REPO TASKS_CSV_FILE TASKS_RESOURCES_DIR
L2BENCH_ALLOW_CUSTOM_URL L2BENCH_CSV_PATH L2BENCH_DEMO_DELAY L2BENCH_ENGINE_PYTHON L2BENCH_GATED_COUNTS L2BENCH_HOME
L2BENCH_HOST L2BENCH_HOSTS L2BENCH_KEEP_DAYS L2BENCH_MAX_DEMO_RUNS L2BENCH_MAX_DEMO_RUNS_PER_VISITOR L2BENCH_MAX_DEMO_TASKS
L2BENCH_MAX_QUEUE_PER_VISITOR L2BENCH_MAX_RUNS L2BENCH_MAX_RUNS_PER_VISITOR L2BENCH_MAX_RUN_MB L2BENCH_MAX_TASKS
L2BENCH_MAX_WATCHERS L2BENCH_MAX_WATCHERS_PER_VISITOR L2BENCH_DEMO_STARTS_PER_HOUR L2BENCH_TOTAL_DEMO_STARTS_PER_HOUR
L2BENCH_MIN_FREE_MB L2BENCH_PORT L2BENCH_PROMPT_SPACE L2BENCH_PROVIDER_HOSTS
L2BENCH_RESOURCES_DIR L2BENCH_RESULTS_REPO L2BENCH_STARTS_PER_HOUR L2BENCH_TOTAL_STARTS_PER_HOUR
PATH HOME USER LOGNAME HOSTNAME TERM NO_COLOR COLUMNS LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES LC_TIME LC_NUMERIC LC_COLLATE
TZ TMPDIR TEMP TMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH VIRTUAL_ENV XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME MPLCONFIGDIR
PYTHONPATH PYTHONHOME PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX PYTHONHASHSEED PYTHONUTF8 PYTHONSAFEPATH
PYTHONIOENCODING PYTHONWARNINGS PYTHONNOUSERSITE PYTHONUSERBASE PYTHONFAULTHANDLER PYTHONDEVMODE PYTHONMALLOC
OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS MALLOC_ARENA_MAX
SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
""".split())
# What the app itself reads of the owner's secrets; see `ui.signin`.
HANDED = ("OAUTH_CLIENT_SECRET", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "HUGGINGFACE_API_KEY",
          "L2BENCH_RESULTS_TOKEN")
SIGN = "HANDED_OVER"  # the pipe's number, for the moment between the two starts
LARGEST = 16_000  # bytes; what every system's pipe takes without a reader

_handed: dict[str, str] = {}


class Settings(ChainMap[str, str]):
    """What was handed over, before the environment. A name that is taken out is taken out of both."""

    def pop(self, name: str, default: Any = "") -> Any:
        """The first value under `name`."""
        found = [place.pop(name, "") for place in self.maps]
        return next((value for value in found if value), default)


def settings() -> Settings:
    """The settings of this process, its owner's secrets among them."""
    return Settings(_handed, os.environ)


def cleaned(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment may stay readable to everyone on this machine."""
    return {name: value for name, value in environ.items() if name in KEPT and not carries_password(name, value)}


def clean() -> None:
    """Return in a process whose start environment is clean; the same process, with the same arguments.

    Where a system cannot replace a program in its place (Windows), the environment in memory is cleaned, no more.
    """
    if _taken():
        return
    kept = cleaned(os.environ)
    handed = {name: os.environ[name] for name in HANDED if os.environ.get(name)}
    for name in sorted(os.environ.keys() & KEPT - kept.keys()):
        print(f"{name} holds a user name, a password or a token and is not used.", file=sys.stderr, flush=True)
    if os.name == "posix" and sys.executable:
        _start_again(kept, json.dumps(handed).encode())
    _handed.update(handed)
    os.environ.clear()
    os.environ.update(kept)


def _start_again(kept: Mapping[str, str], raw: bytes) -> None:
    """Replace this program by itself. Returns only where the system does not let it."""
    reading, writing = os.pipe()
    try:
        if len(raw) > LARGEST:
            return
        os.write(writing, raw)
        os.close(writing)
        os.set_inheritable(reading, True)
        with contextlib.suppress(OSError):
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**kept, SIGN: f"{reading}.{os.getpid()}"})
    finally:
        for end in (reading, writing):
            with contextlib.suppress(OSError):
                os.close(end)


def _taken() -> bool:
    """Take what the first start handed over. Whether this is the second start."""
    number, _, pid = os.environ.pop(SIGN, "").partition(".")
    if pid != str(os.getpid()) or not number.isdigit():  # none, or one that another process has left
        return False
    with contextlib.suppress(OSError, ValueError), os.fdopen(int(number), "rb") as pipe:
        if stat.S_ISFIFO(os.fstat(pipe.fileno()).st_mode):
            handed = json.loads(pipe.read())
            _handed.update({name: handed[name] for name in HANDED if name in handed})
    return True  # even where the pipe was lost: a third start would lose it again
