"""Cells and JSON as the files of the derivative have them."""

from __future__ import annotations

import math
from typing import Any

from epilens.io.atomic import json_text

DISCLAIMER = "Research use only. Not for diagnosis, not for treatment decisions."


def cell(value: Any) -> str:
    """A value as BIDS writes it: numbers to four digits, `n/a` for nothing.

    Examples
    --------
    >>> cell(None), cell(0.123456), cell(3.0), cell("A1")
    ('n/a', '0.1235', '3', 'A1')
    """
    if value is None or value == "":
        return "n/a"
    if isinstance(value, float):
        return "n/a" if math.isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)


def as_json(tree: Any) -> bytes:
    """Indented JSON, as every file of the derivative has it."""
    return json_text(tree).encode()
