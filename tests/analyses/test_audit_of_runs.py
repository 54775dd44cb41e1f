"""The audit passes a run as it was written, and fails whatever was changed in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from epilens.analyses import analyse
from epilens.cli import main
from epilens.core.provenance import digest_of
from epilens.evaluation.ledger import read_ledger, with_thresholds
from epilens.evaluation.run import open_run
from epilens.evaluation.splits import split_digest
from epilens.evidence.files import open_cohort, save
from epilens.plan import Plan


def failed(folder, cubes=None):
    frame = analyse("audit", open_run(folder / "small", cubes))
    return frame.loc[~frame["passed"], ["of", "check"]].agg(": ".join, axis=1).tolist()


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


# Each line of the audit, by its title without what stands in parentheses: how it is broken, and
# which other lines cannot but fail with it.
LINES: dict[str, tuple[Callable[[Path], Path | None], tuple[str, ...]]] = {}


def breaks(title, *also):
    """A way to break a line: a change of the folder of runs; it may return other cubes."""

    def kept(change):
        LINES[title] = (change, also)
        return change

    return kept


def change_json(path, change):
    tree = json.loads(path.read_text())
    change(tree)
    path.write_text(json.dumps(tree))


def change_setting(folder, **changes):
    change_json(folder / "run.json", lambda setting: setting.update(changes))


def change_cell(folder, change, method="prq", seed=1, fold="0"):
    path = open_run(folder / "small").cell(method, seed, fold).path / "cell.json"
    change_json(path, change)


def change_ledger(folder, change):
    path = folder / "small" / "ledger.parquet"
    change(read_ledger(path)).to_parquet(path, index=False)


def change_split(folder, change):
    """The split of a run, and the digest that it began with: it is consistent with itself."""
    split = change(pd.read_csv(folder / "split.csv", dtype=str))
    split.to_csv(folder / "split.csv", index=False)
    change_setting(folder, split_digest=split_digest(split))


def change_plan(folder, **changes):
    path = folder / "small" / "plan.toml"
    path.write_text(Plan.load(path).override(**changes).to_toml())


def first_test_row(ledger, method):
    return ledger.index[(ledger["method"] == method) & (ledger["partition"] == "test")][0]


@breaks(
    "patients tested by every method and seed",
    "of the cells, those that the ledger does not repeat exactly",
)
def lose_a_patient(folder):
    def change(ledger):
        return ledger[(ledger["patient"] != "sub-03") | (ledger["partition"] != "test")]

    change_ledger(folder, change)


@breaks("channels tested by every method and seed")
def lose_a_channel(folder):
    change_ledger(folder, lambda ledger: ledger.drop(index=first_test_row(ledger, "cdel")))


@breaks(
    "test folds of every patient", "ledger's validation and test patients that the split has not"
)
def move_a_channel(folder):
    split = open_run(folder / "small").split
    fit = split[(split["fold"] == "1") & (split["partition"] == "fit")]["patient"]

    def change(ledger):
        cdel = (ledger["method"] == "cdel") & (ledger["seed"] == 1)
        at = ledger.index[cdel & (ledger["fold"] == "0") & ledger["patient"].isin(fit)][0]
        there = ledger.index[cdel & (ledger["fold"] == "1")][0]
        ledger.loc[at, ["fold", "threshold"]] = ledger.loc[there, ["fold", "threshold"]]
        return ledger

    change_ledger(folder, change)


@breaks("channels whose EZ label differs between methods, seeds or folds")
def change_a_label(folder):
    def change(ledger):
        at = first_test_row(ledger, "cdel")
        ledger.loc[at, "is_ez"] = ~ledger.loc[at, "is_ez"]
        return ledger

    change_ledger(folder, change)


@breaks("seeds of every method", "methods, seeds and folds of the plan in the ledger")
def lose_a_seed(folder):
    change_ledger(folder, lambda ledger: ledger[ledger["seed"] == 1])


STALE = "cells that other settings, code, cubes or split made"
NOT_PLANNED = "digest of the split that the plan makes"


@breaks("patients in two partitions of a fold", NOT_PLANNED, STALE)
def fit_on_a_test_patient(folder):
    def change(split):
        extra = split[split["partition"] == "test"].head(1).assign(partition="fit")
        return pd.concat([split, extra])

    change_split(folder / "small", change)


def moved(split, old, new):
    """The first patient of a partition in another one."""
    at = split.index[split["partition"] == old][0]
    return split.assign(partition=split["partition"].where(split.index != at, new))


@breaks(
    "patients tested in exactly one fold",
    "ledger's validation and test patients that the split has not",
    NOT_PLANNED,
    STALE,
)
def never_test_a_patient(folder):
    change_split(folder / "small", lambda split: moved(split, "test", "fit"))


@breaks("ledger's validation and test patients that the split has not", NOT_PLANNED, STALE)
def validate_fewer(folder):
    change_split(folder / "small", lambda split: moved(split, "validation", "fit"))


@breaks(
    "held-out center's patients who fit or validate",
    "patients tested in exactly one fold",
    "ledger's validation and test patients that the split has not",
    NOT_PLANNED,
    STALE,
)
def validate_on_the_held_out_center(folder):
    """The split is consistent with itself and its digest, but a center's patient leaked."""
    change_split(folder / "loco", lambda split: moved(split, "test", "validation"))


