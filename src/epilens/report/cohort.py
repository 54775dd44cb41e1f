"""The cohort and its audit, for the terminal and as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.console import print_table
from epilens.data.bids import Recordings
from epilens.io.atomic import check_own_file, write_atomically
from epilens.io.delimited import to_tsv


def write_audit(cohort: Iterable[Recordings], path: Path) -> None:
    """Every audit row as a TSV file; tabs and other control characters in names are escaped."""
    table = pd.concat([part.audit for part in cohort], ignore_index=True)
    text = to_tsv(list(table.columns), table.to_numpy().tolist())
    write_atomically(check_own_file(path, "\t".join(table.columns)), text)


def print_cohort(summary: dict[str, Any]) -> None:
    """The cohort's tables on stdout: centers, patients, and why something was left out."""
    columns = ["Center", "Patients", "Seizures", "Left out", "Channels", "EZ", "EZ %", "Positions"]
    _print_contents(summary["contents"])
    total = summary["total"] | {"center": "Total"}
    centers = summary["centers"] if len(summary["centers"]) == 1 else [*summary["centers"], total]
    rows = [_counts(row, row["center"], _patients(row)) for row in centers]
    print_table("Cohort", columns, rows)
    columns = [
        "Patient",
        "Center",
        "Age",
        "Sex",
        "Engel",
        "Modality",
        "Hz",
        "Seiz.",
        "Out",
        "Channels",
        "EZ",
        "EZ %",
        "Pos.",
    ]
    about = ("patient", "center", "age", "sex", "engel", "modality")
    rows = [[*(p[key] for key in about), _rates(p), *_counts(p)] for p in summary["patients"]]
    print_table("Patients", columns, rows, left=7, drop=("Pos.", "Hz", "Modality", "Sex", "Age"))
    for effect, title in (("excluded", "Left out"), ("noted", "Noted")):
        reasons = Counter((row["what"], row["why"]) for row in summary[effect])
        example = {(row["what"], row["why"]): row["where"] for row in reversed(summary[effect])}
        rows = [(kind, n, why, example[kind, why]) for (kind, why), n in reasons.most_common()]
        if rows:
            print_table(title, ["What", "Times", "Why", "First"], rows, left=4)


def _print_contents(contents: list[dict[str, Any]]) -> None:
    columns = ["Task", "Kind", "Center", "Recordings", "Patients"]
    if contents:
        rows = [[part[column.lower()] for column in columns] for part in contents]
        print_table("Recordings", columns, rows, left=3)


def _patients(row: dict[str, Any]) -> int | str:
    """All patients; those with seizures too, where that is not the same."""
    total, with_seizures = row["patients"], row["patients_with_seizures"]
    return total if with_seizures in (0, total) else f"{total} ({with_seizures} with seizures)"


def _counts(row: dict[str, Any], *before: Any) -> list[Any]:
    share = row["ez_channels"] and 100 * row["ez_channels"] / row["channels"]
    if row.get("ez_share") is not None:
        share = 100 * row["ez_share"]
    cells = [row["seizures"], row["seizures_excluded"], row["channels"], row["ez_channels"]]
    with_position = row["channels_with_position"]
    cells = [f"{n:,}" if isinstance(n, int) else n for n in [*before, *cells]]
    return [*cells, None if share is None else f"{share:.1f}", f"{with_position:,}"]


def _rates(row: dict[str, Any]) -> str:
    return "/".join(f"{rate:g}" for rate in row["sampling_rates_hz"])
