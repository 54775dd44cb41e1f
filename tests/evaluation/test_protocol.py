"""The protocol: resumable cells, blindness, complete ledgers, refusal of changed cohorts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from epilens.compute import jobs
from epilens.core.errors import CubeError, DataError, LedgerError, PlanError
from epilens.core.progress import Progress
from epilens.evaluation import execution
from epilens.evaluation.ledger import fuse, read_ledger
from epilens.evaluation.protocol import check_complete, run
from epilens.evaluation.run import Run
from epilens.evaluation.scoring import score, summarise
from epilens.evidence.files import open_cohort, open_cube, save
from epilens.plan import Plan, Runtime
from epilens.testing import make_cohort

PLAN = Plan(name="test", seeds=(1, 2)).override(
    splits={"folds": 2}, training={"epochs": 2, "least_epochs": 1}
)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return make_cohort(tmp_path_factory.mktemp("cohort"))


@pytest.fixture(scope="module")
def folder(cohort, tmp_path_factory):
    return run(PLAN, cohort, Runtime(out=tmp_path_factory.mktemp("runs")))


def cell_files(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted((folder / "cells").rglob("*.*"))
    }


def test_a_run_writes_what_it_promises(folder, cohort):
    assert Plan.load(folder / "plan.toml") == PLAN
    setting = json.loads((folder / "run.json").read_text())
    assert set(setting["patients"]) == set(cohort)
    cells = list((folder / "cells").rglob("cell.json"))
    assert len(cells) == 2 * 2 * 2
    for cell in cells:
        history = pd.read_parquet(cell.with_name("history.parquet"))
        assert history["selected"].any()
        weights = load_file(cell.with_name("checkpoint.safetensors"))
        assert weights["standardizer.mean"].shape == (4, 9)
        if "tail.gamma" in weights:
            assert weights["tail.gamma"].shape == ()


def test_the_ledger_has_every_patient_in_exactly_one_test_fold(folder, cohort):
    ledger = read_ledger(folder / "ledger.parquet")
    assert set(ledger["method"]) == {"prq", "bcr", "cdel"}
    test = ledger[ledger["partition"] == "test"]
    folds = test.groupby(["method", "seed", "patient"])["fold"].nunique()
    assert (folds == 1).all()
    assert len(folds) == 3 * 2 * len(cohort)


def test_cdel_is_the_fusion_of_its_branches_with_its_own_validation_threshold(folder):
    ledger = read_ledger(folder / "ledger.parquet")
    prq, bcr, cdel = (ledger[ledger["method"] == m] for m in ("prq", "bcr", "cdel"))
    keys = ["seed", "fold", "partition", "patient", "channel"]
    both = prq.merge(bcr, on=keys, suffixes=("", "_b")).merge(cdel, on=keys, suffixes=("", "_c"))
    np.testing.assert_allclose(both["p_nez_c"], 0.8 * both["p_nez"] + 0.2 * both["p_nez_b"])
    again = fuse(prq, bcr).sort_values(keys)["threshold"].to_numpy()
    np.testing.assert_array_equal(again, cdel.sort_values(keys)["threshold"])


def test_running_it_again_keeps_every_cell(folder, cohort):
    before = {p: p.stat().st_mtime_ns for p in (folder / "cells").rglob("cell.json")}
    told = []
    tick = Progress(lambda note, steps: told.append(note))
    run(PLAN, cohort, Runtime(out=folder.parent, tick=tick))
    assert tick.total == 8
    assert {p: p.stat().st_mtime_ns for p in (folder / "cells").rglob("cell.json")} == before
    assert len(told) == 8
    assert all(note.endswith("kept") for note in told)


def test_adding_a_method_reruns_nothing(folder, cohort):
    before = cell_files(folder)
    run(PLAN, cohort, Runtime(out=folder.parent, only=("prq/base",)))
    after = cell_files(folder)
    assert {name: after[name] for name in before} == before
    ledger = read_ledger(folder / "ledger.parquet")
    assert set(ledger["method"]) == {"prq", "bcr", "cdel", "prq/base"}


def test_a_killed_run_resumes_to_identical_bytes(folder, cohort, tmp_path):
    code = """
