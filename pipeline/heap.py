"""Keeps the evaluating process small and quick: rarer garbage collection, and free memory given back as tasks end.

Touches nothing but the interpreter's and the C library's own settings.
"""

import contextlib
import ctypes
import gc

GC_THRESHOLDS = (20_000, 20, 50)
"""Python's own are made for small heaps: with inspect's they cost up to a fifth of the time of a call."""
EVERY = 100
"""Tasks between two calls of `give_back`; one takes about 10 ms."""


def tune() -> None:
    """Set the collector to a heap of this size."""
    gc.set_threshold(*GC_THRESHOLDS)


def give_back() -> None:
    """Give free pages back to the system. glibc keeps them, scattered, and the process grows with every task it has done."""
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
