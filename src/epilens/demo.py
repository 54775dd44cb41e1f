"""The demo: the main job on the embedded default cohort, for people who have no data yet."""

from __future__ import annotations

import json
from pathlib import Path

from epilens.data.bids import read_bids
from epilens.data.cohort import summarise
from epilens.data.simulate import count_runs, simulate
from epilens.report.cohort import print_cohort, write_audit
from epilens.terminal import progress, say

SHAPE, SEED = "demo", 0


def run_demo(out: Path, jobs: int) -> Path:
    """Simulate (unless done), then show the cohort and what was left out."""
    cohort = out / "cohort"
    if _made_before(cohort):
        say(f"using the simulated cohort in {cohort}")
    else:
        with progress("simulating a four-center cohort", count_runs(SHAPE, SEED)) as tick:
            simulate(cohort, SHAPE, SEED, jobs, tick)
    parts = [read_bids(root, "simulated") for root in sorted(cohort.iterdir()) if root.is_dir()]
    print_cohort(summarise(parts))
    write_audit(parts, out / "audit.tsv")
    say("Simulated patients: nothing here is clinical evidence. For research, not for diagnosis.")
    return out


def _made_before(cohort: Path) -> bool:
    marker = cohort / "simulation.json"
    return marker.exists() and json.loads(marker.read_text()) == {"shape": SHAPE, "seed": SEED}