@breaks(
    "tested patients from another center", "patients tested in exactly one fold", NOT_PLANNED, STALE
)
def invite_a_stranger(folder):
    change_split(folder / "loco", lambda split: moved(split, "fit", "test"))


@breaks("digest of the split", NOT_PLANNED)
def begin_with_another_split(folder):
    change_setting(folder / "small", split_digest="another")


@breaks("digest of the cohort")
def begin_with_another_cohort(folder):
    change_setting(folder / "small", cohort_digest="another")


@breaks(NOT_PLANNED)
def plan_another_split(folder):
    change_plan(folder, splits={"seed": 7})


@breaks("cells that the plan asks for")
def lose_a_cell(folder):
    shutil.rmtree(open_run(folder / "small").cell("bcr", 2, "1").path)


@breaks("cells whose key is not that of the inputs they name")
def name_other_inputs(folder):
    change_cell(folder, lambda record: record["inputs"].update(seed=7))


@breaks(STALE)
def plan_another_training(folder):
    change_plan(folder, training={"learning_rate": 0.5})


@breaks("methods, seeds and folds of the plan in the ledger")
def lose_a_method(folder):
    change_ledger(folder, lambda ledger: ledger[ledger["method"] != "cdel"])


@breaks("thresholds that validation patients alone select")
def set_a_threshold(folder):
    def change(ledger):
        cell = (ledger["method"] == "cdel") & (ledger["seed"] == 1) & (ledger["fold"] == "0")
        return ledger.assign(threshold=ledger["threshold"].where(~cell, 0.123))

    change_ledger(folder, change)


def add_seegformer(folder, threshold=None, change=lambda scores, test: scores):
    """Cells that choose their own threshold, by the scores that `change` makes of the honest ones.

    threshold : of all of them, whatever the scores say.
    """
    run, parts = open_run(folder / "small"), []
    for key, part in run.ledger[run.ledger["method"] == "prq"].groupby(["seed", "fold"]):
        held, test = (part[part["partition"] == name] for name in ("validation", "test"))
        scores = change(held.drop(columns=["partition"]), test)
        value = threshold
        if scores is not None and threshold is None:
            value = selected(scores.assign(partition="validation"))
        rows = part.assign(method="seegformer", threshold=value)
        record = {"threshold": {"value": value, "chosen_on": "inner folds"}}
        run.cell("seegformer", *key).write(record, rows, pd.DataFrame({"epoch": [1]}), {}, scores)
        parts.append(rows)
    change_ledger(folder, lambda ledger: pd.concat([ledger, *parts], ignore_index=True))


def selected(rows):
    """The protocol's threshold, which other tests hold against a transcription."""
    return with_thresholds(rows)["threshold"].iloc[0]


@breaks("thresholds that the scores kept with their cells select")
def set_seegformer_s_threshold(folder):
    add_seegformer(folder, threshold=0.99)


@breaks("cells that chose a threshold on others than fit and validation")
def choose_on_test_patients(folder):
    add_seegformer(folder, change=lambda scores, test: pd.concat([scores, test]))


