"""The paper's values, as they are transcribed, are those of its source, number by number."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from epilens.analyses import (
    ablation,
    bootstrap,
    cohort,
    cross_seizure,
    hard_channels,
    loco,
    loco_bootstrap,
    main,
    objective_variants,
    per_seed,
    permutation,
    quantile,
    ranking,
)
from epilens.analyses.demographics import PAPER as PATIENTS

SOURCE = Path(__file__).parents[3] / "shared" / "paper" / "epilens.tex"
pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the paper's source is not beside us")


def table(key: str) -> str:
    """The rows of a table of the paper."""
    text = SOURCE.read_text(encoding="utf-8")
    text = text[text.index(f"\\label{{{key}}}") :]
    return text[text.index("\\midrule") : text.index("\\bottomrule")]


def numbers(text: str) -> list[float]:
    """Decimal fractions, in the order in which they are printed."""
    return [float(found) for found in re.findall(r"[+-]?\d*\.\d+", text)]


def told(frame, columns=None) -> list[float]:
    """The fractions of a transcribed table, row by row."""
    values = frame[columns] if columns else frame.select_dtypes("number")
    flat = values.to_numpy(float).ravel()
    return flat[~np.isnan(flat)].tolist()


@pytest.mark.parametrize(
    ("key", "frame", "columns"),
    [
        ("tab:task1_main", main.PAPER, None),
        ("tab:task1_component_ablation", ablation.PAPER, None),
        ("tab:cdel_variant_seed_f1", objective_variants.PAPER, None),
        ("tab:task1_loco", loco.PAPER, None),
        ("tab:appendix_quantile_sensitivity", quantile.PAPER, None),
        ("tab:supp_per_seed_compact", per_seed.PAPER, per_seed.COLUMNS),
        ("tab:supp_extended_ranking_compact", ranking.PAPER, list(ranking.PAPER)[1:7]),
        ("tab:task1_loco_ci_compact", loco_bootstrap.PAPER, None),
        ("tab:overall_cohort", cohort.PAPER, ["ez_percent", "nez_percent"]),
    ],
)
def test_a_table_has_the_numbers_of_the_paper_in_its_order(key, frame, columns):
    text = re.sub(r"ds\d+:[\d.]+", "", table(key))  # dataset versions are no results
    assert told(frame, columns) == numbers(text)


def test_cross_seizure_values_are_those_of_table_and_text():
    wide = cross_seizure.PAPER.pivot(index="seizures", columns="metric")
    order = ["ez_f1", "ez_auprc", "ndcg_ez", "recall_at_k"]
    rows = [
        value
        for seizures in ("one", "two", "all")
        for metric in order
        for value in (wide["value"].loc[seizures, metric], wide["value_sd"].loc[seizures, metric])
    ]
    assert rows == numbers(table("tab:supp_cross_cdel_compact"))
    text = SOURCE.read_text(encoding="utf-8")
    part = text[text.index("Patient-level bootstrap comparisons confirm") :]
    found = numbers(part[: part.index("\\section")])
    paper = cross_seizure.PAPER.set_index(["seizures", "metric"])[["gain", "low", "high"]]
    expected = [
        value
        for seizures in ("one", "two")
        for metric in ("macro_f1", "ez_f1", "ez_auprc", "ndcg_ez")
        for value in paper.loc[(seizures, metric)]
    ]
    assert expected == found
    for seizures, value in (("one", "0.6146"), ("two", "0.6254"), ("all", "0.6395")):
        assert wide["value"].loc[seizures, "macro_f1"] == float(value)
        assert value in text


def test_values_that_stand_in_the_text_are_there():
    text = " ".join(SOURCE.read_text(encoding="utf-8").split())
    part = text[text.index("We further perform a patient-level paired bootstrap") :]
    part = part[: part.index("All intervals")].replace("95\\%", "")
    assert told(bootstrap.PAPER) == numbers(part)
    part = text[text.index("The resulting null distribution has") :]
    assert sorted(told(permutation.PAPER)) == sorted(numbers(part[: part.index("We further")]))
    part = text[text.index("shows that CDEL raises EZ-F1") :]
    found = numbers(part[: part.index("The improvement")])
    f1 = hard_channels.PAPER["ez_f1"].tolist()
    gains = [gain for gain in hard_channels.PAPER["ez_recall_gain"] if gain]
    assert f1 + gains == found
    part = text[text.index("BCR-Net obtains the strongest EZ-AUPRC") :]
    found = numbers(part[: part.index("while achieving")])
    order = [("bcr", "prq", "cdel")[i] for i in range(3)]
    rows = ranking.PAPER.set_index("method").loc[
        order, ["ez_auprc", "ez_auprc_sd", "ndcg_ez", "ndcg_ez_sd"]
    ]
    assert found == told(rows)


def test_counts_of_the_cohort_are_those_of_the_paper():
    rows = re.findall(
        r"&\s*\D*(\d+)\D*\s*&\s*\D*(\d+)\D*\s*&\s*\D*([\d,]+)\D", table("tab:overall_cohort")
    )
    found = [[int(value.replace(",", "")) for value in row] for row in rows]
    assert cohort.PAPER[cohort.COUNTS].to_numpy().tolist() == found


def test_patients_are_those_of_the_paper():
    text = SOURCE.read_text(encoding="utf-8")
    text = text[text.index("\\label{tab:patient_demographics}") :]
    pattern = r"^(A\d+|B\d+|HUP-\d+|sub-\w+)\s*" + r"&\s*(\S+)\s*" * 5 + r"\\\\"
    rows = re.findall(pattern, text[: text.index("\\textit{Note.}")], flags=re.MULTILINE)
    assert len(rows) == len(PATIENTS) == 80
    for (name, age, *rest), row in zip(rows, PATIENTS.itertuples(index=False), strict=True):
        assert row.patient == name or (
            name.startswith("HUP-") and row.patient.startswith("sub-HUP")
        )
        assert ("--" if np.isnan(row.age) else f"{row.age:.0f}") == age
        short = "+".join(part[:3].capitalize() + "." for part in str(row.procedure).split(" + "))
        procedure = None if pd.isna(row.procedure) else short
        clinical = [row.sex, procedure, row.modality, row.engel]
        assert ["--" if pd.isna(value) else value for value in clinical] == rest
