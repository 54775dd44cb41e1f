"""Data that go into a page without ever becoming markup or code, and its policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

INVALID = -128
"""Code of a missing value in an array of int8."""


def policy(script: str, style: str) -> str:
    """Content security policy: this script and this style, nothing from anywhere else."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(style)}'; base-uri 'none'; form-action 'none'"
    )


def as_data(tree: Any) -> str:
    r"""JSON that cannot leave its script element.

    Examples
    --------
    >>> as_data({"name": "</script>\u2028"})
    '{"name":"\\u003c/script\\u003e\\u2028"}'
    """
    text = json.dumps(tree, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian."""
    little = values.astype(values.dtype.newbyteorder("<"))
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()


def fill(template: str, pieces: Mapping[str, str]) -> str:
    """A template with its placeholders, such as `{{TITLE}}`, replaced in one pass.

    Nothing inside a piece is read as a placeholder.
    """
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: pieces[match[1]], template)
