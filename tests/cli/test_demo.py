"""The rules by which the demo chooses what it shows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from epilens.cli.demo import (
    SHIPPED,
    beyond_chance,
    median_and_worst,
    onset_zones,
    shipped_scores,
    shipped_summary,
)
from epilens.data.bids import read_cohort, survey_cohort
from epilens.data.cohort import cohort_summary
from epilens.evaluation.scoring import summarise
from epilens.evidence.files import open_cohort
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
from epilens.report.run.scores import print_scores


def test_the_median_and_the_worst_patient_are_chosen_by_auroc():
    aurocs = pd.Series({"sub-A": 0.9, "sub-B": 0.4, "sub-C": 0.7, "sub-D": np.nan, "sub-E": 0.7})
    assert median_and_worst(aurocs) == {"median": "sub-E", "worst": "sub-B"}


def scores_of(methods: dict[str, np.ndarray]) -> pd.DataFrame:
    """Scores of methods on the same patients; metrics other than AUROC are equal."""
    from epilens.evaluation.scoring import METRICS

    rows = [
        {"method": method, "seed": 0, "patient": f"sub-{i:02d}", "center": "N"}
        | dict.fromkeys(METRICS, 0.5)
        | {"auroc": value, "ez_fraction_bias": 0.0}
        for method, values in methods.items()
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_only_differences_beyond_chance_are_marked(capsys):
    rng = np.random.default_rng(0)
    best = rng.uniform(0.7, 0.9, 20)
    methods = {"best": best, "far": best - 0.2, "near": best - rng.normal(0.01, 0.1, 20)}
    scores = scores_of(methods)
    means = scores.groupby("method")["auroc"].mean().rename_axis("method").reset_index()
    assert beyond_chance(scores, means) == {"far"}


def test_the_table_marks_methods_instead_of_the_best_of_each_column(capsys):
    from epilens.testing import make_run

    table = summarise(make_run().scores)
    below = table["method"].iloc[0]
    print_scores(table, (), {below})
    shown = capsys.readouterr().out
    assert f"{below} ↓" in shown
    assert "*" not in shown
    print_scores(table, ())
    shown = capsys.readouterr().out
    assert "↓" not in shown
    assert "*: best of its column" in shown


def test_the_cohort_table_counts_the_seizures_that_the_pages_show(tiny, tmp_path):
    """One recording of this center is stored twice."""
    describe_cohort(read_cohort(tiny / "west", "simulated"), tmp_path / "cubes", Plan(), 1)
    described = open_cohort(tmp_path / "cubes")
    summary = cohort_summary(survey_cohort(tiny / "west", "simulated"))
    seizures = {row["patient"]: row["seizures"] for row in summary["patients"]}
    assert seizures == {name: cube.sizes["seizure"] for name, cube in described.items()}
    assert summary["total"]["seizures"] == summary["centers"][0]["seizures"] == 3
    assert [r["why"] for r in summary["excluded"] if "repeats the signal" in r["why"]]
    assert [row["what"] for row in summary["noted"]].count("dataset") == 1


def test_true_onset_zones_are_read_from_the_truth_of_every_center(tiny):
    zones = onset_zones(tiny)
    assert len(zones) == 8
    assert all(zones.values())
    channels = {c for p in read_cohort(tiny / "west", "simulated")[0].patients for c in p.channels}
    assert zones["sub-W01"] < channels


def test_the_shipped_model_ranks_the_simulated_patients(tmp_path, tiny):
    describe_cohort(read_cohort(tiny / "north", "simulated"), tmp_path / "cubes", Plan())
    said = shipped_summary(open_cohort(tmp_path / "cubes"), onset_zones(tiny))
    assert "The shipped model recorded, trained on recorded patients, ranks these 2" in said
    assert "a test of the simulation, not of the model" in said
    scores = shipped_scores(open_cohort(tmp_path / "cubes"))
    assert scores["method"].tolist() == [SHIPPED, SHIPPED]
    assert scores["auroc"].between(0, 1).all()
