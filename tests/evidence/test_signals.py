"""Signals: the interval at its native rate, as SciPy would filter it; stores beside cubes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
import xarray as xr

from epilens.core.errors import CubeError
from epilens.evidence.cube import blind
from epilens.evidence.describe import describe
from epilens.evidence.files import open_patient, save
from epilens.evidence.signals import each_signal, make_signals, signal_of, without_signals
from epilens.evidence.traces import make_traces
from epilens.evidence.zip_store import save_store
from epilens.plan import Plan
from epilens.testing import make_patient, make_recording


@pytest.mark.parametrize("fs", [250.0, 512.0, 999.41])
def test_a_signal_is_what_scipy_would_make_of_the_recording(fs):
    r = make_recording(fs=fs, start_s=-40.0, stop_s=40.0)
    signals = make_signals([r], Plan())
    start_s = float(signals["signal_start_s"][0])
    ours = signal_of(signals, 0)
    assert 0 <= start_s + 30 < 1 / fs
    assert abs(ours.shape[1] - 60 * fs) <= 2
    high = 150 if 0.9 * fs / 2 > 150 else None
    band, kind = (1, "highpass") if high is None else ((1, high), "bandpass")
    sos = scipy.signal.butter(4, band, kind, fs=fs, output="sos")
    whole = scipy.signal.sosfiltfilt(sos, r.signal, padlen=round(5 * fs))
    first = round((start_s - r.start_s) * fs)
    wanted = whole[:, first : first + ours.shape[1]]
    np.testing.assert_allclose(ours, wanted, atol=0.02 * wanted.std())


def test_seizures_keep_their_own_rate_and_length():
    parts = [
        make_recording(run="run-01", fs=250.0),
        make_recording(run="run-2", fs=999.41, stop_s=12.0),
    ]
    signals = make_signals(parts, Plan())
    assert signals["signal_rate_hz"].values.tolist() == [250.0, 999.41]
    assert signal_of(signals, 0).shape == (6, 15000)
    assert abs(signal_of(signals, 1).shape[1] - 42 * 999.41) <= 2


def test_channels_are_matched_by_name_and_what_is_missing_is_marked():
    parts = [
        make_recording(run="run-01", channels=["A1", "A2"], is_ez=(True, False)),
        make_recording(run="run-2", channels=["A3", "A1"], is_ez=(False, True)),
    ]
    signals = make_signals(parts, Plan())
    names = signals["channel"].values.tolist()
    there = signals["signal_valid"].values
    assert [[n for n, t in zip(names, row, strict=True) if t] for row in there] == [
        ["A1", "A2"],
        ["A1", "A3"],
    ]
    assert not signal_of(signals, 1)[names.index("A2")].any()
    alone = make_signals(parts[1:], Plan())
    np.testing.assert_array_equal(
        signal_of(signals.sel(channel=["A3"]), 1), signal_of(alone.sel(channel=["A3"]), 0)
    )


def test_each_signal_gives_the_asked_interval_of_seizures_that_have_channels():
    patient = make_patient(seizures=2, fs=250.0)
    valid = patient["valid"].copy()
    valid[0] = False
    partly = patient.assign(valid=valid, x=patient["x"].where(valid, 0))
    ((x, fs, start_s, there, _),) = each_signal(partly, -5.0, 5.0)
    assert (x.shape, fs, start_s) == ((6, 2500), 250.0, -5.0)
    assert there.all()
    np.testing.assert_array_equal(x, signal_of(patient, 1)[:, 6250:8750])


def test_a_patient_is_its_cube_and_what_lies_next_to_it(tmp_path):
    parts = [make_recording()]
    save(describe(parts), tmp_path / "sub-01.zarr")
    save_store(make_signals(parts, Plan()), tmp_path / "signals" / "sub-01.zarr")
    patient = open_patient(tmp_path / "sub-01.zarr", "signals")
    np.testing.assert_array_equal(signal_of(patient, 0), signal_of(make_signals(parts, Plan()), 0))
    xr.testing.assert_identical(
        open_patient(tmp_path / "sub-01.zarr")["x"],
        without_signals(patient)["x"],
    )
    assert "is_ez" not in blind(patient)
    assert "center" not in blind(patient).attrs
    with pytest.raises(CubeError, match="expected the traces of a patient"):
        open_patient(tmp_path / "sub-01.zarr", "traces")


def test_a_store_of_other_channels_is_refused(tmp_path):
    save(describe([make_recording()]), tmp_path / "sub-01.zarr")
    other = make_traces([make_recording(channels=[f"B{i}" for i in range(6)])], Plan())
    save_store(other, tmp_path / "traces" / "sub-01.zarr")
    with pytest.raises(CubeError, match=r"the traces .* found those of other channels\. Write"):
        open_patient(tmp_path / "sub-01.zarr", "traces")
