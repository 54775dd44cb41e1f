"""Onset candidates: constructed signals whose onset and order are known."""

from __future__ import annotations

import mne
import numpy as np
import pytest

from epilens import propose_onsets
from epilens.core.errors import DataError
from epilens.data.electrodes.positions import Positions
from epilens.data.onsets.changes import hinge
from epilens.data.onsets.onset import Onset
from epilens.data.recording import Recording

FS = 256.0
NAMES = tuple(f"{shaft}{n}" for shaft in "ABC" for n in range(1, 9))


def background(seconds: float = 120.0, contacts: int = 24, seed: int = 0, fs: float = FS):
    """Stationary noise, mostly slow, in µV; its level wanders by some percent as that of brains."""
    rng = np.random.default_rng(seed)
    n = round(seconds * fs)
    f = np.fft.rfftfreq(n, 1 / fs)
    spectrum = rng.normal(size=(contacts, len(f))) + 1j * rng.normal(size=(contacts, len(f)))
    x = np.fft.irfft(spectrum / (f + 1.0), n)
    return 50 * x / x.std(axis=1, keepdims=True)


def seizure(x, begins_s: dict[int, float], fs: float = FS, lasts_s: float = 40.0):
    """Fast activity in some contacts, each from its own second on."""
    t, x = np.arange(x.shape[1]) / fs, x.copy()
    for contact, at_s in begins_s.items():
        on = np.clip((t - at_s) / 2, 0, 1) * (t < at_s + lasts_s)
        x[contact] += 80 * on * np.sin(2 * np.pi * (18 + contact % 5) * t)
    return x


def recording(x, names=None, fs: float = FS) -> Recording:
    names = tuple(names or NAMES[: len(x)])
    return Recording(
        patient="sub-01",
        center="",
        run="run-01",
        signal=np.asarray(x, np.float32),
        fs=fs,
        channels=names,
        start_s=0.0,
        onset=Onset.given(0.0),
        is_ez=None,
        positions=Positions(),
        modality="SEEG",
        mains_hz=None,
        source=None,
    )


FOCAL = {3: 60.0, 4: 61.0, 5: 62.5, 11: 64.0}


@pytest.fixture(scope="module")
def focal():
    return seizure(background(), FOCAL)


def test_the_onset_and_the_order_of_contacts_are_found(focal):
    (found,) = propose_onsets(recording(focal))
    assert found.onset_s == pytest.approx(60.0, abs=1.5)
    assert found.sure > 0.5
    assert found.contacts[:3] == ("A4", "A5", "A6")


def test_stationary_noise_has_no_candidate():
    assert all(propose_onsets(recording(background(seed=s))) == () for s in range(5))


def test_a_recording_that_starts_later_in_its_file_has_the_files_seconds(focal):
    given = recording(focal)
    later = Recording(**(vars(given) | {"onset": Onset.given(130.0), "start_s": -30.0}))
    (found,) = propose_onsets(later)
    assert found.onset_s == pytest.approx(100.0 + 60.0, abs=1.5)


@pytest.mark.parametrize("gain", [1e-3, 7.0, 1e4])
def test_gain_changes_nothing(focal, gain):
    assert propose_onsets(recording(gain * focal)) == propose_onsets(recording(focal))


def test_the_order_of_channels_changes_nothing(focal):
    order = np.random.default_rng(1).permutation(len(focal))
    shuffled = propose_onsets(recording(focal[order], [NAMES[i] for i in order]))
    assert shuffled == propose_onsets(recording(focal))


def test_an_offset_changes_nothing(focal):
    offsets = np.linspace(-3000, 3000, len(focal))[:, None]
    (moved,), (found,) = (
        propose_onsets(recording(focal + offsets)),
        propose_onsets(recording(focal)),
    )
    assert moved.onset_s == pytest.approx(found.onset_s, abs=0.3)
    assert moved.contacts[:3] == found.contacts[:3]


def test_silence_before_and_after_is_no_onset(focal):
    silence = np.zeros((len(focal), round(40 * FS)))
    (found,) = propose_onsets(recording(np.concatenate([silence, focal, silence], axis=1)))
    assert found.onset_s == pytest.approx(100.0, abs=1.5)


def test_two_seizures_are_two_candidates():
    x = seizure(background(300.0), FOCAL)
    x = seizure(x, {k: v + 140 for k, v in FOCAL.items()})
    first, second = propose_onsets(recording(x))
    assert first.onset_s == pytest.approx(60.0, abs=1.5)
    assert second.onset_s == pytest.approx(200.0, abs=1.5)


