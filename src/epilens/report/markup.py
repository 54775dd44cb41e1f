"""Text and data that go into a page without ever becoming markup or code."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from epilens.core.console import visible


def policy(script: str, style: str) -> str:
    """Content security policy: this script and this style, nothing from anywhere else."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(style)}'; base-uri 'none'; form-action 'none'"
    )


def as_text(text: str) -> str:
    """Text for markup."""
    return (
        visible(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
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
