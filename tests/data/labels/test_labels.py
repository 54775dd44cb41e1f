"""Where the EZ is written: status words, columns, a CSV, a clinical sheet."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from trees import (
    NAMES,
    SHEET,
    channel_rows,
    codes,
    folder,
    run_file,
    whys,
    without,
    write_dataset,
    write_run,
    write_sheet,
    write_tree,
    write_tsv,
)

from epilens.core.errors import DataError
from epilens.data.bids import read_bids, read_cohort, survey_cohort
from epilens.data.cohort import cohort_summary
from epilens.data.labels.sources import (
    ClinicalSheet,
    LabelColumns,
    LabelTable,
    StatusWords,
    patient_key,
)
from epilens.data.labels.zones import PatientTables
from epilens.data.yes_no import as_flag
from epilens.plan import Plan


def tables(*names: str, patient: str = "sub-pt01", electrodes=None, **columns: list[str]):
    frame = pd.DataFrame({"name": list(names), **columns}, dtype=str)
    return PatientTables(patient, (frame,), electrodes)


BAD = dict.fromkeys(NAMES[:-1], "good") | {NAMES[-1]: "bad"}
"""The status of channels of which the last is excluded."""


def ez_of(root: Path, dataset: str = "local", plan: Plan | None = None) -> set[str] | None:
    [patient] = read_bids(root, dataset, plan).patients
    return None if patient.ez is None else set(patient.ez)


# --- yes and no ---


@pytest.mark.parametrize(
    "text", ["1", "1.0", "true", "TRUE", "Yes", "y", "SOZ", "resected", " ablated "]
)
def test_yes_is_yes(text):
    assert as_flag(text) is True


@pytest.mark.parametrize("text", ["0", "0.0", "False", "no", "N", "NEZ", "non-involved"])
def test_no_is_no(text):
    assert as_flag(text) is False


def test_an_empty_cell_is_neither():
    assert as_flag("  ") is None


@pytest.mark.parametrize("text", ["maybe", "2", "?", "-1", "-1.0", "10", "0.5"])
def test_anything_else_is_refused(text):
    with pytest.raises(DataError, match="expected yes or no"):
        as_flag(text)


# --- status words ---


@pytest.mark.parametrize(
    "text", ["soz", "SOZ", "resect,soz", "resect", "soz; noisy", "in SOZ (core)", "resect/ablate"]
)
def test_a_status_word_makes_ez(text):
    read = StatusWords(frozenset({"soz", "resect"})).open(Path())
    found = read(tables("A1", "A2", status_description=[text, ""]))
    assert found is not None
    assert found.ez == {"A1"}


@pytest.mark.parametrize(
    "text", ["sozzled", "noisy", "unresected", "", "not resect", "non-soz", "outside soz"]
)
def test_a_part_of_a_word_is_not_the_word(text):
    read = StatusWords(frozenset({"soz", "resect"})).open(Path())
    found = read(tables("A1", "A2", status_description=[text, "soz"]))
    assert found is not None
    assert found.ez == {"A2"}


def test_no_status_word_at_all_means_unknown_not_nez():
    read = StatusWords(frozenset({"soz"})).open(Path())
    assert read(tables("A1", status_description=[""])) is None


def test_a_channel_that_is_ez_in_one_run_is_ez(tmp_path):
    write_tree(tmp_path, channels=channel_rows(ez=["A1"]))
    write_run(tmp_path, run="02", channels=channel_rows(ez=["B2"]))
    assert ez_of(tmp_path) == {"A1", "B2"}


def test_an_ez_word_on_a_bad_channel_is_an_audit_row_and_no_ez_channel(tmp_path):
    rows = channel_rows(ez=["A1", "A2"], status={"A1": "bad"})
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    assert recordings.patients[0].ez == {"A2"}
    assert codes(recordings, what="label", channel="A1") == ["label"]


# --- columns ---


@pytest.mark.parametrize(
    "column",
    [
        *("is_ez", "ez", "soz", "resected", "seizure_zone", "rz", "RZ", "resect", "resection"),
        *("resection_zone", "is_resected", "is_soz", "ablated"),
    ],
)
def test_a_column_of_channels_makes_ez(tmp_path, column):
    rows = without(channel_rows(ez=[]), "status_description")
    rows = [row | {column: "yes" if row["name"] == "A3" else "no"} for row in rows]
    assert ez_of(write_tree(tmp_path, channels=rows)) == {"A3"}


def test_a_column_of_electrodes_makes_ez(tmp_path):
    write_tree(tmp_path, channels=channel_rows(ez=[]))
    rows = [{"name": n, "x": 1, "y": 2, "z": 3, "soz": int(n == "B1")} for n in NAMES]
    write_tsv(folder(tmp_path) / "sub-01_ses-presurgery_electrodes.tsv", rows)
    assert ez_of(tmp_path) == {"B1"}


def test_two_columns_are_joined_by_or(tmp_path):
    rows = [
        row | {"soz": int(row["name"] == "A1"), "resected": int(row["name"] == "B1")}
        for row in channel_rows(ez=[])
    ]
    assert ez_of(write_tree(tmp_path, channels=rows)) == {"A1", "B1"}


def test_a_column_that_says_no_everywhere_is_known_to_have_no_ez(tmp_path):
    rows = [row | {"soz": "no"} for row in channel_rows(ez=[])]
    assert ez_of(write_tree(tmp_path, channels=rows)) == set()


def test_an_empty_column_leaves_the_answer_to_the_status_words(tmp_path):
    rows = [row | {"soz": "n/a"} for row in channel_rows(ez=["A4"])]
    assert ez_of(write_tree(tmp_path, channels=rows)) == {"A4"}


def test_every_channel_without_a_value_has_a_note():
    read = LabelColumns(("soz",)).open(Path())
    found = read(tables("A1", "A2", "A3", soz=["yes", "", ""]))
    assert found is not None
    assert [(row.channel, row.why) for row in found.rows] == [
        ("A2", "has no value in soz; counted as NEZ"),
        ("A3", "has no value in soz; counted as NEZ"),
    ]


@pytest.mark.parametrize("source", ["columns", "table"])
def test_an_excluded_channel_has_no_note_about_its_missing_label(tmp_path, source):
    rows = channel_rows(ez=[], soz={"A1": "yes", "A2": "no"}, status=BAD)
    root = write_tree(tmp_path / "tree", channels=rows)
    plan = with_labels(root, "patient,channel,is_ez\n01,A1,1\n01,A2,0\n")
    recordings = read_bids(root, plan=plan if source == "table" else None)
    noted = [row.channel for row in recordings.rows if "counted as NEZ" in row.why]
    assert noted == ["A3", "A4", "B1"]


def test_a_column_that_is_unreadable_is_absent_with_a_note_of_its_values(tmp_path):
    values = {"A1": "maybe", "A2": "2", "A3": "ask Anna", "A4": "yes"}
    rows = channel_rows(ez=[], soz=values, resected={"A1": "yes", "A2": "no"})
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    [patient] = recordings.patients
    assert (patient.soz, patient.ez) == (None, {"A1"})
    [why] = [row.why for row in recordings.rows if "neither yes nor no" in row.why]
    assert "column soz of channels.tsv" in why
    assert "(2, maybe, yes and 1 other text); this label is absent" in why
    assert "Anna" not in recordings.audit.to_csv()


def test_electrodes_without_names_do_not_stop_the_reading(tmp_path):
    write_tree(tmp_path)
    rows = [{"x": 1, "y": 2, "z": 3, "soz": "yes"}]
    write_tsv(folder(tmp_path) / "sub-01_ses-presurgery_electrodes.tsv", rows)
    assert ez_of(tmp_path) == {"A1", "A2"}


def test_no_label_anywhere_leaves_the_patient_unlabelled_with_a_note(tmp_path):
    recordings = read_bids(write_tree(tmp_path, channels=channel_rows(ez=[])))
    assert recordings.patients[0].ez is None
    assert recordings.runs[0].is_ez is None
    assert whys(recordings, what="label", effect="noted")[0].startswith("has no EZ label")


@pytest.mark.parametrize(("labelled", "noted"), [(5, True), (4, False)])
def test_labels_that_may_be_inverted_are_noted(tmp_path, labelled, noted):
    recordings = read_bids(write_tree(tmp_path, channels=channel_rows(ez=NAMES[:labelled])))
    text = "5 of 6 channels (83%) are labelled EZ. Check whether the labels are inverted"
    assert (text in whys(recordings, what="label", effect="noted")) == noted


# --- onset zone and resection ---

BOTH = {"A1": "soz", "A2": "resect,soz", "A3": "resect"}


def with_choice(which: str) -> Plan:
    return Plan().override(cohort={"ez": which})


@pytest.fixture
def two_zones(tmp_path):
    return write_tree(tmp_path, channels=channel_rows(ez=[], status_description=BOTH))


CHOSEN = {
    "": {"A1", "A2", "A3"},
    "soz": {"A1", "A2"},
    "resected": {"A2", "A3"},
    "either": {"A1", "A2", "A3"},
    "both": {"A2"},
}


@pytest.mark.parametrize(("which", "ez"), CHOSEN.items())
@pytest.mark.parametrize("dataset", ["hup", "local"])
def test_the_plan_chooses_the_zone(two_zones, which, ez, dataset):
    if dataset == "hup":
        rows = [{"participant_id": "sub-01", "outcome": "S"}]
        write_tsv(two_zones / "participants.tsv", rows)
    assert ez_of(two_zones, dataset, with_choice(which)) == ez


@pytest.mark.parametrize("which", CHOSEN)
def test_the_other_zone_is_kept(two_zones, which):
    [recording] = read_bids(two_zones, plan=with_choice(which))
    assert recording.is_soz == (True, True, False, False, False, False)
    assert recording.is_resected == (False, True, True, False, False, False)


@pytest.mark.parametrize(("which", "ez"), CHOSEN.items())
def test_zones_may_stand_in_different_places(tmp_path, which, ez):
    """The onset zone in a column, the resection in electrodes.tsv."""
    rows = [row | {"soz": int(row["name"] in ("A1", "A2"))} for row in channel_rows(ez=[])]
    write_tree(tmp_path, channels=rows)
    rows = [{"name": n, "x": 1, "y": 2, "z": 3, "rz": int(n in ("A2", "A3"))} for n in NAMES]
    write_tsv(folder(tmp_path) / "sub-01_ses-presurgery_electrodes.tsv", rows)
    assert ez_of(tmp_path, plan=with_choice(which)) == ez


def test_a_choice_joins_what_two_sources_say(tmp_path):
    words = {"A2": "resect", "A3": "resect"}
    rows = channel_rows(ez=[], status_description=words)
    rows = [row | {"soz": int(row["name"] in ("A1", "A2"))} for row in rows]
    write_tree(tmp_path, channels=rows)
    assert ez_of(tmp_path, plan=with_choice("both")) == {"A2"}
    assert ez_of(tmp_path, plan=with_choice("resected")) == {"A2", "A3"}
    assert ez_of(tmp_path) == {"A1", "A2", "A3"}


@pytest.mark.parametrize("which", ["resected", "both"])
def test_a_zone_that_nobody_wrote_leaves_the_patient_unlabelled_with_a_note(tmp_path, which):
    recordings = read_bids(write_tree(tmp_path), plan=with_choice(which))
    assert recordings.patients[0].ez is None
    assert recordings.runs[0].is_ez is None
    assert recordings.runs[0].is_soz is not None
    notes = whys(recordings, what="label", effect="noted")
    assert f"cohort.ez is '{which}', but its labels state only soz" in notes


def test_a_zone_that_nobody_wrote_is_absent_in_the_recording(tmp_path):
    [recording] = read_bids(write_tree(tmp_path))
    assert recording.is_soz == recording.is_ez
    assert recording.is_resected is None


def test_a_column_of_resections_that_says_no_everywhere_is_known(tmp_path):
    rows = [row | {"soz": int(row["name"] == "A1"), "rz": 0} for row in channel_rows(ez=[])]
    assert ez_of(write_tree(tmp_path, channels=rows), plan=with_choice("both")) == set()


def test_zones_follow_their_channels_into_pairs(two_zones):
    plan = Plan().override(montage={"scheme": "bipolar"}, cohort={"ez": "both"})
    [recording] = read_bids(two_zones, plan=plan)
    assert recording.channels == ("A1-A2", "A2-A3", "A3-A4", "B1-B2")
    assert recording.is_ez == (True, True, False, False)
    assert recording.is_soz == (True, True, False, False)
    assert recording.is_resected == (True, True, True, False)


# --- the user's CSV ---


def with_labels(root: Path, text: str) -> Plan:
    path = root.parent / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return Plan().override(cohort={"labels": str(path)})


@pytest.fixture
def tree(tmp_path):
    return write_tree(tmp_path / "tree")


def test_a_csv_replaces_the_labels_of_the_dataset(tree):
    plan = with_labels(tree, "patient,channel,is_ez\nsub-01,B1,1\nsub-01,A1,0\n")
    assert ez_of(tree, plan=plan) == {"B1"}


@pytest.mark.parametrize("which", ["soz", "both"])
def test_a_csv_says_itself_what_is_ez(tree, which):
    plan = with_labels(tree, "patient,channel,is_ez\nsub-01,B1,1\n")
    assert ez_of(tree, plan=plan.override(cohort={"ez": which})) == {"B1"}


def test_a_csv_may_spell_the_patient_without_sub(tree):
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,yes\n")
    assert ez_of(tree, plan=plan) == {"B1"}


def test_a_csv_may_have_a_byte_order_mark_crlf_and_quotes(tree):
    plan = with_labels(tree, '\ufeffPatient,Channel,is_ez\r\n"sub-01","B1", TRUE \r\n')
    assert ez_of(tree, plan=plan) == {"B1"}


def test_a_csv_row_for_a_channel_that_is_not_there_is_an_audit_row(tree):
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,1\n01,Z9,1\n")
    recordings = read_bids(tree, plan=plan)
    assert codes(recordings, channel="Z9") == ["label"]
    assert recordings.patients[0].ez == {"B1"}


def test_channels_that_the_csv_does_not_name_are_nez_with_a_note(tree):
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,1\n")
    reasons = whys(read_bids(tree, plan=plan))
    assert reasons.count("is not in the label table; counted as NEZ") == 5


def test_a_patient_that_the_csv_does_not_name_has_no_label(tree):
    write_dataset(tree, ["01", "02"])
    write_run(tree, "02")
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,1\n")
    first, second = read_bids(tree, plan=plan).patients
    assert (first.ez, second.ez) == ({"B1"}, None)


def test_patients_of_the_csv_that_are_in_none_of_the_datasets_are_named_once(tmp_path):
    roots = [write_tree(tmp_path / name, [name]) for name in ("01", "02")]
    rows = "01,A1,1\n02,A1,1\n3x,A1,1\nAnna Miller,A1,1\n"
    plan = with_labels(roots[0], f"patient,channel,is_ez\n{rows}")
    for read in (read_cohort, survey_cohort):
        notes = [why for part in read(roots, plan=plan) for why in whys(part) if "table" in why]
        assert [why for why in notes if "counted" not in why] == [
            "2 patients of the label table are in no dataset that was given: sub-3x and 1 more"
        ]


def test_a_csv_that_names_no_patient_of_the_datasets_is_refused(tree):
    plan = with_labels(tree, "patient,channel,is_ez\nW02,A1,1\n")
    with pytest.raises(DataError, match=r"found none among its 1 \(sub-W02\)\. Correct .* sub-01"):
        read_bids(tree, plan=plan)


def test_a_csv_without_its_columns_is_refused(tree):
    plan = with_labels(tree, "patient,contact,is_ez\n01,B1,1\n")
    with pytest.raises(DataError, match=r"expected columns patient, channel, is_ez.*Add channel"):
        read_bids(tree, plan=plan)


@pytest.mark.parametrize("cell", ["perhaps", "2", "-1"])
def test_a_csv_cell_that_is_neither_yes_nor_no_is_refused(tree, cell):
    plan = with_labels(tree, f"patient,channel,is_ez\n01,B1,{cell}\n")
    with pytest.raises(DataError, match=r"labels\.csv: 01 'B1', column is_ez: expected yes or no"):
        read_bids(tree, plan=plan)


def test_an_empty_csv_cell_is_refused(tree):
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,\n")
    with pytest.raises(DataError, match=r"found an empty cell\. Fill it"):
        read_bids(tree, plan=plan)


def test_a_csv_that_contradicts_itself_is_refused(tree):
    plan = with_labels(tree, "patient,channel,is_ez\n01,B1,1\n01,B1,0\n")
    with pytest.raises(DataError, match="B1"):
        read_bids(tree, plan=plan)


def test_a_csv_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.csv: expected a table, found nothing"):
        LabelTable(tmp_path / "nothing.csv").open(tmp_path)


# --- the clinical sheet ---


def read_sheet(root: Path, names: list[str], patient: str = "sub-pt01"):
    return ClinicalSheet(SHEET).open(root)(tables(*names, patient=patient))


@pytest.mark.parametrize(
    ("text", "ez"),
    [
        ("TT1-3", {"TT1", "TT2", "TT3"}),
        ("PST1-2: AST1", {"PST1", "PST2", "AST1"}),
        ("TT1\nAST1", {"TT1", "AST1"}),
        ("tt1; Ast1", {"TT1", "AST1"}),
        ("TT1 AST1, pst1-2", {"TT1", "AST1", "PST1", "PST2"}),
    ],
)
def test_the_sheets_contact_lists_are_read(tmp_path, text, ez):
    write_sheet(tmp_path, [("pt1", text)])
    found = read_sheet(tmp_path, ["TT1", "TT2", "TT3", "PST1", "PST2", "AST1"])
    assert found is not None
    assert found.ez == ez


def test_the_sheet_labels_channels_in_the_spelling_of_the_recording(tmp_path):
    write_sheet(tmp_path, [("pt1", "lf1-2")])
    found = read_sheet(tmp_path, ["EEG LF 01-Ref", "EEG LF 02-Ref", "EEG LF 03-Ref"])
    assert found is not None
    assert found.ez == {"EEG LF 01-Ref", "EEG LF 02-Ref"}


def test_a_sheet_that_could_mean_two_electrodes_is_an_audit_row(tmp_path):
    write_sheet(tmp_path, [("pt1", "La1; b1")])
    found = read_sheet(tmp_path, ["LA1", "la1", "B1"])
    assert found is not None
    assert found.ez == {"B1"}
    [row] = found.rows
    assert (row.channel, row.effect) == ("LA1", "excluded")
    assert "two electrodes have this name, in other capitals" in row.why


def test_two_channels_that_spell_one_contact_are_both_ez(tmp_path):
    write_sheet(tmp_path, [("pt1", "LF1")])
    found = read_sheet(tmp_path, ["LF1", "LF01", "LF2"])
    assert found is not None
    assert found.ez == {"LF1", "LF01"}


@pytest.mark.parametrize(
    ("in_sheet", "patient"),
    [
        ("pt1", "sub-pt01"),
        ("PT01", "sub-pt01"),
        ("ummc_003", "sub-ummc003"),
        ("umf-001 ", "sub-umf001"),
        ("jh105", "sub-jh105"),
        ("sub-pt11", "sub-pt11"),
    ],
)
def test_the_sheet_spells_patients_in_its_own_way(tmp_path, in_sheet, patient):
    write_sheet(tmp_path, [("other_1", "A2"), (in_sheet, "A1")])
    found = read_sheet(tmp_path, ["A1", "A2"], patient)
    assert found is not None
    assert found.ez == {"A1"}


@pytest.mark.parametrize(("a", "b"), [("pt1", "pt10"), ("pt1", "pt11"), ("pt2", "umf2")])
def test_different_patients_keep_different_keys(a, b):
    assert patient_key(a) != patient_key(b)


def test_a_contact_of_the_sheet_that_was_never_recorded_is_an_audit_row(tmp_path):
    write_sheet(tmp_path, [("pt1", "A1, Z9")])
    found = read_sheet(tmp_path, ["A1", "A2"])
    assert found is not None
    rows = [(row.channel, row.why) for row in found.rows]
    assert rows == [("Z9", "is in the clinical sheet but was never recorded")]


def test_words_of_the_sheet_that_are_no_contacts_are_counted_not_quoted(tmp_path):
    write_sheet(tmp_path, [("pt1", "A1, seen by Dr. Miller")])
    found = read_sheet(tmp_path, ["A1", "A2"])
    assert found is not None
    assert "4 words" in found.rows[0].why
    assert "Miller" not in found.rows[0].why


@pytest.mark.parametrize("cell", [None, "", "n/a"])
def test_an_empty_cell_of_the_sheet_leaves_the_patient_unlabelled(tmp_path, cell):
    write_sheet(tmp_path, [("pt1", cell), (None, "A1")])
    assert read_sheet(tmp_path, ["A1"]) is None


def test_a_patient_without_a_row_in_the_sheet_is_unlabelled(tmp_path):
    write_sheet(tmp_path, [("pt2", "A1")])
    assert read_sheet(tmp_path, ["A1"]) is None


def test_other_columns_and_their_order_do_not_matter(tmp_path):
    header = ("outcome", " SOZ_contacts ", "Dataset_ID", "engel_score")
    write_sheet(tmp_path, [("S", "A1", "pt1", -1)], header)
    found = read_sheet(tmp_path, ["A1", "A2"])
    assert found is not None
    assert found.ez == {"A1"}


def test_a_sheet_without_its_columns_is_refused(tmp_path):
    write_sheet(tmp_path, [("pt1", "A1")], ("patient", "contacts"))
    with pytest.raises(
        DataError, match=r"expected columns dataset_id, soz_contacts, found 2 others"
    ):
        ClinicalSheet(SHEET).open(tmp_path)


def test_a_damaged_sheet_is_refused_in_one_sentence(tmp_path):
    write_sheet(tmp_path, [])
    (tmp_path / SHEET).write_bytes((tmp_path / SHEET).read_bytes()[:300])
    with pytest.raises(DataError, match=r"expected an Excel sheet.*Download it again"):
        ClinicalSheet(SHEET).open(tmp_path)


def multisite(root: Path) -> Path:
    """Two patients of the multi-site cohort, without labels in their sidecars."""
    write_dataset(root, ["pt2", "pt3"], DatasetDOI="doi:10.18112/openneuro.ds003029.v1.0.5")
    for patient in ("pt2", "pt3"):
        write_run(root, patient, kind=None, channels=channel_rows(ez=[]))
    return root


def test_the_sheet_labels_a_whole_cohort(tmp_path):
    write_sheet(multisite(tmp_path), [("pt2", "A1-2"), ("pt3", "b1")])
    recordings = read_bids(tmp_path, None)
    assert [set(p.ez or ()) for p in recordings.patients] == [{"A1", "A2"}, {"B1"}]


def test_a_missing_sheet_gives_an_unlabelled_cohort(tmp_path):
    counts = cohort_summary([read_bids(multisite(tmp_path), "multisite")])["total"]
    assert (counts["ez_channels"], counts["ez_share"], counts["patients_with_labels"]) == (
        None,
        None,
        0,
    )


def test_a_missing_sheet_is_one_note_on_the_dataset(tmp_path):
    recordings = read_bids(multisite(tmp_path), "multisite")
    notes = [why for why in whys(recordings, what="dataset") if "clinical sheet at" in why]
    assert len(notes) == 1
    assert SHEET in notes[0]


def test_a_damaged_sheet_is_a_note_and_the_rest_goes_on(tmp_path):
    multisite(tmp_path)
    (tmp_path / SHEET).parent.mkdir()
    (tmp_path / SHEET).write_bytes(b"not a sheet")
    recordings = read_bids(tmp_path, "multisite")
    assert len(recordings) == 2
    assert "label" in codes(recordings, what="dataset")


def test_a_sheet_whose_contacts_were_all_never_recorded_leaves_the_patient_unlabelled(tmp_path):
    """A list that matches nothing says nothing: NEZ everywhere would be a false label."""
    write_sheet(multisite(tmp_path), [("pt2", "Z1-4"), ("pt3", "A1")])
    recordings = read_bids(tmp_path, "multisite")
    assert [patient.ez for patient in recordings.patients] == [None, {"A1"}]


def test_labels_follow_their_channels_into_the_recording(tmp_path):
    names = ("B2", "A1", "A3")
    rows = channel_rows(names, ez=["A3"])
    [recording] = read_bids(write_tree(tmp_path, names=names, channels=rows))
    assert dict(zip(recording.channels, recording.is_ez or (), strict=True)) == {
        "B2": False,
        "A1": False,
        "A3": True,
    }


def test_a_status_description_that_is_missing_in_one_run_does_not_hide_the_other(tmp_path):
    write_tree(tmp_path, channels=channel_rows(ez=["A1"]))
    write_run(tmp_path, run="02", channels=without(channel_rows(), "status_description"))
    assert run_file(tmp_path, "channels.tsv", run="02").exists()
    assert ez_of(tmp_path) == {"A1"}
