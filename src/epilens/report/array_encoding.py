"""Arrays as text for the page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

INVALID = -128
"""Code of a missing value."""


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian."""
    little = values.astype(values.dtype.newbyteorder("<"))
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()