import os, pathlib, sys
from epilens import open_cohort, run, Plan, Runtime
left = [3]
def tick(note, steps):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), 9)
runtime = Runtime(out=pathlib.Path(sys.argv[3]), tick=tick)
run(Plan.load(sys.argv[1]), open_cohort(sys.argv[2]), runtime)
"""
    cubes = str(cohort.path("sub-01").parent)
    command = [sys.executable, "-c", code, str(folder / "plan.toml"), cubes, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -9
    assert not (tmp_path / "test" / "ledger.parquet").exists()
    resumed = run(PLAN, cohort, Runtime(out=tmp_path))
    expected = {k: v for k, v in cell_files(folder).items() if "prq--base" not in k}
    assert cell_files(resumed) == expected


def test_processes_give_the_same_bytes(folder, cohort, tmp_path):
    other = run(PLAN, cohort, Runtime(out=tmp_path, jobs=2, only=("bcr",)))
    expected = {k: v for k, v in cell_files(folder).items() if "/bcr/" in k}
    assert cell_files(other) == expected


def test_the_folds_of_a_training_free_row_go_to_one_process(cohort, tmp_path, monkeypatch):
    """Its scores are cached per process: a second one would compute the same patients."""
    handed, stream_results = [], jobs.stream_results

    def noted(work, items, *rest):
        handed.extend(items)
        return stream_results(work, items, *rest)

    monkeypatch.setattr(jobs, "stream_results", noted)
    run(PLAN, cohort, Runtime(out=tmp_path, only=("random", "line-length-change"), jobs=2))
    sizes = [(group[0].method, len(group)) for group in handed]
    folds = PLAN.splits.folds
    assert sizes.count(("line-length-change", folds)) == 1
    assert sizes.count(("random", 1)) == folds * len(PLAN.seeds)
    assert len(sizes) == 1 + folds * len(PLAN.seeds)


def test_a_plan_does_not_share_the_folder_of_one_with_other_capitals(cohort, tmp_path):
    (tmp_path / PLAN.name.upper()).mkdir()
    with pytest.raises(DataError, match=f"{PLAN.name}: expected a name that differs"):
        run(PLAN, cohort, Runtime(out=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [PLAN.name.upper()]


def test_a_changed_cohort_is_refused(tmp_path):
    cohort = make_cohort(tmp_path / "cubes")
    run(PLAN, cohort, Runtime(out=tmp_path, only=("prq",)))
    cube = open_cube(cohort.path("sub-01"))
    cube.attrs["key"] = "another"
    save(cube, cohort.path("sub-01"))
    with pytest.raises(PlanError, match="expected the cohort that this run began with"):
        run(PLAN, open_cohort(tmp_path / "cubes"), Runtime(out=tmp_path, only=("prq",)))


def test_unlabelled_patients_cannot_be_run(tmp_path):
    cohort = make_cohort(tmp_path, patients=2)
    for name in cohort:
        cube = open_cube(cohort.path(name)).drop_vars("is_ez")
        cube.attrs["ez_channels"] = None
        save(cube, cohort.path(name))
    with pytest.raises(PlanError, match="expected patients with EZ labels, found none among 2"):
        run(PLAN, open_cohort(tmp_path), Runtime(out=tmp_path / "runs"))


def test_a_run_names_patients_without_a_label(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", patients=5)
    cube = open_cube(cohort.path("sub-02")).drop_vars("is_ez")
    cube.attrs["ez_channels"] = None
    save(cube, cohort.path("sub-02"))
    cohort = open_cohort(tmp_path / "cubes")
    folder = run(PLAN, cohort, Runtime(out=tmp_path / "runs", only=("random",)))
    first, _ = Run(folder).caveats
    assert first == "1 of 5 patients has no EZ label and is not used: sub-02."


@pytest.mark.parametrize("seeds", [(1, 2, 43), (1,)])
def test_other_seeds_than_those_of_the_methods_that_stay_are_refused_at_once(
    folder, cohort, tmp_path, seeds
):
    shutil.copytree(folder, tmp_path / "test")
    before = {path: path.read_bytes() for path in (tmp_path / "test").rglob("*.*")}
    plan = PLAN.override(seeds=seeds)
    with pytest.raises(PlanError, match=r"its other methods \(prq, bcr, cdel.*\) have 1, 2\. Run"):
        run(plan, cohort, Runtime(out=tmp_path, only=("random",)))
    assert before == {path: path.read_bytes() for path in before}
    assert not (tmp_path / "test" / "cells" / "random").exists()


def test_an_incomplete_ledger_is_refused_with_the_list(folder):
    ledger = read_ledger(folder / "ledger.parquet")
    split = pd.read_csv(folder / "split.csv", dtype=str)
    lacking = ledger[~((ledger["method"] == "bcr") & (ledger["patient"] == "sub-03"))]
    with pytest.raises(LedgerError, match=r"found 2 parts missing: bcr seed 1 fold . sub-03"):
        check_complete(lacking, split, ["bcr"])
    with pytest.raises(LedgerError, match=r"nothing \(all\)"):
        check_complete(ledger, split, ["nothing"])


@pytest.mark.parametrize("column", ["is_ez", "center", "channel"])
def test_methods_that_are_not_aligned_are_refused(folder, column):
    ledger, split = read_ledger(folder / "ledger.parquet"), pd.read_csv(folder / "split.csv")
    row = ledger.index[(ledger["method"] == "bcr") & (ledger["partition"] == "test")][0]
    ledger.loc[row, column] = not ledger.loc[row, column] if column == "is_ez" else "other"
    with pytest.raises(LedgerError, match="expected the same channels, centers and EZ labels"):
        check_complete(ledger, split, ["bcr"])


def test_what_a_run_must_say_is_kept_with_it(folder, tmp_path):
    assert Run(folder).caveats == ["For research, not for diagnosis."]
    setting = json.loads((folder / "run.json").read_text()) | {"smoke": True, "simulated": True}
    (tmp_path / "run.json").write_text(json.dumps(setting))
    smoke, simulated, _ = Run(tmp_path).caveats
    assert "Quick test" in smoke
    assert "nothing here is clinical evidence" in simulated


def test_a_run_says_that_labels_may_be_inverted(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "run")
    ledger = pd.read_parquet(folder / "ledger.parquet")
    ledger["is_ez"] = ledger["channel"] != "A1"
    ledger.to_parquet(tmp_path / "run" / "ledger.parquet")
    inverted, _ = Run(tmp_path / "run").caveats
    assert "More than 70% of the channels are labelled EZ in sub-" in inverted
    assert "check whether the labels are inverted" in inverted


def test_a_run_of_simulated_patients_knows_it_from_their_cubes(tmp_path):
    cohort = make_cohort(tmp_path / "cubes", patients=4, simulated=True)
    folder = run(PLAN, cohort, Runtime(out=tmp_path / "runs", only=("random",)))
    assert any("clinical evidence" in text for text in Run(folder).caveats)


def test_methods_that_read_another_store_name_it_when_it_is_missing(cohort, tmp_path):
    with pytest.raises(CubeError, match="expected the signals of a patient, found none"):
        run(PLAN, cohort, Runtime(out=tmp_path, only=("fragility",)))


def test_a_run_can_leave_one_center_out(cohort, tmp_path):
    plan = PLAN.override(splits={"kind": "leave-one-center-out"})
    ledger = read_ledger(run(plan, cohort, Runtime(out=tmp_path, only=("prq",))) / "ledger.parquet")
    test, validation = (ledger[ledger["partition"] == p] for p in ("test", "validation"))
    assert (test["fold"] == test["center"]).all()
    assert (validation["fold"] != validation["center"]).all()


def test_scores_of_a_run_are_patient_equal(folder, cohort):
    table = summarise(score(read_ledger(folder / "ledger.parquet")))
    assert set(table["method"]) >= {"prq", "bcr", "cdel"}
    assert table["macro_f1"].between(0, 1).all()
    assert (table["seeds"] == 2).all()


def test_no_global_random_state_is_touched(cohort, tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    run(PLAN, cohort, Runtime(out=tmp_path, only=("prq",)))
    assert torch.equal(torch.get_rng_state(), before)


def test_no_fit_is_given_the_onset_zone_or_the_resection(tmp_path, monkeypatch):
    given, real = set(), execution.Training

    def spy(fit, validation, *rest):
        for cube in (*fit, *validation):
            given.update(cube.variables)
        return real(fit, validation, *rest)

    monkeypatch.setattr(execution, "Training", spy)
    zones = {"is_soz": (True,) * 6, "is_resected": (False,) * 6}
    cohort = make_cohort(tmp_path / "cubes", **zones)
    assert {"is_soz", "is_resected"} <= set(cohort["sub-01"].variables)
    run(PLAN.override(methods=("logistic",), seeds=(1,)), cohort, Runtime(out=tmp_path / "runs"))
    assert "is_ez" in given
    assert not {"is_soz", "is_resected"} & given


def test_a_method_that_draws_nothing_is_fitted_once_and_written_for_every_seed(cohort, tmp_path):
    plan = PLAN.override(methods=("line-length-change",))
    once = Run(run(plan, cohort, Runtime(out=tmp_path / "once")))
    assert set(once.times["seed"]) == {plan.seeds[0]}
    assert set(once.ledger["seed"]) == set(plan.seeds)
    for seed in plan.seeds:
        alone = plan.override(seeds=(seed,))
        apart = Run(run(alone, cohort, Runtime(out=tmp_path / str(seed))))
        for fold in sorted(set(once.split["fold"])):
            together, fitted = (r.cell("line-length-change", seed, fold) for r in (once, apart))
            assert together.record == fitted.record
            pd.testing.assert_frame_equal(together.ledger, fitted.ledger)


def test_a_copy_that_is_missing_is_written_without_fitting_again(cohort, tmp_path):
    plan = PLAN.override(methods=("line-length-change",))
    folder = run(plan, cohort, Runtime(out=tmp_path))
    before, times = cell_files(folder), (folder / "times.tsv").read_bytes()
    first, copy = (Run(folder).cell("line-length-change", seed, "0").path for seed in plan.seeds)
    stamp = (first / "cell.json").stat().st_mtime_ns
    shutil.rmtree(copy)
    run(plan, cohort, Runtime(out=tmp_path))
    assert cell_files(folder) == before
    assert (folder / "times.tsv").read_bytes() == times
    assert (first / "cell.json").stat().st_mtime_ns == stamp
