"""Every patient of the cohort with clinical information (Table II)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.reinference import valid_seizures
from epilens.analyses.tables import in_order, naturally
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.evaluation.run import Run

CLINICAL = ("age", "sex", "procedure", "modality", "engel")

# The paper numbers the HUP patients HUP-1 to HUP-36 in the order of the public dataset; age, sex,
# procedure, modality and Engel class of all 36 agree with its participants file in that order.
PAPER = pd.read_csv(Path(__file__).with_suffix(".tsv"), sep="\t")


def compute(run: Run) -> pd.DataFrame:
    """One row per patient; clinical columns without any value are omitted."""
    frame = patient_table(run)
    unknown = [name for name in CLINICAL if frame[name].isna().all()]
    frame["ez_percent"] = 100 * frame["ez_channels"] / frame["channels"]
    return frame.drop(columns=unknown)


def patient_table(run: Run) -> pd.DataFrame:
    """Patients by center: clinical information of the cubes, and the channels that were scored."""
    test = run.ledger[run.ledger["partition"] == "test"]
    channels = test.drop_duplicates(["patient", "channel"]).groupby("patient")["is_ez"]
    counts = pd.DataFrame({"channels": channels.size(), "ez_channels": channels.sum()})
    rows = []
    for patient, about in run.setting["patients"].items():
        cube = run.cube(patient)
        facts = {"modality": cube.attrs.get("modality")} | cube.attrs.get("participant", {})
        row = {"patient": patient, "center": about["center"]}
        row |= {name: facts.get(name) for name in CLINICAL}
        rows.append(row | {"seizures": len(valid_seizures(cube))})
    frame = pd.DataFrame(rows).merge(counts, left_on="patient", right_index=True, how="left")
    orders = {name: naturally(frame[name]) for name in ("center", "patient")}
    return in_order(frame, **orders)


def claim(frame: pd.DataFrame) -> Verdict:
    """State how many patients of the paper are in the cohort, and if their modality agrees."""
    shared = frame[frame["patient"].isin(set(PAPER["patient"]))]
    if not len(shared):
        nobody = f"{len(frame)} patients, none of them named in the paper"
        return Verdict(ClaimOutcome.NOT_COMPARABLE, "80 patients, all Engel class I", nobody)
    pair = shared.reindex(columns=["modality", "paper_modality"]).dropna().astype(str)
    same = int((pair["modality"].str.upper() == pair["paper_modality"].str.upper()).sum())
    agreement = f"; the modality agrees for {same} of the {len(pair)} for whom both are known"
    agreement = agreement if len(pair) else ""
    outcome = ClaimOutcome.NOT_COMPARABLE
    if same < len(pair):
        outcome = ClaimOutcome.DIFFER
    elif len(shared) == len(frame) == len(PAPER):
        outcome = ClaimOutcome.AGREE
    return Verdict(
        outcome,
        "80 patients, all Engel class I",
        f"{len(frame)} patients, {len(shared)} of them named in the paper{agreement}",
    )


ENTRIES = (
    Analysis(
        name="demographics",
        title="Patients",
        shows="Table II",
        compute=compute,
        claim=claim,
        reads=("cubes",),
        keys=("patient",),
        paper=PAPER,
        formats=dict.fromkeys(("age", "seizures", "channels", "ez_channels"), ".0f")
        | {"ez_percent": ".1f"},
    ),
)
