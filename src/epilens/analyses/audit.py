"""The audit: checks that a run must pass before its numbers are used; one row per check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.reinference import changed_subsets
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.core.decisions import fuse_scores, selected_threshold
from epilens.core.errors import CubeError, EpilensError, LedgerError
from epilens.core.provenance import digest_of
from epilens.evaluation.cell_folder import CellFolder
from epilens.evaluation.ledger import KEY, cell_threshold
from epilens.evaluation.novelty import shared_patients
from epilens.evaluation.protocol import cell_inputs, make_split, store_keys, trained_parts
from epilens.evaluation.run import Run
from epilens.evaluation.splits import split_digest
from epilens.methods import METHODS, VALIDATION, evidence_counts
from epilens.methods.shaft import smoothed_ledger
from epilens.plan import SHAFT

Check = tuple[str, Any, Any]
"""Title of the check (with a remark in parentheses), expected value, value found."""
CellName = tuple[str, int, str]
"""Method, seed and fold."""


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
    twice = {name for pair in shared_patients((p, run.cube(p)) for p in counts) for name in pair}
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


def cell_checks(run: Run) -> Iterator[Check]:
    """Every cell that the plan asks for exists and is what its inputs give today."""
    wanted = _asked(run, _parts(run))
    records = {name: run.cell(*name).record for name in wanted}
    whole = {name: record for name, record in records.items() if record}
    yield "cells that the plan asks for", len(wanted), len(whole)
    damaged = [r for r in whole.values() if r.get("key") != digest_of(r.get("inputs"))]
    yield "cells whose key is not that of the inputs they name", 0, len(damaged)
    gone = sorted({method for method, *_ in whole if method not in METHODS})
    note = f" (not asked: {', '.join(gone)}, not installed)" if gone else ""
    stale = Counter(
        name[0]
        for name, record in whole.items()
        if name[0] in METHODS and not _is_current(run, name, record)
    )
    listed = ", ".join(f"{n} of {method}" for method, n in sorted(stale.items()))
    yield f"cells that other settings, code, cubes or split made{note}", "none", listed or "none"


def _parts(run: Run) -> list[str]:
    """Methods of the plan that have cells."""
    parts = trained_parts([METHODS[name] for name in run.plan.methods if name in METHODS])
    # A method of a package that is gone had cells of its own.
    return parts + [name for name in run.plan.methods if name not in METHODS]


def _asked(run: Run, methods: Sequence[str]) -> list[CellName]:
    """Each of the methods with every seed and fold of the run's plan."""
    folds = dict.fromkeys(run.split["fold"])
    return [(name, seed, fold) for name in methods for seed in run.plan.seeds for fold in folds]


def _is_current(run: Run, name: CellName, record: Mapping[str, Any]) -> bool:
    """Whether settings, code, plan, split and patients would give the key of a cell again."""
    (method, seed, fold), stored = name, record.get("inputs", {})
    rows = run.split[run.split["fold"] == fold]
    try:
        keys = _keys(run, METHODS[method].input) or stored["patients"]
        inputs = cell_inputs(method, seed, run.plan, rows, keys)
    except (EpilensError, KeyError):
        return False
    # Pretrained weights may have been removed; other weights are detected.
    inputs["pretrained"] = inputs["pretrained"] or stored.get("pretrained")
    return digest_of(inputs) == record.get("key")


@lru_cache(maxsize=16)
def _keys(run: Run, store: str) -> dict[str, str]:
    """Keys of what a method reads of each patient; empty if the stores are not available."""
    patients = run.setting["patients"]
    if store == "cube":
        return {patient: about["key"] for patient, about in patients.items()}
    return {} if run.cubes is None else store_keys(run.cohort, patients, store)