def test_an_artefact_of_one_contact_is_no_candidate():
    x = background()
    x[7, round(60 * FS) : round(80 * FS)] += 2000 * np.random.default_rng(0).normal(
        size=round(20 * FS)
    )
    assert propose_onsets(recording(x)) == ()


@pytest.mark.parametrize("seed", [0, 1])
def test_movement_of_the_whole_array_is_not_sure(seed):
    x, rng = background(seed=seed), np.random.default_rng(seed)
    part = slice(round(60 * FS), round(85 * FS))
    x[:, part] *= 4
    x[:, part] += 300 * rng.normal(size=(1, round(25 * FS)))
    assert all(found.sure < 0.5 for found in propose_onsets(recording(x)))


@pytest.mark.parametrize("fs", [128.0, 250.0, 999.41, 2048.0])
def test_any_rate_will_do(fs):
    x = seizure(background(fs=fs), FOCAL, fs)
    (found,) = propose_onsets(recording(x, fs=fs))
    assert found.onset_s == pytest.approx(60.0, abs=1.5)


def test_few_and_many_contacts_will_do():
    names = [f"X{n}" for n in range(1, 251)]
    for contacts in (12, 250):
        x = seizure(background(contacts=contacts, fs=128.0), FOCAL, 128.0)
        (found,) = propose_onsets(recording(x, names[:contacts], 128.0))
        assert found.onset_s == pytest.approx(60.0, abs=2)


def test_pieces_do_not_change_what_is_found(focal, monkeypatch):
    whole = propose_onsets(recording(focal))
    monkeypatch.setattr("epilens.data.chunked_reader._MOST_SAMPLES", 24 * 64 * 13)
    assert propose_onsets(recording(focal)) == whole


def test_sections_meet_without_loss(monkeypatch):
    """A seizure that lies where two sections meet is found once."""
    monkeypatch.setattr("epilens.data.onsets.finder._SECTION_S", 150.0)
    monkeypatch.setattr("epilens.data.chunked_reader._MOST_SAMPLES", 24 * 64 * 40)
    for at_s in (110.0, 145.0, 160.0, 290.0):
        x = seizure(background(500.0), {k: v - 60 + at_s for k, v in FOCAL.items()})
        (found,) = propose_onsets(recording(x))
        assert found.onset_s == pytest.approx(at_s, abs=1.5)


def test_an_open_raw_is_as_good(focal):
    info = mne.create_info([*NAMES, "ECG"], FS, ["seeg"] * 24 + ["ecg"])
    raw = mne.io.RawArray(np.vstack([focal, focal[:1]]) * 1e-6, info, verbose="ERROR")
    assert propose_onsets(raw)[0].contacts[:2] == ("A4", "A5")


def test_what_is_excluded_does_not_count(focal):
    (found,) = propose_onsets(recording(focal), exclude=["a4"])
    assert "A4" not in found.contacts


def test_every_run_of_a_simulated_center_is_read(tiny):
    runs = sorted((tiny / "east").glob("sub-*/**/*_ieeg.vhdr"))
    found = [propose_onsets(run) for run in runs]
    assert sum(map(len, found)) >= len(runs) / 2


def test_samples_that_are_missing_are_no_change():
    x = background()
    x[:, round(50 * FS) : round(55 * FS)] = np.nan
    assert propose_onsets(recording(x)) == ()


def test_too_short_a_recording_is_reported():
    with pytest.raises(DataError, match=r"at least 12 s of signal, found 1\.55 s"):
        propose_onsets(recording(background(1.55)))


def test_a_folder_is_no_recording(tmp_path):
    with pytest.raises(DataError, match="found a folder"):
        propose_onsets(tmp_path)


def test_nothing_at_the_path_is_reported(tmp_path):
    with pytest.raises(DataError, match="found nothing"):
        propose_onsets(tmp_path / "no.edf")


def test_another_object_is_refused():
    with pytest.raises(DataError, match="found int"):
        propose_onsets(3)  # ty: ignore


def test_too_slow_a_recording_is_reported():
    with pytest.raises(DataError, match="at least 60 samples per second, found 50"):
        propose_onsets(recording(background(fs=50.0), fs=50.0))


def test_the_corner_of_a_ramp_is_found():
    u = np.maximum(np.arange(80) - 40, 0) * 0.5
    assert hinge(u, 48, 0.25) == 40
