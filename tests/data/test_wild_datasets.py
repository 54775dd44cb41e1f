"""Five public datasets as centers write them, counted by pandas alone and by epilens."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from epilens.data.bids import read_bids, survey_cohort
from epilens.data.cohort import cohort_summary
from epilens.plan import Plan

WILD = Path(__file__).parents[3] / "shared" / "data" / "wild"
DATASETS = ("ds003498", "ds003848", "ds004080", "ds005398", "ds005592")
SEIZURES = ("ds003848", "ds004080")
SLEEP = ("ds003498", "ds005398", "ds005592")

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not WILD.exists(), reason=f"the public sidecars are not at {WILD}"),
]


# --- the independent counter: pandas only ---


def table_of(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False, encoding="utf-8-sig")


def folders_of(dataset: str) -> list[Path]:
    return sorted(path for path in (WILD / dataset).glob("sub-*") if path.is_dir())


def seizure_runs(folder: Path) -> dict[str, pd.DataFrame]:
    """Seizure events by the stem of their run."""
    runs = {}
    for path in sorted(folder.rglob("*_events.tsv")):
        table = table_of(path)
        seizures = table[table["trial_type"] == "seizure"]
        if len(seizures):
            runs[str(path).removesuffix("_events.tsv")] = seizures
    return runs


def yes(column: pd.Series) -> pd.Series:
    return column.isin(["yes", "1", "1.0", "resected"])


def electrodes_of(folder: Path) -> pd.DataFrame:
    paths = sorted(folder.rglob("*_electrodes.tsv"))
    return pd.concat([table_of(path) for path in paths]) if paths else pd.DataFrame({"name": []})


def marked(table: pd.DataFrame) -> set[str]:
    columns = [c for c in ("bad", "csf", "screw", "silicon") if c in table]
    return {name for c in columns for name in table.loc[yes(table[c]), "name"]}


def count_by_hand(folder: Path) -> dict[str, object]:
    """Seizures, good contacts, contacts of each zone and contacts with positions of a patient."""
    runs, electrodes = seizure_runs(folder), electrodes_of(folder)
    paths = [Path(stem + "_channels.tsv") for stem in runs]
    tables = [table_of(path) for path in paths or sorted(folder.rglob("*_channels.tsv"))]
    good, soz, resected = set(), set(), set()
    for table in tables:
        contacts = table[table["type"].isin(["ECOG", "SEEG"])]
        fine = contacts[contacts["status"].isin(["good", "n/a"])]
        good |= set(fine["name"]) - marked(table) - marked(electrodes)
        soz |= set(table.loc[table["status_description"] == "seizure onset zone", "name"])
    for table in [*tables, electrodes]:
        soz |= set(table.loc[yes(table["soz"]), "name"]) if "soz" in table else set()
        for column in ("resected", "resection"):
            if column in table:
                resected |= set(table.loc[yes(table[column]), "name"])
    stated = {
        name
        for seizures in runs.values()
        for text in seizures["electrodes_involved_onset"]
        for name in text.split(",")
    }
    located = electrodes[electrodes.get("x", electrodes["name"]) != "n/a"]["name"]
    return {
        "seizures": sum(map(len, runs.values())),
        "channels": good,
        "ez": good & ((soz or stated) | resected),
        "resected": good & resected,
        "stated": good & stated,
        "positions": good & set(located),
    }


# --- epilens, once per process ---


@cache
def survey(dataset: str):
    [recordings] = survey_cohort(WILD / dataset)
    return recordings


@cache
def summary(dataset: str) -> dict:
    return cohort_summary([survey(dataset)])


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_patient_has_exactly_the_counts_of_its_sidecars(dataset):
    patients = {patient.name: patient for patient in survey(dataset).surveyed}
    assert sorted(patients) == [folder.name for folder in folders_of(dataset)]
    for folder in folders_of(dataset):
        patient, expected = patients[folder.name], count_by_hand(folder)
        assert len(patient.runs) == expected["seizures"], folder
        assert set(patient.channels) == expected["channels"], folder
        assert (patient.ez or set()) == expected["ez"], folder
        assert (patient.resected or set()) == expected["resected"], folder
        assert (patient.onset_contacts or set()) == expected["stated"], folder
        assert set(patient.positions.of(patient.channels).mm) == expected["positions"], folder


TOTALS = {
    "ds003498": (10, 0, 0, 560, None),
    "ds003848": (4, 4, 5, 231, 71),
    "ds004080": (5, 1, 1, 469, 7),
    "ds005398": (93, 0, 0, 9367, 2730),
    "ds005592": (83, 0, 0, 8394, 2503),
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_totals_are_those_of_the_sidecars(dataset):
    names = ("patients", "patients_with_seizures", "seizures", "channels", "ez_channels")
    assert tuple(summary(dataset)["total"][name] for name in names) == TOTALS[dataset]


@pytest.mark.parametrize("dataset", SEIZURES)
def test_every_seizure_has_the_onset_the_end_the_kind_and_the_contacts_of_its_event(dataset):
    kinds = {"clin": "clinical", "subclin": "subclinical"}
    expected, found = {}, {}
    for folder in folders_of(dataset):
        for stem, seizures in seizure_runs(folder).items():
            run = Path(stem).name.partition("_")[2]
            for number, row in enumerate(seizures.to_dict("records"), start=1):
                name = run if number == 1 else f"{run}+{number}"
                onset_s = float(row["onset"])
                end_s = pytest.approx(onset_s + float(row["duration"]))
                contacts = set(row["electrodes_involved_onset"].split(","))
                kind = kinds.get(row["sub_type"], "")
                expected[folder.name, name] = (onset_s, end_s, kind, contacts)
    for run in read_bids(WILD / dataset, None).runs:
        good = {n for n, stated in zip(run.channels, run.is_onset_contact, strict=True) if stated}
        onset, key = run.onset, (run.patient, run.run)
        assert good == expected[key][3] & set(run.channels)
        found[key] = (onset.onset_s, onset.offset_s, onset.kind, expected[key][3])
    assert found == expected


def test_the_onset_contacts_can_be_the_labels():
    plan = Plan().override(cohort={"ez": "onset-contacts"})
    for patient in read_bids(WILD / "ds003848", None, plan).patients:
        expected = count_by_hand(WILD / "ds003848" / patient.name)
        assert patient.ez == expected["stated"]
        assert patient.ez


def test_channels_that_are_marked_bad_and_called_good_are_excluded_with_a_reason():
    tables = [table_of(path) for path in (WILD / "ds005398").rglob("*_channels.tsv")]
    bad = sum(int(((t["bad"] == "1") & (t["status"] == "good")).sum()) for t in tables)
    rows = [row for row in survey("ds005398").rows if row.code == "channel-bad"]
    assert bad == 463
    assert len(rows) == bad
    assert {row.why for row in rows} == {"is marked bad (column bad of channels.tsv)"}


def test_codes_of_participants_are_explained():
    people = table_of(WILD / "ds005398" / "participants.tsv").set_index("participant_id")
    engel = {"1": "I", "0": None, "n/a": None}
    for row in summary("ds005398")["patients"]:
        assert row["sex"] == {"1": "Male", "0": "Female"}[people.loc[row["patient"], "sex"]]
        assert row["engel"] == engel[people.loc[row["patient"], "Engel_Class1"]]
    assert {row["center"] for row in summary("ds005398")["patients"]} == {"Detroit", "UCLA"}


@pytest.mark.parametrize(
    ("dataset", "column"), [("ds005398", "Engel_Class1"), ("ds005592", "outcome")]
)
def test_seizure_free_patients_can_be_chosen_by_a_coded_outcome(dataset, column):
    people = table_of(WILD / dataset / "participants.tsv").set_index("participant_id")[column]
    plan = Plan().override(cohort={"outcomes": ["S"]})
    [recordings] = survey_cohort(WILD / dataset, None, plan)
    names = {patient.name for patient in recordings.surveyed}
    assert names == {f.name for f in folders_of(dataset) if people[f.name] == "1"}


@pytest.mark.parametrize("dataset", SEIZURES)
def test_the_audit_says_which_runs_of_other_tasks_are_used(dataset):
    noted = {
        row.where for row in survey(dataset).rows if row.code == "task" and row.effect == "noted"
    }
    stems = [Path(stem).name for folder in folders_of(dataset) for stem in seizure_runs(folder)]
    assert noted == {stem.replace("_", " ", 1) for stem in stems}


def test_a_seizure_during_stimulation_is_said_to_be_possibly_induced():
    [row] = [r for r in survey("ds004080").rows if r.code == "task" and r.effect == "noted"]
    assert "Electrical stimulation in this recording may have induced" in row.why


@pytest.mark.parametrize("dataset", SLEEP)
def test_a_tree_without_seizures_says_what_it_contains_and_what_can_be_done(dataset):
    [row] = [r for r in survey(dataset).rows if r.code == "no-seizure" and r.what == "dataset"]
    runs = len(list((WILD / dataset).rglob("*_ieeg.json")))
    assert f"{runs} of sleep" in row.why
    assert "--onsets" in row.why
    assert summary(dataset)["contents"][0]["recordings"] == runs


@pytest.mark.parametrize("dataset", ["ds003498", "ds003848"])
def test_the_command_line_prints_patients_labels_and_audit(dataset):
    command = [sys.executable, "-W", "error", "-m", "epilens", "cohort", str(WILD / dataset)]
    wide = os.environ | {"COLUMNS": "140"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=wide)
    assert done.returncode == 0, done.stderr
    for title in ("Recordings", "Cohort", "Patients", "Left out", "Noted"):
        assert any(line.startswith(title) for line in done.stdout.splitlines()), title
    for folder in folders_of(dataset):
        assert folder.name in done.stdout


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_local_row_reads_the_same_patients_channels_and_labels(dataset):
    [by_local] = survey_cohort(WILD / dataset, "local")
    facts = [(p.name, p.channels, p.ez, len(p.runs)) for p in by_local.surveyed]
    assert facts == [(p.name, p.channels, p.ez, len(p.runs)) for p in survey(dataset).surveyed]
