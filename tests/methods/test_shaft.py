"""Smoothing along shafts: by hand, as a modifier of every row, through the protocol."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import training_free_by_hand as hand
from hypothesis import given, settings
from hypothesis import strategies as st

from epilens.core.errors import EpilensError, PlanError
from epilens.data.channels.contacts import contact_of
from epilens.evaluation.ledger import cell_threshold
from epilens.evaluation.protocol import run, trained_parts
from epilens.evaluation.run import Run
from epilens.evidence.cube import blind
from epilens.methods import METHODS, Training, all_parts
from epilens.methods.inputs import method_inputs
from epilens.methods.shaft import smoothed
from epilens.plan import Plan, Runtime, ShaftPlan
from epilens.testing import check_method, make_cohort, make_patient

WEIGHTS = ShaftPlan()


@given(st.integers(0, 10_000), st.integers(1, 14))
@settings(max_examples=60, deadline=None)
def test_smoothing_is_the_transcription(seed, n):
    rng = np.random.default_rng(seed)
    contacts = [
        None if rng.random() < 0.2 else (str(rng.choice(["A", "B'"])), int(rng.integers(1, 9)))
        for _ in range(n)
    ]
    names = ["DC" if c is None else f"{c[0]}{c[1]}" for c in contacts]
    scores = rng.integers(0, 6, n) / 5  # with ties
    by_hand = hand.smoothed(contacts, scores.tolist(), 0.5, 0.25, 0.25)
    np.testing.assert_allclose(smoothed(names, scores, WEIGHTS), by_hand, rtol=1e-12)


def test_a_contact_between_two_leading_ones_rises_and_a_lone_one_falls():
    names = ["A1", "A2", "A3", "B1", "B2", "B3", "C1", "C2"]
    raw = np.array([0.1, 0.5, 0.2, 0.15, 0.8, 0.9, 0.6, 0.7])
    order = np.array(names)[smoothed(names, raw, WEIGHTS).argsort()]
    assert order[:3].tolist() == ["A1", "A2", "A3"]  # A2 was fourth, B1 second


def test_own_weight_alone_keeps_the_order():
    raw = np.random.default_rng(0).random(12)
    only = ShaftPlan(own=1.0, neighbours=0.0, shaft=0.0)
    ours = smoothed([f"A{i}" for i in range(12)], raw, only)
    assert (ours.argsort() == raw.argsort()).all()


@pytest.mark.parametrize(
    ("name", "contact"),
    [("A1-A2", ("A", 1)), ("EEG LF 03-Ref", ("LF", 3)), ("LF-3", ("LF", 3)), ("ECG", None)],
)
def test_the_shaft_of_a_channel(name, contact):
    assert contact_of(name) == contact


def test_weights_sum_to_one():
    with pytest.raises(PlanError, match=r"own, neighbours and shaft must sum to 1, got 1\.25"):
        Plan().override(shaft={"own": 0.75})


def test_every_row_can_carry_the_modifier_and_has_a_key_of_its_own():
    for name in METHODS:
        row, smooth = METHODS[name], METHODS[f"{name}/shaft"]
        assert smooth.parts == (name,)
        assert smooth.sections == (*row.sections, "shaft")
        assert (smooth.input, smooth.training_free) == (row.input, row.training_free)
        assert METHODS.origin(smooth.name) == METHODS.origin(name)
        inputs = method_inputs(smooth.name, Plan())
        assert inputs["parts"][name] == method_inputs(name, Plan())
    assert "line-length-spread/shaft" in METHODS
    assert "line-length-spread/shaft" not in list(METHODS)


def test_weights_and_what_is_smoothed_are_behind_the_key():
    def key(plan):
        return json.dumps(method_inputs("cdel/shaft", plan), sort_keys=True)

    assert key(Plan()) != key(Plan().override(shaft={"own": 0.6, "shaft": 0.15}))
    assert key(Plan()) != key(Plan().override(training={"batch": 2}))
    assert method_inputs("cdel", Plan()) == method_inputs(
        "cdel", Plan().override(shaft={"own": 0.6, "shaft": 0.15})
    )


@pytest.mark.parametrize("name", ["nothing/shaft", "prq/shaft/shaft", "/shaft"])
def test_what_is_no_row_cannot_be_smoothed(name):
    assert name not in METHODS
    with pytest.raises(EpilensError, match="method: expected a registered name, found"):
        METHODS[name]


@pytest.mark.parametrize("name", ["line-length-change/shaft", "logistic-z/shaft", "random/shaft"])
def test_a_smoothed_row_keeps_the_contract(name):
    check_method(name)


def test_a_smoothed_row_is_its_row_s_scores_smoothed():
    patient = blind(make_patient(seizures=2, fs=220.0))
    raw, smooth = (
        METHODS[n].fit(Training()).predict([patient])
        for n in ("line-length-spread", "line-length-spread/shaft")
    )
    np.testing.assert_allclose(smooth["p_nez"], smoothed(raw["channel"], raw["p_nez"], WEIGHTS))


def test_the_row_itself_is_always_in_the_plan():
    plan = Plan(methods=("cdel/shaft", "prq", "random/shaft", "random"))
    assert plan.methods == ("cdel", "cdel/shaft", "prq", "random", "random/shaft")


def test_nothing_is_trained_twice_for_a_smoothed_row():
    rows = [METHODS[n] for n in ("cdel/shaft", "cdel", "random/shaft")]
    assert trained_parts(rows) == ["prq", "bcr", "random"]
    assert all_parts(METHODS["cdel/shaft"]) == ["prq", "bcr", "cdel"]


def test_the_protocol_smooths_ledgers_and_chooses_thresholds_again(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", patients=8)
    plan = Plan(smoke=True, name="smooth", seeds=(42,)).override(
        methods=("cdel/shaft", "line-length-change/shaft"),
        splits={"folds": 2},
        training={"epochs": 1, "least_epochs": 1},
    )
    done = Run(run(plan, cohort, Runtime(out=tmp_path)))
    assert set(done.methods) == {
        *("prq", "bcr", "cdel", "cdel/shaft", "line-length-change", "line-length-change/shaft")
    }
    assert sorted(p.name for p in (done.folder / "cells").iterdir()) == [
        *("bcr", "line-length-change", "prq")
    ]
    for name in ("cdel", "line-length-change"):
        raw, smooth = (done.ledger[done.ledger["method"] == m] for m in (name, f"{name}/shaft"))
        by = ["seed", "fold", "partition", "patient"]
        for key, rows in smooth.groupby(by):
            same = raw.groupby(by).get_group(key).set_index("channel").loc[rows["channel"]]
            wanted = smoothed(rows["channel"].tolist(), same["p_nez"].to_numpy(), WEIGHTS)
            np.testing.assert_allclose(rows["p_nez"], wanted)
        for _, cell in smooth.groupby(["seed", "fold"]):
            assert cell["threshold"].unique().tolist() == [cell_threshold(cell)]
    from epilens.analyses import analyse

    audit = analyse("audit", Run(done.folder, tmp_path / "cubes"))
    assert audit["passed"].all(), audit[~audit["passed"]]
    assert audit["check"].str.startswith("largest difference of smoothed methods").any()
    main = analyse("main", Run(done.folder, tmp_path / "cubes"))["method"].tolist()
    assert main.index("cdel/shaft") == main.index("cdel") + 1
    frame = analyse("training-free", Run(done.folder, tmp_path / "cubes"))
    assert isinstance(frame, pd.DataFrame)
    assert frame["method"].tolist() == ["line-length-change", "line-length-change/shaft"]
    assert frame["gain"].isna().tolist() == [True, False]
