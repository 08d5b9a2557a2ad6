"""Troubles of the machine a run is on: a full disk, a folder that has gone, too many open files, no memory. Pure words.

They are nobody's fault in a measurement: the run pauses and goes on later. Never reads a provider's fault as one of them.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.errors import UserError

GO_ON = "Nothing more is sent, and what was paid for is kept; mend it, then go on with the run."
_FILES = {
    errno.ENOSPC: "The disk is full.", errno.EDQUOT: "The disk is full.",
    errno.EROFS: "The run's folder cannot be written.", errno.EACCES: "The run's folder cannot be written.",
    errno.EPERM: "The run's folder cannot be written.", errno.ENOENT: "The run's folder has gone.",
    errno.ENOTDIR: "The run's folder has gone.", errno.ESTALE: "The run's folder has gone.",
    errno.EIO: "The disk cannot be written.", errno.EFBIG: "A file of the run may not grow any more.",
}
_PROCESS = {
    errno.EMFILE: "Too many files are open.", errno.ENFILE: "Too many files are open.",
    errno.ENOMEM: "The memory is full.", errno.EAGAIN: "No further process can be started.",
}
_AT_A_CALL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What is this machine's own trouble where a request was to leave: a network refuses with other numbers of the same kind."""
_NUMBER = re.compile(r"\[Errno (\d+)\]")


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and all that stand behind it or in its group; at most 50."""
    queue, seen = [error], 0
    while queue and seen < 50:
        if (e := queue.pop(0)) is not None:
            seen += 1
            yield e
            queue += [*(e.exceptions if isinstance(e, BaseExceptionGroup) else ()), e.__cause__, e.__context__]


def words(error: BaseException | None) -> str:
    """The machine's trouble behind an exception in one sentence, or "" where there is none."""
    for e in causes(error):
        if isinstance(e, MemoryError):
            return _PROCESS[errno.ENOMEM]
        if isinstance(e, OSError) and (found := (_FILES | _PROCESS).get(e.errno or 0)):
            return found
    return ""


def words_at_a_call(error: BaseException | None) -> str:
    """As `words`, for a request that did not leave; asyncio hides the numbers of several tries in its text."""
    for e in causes(error):
        if isinstance(e, MemoryError):
            return _PROCESS[errno.ENOMEM]
        if isinstance(e, OSError):
            numbers = {e.errno} if e.errno else {int(n) for n in _NUMBER.findall(str(e))}
            if found := numbers & _AT_A_CALL:
                return (_FILES | _PROCESS)[found.pop()]
    return ""


def sentence(error: BaseException | None) -> str:
    """What a run that is paused by this trouble says; "" where it is none."""
    return f"{found} {GO_ON}" if (found := words(error)) else ""


@contextmanager
def in_words() -> Iterator[None]:
    """Files of the server are written inside: what the disk refuses becomes a sentence.

    Raises:
        UserError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        found = words(error) or f"The server's disk took no more: {error.strerror or type(error).__name__}."
        raise UserError(found, "", "Tell the owner of this Space, and try again later.") from None
