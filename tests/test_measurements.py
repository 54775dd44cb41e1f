"""The rulers of the benchmarks: contact features of seizures, and rows on real measurements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks import cohort_results, lens_settings, real
from benchmarks.seizure_features import auroc, patient_aurocs, structure
from sklearn.metrics import roc_auc_score

from epilens.evidence.contact_features import FEATURES

RNG = np.random.default_rng(0)


def test_auroc_is_scikit_learn_s_and_undefined_with_one_class():
    score, positive = RNG.normal(size=40).round(1), RNG.random(40) < 0.3
    assert auroc(score, positive) == pytest.approx(roc_auc_score(positive, score))
    assert np.isnan(auroc(score, np.ones(40, bool)))


def table(patients=6, seed=0):
    """Contact features of patients in whom onset contacts (the first four) have large ones."""
    rng = np.random.default_rng(seed)
    frames = []
    for p in range(patients):
        for run in (1, 2):
            values = rng.normal(size=(16, len(FEATURES)))
            values[:4] += 1.5
            frame = pd.DataFrame(values, columns=list(FEATURES))
            frame["channel"] = [f"{'AB'[i // 8]}{i % 8 + 1}" for i in range(16)]
            frame["shaft"], frame["number"] = ["A"] * 8 + ["B"] * 8, [*range(1, 9)] * 2
            frame["is_soz"] = np.arange(16) < 4
            frames.append(frame.assign(patient=f"{seed}-{p}", run=run))
    return pd.concat(frames, ignore_index=True)


def test_statistics_of_neighbours_and_shafts_are_counted_right():
    found = structure(table())
    assert found["next is SOZ after SOZ"] == pytest.approx(3 / 4)
    assert found["next is SOZ after others"] == 0
    assert found["shafts with SOZ"] == 0.5
    assert found["SOZ share of these"] == 0.5
    assert patient_aurocs(table())["ll_std"].mean() > 0.8


def test_rows_on_real_features_teach_and_judge_other_patients(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(real, "CLASSIFIERS", ("logistic",))
    fit, test = tmp_path / "fit.parquet", tmp_path / "test.parquet"
    table().to_parquet(fit)
    table(patients=2, seed=1).to_parquet(test)
    rows = {row["what"]: row["value"] for row in real.measure(str(fit), str(test))}
    assert rows["logistic-z: AUROC"] > rows["line-length-spread: AUROC"] > 0.7
    assert rows["line-length-spread/shaft: AUROC"] > 0.7
    assert rows["lens: AUROC"] > rows["line-length-spread: AUROC"]
    out, err = capsys.readouterr()
    assert "Real patients (2); labels are clinicians' onset contacts" in out
    assert "EZ-AUPRC − line-length-spread (95 %)" in out
    assert "real: lens (2 of 4 rows)" in err
    rows = {row["what"]: row["value"] for row in real.measure(str(fit))}
    assert rows["logistic-rank: AUROC"] > 0.9


def test_lens_sees_features_of_any_unit_and_channels_that_a_run_lacks(tmp_path):
    ours = table(patients=1).drop(index=[3])  # the first run lacks A4
    theirs = ours.assign(hfo_std=1e-14 * ours["hfo_std"], ll_mean=ours["ll_mean"] + 5)
    found = []
    for i, frame in enumerate((ours, theirs)):
        frame.to_parquet(tmp_path / f"{i}.parquet")
        found.append(real.read(tmp_path / f"{i}.parquet")["0-0"])
    assert found[0].table.x.shape == (16, 3, 3, 11)
    assert found[0].table.channels == tuple(found[0].channels)
    np.testing.assert_allclose(found[0].table.x, found[1].table.x, atol=1e-9)
    own = found[0].table.x[:, 0].reshape(16, -1)
    assert np.isclose(own, found[0].z).mean() > 0.98  # all but what the bound cuts


def test_files_that_make_no_sense_get_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match=r"expected a parquet file .* found none"):
        real.measure(str(tmp_path / "absent.parquet"))
    table().drop(columns="ll_std").to_parquet(tmp_path / "short.parquet")
    with pytest.raises(SystemExit, match=r"expected the columns ll_std, found none"):
        real.measure(str(tmp_path / "short.parquet"))
    table().to_parquet(tmp_path / "fit.parquet")
    with pytest.raises(SystemExit, match="expected other patients in the second file"):
        real.measure(str(tmp_path / "fit.parquet"), str(tmp_path / "fit.parquet"))


def held_out(is_ez):
    """Six patients with two shafts of eight contacts; the onset zone is contacts 3 to 5 of one."""
    channels = [f"{shaft}{n}" for shaft in "AB" for n in range(1, 9)]
    rows = [
        (str(p % 3), f"p{p}", name, name in {"A3", "A4", "A5"}, bool(is_ez(name)))
        for p in range(6)
        for name in channels
    ]
    frame = pd.DataFrame(rows, columns=["fold", "patient", "channel", "onset", "is_ez"])
    p_nez = np.where(frame["onset"], 0.2, 0.7)
    return frame.assign(p_nez=p_nez, method="a", center="North", seed=0, threshold=0.5)


def test_an_oracle_that_knows_the_onset_zone_is_scored_with_and_without_its_surroundings():
    scores = cohort_results.oracle_scores(held_out(lambda name: name in {"A2", "A3", "A4", "A5"}))
    means = scores.groupby("method")["auroc"].mean()
    alone, context = (means[name] for name in cohort_results.ORACLES.values())
    assert alone == pytest.approx(0.875)  # A2 is tied with the twelve other contacts
    assert alone < context < 1  # and A6 with A2


def test_sets_are_cut_by_other_folds_and_contain_what_they_should():
    test = held_out(lambda name: name in {"A3", "A4", "A5"})
    assert cohort_results.covering(test) == (1.0, 3 / 16)


def test_methods_are_compared_patient_by_patient():
    rows = {"logistic-z": (0.9, 0.7), "logistic": (0.8, 0.5), "cdel": (0.9, 0.7)}
    scores = pd.DataFrame(
        [(m, p, v) for m, values in rows.items() for p, v in enumerate(values)],
        columns=["method", "patient", "auroc"],
    )
    lines = list(cohort_results.difference_table({"c0": scores}))
    assert lines[2].startswith("| logistic-z − logistic | +0.150 (")
    assert lines[3].startswith("| cdel − logistic-z | +0.000")
    assert len(lines) == 4


def test_settings_of_lens_are_compared_on_patients_of_other_folds():
    is_ez = np.arange(16) < 4
    channels = tuple(f"{'AB'[i // 8]}{i % 8 + 1}" for i in range(16))
    terms = RNG.normal(size=(10, 1, 16, 14, 2)) + is_ez[:, None, None]
    patients = [
        lens_settings.LabelledTerms(f"p{p}", "North", channels, terms[p], is_ez) for p in range(10)
    ]
    present = lens_settings.evaluate(patients, lens_settings.Alternative())
    assert len(present) == 10
    assert present["auroc"].mean() > 0.9
    wrong = [*patients[:9], replace(patients[9], is_ez=~is_ez)]
    changed = lens_settings.evaluate(wrong, lens_settings.Alternative())
    assert changed.loc["p4", "auroc"] == present.loc["p4", "auroc"]  # the same fold as p9
    assert changed.loc["p9", "auroc"] == pytest.approx(1 - present.loc["p9", "auroc"])
