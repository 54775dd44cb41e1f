"""One new patient, however it is given; bad input is one clear sentence; nobody is named."""

from __future__ import annotations

import shutil
from dataclasses import replace

import mne
import numpy as np
import pytest
from new_patients import CONTACTS, FS, the_files, the_model, the_patient, write_edf

from epilens.core.errors import DataError, ModelError, OnsetError
from epilens.data.discovery import bids_root, patient_code
from epilens.data.electrodes.positions import Positions, read_electrodes
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan
from epilens.report.patient.localize import localize
from epilens.testing import make_cube, make_recording

NOBODY = ("mustermann", "erika", "mrn4711", "dr_who")


@pytest.fixture(scope="module")
def model():
    return the_model()


@pytest.fixture(scope="module")
def files():
    return the_files()


@pytest.fixture(scope="module")
def found():
    return the_patient()


def raw_of(recording, **changes):
    info = mne.create_info(list(recording.channels), recording.fs, "seeg")
    return mne.io.RawArray(1e-6 * recording.signal.astype(float), info, verbose="ERROR")


def test_files_with_onsets(files):
    loaded = load_patient(PatientInput(files, onsets=(40, 40, 41)), Plan())
    assert [r.run for r in loaded.recordings] == ["seizure-1", "seizure-2", "seizure-3"]
    assert [r.onset.onset_s for r in loaded.recordings] == [40, 40, 41]
    assert loaded.recordings[0].channels == CONTACTS
    assert {r.patient for r in loaded.recordings} == {"sub-patient"}


def test_one_file_can_hold_several_seizures(files):
    loaded = load_patient(PatientInput(files[:1], onsets=(40, 50), code="P7"), Plan())
    assert [r.onset.onset_s for r in loaded.recordings] == [40, 50]
    assert loaded.recordings[1].patient == "sub-P7"


def test_onsets_come_from_annotations(tmp_path):
    notes = [(3.0, "A1+A2 OFF"), (40.0, "sz onset"), (70.0, "Erika asleep")]
    files = [write_edf(tmp_path / f"{i}.edf", notes=notes, seed=i) for i in range(2)]
    loaded = load_patient(PatientInput(files), Plan())
    assert [r.onset.onset_s for r in loaded.recordings] == [40, 40]
    assert loaded.recordings[0].onset.rule == "onset marker"


def test_channels_that_are_no_contacts_are_left_out_with_a_reason(tmp_path):
    names = (*CONTACTS[:4], "ECG", "EKG2", "DC01", "Fz", "TRIG")
    file = write_edf(tmp_path / "a.edf", names)
    loaded = load_patient(PatientInput([file], onsets=(40,), exclude=("A2",)), Plan())
    assert loaded.recordings[0].channels == ("A1", "A3", "A4")
    why = {row.channel: row.why for row in loaded.rows if row.what == "channel"}
    assert why["A2"] == "was excluded by the user"
    assert why["EKG2"] == why["DC01"] == "is not an iEEG channel by its type or name"
    assert why["Fz"] == "is a scalp electrode by its name (10-20)"


def test_files_with_and_without_a_typed_onset(tmp_path):
    typed = write_edf(tmp_path / "a.edf")
    noted = write_edf(tmp_path / "b.edf", seed=1, notes=[(38.0, "seizure onset")])
    pairs = [(typed, 40.0), (typed, 60.0), (noted, None)]
    loaded = load_patient(PatientInput(pairs), Plan())
    assert [r.onset.onset_s for r in loaded.recordings] == [40.0, 60.0, 38.0]


def test_mne_objects_with_onsets(model):
    parts = [make_recording(run=f"run-{i}", seed=i, fs=FS, channels=CONTACTS) for i in range(2)]
    raws = [raw_of(part) for part in parts]
    by_raw = localize(raws, model, onsets=[35, 35])
    in_pairs = localize([(raw, 35) for raw in raws], model)
    by_hand = localize(parts, model)
    for found in (by_raw, in_pairs):
        np.testing.assert_allclose(found.scores.p_nez, by_hand.scores.p_nez, atol=1e-4)
        assert found.patient == "sub-patient"


def test_an_object_with_its_own_montage_has_positions(model):
    part = make_recording(fs=FS, channels=CONTACTS)
    raw = raw_of(part)
    at = {name: np.array([0.01 * i, 0.02, 0.03]) for i, name in enumerate(CONTACTS)}
    at["A2"] = np.full(3, np.nan)
    raw.set_montage(mne.channels.make_dig_montage(at, coord_frame="head"))
    found = localize([raw], model, onsets=[35], code="Raw1")
    known = found.cube["has_position"].values
    assert known.sum() == len(CONTACTS) - 1
    np.testing.assert_allclose(found.cube["position_mm"].values[3], [30, 20, 30], atol=1e-3)
    assert any("9 of 10 contacts have a position" in c.text for c in found.certainty.cautions)
    assert (found.patient, found.cube.attrs["space"]) == ("sub-Raw1", "head")


