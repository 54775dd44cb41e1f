"""Scores of a run, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from epilens.core.console import print_table, say

_SHOWN = {
    "macro_f1": "Macro-F1",
    "ez_f1": "EZ-F1",
    "nez_f1": "NEZ-F1",
    "accuracy": "Acc.",
    "auroc": "AUROC",
    "ez_auprc": "EZ-AUPRC",
    "ndcg_ez": "NDCG-EZ",
}


def print_scores(table: pd.DataFrame, caveats: Sequence[str]) -> None:
    """Mean ± SD over seeds of the main metrics, one row per method; then the caveats.

    The best AUROC comes first; `*` marks the best of each column.
    """
    rows, best = [], {name: table[name].max() for name in _SHOWN}
    for row in table.sort_values("auroc", ascending=False, kind="stable").to_dict("records"):
        cells = [
            _cell(row[name], row[f"{name}_sd"]) + ("*" if row[name] == best[name] else "")
            for name in _SHOWN
        ]
        rows.append([row["method"], *cells, f"{row['ez_fraction_bias']:+.3f}"])
    print_table(
        "Patient-equal means ± SD over seeds; *: best of its column",
        ["Method", *_SHOWN.values(), "Bias"],
        rows,
        drop=("NEZ-F1", "Acc.", "Bias", "NDCG-EZ"),
    )
    undefined = int(table["undefined_patients"].max())
    if undefined:
        say(f"{undefined} patients have one class only; ranking metrics leave them out")
    for sentence in caveats:
        say(sentence)


def _cell(mean: float, sd: float) -> str:
    """Without leading zeros, so that the table fits; one seed has no SD."""
    short = f"{mean:.3f}".removeprefix("0")
    return short if sd != sd else f"{short}±{sd:.3f}".replace("±0", "±")
