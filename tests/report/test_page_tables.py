"""Tables of the reproduction page: the paper below ours, the best marked, names for people."""

from __future__ import annotations

import numpy as np
import pandas as pd

from epilens.analyses import Analysis, cross_seizure, objective_variants
from epilens.analyses.loco import wide
from epilens.report.run.tables import FOLDED, page_columns, page_table

FRAME = pd.DataFrame(
    {
        "method": ["prq", "cdel", "<img src=x>"],
        "title": ["PRQ-Net", "CDEL", "<img src=x>"],
        "macro_f1": [0.5, 0.7, 0.6],
        "macro_f1_sd": [0.01, 0.02, np.nan],
        "paper_macro_f1": [0.6282, 0.6371, np.nan],
        "paper_macro_f1_sd": [0.0018, 0.0072, np.nan],
    }
)


def analysis(**changes):
    return Analysis("a", "A", "Table 2", compute=lambda run: FRAME, **changes)


def test_the_paper_stands_below_ours_and_the_best_is_marked():
    title, macro = page_columns(FRAME, analysis(higher=("macro_f1",)))
    assert title.heading == "Method"
    assert title.own == ["PRQ-Net", "CDEL", "<img src=x>"]
    assert macro.heading == "Macro-F1"
    assert macro.own == ["0.5000 ± 0.0100", "0.7000 ± 0.0200", "0.6000"]
    assert macro.paper == ["0.6282 ± 0.0018", "0.6371 ± 0.0072", ""]
    assert macro.best == [False, True, False]


def test_rows_are_sorted_where_their_order_has_no_meaning():
    text = page_table(FRAME, analysis(sorted_by="macro_f1"))
    assert text.index("CDEL") < text.index("&lt;img") < text.index("PRQ-Net")
    assert "<img" not in text
    as_it_is = page_table(FRAME, analysis())
    assert as_it_is.index("PRQ-Net") < as_it_is.index("CDEL")


def test_an_interval_is_in_the_cell_of_its_estimate():
    frame = pd.DataFrame(
        {
            "metric": ["macro_f1", "auroc"],
            "estimate": [0.01, 0.02],
            "low": [0.0, np.nan],
            "high": [0.02, np.nan],
            "paper_estimate": [0.0088, np.nan],
            "paper_low": [0.0032, np.nan],
            "paper_high": [0.0146, np.nan],
        }
    )
    metric, estimate = page_columns(
        frame, analysis(formats={"estimate": "+.2f"}, interval="estimate")
    )
    assert metric.own == ["Macro-F1", "AUROC"]
    assert estimate.own == ["+0.01 (0.0000 to 0.0200)", "+0.02"]
    assert estimate.paper == ["+0.01 (0.0032 to 0.0146)", ""]


def test_leave_one_center_out_has_centers_as_columns():
    rows = [
        (method, method.upper(), center, 4, value, 0.01, paper)
        for method, values in (("prq", (0.5, 0.6)), ("cdel", (0.7, 0.4)))
        for center, value, paper in zip(("HUP", "Ours"), values, (0.65, np.nan), strict=True)
    ]
    names = ["method", "title", "center", "patients", "macro_f1", "macro_f1_sd", "paper_macro_f1"]
    shown = wide(pd.DataFrame(rows, columns=names))
    title, hup, ours = page_columns(shown, analysis(wide=wide))
    assert title.own == ["PRQ", "CDEL"]
    assert (hup.heading, ours.heading) == ("HUP", "Ours")
    assert hup.own == ["0.5000 ± 0.0100", "0.7000 ± 0.0100"]
    assert hup.paper == ["0.6500", "0.6500"]
    assert ours.paper == ["", ""]
    assert (hup.best, ours.best) == ([False, True], [True, False])


def test_one_row_or_equal_rows_have_no_best():
    same = FRAME.assign(macro_f1=0.5)
    _, macro = page_columns(same, analysis(higher=("macro_f1",)))
    assert not any(macro.best)


def test_long_tables_are_closed_at_first():
    long = pd.DataFrame({"patient": [f"sub-{i}" for i in range(FOLDED + 1)]})
    assert page_table(long, analysis()).startswith(f"<details><summary>{FOLDED + 1} rows")
    assert page_table(long.head(3), analysis()).startswith("<table>")


def test_every_group_has_a_best_of_its_own():
    frame = pd.DataFrame({"seed": [1, 1, 2, 2], "macro_f1": [0.3, 0.2, 0.5, 0.6]})
    _, macro = page_columns(frame, analysis(higher=("macro_f1",), within="seed"))
    assert macro.best == [True, False, False, True]


def test_objectives_have_seeds_as_columns():
    rows = [
        (variant, seed, value, 0.6)
        for variant, values in (("full", (0.5, 0.7, 0.6)), ("part", (0.6, 0.5, 0.55)))
        for seed, value in zip(("42", "52", "mean"), values, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["variant", "seed", "macro_f1", "paper_macro_f1"])
    (row,) = objective_variants.ENTRIES
    shown = list(page_columns(row.wide(frame), row))
    assert [column.heading for column in shown] == ["Variant", "Seed 42", "Seed 52", "Mean"]
    assert shown[1].own == ["0.5000", "0.6000"]
    assert shown[1].paper == ["0.6000", "0.6000"]
    assert [column.best for column in shown[1:]] == [[False, True], [True, False], [True, False]]


def test_seizures_have_metrics_as_columns_and_intervals_below():
    rows = [
        (method, metric, seizures, value, 0.01, 4, 0.02, 0.0, 0.04, np.nan, np.nan)
        for method in ("prq", "cdel")
        for metric in cross_seizure.METRICS
        for seizures, value in (("one", 0.5), ("two", 0.6), ("all", 0.7))
    ]
    names = ["method", "metric", "seizures", "value", "value_sd", "patients", "gain", "low", "high"]
    frame = pd.DataFrame(rows, columns=[*names, "paper_value", "paper_value_sd"])
    (row,) = cross_seizure.ENTRIES
    method, seizures, macro, *_ = page_columns(row.wide(frame), row)
    assert method.own == ["PRQ-Net"] * 3 + ["CDEL"] * 3
    assert seizures.own == ["one", "two", "all"] * 2
    assert macro.heading == "Macro-F1"
    assert macro.own[:2] == ["0.5000 ± 0.0100", "0.6000 ± 0.0100"]
    assert macro.best == [False, False, True] * 2
    as_printed, with_intervals = page_table(frame, row).split("<details>")
    assert "to +0.0400" not in as_printed
    assert "+0.0200 (+0.0000 to +0.0400)" in with_intervals
