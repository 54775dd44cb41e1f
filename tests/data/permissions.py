"""What a user who is not root may do."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def as_nobody(work: Callable[[], str]) -> str:
    """Result of `work` in a child process that is not root, to which permissions apply."""
    if os.getuid() != 0:
        return work()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on, a fork beside pytest-xdist's threads warns; the child only reads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgid(65534)
            os.setuid(65534)
            text = work()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode("utf-8", "replace")[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode("utf-8")
    os.waitpid(child, 0)
    return text
