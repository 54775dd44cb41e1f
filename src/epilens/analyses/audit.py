"""The audit: what must hold before any number of a run is believed; one row per check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.reinference import CONDITIONS, matched_patients, subsets, valid_seizures
from epilens.analyses.tables import verdict
from epilens.errors import CubeError, EpilensError, LedgerError
from epilens.evaluation.ledger import KEY, cell_threshold
from epilens.evaluation.protocol import cell_inputs, make_split, store_keys, trained_parts
from epilens.evaluation.run import CellFolder, Run, cohort_digest
from epilens.evaluation.splits import split_digest
from epilens.fusion import fuse_scores
from epilens.methods import METHODS, VALIDATION
from epilens.provenance import digest_of

Check = tuple[str, Any, Any]
"""What is checked, what is expected, what is found."""


def compute(run: Run) -> pd.DataFrame:
    """Checks of the run, and of its leave-one-center-out run if there is one.

    A caller stops at a row that has not `passed`.
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
    yield from _cells(run)
    yield from _ledger(run)
    if run.cubes is not None:
        yield from _cubes(run)


def _counts(run: Run) -> Iterator[Check]:
    """Patients and channels: every method and seed has all of them, and the same."""
    test = run.ledger[run.ledger["partition"] == "test"]
    cells = test.groupby(["method", "seed"])
    patients = cells["patient"].nunique()
    yield "patients tested by every method and seed", len(run.setting["patients"]), _one(patients)
    channels = len(test.drop_duplicates(["patient", "channel"]))
    yield "channels tested by every method and seed", channels, _one(cells.size())
    folds = test.groupby(["method", "seed", "patient"])["fold"].nunique()
    yield "test folds of every patient", 1, _one(folds)
    two = run.ledger.groupby(["patient", "channel"])["is_ez"].nunique().gt(1)
    yield "channels whose EZ label differs between methods, seeds or folds", 0, np.sum(two)
    seeds = ", ".join(map(str, sorted(run.plan.seeds)))
    seeds_of = {
        ", ".join(map(str, sorted(set(part)))) for _, part in test.groupby("method")["seed"]
    }
    yield "seeds of every method", seeds, " or ".join(sorted(seeds_of))


def _one(counts: pd.Series) -> str:
    """The one number that all have, or the range."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def _split(run: Run) -> Iterator[Check]:
    """Fit, validation and test apart; the held-out center absent from every decision."""
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
        strange = split[split["partition"] == "test"]
        wrong = strange["patient"].map(center) != strange["fold"]
        yield "tested patients from another center", 0, int(wrong.sum())


def _digests(run: Run) -> Iterator[Check]:
    """The files are those that the run began with."""
    setting = run.setting
    yield "digest of the split", setting["split_digest"], split_digest(run.split)
    yield "digest of the cohort", setting["cohort_digest"], cohort_digest(setting["patients"])
    if run.plan.splits.kind != "file":
        again = split_digest(make_split(run.plan, run.centers))
        yield "digest of the split that the plan makes", setting["split_digest"], again


def _cells(run: Run) -> Iterator[Check]:
    """Every cell that the plan asks for is there, and is what its inputs make today."""
    wanted = [CellName(run, *key) for key in _asked(run)]
    whole = [cell for cell in wanted if cell.folder.record]
    yield "cells that the plan asks for", len(wanted), len(whole)
    damaged = [c for c in whole if c.folder.record["key"] != digest_of(c.folder.record["inputs"])]
    yield "cells whose key is not that of the inputs they name", 0, len(damaged)
    installed = [cell for cell in whole if cell.method in METHODS]
    gone = sorted({cell.method for cell in whole} - set(METHODS))
    note = f" (not asked: {', '.join(gone)}, not installed)" if gone else ""
    stale = Counter(cell.method for cell in installed if not cell.is_current())
    title = f"cells that other settings, code, cubes or split made{note}"
    yield title, "none", _listed(stale) or "none"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} of {name}" for name, n in sorted(counts.items()))


def _asked(run: Run) -> list[tuple[str, int, str]]:
    """Method, seed and fold of every cell that the run's plan asks for."""
    parts = trained_parts([METHODS[name] for name in run.plan.methods if name in METHODS])
    # A method of a package that is gone had cells of its own.
    parts += [name for name in run.plan.methods if name not in METHODS]
    folds = dict.fromkeys(run.split["fold"])
    return [(name, seed, fold) for name in parts for seed in run.plan.seeds for fold in folds]


