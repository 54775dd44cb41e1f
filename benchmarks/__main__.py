"""`python -m benchmarks [NAME…]`: measure, print, write benchmarks/results/NAME.json.

Without names: the quick ones. `simulation` works on the whole `paper` shape and takes several
minutes. `real [FIT.parquet [TEST.parquet]]` takes files of contact features; `fuzz [--inputs N]`
damages inputs of every reader and resumes where it stopped; `cohort_results RUN COHORT …` compares
methods on simulated cohorts; `kills [SECONDS]` kills commands at random moments; `scale [SHAPE …]`
measures workers and extrapolates to 10⁶ patients; `soak [SECONDS]` repeats the same work and looks
for growth; `faults` kills, restarts, fills and stops parts of a Dask cluster; `labels [ROOT…]`
compares onset zones and resections in sidecars; `background [SEEDS]` compares the simulated
background with recorded normal tissue; `transfer COHORT [TEST]` trains on simulated patients and
tests on recorded ones; `oddities [NAME…]` localizes odd inputs and fails if one is silently wrong.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib import import_module
from pathlib import Path

QUICK = ("descriptors", "file_to_cube", "memory", "networks", "training", "methods")
QUICK += ("resampling", "localize", "checking", "contact_features")
HERE = Path(__file__).parent
RESULTS = HERE / "results"


def list_benchmarks() -> dict[str, bool]:
    """Names of the benchmarks, and whether words after the name are their arguments."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.py"))}
    measures = {
        name: re.search(r"^def measure\((.*)\)", text, re.M) for name, text in texts.items()
    }
    return {name: bool(match[1]) for name, match in measures.items() if match}


def main(names: list[str]) -> int:
    takes_arguments = list_benchmarks()
    own = bool(names) and takes_arguments.get(names[0], False)
    names, arguments = (names[:1], names[1:]) if own else (names, [])
    unknown = set(names) - set(takes_arguments)
    if unknown:
        print(
            f"benchmarks: unknown {', '.join(sorted(unknown))}; known: {', '.join(takes_arguments)}"
        )
        return 2
    missed = 0
    RESULTS.mkdir(exist_ok=True)
    for name in names or QUICK:
        rows = import_module(f"benchmarks.{name}").measure(*arguments)
        print(f"\n{name}")
        for row in rows:
            goal = row.get("goal", "")
            met = row.get("met")
            missed += met is False
            verdict = "" if met is None else "met" if met else "MISSED"
            print(
                f"  {row['what']:<66} {row['value']:>10.3g} {row['unit']:<10} {goal:<12} {verdict}"
            )
        about = {"machine": platform.machine(), "processors": os.cpu_count()}
        text = json.dumps({"about": about, "rows": rows}, indent=1) + "\n"
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"\n{RESULTS}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
