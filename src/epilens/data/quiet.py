"""Libraries that open a file print and warn; here they are silenced, one thread at a time."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout

# Filters of warnings and stdout belong to the process, not to a thread.
_LOCK = threading.Lock()


@contextmanager
def quiet() -> Generator[list[warnings.WarningMessage]]:
    """Record warnings and drop text on stdout, which carries only what the user asked for.

    One thread at a time: a thread that ends would otherwise restore what another one still needs.
    """
    with _LOCK, warnings.catch_warnings(record=True) as caught, redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        yield caught
