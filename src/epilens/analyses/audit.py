"""The audit: checks that a run must pass before its numbers are used; one row per check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
import xarray as xr

from epilens.analyses import Analysis
from epilens.analyses.audit_of_cells import Check, cell_checks, cells_of_ledger, ledger_checks
from epilens.analyses.reinference import changed_subsets
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.core.errors import CubeError
from epilens.core.provenance import digest_of
from epilens.evaluation.novelty import shared_patients
from epilens.evaluation.protocol import make_split
from epilens.evaluation.run import Run
from epilens.evaluation.splits import split_digest
from epilens.methods import evidence_counts


def compute(run: Run) -> pd.DataFrame:
    """Checks of the run, and of its leave-one-center-out run if it has one.

    Callers stop at a row that has not `passed`.
    """
    rows = [("run", *check) for check in _checks(run)]
    if run.loco is not None:
        rows += [("leave-one-center-out", *check) for check in _checks(run.loco_run)]
    frame = pd.DataFrame(rows, columns=["of", "check", "expected", "found"]).astype(str)
    frame["passed"] = frame["expected"] == frame["found"]
    return frame


def _checks(run: Run) -> Iterator[Check]:
    yield from _counts(run)
    yield from _split(run)
    yield from _digests(run)
    yield from cell_checks(run)
    yield from ledger_checks(run)
    if run.cubes is not None:
        yield from _cubes(run)


def _counts(run: Run) -> Iterator[Check]:
    """Patients and channels: every method and seed has all of them, and the same."""
    test = run.ledger[run.ledger["partition"] == "test"]
    cells = test.groupby(["method", "seed"])
    patients = cells["patient"].nunique()
    yield "patients tested by every method and seed", len(run.setting["patients"]), _range(patients)
    channels = len(test.drop_duplicates(["patient", "channel"]))
    yield "channels tested by every method and seed", channels, _range(cells.size())
    folds = test.groupby(["method", "seed", "patient"])["fold"].nunique()
    yield "test folds of every patient", 1, _range(folds)
    # Scores that chose a threshold have labels too.
    labelled = pd.concat([run.ledger, *(cell.own_scores for cell in cells_of_ledger(run))])
    two = labelled.groupby(["patient", "channel"])["is_ez"].nunique().gt(1)
    yield "channels whose EZ label differs between methods, seeds or folds", 0, np.sum(two)
    seeds = ", ".join(map(str, sorted(run.plan.seeds)))
    seeds_of = {
        ", ".join(map(str, sorted(set(part)))) for _, part in test.groupby("method")["seed"]
    }
    yield "seeds of every method", seeds, " or ".join(sorted(seeds_of))


def _range(counts: pd.Series) -> str:
    """The number that all have in common, or the range."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def _split(run: Run) -> Iterator[Check]:
    """Fit, validation and test patients are disjoint; a held-out center enters no decision."""
    split = run.split
    twice = split.groupby(["fold", "patient"])["partition"].nunique().gt(1)
    yield "patients in two partitions of a fold", 0, np.sum(twice)
    once = split.loc[split["partition"] == "test", "patient"].value_counts().eq(1)
    yield "patients tested in exactly one fold", len(run.setting["patients"]), np.sum(once)
    keys = ["fold", "partition", "patient"]
    wanted = set(map(tuple, split.loc[split["partition"] != "fit", keys].to_numpy().tolist()))
    in_ledger = set(map(tuple, run.ledger[keys].astype(str).drop_duplicates().to_numpy().tolist()))
    yield "ledger's validation and test patients that the split has not", 0, len(in_ledger - wanted)
    if run.leaves_centers_out:
        center = run.centers
        outside = split[split["partition"] != "test"]
        leaked = outside["patient"].map(center) == outside["fold"]
        yield "held-out center's patients who fit or validate", 0, int(leaked.sum())
        tested = split[split["partition"] == "test"]
        wrong = tested["patient"].map(center) != tested["fold"]
        yield "tested patients from another center", 0, int(wrong.sum())


def _digests(run: Run) -> Iterator[Check]:
    """Split and cohort are those that the run started with."""
    setting = run.setting
    yield "digest of the split", setting["split_digest"], split_digest(run.split)
    yield "digest of the cohort", setting["cohort_digest"], digest_of(setting["patients"])
    if run.plan.splits.kind != "file":
        again = split_digest(make_split(run.plan, run.centers))
        yield "digest of the split that the plan makes", setting["split_digest"], again


def _cubes(run: Run) -> Iterator[Check]:
    """Cubes are those of the run; seizures are counted; subsets of seizures are unchanged."""
    patients = list(run.setting["patients"])
    counts: dict[str, dict[str, int]] = {}
    stated = 0
    for patient in patients:
        try:
            cube = run.cube(patient)
        except CubeError:
            continue
        counts |= evidence_counts([cube])
        stated += int(cube.attrs.get("seizures", cube.sizes["seizure"]))
    yield "cubes that are those of the run", len(patients), len(counts)
    twice = {name for pair in shared_patients(_readable(run, counts)) for name in pair}
    yield "patients that share a seizure with another one", 0, len(twice)
    yield "seizures with a valid channel", stated, sum(n["seizures"] for n in counts.values())
    cells = cells_of_ledger(run)
    recorded = [cell.folder.record.get("notes", {}).get("counts", {}) for cell in cells]
    wrong = sum(any(counts.get(p, n) != n for p, n in noted.items()) for noted in recorded)
    yield "cells that counted other seizures or windows than the cubes have", 0, wrong
    if len(counts) == len(patients):
        # The same title before and after the first draw: a run gives the same bytes each time.
        title = "patients with other seizure subsets than were first drawn (0 until some are)"
        yield title, 0, 0 if run.subsets is None else len(changed_subsets(run))


def _readable(run: Run, patients: Iterable[str]) -> Iterator[tuple[str, xr.Dataset]]:
    return ((patient, run.cube(patient)) for patient in patients)


def claim(frame: pd.DataFrame) -> Verdict:
    """All checks pass, or which do not."""
    failed = frame.loc[~frame["passed"], "check"].tolist()
    return Verdict(
        ClaimOutcome.DIFFER if failed else ClaimOutcome.AGREE,
        "every patient is tested once, thresholds come from validation patients, held-out centers "
        "enter no decision (80 patients, 7,635 channels, 256 seizures)",
        f"{int(frame['passed'].sum())} of {len(frame)} checks passed"
        + (f"; these do not: {'; '.join(failed)}" if failed else ""),
    )


ENTRIES = (
    Analysis(
        name="audit",
        title="Audit of the run",
        shows="Appendix, evaluation controls",
        compute=compute,
        claim=claim,
    ),
)
