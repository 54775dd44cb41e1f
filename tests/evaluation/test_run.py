"""A run's folder: one object knows where things are, and no name leads out of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from epilens.core.provenance import digest_of
from epilens.evaluation.protocol import run
from epilens.evaluation.run import Run, open_run
from epilens.methods import METHODS, Scorer, seen_channels
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort, make_run

PLAN = Plan(name="test", seeds=(1,), methods=("line-length-change",)).override(splits={"folds": 2})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("run")
    return run(PLAN, make_cohort(here / "cubes", patients=4), Runtime(out=here / "runs"))


@pytest.mark.parametrize("center", ["../../elsewhere", "a/b", "..", "C:\\x", "Ärzte 1 (simulated)"])
def test_no_center_s_name_leads_out_of_the_run(tmp_path, center):
    place = Run(tmp_path).cell("prq", 1, center).path
    assert place.parent == tmp_path / "cells" / "prq"
    assert Run(tmp_path).cell("prq", 1, "a").path != place


def test_usual_folds_keep_their_names(tmp_path):
    assert Run(tmp_path).cell("prq/q05", 42, "0").path.relative_to(tmp_path) == Path(
        "cells/prq--q05/seed-42_fold-0"
    )
    assert Run(tmp_path).cell("prq", 1, "North (simulated)").path.name == (
        "seed-1_fold-North (simulated)"
    )


def test_a_cell_tells_what_its_numbers_come_from(folder):
    record = json.loads(
        (folder / "cells/line-length-change/seed-1_fold-0/cell.json").read_text(encoding="utf-8")
    )
    assert record["key"] == digest_of(record["inputs"])
    assert set(record["inputs"]["patients"]) == {f"sub-0{i}" for i in range(1, 5)}
    assert record["inputs"]["seed"] == 1
    assert record["threshold"]["chosen_on"] == "validation patients"
    assert 0 <= record["threshold"]["value"] <= 1
    assert record["versions"]["torch"]


def test_a_cell_keeps_the_scores_on_which_the_method_chose_its_threshold(tmp_path, monkeypatch):
    scores = pd.DataFrame({"patient": ["a", "b"], "channel": "A1"})
    scores = scores.assign(is_ez=[True, False], p_nez=[0.2, 0.7])

    def fit(settings, training):
        return Scorer(
            lambda patient: np.full(seen_channels(patient).sum(), 0.5),
            threshold=0.4,
            threshold_from="inner folds",
            threshold_scores=scores.assign(more=1),
        )

    row = replace(METHODS["line-length-change"], fitter=fit, prevalence_tolerance=0.1)
    monkeypatch.setattr("epilens.evaluation.execution.METHODS", {row.name: row})
    place = run(PLAN, make_cohort(tmp_path / "cubes", patients=4), Runtime(out=tmp_path / "runs"))
    cell = open_run(place).cell(row.name, 1, "0")
    pd.testing.assert_frame_equal(cell.threshold_scores, scores)
    chosen = {"value": 0.4, "chosen_on": "inner folds", "share_within": 0.1}
    assert cell.record["threshold"] == chosen


def test_a_cell_whose_threshold_validation_patients_chose_keeps_no_other_scores(folder):
    cell = open_run(folder).cell("line-length-change", 1, "0")
    assert cell.threshold_scores is None
    assert not list(cell.path.glob("threshold_scores*"))


def test_a_plan_that_joins_a_run_adds_its_methods(folder):
    cohort = open_run(folder).cohort
    other = PLAN.override(methods=("high-frequency-change",))
    run(other, cohort, Runtime(out=folder.parent))
    run(PLAN, cohort, Runtime(out=folder.parent, only=("random",)))
    joined = open_run(folder)
    assert joined.plan.methods == ("line-length-change", "high-frequency-change", "random")
    assert set(joined.methods) == set(joined.plan.methods)


def test_a_damaged_record_is_made_again(folder):
    run_ = open_run(folder)
    path = run_.cell("line-length-change", 1, "1").path / "cell.json"
    before = path.read_bytes()
    path.write_bytes(before[:40])
    run(PLAN, run_.cohort, Runtime(out=folder.parent))
    assert path.read_bytes() == before


def test_what_cells_cost_is_kept_next_to_them_and_the_last_time_counts(tmp_path):
    run = Run(tmp_path)
    assert run.times.empty
    for method, fold, processor_s in (
        ("prq", "0", 2.0),
        ("lens", "São\tPaulo", 1.5),
        ("prq", "0", 3.0),
    ):
        run.note_time(method, 42, fold, processor_s)
    assert run.times[["method", "processor_s"]].values.tolist() == [["lens", 1.5], ["prq", 3.0]]
    assert run.times["fold"].tolist() == ["S%C3%A3o%09Paulo", "0"]


def test_the_former_name_of_the_summary_still_works():
    run_ = make_run()
    with pytest.warns(DeprecationWarning, match="summary"):
        table = run_.score()
    pd.testing.assert_frame_equal(table, run_.summary())
