"""Keeps the evaluating process small and quick: rarer garbage collection, and free memory given back as tasks end.

Touches nothing but the interpreter's and the C library's own settings.
"""

import contextlib
import ctypes
import gc

GC_THRESHOLDS = (20_000, 20, 50)
"""Python's own are made for small heaps: with inspect's they cost up to a fifth of the time of a call."""
EVERY = 100
"""Tasks between two calls of `give_back`; one takes a tenth of a second."""
OWN_PAGES = 64 * 1024
"""Bytes from which a block gets pages of its own, which go back when it is freed: a task's log entry, a file's text."""
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h; a fixed value also keeps glibc from raising it, up to 32 MB


def tune() -> None:
    """Set collector and allocator to a heap of this size."""
    gc.set_threshold(*GC_THRESHOLDS)
    _libc("mallopt", _M_MMAP_THRESHOLD, OWN_PAGES)


def give_back() -> None:
    """Give free pages back to the system. glibc keeps them, scattered, and the process grows with every task it has done."""
    gc.collect()
    _libc("malloc_trim", 0)


def _libc(name: str, *values: int) -> None:
    with contextlib.suppress(AttributeError, OSError):  # another C library
        getattr(ctypes.CDLL(None), name)(*values)
