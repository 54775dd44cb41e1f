"""The simulated cohort: real files, known answers, same bytes for the same seed."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.signal

from epilens.core.errors import DataError
from epilens.data.bids import read_bids
from epilens.data.cohort import cohort_summary
from epilens.simulation import simulate
from epilens.simulation.anatomy import DEPTHS, SEEG_SPACING_MM
from epilens.simulation.contact_names import spell
from epilens.simulation.implant import make_implant
from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import SHAPES, share_out
from epilens.simulation.zones import make_zones

CENTERS = ("north", "east", "south", "west")


def fingerprints(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_processes(tiny, tmp_path):
    simulate(tmp_path / "again", "tiny", seed=0, jobs=2)
    assert fingerprints(tmp_path / "again") == fingerprints(tiny)


def test_another_seed_gives_other_signals():
    center = SHAPES["tiny"][0]
    one, other = (make_patients(center, 0, seed)[0] for seed in (0, 1))
    assert not np.array_equal(one.implant.mm[:5], other.implant.mm[:5])


@pytest.mark.parametrize("center", CENTERS)
def test_the_bids_validator_finds_no_error(tiny, center):
    validator = Path(sys.executable).with_name("bids-validator-deno")
    command = [str(validator), str(tiny / center), "--format", "json", "--max-rows", "-1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    issues = json.loads(done.stdout)["issues"]["issues"]
    assert issues, "the validator always recommends something; none means that it did not run"
    assert [issue for issue in issues if issue["severity"] == "error"] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_are_those_that_the_shape_states(shape):
    for index, center in enumerate(SHAPES[shape]):
        patients = make_patients(center, index, seed=3)
        runs = [[run for run in p.runs if not run.oddity] for p in patients]
        assert len(patients) == center.patients
        assert sum(map(len, runs)) == center.seizures
        assert sum(p.implant.good.sum() for p in patients) == center.channels
        assert sum(p.zones.annotated.sum() for p in patients) == center.ez_channels
        assert sum(len(r) == 1 for r in runs) == center.single_seizure_patients


def test_the_paper_shape_is_the_paper_s_cohort():
    centers = SHAPES["paper"]
    assert sum(c.patients for c in centers) == 80
    assert sum(c.seizures for c in centers) == 256
    assert sum(c.channels for c in centers) == 7635
    assert sum(c.ez_channels for c in centers) == 1743
    assert sum(c.single_seizure_patients for c in centers) == 80 - 73


def test_the_demo_shape_has_sixteen_patients_and_four_centers():
    assert len(SHAPES["demo"]) == 4
    assert sum(c.patients for c in SHAPES["demo"]) >= 16


def test_every_difficulty_is_in_the_paper_shape():
    patients = [p for i, c in enumerate(SHAPES["paper"]) for p in make_patients(c, i, seed=0)]
    runs = [run for p in patients for run in p.runs]
    rates = {run.fs for run in runs}
    assert rates == {250.0, 256.0, 500.0, 512.0, 999.41, 1000.0, 1024.0, 2000.0}
    assert {run.oddity for run in runs} == {"", "no-onset", "too-short", "cut-off", "repeated"}
    leads = [run.lead_s for run in runs if not run.oddity]
    assert min(leads) < 0 < np.median(leads), "marks come late, and some early"
    assert any(len({run.fs for run in p.runs}) > 1 for p in patients)
    assert any(run.lacks for run in runs)
    assert all((~p.implant.good).any() for p in patients)
    assert {p.physiology.pattern for p in patients} == {
        *("low-voltage-fast", "rhythmic", "spiking", "slow-shift-fast")
    }
    assert {c.labels for c in SHAPES["paper"]} == {"status", "sheet", "resected", "ablated"}
    assert {c.rule for c in SHAPES["paper"]} == {"either", "soz", "resected", "ablated"}
    assert {c.file_format for c in SHAPES["paper"]} == {"edf", "brainvision"}
    assert {c.mains_hz for c in SHAPES["paper"]} == {50, 60}


@pytest.mark.parametrize("center", CENTERS)
def test_the_reader_finds_the_labels_that_the_simulated_clinician_wrote(tiny, center):
    recordings = read_bids(tiny / center, "simulated")
    with (tiny / center / "derivatives/simulation-truth/truth.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    written = {(r["patient"], r["channel"]) for r in rows if r["is_annotated_ez"] == "1"}
    read = {(p.name, channel) for p in recordings.patients for channel in p.ez or ()}
    assert read == written


@pytest.mark.parametrize("center", range(4))
def test_the_reader_gives_back_the_signal_that_was_made(tiny, center):
    patient = make_patients(SHAPES["tiny"][center], center, seed=0)[1]
    recordings = read_bids(tiny / CENTERS[center], "simulated")
    known = next(p for p in recordings.patients if p.name == patient.name)
    for recording, run in zip(recordings.read(known), patient.runs, strict=True):
        made = patient.signal(run)
        names = [spell(patient, i) for i in range(len(made))]
        start = round((recording.start_s + run.onset_s) * run.fs)
        rows = [names.index(name) for name in recording.channels]
        expected = made[rows, start : start + recording.signal.shape[1]]
        # 16 bits over each channel's own range: one step, and the rounding of the range itself.
        step = np.abs(made[rows]).max(axis=1) / 32000 + 2.1e-4
        assert np.all(np.abs(recording.signal - expected) <= 1.01 * step[:, None])
        assert recording.fs == pytest.approx(run.fs, rel=1e-6)


def implant_of(contacts=120, bad=4, seed=0, modality="SEEG"):
    return make_implant(np.random.default_rng(seed), modality, contacts, bad)


@pytest.mark.parametrize("rule", ["soz", "either", "resected", "ablated"])
def test_zones_keep_to_the_rule_of_their_center(rule):
    implant = implant_of()
    zones = make_zones(np.random.default_rng(1), implant, rule, 40)
    assert zones.annotated.sum() == 40
    expected = {"soz": zones.soz, "either": zones.soz | zones.resected}
    np.testing.assert_array_equal(zones.annotated, expected.get(rule, zones.resected))
    for zone in (zones.onset, zones.soz, zones.resected, zones.annotated):
        assert not (zone & ~implant.good).any()
    assert zones.soz.sum() == zones.onset.sum() > 0


@pytest.mark.parametrize("modality", ["SEEG", "ECOG"])
def test_clinicians_err_at_the_edges_of_the_onset_zone_alone(modality):
    missed = []
    for seed in range(20):
        implant = implant_of(seed=seed, modality=modality)
        zones = make_zones(np.random.default_rng(seed), implant, "soz", 20)
        for i in np.flatnonzero(zones.onset != zones.soz):
            beside = [j for j in (i - 1, i + 1) if 0 <= j < len(implant.shaft)]
            beside = [j for j in beside if implant.shaft[j] == implant.shaft[i]]
            assert any(zones.onset[j] != zones.onset[i] for j in beside)
        missed.append((zones.onset & ~zones.soz).mean() / zones.onset.mean())
    assert 0.02 < np.mean(missed) < 0.15


def test_shafts_have_real_spacing_and_the_onset_zone_is_a_cluster():
    implant = implant_of(100, 0, 1)
    onset = make_zones(np.random.default_rng(1), implant, "soz", 12).onset
    same = np.diff(implant.shaft) == 0
    steps = np.linalg.norm(np.diff(implant.mm, axis=0), axis=1)[same]
    np.testing.assert_allclose(steps, SEEG_SPACING_MM, atol=0.01)
    assert np.bincount(implant.shaft)[:-1].min() >= 6
    assert np.bincount(implant.shaft).max() <= 16
    spread = [np.linalg.norm(m - m.mean(0), axis=1).mean() for m in (implant.mm[onset], implant.mm)]
    assert spread[0] < 0.6 * spread[1]


@pytest.mark.parametrize("modality", ["SEEG", "ECOG"])
@pytest.mark.parametrize("seed", range(5))
def test_electrodes_lie_on_the_side_that_they_are_named_for(modality, seed):
    implant = implant_of(150, 0, seed, modality)
    sides = np.array([-1 if name[0] == "L" else 1 for name in implant.names])
    assert set(sides) <= {-1, 1}
    # A tip near the midline may cross it by a few millimetres, as real ones do.
    assert np.all(sides * implant.mm[:, 0] > -8)
    assert len(set(implant.names)) == len(implant.names)


def test_depth_electrodes_end_where_their_letters_say():
    implant = implant_of(150, 0, 3)
    targets = {t.letters: np.array(t.target) for t in DEPTHS}
    for name, mm in zip(implant.names, implant.mm, strict=True):
        if name[1:-1] in targets and name.endswith("1") and name[-2].isalpha():
            assert np.linalg.norm(np.abs(mm) - np.abs(targets[name[1:-1]])) < 15


def test_more_electrodes_than_targets_still_have_names_of_their_own():
    implant = implant_of(700, 0, 0)
    assert len(set(implant.names)) == 700


def test_a_seizure_adds_fast_activity_where_it_starts():
    """What recorded onset contacts do, and what an earlier simulation got wrong."""
    rises = {True: [], False: []}
    for patient in make_patients(SHAPES["paper"][1], 1, 0)[:6]:
        run = replace(patient.runs[0], fs=400.0)
        signal = patient.signal(run)
        rise = energy_ratio_rise(signal, run.fs, run.onset_s - run.lead_s)
        for onset in rises:
            rises[onset] += [*rise[patient.implant.good & (patient.zones.onset == onset)]]
    assert np.median(rises[True]) > 1.3
    assert np.median(rises[True]) > 1.3 * np.median(rises[False])


def energy_ratio_rise(x, fs, onset_s):
    def ratio(start, stop):
        piece = x[:, round((onset_s + start) * fs) : round((onset_s + stop) * fs)]
        f, power = scipy.signal.welch(piece, fs, nperseg=round(fs))
        return power[:, (f > 12.4) & (f < 97)].sum(1) / power[:, (f > 3.5) & (f < 12.4)].sum(1)

    return ratio(2, 7) / ratio(-25, -2)


def test_a_repeated_run_is_the_same_recording_twice():
    patient = make_patients(SHAPES["tiny"][3], 3, 0)[0]
    again = next(run for run in patient.runs if run.oddity == "repeated")
    first = patient.runs[0]
    assert (again.number, again.repeats) == (len(patient.runs), 1)
    assert again.lacks == first.lacks
    np.testing.assert_array_equal(patient.signal(again), patient.signal(first))


def test_every_odd_run_is_an_audit_row_with_its_reason(tiny):
    summary = cohort_summary([read_bids(tiny / center, "simulated") for center in CENTERS])
    whys = {
        row["where"].split()[0]: row["why"]
        for row in summary["excluded"]
        if row["what"] == "seizure"
    }
    assert "expected one event that means a seizure onset" in whys["sub-E01"]
    assert "expected at least 5 baseline windows" in whys["sub-S01"]
    assert "expected at least 5 windows after onset" in whys["sub-N01"]
    assert summary["total"]["seizures_excluded"] == 3


def test_methods_cannot_see_the_truth_through_the_reader(tiny):
    read = str(read_bids(tiny / "north", "simulated").patients)
    assert "true_ez" not in read
    assert "derivatives" not in read


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(DataError, match=r"expected .* to be absent or an empty folder"):
        simulate(tmp_path, "tiny")
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]


def test_a_killed_simulation_leaves_nothing_that_looks_finished(tmp_path):
    code = (
        "import os, sys\nfrom epilens.simulation import simulate\n"
        "simulate(sys.argv[1], 'tiny', jobs=1, tick=lambda note, steps: os.kill(os.getpid(), 9))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert done.returncode == -9
    assert not (tmp_path / "out").exists()
    # The remains do not stop the next attempt.
    assert len(simulate(tmp_path / "out", "tiny", jobs=2)) == 4
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_sharing_out_keeps_the_total_and_the_limits():
    counts = share_out(20, np.array([1.0, 5.0, 1.0]), np.full(3, 2), np.array([9, 9, 9]))
    assert counts.sum() == 20
    assert counts.min() >= 2
    assert counts.max() <= 9
    with pytest.raises(DataError, match="cannot be shared out"):
        share_out(40, np.ones(3), np.full(3, 2), np.full(3, 9))


def test_a_file_in_the_way_of_the_folder_is_reported_as_one(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(DataError, match=r"notes, found a file there\. Give another path"):
        simulate(tmp_path / "notes" / "cohort", "tiny")
