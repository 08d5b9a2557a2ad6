"""Keeps secrets out of what a process prints and logs, whoever prints it: standard output, standard error, log records.

Never changes a text that holds no secret. Log records are changed where they are made, so that every handler of every
package gets them clean.
"""

import functools
import logging
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec

from pipeline.core.printing import Printer
from pipeline.core.redact import Redactor
from pipeline.core.secret_names import machine_secrets

P = ParamSpec("P")
_looks: list[Callable[[str], str]] = []


class Known:
    """The redactor of this machine's own secrets; made anew by `look_again` once an env file was read."""

    def __init__(self) -> None:
        self._redact = Redactor()

    def look_again(self) -> None:
        """Take in what the environment holds now."""
        self._redact = Redactor(machine_secrets(os.environ))

    def everything(self, text: str) -> str:
        """The text without secrets and without what has the shape of a key."""
        return self._redact(text)

    def secrets(self, text: str) -> str:
        """The text without secrets."""
        return self._redact.secrets(text)


KNOWN = Known()


def guarded(command: Callable[P, int]) -> Callable[P, int]:
    """A command whose output and log records lose the secrets of this machine's environment; a terminal can show its output."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        out, err = sys.stdout, sys.stderr
        KNOWN.look_again()
        # What has the shape of a key stays in results on standard output: a program may read them.
        sys.stdout, sys.stderr = Printer(out, KNOWN.secrets), Printer(err, KNOWN.everything)  # type: ignore[assignment]
        guard_logs(KNOWN.everything)
        try:
            return command(*args, **kwargs)
        finally:
            sys.stdout, sys.stderr = out, err
            unguard_logs(KNOWN.everything)

    return run


def guard_logs(take_out: Callable[[str], str]) -> None:
    """From now on, every log record of this process loses what `take_out` takes out; several may be given."""
    made = logging.getLogRecordFactory()
    if not getattr(made, "l2bench", False):

        def make(*args: Any, **kwargs: Any) -> logging.LogRecord:
            return _clean(made(*args, **kwargs))

        make.l2bench = True  # type: ignore[attr-defined]
        logging.setLogRecordFactory(make)
    _looks.append(take_out)


def unguard_logs(take_out: Callable[[str], str]) -> None:
    """Undo one `guard_logs`: what it knew is known no more."""
    if take_out in _looks:
        _looks.remove(take_out)


def _clean(record: logging.LogRecord) -> logging.LogRecord:
    try:
        text = record.getMessage()
        clean = _taken_out(text)
        if clean != text:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0] is not None:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            record.exc_text = clean = _taken_out(trace)
            if clean != trace:  # handlers that format the exception themselves would format it with the secret
                record.exc_info = None
    except Exception:  # noqa: BLE001 - a record that cannot be formatted is its handler's affair
        pass
    return record


def _taken_out(text: str) -> str:
    for look in list(_looks):
        text = look(text)
    return text
