"""A child that must not outlive its parent: the kernel kills it when the parent ends, whatever state the two are in.

A pipe that closes tells a child the same, but one that is stopped or busy in foreign code does not read it.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed when the thread that started it ends. Linux only; elsewhere the pipe has to do.

    Args:
        parent: the parent's pid, where it is known: one that ended before this call was made is noticed by it.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        except (OSError, AttributeError):  # another C library
            return
    if parent is not None and os.getppid() != parent:
        os._exit(1)
