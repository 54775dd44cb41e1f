"""Who is in the cohort: patients, seizures, channels and EZ fraction by center (Table 1)."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.demographics import patient_table
from epilens.analyses.tables import paper_rows
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.evaluation.run import Run

TOTAL = "Total"
COUNTS = ["patients", "seizures", "channels"]

PAPER = paper_rows(
    ["center", *COUNTS, "ez_percent", "nez_percent"],
    ("HUP", 36, 117, 3667, 16.8, 83.2),
    ("Multi-site", 15, 45, 925, 17.7, 82.3),
    ("LZU", 21, 72, 2141, 38.2, 61.8),
    ("Fudan", 8, 22, 902, 16.2, 83.8),
    (TOTAL, 80, 256, 7635, 22.8, 77.2),
)


def compute(run: Run) -> pd.DataFrame:
    """One row per center, then all together; channels are those that were scored."""
    patients = patient_table(run)
    together = patients.assign(center=TOTAL)
    grouped = pd.concat([patients, together]).groupby("center", sort=False)
    frame = grouped[["seizures", "channels", "ez_channels"]].sum()
    frame.insert(0, "patients", grouped.size())
    frame["ez_percent"] = 100 * frame["ez_channels"] / frame["channels"]
    frame["nez_percent"] = 100 - frame["ez_percent"]
    return frame.drop(columns="ez_channels").reset_index()


def claim(frame: pd.DataFrame) -> Verdict:
    """State the counts; those of another cohort differ by design, which is not a disagreement."""
    total = frame[frame["center"] == TOTAL].iloc[0]
    seizures = int(total["seizures"])
    is_same = (total["patients"], seizures, total["channels"]) == (80, 256, 7635)
    return Verdict(
        ClaimOutcome.AGREE if is_same else ClaimOutcome.NOT_COMPARABLE,
        "80 patients, 256 seizures and 7,635 channels from four centers, 22.8 % EZ",
        f"{total['patients']:,} patients, {seizures:,} seizures and {total['channels']:,} channels "
        f"from {len(frame) - 1} centers, {total['ez_percent']:.1f} % EZ",
    )


ENTRIES = (
    Analysis(
        name="cohort",
        title="The cohort",
        shows="Table 1",
        compute=compute,
        claim=claim,
        reads=("cubes",),
        keys=("center",),
        paper=PAPER,
        formats=dict.fromkeys(COUNTS, ",.0f") | {"ez_percent": ".1f", "nez_percent": ".1f"},
    ),
)