@breaks("of the cells, those that the ledger does not repeat exactly")
def change_a_cell_s_score(folder):
    path = open_run(folder / "small").cell("prq", 1, "0").path / "ledger.parquet"
    ledger = read_ledger(path)
    ledger.loc[first_test_row(ledger, "prq"), "p_nez"] *= 0.9
    ledger.to_parquet(path, index=False)


@breaks("largest difference of cdel from 0.8 prq + 0.2 bcr")
def change_a_fused_score(folder):
    def change(ledger):
        ledger.loc[first_test_row(ledger, "cdel"), "p_nez"] *= 0.9
        return ledger

    change_ledger(folder, change)


def other_cubes(folder, **attrs):
    """A copy of the cubes in which one says something else about itself."""
    cubes = folder.parent / "cubes"
    shutil.copytree(open_run(folder / "small").cubes, cubes)
    cohort = open_cohort(cubes)
    save(cohort["sub-02"].load().assign_attrs(attrs), cohort.path("sub-02"))
    return cubes


@breaks("cubes that are those of the run")
def describe_again(folder):
    return other_cubes(folder, key="another")


@breaks("patients that share a seizure with another one")
def give_a_patient_two_names(folder):
    cubes = other_cubes(folder)
    cohort = open_cohort(cubes)
    save(cohort["sub-03"].load().assign_attrs(cohort["sub-02"].attrs), cohort.path("sub-02"))
    return cubes


@breaks("seizures with a valid channel")
def state_more_seizures(folder):
    return other_cubes(folder, seizures=5)


@breaks("cells that counted other seizures or windows than the cubes have")
def count_otherwise(folder):
    def change(record):
        counts = record["notes"]["counts"]
        counts[min(counts)]["windows"] -= 1

    change_cell(folder, change)


@breaks("patients with other seizure subsets than were first drawn")
def draw_otherwise(folder):
    run = open_run(folder / "small")
    analyse("cross-seizure", run)
    drawn = run.subsets
    drawn["sub-02"]["one"][3] = ["another seizure"]
    run.write_subsets(drawn)


def broken(folder, cubes=None):
    return {line.partition(": ")[2].partition(" (")[0] for line in failed(folder, cubes)}


@pytest.mark.parametrize("title", LINES)
def test_every_line_of_the_audit_can_fail(tampered, title):
    change, also = LINES[title]
    cubes = change(tampered)
    assert broken(tampered, cubes) == {title, *also}


def test_no_line_of_the_audit_is_without_a_way_to_break_it(small):
    titles = {check.partition(" (")[0] for check in analyse("audit", small)["check"]}
    assert titles == set(LINES)


def test_a_changed_cohort_fails(tampered, cubes):
    path = tampered / "small" / "run.json"
    path.write_text(path.read_text().replace("sub-02-1", "sub-02-9"))
    found = failed(tampered, cubes)
    assert "run: digest of the cohort" in found
    assert "run: cubes that are those of the run" in found


def test_a_changed_score_is_noticed_in_cell_and_fusion(tampered):
    def change(ledger):
        ledger.loc[first_test_row(ledger, "prq"), "p_nez"] *= 0.9
        return ledger

    change_ledger(tampered, change)
    assert broken(tampered) == {
        "of the cells, those that the ledger does not repeat exactly",
        "largest difference of cdel from 0.8 prq + 0.2 bcr",
    }


def test_a_method_that_keeps_the_scores_of_its_threshold_passes(tampered):
    add_seegformer(tampered)
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame["passed"].all(), frame[~frame["passed"]]
    own = frame[frame["check"].str.endswith("(seegformer, by inner folds)")]
    assert own["found"].tolist() == ["4"]


OWN = "thresholds that the scores kept with their cells select"


def test_a_method_that_kept_no_scores_of_its_own_threshold_fails(tampered):
    add_seegformer(tampered, threshold=0.5, change=lambda scores, test: None)
    assert broken(tampered) == {OWN}


def test_scores_that_cannot_be_read_select_no_threshold(tampered):
    add_seegformer(tampered)
    cell = open_run(tampered / "small").cell("seegformer", 1, "0")
    (cell.path / "threshold_scores.parquet").write_bytes(b"nothing")
    assert broken(tampered) == {OWN}


