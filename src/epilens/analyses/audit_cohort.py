"""Checks of the audit on patients: how many are tested, the split, and the cubes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from epilens.analyses.audit_parts import AuditCheck, LedgerCell
from epilens.analyses.reinference import changed_subsets
from epilens.core.errors import CubeError
from epilens.core.provenance import digest_of
from epilens.evaluation.novelty import shared_patients
from epilens.evaluation.protocol import make_split
from epilens.evaluation.run import Run
from epilens.evaluation.splits import split_digest
from epilens.methods import evidence_counts


def count_checks(run: Run, cells: Sequence[LedgerCell]) -> Iterator[AuditCheck]:
    """Every method and seed tests all patients and channels, once and with the same labels."""
    test = run.ledger[run.ledger["partition"] == "test"]
    by_seed = test.groupby(["method", "seed"])
    yield AuditCheck(
        "patients tested by every method and seed",
        len(run.setting["patients"]),
        _range(by_seed["patient"].nunique()),
    )
    channels = len(test.drop_duplicates(["patient", "channel"]))
    yield AuditCheck("channels tested by every method and seed", channels, _range(by_seed.size()))
    folds = test.groupby(["method", "seed", "patient"])["fold"].nunique()
    yield AuditCheck("test folds of every patient", 1, _range(folds))
    # Scores that chose a threshold have labels too.
    labelled = pd.concat([run.ledger, *(cell.own_scores for cell in cells)])
    labels = labelled.groupby(["patient", "channel"])["is_ez"].nunique()
    yield AuditCheck(
        "channels whose EZ label differs between methods, seeds or folds",
        0,
        int(np.sum(labels.gt(1))),
    )
    found = {_listed(set(seeds)) for _, seeds in test.groupby("method")["seed"]}
    yield AuditCheck("seeds of every method", _listed(run.plan.seeds), " or ".join(sorted(found)))


def _range(counts: pd.Series) -> str:
    """The number that all have in common, or the range."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def _listed(seeds: Sequence[int] | set[int]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def split_checks(run: Run) -> Iterator[AuditCheck]:
    """Fit, validation and test patients are disjoint, and the ledger follows the split."""
    split = run.split
    twice = split.groupby(["fold", "patient"])["partition"].nunique().gt(1)
    yield AuditCheck("patients in two partitions of a fold", 0, int(np.sum(twice)))
    once = split.loc[split["partition"] == "test", "patient"].value_counts().eq(1)
    yield AuditCheck(
        "patients tested in exactly one fold", len(run.setting["patients"]), int(np.sum(once))
    )
    outside = _patients_by_fold(run.ledger) - _patients_by_fold(split[split["partition"] != "fit"])
    yield AuditCheck(
        "ledger's validation and test patients that the split has not", 0, len(outside)
    )
    if run.leaves_centers_out:
        yield from _held_out_checks(run)


def _patients_by_fold(frame: pd.DataFrame) -> set[tuple[str, ...]]:
    """Every fold, partition and patient of a split or ledger."""
    rows = frame[["fold", "partition", "patient"]].astype(str).drop_duplicates()
    return set(map(tuple, rows.to_numpy().tolist()))


def _held_out_checks(run: Run) -> Iterator[AuditCheck]:
    """A held-out center is tested alone and enters no decision."""
    is_test = run.split["partition"] == "test"
    is_held_out = run.split["patient"].map(run.centers) == run.split["fold"]
    leaked = int((is_held_out & ~is_test).sum())
    yield AuditCheck("held-out center's patients who fit or validate", 0, leaked)
    wrong = int((~is_held_out & is_test).sum())
    yield AuditCheck("tested patients from another center", 0, wrong)


def digest_checks(run: Run) -> Iterator[AuditCheck]:
    """Split and cohort are those that the run started with."""
    setting = run.setting
    stated = setting["split_digest"]
    yield AuditCheck("digest of the split", stated, split_digest(run.split))
    cohort = digest_of(setting["patients"])
    yield AuditCheck("digest of the cohort", setting["cohort_digest"], cohort)
    if run.plan.splits.kind != "file":
        again = split_digest(make_split(run.plan, run.centers))
        yield AuditCheck("digest of the split that the plan makes", stated, again)


def cube_checks(run: Run, cells: Sequence[LedgerCell]) -> Iterator[AuditCheck]:
    """Cubes are those of the run; seizures are counted; subsets of seizures are unchanged."""
    patients = list(run.setting["patients"])
    counts: dict[str, dict[str, int]] = {}
    seizures = 0
    for patient in patients:
        try:
            cube = run.cube(patient)
        except CubeError:
            continue
        counts |= evidence_counts([cube])
        seizures += int(cube.attrs.get("seizures", cube.sizes["seizure"]))
    yield AuditCheck("cubes that are those of the run", len(patients), len(counts))
    pairs = shared_patients((patient, run.cube(patient)) for patient in counts)
    shared = {patient for pair in pairs for patient in pair}
    yield AuditCheck("patients that share a seizure with another one", 0, len(shared))
    valid = sum(count["seizures"] for count in counts.values())
    yield AuditCheck("seizures with a valid channel", seizures, valid)
    wrong = sum(any(counts.get(p, n) != n for p, n in cell.counts.items()) for cell in cells)
    yield AuditCheck("cells that counted other seizures or windows than the cubes have", 0, wrong)
    if len(counts) == len(patients):
        # The same title before and after the first draw: a run gives the same bytes each time.
        title = "patients with other seizure subsets than were first drawn (0 until some are)"
        changed = 0 if run.subsets is None else len(changed_subsets(run))
        yield AuditCheck(title, 0, changed)
