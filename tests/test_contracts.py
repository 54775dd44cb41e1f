"""Every registered method keeps the contract: a new method is tested by being registered."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from epilens.errors import MethodError
from epilens.evidence.cube import blind
from epilens.methods import METHODS, seen_channels, stores_of
from epilens.plan import Plan
from epilens.testing import make_patient

PLAN = Plan(smoke=True).override(
    training={"epochs": 2, "least_epochs": 1}, baselines={"epochs": 2}, traces={"segments": 5}
)
# What starts from pretrained weights is tested with checkpoints of its own (test_pretrained.py).
FITTED = [n for n, m in METHODS.items() if m.fitter is not None and not m.pretrained]
LEARNED = [name for name in FITTED if not METHODS[name].training_free]
TRAINING_FREE = [name for name in FITTED if METHODS[name].training_free]
CONTRACT = """prq bcr cdel prq/base prq/temporal prq/absolute prq/q05 prq/q20 prq/released bcr/base
bcr/q10 bcr/boundary bcr/coverage bcr/released logistic rbf-svm random-forest lightgbm deepsets
mlp-rank logistic-z rbf-svm-z seegnet timeconv-cnn clap seegformer epileptogenicity-index fragility
line-length-change high-frequency-change random""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def patients():
    """Unequal rates, one seizure, one class only, a channel that one seizure lacks."""
    kinds = [
        {"seizures": 2},
        {"seizures": 1},
        {"seizures": 3, "fs": 250.0},
        {"seizures": 2, "ez": 6},
    ]
    made = [
        make_patient(f"sub-{i:02d}", seed=10 * i, **{"fs": 220.0} | kind)
        for i, kind in enumerate(kinds)
    ]
    valid = made[2]["valid"].copy()
    valid[0, :, -1] = False
    made[2] = made[2].assign(valid=valid, x=made[2]["x"].where(valid, 0))
    return made


@pytest.fixture(scope="module")
def fitted(patients):
    """Every method once; several tests look at the same fit."""
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = fit(name, patients)
        return kept[name]

    return get


def fit(name, patients, seed=0):
    return METHODS[name].fit(patients[:2], patients[2:3], seed, PLAN)


def test_the_contract_s_rows_are_there():
    assert set(CONTRACT) <= set(METHODS)
    assert len({METHODS[name].spec for name in METHODS}) == len(METHODS), "rows differ in something"
    sections = {section for method in METHODS.values() for section in method.reads}
    assert sections <= set(Plan.model_fields)


def test_a_plan_s_methods_say_which_stores_they_read():
    assert stores_of(["prq", "logistic", "random"]) == []
    assert stores_of(["fragility", "seegnet", "cdel"]) == ["signals", "traces"]


@pytest.mark.parametrize("name", FITTED)
def test_a_method_keeps_the_contract(name, patients, fitted):
    blinded = [blind(p) for p in patients]
    once, again = (f.predict(blinded) for f in (fitted(name), fit(name, patients)))
    pd.testing.assert_frame_equal(once, again)  # same seed, same bits
    assert once["p_nez"].between(0, 1).all()
    assert not once.duplicated(["patient", "channel"]).any()
    wanted = [(p.attrs["patient"], c) for p in patients for c in p.channel.values[seen_channels(p)]]
    assert list(zip(once["patient"], once["channel"], strict=True)) == wanted
    json.dumps(fitted(name).notes)


LOGISTIC = {"logistic", "logistic-z", "rich/connectivity", "rich/hfo", "rich/graph-residual"}
SEEDLESS = {*LOGISTIC, "lightgbm", *TRAINING_FREE} - {"random"}


@pytest.mark.parametrize("name", FITTED)
def test_the_seed_matters_where_chance_enters(name, patients, fitted):
    other = fit(name, patients, seed=1).predict([blind(patients[2])])["p_nez"]
    same = np.array_equal(other, fitted(name).predict([blind(patients[2])])["p_nez"])
    assert same == (name in SEEDLESS)


@pytest.mark.parametrize("name", FITTED)
def test_predictions_do_not_depend_on_test_labels(name, patients, fitted):
    bare = patients[3]
    flipped = bare.assign(is_ez=~bare["is_ez"])
    pd.testing.assert_frame_equal(fitted(name).predict([bare]), fitted(name).predict([flipped]))


@pytest.mark.parametrize("name", FITTED)
def test_a_patient_s_scores_do_not_depend_on_the_others(name, patients, fitted):
    together = fitted(name).predict([blind(p) for p in patients])
    alone = fitted(name).predict([blind(patients[2])])
    there = together[together["patient"] == "sub-02"].reset_index(drop=True)
    pd.testing.assert_frame_equal(there, alone)


@pytest.mark.parametrize("name", FITTED)
def test_scores_follow_their_channels(name, patients, fitted):
    """The order of channels is of no consequence."""
    patient = blind(patients[3])
    order = np.random.default_rng(0).permutation(patient.sizes["channel"])
    ours = fitted(name).predict([patient]).set_index("channel")["p_nez"]
    other = fitted(name).predict([patient.isel(channel=order)]).set_index("channel")["p_nez"]
    np.testing.assert_allclose(other[ours.index], ours, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", LEARNED)
def test_one_patient_is_too_few_to_learn_from(name, patients):
    with pytest.raises(MethodError, match=f"{name}: expected 2 or more patients to learn from"):
        METHODS[name].fit(patients[:1], patients[2:3], 0, PLAN)
    with pytest.raises(MethodError, match="expected 1 or more patients to choose a threshold on"):
        METHODS[name].fit(patients[:2], [], 0, PLAN)


@pytest.mark.parametrize("name", ["logistic", "prq", "seegnet"])
def test_labels_of_both_classes_are_needed(name, patients):
    one_class = [p.assign(is_ez=p["is_ez"] | True) for p in patients[:2]]
    with pytest.raises(MethodError, match="expected EZ and NEZ channels among the fit patients"):
        METHODS[name].fit(one_class, patients[2:3], 0, PLAN)
    with pytest.raises(MethodError, match="expected EZ labels for every fit patient"):
        METHODS[name].fit([patients[0], blind(patients[1])], patients[2:3], 0, PLAN)


@pytest.mark.parametrize("name", TRAINING_FREE)
def test_a_training_free_method_needs_no_patient(name, patients):
    scores = METHODS[name].fit([], [], 0, PLAN).predict([blind(patients[0])])
    pd.testing.assert_frame_equal(scores, fit(name, patients).predict([patients[0]]))


@pytest.mark.parametrize("name", [n for n in LEARNED if n.startswith(("prq", "bcr"))])
def test_the_history_tells_every_epoch_and_which_was_kept(name, fitted):
    history = fitted(name).history
    assert history["epoch"].tolist() == [1, 2]
    assert np.isfinite(history["loss"]).all()
    assert history["selected"].iloc[0]
    assert history["threshold"].between(0, 1).all()


def test_a_missing_package_is_named(monkeypatch, patients):
    monkeypatch.setattr("epilens.methods.find_spec", lambda name: None)
    with pytest.raises(MethodError, match=r"transformers is not\s+installed.*epilens\[raw\]"):
        METHODS["clap"].fit(patients[:2], patients[2:3], 0, PLAN)