def test_a_threshold_that_only_the_record_changes_is_noticed(tampered):
    add_seegformer(tampered)
    change_cell(tampered, lambda record: record["threshold"].update(value=0.99), "seegformer")
    change_cell(tampered, lambda record: record["threshold"].update(value=0.99), "prq")
    assert broken(tampered) == {OWN, "thresholds that validation patients alone select"}


def test_a_cell_cannot_claim_that_it_chose_elsewhere(tampered):
    change_cell(tampered, lambda record: record["threshold"].update(chosen_on="inner folds"))
    assert broken(tampered) == {OWN}


def test_labels_of_the_scores_that_chose_a_threshold_are_those_of_the_ledger(tampered):
    def flip(scores, test):
        return scores.assign(is_ez=scores["is_ez"] ^ (scores["channel"] == "A1"))

    add_seegformer(tampered, change=flip)
    assert broken(tampered) == {"channels whose EZ label differs between methods, seeds or folds"}


def test_subsets_that_were_not_drawn_yet_are_no_failure(tampered):
    (tampered / "small" / "subsets.json").unlink(missing_ok=True)
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame["passed"].all()
    rows = frame[(frame["of"] == "run") & frame["check"].str.contains("seizure subsets")]
    assert rows["check"].str.endswith("(0 until some are)").tolist() == [True]
    assert rows["found"].tolist() == ["0"]


def another_key(record):
    record["inputs"]["patients"]["sub-02"] = "another"


def another_plan(record):
    record["inputs"]["plan"]["training"]["learning_rate"] = 0.5


@pytest.mark.parametrize("change", [another_key, another_plan])
def test_a_cell_that_names_another_patient_or_plan_is_noticed(tampered, change):
    change_cell(tampered, change)
    assert broken(tampered) == {"cells whose key is not that of the inputs they name"}


@pytest.mark.parametrize("change", [another_key, another_plan])
def test_a_cell_that_was_made_of_another_patient_or_plan_is_noticed(tampered, change):
    """Its key is that of what it names: it is whole, but not what this run asks for."""

    def whole(record):
        change(record)
        record["key"] = digest_of(record["inputs"])

    change_cell(tampered, whole)
    assert broken(tampered) == {STALE}


def test_a_cell_of_another_plan_is_noticed(tampered):
    path = tampered / "small" / "plan.toml"
    plan = Plan.load(path).override(training={"learning_rate": 0.5})
    path.write_text(plan.to_toml())
    assert failed(tampered) == ["run: cells that other settings, code, cubes or split made"]
    frame = analyse("audit", open_run(tampered / "small"))
    assert frame.loc[~frame["passed"], "found"].tolist() == ["4 of bcr, 4 of prq"]


@pytest.mark.parametrize("verb", [["score"], ["compare", "prq", "bcr"], ["analyse", "reliability"]])
def test_verbs_warn_of_cells_of_another_plan(tampered, capsys, verb):
    name, *others = verb
    folder = str(tampered / "small")
    command = [name, *others, folder] if name == "analyse" else [name, folder, *others]
    _call(command)
    assert "warning" not in capsys.readouterr().err
    path = tampered / "small" / "plan.toml"
    path.write_text(Plan.load(path).override(training={"learning_rate": 0.5}).to_toml())
    _call(command)
    printed = capsys.readouterr().err
    assert "than the plan of this run has now: 4 of bcr, 4 of prq. Run the plan again" in printed


def _call(command: list[str]) -> None:
    with suppress(SystemExit):
        main(command)


def test_run_only_warns_of_cells_of_another_plan(tampered, cubes, tmp_path, capsys):
    path = tampered / "small" / "plan.toml"
    plan = Plan.load(path).override(training={"learning_rate": 0.5})
    (tmp_path / "other.toml").write_text(plan.to_toml())
    places = ["--cubes", str(cubes), "--out", str(tampered)]
    _call(["run", str(tmp_path / "other.toml"), *places, "--only", "random"])
    assert "4 of bcr, 4 of prq" in capsys.readouterr().err


def test_cells_of_other_code_are_noticed(tampered, monkeypatch):
    monkeypatch.setattr("epilens.methods.inputs.code_digest", lambda *modules, rows: "other code")
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
