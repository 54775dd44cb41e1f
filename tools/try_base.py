"""Try the base installation: `python try_base.py OUT` writes an EDF, localizes it, checks the page.

Uses nothing but the installed package; no compiler, no network, no extra.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

EXTRAS = ("torch", "numba", "sklearn", "lightgbm", "pyarrow", "nilearn", "distributed")


def run(*arguments: str) -> str:
    """What a verb prints."""
    command = [sys.executable, "-m", "epilens", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main(out: Path) -> None:
    """Simulate a small cohort, localize the first recording in EDF with the shipped model."""
    present = [name for name in EXTRAS if find_spec(name)]
    print("packages of extras:", ", ".join(present) or "none")
    run("simulate", str(out / "cohort"), "--shape", "tiny")
    edf = sorted((out / "cohort").glob("*/sub-*/**/*.edf"))[0]
    patient = next(part for part in edf.parents if part.name.startswith("sub-"))
    page = Path(run("localize", str(patient), "--out", str(out / "localized")))
    assert "not for diagnosis" in page.read_text(encoding="utf-8"), page
    print(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
