"""The audit passes a run as it was written, and fails whatever was changed in it."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from epilens.analyses import analyse
from epilens.evaluation.ledger import read_ledger
from epilens.evaluation.run import open_run
from epilens.evaluation.splits import split_digest
from epilens.plan import Plan


def failed(folder, cubes=None):
    frame = analyse("audit", open_run(folder / "small", cubes))
    return frame.loc[~frame["passed"], ["of", "check"]].agg(": ".join, axis=1).tolist()


def change_ledger(folder, change):
    path = folder / "small" / "ledger.parquet"
    change(read_ledger(path)).to_parquet(path, index=False)


def test_a_run_passes_as_it_was_written(small):
    frame = analyse("audit", small)
    assert frame["passed"].all(), frame[~frame["passed"]]
    assert set(frame["of"]) == {"run", "leave-one-center-out"}
    assert len(frame) >= 30
    counted = frame[frame["of"] == "run"].set_index("check")["found"]
    assert counted["patients tested by every method and seed"] == "8"
    assert counted["seizures with a valid channel"] == "13"


def test_the_audit_reads_only_what_is_there(tampered):
    (tampered / "loco" / "run.json").unlink()
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame["passed"].all()
    assert set(frame["of"]) == {"run"}


def changed_score(ledger):
    at = ledger.index[(ledger["method"] == "prq") & (ledger["partition"] == "test")][0]
    ledger.loc[at, "p_nez"] = 0.9 * ledger.loc[at, "p_nez"]
    return ledger


def other_threshold(ledger):
    cell = (ledger["method"] == "bcr") & (ledger["seed"] == 1) & (ledger["fold"] == "0")
    ledger.loc[cell, "threshold"] = 0.123
    return ledger


def other_label(ledger):
    at = ledger.index[(ledger["method"] == "cdel") & (ledger["partition"] == "test")][0]
    ledger.loc[at, "is_ez"] = ~ledger.loc[at, "is_ez"]
    return ledger


def lost_channel(ledger):
    at = ledger.index[(ledger["method"] == "cdel") & (ledger["partition"] == "test")][0]
    return ledger.drop(index=at)


def lost_patient(ledger):
    return ledger[ledger["patient"] != "sub-03"]


def lost_seed(ledger):
    return ledger[ledger["seed"] == 1]


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        (changed_score, "those that the ledger does not repeat exactly"),
        (changed_score, "largest difference of cdel from 0.8 prq"),
        (other_threshold, "thresholds that validation patients alone select"),
        (other_label, "channels whose EZ label differs"),
        (lost_channel, "channels tested by every method and seed"),
        (lost_patient, "patients tested by every method and seed"),
        (lost_seed, "seeds of every method"),
    ],
)
def test_a_changed_ledger_fails(tampered, change, noticed):
    change_ledger(tampered, change)
    assert any(noticed in check for check in failed(tampered))


def write_split(folder, split):
    split.to_csv(folder / "split.csv", index=False)


def test_a_changed_split_fails(tampered):
    split = open_run(tampered / "small").split
    at = split.index[split["partition"] == "test"][0]
    write_split(
        tampered / "small",
        split.assign(partition=split["partition"].where(split.index != at, "fit")),
    )
    found = failed(tampered)
    for noticed in ("tested in exactly one fold", "digest of the split", "that the split has not"):
        assert any(noticed in check for check in found)


def test_a_patient_in_two_partitions_fails(tampered):
    split = open_run(tampered / "small").split
    extra = split[split["partition"] == "test"].head(1).assign(partition="fit")
    write_split(tampered / "small", pd.concat([split, extra]))
    assert "run: patients in two partitions of a fold" in failed(tampered)


def test_a_split_that_the_plan_does_not_make_fails(tampered):
    path = tampered / "small" / "plan.toml"
    path.write_text(Plan.load(path).override(splits={"seed": 7}).to_toml())
    assert failed(tampered) == ["run: digest of the split that the plan makes"]


def test_a_changed_cohort_fails(tampered, cubes):
    path = tampered / "small" / "run.json"
    path.write_text(path.read_text().replace("sub-02-1", "sub-02-9"))
    found = failed(tampered, cubes)
    assert "run: digest of the cohort" in found
    assert "run: cubes that are those of the run" in found


def test_a_held_out_center_that_validates_fails(tampered):
    """The split is consistent with itself and its digest, but a center's patient leaked."""
    folder = tampered / "loco"
    split = pd.read_csv(folder / "split.csv", dtype=str)
    home = {
        n: a["center"] for n, a in json.loads((folder / "run.json").read_text())["patients"].items()
    }
    fold = split["fold"].iloc[0]
    leaked = next(p for p, center in home.items() if center == fold)
    at = split.index[(split["fold"] == fold) & (split["patient"] == leaked)][0]
    split.loc[at, "partition"] = "validation"
    write_split(folder, split)
    setting = json.loads((folder / "run.json").read_text())
    setting["split_digest"] = split_digest(split)
    (folder / "run.json").write_text(json.dumps(setting))
    assert "leave-one-center-out: held-out center's patients who fit or validate" in failed(
        tampered
    )


