"""What the tables have in common: means over seeds, the paper's rows, headings and formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from epilens.data.sidecars import natural
from epilens.methods import METHODS

CORE = ("prq", "bcr", "cdel")

HEADINGS: Mapping[str, str] = {
    "macro_f1": "Macro-F1",
    "ez_f1": "EZ-F1",
    "nez_f1": "NEZ-F1",
    "accuracy": "Acc.",
    "balanced_accuracy": "Bal. acc.",
    "auroc": "AUROC",
    "ez_auprc": "EZ-AUPRC",
    "ndcg_ez": "NDCG-EZ",
    "mrr_ez": "MRR-EZ",
    "recall_at_k": "Recall@true-K",
    "top1_ez": "Top-1 EZ rate",
    "ez_fraction_bias": "EZ-frac. bias",
    "ez_percent": "EZ (%)",
    "nez_percent": "NEZ (%)",
    "ez_recall": "EZ recall",
    "ez_recall_gain": "EZ recall beyond PRQ-Net's",
    "ez_channels": "EZ channels",
    "without_ez": "Patients without EZ here",
    "percent": "Hardest channels (%)",
    "seconds_a_cell": "Seconds a cell",
    "input_gain": "Gain of the input alone",
    "gap": "Less CDEL's",
    "gap_low": "from",
    "gap_high": "to",
    "below_zero": "Draws below zero",
    "null_mean": "Shuffled, mean",
    "null_highest": "Shuffled, highest",
    "macro_f1_lowest": "Lowest seed",
    "macro_f1_highest": "Highest seed",
    "estimate": "Difference",
    "weight": "λ",
    "title": "Method",
    "brier": "Brier score",
    **{f"ez_of_{20 * i}_{20 * i + 20}": f"EZ of {20 * i}-{20 * i + 20} %" for i in range(5)},
}
"""How columns are called in print."""


def heading(column: str) -> str:
    """A column's name in print.

    Examples
    --------
    >>> heading("paper_macro_f1_sd"), heading("patients")
    ('paper: Macro-F1 SD', 'Patients')
    """
    if column.startswith("paper_"):
        return f"paper: {heading(column.removeprefix('paper_'))}"
    if column.endswith("_sd"):
        return f"{heading(column.removesuffix('_sd'))} SD"
    plain = column.replace("_", " ")
    return HEADINGS.get(column, plain[:1].upper() + plain[1:])


def format_of(column: str, formats: Mapping[str, str]) -> str:
    """Format specification of a column; the paper's columns and SDs follow their own column.

    Examples
    --------
    >>> format_of("paper_bias_sd", {"bias": "+.4f"}), format_of("macro_f1", {})
    ('.4f', '.4f')
    """
    base = column.removeprefix("paper_")
    if base.endswith("_sd") and base not in formats:
        return formats.get(base.removesuffix("_sd"), ".4f").removeprefix("+")
    return formats.get(base, ".4f")


def title_of(method: str) -> str:
    """A method's title, or its name if it is not registered here."""
    return METHODS[method].title if method in METHODS else method


def over_seeds(scores: pd.DataFrame, by: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Patient-equal means per seed, then mean and SD (ddof = 1) over seeds, in order of rows."""
    by, metrics = list(by), list(metrics)
    per_seed = scores.groupby([*by, "seed"], sort=False)[metrics].mean()
    over = per_seed.groupby(by, sort=False)
    mean, sd = over.mean(), over.std(ddof=1)
    columns = {}
    for name in metrics:
        columns |= {name: mean[name], f"{name}_sd": sd[name]}
    return pd.DataFrame(columns).reset_index()


def in_order(frame: pd.DataFrame, **orders: Sequence[Any]) -> pd.DataFrame:
    """Rows sorted by columns, each in the order of values that is given for it."""
    ranks = pd.DataFrame(
        {
            name: frame[name].map({value: i for i, value in enumerate(order)})
            for name, order in orders.items()
        }
    )
    return frame.loc[ranks.sort_values(list(orders)).index].reset_index(drop=True)


def naturally(names: Iterable[str]) -> list[str]:
    """Different names, numbers in them counted as numbers."""
    return sorted(set(names), key=natural)


def by_method(scores: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Mean and SD over seeds of some methods, in the order given, with their titles."""
    frame = over_seeds(scores[scores["method"].isin(methods)], ["method"], metrics)
    frame = frame.set_index("method").loc[[m for m in methods if m in set(frame["method"])]]
    frame.insert(0, "title", [title_of(str(method)) for method in frame.index])
    return frame.reset_index()


def paper_rows(columns: Sequence[str], *rows: Sequence[Any]) -> pd.DataFrame:
    """Rows of a table of the paper."""
    return pd.DataFrame([list(row) for row in rows], columns=list(columns))


def paper_text(columns: Sequence[str], text: str) -> pd.DataFrame:
    """Rows of a long table of the paper, written as text: a name, then numbers."""
    rows = [line.split() for line in text.strip().splitlines()]
    return paper_rows(columns, *([name, *map(float, numbers)] for name, *numbers in rows))


def with_sd(*metrics: str) -> list[str]:
    """Each metric followed by its SD: the order in which the paper prints them."""
    return [name for metric in metrics for name in (metric, f"{metric}_sd")]


def value_of(frame: pd.DataFrame, column: str, **where: Any) -> float:
    """The number in a column of the one row that `where` names; NaN if there is none."""
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return float(frame[column].iloc[0]) if len(frame) else float("nan")


def best(frame: pd.DataFrame, metric: str, name: str = "method") -> str:
    """Which row is highest in a metric."""
    return str(frame.loc[frame[metric].idxmax(), name])
