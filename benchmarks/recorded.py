"""The shipped model `recorded`: `lens` on contact features of recorded patients.

`python -m benchmarks real --build FOLDER [FIT.parquet]`. The weights come from all patients of the
file; the threshold, the calibration, the sets and the limits of distance from each patient scored
by a lens of the others. The folder contains fitted weights and summary numbers; no value of a
single patient.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.timing import row
from epilens.core.decisions import LOCKED_WEIGHT, select_threshold
from epilens.core.types import Bools, Floats
from epilens.evaluation.certainty import learn_feature_certainty
from epilens.evaluation.execution import one_thread
from epilens.evaluation.scoring import ranking_metrics
from epilens.methods import METHODS
from epilens.methods.lens import learn
from epilens.networks.model import Member, Model, open_model, save_model

if TYPE_CHECKING:
    from benchmarks.real import Patients

METHOD = "lens/features"
EXTERNAL = {"patients": 12, "auroc": 0.813, "ez_auprc": 0.561, "macro_f1": 0.679}
"""Measured by others on patients of the same public dataset that nobody involved in the development
had seen, with this fit."""
COHORT = {
    "data": "OpenNeuro ds003029 (CC0); contact features computed by others",
    "labels": "clinicians' seizure-onset contacts",
    "recordings": "mostly ECoG, adults, 60 Hz mains",
}
NOTES = [
    "never seen: children, centers that record SEEG alone, bipolar recordings",
    "labels are where clinicians marked the onset; no surgical outcome confirms them",
    "threshold, calibration, sets and distances come from patients scored by a lens of the others",
    "the method was chosen on the same patients, so the out-of-fold numbers are a little too good",
    "whether a seizure was in the training data cannot be recognised: features were published, "
    "recordings were not read",
]


def leave_one_out(patients: Patients) -> dict[str, Floats]:
    """p_nez of each patient by a lens of the others."""
    scores = {}
    for name, patient in patients.items():
        others = [(p.table, p.is_soz) for n, p in patients.items() if n != name]
        lens, _ = learn(others, METHODS[METHOD].settings)
        scores[name] = lens.p_nez_of(patient.table)
    return scores


def recorded_model(patients: Patients) -> Model:
    """The model of these patients."""
    with one_thread():
        p_nez = list(leave_one_out(patients).values())
        tables = [p.table for p in patients.values()]
        is_soz = [p.is_soz for p in patients.values()]
        lens, _ = learn(list(zip(tables, is_soz, strict=True)), METHODS[METHOD].settings)
    threshold, _ = select_threshold(p_nez, is_soz, METHODS[METHOD].prevalence_tolerance)
    certainty = learn_feature_certainty(tables, is_soz, p_nez, threshold)
    counts = {
        "patients": len(patients),
        "seizures": sum(len(table.of_seizure) for table in tables),
        "channels": sum(map(len, is_soz)),
        "EZ channels": int(sum(labels.sum() for labels in is_soz)),
    }
    about = {
        "title": "EpiLENS model of recorded patients",
        "source": "python -m benchmarks real --build",
        "simulated": False,
        "cohort": counts | COHORT,
        "out_of_fold": figures(p_nez, is_soz),
        "external": EXTERNAL,
        "notes": NOTES,
    }
    member = Member(0, "all", {METHOD: lens})
    return Model((member,), threshold, LOCKED_WEIGHT, about, certainty.to_json())


def figures(p_nez: list[Floats], is_soz: list[Bools]) -> dict[str, Any]:
    """Means over the patients, each scored by a lens of the others."""
    found = [ranking_metrics(p, soz) for p, soz in zip(p_nez, is_soz, strict=True)]
    names = ("auroc", "ez_auprc", "top1_ez")
    return {"patients": len(found)} | {
        name: round(float(np.mean([metrics[name] for metrics in found])), 4) for name in names
    }


def build(patients: Patients, out: Path) -> list[dict[str, Any]]:
    """Write the model's folder; its size and what it reached."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        made = save_model(recorded_model(patients), Path(place) / "model")
        # The mark of an output folder stays behind: a package contains no hidden files.
        for path in made.glob("[!.]*"):
            shutil.copyfile(path, out / path.name)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    reached = open_model(out).about["out_of_fold"]
    return [
        row("size of the model", size, "MB", most=1),
        row("leave one patient out: AUROC", reached["auroc"], ""),
        row("leave one patient out: EZ-AUPRC", reached["ez_auprc"], ""),
    ]
