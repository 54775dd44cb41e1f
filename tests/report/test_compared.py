"""Two methods of a run: the numbers, what is said of them, the figure, and what is refused."""

from __future__ import annotations

import json

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from epilens.cli import main
from epilens.core.errors import DataError, LedgerError
from epilens.evaluation.ledger import read_ledger, with_thresholds, write_ledger
from epilens.evaluation.protocol import run as go
from epilens.evaluation.run import open_run
from epilens.plan import Plan, Runtime
from epilens.report.run.compared import (
    check_figure,
    compare_methods,
    figure_of_compared,
    save_figure,
)
from epilens.testing import make_cohort


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of line-length spread, with a method that knows the answer and one that repeats it."""
    place = tmp_path_factory.mktemp("compared")
    cohort = make_cohort(place / "cubes", patients=8, channels=8, ez=3)
    plan = Plan(name="small", seeds=(1, 2), methods=("logistic-z",))
    folder = go(plan.override(splits={"folds": 2}), cohort, Runtime(out=place / "runs"))
    ledger = read_ledger(folder / "ledger.parquet")
    noise = np.random.default_rng(0).normal(0, 0.1, len(ledger))
    rows = ledger.assign(p_nez=0.5)
    knows = rows.assign(method="mine", p_nez=np.clip(0.7 - 0.4 * ledger["is_ez"] + noise, 0, 1))
    blind = rows.assign(method="coin", p_nez=np.clip(0.5 + noise, 0, 1))
    again = ledger.assign(method="again")
    parts = [ledger, with_thresholds(knows), with_thresholds(blind), again]
    write_ledger(pd.concat(parts, ignore_index=True), folder / "ledger.parquet")
    return folder


def test_the_effect_is_the_mean_paired_difference_of_patients(folder):
    run = open_run(folder)
    compared = compare_methods(run, "mine", "coin", ["auroc"])
    scores = run.scores.groupby(["method", "patient"])["auroc"].mean().unstack(0)
    apart = scores["mine"] - scores["coin"]
    row = compared.table.iloc[0]
    assert row["estimate"] == pytest.approx(apart.mean())
    assert row["low"] < row["estimate"] < row["high"]
    assert row["patients"] == 8
    assert (row["better"], row["worse"]) == ((apart > 0).sum(), (apart < 0).sum())
    by_patient = compared.differences.set_index("patient")["auroc"]
    pd.testing.assert_series_equal(by_patient, apart, check_names=False)
    assert set(compared.differences["center"]) == {"Center 1", "Center 2"}


def test_no_more_is_said_than_the_interval_holds(folder):
    run = open_run(folder)
    assert compare_methods(run, "mine", "coin", ["auroc"]).outcomes == ["AUROC: mine is better"]
    assert compare_methods(run, "coin", "mine", ["auroc"]).outcomes == ["AUROC: mine is better"]
    same = compare_methods(run, "again", "logistic-z", ["auroc"]).outcomes
    assert same == ["AUROC: no clear difference, the interval includes zero"]


def test_the_figure_shows_every_patient_and_every_metric(folder, tmp_path):
    compared = compare_methods(open_run(folder), "mine", "coin")
    effects, patients = figure_of_compared(compared).axes
    assert len(effects.get_yticks()) == len(compared.table) == 5
    drawn = np.concatenate(
        [line.get_ydata() for line in patients.lines if len(line.get_ydata()) > 2]
    )
    assert sorted(drawn) == pytest.approx(sorted(compared.differences["macro_f1"]))
    assert all(float(place).is_integer() for place in patients.get_xticks())
    path = save_figure(compared, tmp_path / "compared.png")
    assert matplotlib.image.imread(path).std() > 0.01
    save_figure(compared, path)  # our own may be replaced
    other = tmp_path / "other.png"
    other.write_bytes(b"a photograph")
    with pytest.raises(DataError, match="expected no file, or one that this command wrote"):
        save_figure(compared, other)


@pytest.mark.parametrize(
    ("a", "b", "metrics", "message"),
    [
        ("mine", "mine", (), "found 'mine' twice"),
        ("mime", "coin", (), r"expected mime .* Did you mean 'mine'\?$"),
        ("prq", "coin", (), r"expected prq .* Or add it with .* --only prq`\.$"),
        ("mine", "coin", ("aurocc",), r"found 'aurocc'. Did you mean 'auroc'\?"),
    ],
)
def test_what_cannot_be_compared_is_refused(folder, a, b, metrics, message):
    with pytest.raises(LedgerError, match=message):
        compare_methods(open_run(folder), a, b, metrics)


def test_a_figure_of_another_kind_is_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(LedgerError, match=r"ends with \.png or \.svg"):
        check_figure(tmp_path / "compared.docx")


def test_the_verb_prints_one_table_and_says_what_to_do_next(folder, tmp_path, capsys):
    picture = tmp_path / "compared.svg"
    with pytest.raises(SystemExit, match="0"):
        main(["compare", str(folder), "mine", "coin", "--figure", str(picture)])
    told = capsys.readouterr()
    assert "95 % interval" in told.out
    assert "For research, not for diagnosis." in told.err
    assert told.err.strip().splitlines()[-1] == f"next: open {picture}"
    assert picture.exists()
    with pytest.raises(SystemExit, match="0"):
        main(["compare", str(folder), "mine", "coin", "--metric", "auroc", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["a"] == "mine"
    assert row["metric"] == "auroc"
    assert row["low"] <= row["estimate"] <= row["high"]