def test_a_method_that_chooses_its_own_threshold_is_named(tampered):
    def with_seegformer(ledger):
        own = ledger[ledger["method"] == "prq"].assign(method="seegformer", threshold=0.321)
        return pd.concat([ledger, own], ignore_index=True)

    change_ledger(tampered, with_seegformer)
    run = open_run(tampered / "small")
    rows = run.ledger[run.ledger["method"] == "seegformer"]
    for key, part in rows.groupby(["method", "seed", "fold"]):
        record = {"threshold": {"value": 0.321, "chosen_on": "inner folds"}}
        run.cell(*key).write(record, part, pd.DataFrame({"epoch": [1]}), {})
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame["passed"].all()
    assert frame["check"].str.contains("not asked: seegformer, by inner folds").any()


def test_a_cell_that_the_plan_asks_for_is_missed(tampered):
    run = open_run(tampered / "small")
    shutil.rmtree(run.cell("bcr", 2, "1").path)
    assert "run: cells that the plan asks for" in failed(tampered)


def test_a_cell_that_names_other_inputs_is_noticed(tampered):
    path = open_run(tampered / "small").cell("prq", 1, "0").path / "cell.json"
    record = json.loads(path.read_text())
    record["inputs"]["seed"] = 7
    path.write_text(json.dumps(record))
    assert failed(tampered) == ["run: cells whose key is not that of the inputs they name"]


def test_a_cell_of_another_plan_is_noticed(tampered):
    path = tampered / "small" / "plan.toml"
    plan = Plan.load(path).override(training={"learning_rate": 0.5})
    path.write_text(plan.to_toml())
    assert failed(tampered) == ["run: cells that other settings, code, cubes or split made"]
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame.loc[~frame["passed"], "found"].tolist() == ["4 of bcr, 4 of prq"]


def test_cells_of_other_code_are_noticed(tampered, monkeypatch):
    monkeypatch.setattr("epilens.methods.code_digest", lambda *modules, rows: "other code")
    assert "run: cells that other settings, code, cubes or split made" in failed(tampered)


def test_cells_of_a_method_that_is_not_installed_are_named(tampered):
    run = open_run(tampered / "small")
    path = tampered / "small" / "plan.toml"
    path.write_text(run.plan.override(methods=(*run.plan.methods, "gone")).to_toml())
    ledger = run.ledger[run.ledger["method"] == "prq"].assign(method="gone")
    change_ledger(tampered, lambda old: pd.concat([old, ledger], ignore_index=True))
    for key, part in ledger.groupby(["method", "seed", "fold"]):
        record = run.cell("prq", *key[1:]).record
        run.cell(*key).write(record, part, pd.DataFrame({"epoch": [1]}), {})
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame["passed"].all()
    assert frame["check"].str.contains("not asked: gone, not installed").any()
