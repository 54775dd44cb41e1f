"""Fewer seizures: which are drawn, that they are the same for all, and what the networks say."""

from __future__ import annotations

import json
from functools import cache, partial

import numpy as np
import pytest
import statistics_by_hand as hand
from safetensors.torch import load_file, save_file

from epilens.analyses import analyse
from epilens.analyses.reinference import (
    CONDITIONS,
    REPEATS,
    matched_patients,
    subset_scores,
    subsets,
)
from epilens.core.errors import LedgerError
from epilens.evaluation.run import open_run
from epilens.evidence.views import Standardizer
from epilens.networks.bcr import BCRNet
from epilens.networks.prq import PRQNet
from epilens.networks.training import as_tensors, predict


def test_a_subset_depends_on_the_patient_the_count_and_the_repeat_alone():
    drawn = subsets("sub-01", [0, 2, 3, 5], 2)
    assert drawn == subsets("sub-01", [0, 2, 3, 5], 2)
    assert len(drawn) == REPEATS
    assert all(len(set(chosen)) == 2 and set(chosen) <= {0, 2, 3, 5} for chosen in drawn)
    assert len(set(drawn)) > 1
    assert drawn != subsets("sub-02", [0, 2, 3, 5], 2)


def test_every_seizure_is_drawn_about_equally_often():
    names = [f"sub-{i:03d}" for i in range(300)]
    drawn = [one for name in names for (one,) in subsets(name, [0, 1, 2], 1)]
    shares = np.bincount(drawn) / len(drawn)
    assert np.abs(shares - 1 / 3).max() < 4 * np.sqrt(2 / 9 / len(drawn))


def test_all_seizures_are_used_once_and_two_of_two_are_all():
    assert subsets("sub-01", [0, 1], None) == [(0, 1)]
    assert subsets("sub-01", [0, 1], 2) == [(0, 1)]


def test_patients_with_one_seizure_are_not_matched(small):
    matched = matched_patients(small)
    assert matched == {
        name: [0, 1] for i, name in enumerate(small.setting["patients"]) if i % 3 > 0
    }


def network_scores(run, method, seed, patient, kept):
    """The whole network, straight from its checkpoint, on a cube with fewer seizures."""
    fold = run.split.query("partition == 'test' and patient == @patient")["fold"].iloc[0]
    place = run.folder / "cells" / method / f"seed-{seed}_fold-{fold}"
    tensors = load_file(place / "checkpoint.safetensors")
    scaling = [tensors.pop(f"standardizer.{what}").numpy() for what in ("mean", "scale")]
    network = PRQNet() if method == "prq" else BCRNet()
    network.load_state_dict(tensors)
    cube = run.cube(patient).isel(seizure=list(kept))
    seen = cube["valid"].any(["seizure", "window"]).values
    p_nez = predict(network, as_tensors(cube, Standardizer(*scaling)))
    rows = run.ledger[(run.ledger["seed"] == seed) & (run.ledger["fold"] == fold)]
    thresholds = rows.groupby("method")["threshold"].first()
    return p_nez, cube["is_ez"].values[seen], thresholds


@pytest.mark.parametrize(("condition", "count"), [("one", 1), ("two", 2), ("all", None)])
def test_scores_are_those_of_the_whole_network_on_a_smaller_cube(many, condition, count):
    rows = subset_scores(many).set_index(["patient", "seed", "seizures", "method"])
    for patient, seizures in list(matched_patients(many).items())[:2]:
        assert len(seizures) > 2
        found = {name: [] for name in ("prq", "bcr", "cdel")}
        scores = cache(partial(network_scores, many, seed=2, patient=patient))
        for kept in subsets(patient, seizures, count):
            prq, is_ez, thresholds = scores("prq", kept=kept)
            bcr, _, _ = scores("bcr", kept=kept)
            for name, p in (("prq", prq), ("bcr", bcr), ("cdel", 0.8 * prq + 0.2 * bcr)):
                found[name].append(hand.sklearn_metrics(p, is_ez, thresholds[name]))
        for method, repeats in found.items():
            row = rows.loc[(patient, 2, condition, method)]
            for metric in ("macro_f1", "ez_f1", "ez_auprc", "ndcg_ez"):
                expected = hand.mean([one[metric] for one in repeats])
                assert row[metric] == pytest.approx(expected, abs=1e-9)


