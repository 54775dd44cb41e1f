"""Every patient of the cohort with clinical information (Table II)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.reinference import valid_seizures
from epilens.analyses.tables import in_order, naturally, paper_rows
from epilens.analyses.verdicts import ClaimOutcome, Verdict, verdict
from epilens.evaluation.run import Run

CLINICAL = ("age", "sex", "procedure", "modality", "engel")

# The paper numbers the HUP patients HUP-1 to HUP-36 in the order of the public dataset; age, sex,
# procedure, modality and Engel class of all 36 agree with its participants file in that order.
_PAPER = """
A1 - - A+R SEEG I
A2 - - - SEEG I
A3 - - R SEEG I
A4 - - R SEEG I
A5 - - A+R SEEG I
A6 - - R SEEG I
A7 - - R SEEG I
A8 - - R SEEG I
A9 - - R SEEG I
A10 - - A+R SEEG I
A11 - - A SEEG I
A12 - - A SEEG I
A13 - - A SEEG I
A14 - - R SEEG I
A15 - - - SEEG I
A16 - - R SEEG I
A17 - - R SEEG I
A18 - - A SEEG I
A19 - - A SEEG I
A20 - - A SEEG I
A21 - - R SEEG I
B1 13 M R SEEG I
B2 3 M A SEEG I
B3 4 M A SEEG I
B4 3 F A SEEG I
B5 15 M A SEEG I
B6 7 M A SEEG I
B7 3 F A SEEG I
B8 10 M A SEEG I
sub-HUP064 21 M R ECoG I-D
sub-HUP065 36 M R ECoG I-B
sub-HUP070 33 M R ECoG I-B
sub-HUP074 25 F R ECoG I-C
sub-HUP082 56 F R ECoG I-A
sub-HUP087 24 M R ECoG I-D
sub-HUP088 35 F R ECoG I-D
sub-HUP089 29 M R ECoG I-B
sub-HUP094 48 F R ECoG I-B
sub-HUP097 39 F R ECoG I-D
sub-HUP105 39 M R ECoG I-A
sub-HUP106 45 F R ECoG I-B
sub-HUP107 36 M R ECoG I-A
sub-HUP111 40 F R ECoG I-B
sub-HUP116 59 F A SEEG I-A
sub-HUP117 39 M R SEEG I-A
sub-HUP123 36 M R ECoG I-A
sub-HUP126 26 F A ECoG I-A
sub-HUP130 46 F A SEEG I-B
sub-HUP134 32 M R SEEG I-B
sub-HUP139 20 M A SEEG I-A
sub-HUP140 47 F A SEEG I-B
sub-HUP141 30 M A SEEG I-C
sub-HUP142 30 M A SEEG I-D
sub-HUP144 31 M R SEEG I-D
sub-HUP146 16 M R SEEG I-A
sub-HUP148 23 M A SEEG I-A
sub-HUP150 17 M A SEEG I-B
sub-HUP157 25 M A SEEG I-B
sub-HUP160 45 F R SEEG I-A
sub-HUP163 42 F A SEEG I-D
sub-HUP164 34 F A SEEG I-D
sub-HUP173 24 F R SEEG I-A
sub-HUP177 42 F R SEEG I-A
sub-HUP180 28 F A SEEG I-A
sub-HUP185 38 M A SEEG I-A
sub-jh105 - - - - I
sub-pt2 28 F - - I
sub-pt3 45 M - - I
sub-pt8 25 M - - I
sub-pt11 31 M - - I
sub-pt15 59 F - - I
sub-pt16 52 F - - I
sub-pt17 13 M - - I
sub-umf001 37 F - - I
sub-ummc003 31 M - - I
sub-ummc004 38 M - - I
sub-ummc005 47 M - - I
sub-ummc006 36 M - - I
sub-ummc008 49 M - - I
sub-ummc009 36 M - - I
"""


_PROCEDURES = {"A": "Ablation", "R": "Resection", "A+R": "Ablation + resection"}


def _paper() -> pd.DataFrame:
    rows = [line.split() for line in _PAPER.strip().splitlines()]
    cells = [[None if value == "-" else value for value in row] for row in rows]
    frame = paper_rows(["patient", *CLINICAL], *cells)
    procedure = frame["procedure"].map(_PROCEDURES)
    return frame.assign(age=pd.to_numeric(frame["age"]), procedure=procedure)


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
    """How many patients of the paper are here, and whether their modality agrees."""
    here = frame[frame["patient"].isin(set(PAPER["patient"]))]
    if not len(here):
        nobody = f"{len(frame)} patients, none of them named in the paper"
        return verdict(ClaimOutcome.NOT_COMPARABLE, "80 patients, all Engel class I", nobody)
    both_known = "modality" in here and "paper_modality" in here
    both = here.dropna(subset=["modality", "paper_modality"]) if both_known else here.iloc[:0]
    same = 0
    if len(both):
        same = int((both["modality"].str.upper() == both["paper_modality"].str.upper()).sum())
    agreement = f"; the modality agrees for {same} of the {len(both)} for whom both are known"
    agreement = agreement if len(both) else ""
    outcome = ClaimOutcome.NOT_COMPARABLE
    if same < len(both):
        outcome = ClaimOutcome.DIFFER
    elif len(here) == len(frame) == len(PAPER):
        outcome = ClaimOutcome.AGREE
    return verdict(
        outcome,
        "80 patients, all Engel class I",
        f"{len(frame)} patients, {len(here)} of them named in the paper{agreement}",
    )


PAPER = _paper()

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
