"""Known vulnerabilities of the locked packages: `make audit`.

pip-audit says "none found" where its service knows none of the packages, as behind a mirror or
without a network. So what was not looked up is counted, and said; only what is found fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")
COMMAND = (sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format", "json")


def look_up(command: Sequence[str], timeout_s: float = 300) -> list[dict[str, Any]] | None:
    """What pip-audit says of each package; None where it could not ask."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return json.loads(done.stdout)["dependencies"]
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return None


def judge(packages: Sequence[dict[str, Any]] | None) -> tuple[str, int]:
    """What to say, and the exit code: 1 where a package has a known vulnerability."""
    if packages is None:
        return "vulnerabilities: could not be checked (no answer from the service)", 0
    found = [(p["name"], v["id"]) for p in packages for v in p.get("vulns", ())]
    skipped = sum("skip_reason" in package for package in packages)
    looked_up = f"{len(packages) - skipped} of {len(packages)} packages were looked up"
    if found:
        named = ", ".join(f"{name} ({number})" for name, number in found)
        return f"vulnerabilities: {named}; {looked_up}", 1
    if skipped == len(packages):
        return f"vulnerabilities: could not be checked ({looked_up})", 0
    return f"vulnerabilities: none known; {looked_up}", 0


def main() -> int:
    locks = [part for lock in LOCKS for part in ("--requirement", str(ROOT / lock))]
    text, code = judge(look_up([*COMMAND, *locks]))
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