def test_a_patient_of_a_bids_tree(tiny, model):
    root = tiny / "north"
    folders = sorted(p for p in root.glob("sub-*"))
    whole = localize(folders[0], model)
    assert whole.patient == folders[0].name
    assert all(name in "".join(s.name for s in whole.seizures) for name in ("ictal",))
    runs = sorted(folders[0].rglob("*_ieeg.edf"))
    one = localize(runs[0], model)
    assert len(one.seizures) == 1
    again = localize(root, model, code=folders[0].name)
    np.testing.assert_array_equal(again.scores.p_nez, whole.scores.p_nez)
    assert bids_root(runs[0]) == bids_root(root) == root.resolve()
    with pytest.raises(DataError, match=r"north: expected one patient, found 2 of 2"):
        localize(root, model)


def test_a_typed_onset_takes_the_place_of_the_events(tiny, model):
    run = sorted((tiny / "north").rglob("*_ieeg.edf"))[0]
    usual = localize(run, model)
    moved = localize(run, model, onsets=[45])
    assert moved.seizures[0].onset == "given by the user" != usual.seizures[0].onset
    assert not np.allclose(moved.scores.p_nez, usual.scores.p_nez)


def test_nothing_of_the_header_or_the_file_name_is_kept(found):
    parts = (found.contacts, found.words, found.seizures, found.source)
    text = " ".join(map(str, parts)).lower()
    assert not [name for name in NOBODY if name in text]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"onsets": [40, 40, 95]}, r"expected an onset inside the recording of 80.000 s, found 95"),
        ({"onsets": [40, 40, -1]}, "expected an onset inside the recording"),
        ({"onsets": [40, 40]}, "expected one onset for each of 3 files, found 2"),
        ({}, "expected one event that means a seizure onset, found no events"),
        ({"onsets": [40] * 3, "code": "Erika M"}, "expected a code of letters and digits"),
    ],
)
def test_onsets_and_codes_that_cannot_be(files, model, change, message):
    with pytest.raises(DataError, match=message):
        localize(files, model, **change)


@pytest.mark.parametrize(
    ("onsets", "said"),
    [
        ([40], r"cut\.edf: expected signal at the onset, 40\.000 s, found a file that is cut off "
         r"before it, after \d+\.000 s: its header promises more\. Copy the file again\.$"),
        (None, r"The file is cut off, and its onset may be in what is missing: copy it again\."),
    ],
)  # fmt: skip
def test_an_onset_in_what_was_cut_off_is_reported_as_that(tmp_path, onsets, said):
    path = write_edf(tmp_path / "cut.edf", notes=[(40, "sz onset")])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 8])
    with pytest.raises(OnsetError if onsets else DataError, match=said):
        localize([path], "random", **({"onsets": onsets} if onsets else {}))


def test_an_onset_outside_of_an_object():
    raw = raw_of(make_recording(fs=FS, channels=CONTACTS))
    with pytest.raises(OnsetError, match=r"seizure-1: expected an onset inside the recording"):
        localize([raw], "random", onsets=[300])
    with pytest.raises(OnsetError, match="expected one onset for each of 1 recordings, found 2"):
        localize([raw], "random", onsets=[30, 30])


def test_no_seizure_with_a_usable_reference(files, model):
    with pytest.raises(
        DataError, match=r"sub-patient: expected a seizure with 5 or more valid baseline windows"
    ):
        localize(files, model, onsets=[3, 3, 3])


def test_no_seizure_that_goes_on_after_onset(files, model):
    with pytest.raises(
        DataError, match=r"sub-patient: expected a seizure with 5 or more valid windows after onset"
    ):
        localize(files, model, onsets=[78, 78, 78])


@pytest.mark.data
def test_a_recorded_clip_that_ends_at_onset_is_refused(shared_data, model):
    """1.5 s after onset: all contacts would be alike, and be shown in the order of channels."""
    with np.load(shared_data / "real" / "pt01_run01_raw_m15p1.npz") as clip:
        x, fs = clip["data"].astype(np.float32), float(clip["sfreq"])
    names = [f"{'ABCDEFGHIJKLM'[i // 8]}{i % 8 + 1}" for i in range(len(x))]
    recording = make_recording(
        fs=fs, channels=names, signal=x, start_s=1.55 - x.shape[1] / fs, stop_s=1.55
    )
    for source in (model, "epileptogenicity-index", "line-length-spread"):
        with pytest.raises(
            DataError, match="expected a seizure with 5 or more valid windows after"
        ):
            localize([recording], source)