def test_all_seizures_give_the_scores_of_the_run(small):
    rows = subset_scores(small)
    rows = rows[rows["seizures"] == "all"].set_index(["method", "seed", "patient"])
    known = small.scores.set_index(["method", "seed", "patient"])
    for key, row in rows.iterrows():
        assert row["macro_f1"] == pytest.approx(known.loc[key, "macro_f1"])
        assert row["ndcg_ez"] == pytest.approx(known.loc[key, "ndcg_ez"])


def test_the_gain_is_paired_over_patients(small):
    frame = analyse("cross-seizure", small).set_index(["method", "metric", "seizures"])
    rows = subset_scores(small)
    rows = rows[rows["method"] == "cdel"]
    means = rows.groupby(["seizures", "patient"])["ez_f1"].mean()
    gains = (means["all"] - means["one"]).tolist()
    row = frame.loc[("cdel", "ez_f1", "one")]
    assert row["gain"] == pytest.approx(hand.mean(gains))
    exact = hand.all_resample_means(gains)
    assert row["low"] == pytest.approx(hand.quantile(exact, 0.025), abs=0.02)
    assert row["high"] == pytest.approx(hand.quantile(exact, 0.975), abs=0.02)
    assert frame["patients"].unique().tolist() == [len(gains)]
    # Every matched patient of this cohort has two seizures: two of them are all.
    assert frame.loc[("cdel", "ez_f1", "two"), "gain"] == 0
    assert list(CONDITIONS) == ["one", "two", "all"]


def test_two_of_several_seizures_are_not_all(many):
    assert sorted(map(len, matched_patients(many).values())) == [2, 2, 3, 3, 4, 4]
    frame = analyse("cross-seizure", many).set_index(["method", "metric", "seizures"])
    rows = subset_scores(many)
    for method in ("prq", "bcr", "cdel"):
        means = rows[rows["method"] == method].groupby(["seizures", "patient"])["ndcg_ez"].mean()
        gains = (means["all"] - means["two"]).tolist()
        assert any(gain != 0 for gain in gains)
        row = frame.loc[(method, "ndcg_ez", "two")]
        assert row["gain"] == pytest.approx(hand.mean(gains))
        exact = hand.all_resample_means(gains)
        assert row["low"] == pytest.approx(hand.quantile(exact, 0.025), abs=0.02)
        assert row["high"] == pytest.approx(hand.quantile(exact, 0.975), abs=0.02)


def test_the_drawn_seizures_are_written_down_by_name(tampered, cubes):
    (tampered / "small" / "subsets.json").unlink(missing_ok=True)
    run = open_run(tampered / "small", cubes)
    assert run.subsets is None
    analyse("cross-seizure", run)
    written = json.loads((tampered / "small" / "subsets.json").read_text())
    assert set(written) == set(matched_patients(run))
    names = run.cube("sub-02")["seizure"].values.tolist()
    assert written["sub-02"]["all"] == written["sub-02"]["two"] == [names]
    assert written["sub-02"]["one"] == [[names[i]] for (i,) in subsets("sub-02", [0, 1], 1)]


@pytest.mark.parametrize("name", ["SUBSET_SEED", "REPEATS"])
def test_seizures_that_are_drawn_otherwise_than_before_are_refused(tampered, monkeypatch, name):
    run = open_run(tampered / "small")
    analyse("cross-seizure", run)
    before = run.subsets
    monkeypatch.setattr(f"epilens.analyses.reinference.{name}", 7)
    with pytest.raises(LedgerError, match="wrote down when they were first drawn, found others"):
        analyse("cross-seizure", run)
    assert run.subsets == before


def test_written_subsets_that_cannot_be_read_are_refused(tampered):
    (tampered / "small" / "subsets.json").write_text("nothing")
    with pytest.raises(LedgerError, match="found others for 5 patients: sub-02, sub-03, "):
        analyse("cross-seizure", open_run(tampered / "small"))


def test_other_checkpoints_are_noticed(tampered, cubes):
    path = next((tampered / "small" / "cells" / "prq").rglob("checkpoint.safetensors"))
    tensors = load_file(path)
    save_file({name: 1.1 * value for name, value in tensors.items()}, path)
    with pytest.raises(LedgerError, match="to be those of the ledger, found a difference of"):
        analyse("cross-seizure", open_run(tampered / "small", cubes))


def test_a_missing_checkpoint_is_refused(tampered, cubes):
    next((tampered / "small" / "cells" / "bcr").rglob("checkpoint.safetensors")).unlink()
    with pytest.raises(LedgerError, match="expected the checkpoint of bcr, found none"):
        analyse("cross-seizure", open_run(tampered / "small", cubes))
