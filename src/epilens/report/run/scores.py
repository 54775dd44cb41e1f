"""Scores of a run, for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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


def print_scores(
    table: pd.DataFrame, caveats: Sequence[str], below: Collection[str] | None = None
) -> None:
    """Means of the main metrics, ± SD where there are several seeds; then the caveats.

    The best AUROC comes first; `*` marks the best of each column. If `below` is given, these
    methods are marked as worse than the first one by more than chance, and `*` is not used.
    """
    rows, best = [], {name: table[name].max() for name in _SHOWN}
    for row in table.sort_values("auroc", ascending=False, kind="stable").to_dict("records"):
        cells = [
            _cell(row[name], row[f"{name}_sd"])
            + ("*" if below is None and row[name] == best[name] else "")
            for name in _SHOWN
        ]
        mark = "" if below is None or row["method"] not in below else " ↓"
        rows.append([row["method"] + mark, *cells, f"{row['ez_fraction_bias']:+.3f}"])
    marks = "*: best of its column"
    if below is not None:
        marks = "↓: AUROC below the first method's by more than chance explains"
    several = table[[f"{name}_sd" for name in _SHOWN]].notna().any(axis=None)
    print_table(
        f"Patient-equal means{' ± SD over seeds' if several else ''}; {marks}",
        ["Method", *_SHOWN.values(), "Bias"],
        rows,
        drop=("NEZ-F1", "Acc.", "Bias", "NDCG-EZ"),
    )
    undefined = int(table["undefined_patients"].max())
    if undefined:
        say(f"{undefined} patients have EZ or NEZ contacts only; ranking metrics exclude them")
    for sentence in caveats:
        say(sentence)


def _cell(mean: float, sd: float) -> str:
    """Without leading zeros, so that the table fits; one seed has no SD."""
    short = f"{mean:.3f}".removeprefix("0")
    return short if sd != sd else f"{short}±{sd:.3f}".replace("±0", "±")