def test_a_seizure_without_a_reference_is_left_out_with_its_reason(files, model):
    found = localize(files, model, onsets=[40, 40, 3])
    assert [s.name for s in found.seizures] == ["seizure-1", "seizure-2"]
    ((name, why),) = found.left_out
    assert name == "seizure-3"
    assert "fewer than 5 valid baseline windows" in why
    assert any("of 3 seizures used" in c.text for c in found.certainty.cautions)


def test_a_file_that_cannot_be_read_is_left_out_and_not_named(files, model, tmp_path):
    broken = tmp_path / "Mustermann_bad.edf"
    broken.write_bytes(files[0].read_bytes()[:300])
    found = localize([*files[:2], broken], model, onsets=[40, 40, 40])
    ((name, why),) = found.left_out
    assert name == "seizure-3"
    assert why == "could not be read (the command line shows the reason)"
    assert "Mustermann_bad.edf" in found.problems[0]


def test_one_contact_is_not_a_patient(tmp_path, model):
    file = write_edf(tmp_path / "a.edf", ["A1", "ECG"])
    with pytest.raises(DataError, match=r"sub-patient: expected two or more contacts, found 1"):
        localize([file], model, onsets=[40])


def test_seizures_without_a_common_channel(tmp_path, model):
    first = write_edf(tmp_path / "a.edf", ["A1", "A2", "A3"])
    second = write_edf(tmp_path / "b.edf", ["B1", "B2", "B3"])
    with pytest.raises(
        DataError, match=r"expected the same contacts in all seizures, found 0 of 3"
    ):
        localize([first, second], model, onsets=[40, 40])


@pytest.mark.parametrize(
    ("patient", "message"),
    [
        ([], "expected seizures of one patient, found none"),
        ("nowhere.edf", "expected a recording, found nothing"),
        ([3, 4], "expected paths, mne.io.Raw objects, recordings or a cube, found int"),
    ],
)
def test_what_is_no_patient(patient, message, model):
    with pytest.raises(DataError, match=message):
        localize(patient, model)


def test_a_folder_that_is_no_dataset(tmp_path, model):
    with pytest.raises(DataError, match=r"found a folder without dataset_description\.json"):
        localize(tmp_path, model)


def test_positions_from_a_table(files, model, tmp_path):
    table = tmp_path / "my_electrodes.csv"
    rows = [f"{name[0]} 0{name[1:]},{i},2,3" for i, name in enumerate(CONTACTS[:5])]
    table.write_text("name,x,y,z\n" + "\n".join(rows) + "\n")
    found = localize(files, model, onsets=[40] * 3, electrodes=table, space="MNI152Lin")
    assert found.cube["has_position"].values.sum() == 5
    assert found.cube.attrs["space"] == "MNI152Lin"
    assert any("5 of 10 contacts have a position" in c.text for c in found.certainty.cautions)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name\tx\ty\nA1\t1\t2\n", "expected columns name, x, y, z, found name, x, y. Add z"),
        ("name\tx\ty\tz\nQ1\t1\t2\t3\n", "found none of them among its 1 names"),
    ],
)
def test_positions_that_do_not_fit(files, model, tmp_path, content, message):
    table = tmp_path / "electrodes.tsv"
    table.write_text(content)
    with pytest.raises(DataError, match=message):
        localize(files, model, onsets=[40] * 3, electrodes=table)


def test_the_space_is_read_from_the_file_next_to_the_table(tmp_path):
    (tmp_path / "sub-1_electrodes.tsv").write_text("name\tx\ty\tz\nA1\t0.01\t0\t0\n")
    (tmp_path / "sub-1_coordsystem.json").write_text(
        '{"iEEGCoordinateSystem": "MNI305", "iEEGCoordinateUnits": "m"}'
    )
    positions, _ = read_electrodes(tmp_path / "sub-1_electrodes.tsv", "", "sub-1")
    assert positions == Positions({"A1": (10.0, 0.0, 0.0)}, "MNI305")
    with pytest.raises(DataError, match="expected a table of electrodes, found nothing"):
        read_electrodes(tmp_path / "gone.tsv", "", "sub-1")


def test_codes_are_letters_and_digits():
    assert patient_code("sub-A1") == patient_code("A1") == "sub-A1"
    for bad in ("", "A 1", "../x", "<img>"):
        with pytest.raises(DataError, match="expected a code of letters and digits"):
            patient_code(bad)


def test_a_cube_of_another_plan_is_refused_with_the_difference(model):
    cube = make_cube(fs=FS)
    assert localize(cube, model).patient == "sub-01"
    shifted = cube.assign_coords(start_s=cube["start_s"] + 1, stop_s=cube["stop_s"] + 1)
    with pytest.raises(ModelError, match=r"windows.start_s is -29.0, the model's -30.0"):
        localize(shifted, model)
    other = make_cube(fs=FS)
    other.attrs["plan"]["montage.scheme"] = "bipolar"
    with pytest.raises(ModelError, match=r"montage.scheme is 'bipolar', the model's 'as-r"):
        localize(other, model)


