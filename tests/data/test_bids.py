"""BIDS trees as people write them: spellings, inheritance, runs, onsets, positions."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import (
    DURATION_S,
    FS,
    NAMES,
    ONSET_S,
    channel_rows,
    codes,
    edit,
    folder,
    noise,
    run_file,
    whys,
    without,
    write_dataset,
    write_edf,
    write_electrodes,
    write_json,
    write_run,
    write_tree,
    write_tsv,
)

from epilens.core.errors import DataError, EpilensError
from epilens.data.bids import read_bids
from epilens.data.onsets.onset_table import read_onsets
from epilens.data.recording import align
from epilens.data.user_files import natural, read_table
from epilens.plan import Plan

SIDECARS = ("channels.tsv", "events.tsv")


def only_run(root: Path, plan: Plan | None = None):
    [run] = read_bids(root, plan=plan).runs
    return run


# --- the plain case ---


def test_a_tree_is_read_from_end_to_end(tmp_path):
    [recording] = read_bids(write_tree(tmp_path))
    assert recording.patient == "sub-01"
    assert recording.run == "ses-presurgery_task-ictal_run-01"
    assert recording.channels == NAMES
    assert recording.center == "Test center"
    assert (recording.fs, recording.mains_hz, recording.modality) == (FS, 60.0, "SEEG")


def test_a_clean_tree_has_an_empty_audit(tmp_path):
    recordings = read_bids(write_tree(tmp_path))
    assert len(list(recordings)) == 1
    assert recordings.audit.empty


def test_iterating_twice_gives_the_same_recordings_and_audit(tmp_path):
    recordings = read_bids(write_tree(tmp_path, names=NAMES[:4], channels=channel_rows()))
    first, before = list(recordings), recordings.audit
    second, after = list(recordings), recordings.audit
    np.testing.assert_array_equal(first[0].signal, second[0].signal)
    assert before.equals(after)


def test_the_center_of_a_participant_is_taken(tmp_path):
    write_tree(tmp_path)
    rows = [{"participant_id": "sub-01", "site": "Ghent"}]
    write_tsv(tmp_path / "participants.tsv", rows)
    assert only_run(tmp_path).center == "Ghent"


# --- spellings ---


@pytest.mark.parametrize("end", [*SIDECARS, "ieeg.json"])
def test_a_byte_order_mark_does_not_matter(tmp_path, end):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    path = run_file(tmp_path, end)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_bids(tmp_path).runs == plain


@pytest.mark.parametrize("end", SIDECARS)
def test_windows_line_ends_do_not_matter(tmp_path, end):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    path = run_file(tmp_path, end)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_bids(tmp_path).runs == plain


@pytest.mark.parametrize("end", SIDECARS)
def test_spaces_around_cells_do_not_matter(tmp_path, end):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    path = run_file(tmp_path, end)
    path.write_bytes(path.read_bytes().replace(b"\t", b" \t ").replace(b"\n", b"  \n"))
    assert read_bids(tmp_path).runs == plain


@pytest.mark.parametrize("end", SIDECARS)
def test_empty_lines_do_not_matter(tmp_path, end):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    path = run_file(tmp_path, end)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n") + b"\n")
    assert read_bids(tmp_path).runs == plain


@pytest.mark.parametrize("end", SIDECARS)
def test_column_names_in_capitals_do_not_matter(tmp_path, end):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    path = run_file(tmp_path, end)
    head, _, rest = path.read_text(encoding="utf-8").partition("\n")
    path.write_text(head.upper() + "\n" + rest, encoding="utf-8")
    assert read_bids(tmp_path).runs == plain


def test_a_trailing_space_in_participants_does_not_lose_the_patient(tmp_path):
    edit(write_tree(tmp_path) / "participants.tsv", "sub-01", "sub-01 ")
    assert [p.name for p in read_bids(tmp_path).patients] == ["sub-01"]


def test_a_quote_in_a_tsv_is_a_character_like_any_other(tmp_path):
    write_tree(tmp_path, events=[(10.0, 'patient says "start'), (ONSET_S, "sz onset")])
    assert only_run(tmp_path).onset.onset_s == ONSET_S


@pytest.mark.parametrize("word", ["n/a", "N/A", "nan", ""])
def test_a_missing_value_in_any_spelling_is_missing(tmp_path, word):
    rows = channel_rows(status=word, units=word, sampling_frequency=word)
    run = only_run(write_tree(tmp_path, channels=rows))
    assert run.channels == NAMES
    assert set(run.stated_units) == {""}


@pytest.mark.parametrize("column", ["status", "status_description", "sampling_frequency", "units"])
def test_an_optional_column_may_be_missing(tmp_path, column):
    rows = [row | {"is_ez": int(row["name"] == "A1")} for row in channel_rows()]
    [recording] = read_bids(write_tree(tmp_path, channels=without(rows, column)))
    assert recording.channels == NAMES
    assert recording.is_ez == (True, False, False, False, False, False)


@pytest.mark.parametrize("column", ["name", "type"])
def test_a_missing_necessary_column_excludes_the_run_with_its_name(tmp_path, column):
    write_tree(tmp_path, runs=["01", "02"])
    path = run_file(tmp_path, "channels.tsv", run="02")
    write_tsv(path, without(channel_rows(), column))
    recordings = read_bids(tmp_path)
    assert len(recordings) == 1
    assert whys(recordings, what="seizure") == [
        f"channels.tsv: expected a column {column}, found none. Add it."
    ]


def test_type_and_status_may_be_spelt_in_any_case(tmp_path):
    run = only_run(write_tree(tmp_path, channels=channel_rows(type="ecog", status="GOOD")))
    assert (run.channels, run.modality) == (NAMES, "ECOG")


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("type", "MISC", "type is MISC, not ECOG or SEEG"),
        ("type", "n/a", "type is not given, not ECOG or SEEG"),
        ("status", "bad", "status is bad"),
    ],
)
def test_a_channel_that_is_left_out_is_an_audit_row(tmp_path, column, value, why):
    rows = channel_rows(**{column: {"A3": value}})
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    assert "A3" not in recordings.patients[0].channels
    assert whys(recordings, what="channel", channel="A3") == [why]


def test_channels_are_counted_over_all_runs_in_natural_order(tmp_path):
    names = ["A10", "A9", "A1"]
    write_tree(tmp_path, names=names, kind=None)
    write_run(tmp_path, run="02", names=["A2", "A1"], kind=None)
    assert read_bids(tmp_path).patients[0].channels == ("A1", "A2", "A9", "A10")


# --- inheritance ---


def move(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)


ABOVE = {
    "channels.tsv": ("task-ictal_channels.tsv", "sub-01/sub-01_task-ictal_channels.tsv"),
    "ieeg.json": ("task-ictal_ieeg.json", "sub-01/sub-01_task-ictal_ieeg.json"),
    "events.tsv": ("task-ictal_events.tsv", "sub-01/ses-presurgery/sub-01_task-ictal_events.tsv"),
}


@pytest.mark.parametrize(
    ("end", "place"), [(end, place) for end, places in ABOVE.items() for place in places]
)
def test_a_sidecar_above_the_run_is_inherited(tmp_path, end, place):
    write_tree(tmp_path)
    plain = read_bids(tmp_path).runs
    move(run_file(tmp_path, end), tmp_path / place)
    assert read_bids(tmp_path).runs == plain


@pytest.mark.parametrize("place", ["electrodes.tsv", "sub-01/sub-01_electrodes.tsv"])
def test_electrodes_above_the_run_are_inherited(tmp_path, place):
    write_tree(tmp_path)
    write_tsv(tmp_path / place, [{"name": "A1", "x": 1, "y": 2, "z": 3}])
    assert only_run(tmp_path).positions.mm == {"A1": (1.0, 2.0, 3.0)}


def test_the_nearest_field_wins_and_the_others_are_kept(tmp_path):
    write_tree(tmp_path, fields={"PowerLineFrequency": None})
    write_json(tmp_path / "ieeg.json", {"PowerLineFrequency": 60, "SamplingFrequency": 999})
    write_json(tmp_path / "sub-01" / "sub-01_ieeg.json", {"PowerLineFrequency": 50})
    run = only_run(tmp_path)
    assert (run.mains_hz, run.stated_fs) == (50.0, FS)


def test_the_nearest_table_wins(tmp_path):
    write_tree(tmp_path)
    write_tsv(tmp_path / "task-ictal_channels.tsv", channel_rows(("Q1", "Q2")))
    write_tsv(tmp_path / "sub-01" / "sub-01_task-ictal_channels.tsv", channel_rows(("R1", "R2")))
    assert only_run(tmp_path).channels == NAMES


def test_the_nearest_electrodes_win(tmp_path):
    write_electrodes(write_tree(tmp_path), {"A1": (1.0, 2.0, 3.0)})
    write_tsv(tmp_path / "electrodes.tsv", [{"name": "A1", "x": 9, "y": 9, "z": 9}])
    assert only_run(tmp_path).positions.mm == {"A1": (1.0, 2.0, 3.0)}


def test_a_sidecar_of_another_run_or_patient_is_not_inherited(tmp_path):
    write_tree(tmp_path, patients=["01", "02"])
    for name in ("sub-02_task-ictal_ieeg.json", "sub-01_run-07_ieeg.json"):
        write_json(tmp_path / "sub-01" / name, {"PowerLineFrequency": 13})
    assert {run.mains_hz for run in read_bids(tmp_path).runs} == {60.0}


@pytest.mark.parametrize("where", ["derivatives", "sourcedata", ".git", "code"])
def test_runs_below_folders_that_are_not_raw_data_are_not_read(tmp_path, where):
    write_tree(tmp_path)
    write_tree(tmp_path / where / "pipeline", patients=["09"])
    assert [p.name for p in read_bids(tmp_path).patients] == ["sub-01"]


# --- runs ---


def test_channels_are_matched_by_name_across_runs(tmp_path):
    write_tree(tmp_path)
    other = ("B2", "A1", "C1")
    write_run(tmp_path, run="02", names=other, data=noise(3, seed=1))
    recordings = list(read_bids(tmp_path))
    names, present = align(recordings)
    assert names == (*NAMES, "C1")
    assert present.tolist() == [[True] * 6 + [False], [True, *[False] * 4, True, True]]


def test_the_order_of_channels_in_the_file_does_not_matter(tmp_path):
    data = noise()
    write_tree(tmp_path / "a", data=data)
    write_tree(tmp_path / "b", data=data[::-1], names=NAMES[::-1], channels=channel_rows())
    [a], [b] = read_bids(tmp_path / "a"), read_bids(tmp_path / "b")
    assert a.channels == b.channels
    np.testing.assert_array_equal(a.signal, b.signal)


def test_aligning_nothing_gives_nothing():
    names, present = align([])
    assert (names, present.shape) == ((), (0, 0))


def test_runs_of_one_patient_may_differ_in_rate(tmp_path):
    write_tree(tmp_path)
    write_run(tmp_path, run="02", fs=256, data=noise(fs=256))
    recordings = read_bids(tmp_path)
    assert [recording.fs for recording in recordings] == [200.0, 256.0]
    assert [run.stated_fs for run in recordings.runs] == [200.0, 256.0]


def test_runs_come_in_natural_order(tmp_path):
    write_tree(tmp_path, runs=["10", "9", "1"], kind=None)
    assert [run.entity for run in read_bids(tmp_path).runs] == ["1", "9", "10"]


def test_patients_come_in_natural_order(tmp_path):
    write_tree(tmp_path, patients=["p10", "p9"], kind=None)
    assert [p.name for p in read_bids(tmp_path).patients] == ["sub-p9", "sub-p10"]


def test_runs_without_signals_are_counted(tmp_path):
    recordings = read_bids(write_tree(tmp_path, runs=["01", "02"], kind=None))
    assert [run.source for run in recordings.runs] == [None, None]


def test_reading_a_run_without_its_signal_is_an_audit_row(tmp_path):
    write_tree(tmp_path, kind=None)
    write_run(tmp_path, run="02")
    recordings = read_bids(tmp_path)
    assert [recording.run[-2:] for recording in recordings] == ["02"]
    [why] = whys(recordings, what="seizure")
    assert "found only its sidecars" in why


@pytest.mark.parametrize("task", ["interictal", "rest", "preictal", "postictal", "nonictal"])
def test_a_run_that_is_no_seizure_is_an_audit_row(tmp_path, task):
    write_tree(tmp_path)
    write_run(tmp_path, task=task, kind=None, events=[(40.0, "start"), (50.0, "eyes closed")])
    recordings = read_bids(tmp_path)
    assert len(recordings) == 1
    assert codes(recordings, what="run") == ["task"]
    assert [row.effect for row in recordings.rows if row.what == "run"] == ["excluded"]


@pytest.mark.parametrize("task", ["rest", "sleep", "interictal"])
def test_a_run_of_any_task_whose_events_name_a_seizure_is_used_with_a_note(tmp_path, task):
    write_tree(tmp_path)
    write_run(tmp_path, task=task, kind=None)
    recordings = read_bids(tmp_path)
    assert len(recordings) == 2
    [row] = [row for row in recordings.rows if row.what == "run"]
    assert (row.effect, row.code) == ("noted", "task")
    assert f"task is {task}; seizures that its events name: 1" in row.why


@pytest.mark.parametrize("task", ["ictal", "seizure", "sz", "Ictal", "szSpontaneous"])
def test_every_spelling_of_an_ictal_task_is_a_seizure(tmp_path, task):
    assert len(read_bids(write_tree(tmp_path, task=task, kind=None))) == 1


def test_a_run_stored_in_two_formats_is_one_seizure(tmp_path):
    write_tree(tmp_path)
    write_run(tmp_path, kind="brainvision")
    assert len(read_bids(tmp_path)) == 1


@pytest.mark.parametrize("kind", ["edf", "bdf", "brainvision", "fif"])
def test_every_format_is_one_run(tmp_path, kind):
    assert len(read_bids(write_tree(tmp_path, kind=kind))) == 1


def test_a_patient_without_a_folder_is_an_audit_row(tmp_path):
    write_tree(tmp_path)
    write_dataset(tmp_path, ["01", "02"])
    recordings = read_bids(tmp_path)
    assert codes(recordings, what="patient") == ["no-folder"]


def test_a_folder_without_a_row_in_participants_is_read(tmp_path):
    write_tree(tmp_path, patients=["01", "02"], kind=None)
    write_dataset(tmp_path, ["01"])
    assert len(read_bids(tmp_path).patients) == 2


def test_a_tree_without_participants_is_read(tmp_path):
    (write_tree(tmp_path) / "participants.tsv").unlink()
    assert len(read_bids(tmp_path)) == 1


def test_a_patient_folder_that_is_a_link_inside_the_dataset_is_read(tmp_path):
    write_tree(tmp_path / "tree", kind=None)
    (tmp_path / "tree" / "sub-01").rename(tmp_path / "tree" / "store")
    (tmp_path / "tree" / "sub-01").symlink_to("store")
    assert len(read_bids(tmp_path / "tree")) == 1


def test_a_link_that_leads_back_to_the_dataset_is_not_followed_for_ever(tmp_path):
    write_tree(tmp_path, kind=None)
    (tmp_path / "sub-01" / "again").symlink_to(tmp_path)
    assert len(read_bids(tmp_path)) == 1


def test_a_patient_without_a_usable_seizure_is_an_audit_row(tmp_path):
    write_tree(tmp_path, patients=["01", "02"], kind=None)
    run_file(tmp_path, "events.tsv", "02").unlink()
    recordings = read_bids(tmp_path)
    assert whys(recordings, what="patient") == ["has no usable seizure (1 excluded)"]
    assert "expected an events.tsv" in whys(recordings, what="seizure")[0]


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_names_can_be_put_in_natural_order(names):
    ordered = sorted(names, key=natural)
    assert all(natural(a) <= natural(b) for a, b in pairwise(ordered))


def test_names_with_endless_digits_can_be_put_in_natural_order():
    assert sorted(["A" + "1" * 5000, "A2"], key=natural)[0] == "A2"


CELL = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5))
def test_a_table_that_is_written_is_read_back(rows):
    with tempfile.TemporaryDirectory() as here:
        path = write_tsv(Path(here) / "t.tsv", [{"a": a, "b": b} for a, b in rows])
        found = read_table(path).to_numpy().tolist()
    missing = {"n/a", "na", "nan", "none", "n.a.", "n.a", "n\\a", "#n/a", "<na>", "null", "nil"}
    missing |= {"-", "--", ".", "missing", "(n/a)"}
    assert found == [["" if cell.lower() in missing else cell for cell in row] for row in rows]


# --- onsets given by the user ---


def with_onsets(root: Path, *rows: tuple[str, str, object]) -> Plan:
    table = [{"patient": p, "run": r, "onset_s": at} for p, r, at in rows]
    path = write_tsv(root.parent / "onsets.tsv", table)
    return Plan().override(cohort={"onsets": str(path)})


@pytest.mark.parametrize("run", ["1", "01", "run-01", "run-1", "ses-presurgery_task-ictal_run-01"])
@pytest.mark.parametrize("patient", ["01", "sub-01"])
def test_a_given_onset_replaces_the_events(tmp_path, patient, run):
    root = write_tree(tmp_path / "tree", kind=None)
    onset = only_run(root, with_onsets(root, (patient, run, 33.25))).onset
    assert (onset.onset_s, onset.rule, onset.text) == (33.25, "given in a table of onsets", "")


def test_a_given_onset_needs_no_events(tmp_path):
    root = write_tree(tmp_path / "tree", kind=None, events=None)
    assert only_run(root, with_onsets(root, ("01", "01", 33.0))).onset.onset_s == 33.0


def test_a_given_onset_replaces_only_its_run(tmp_path):
    root = write_tree(tmp_path / "tree", runs=["01", "02"], kind=None)
    runs = read_bids(root, plan=with_onsets(root, ("01", "02", 33.0))).runs
    assert [run.onset.onset_s for run in runs] == [ONSET_S, 33.0]


def test_a_run_number_that_fits_two_runs_does_not_move_both(tmp_path):
    root = write_tree(tmp_path / "tree", runs=["01", "02"], kind=None)
    write_run(root, run="01", task="seizure", kind=None)
    runs = read_bids(root, plan=with_onsets(root, ("01", "01", 33.0))).runs
    assert [run.onset.onset_s for run in runs].count(33.0) <= 1


def test_a_full_name_moves_only_the_run_of_that_name(tmp_path):
    root = write_tree(tmp_path / "tree", kind=None)
    write_run(root, run="01", task="seizure", kind=None)
    plan = with_onsets(root, ("01", "ses-presurgery_task-seizure_run-01", 33.0))
    runs = read_bids(root, plan=plan).runs
    assert {run.run.split("_")[1]: run.onset.onset_s for run in runs} == {
        "task-ictal": ONSET_S,
        "task-seizure": 33.0,
    }


@pytest.mark.parametrize("row", [("02", "01", 33.0), ("01", "07", 33.0), ("01", "typo", 33.0)])
def test_a_given_onset_that_no_run_uses_is_noted(tmp_path, row):
    root = write_tree(tmp_path / "tree", kind=None)
    recordings = read_bids(root, plan=with_onsets(root, row))
    [why] = whys(recordings, what="run", effect="noted")
    assert why == "is in the onset table but is not a usable seizure of this dataset"


def test_unused_onsets_are_noted_in_the_order_of_their_table(tmp_path):
    """Not in the order of a set, which changes from one process to the next."""
    root = write_tree(tmp_path / "tree", kind=None)
    unused = [str(i) for i in range(20, 32)]
    plan = with_onsets(root, *(("01", run, 33.0) for run in unused))
    audit = read_bids(root, plan=plan).audit
    assert audit["run"].tolist() == unused


def test_an_unused_onset_is_named_by_its_place_where_its_run_could_be_a_name(tmp_path):
    root = write_tree(tmp_path / "tree", kind=None)
    plan = with_onsets(root, ("Miller", "77", 33.0), ("01", "Anna in spring", 33.0))
    audit = read_bids(root, plan=plan).audit
    assert audit["run"].tolist() == ["77", "entry 2"]
    assert audit["patient"].tolist() == ["", "sub-01"]


def test_a_given_onset_at_zero_is_not_mistaken_for_none(tmp_path):
    root = write_tree(tmp_path / "tree", runs=["01", "02"], kind=None)
    recordings = read_bids(root, plan=with_onsets(root, ("01", "01", 0.0)))
    assert "the onset is at 0.000 s" in whys(recordings, what="seizure")[0]


@pytest.mark.parametrize("at", ["", "soon", "nan", "inf"])
def test_a_given_onset_that_is_no_number_is_refused(tmp_path, at):
    path = write_tsv(tmp_path / "o.tsv", [{"patient": "01", "run": "01", "onset_s": at}])
    with pytest.raises(DataError, match="expected one number for 01 01"):
        read_onsets(path)


def test_two_given_onsets_of_one_run_are_two_seizures(tmp_path):
    root = write_tree(tmp_path / "tree", kind=None)
    (run,) = read_bids(root).runs
    plan = with_onsets(root, ("01", "01", 40.0), ("01", run.entity, 25.0), ("01", "01", 9999.0))
    recordings = read_bids(root, plan=plan)
    assert [seizure.onset.onset_s for seizure in recordings.runs] == [25.0, 40.0]
    assert [seizure.run for seizure in recordings.runs] == [run.run, f"{run.run}+2"]
    assert len({seizure.source for seizure in recordings.runs}) == 1
    assert "onset inside the recording" in whys(recordings, what="seizure")[0]


def test_two_given_onsets_of_one_seizure_are_refused(tmp_path):
    rows = [{"patient": "01", "run": run, "onset_s": 3} for run in ("1", "run-01")]
    path = write_tsv(tmp_path / "o.tsv", rows)
    with pytest.raises(DataError, match="found a second row"):
        read_onsets(path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_an_onset_table_may_be_separated_by_commas_or_semicolons(tmp_path, separator):
    rows = [
        ("patient", "run", "onset_s", "type"),
        ("01", "01", "33.25", '"a'),
        ("02", "3", "7", ""),
    ]
    if separator != "\t":
        rows[1] = ("01", "01", "33.25", f'"a{separator}b"')
    path = tmp_path / "onsets.csv"
    path.write_text("\n".join(separator.join(row) for row in rows))
    onsets = {key: onset.onset_s for key, onset in read_onsets(path).items()}
    assert onsets == {("sub-01", "1"): 33.25, ("sub-02", "3"): 7.0}


def test_an_onset_table_may_state_uncertainties(tmp_path):
    stated = {"01": "1.5", "02": "n/a", "03": "0"}
    rows = [
        {"patient": "01", "run": run, "onset_s": 3, "uncertainty_s": text}
        for run, text in stated.items()
    ]
    onsets = read_onsets(write_tsv(tmp_path / "o.tsv", rows)).values()
    assert [onset.uncertainty_s for onset in onsets] == [1.5, None, 0.0]


@pytest.mark.parametrize("typed", ["-1", "small", "inf"])
def test_an_uncertainty_that_is_no_time_is_refused(tmp_path, typed):
    row = {"patient": "01", "run": "01", "onset_s": 3, "uncertainty_s": typed}
    path = write_tsv(tmp_path / "o.tsv", [row])
    with pytest.raises(DataError, match="expected an uncertainty of 0 s or more for 01 01"):
        read_onsets(path)


def test_an_onset_table_without_its_columns_is_refused(tmp_path):
    path = write_tsv(tmp_path / "o.tsv", [{"patient": "01", "seconds": 3}])
    with pytest.raises(DataError, match=r"Add onset_s, run\."):
        read_onsets(path)


def test_an_onset_table_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"o\.tsv: expected a table, found nothing"):
        read_onsets(tmp_path / "o.tsv")


# --- events ---


@pytest.mark.parametrize(
    "column", ["trial_type", "event_type", "description", "annotation", "value"]
)
def test_the_text_of_an_event_may_stand_in_several_columns(tmp_path, column):
    write_tree(tmp_path, kind=None)
    rows = [{"onset": ONSET_S, "duration": 0, column: "sz onset"}]
    write_tsv(run_file(tmp_path, "events.tsv"), rows)
    assert only_run(tmp_path).onset.onset_s == ONSET_S


def test_a_numeric_code_is_passed_over_for_the_text(tmp_path):
    write_tree(tmp_path, kind=None)
    rows = [{"onset": ONSET_S, "duration": 12.0, "trial_type": "3", "description": "seizure"}]
    write_tsv(run_file(tmp_path, "events.tsv"), rows)
    assert only_run(tmp_path).onset.offset_s == ONSET_S + 12.0


def test_an_event_without_a_time_is_passed_over(tmp_path):
    events = [("n/a", "sz onset"), (ONSET_S, "sz onset")]
    assert only_run(write_tree(tmp_path, kind=None, events=events)).onset.onset_s == ONSET_S


def test_annotations_of_the_file_are_used_where_there_is_no_events_table(tmp_path):
    notes = [(0.0, None, "Recording starts"), (41.5, None, "sz onset"), (60.0, None, "sz end")]
    run = only_run(write_tree(tmp_path, events=None, annotations=notes))
    assert (run.onset.onset_s, run.onset.offset_s) == (41.5, 60.0)


def test_the_duration_of_an_annotation_gives_the_end(tmp_path):
    run = only_run(write_tree(tmp_path, events=None, annotations=[(41.5, 10.0, "seizure")]))
    assert run.onset.offset_s == 51.5


def test_events_win_over_annotations_of_the_file(tmp_path):
    run = only_run(write_tree(tmp_path, annotations=[(50.0, None, "sz onset")]))
    assert run.onset.onset_s == ONSET_S


def test_a_file_without_annotations_and_events_is_excluded_with_a_reason(tmp_path):
    write_tree(tmp_path, runs=["01", "02"])
    run_file(tmp_path, "events.tsv", run="02").unlink()
    recordings = read_bids(tmp_path)
    assert len(recordings) == 1
    assert "found no events" in whys(recordings, what="seizure")[0]


# --- the interval ---


def test_the_signal_starts_and_stops_around_the_onset(tmp_path):
    [recording] = read_bids(write_tree(tmp_path))
    assert (recording.start_s, recording.stop_s) == (-35.0, 35.0)


def test_the_interval_is_clipped_to_the_recording(tmp_path):
    [recording] = read_bids(write_tree(tmp_path, events=[(20.0, "onset")]))
    assert (recording.start_s, recording.stop_s) == (-20.0, 35.0)
    [recording] = read_bids(write_tree(tmp_path, events=[(70.0, "onset")]))
    assert (recording.start_s, recording.stop_s) == (-35.0, 10.0)


def test_only_the_needed_interval_is_read(tmp_path):
    """What lies after the interval may be anything: nobody looks at it."""
    windows = {"stop_s": 5.0, "min_ictal": 4}
    plan = Plan().override(windows=windows, filter={"margin_s": 1.0})
    write_tree(tmp_path, kind="brainvision")
    [before] = read_bids(tmp_path, plan=plan)
    path = run_file(tmp_path, "ieeg.eeg")
    samples = np.fromfile(path, "<i2").reshape(-1, len(NAMES))
    samples[round((ONSET_S + 6.0) * FS) :] = 32767
    samples.tofile(path)
    [after] = read_bids(tmp_path, plan=plan)
    np.testing.assert_array_equal(before.signal, after.signal)
    assert before.signal.shape[1] == round((31.0 + 6.0) * FS)


def test_the_audit_needs_no_signal(tmp_path):
    write_tree(tmp_path)
    run_file(tmp_path, "ieeg.edf").write_bytes(b"")
    assert len(read_bids(tmp_path)) == 1


def test_a_fractional_onset_is_kept_to_the_sample(tmp_path):
    [recording] = read_bids(write_tree(tmp_path, events=[(40.0013, "onset")]))
    first = recording.start_s + recording.onset.onset_s
    assert first * FS == pytest.approx(round(first * FS), abs=1e-6)
    assert abs(recording.start_s + 35.0) <= 0.5 / FS


# --- positions ---

AT_MM = {name: (10.0 + i, -20.0, 30.0) for i, name in enumerate(NAMES)}


@pytest.mark.parametrize(("unit", "factor"), [("mm", 1.0), ("cm", 0.1), ("m", 0.001)])
def test_positions_are_in_mm_whatever_the_file_says(tmp_path, unit, factor):
    write_tree(tmp_path)
    scaled = {n: tuple(factor * v for v in xyz) for n, xyz in AT_MM.items()}
    write_electrodes(tmp_path, scaled, unit)
    found = only_run(tmp_path).positions
    assert found.space == "fsaverage"
    for name, xyz in AT_MM.items():
        assert found.mm[name] == pytest.approx(xyz, abs=1e-9)


def test_positions_that_say_m_and_are_mm_are_taken_as_mm_with_a_note(tmp_path):
    write_electrodes(write_tree(tmp_path), AT_MM, "m")
    recordings = read_bids(tmp_path)
    assert recordings.runs[0].positions.mm == AT_MM
    assert "look like millimetres; millimetres assumed" in " ".join(
        whys(recordings, what="patient")
    )


def test_positions_without_a_unit_are_taken_as_mm(tmp_path):
    write_electrodes(write_tree(tmp_path), AT_MM, None)
    assert only_run(tmp_path).positions.mm == AT_MM


def test_a_contact_without_coordinates_has_no_position(tmp_path):
    write_electrodes(write_tree(tmp_path), AT_MM | {"A1": ("n/a", "n/a", "n/a")})
    assert set(only_run(tmp_path).positions.mm) == set(NAMES[1:])


def test_electrodes_without_coordinates_are_noted(tmp_path):
    write_tree(tmp_path)
    write_tsv(folder(tmp_path) / "sub-01_electrodes.tsv", [{"name": "A1", "size": 3}])
    assert "no columns name, x, y, z" in whys(read_bids(tmp_path), what="patient")[0]


def test_positions_follow_their_channels_into_the_recording(tmp_path):
    write_electrodes(write_tree(tmp_path), AT_MM)
    [recording] = read_bids(tmp_path)
    assert recording.positions.mm == AT_MM


# --- disagreements that are noted ---


def test_a_rate_that_the_sidecars_misstate_is_noted(tmp_path):
    recordings = read_bids(write_tree(tmp_path, fields={"SamplingFrequency": 512}))
    [recording] = recordings
    assert recording.fs == FS
    assert "sidecars say 512 Hz, the file 200 Hz" in whys(recordings, what="run")[0]


def test_a_length_that_the_sidecars_misstate_is_noted(tmp_path):
    recordings = read_bids(write_tree(tmp_path, fields={"RecordingDuration": 300}))
    assert len(list(recordings)) == 1
    assert f"the file has {DURATION_S:.1f} s" in whys(recordings, what="run")[0]


def test_a_tree_without_json_sidecars_is_read(tmp_path):
    [recording] = read_bids(write_tree(tmp_path, fields=None))
    assert recording.mains_hz is None


def test_an_unknown_dataset_name_is_refused(tmp_path):
    with pytest.raises(EpilensError, match=r"found 'hupp'. Did you mean 'hup'\?"):
        read_bids(write_tree(tmp_path), "hupp")


def test_a_tree_is_recognised_by_its_accession(tmp_path):
    write_tree(tmp_path, patients=["01", "02"])
    doi = "doi:10.18112/openneuro.ds004100.v1.1.3"
    write_dataset(tmp_path, ["01", "02"], DatasetDOI=doi)
    rows = [{"participant_id": "sub-01", "outcome": "S"}, {"participant_id": "02", "outcome": "F"}]
    write_tsv(tmp_path / "participants.tsv", rows)
    recordings = read_bids(tmp_path, None)
    assert [(p.name, p.center) for p in recordings.patients] == [("sub-01", "HUP")]
    assert "outcome is F" in whys(recordings, what="patient")[0]


def test_a_channel_of_the_file_with_spaces_around_its_name_is_found(tmp_path):
    write_tree(tmp_path)
    write_edf(run_file(tmp_path, "ieeg.edf"), noise(), names=[f"{name}  " for name in NAMES])
    [recording] = read_bids(tmp_path)
    assert recording.channels == NAMES
