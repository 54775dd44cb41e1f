"""`python -m benchmarks [NAME…]`: measure, print, write benchmarks/results/NAME.json.

Without names: the quick ones. `cohort` and `simulation` work on the whole `paper` shape and take
several minutes. `real [FIT.parquet [TEST.parquet]]` takes files of contact features; `learning
[FOLDER]` trains networks with changed settings; `fuzz [--inputs N]` damages inputs of every reader
and resumes where it stopped; `cohort_results RUN COHORT …` compares methods on simulated cohorts;
`kills [SECONDS]` kills commands at random moments; `scale [SHAPE …]` measures workers and
extrapolates to 10⁶ patients; `soak [SECONDS]` repeats the same work and looks for growth; `faults`
kills, restarts, fills and stops parts of a Dask cluster; `labels [ROOT…]` compares onset zones and
resections in sidecars; `background [SEEDS]` compares the simulated background with recorded normal
tissue; `transfer COHORT [TEST]` trains on simulated patients and tests on recorded ones;
`oddities [NAME…]` localizes odd inputs and fails if one is silently wrong.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

QUICK = ("descriptors", "file_to_cube", "memory", "networks", "training", "methods")
QUICK += ("resampling", "localize", "checking", "contact_features")
LONG = ("cohort", "simulation", "fuzz", "real", "learning", "onset", "cohort_results")
LONG += ("review", "kills", "scale", "soak", "faults", "labels", "transfer")
LONG += ("onset_check", "background", "plausibility", "recorded_candidates", "sensitivity")
LONG += ("oddities", "lens_settings")
WITH_ARGUMENTS = ("fuzz", "real", "learning", "kills", "scale", "soak")
WITH_ARGUMENTS += ("labels", "transfer", "background", "plausibility", "sensitivity")
WITH_ARGUMENTS += ("recorded_candidates", "cohort_results", "oddities", "lens_settings")
"""What follows the name is theirs."""
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    own = bool(names) and names[0] in WITH_ARGUMENTS
    names, arguments = (names[:1], names[1:]) if own else (names, [])
    unknown = set(names) - {*QUICK, *LONG}
    if unknown:
        print(f"benchmarks: unknown {', '.join(sorted(unknown))}; known: {', '.join(QUICK + LONG)}")
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
