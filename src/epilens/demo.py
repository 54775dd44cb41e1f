"""The demo: the main job on the embedded default cohort, for people who have no data yet."""

from __future__ import annotations

import json
from pathlib import Path

from epilens.data.bids import read_bids
from epilens.data.cohort import summarise
from epilens.data.simulate import count_runs, simulate
from epilens.evidence.cube import Cohort, open_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
from epilens.report.cohort import print_cohort
from epilens.report.figures import evidence_figure, save_png
from epilens.terminal import progress, say

SHAPE, SEED = "demo", 0
PICTURED = "sub-W02"


def run_demo(out: Path, jobs: int) -> Path:
    """Simulate and describe (unless done), show the cohort and a first picture."""
    cohort = out / "cohort"
    if _made_before(cohort):
        say(f"using the simulated cohort in {cohort}")
    else:
        with progress("simulating a four-center cohort", count_runs(SHAPE, SEED)) as tick:
            simulate(cohort, SHAPE, SEED, jobs, tick)
    parts = [read_bids(root, "simulated") for root in sorted(cohort.iterdir()) if root.is_dir()]
    print_cohort(summarise(parts))
    cubes = out / "cubes"
    with progress("describing its seizures", sum(map(len, parts))) as tick:
        describe_cohort(parts, cubes, Plan(), jobs, tick=tick)
    picture = _picture(open_cohort(cubes), out / "evidence.png")
    say(f"first picture: {picture}")
    say("Simulated patients: nothing here is clinical evidence. For research, not for diagnosis.")
    return out


def _picture(cohort: Cohort, path: Path) -> Path:
    """Z-Δ of two descriptors in the first seizure of one patient, channels × time, EZ marked."""
    figure = evidence_figure(cohort[PICTURED], ("line_length", "log_high_gamma_power"))
    return save_png(figure, path)


def _made_before(cohort: Path) -> bool:
    marker = cohort / "simulation.json"
    return marker.exists() and json.loads(marker.read_text()) == {"shape": SHAPE, "seed": SEED}
