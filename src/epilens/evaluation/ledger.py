"""The ledger: a row per method, seed, fold, partition, patient, channel; and the fusion rule."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from epilens.core.decisions import LOCKED_WEIGHT, fuse_scores, selected_threshold
from epilens.core.errors import LedgerError
from epilens.core.extras import require
from epilens.core.types import Floats
from epilens.io.atomic import write_bytes_atomically

KEY = ["method", "seed", "fold", "partition", "patient", "channel"]
COLUMNS = [*KEY, "center", "is_ez", "p_nez", "threshold"]


def check_ledger(ledger: pd.DataFrame, who: str = "ledger") -> pd.DataFrame:
    """The ledger itself, if it is valid; otherwise an error that names the first problem."""
    if problem := next(_problems(ledger), ""):
        raise LedgerError(f"{who}: {problem}")
    return ledger[COLUMNS]


def missing_column(ledger: pd.DataFrame) -> str:
    """What is wrong with a ledger that lacks a column; empty if it has all of them."""
    missing = [name for name in COLUMNS if name not in ledger]
    if not missing:
        return ""
    return f"expected columns {', '.join(COLUMNS)}, found no {missing[0]}. Run the plan again."


def _problems(ledger: pd.DataFrame) -> Iterator[str]:
    """What is wrong with a ledger; a later problem presumes that there is no earlier one."""
    if missing := missing_column(ledger):
        yield missing
    twice = ledger[ledger.duplicated(KEY)]
    if len(twice):
        yield f"expected every channel once, found {len(twice)} twice: {_where(twice)}."
    for name in ("p_nez", "threshold"):
        wrong = ledger[~ledger[name].between(0, 1)]
        if len(wrong):
            expectation = f"probabilities ({name}) in [0, 1], found {wrong[name].iloc[0]}"
            yield f"expected {expectation}, at {_where(wrong)}."
    labels = ledger["is_ez"]
    wrong = ledger[:0] if labels.dtype == bool else ledger[~labels.map(_is_label).astype(bool)]
    if len(wrong):
        value = wrong["is_ez"].iloc[0]
        yield f"expected is_ez true or false, found {value!r}, at {_where(wrong)}."
    unknown = sorted(set(ledger["partition"]) - {"validation", "test"})
    if unknown:
        yield f"expected validation or test, found partition {unknown[0]!r}."
    if ledger.groupby(["method", "seed", "fold"])["threshold"].nunique().gt(1).any():
        yield "expected one threshold per method, seed and fold, found more."
    yield from _leaks(ledger)


def _is_label(value: object) -> bool:
    """Whether a value is a label: true, false, 1 or 0; not NaN, not text."""
    return isinstance(value, bool | np.bool_ | int | float | np.number) and value in (0, 1)


def _where(rows: pd.DataFrame, key: Sequence[str] = KEY) -> str:
    """Name the first of the rows, for a message."""
    return ", ".join(f"{name} {rows[name].iloc[0]}" for name in key)


def _leaks(ledger: pd.DataFrame) -> Iterator[str]:
    """A patient is tested once per method and seed, and never validates the fold that tests it."""
    test = ledger[ledger["partition"] == "test"]
    again = test[test.duplicated(["method", "seed", "patient", "channel"])]
    if len(again):
        expectation = f"every channel in one test fold, found {len(again)} in two"
        yield f"expected {expectation}: {_where(again)}."
    roles = ledger.groupby(["method", "seed", "fold", "patient"])["partition"].nunique()
    if roles.gt(1).any():
        where = ", ".join(map(str, roles[roles > 1].index[0]))
        yield f"expected separate validation and test patients, found one in both: {where}."


def write_ledger(ledger: pd.DataFrame, path: str | Path) -> Path:
    """Check a ledger and write it atomically as parquet."""
    require(str(path), "pyarrow")
    content = io.BytesIO()
    check_ledger(ledger, str(path)).to_parquet(content, index=False, write_page_checksum=True)
    return write_bytes_atomically(path, content.getvalue())


def read_ledger(path: str | Path) -> pd.DataFrame:
    """Read and check a ledger."""
    if not Path(path).exists():
        raise LedgerError(f"{path}: expected a ledger, found nothing. Make it with `epilens run`.")
    require(str(path), "pyarrow")
    try:
        ledger = pd.read_parquet(path, page_checksum_verification=True)
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        raise LedgerError(
            f"{path}: expected a ledger (parquet), found a file that cannot be read as one "
            f"({type(error).__name__}). Remove it and run again."
        ) from None
    return check_ledger(ledger, str(path))


@overload
def fuse(prq: pd.DataFrame, bcr: pd.DataFrame, weight: float = ...) -> pd.DataFrame: ...
@overload
def fuse(prq: NDArray, bcr: NDArray, weight: float = ...) -> NDArray: ...
def fuse(prq, bcr, weight: float = LOCKED_WEIGHT):
    """CDEL: (1 - weight) p_PRQ + weight p_BCR (Eq. 9), on arrays or on ledgers.

    On ledgers the channels are matched by key, and the threshold is chosen on the fused validation
    scores of each seed and fold.

    Parameters
    ----------
    prq, bcr : arrays of the same shape, or ledgers of the same channels
        Probabilities of NEZ, between 0 and 1; of a ledger, its column `p_nez`.
    weight : float
        Of BCR-Net, between 0 and 1. Default: the paper's, locked before test.

    Returns
    -------
    array or DataFrame
        Like what was given; a ledger is named `cdel`.

    Examples
    --------
    >>> import numpy as np
    >>> fuse(np.array([0.9, 0.2]), np.array([0.4, 0.2])).round(3).tolist()  # of NEZ, weight 0.20
    [0.8, 0.2]
    """
    if not isinstance(prq, pd.DataFrame):
        return fuse_scores(*_probabilities(prq, bcr), weight)
    keys = KEY[1:]
    columns = [*keys, "p_nez", "is_ez", "center"]
    merged = prq.merge(bcr[columns], on=keys, how="outer", suffixes=("", "_bcr"), indicator=True)
    alone = merged[merged["_merge"] != "both"]
    if len(alone):
        where = _where(alone, keys)
        raise LedgerError(
            f"fuse: expected the same channels in both, found {len(alone)} in one: {where}."
        )
    for name in ("is_ez", "center"):
        other = merged[merged[name] != merged[f"{name}_bcr"]]
        if len(other):
            where = _where(other, keys)
            raise LedgerError(
                f"fuse: expected the same {name} in both, found a difference: {where}."
            )
    p_nez = fuse_scores(merged["p_nez"], merged["p_nez_bcr"], weight)
    fused = merged.assign(p_nez=p_nez, method="cdel")[COLUMNS]
    return check_ledger(with_thresholds(fused), "fuse")


def _probabilities(prq: ArrayLike, bcr: ArrayLike) -> tuple[Floats, Floats]:
    """The scores of both networks as arrays of the same shape, between 0 and 1."""
    first, second = np.asarray(prq, np.float64), np.asarray(bcr, np.float64)
    if first.shape != second.shape:
        raise LedgerError(
            f"fuse: expected arrays of the same shape, found {first.shape} and {second.shape}. "
            "Give both scores of the same channels."
        )
    for values in (first, second):
        outside = values[~((values >= 0) & (values <= 1))]
        if outside.size:
            raise LedgerError(
                f"fuse: expected probabilities in [0, 1], found {outside[0]:g}. Give p_nez, not "
                "logits."
            )
    return first, second


def with_thresholds(ledger: pd.DataFrame) -> pd.DataFrame:
    """The ledger with the threshold that its validation rows select, per method, seed and fold."""
    cells = ledger.groupby(["method", "seed", "fold"], sort=False)
    parts = [cell.assign(threshold=cell_threshold(cell)) for _, cell in cells]
    return pd.concat(parts, ignore_index=True)


def cell_threshold(cell: pd.DataFrame) -> float:
    """Threshold from the validation patients of one cell."""
    return selected_threshold(cell[cell["partition"] == "validation"])