def test_another_plan_is_refused_with_the_difference(files, model):
    plan = Plan().override(filter={"low_hz": 2.0}, seeds=(1,))
    with pytest.raises(ModelError, match=r"filter.low_hz is 2.0, the model's 1.0"):
        localize(files, model, onsets=[40] * 3, plan=plan)
    localize(files[:1], model, onsets=[40], plan=Plan().override(seeds=(1,)))


def test_recordings_of_two_patients_are_refused(model):
    parts = [make_recording(fs=FS), make_recording("sub-02", "run-02", fs=FS)]
    with pytest.raises(DataError, match="expected recordings of one patient"):
        localize(parts, model)
    one = replace(parts[0], patient="Erika Mustermann")
    with pytest.raises(DataError, match="expected a code of letters and digits"):
        localize([one], model)


def test_a_patient_without_a_usable_seizure_is_refused_with_the_reason(tiny, model, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(tiny / "north", root)
    names = sorted(p.name for p in root.glob("sub-*"))
    for events in (root / names[0]).rglob("*_events.tsv"):
        events.write_text("onset\tduration\ttrial_type\n1.0\t0\tnothing\n")
    with pytest.raises(DataError, match=rf"{names[0]}: expected a seizure that can be used, found"):
        localize(root / names[0], model)


def test_any_file_of_a_brainvision_run_will_do(tiny, model):
    run = sorted((tiny / "east").rglob("*_ieeg.vhdr"))[0]
    by_header, by_data = (localize(run.with_suffix(s), model) for s in (".vhdr", ".eeg"))
    np.testing.assert_array_equal(by_header.scores.p_nez, by_data.scores.p_nez)


def test_annotations_without_an_onset_say_what_to_do(files):
    with pytest.raises(DataError, match=r"found no events\. Give the onset of every file"):
        localize(files, "random")


def test_a_bipolar_model_ranks_pairs_on_their_electrode(files):
    plan = Plan().override(montage={"scheme": "bipolar"})
    found = localize(files[:1], "line-length-change", onsets=[40], plan=plan, resected="A2")
    table = found.contacts.set_index("name")
    assert table.loc["A1-A2", ["shaft", "number"]].tolist() == ["A", 1]
    assert set(table.index[table["resected"] == "yes"]) == {"A1-A2", "A2-A3"}


def test_onsets_of_one_file_that_are_too_close_are_refused(files):
    with pytest.raises(OnsetError, match=r"10 s or more apart in one file, found onsets at 25 and"):
        load_patient(PatientInput(files[:1], onsets=(44, 25, 30)), Plan())
    twice = [files[0], files[0]]
    with pytest.raises(OnsetError, match=r"found onsets at 40 and 45 s"):
        load_patient(PatientInput(twice, onsets=(40, 45)), Plan())
    assert load_patient(PatientInput(files[:2], onsets=(40, 41)), Plan()).recordings, "two files"


def test_without_any_contact_left_the_exclusion_is_named(files):
    with pytest.raises(DataError, match=r"were excluded by the user\. Exclude fewer"):
        load_patient(PatientInput(files[:1], onsets=(40,), exclude=CONTACTS), Plan())


def test_a_channel_to_leave_out_that_nobody_has_is_refused(files):
    given = PatientInput(files[:1], onsets=(40,), exclude=("A2", "A22"))
    with pytest.raises(DataError, match=r"found 'A22'. Did you mean 'A2'\?"):
        load_patient(given, Plan())
    with pytest.raises(DataError, match=r"found 'RZ9'. Names are like 'A1'"):
        load_patient(PatientInput([make_recording(fs=FS)], exclude=("RZ9",)), Plan())


@pytest.mark.parametrize("typed", ["RA3", "ra03", "RA 3"])
def test_a_channel_to_leave_out_may_be_typed_as_the_page_calls_it(tmp_path, typed):
    names = ("EEG RA 02-Ref", "EEG RA 03-Ref", "EEG RA 13-Ref")
    file = write_edf(tmp_path / "a.edf", names)
    loaded = load_patient(PatientInput([file], onsets=(40,), exclude=(typed,)), Plan())
    assert loaded.recordings[0].channels == ("EEG RA 02-Ref", "EEG RA 13-Ref")


def test_files_are_numbered_as_they_were_given(files):
    loaded = load_patient(PatientInput(files[:2], onsets=(40, 41)), Plan())
    assert loaded.files == {"seizure-1": 1, "seizure-2": 2}
    loaded = load_patient(PatientInput(files[:1], onsets=(30, 45)), Plan())
    assert loaded.files == {"seizure-1": 1, "seizure-2": 1}
