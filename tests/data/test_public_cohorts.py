"""The public cohorts, counted by epilens and by a counter that knows nothing of it."""

from __future__ import annotations

import csv
import math
import re
import shutil
from collections import defaultdict
from functools import cache
from pathlib import Path

import openpyxl
import pytest

from epilens.data.bids import read_bids
from epilens.data.cohort import cohort_summary
from epilens.plan import Plan

DATA = Path(__file__).parents[3] / "shared" / "data"
HUP, MULTISITE = DATA / "ds004100", DATA / "ds003029"
PAPER = (
    *("jh105", "pt2", "pt3", "pt8", "pt11", "pt15", "pt16", "pt17", "umf001"),
    *("ummc003", "ummc004", "ummc005", "ummc006", "ummc008", "ummc009"),
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.exists(), reason=f"the public sidecars are not at {DATA}"),
]


# --- the independent counter: csv module only ---


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def is_coordinate(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def count_by_hand(patient: Path) -> dict[str, int]:
    """Runs, good contacts, EZ contacts and contacts with coordinates of one patient's folder."""
    good, ez, located, runs = set(), set(), set(), 0
    for path in patient.glob("**/*_task-ictal_*_channels.tsv"):
        runs += 1
        for row in rows_of(path):
            if row["status"] == "good" and row["type"] in ("ECOG", "SEEG"):
                good.add(row["name"].strip())
            if re.search("soz|resect", row.get("status_description") or ""):
                ez.add(row["name"].strip())
    for path in patient.glob("**/*_electrodes.tsv"):
        for row in rows_of(path):
            if all(is_coordinate(row[axis]) for axis in "xyz"):
                located.add(row["name"].strip())
    return {
        "seizures": runs,
        "channels": len(good),
        "ez_channels": len(good & ez),
        "channels_with_position": len(good & located),
    }


def seizure_free() -> list[str]:
    rows = rows_of(HUP / "participants.tsv")
    return sorted(r["participant_id"].strip() for r in rows if r["outcome"].strip() == "S")


# --- epilens, once per process ---


@cache
def recordings_of(root: Path, dataset: str):
    return read_bids(root, dataset)


@cache
def summary(root: Path, dataset: str):
    return cohort_summary([recordings_of(root, dataset)])


def patients_of(root: Path, dataset: str) -> dict[str, dict]:
    return {row["patient"]: row for row in summary(root, dataset)["patients"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("patients", 36),
        ("seizures", 135),
        ("seizures_excluded", 0),
        ("channels", 3667),
        ("ez_channels", 616),
        ("channels_with_position", 3543),
        ("ez_share", 0.168),
        ("patients_with_labels", 36),
    ],
)
def test_the_hup_cohort_has_the_numbers_of_the_paper(name, value):
    assert summary(HUP, "hup")["total"][name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("patients", 15),
        ("seizures", 43),
        ("seizures_excluded", 2),
        ("channels", 925),
        ("ez_channels", None),
        ("ez_share", None),
        ("channels_with_position", 0),
        ("patients_with_labels", 0),
    ],
)
def test_the_multisite_cohort_has_the_numbers_of_its_sidecars(name, value):
    assert summary(MULTISITE, "multisite")["total"][name] == value


@pytest.mark.parametrize(
    ("which", "pattern"),
    [
        ("soz", r"soz"),
        ("resected", r"resect"),
        ("either", r"soz|resect"),
        ("both", r"soz.*resect|resect.*soz"),
    ],
)
def test_the_zones_of_hup_agree_with_counting_by_hand(which, pattern):
    """A patient without any word of a zone is unlabelled under a choice that needs it."""
    recordings = read_bids(HUP, "hup", Plan().override(cohort={"ez": which}))
    for patient in recordings.patients:
        words: dict[str, str] = defaultdict(str)
        for path in (HUP / patient.name).glob("**/*_task-ictal_*_channels.tsv"):
            for row in rows_of(path):
                words[row["name"].strip()] += " " + (row["status_description"] or "")
        needed = re.findall(r"soz|resect", pattern) if which != "either" else []
        told = all(any(word in text for text in words.values()) for word in needed)
        by_hand = {name for name, text in words.items() if re.search(pattern, text)}
        assert patient.ez == (by_hand & set(patient.channels) if told else None)


@pytest.mark.parametrize(("root", "name"), [(HUP, "hup"), (MULTISITE, "multisite")])
def test_the_cohorts_are_recognised_without_being_named(root, name):
    named, recognised = recordings_of(root, name), read_bids(root, None)
    assert [p.name for p in recognised.patients] == [p.name for p in named.patients]
    assert recognised.audit.equals(named.audit)


