"""What the tables have in common: means over seeds and the paper's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from epilens.analyses.columns import PAPER, SD
from epilens.data.user_files import natural
from epilens.methods import METHODS

CORE = ("prq", "bcr", "cdel")


def title_of(method: str) -> str:
    """A method's title, or its name if it is not registered here."""
    return METHODS[method].title if method in METHODS else method


def over_seeds(scores: pd.DataFrame, by: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Patient-equal means per seed, then mean and SD (ddof = 1) over seeds, in order of rows."""
    by, metrics = list(by), list(metrics)
    per_seed = scores.groupby([*by, "seed"], sort=False)[metrics].mean()
    over = per_seed.groupby(by, sort=False)
    mean, sd = over.mean(), over.std(ddof=1)
    return mean.join(sd.add_suffix(SD))[with_sd(*metrics)].reset_index()


def in_order(frame: pd.DataFrame, **orders: Sequence[Any]) -> pd.DataFrame:
    """Rows sorted by columns, each in the order of values that is given for it."""
    return frame.sort_values(
        list(orders), key=lambda column: column.map(list(orders[str(column.name)]).index)
    ).reset_index(drop=True)


def naturally(names: Iterable[str]) -> list[str]:
    """Distinct names in natural order: numbers in them count as numbers."""
    return sorted(set(names), key=natural)


def by_method(scores: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Mean and SD over seeds of some methods, in the order given, with their titles."""
    frame = over_seeds(scores[scores["method"].isin(methods)], ["method"], metrics)
    frame = frame.set_index("method").loc[[m for m in methods if m in set(frame["method"])]]
    frame.insert(0, "title", [title_of(str(method)) for method in frame.index])
    return frame.reset_index()


def as_columns(frame: pd.DataFrame, rows: list[str], name: str, value: str) -> pd.DataFrame:
    """A frame as the paper prints it: each `name` is a column with its values.

    SD and the paper's values of the same quantity go with it.
    """
    ends = [(before, after) for before in ("", PAPER) for after in ("", SD)]
    parts = []
    for label, part in frame.groupby(name, sort=False):
        names = {f"{before}{value}{after}": f"{before}{label}{after}" for before, after in ends}
        parts.append(part.set_index(rows).reindex(columns=list(names)).rename(columns=names))
    return pd.concat(parts, axis=1).reset_index()


def paper_rows(columns: Sequence[str], *rows: Sequence[Any]) -> pd.DataFrame:
    """Rows of a table of the paper."""
    return pd.DataFrame([list(row) for row in rows], columns=list(columns))


def paper_text(columns: Sequence[str], text: str) -> pd.DataFrame:
    """Rows of a long table of the paper, written as text: a name, then numbers."""
    rows = [line.split() for line in text.strip().splitlines()]
    return paper_rows(columns, *([name, *map(float, numbers)] for name, *numbers in rows))


def with_sd(*metrics: str) -> list[str]:
    """Each metric followed by its SD: the order in which the paper prints them."""
    return [name for metric in metrics for name in (metric, metric + SD)]


def value_of(frame: pd.DataFrame, column: str, **where: Any) -> float:
    """The number in a column of the one row that `where` names; NaN if there is none."""
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return float(frame[column].iloc[0]) if len(frame) else float("nan")


def best(frame: pd.DataFrame, metric: str, name: str = "method") -> str:
    """Which row is highest in a metric."""
    return str(frame.loc[frame[metric].idxmax(), name])
