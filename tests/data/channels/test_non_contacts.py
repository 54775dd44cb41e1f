"""Scalp electrodes and unused inputs, told from contacts by the names of a whole file."""

from __future__ import annotations

import csv
from pathlib import Path

import mne
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import FS, noise, write_edf

from epilens.data.channels.non_contacts import ALONE, SCALP, UNUSED, not_contacts
from epilens.data.load_patient import PatientInput, load_patient
from epilens.plan import Plan

DATA = Path(__file__).parents[4] / "shared" / "data"
TEN_TWENTY = (
    *("Fp1", "Fp2", "F3", "F4", "F7", "F8", "C3", "C4", "P3", "P4", "O1", "O2"),
    *("T3", "T4", "T5", "T6"),
)
MIDLINE = ("Fz", "Cz", "Pz")


def shaft(name: str, last: int, first: int = 1) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(first, last + 1))


DEPTHS = (*shaft("LA", 8), *shaft("LB'", 10))


@pytest.mark.parametrize("middle", [MIDLINE, ("CZ",), ()])
@pytest.mark.parametrize("spelling", ["{}", "EEG {}-Ref", "EEG {}"])
def test_a_scalp_montage_beside_depth_electrodes_is_left_out(middle, spelling):
    scalp = [spelling.format(name) for name in TEN_TWENTY]
    names = [*DEPTHS, *scalp, *(spelling.format(name) for name in middle)]
    assert not_contacts(names) == dict.fromkeys(scalp, SCALP)


def test_ears_and_mastoids_are_scalp_only_beside_a_montage():
    assert set(not_contacts(["A1", "A2", "Cz", *DEPTHS])) == {"A1", "A2"}
    assert not_contacts(["A1", "A2", *DEPTHS]) == {}
    assert not_contacts([*shaft("A", 8), "Cz", "C3", "C4", *DEPTHS]) == dict.fromkeys(
        ("C3", "C4"), SCALP
    )


@pytest.mark.parametrize(
    "electrode",
    [shaft("F", 10), shaft("C", 10), shaft("O", 8), shaft("T", 8), shaft("P", 12), shaft("FZ", 4)],
)
@pytest.mark.parametrize("beside", [(), ("Fz", "Cz", "Pz"), TEN_TWENTY])
def test_a_whole_shaft_with_a_scalp_name_is_an_electrode(electrode, beside):
    names = {*electrode, *beside, *DEPTHS}
    assert not set(electrode) & set(not_contacts(sorted(names)))


def test_a_strip_that_begins_late_is_an_electrode():
    """F3 to F6 are good contacts of three patients of the multi-site cohort."""
    assert not_contacts([*shaft("F", 6, first=3), *DEPTHS]) == {}


def test_t1_and_t2_belong_to_a_scalp_montage():
    names = [*TEN_TWENTY, "T1", "T2", *MIDLINE, *DEPTHS]
    assert {"T1", "T2", "T3"} <= set(not_contacts(names))


def test_a_cap_of_many_electrodes_is_scalp():
    cap = [*TEN_TWENTY, *shaft("F", 8), *shaft("C", 6), *shaft("P", 8), *shaft("FC", 6)]
    cap += [*shaft("CP", 6), "PO3", "PO4", "PO7", "PO8"]
    assert set(not_contacts([*cap, *MIDLINE, *DEPTHS])) == set(cap)


def test_pairs_of_scalp_electrodes_are_scalp():
    pairs = ["Fp1-F7", "F7-T3", "T3-T5", "T5-O1", "Fp2-F8", "C3-P3", "P3-O1"]
    assert set(not_contacts([*pairs, "Fz-Cz", "LA1-LA2", "LA2-LA3", "LA3-LA4"])) == set(pairs)


def test_inputs_that_nobody_named_are_unused():
    inputs = shaft("C", 128, first=65)
    assert not_contacts([*DEPTHS, *inputs]) == dict.fromkeys(inputs, UNUSED)
    assert not_contacts([*DEPTHS, *shaft("C", 10), *inputs]) == dict.fromkeys(inputs, UNUSED)


def test_a_grid_that_is_called_c_is_no_unused_input():
    assert not_contacts([*shaft("C", 64), *DEPTHS]) == {}


@pytest.mark.parametrize("name", ["TP10", "RQ1"])
def test_a_spare_input_is_no_contact(name):
    assert set(not_contacts([name, *DEPTHS])) == {name}


def test_one_channel_alone_beside_electrodes_is_told_as_such():
    assert not_contacts(["B19", *DEPTHS]) == {"B19": ALONE}
    assert not_contacts(["B19", "A1", "A2"]) == {}


@given(st.lists(st.text(max_size=8), max_size=30))
def test_any_names_are_taken(names):
    assert set(not_contacts(names)) <= set(names)


def test_a_plain_file_is_read_without_them_and_each_is_an_audit_row(tmp_path):
    names = [*shaft("A", 6), *shaft("B", 6), "F3", "F4", "Cz", "C65", "C66", "RQ1"]
    write_edf(tmp_path / "a.edf", noise(len(names)), names=names)
    loaded = load_patient(PatientInput(tmp_path / "a.edf", onsets=(40.0,)), Plan())
    assert loaded.recordings[0].channels == (*shaft("A", 6), *shaft("B", 6))
    assert {(row.channel, row.why) for row in loaded.rows if row.what == "channel"} == {
        ("F3", SCALP),
        ("F4", SCALP),
        ("Cz", SCALP),
        ("C65", UNUSED),
        ("C66", UNUSED),
        ("RQ1", UNUSED),
    }


def test_a_type_that_only_contacts_have_says_more_than_a_name():
    names = ["Fz1", "F3", "F4", *shaft("A", 6)]
    info = mne.create_info([*names, "Cz"], FS, ["seeg"] * len(names) + ["eeg"], verbose="ERROR")
    raw = mne.io.RawArray(noise(len(names) + 1) * 1e-6, info, verbose="ERROR")
    [recording] = load_patient(PatientInput([raw], onsets=(40.0,)), Plan()).recordings
    assert recording.channels == tuple(names)


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the public sidecars are not there")
def test_of_the_good_contacts_of_the_public_cohorts_two_lone_ones_would_be_left_out():
    lost = set()
    for path in DATA.glob("ds*/sub-*/**/*_task-ictal_*channels.tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        implanted = [r for r in rows if r["type"] in ("ECOG", "SEEG")]
        good = {r["name"].strip() for r in implanted if r["status"] == "good"}
        reasons = not_contacts([r["name"].strip() for r in rows])
        lost |= {(name, reasons[name]) for name in good & set(reasons)}
    assert lost == {("RGP8", ALONE), ("RS01", ALONE)}