def test_the_hup_patients_are_the_seizure_free_ones():
    assert sorted(patients_of(HUP, "hup")) == seizure_free()


def test_the_multisite_patients_are_those_of_the_paper():
    assert set(patients_of(MULTISITE, "multisite")) == {f"sub-{name}" for name in PAPER}


@pytest.mark.parametrize("name", ["seizures", "channels", "ez_channels", "channels_with_position"])
def test_hup_agrees_with_counting_by_hand_for_every_patient(name):
    ours = {patient: row[name] for patient, row in patients_of(HUP, "hup").items()}
    assert ours == {patient: count_by_hand(HUP / patient)[name] for patient in seizure_free()}


@pytest.mark.parametrize("name", ["channels", "channels_with_position"])
def test_multisite_agrees_with_counting_by_hand_for_every_patient(name):
    ours = {patient: row[name] for patient, row in patients_of(MULTISITE, "multisite").items()}
    by_hand = {f"sub-{name}": count_by_hand(MULTISITE / f"sub-{name}") for name in PAPER}
    assert ours == {patient: counts[name] for patient, counts in by_hand.items()}


def test_multisite_runs_are_all_seizures_or_excluded():
    for patient, row in patients_of(MULTISITE, "multisite").items():
        runs = count_by_hand(MULTISITE / patient)["seizures"]
        assert row["seizures"] + row["seizures_excluded"] == runs


def test_the_two_multisite_runs_without_an_onset_are_excluded_with_that_reason():
    excluded = [r for r in summary(MULTISITE, "multisite")["excluded"] if r["what"] == "seizure"]
    assert [row["where"] for row in excluded] == [
        "sub-pt17 ses-presurgery_task-ictal_acq-ecog_run-01",
        "sub-pt17 ses-presurgery_task-ictal_acq-ecog_run-03",
    ]
    for row in excluded:
        assert "expected one event that means a seizure onset" in row["why"]


def test_interictal_hup_runs_are_audit_rows():
    rows = [r for r in summary(HUP, "hup")["excluded"] if r["what"] == "run"]
    on_disk = {
        path.name.split("_", 1)[1].removesuffix("_ieeg.json") + path.parts[-4]
        for patient in seizure_free()
        for path in (HUP / patient).glob("**/*_task-interictal_*_ieeg.json")
    }
    assert len(rows) == len(on_disk) > 0
    assert {row["why"] for row in rows} == {"task is interictal, not a seizure; no event names one"}


def test_hup_patients_with_another_outcome_are_audit_rows():
    rows = [r for r in summary(HUP, "hup")["excluded"] if r["what"] == "patient"]
    assert len(rows) == len(rows_of(HUP / "participants.tsv")) - 36
    assert all(row["why"].endswith("not S (seizure-free)") for row in rows)


def test_every_hup_seizure_starts_after_two_minutes():
    assert {run.onset.onset_s for run in recordings_of(HUP, "hup").runs} == {120.0}


def test_hup_positions_that_say_m_are_mm_and_noted():
    recordings = recordings_of(HUP, "hup")
    sizes = [max(map(abs, xyz)) for p in recordings.patients for xyz in p.positions.mm.values()]
    assert 20 < max(sizes) < 150
    notes = recordings.audit[recordings.audit["code"] == "positions"]
    assert set(notes["patient"]) == {p.name for p in recordings.patients if p.positions.mm}


def test_a_patient_of_the_multisite_cohort_may_have_two_rates():
    rates = patients_of(MULTISITE, "multisite")["sub-ummc008"]["sampling_rates_hz"]
    assert rates == [249.85, 999.41]


def test_a_cohort_without_its_sheet_says_so_once():
    notes = summary(MULTISITE, "multisite")["noted"]
    assert sum("clinical sheet at" in row["why"] for row in notes) == 1


def test_no_free_text_of_a_recording_is_copied_into_the_summary():
    """Only what was loaded as the onset may appear, and machine words in a refusal."""
    allowed = {"Segment: REC START", "A1+A2 OFF"}
    texts = {
        row["trial_type"].strip()
        for path in MULTISITE.glob("sub-*/**/*_events.tsv")
        for row in rows_of(path)
    }
    whys = " | ".join(row["why"] for row in summary(MULTISITE, "multisite")["excluded"])
    long = {text for text in texts - allowed if len(text) > 8 and " " in text}
    assert len(long) > 30
    assert not [text for text in long if text in whys]


