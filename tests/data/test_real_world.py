"""Trees as centers write them: small real files, one habit each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from trees import (
    DURATION_S,
    FS,
    NAMES,
    channel_rows,
    folder,
    noise,
    run_file,
    write_json,
    write_run,
    write_tree,
    write_tsv,
)

from epilens.data.bids import read_bids, survey_cohort
from epilens.data.cohort import cohort_summary
from epilens.data.onsets.annotated import find_seizures
from epilens.data.onsets.onset import Event
from epilens.evidence.cube import blind, target_only
from epilens.evidence.describe import describe
from epilens.plan import Plan

TWO = (
    {"onset": 40, "duration": 8, "trial_type": "seizure", "sub_type": "clin"},
    {"onset": 100, "duration": 9, "trial_type": "seizure", "sub_type": "subclin"},
)


def long_tree(root: Path, contacts: tuple[str, str] = ("A1,A2", "B01"), **keywords) -> Path:
    """A run of sleep of 150 s with two seizures; no channel has a label."""
    keywords = {"channels": channel_rows(ez=[])} | keywords
    data = noise(len(NAMES), FS, 150.0)
    write_tree(root, task="sleep", events=None, data=data, **keywords)
    rows = [row | {"electrodes_involved_onset": at} for row, at in zip(TWO, contacts, strict=True)]
    extra = {"sub_type": "n/a", "electrodes_involved_onset": "all"}
    rows.append({"onset": 20, "duration": 1, "trial_type": "artefact"} | extra)
    write_tsv(run_file(root, "events.tsv", task="sleep"), rows)
    return root


def reasons(recordings, code: str) -> list[str]:
    return [row.why for row in recordings.rows if row.code == code]


# --- seizures in runs of any task ---


def test_two_seizures_of_a_sleep_run_are_read_as_excerpts(tmp_path):
    recordings = read_bids(long_tree(tmp_path))
    first, second = list(recordings)
    assert (first.onset.onset_s, second.onset.onset_s) == (40, 100)
    assert (first.run, second.run) == (
        "ses-presurgery_task-sleep_run-01",
        "ses-presurgery_task-sleep_run-01+2",
    )
    planned_s = 30 + 30 + 2 * 5
    assert max(r.signal.shape[1] / r.fs for r in (first, second)) <= planned_s
    assert [r.onset.kind for r in (first, second)] == ["clinical", "subclinical"]


def test_only_the_planned_interval_is_read(tmp_path, monkeypatch):
    from epilens.data.readers.mne_reader import MneReader

    asked, read = [], MneReader.read

    def counted(self, start, stop, names):
        asked.append(stop - start)
        return read(self, start, stop, names)

    monkeypatch.setattr(MneReader, "read", counted)
    assert len(list(read_bids(long_tree(tmp_path)))) == 2
    assert max(asked) <= 70 * FS < 150 * FS


def test_a_seizure_without_room_is_excluded_and_the_other_is_kept(tmp_path):
    root = long_tree(tmp_path)
    rows = [TWO[0] | {"onset": 2}, TWO[1]]
    write_tsv(run_file(root, "events.tsv", task="sleep"), rows)
    recordings = read_bids(root)
    [patient] = recordings.patients
    assert [run.run[-2:] for run in patient.runs] == ["+2"]
    assert patient.seizures_excluded == 1
    [row] = [row for row in recordings.rows if row.what == "seizure"]
    assert (row.run, row.code) == ("ses-presurgery_task-sleep_run-01", "windows-too-few")


def test_annotations_of_the_file_name_seizures_where_there_is_no_table(tmp_path):
    marks = [(40.0, None, "Sz onset"), (60.0, None, "Sz end")]
    write_tree(tmp_path, task="rest", events=None, annotations=marks)
    [run] = read_bids(tmp_path).runs
    assert (run.onset.onset_s, run.onset.offset_s) == (40.0, 60.0)


def test_an_ictal_run_with_two_intervals_has_two_seizures(tmp_path):
    write_tree(tmp_path, events=None, data=noise(len(NAMES), FS, 150.0))
    write_tsv(run_file(tmp_path, "events.tsv"), TWO)
    assert [run.onset.onset_s for run in read_bids(tmp_path).runs] == [40, 100]


@pytest.mark.parametrize(
    ("texts", "onsets"),
    [
        ([(10, "eyes open"), (100, "seizure"), (400, "ictal")], [100, 400]),
        ([(100, "sz"), (104, "sz")], [100]),
        ([(100, "sz onset"), (130, "seizure"), (160, "sz end"), (700, "EEG sz onset")], [100, 700]),
        ([(100, "onset"), (200, "start"), (300, "interictal"), (400, "no seizure")], []),
        ([(100, "pre-ictal"), (200, "postictal"), (300, "seizure free")], []),
    ],
)
def test_seizures_among_other_events(texts, onsets):
    found = find_seizures([Event(float(at), text) for at, text in texts])
    assert [onset.onset_s for onset in found] == onsets


def test_an_event_inside_a_seizure_is_not_another_one():
    events = [Event(100.0, "seizure", 60.0), Event(140.0, "seizure", 5.0), Event(200.0, "seizure")]
    assert [onset.onset_s for onset in find_seizures(events)] == [100.0, 200.0]


# --- onset contacts ---


def test_onset_contacts_are_the_onset_zone_where_nothing_else_is_given(tmp_path):
    recordings = read_bids(long_tree(tmp_path))
    [patient] = recordings.patients
    assert patient.soz == patient.ez == {"A1", "A2", "B1"}
    assert any(
        "3 contacts in which its seizures began" in why for why in reasons(recordings, "label")
    )


def test_onset_contacts_do_not_replace_a_label(tmp_path):
    rows = channel_rows(ez=[], soz={"A3": "yes", "A1": "no"})
    [patient] = read_bids(long_tree(tmp_path, channels=rows)).patients
    assert (patient.soz, patient.onset_contacts) == ({"A3"}, {"A1", "A2", "B1"})
    plan = Plan().override(cohort={"ez": "onset-contacts"})
    [patient] = read_bids(tmp_path, plan=plan).patients
    assert patient.ez == {"A1", "A2", "B1"}


def test_onset_contacts_do_not_change_an_ez_that_is_given_outright(tmp_path):
    rows = channel_rows(ez=[], is_ez={"A3": "yes", "A1": "no"})
    [patient] = read_bids(long_tree(tmp_path, channels=rows)).patients
    assert patient.ez == {"A3"}


@pytest.mark.parametrize("text", ["all", "diffuse", "n/a", "unknown"])
def test_a_diffuse_onset_names_no_contact(tmp_path, text):
    [patient] = read_bids(long_tree(tmp_path, (text, text))).patients
    assert patient.onset_contacts is None
    assert patient.ez is None


def test_an_onset_contact_that_was_not_recorded_is_an_audit_row(tmp_path):
    recordings = read_bids(long_tree(tmp_path, ("A1,A9,Miller 2021", "A1")))
    [row] = [row for row in recordings.rows if "was not recorded" in row.why]
    assert row.channel == "A9"
    assert "Miller" not in recordings.audit.to_csv()


def test_the_cube_has_the_onset_contacts_of_each_seizure_and_no_method_gets_them(tmp_path):
    cube = describe(read_bids(long_tree(tmp_path, ("A1,A2", "all"))))
    named = [cube.channel.values[flags].tolist() for flags in cube["is_onset_contact"].values]
    assert named == [["A1", "A2"], []]
    assert cube["onset_contacts_stated"].values.tolist() == [True, False]
    assert cube["seizure_type"].values.tolist() == ["clinical", "subclinical"]
    assert cube["seizure_duration_s"].values.tolist() == [8, 9]
    names = ("is_onset_contact", "onset_contacts_stated", "seizure_type", "seizure_duration_s")
    for bare in (blind(cube), target_only(cube)):
        assert not set(names) & set(bare.variables)


def test_a_cube_without_such_events_has_no_such_variables(tmp_path):
    cube = describe(read_bids(write_tree(tmp_path)))
    assert not {"is_onset_contact", "seizure_type", "seizure_duration_s"} & set(cube.variables)


# --- labels ---


@pytest.mark.parametrize(
    "column",
    [
        *("soz", "SOZ", "seizure_zone", "seizure onset zone", "Seizure-Onset-Zone", "resected"),
        *("resection", "rz", "cavity", "ablated", "is_ez", "epileptogenic_zone"),
    ],
)
def test_a_label_column_in_any_spelling(tmp_path, column):
    rows = channel_rows(ez=[], **{column: {n: "1.0" if n == "B2" else "0.0" for n in NAMES}})
    [patient] = read_bids(write_tree(tmp_path, channels=rows)).patients
    assert patient.ez == {"B2"}


def test_the_edge_of_a_resection_is_a_note_and_no_label(tmp_path):
    values = {n: "yes" if n in ("A1", "A2") else "no" for n in NAMES}
    rows = channel_rows(ez=[], edge=values, resected=dict.fromkeys(NAMES, "no") | {"A1": "yes"})
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    assert recordings.patients[0].resected == {"A1"}
    assert sum("at the edge" in why for why in reasons(recordings, "label")) == 2


def test_codes_of_a_label_column_are_explained_by_levels(tmp_path):
    rows = channel_rows(ez=[], resection={n: "2" if n == "A1" else "1" for n in NAMES})
    write_tree(tmp_path, channels=rows)
    levels = {"resection": {"Levels": {"1": "preserved", "2": {"Description": "Resected"}}}}
    write_json(run_file(tmp_path, "channels.json"), levels)
    assert read_bids(tmp_path).patients[0].ez == {"A1"}


@pytest.mark.parametrize(
    ("text", "ez"),
    [
        ("seizure onset zone", {"A1"}),
        ("in the Seizure-Onset Zone", {"A1"}),
        ("not in the seizure onset zone", None),
        ("outside the SOZ", None),
    ],
)
def test_phrases_of_the_status_description(tmp_path, text, ez):
    rows = channel_rows(ez=[], status_description={"A1": text})
    assert read_bids(write_tree(tmp_path, channels=rows)).patients[0].ez == ez


# --- bad channels ---


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("bad", "1", "is marked bad"),
        ("artifact", "yes", "is marked as artifact"),
        ("noisy", "True", "is marked noisy"),
        ("included", "no", "is not included"),
        ("included", "not included", "is not included"),
        ("csf", "yes", "lies in cerebrospinal fluid"),
        ("screw", "yes", "lies in the anchor screw"),
        ("silicon", "yes", "lies on the silicon"),
    ],
)
@pytest.mark.parametrize("where", ["channels", "electrodes"])
def test_a_channel_that_a_column_marks_is_excluded(tmp_path, column, value, reason, where):
    other = "yes" if column == "included" else "no"
    values = {name: value if name == "B1" else other for name in NAMES}
    rows = channel_rows(**({column: values} if where == "channels" else {}))
    write_tree(tmp_path, channels=rows)
    if where == "electrodes":
        rows = [{"name": n, "x": 1, "y": 2, "z": 3, column: values[n]} for n in NAMES]
        write_tsv(folder(tmp_path) / "sub-01_ses-presurgery_electrodes.tsv", rows)
    recordings = read_bids(tmp_path)
    assert recordings.patients[0].channels == ("A1", "A2", "A3", "A4", "B2")
    [row] = [row for row in recordings.rows if row.code == "channel-bad"]
    assert (row.channel, row.effect) == ("B1", "excluded")
    assert row.why.startswith(reason)
    assert f"column {column} of {where}.tsv" in row.why


def test_a_bad_column_that_is_unreadable_excludes_nothing_with_a_note(tmp_path):
    rows = channel_rows(noisy=dict.fromkeys(NAMES, "0.7"))
    recordings = read_bids(write_tree(tmp_path, channels=rows))
    assert len(recordings.patients[0].channels) == len(NAMES)
    assert any("neither yes nor no (0.7)" in why for why in reasons(recordings, "channel-bad"))


# --- names, files, tables ---


def test_a_run_without_a_task_is_a_run(tmp_path):
    write_tree(tmp_path)
    for path in sorted(folder(tmp_path).iterdir()):
        path.rename(path.with_name(path.name.replace("_task-ictal", "")))
    [run] = read_bids(tmp_path).runs
    assert run.run == "ses-presurgery_run-01"


def test_a_session_table_is_no_run(tmp_path):
    write_tree(tmp_path)
    shared = run_file(tmp_path, "channels.tsv")
    shared.rename(shared.with_name("sub-01_ses-presurgery_channels.tsv"))
    assert len(read_bids(tmp_path).runs) == 1


def test_runs_named_by_clock_time_keep_their_names(tmp_path):
    write_tree(tmp_path, runs=["030017", "120001"], kind=None)
    assert [run.run[-10:] for run in read_bids(tmp_path).runs] == ["run-030017", "run-120001"]


@pytest.mark.parametrize("end", ["channels.tsv", "events.tsv", "ieeg.json"])
def test_a_compressed_sidecar_is_read(tmp_path, end):
    root = write_tree(tmp_path, kind=None)
    path = run_file(root, end)
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    [run] = read_bids(root).runs
    assert (len(run.channels), run.onset.onset_s, run.duration_s) == (6, 40.0, DURATION_S)


def test_a_damaged_compressed_sidecar_is_an_audit_row(tmp_path):
    root = write_tree(tmp_path, runs=["01", "02"], kind=None)
    path = run_file(root, "channels.tsv", run="02")
    path.with_name(path.name + ".gz").write_bytes(b"\x1f\x8b no")
    path.unlink()
    recordings = read_bids(root)
    assert len(recordings) == 1
    assert "expected a gzip file" in reasons(recordings, "sidecar-malformed")[0]


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_byte_order_marks_line_ends_and_empty_columns_do_not_matter(tmp_path, line_end):
    root = write_tree(tmp_path, kind=None)
    for end in ("channels.tsv", "events.tsv"):
        path = run_file(root, end)
        lines = [line + "\t" for line in path.read_text(encoding="utf-8").splitlines()]
        path.write_bytes(line_end.join([*lines, ""]).encode("utf-8-sig"))
    [run] = read_bids(root).runs
    assert (run.channels, run.onset.onset_s) == (NAMES, 40.0)


@pytest.mark.parametrize("empty", ["n/a", "N/A", "NaN", "na", "N.A.", "null", "-", "#N/A", ""])
def test_spellings_of_not_available_are_empty(tmp_path, empty):
    rows = channel_rows(ez=[], soz={"A1": "yes"} | dict.fromkeys(NAMES[1:], empty))
    assert read_bids(write_tree(tmp_path, channels=rows)).patients[0].ez == {"A1"}


def test_a_tree_without_participants_is_read(tmp_path):
    write_tree(tmp_path, kind=None)
    (tmp_path / "participants.tsv").unlink()
    assert [patient.name for patient in read_bids(tmp_path).patients] == ["sub-01"]


def test_a_participant_with_a_row_for_each_session_is_one(tmp_path):
    write_tree(tmp_path, kind=None)
    rows = [
        {"participant_id": "sub-01", "session": "1a", "age": "n/a", "sex": "F"},
        {"participant_id": "sub-01", "session": "1b", "age": "31", "sex": "F"},
    ]
    write_tsv(tmp_path / "participants.tsv", rows)
    assert read_bids(tmp_path).patients[0].participant["age"] == "31"


def test_derivatives_of_a_patient_are_not_recordings(tmp_path):
    write_tree(tmp_path, kind=None)
    inside = folder(tmp_path) / "derivatives"
    inside.mkdir()
    for path in [p for p in folder(tmp_path).iterdir() if p.is_file()]:
        name = path.name.replace("run-01", "run-07")
        (inside / name).write_bytes(path.read_bytes())
    assert len(read_bids(tmp_path).runs) == 1


# --- positions ---


def electrodes(root: Path, space: str, shift: float, names=NAMES) -> None:
    rows = [{"name": n, "x": i + shift, "y": 0, "z": 0} for i, n in enumerate(names)]
    entity = f"_space-{space}" if space else ""
    stem = folder(root) / f"sub-01_ses-presurgery{entity}"
    write_tsv(Path(f"{stem}_electrodes.tsv"), rows)
    fields = {"iEEGCoordinateSystem": space or "Other", "iEEGCoordinateUnits": "mm"}
    write_json(Path(f"{stem}_coordsystem.json"), fields)


def test_a_template_is_preferred_among_several_coordinate_systems(tmp_path):
    write_tree(tmp_path, kind=None)
    for shift, space in enumerate(["T1w", "MNI152NLin2009cAsym", "fsaverage", "ScanRAS"]):
        electrodes(tmp_path, space, 100.0 * shift)
    recordings = read_bids(tmp_path)
    positions = recordings.runs[0].positions
    assert (positions.space, positions.mm["A1"]) == ("MNI152NLin2009cAsym", (100.0, 0.0, 0.0))
    [why] = reasons(recordings, "positions")
    assert why == "positions are given in 4 coordinate systems; MNI152NLin2009cAsym is used"


def test_a_coordinate_system_without_positions_is_passed_over(tmp_path):
    write_tree(tmp_path, kind=None)
    electrodes(tmp_path, "T1w", 5.0)
    electrodes(tmp_path, "MNI152Lin", float("nan"))
    assert read_bids(tmp_path).runs[0].positions.space == "T1w"


def test_electrodes_that_are_spelt_with_zeros_are_the_same_contacts(tmp_path):
    write_tree(tmp_path, kind=None)
    electrodes(tmp_path, "", 1.0, [f"{name[0]}{int(name[1:]):02d}" for name in NAMES])
    assert len(read_bids(tmp_path).runs[0].positions.mm) == len(NAMES)


# --- trees without seizures ---


def test_a_tree_without_seizures_is_surveyed_with_channels_and_labels(tmp_path):
    rows = channel_rows(soz={"A1": "yes"} | dict.fromkeys(NAMES[1:], "no"), bad={"B2": "1"})
    write_tree(tmp_path, patients=["01", "02"], task="sleep", events=None, kind=None, channels=rows)
    [recordings] = survey_cohort(tmp_path)
    assert len(recordings) == 0
    summary = cohort_summary([recordings])
    names = ("patients", "patients_with_seizures", "seizures", "channels", "ez_channels")
    assert [summary["total"][name] for name in names] == [2, 0, 0, 10, 2]
    assert summary["contents"] == [
        {
            "task": "task-sleep",
            "kind": "sleep",
            "recordings": 2,
            "patients": 2,
            "center": summary["centers"][0]["center"],
        }
    ]
    json.dumps(summary)


def test_patients_without_seizures_are_listed_next_to_the_others(tmp_path):
    write_tree(tmp_path, kind=None)
    write_run(tmp_path, "02", task="rest", events=[], kind=None)
    [recordings] = survey_cohort(tmp_path)
    assert [len(patient.runs) for patient in recordings.surveyed] == [1, 0]
    assert [patient.name for patient in recordings.patients] == ["sub-01"]


def test_excluded_seizures_of_a_patient_who_has_no_other_are_counted(tmp_path):
    write_tree(tmp_path, kind=None)
    write_run(tmp_path, "02", "01", events=[(0.0, "nothing")], kind=None)
    write_run(tmp_path, "02", "02", events=[(0.0, "nothing")], kind=None)
    summary = cohort_summary(survey_cohort(tmp_path))
    assert [patient["seizures_excluded"] for patient in summary["patients"]] == [0, 2]
    assert summary["total"]["seizures_excluded"] == 2


def test_an_onset_that_the_user_gives_makes_a_seizure_of_any_run(tmp_path):
    root = write_tree(tmp_path / "tree", task="sleep", events=None, kind=None)
    table = write_tsv(tmp_path / "onsets.tsv", [{"patient": "01", "run": "01", "onset_s": 42}])
    plan = Plan().override(cohort={"onsets": str(table)})
    assert [run.onset.onset_s for run in read_bids(root, plan=plan).runs] == [42]


def test_signals_of_the_excerpt_are_those_of_the_file(tmp_path):
    data = noise(len(NAMES), FS, 150.0)
    recording = read_bids(long_tree(tmp_path))[1]
    first = round((recording.onset.onset_s + recording.start_s) * FS)
    part = data[:, first : first + recording.signal.shape[1]]
    assert np.abs(recording.signal - part).max() < 0.02


def test_the_ranking_shows_the_onset_contacts_that_events_name(tmp_path):
    from epilens import localize
    from epilens.report.patient.payload import payload

    localized = localize(long_tree(tmp_path, ("A1,A2", "A1")), model="line-length-spread")
    times = localized.contacts.set_index("name")["onset_stated_in"].to_dict()
    assert times == {"A1": 2, "A2": 1, "A3": 0, "A4": 0, "B1": 0, "B2": 0}
    shown = {contact["name"]: contact["statedIn"] for contact in payload(localized)["contacts"]}
    assert shown == times
