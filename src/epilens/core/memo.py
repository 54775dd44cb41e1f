"""Results of the last computations, by all that they depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")


class LastResults(Generic[Result]):
    """At most so many results; the oldest gives way to a new one."""

    def __init__(self, most: int):
        self._most = most
        self._results: dict[Hashable, Result] = {}

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of a key, computed unless it is among the last ones."""
        if key in self._results:
            return self._results[key]
        result = compute()
        while len(self._results) >= self._most:
            self._results.pop(next(iter(self._results)))
        self._results[key] = result
        return result


def array_key(x: NDArray[Any]) -> tuple[Hashable, ...]:
    """Content, shape and type of an array, as part of a key."""
    content = hashlib.blake2b(np.ascontiguousarray(x).tobytes()).hexdigest()
    return content, x.shape, x.dtype.str