def test_both_cohorts_together_have_the_sums():
    both = cohort_summary([recordings_of(HUP, "hup"), recordings_of(MULTISITE, "multisite")])
    assert both["total"]["patients"] == 51
    assert both["total"]["channels"] == 3667 + 925
    assert both["total"]["ez_share"] == 0.168
    assert [row["center"] for row in both["centers"]] == ["HUP", "Multi-site"]


# --- a made-up clinical sheet beside the real sidecars ---

SHEET = {
    "jh105": "RPG4-5; rpg12-13",
    "pt2": "TT1-3\nPST1: AST1, MST1",
    "pt3": "SFP1-2, IFP1",
    "PT8": "G19 G23; Z99",
    "pt11": "RG2-3",
    "pt_15": "G22; TT1",
    "pt16": "TT5-6",
    "pt17": "AST1-2",
    "umf_001": "BTM1; c3-4",
    "ummc_003": "g3-4, MEST1",
    "pt1": "ATT1-2, AD1-4, PD1-4",
}


@pytest.fixture(scope="module")
def labelled_multisite(tmp_path_factory):
    root = tmp_path_factory.mktemp("ds003029")
    for path in MULTISITE.rglob("*"):
        if path.is_file():
            # As datalad keeps them: links to a store of contents in the dataset.
            link, content = root / path.relative_to(MULTISITE), root / ".git" / "annex"
            link.parent.mkdir(parents=True, exist_ok=True)
            content.mkdir(parents=True, exist_ok=True)
            content /= str(path.relative_to(MULTISITE)).replace("/", "_")
            shutil.copy(path, content)
            link.symlink_to(content)
    book = openpyxl.Workbook()
    book.active.append(("hospital_id", "dataset_id", "outcome", "soz_contacts"))
    for patient, contacts in SHEET.items():
        book.active.append(("x", patient, "S", contacts))
    (root / "sourcedata").mkdir()
    book.save(root / "sourcedata" / "clinical_data_summary.xlsx")
    return read_bids(root, "multisite")


def good_contacts(patient: str) -> dict[str, str]:
    """Good channels of a patient by their names in capitals."""
    good = set()
    for path in (MULTISITE / patient).glob("**/*_channels.tsv"):
        good |= {
            row["name"].strip()
            for row in rows_of(path)
            if row["status"] == "good" and row["type"] in ("ECOG", "SEEG")
        }
    return {name.upper(): name for name in good}


LISTED = {
    "sub-jh105": ["RPG4", "RPG5", "RPG12", "RPG13"],
    "sub-pt2": ["TT1", "TT2", "TT3", "PST1", "AST1", "MST1"],
    "sub-pt3": ["SFP1", "SFP2", "IFP1"],
    "sub-pt8": ["G19", "G23", "Z99"],
    "sub-pt11": ["RG2", "RG3"],
    "sub-pt15": ["G22", "TT1"],
    "sub-pt16": ["TT5", "TT6"],
    "sub-pt17": ["AST1", "AST2"],
    "sub-umf001": ["BTM1", "C3", "C4"],
    "sub-ummc003": ["G3", "G4", "MEST1"],
}


@pytest.mark.parametrize("patient", LISTED)
def test_a_sheet_labels_the_contacts_that_it_lists(labelled_multisite, patient):
    ez = {p.name: p.ez for p in labelled_multisite.patients}[patient]
    known = good_contacts(patient)
    expected = {known[name] for name in LISTED[patient] if name in known}
    assert expected
    assert ez == expected


def test_patients_that_the_sheet_does_not_list_stay_unlabelled(labelled_multisite):
    unlabelled = {p.name for p in labelled_multisite.patients if p.ez is None}
    assert unlabelled >= {"sub-ummc004", "sub-ummc005", "sub-ummc009"}


def test_a_listed_contact_that_was_never_recorded_is_an_audit_row(labelled_multisite):
    audit = labelled_multisite.audit
    [why] = audit[(audit["patient"] == "sub-pt8") & (audit["channel"] == "Z99")]["why"]
    assert why == "is in the clinical sheet but was never recorded"


def test_a_sheet_does_not_change_which_channels_there_are(labelled_multisite):
    assert sum(len(p.channels) for p in labelled_multisite.patients) == 925


def test_symlinked_sidecars_are_read(labelled_multisite):
    assert len(labelled_multisite) == 43


def test_sub_folders_are_grouped_under_their_patient():
    groups = defaultdict(int)
    for run in recordings_of(MULTISITE, "multisite").runs:
        groups[run.patient] += 1
    assert groups["sub-jh105"] == 5
    assert groups["sub-pt17"] == 1
