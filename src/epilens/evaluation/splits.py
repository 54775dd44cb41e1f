"""Splits: patient-wise folds with inner validation, leave-one-center-out, or the user's own table.

A split is a table (fold, partition, patient); partitions are fit, validation and test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from epilens.core.errors import SplitError
from epilens.data.user_files import natural, read_table

PARTITIONS = ("fit", "validation", "test")


def stratified_folds(
    centers: Mapping[str, str], folds: int, validation: float, seed: int
) -> pd.DataFrame:
    """Patient-wise folds, stratified by center, with a stratified part of each for validation.

    centers : patient → center. One split for all seeds of the networks.
    """
    if len(centers) < 2 * folds:
        raise SplitError(
            f"splits: expected {2 * folds} or more patients for {folds} folds, found "
            f"{len(centers)}. Use fewer folds (plan: splits.folds) or more patients."
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, folds]))
    order = _stratified_order(centers, rng)
    test_fold = {patient: str(i % folds) for i, patient in enumerate(order)}
    return _split(centers, test_fold, validation, rng)


def leave_one_center_out(centers: Mapping[str, str], validation: float, seed: int) -> pd.DataFrame:
    """One fold per center, which is held out of fitting and of every decision."""
    count = len(set(centers.values()))
    if count < 2:
        raise SplitError(f"splits: expected two or more centers, found {count}. Use folds.")
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    return _split(centers, centers, validation, rng)


def _split(
    centers: Mapping[str, str],
    test_fold: Mapping[str, str],
    validation: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Every fold with its test patients; a stratified share of the others validates."""
    rows = []
    for fold in _sorted(test_fold.values()):
        outside = {p: c for p, c in centers.items() if test_fold[p] != fold}
        partition = dict.fromkeys(centers, "fit")
        partition |= dict.fromkeys(_stratified_share(outside, validation, rng), "validation")
        partition |= {p: "test" for p in centers if test_fold[p] == fold}
        rows += [(fold, partition[p], p) for p in _sorted(centers)]
    return check_split(pd.DataFrame(rows, columns=["fold", "partition", "patient"]), centers)


def _sorted(names: Iterable[str]) -> list[str]:
    """Natural order, then by spelling: sub-1 and sub-01 are two patients."""
    return sorted(set(names), key=lambda name: (natural(name), name))


def _stratified_order(centers: Mapping[str, str], rng: np.random.Generator) -> list[str]:
    """Patients, shuffled within centers, one center after the other."""
    order: list[str] = []
    for center in _sorted(centers.values()):
        members = _sorted(p for p, c in centers.items() if c == center)
        order += [members[i] for i in rng.permutation(len(members))]
    return order


def _stratified_share(
    centers: Mapping[str, str], share: float, rng: np.random.Generator
) -> set[str]:
    """About `share` of the patients, in the proportions of the centers; at least one."""
    order = _stratified_order(centers, rng)
    wanted = max(1, round(share * len(order)))
    # Every 1/share-th patient of a list that is ordered by center.
    picks = np.floor((np.arange(wanted) + rng.random()) * len(order) / wanted).astype(int)
    return {order[i] for i in np.minimum(picks, len(order) - 1)}


def read_split(path: str | Path, centers: Mapping[str, str]) -> pd.DataFrame:
    """The user's own split: a CSV with patient, fold, partition."""
    table = read_table(Path(path), sep=",")
    missing = {"patient", "fold", "partition"} - set(table.columns)
    if missing:
        raise SplitError(
            f"split {path}: expected columns patient, fold, partition, found "
            f"{', '.join(table.columns)}. Add {', '.join(sorted(missing))}."
        )
    return check_split(table[["fold", "partition", "patient"]], centers, who=f"split {path}")


def check_split(
    split: pd.DataFrame, centers: Mapping[str, str], who: str = "split"
) -> pd.DataFrame:
    """The split itself, if it is valid; otherwise an error that names the patients."""
    if problem := next(_problems(split, centers), ""):
        raise SplitError(f"{who}: {problem}")
    return split.reset_index(drop=True)


def _problems(split: pd.DataFrame, centers: Mapping[str, str]) -> Iterator[str]:
    unknown = sorted(set(split["patient"]) - set(centers))
    wrong = sorted(set(split["partition"]) - set(PARTITIONS))
    if unknown:
        yield f"unknown patients {', '.join(unknown[:5])}. Are they described?"
    if wrong:
        yield f"unknown partition {wrong[0]!r}; use fit, validation, test."
    for row in split[split.duplicated(["fold", "patient"])].itertuples():
        yield f"{row.patient} is in two partitions of fold {row.fold}."
    for fold, part in split.groupby("fold", sort=False):
        for absent in sorted(set(PARTITIONS) - set(part["partition"])):
            yield f"fold {fold} has no {absent} patient."
    tested = split.loc[split["partition"] == "test", "patient"].value_counts()
    if (tested > 1).any():
        yield f"{tested.index[0]} is tested in {tested.iloc[0]} folds; once is right."
    untested = sorted(set(centers) - set(tested.index), key=natural)
    if untested:
        yield f"{len(untested)} patients are never tested, e.g. {untested[0]}."


def split_digest(split: pd.DataFrame) -> str:
    """Digest of a split; the order of its rows does not matter."""
    columns = split[["fold", "partition", "patient"]].astype(str)
    rows = sorted(columns.itertuples(index=False, name=None))
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
