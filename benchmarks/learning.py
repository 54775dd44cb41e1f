"""The paper's training with one setting of the plan changed at a time.

`python -m benchmarks learning [FOLDER]`: PRQ-Net and BCR-Net, cross-validated on a simulated cohort
of the shape `demo` (seed 20; 0-2 are reserved for reports). With a folder, cohort and finished
cells are kept and not computed again. docs/developer/learning.md has the results of a longer study.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.timing import row
from epilens.data.bids import read_bids
from epilens.evaluation.protocol import run
from epilens.evaluation.resampling import compare_scores
from epilens.evaluation.run import open_run
from epilens.evidence.files import Cohort, open_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan, Runtime
from epilens.simulation import simulate

SEED = 20
PAPER = Plan(name="paper", methods=("prq", "bcr"), seeds=(42,))
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "another seed": {"seeds": (1042,)},
    "learning rate × 3": {"training": {"learning_rate": 3e-4}},
    "learning rate × 10": {"training": {"learning_rate": 1e-3}},
    "100 epochs": {"training": {"epochs": 100}},
    "100 epochs without patience": {"training": {"epochs": 100, "patience": 100}},
    "30 epochs without patience": {"training": {"patience": 30}},
    "1 patient per step": {"training": {"batch": 1}},
    "8 patients per step": {"training": {"batch": 8}},
}


def simulated_cubes(
    folder: Path, plan: Plan, seed: int = SEED, stores: Collection[str] = ()
) -> Cohort:
    """Cubes of a simulated cohort of the shape `demo`; computed if they are missing."""
    if not (folder / "cohort").exists():
        simulate(folder / "cohort", "demo", seed)
    parts = [read_bids(p, "simulated") for p in sorted((folder / "cohort").iterdir()) if p.is_dir()]
    describe_cohort(parts, folder / "cubes", plan, 2, stores)
    return open_cohort(folder / "cubes")


def scores_of(plan: Plan, cohort: Cohort, out: Path) -> pd.DataFrame:
    """Metrics of every patient, out of fold."""
    return open_run(run(plan, cohort, Runtime(out=out))).scores


def differences(
    cohort: Cohort, out: Path, paper: Plan, changes: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Each change minus the paper's setting, paired over patients, with its 95 % interval."""
    unchanged = scores_of(paper, cohort, out)
    for number, (label, fields) in enumerate(changes.items()):
        changed = scores_of(paper.override(name=f"change-{number}", **fields), cohort, out)
        for method in paper.methods:
            both = pd.concat(
                frame[frame["method"] == method].assign(method=name)
                for name, frame in (("changed", changed), ("paper", unchanged))
            )
            for metric in ("auroc", "macro_f1"):
                found = compare_scores(both, "changed", "paper", metric)
                line = row(f"{method}, {label}: {metric}, difference", found.estimate, "")
                yield line | {"low": found.low, "high": found.high, "patients": found.patients}


def measure(folder: str = "") -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary)
        cohort = simulated_cubes(place, PAPER)
        return list(differences(cohort, place / "runs", PAPER, CHANGES))