@dataclass(frozen=True)
class CellName:
    """A cell of a run, held against what would make it today."""

    run: Run
    method: str
    seed: int
    fold: str

    @cached_property
    def folder(self) -> CellFolder:
        """What it left behind."""
        return self.run.cell(self.method, self.seed, self.fold)

    def is_current(self) -> bool:
        """Whether settings, code, plan, split and patients would give this cell's key again."""
        stored = self.folder.record["inputs"]
        rows = self.run.split[self.run.split["fold"] == self.fold]
        keys = _keys(self.run, METHODS[self.method].input) or stored["patients"]
        try:
            inputs = cell_inputs(self.method, self.seed, self.run.plan, rows, keys)
        except (EpilensError, KeyError):
            return False
        # Pretrained weights may have been put away; other weights are noticed.
        inputs["pretrained"] = inputs["pretrained"] or stored["pretrained"]
        return digest_of(inputs) == self.folder.record["key"]


@lru_cache(maxsize=16)
def _keys(run: Run, beside: str) -> dict[str, str]:
    """Keys of what a method reads of each patient; empty where the stores are not at hand."""
    patients = run.setting["patients"]
    if beside == "cube":
        return {patient: about["key"] for patient, about in patients.items()}
    return {} if run.cubes is None else store_keys(run.cohort, patients, beside)


def _ledger(run: Run) -> Iterator[Check]:
    """Thresholds from validation patients only; scores as the cells wrote them."""
    cells: dict[Any, pd.DataFrame] = dict(iter(run.ledger.groupby(["method", "seed", "fold"])))
    records = {key: run.cell(*key).record for key in cells}
    # What is fused has no cell of its own: its threshold is chosen on validation patients.
    chosen_on = {
        key: record.get("threshold", {}).get("chosen_on", VALIDATION)
        for key, record in records.items()
    }
    asked = [key for key in cells if chosen_on[key] == VALIDATION]
    same = sum(_chosen(cells[key]) for key in asked)
    own = sorted({f"{key[0]}, by {chosen_on[key]}" for key in set(cells) - set(asked)})
    note = f" (not asked: {'; '.join(own)})" if own else ""
    yield f"thresholds that validation patients alone select{note}", len(asked), same
    whole = [key for key, record in records.items() if record]
    changed = sum(_differs(cells[key], run.cell(*key)) for key in whole)
    yield f"of {len(whole)} cells, those that the ledger does not repeat exactly", 0, changed
    if {"prq", "bcr", "cdel"} <= set(run.methods):
        yield "largest difference of cdel from 0.8 prq + 0.2 bcr", 0.0, _fusion_error(run.ledger)


def _chosen(cell: pd.DataFrame) -> bool:
    return cell_threshold(cell) == cell["threshold"].iloc[0]


def _differs(rows: pd.DataFrame, cell: CellFolder) -> bool:
    try:
        written = cell.ledger
    except LedgerError:
        return True
    first, second = (frame.sort_values(KEY, ignore_index=True) for frame in (rows, written))
    return not first.equals(second[list(first)])


def _fusion_error(ledger: pd.DataFrame) -> float:
    key = KEY[1:]
    scores = ledger.pivot(index=key, columns="method", values="p_nez")
    fused = fuse_scores(scores["prq"], scores["bcr"])
    return float(np.abs(fused - scores["cdel"]).max().round(12))


def _cubes(run: Run) -> Iterator[Check]:
    """Cubes are those of the run; seizures counted; the same seizures for all models."""
    patients = list(run.setting["patients"])
    found, stated, keys = 0, 0, 0
    for patient in patients:
        try:
            cube = run.cube(patient)
        except CubeError:
            continue
        keys += 1
        found += len(valid_seizures(cube))
        stated += int(cube.attrs.get("seizures", cube.sizes["seizure"]))
    yield "cubes that are those of the run", len(patients), keys
    yield "seizures with a valid channel", stated, found
    if keys == len(patients):
        once, again = (_drawn(run, order) for order in (1, -1))
        title = f"patients with other seizure subsets in another order, of {len(once)} matched"
        yield title, 0, sum(once[name] != again[name] for name in once)


def _drawn(run: Run, order: int) -> dict[str, list]:
    matched = list(matched_patients(run).items())[::order]
    return {
        patient: [subsets(patient, seizures, count) for count in CONDITIONS.values()]
        for patient, seizures in matched
    }


def claim(frame: pd.DataFrame) -> str:
    """All checks hold, or which do not."""
    failed = frame.loc[~frame["passed"], "check"].tolist()
    return verdict(
        not failed,
        "every patient is tested once, thresholds come from validation patients, held-out centers "
        "enter no decision (80 patients, 7,635 channels, 256 seizures)",
        f"{int(frame['passed'].sum())} of {len(frame)} checks hold"
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
