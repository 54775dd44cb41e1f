"""Units of voltage, in every spelling."""

from __future__ import annotations

UV_PER_UNIT = {"uv": 1.0, "mv": 1e3, "v": 1e6, "nv": 1e-3}


def plain_unit(text: str) -> str:
    """A unit in lower case without its Greek letter.

    Examples
    --------
    >>> plain_unit(" µV"), plain_unit("μV"), plain_unit("mV")
    ('uv', 'uv', 'mv')
    """
    return text.strip().lower().replace("µ", "u").replace("μ", "u")


def is_voltage(text: str) -> bool:
    """Whether a unit is one of voltage."""
    return plain_unit(text) in UV_PER_UNIT
