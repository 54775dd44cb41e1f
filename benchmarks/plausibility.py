"""How often the plausibility check fires where a ranking is right, and where it is wrong.

`python -m benchmarks plausibility [SHAPE]`. Every patient of a simulated cohort (default: `demo`)
is ranked by the shipped model, by training-free methods, and at random. A ranking is right if its
AUROC against the true onset zone is 0.8 or more, and wrong if it is below 0.6.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.core.console import say
from epilens.data.bids import read_bids
from epilens.evidence.contact_features import features_shown
from epilens.evidence.cube import joined
from epilens.evidence.seizures import fill
from epilens.evidence.store import STORES
from epilens.localization import DEFAULT_COMPARED
from epilens.localization.compare import compare_with
from epilens.localization.plausibility import implausible
from epilens.localization.sources import open_source
from epilens.localization.timing import time_evidence
from epilens.plan import Plan
from epilens.simulation import simulate

RANKINGS = ("recorded", "line-length-spread", "epileptogenicity-index", "fragility")
RIGHT, WRONG = 0.8, 0.6
SEED = 21
"""A cohort that nothing was fitted on."""


def patients(folder: Path) -> Iterator[tuple[xr.Dataset, np.ndarray]]:
    """Evidence of every patient of a cohort, and its true onset zone."""
    stores = [STORES[name] for name in ("cube", "signals", "features")]
    for root in sorted(path for path in folder.iterdir() if path.is_dir()):
        part = read_bids(root, "simulated")
        truth = pd.read_csv(root / "derivatives/simulation-truth/truth.tsv", sep="\t")
        onset = {(r.patient, r.channel) for r in truth.itertuples() if r.is_onset}
        for patient in part.patients:
            say(f"plausibility: {patient.name}")
            cube, *others = fill(stores, part.read(patient), Plan()).values()
            whole = joined(cube, *others)
            whole = whole.isel(channel=whole["valid"].any(["seizure", "window"]).values)
            names = whole["channel"].values
            yield whole, np.array([(patient.name, name) in onset for name in names])


def rankings(patient: xr.Dataset) -> dict[str, np.ndarray]:
    """p_nez by every method that the recordings allow, and at random."""
    made = {
        name: open_source(name).score(patient).p_nez
        for name in RANKINGS
        if name != "recorded" or features_shown(patient).any()
    }
    rng = np.random.default_rng(patient.sizes["channel"])
    return made | {"random": rng.random(patient.sizes["channel"])}


def judge(patient: xr.Dataset, onset: np.ndarray) -> Iterator[dict[str, Any]]:
    """One row for every ranking of a patient."""
    timing, shown = time_evidence(patient), patient["valid"].any("window").values
    made = rankings(patient)
    for name, p_nez in made.items():
        others = [
            compare_with(other, other, made[other], p_nez, 5)
            for other in DEFAULT_COMPARED
            if other != name
        ]
        yield {
            "ranking": name,
            "auroc": auroc(-p_nez, onset),
            "fires": bool(implausible(p_nez, others, timing, shown)),
        }


def measure(shape: str = "demo") -> list[dict[str, Any]]:
    """How often it fires, over all rankings of all patients."""
    with tempfile.TemporaryDirectory() as folder:
        simulate(Path(folder) / "cohort", shape, SEED)
        table = pd.DataFrame(
            one for each in patients(Path(folder) / "cohort") for one in judge(*each)
        )
    known = table.dropna(subset="auroc")
    known = known.assign(
        kind=np.select([known["auroc"] >= RIGHT, known["auroc"] < WRONG], ["right", "wrong"], "")
    )
    print("\n| ranking | right: fires | wrong: fires |\n|---|---|---|")
    for name, part in [*known.groupby("ranking"), ("all", known)]:
        cells = []
        for kind in ("right", "wrong"):
            fires = part.loc[part["kind"] == kind, "fires"]
            cells.append(f"{int(fires.sum())} of {len(fires)}")
        print(f"| {name} | {' | '.join(cells)} |")
    return [
        row(f"fires where the ranking is {kind}", 100 * float(part["fires"].mean()), "%")
        for kind, part in known[known["kind"] != ""].groupby("kind")
    ]
