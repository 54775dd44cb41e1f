"""One self-contained HTML page of a localized patient, and the same page on paper.

The page needs no network and opens from a mail. A PDF is printed if Chromium is installed.

Everything that comes from files goes into one block of JSON in which no character can end the
block; the script builds the page from it with text nodes only. A content security policy allows
exactly this script and this style, by their hashes, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import epilens
from epilens.core.console import say
from epilens.core.html_repr import as_text
from epilens.core.provenance import code_digest, digest_of
from epilens.io.atomic import write_bytes_atomically
from epilens.localization.result import Localization
from epilens.report.markup import as_data, fill, policy
from epilens.report.patient.bids_text import DISCLAIMER
from epilens.report.patient.derivative import write_derivative
from epilens.report.patient.payload import payload

SCRIPTS = (
    *("state", "marks", "regions", "export", "table", "shafts", "implant", "heatmap", "traces"),
    *("strips", "propagation", "implantation", "why", "compare", "header", "main"),
)
"""Files of viewer/, in the order in which they are put together."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge")
LONGEST_S = 120
_HOW = "open the page in a browser and print it on A4, with background graphics"


def write_report(localized: Localization, out: str | Path, read: Sequence[str] = ()) -> Path:
    """Write the page and the BIDS derivative below `out`; returns the page.

    read : digests of the files that were given.
    """
    out = Path(out)
    write_derivative(localized, out, page(localized), read)
    return out / f"{localized.patient}.html"


def page(localized: Localization) -> str:
    """The page as text."""
    folder = files("epilens.report.patient") / "viewer"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    script = "\n(function () {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"
    software = f"EpiLENS {epilens.__version__}"
    style = (folder / "style.css").read_text(encoding="utf-8")
    style += sheet_rules(localized.patient, localized.analysed["date"], software)
    return fill(
        (folder / "page.html").read_text(encoding="utf-8"),
        {
            "POLICY": policy(script, style),
            "TITLE": as_text(f"{localized.patient}: EpiLENS localization"),
            "DISCLAIMER": as_text(DISCLAIMER),
            "STYLE": style,
            "DATA": as_data(payload(localized)),
            "SCRIPT": script,
        },
    )


def page_digest() -> str:
    """Digest of the code and of the files in viewer/ from which pages are made."""
    folder = files("epilens.report.patient") / "viewer"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    return digest_of({"code": code_digest("epilens.report.patient.page"), "viewer": texts})


def sheet_rules(patient: str, date: str, software: str) -> str:
    """Style rules: patient, disclaimer, date and number on every sheet."""
    corners = {
        "top-left": _quoted(f"{patient}: contacts ranked by EpiLENS"),
        "top-right": _quoted(DISCLAIMER),
        "bottom-left": _quoted(f"{software}, analysed on {date}"),
        "bottom-right": '"Page " counter(page) " of " counter(pages)',
    }
    boxes = " ".join(f"@{corner} {{ content: {text}; }}" for corner, text in corners.items())
    return f"\n@page {{ {boxes} }}\n"


def _quoted(text: str) -> str:
    r"""A string of a style sheet; all but plain characters are written as numbers.

    Examples
    --------
    >>> _quoted('sub-1 "}</style>')
    '"sub-1 \\22 \\7d \\3c \\2f style\\3e "'
    """
    plain = "".join(
        c if c.isascii() and (c.isalnum() or c in " .,:-_") else f"\\{ord(c):x} " for c in text
    )
    return f'"{plain}"'


def find_browser() -> str | None:
    """Path of the first Chromium that is installed."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def write_pdf(page: Path) -> Path | None:
    """The page as a PDF next to it; None, with a message on stderr, if that is impossible."""
    browser = find_browser()
    if browser is None:
        say(f"No PDF: there is no Chromium on the PATH. To get one, {_HOW}.")
        return None
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "page.pdf"
        why = _print(browser, page, printed)
        if why:
            say(f"No PDF: Chromium {why}. To get one, {_HOW}.")
            return None
        return write_bytes_atomically(page.with_suffix(".pdf"), printed.read_bytes())


def _print(browser: str, page: Path, printed: Path) -> str:
    """Print a page into a file; returns what went wrong, or nothing."""
    command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions"]
    command += ["--disable-background-networking", f"--user-data-dir={printed.parent / 'profile'}"]
    command += ["--no-pdf-header-footer", f"--print-to-pdf={printed}", page.resolve().as_uri()]
    # Its sandbox does not work for the superuser; the page is our own and loads nothing.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return f"took longer than {LONGEST_S} s"
    except OSError as error:
        return f"could not be started ({error.strerror})"
    whole = printed.exists() and printed.read_bytes().startswith(b"%PDF")
    return "" if whole else f"wrote none (exit code {done.returncode})"