def ledger_checks(run: Run) -> Iterator[Check]:
    """The ledger contains what the plan asks for, as the cells wrote it."""
    cells = cells_of_ledger(run)
    asked = set(_asked(run, run.plan.methods))
    present = asked & {cell.name for cell in cells}
    yield "methods, seeds and folds of the plan in the ledger", len(asked), len(present)
    yield from _thresholds(run, cells)
    whole = [cell for cell in cells if cell.folder.record]
    title = f"of the cells, those that the ledger does not repeat exactly (of {len(whole)})"
    yield title, 0, sum(cell.differs() for cell in whole)
    if {"prq", "bcr", "cdel"} <= set(run.methods):
        yield "largest difference of cdel from 0.8 prq + 0.2 bcr", 0.0, _fusion_error(run.ledger)
    smooth = [m for m in run.methods if m.endswith(SHAFT) and m.removesuffix(SHAFT) in run.methods]
    if smooth:
        title = "largest difference of smoothed methods from the smoothed scores of their methods"
        yield title, 0.0, max(_smoothing_error(run, name) for name in smooth)


def _thresholds(run: Run, cells: Sequence[LedgerCell]) -> Iterator[Check]:
    """Chosen on validation patients, or by the method on scores that it stored; never on tests."""
    asked = [cell for cell in cells if cell.chosen_on == VALIDATION]
    same = sum(cell.threshold_is_selected() for cell in asked)
    yield "thresholds that validation patients alone select", len(asked), same
    own = [cell for cell in cells if cell.chosen_on != VALIDATION]
    named = "; ".join(sorted({f"{cell.name[0]}, by {cell.chosen_on}" for cell in own}))
    same = sum(cell.threshold_is_selected() for cell in own)
    title = f"thresholds that the scores kept with their cells select ({named or 'no method'})"
    yield title, len(own), same
    trained = run.split[run.split["partition"] != "test"].groupby("fold")["patient"].agg(set)
    outside = [c for c in own if not set(c.own_scores["patient"]) <= trained.get(c.name[2], set())]
    yield "cells that chose a threshold on others than fit and validation", 0, len(outside)


@dataclass(frozen=True)
class LedgerCell:
    """The ledger's rows of one method, seed and fold, and the cell that they come from."""

    name: CellName
    rows: pd.DataFrame
    folder: CellFolder

    @property
    def recorded(self) -> Mapping[str, Any]:
        """What the cell records about its threshold; empty: fused methods have no cell."""
        return self.folder.record.get("threshold", {})

    @property
    def chosen_on(self) -> str:
        """Patients whose scores choose its threshold."""
        return self.recorded.get("chosen_on", VALIDATION)

    @cached_property
    def own_scores(self) -> pd.DataFrame:
        """Scores on which the method itself chose its threshold; empty if it stored none."""
        stored = None if self.chosen_on == VALIDATION else self.folder.threshold_scores
        return self.rows.iloc[:0] if stored is None else stored

    def threshold_is_selected(self) -> bool:
        """Whether these scores select the threshold of the ledger and of the cell's record."""
        try:
            selected = (
                cell_threshold(self.rows)
                if self.chosen_on == VALIDATION
                else selected_threshold(self.own_scores, self.recorded.get("share_within"))
            )
        except LedgerError:
            return False
        stated = [self.rows["threshold"].iloc[0]]
        if self.folder.record:
            stated.append(self.recorded.get("value"))
        return all(value == selected for value in stated)

    def differs(self) -> bool:
        """Whether the ledger differs from what the cell wrote."""
        try:
            written = self.folder.ledger
        except LedgerError:
            return True
        first, second = (f.sort_values(KEY, ignore_index=True) for f in (self.rows, written))
        return not first.equals(second[list(first)])


def cells_of_ledger(run: Run) -> list[LedgerCell]:
    """All cells, in the ledger's order."""
    groups = run.ledger.groupby(["method", "seed", "fold"], sort=False)
    return [LedgerCell(name, rows, run.cell(*name)) for name, rows in groups]  # ty: ignore


def _smoothing_error(run: Run, name: str) -> float:
    raw, smooth = (run.ledger[run.ledger["method"] == m] for m in (name.removesuffix(SHAFT), name))
    again = smoothed_ledger(raw, run.plan.shaft)
    both = smooth.merge(again, on=KEY[1:], how="outer", suffixes=("", "_again"))
    return float((both["p_nez"] - both["p_nez_again"]).abs().max(skipna=False).round(12))


def _fusion_error(ledger: pd.DataFrame) -> float:
    scores = ledger.pivot(index=KEY[1:], columns="method", values="p_nez")
    fused = fuse_scores(scores["prq"], scores["bcr"])
    return float(np.abs(fused - scores["cdel"]).max().round(12))


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
