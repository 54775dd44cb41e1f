"""One self-contained HTML page of a localized patient: no network, opens from a mail.

Everything that comes from files goes into one block of JSON in which no character can end the
block; the script builds the page from it with text nodes only. A content security policy allows
exactly this script and this style, by their hashes, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import epilens
from epilens.localization.result import Localization
from epilens.report.bids_text import DISCLAIMER
from epilens.report.derivative import write_derivative
from epilens.report.markup import as_data, as_text, policy
from epilens.report.payload import payload
from epilens.report.pdf import sheet_rules

SCRIPTS = (
    *("state", "marks", "regions", "export", "table", "shafts", "implant", "heatmap", "traces"),
    *("strips", "propagation", "implantation", "why", "compare", "header", "main"),
)
"""Files of viewer/, in the order in which they are put together."""


def write_report(localized: Localization, out: str | Path, read: Sequence[str] = ()) -> Path:
    """Write the page and the BIDS derivative below `out`; returns the page.

    read : digests of the files that were given.
    """
    out = Path(out)
    write_derivative(localized, out, page(localized), read)
    return out / f"{localized.patient}.html"


def page(localized: Localization) -> str:
    """The page as text."""
    folder = files("epilens.report") / "viewer"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = "\n(function () {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"
    software = f"EpiLENS {epilens.__version__}"
    style = (folder / "style.css").read_text(encoding="utf-8")
    style += sheet_rules(localized.patient, localized.analysed["date"], software)
    text = (folder / "page.html").read_text(encoding="utf-8")
    pieces = {
        "POLICY": policy(script, style),
        "TITLE": as_text(f"{localized.patient}: EpiLENS localization"),
        "DISCLAIMER": as_text(DISCLAIMER),
        "STYLE": style,
        "DATA": as_data(payload(localized)),
        "SCRIPT": script,
    }
    # In one pass, so that nothing inside a piece is read as a placeholder.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: pieces[match[1]], text)
