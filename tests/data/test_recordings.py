"""Signals: µV from every format, the right samples, and the quality flags."""

from __future__ import annotations

import numpy as np
import pytest
from trees import (
    FS,
    NAMES,
    ONSET_S,
    channel_rows,
    codes,
    noise,
    run_file,
    whys,
    without,
    write_tree,
)

from epilens.data.bids import read_bids
from epilens.data.channels.measures import quality_flags
from epilens.plan import Plan, QualityPlan

EDF_STEP_UV = 800 / 65535
"""One step of a 16-bit file that spans ±400 µV."""
BRAINVISION_STEP_UV = 0.1
INTERVAL = slice(round((ONSET_S - 35) * FS), round((ONSET_S + 35) * FS))


def read_one(root, plan: Plan | None = None):
    recordings = read_bids(root, plan=plan)
    [recording] = recordings
    return recording, recordings


# --- units ---


@pytest.mark.parametrize(("unit", "per_uv"), [("uV", 1.0), ("mV", 1e-3), ("V", 1e-6)])
@pytest.mark.parametrize("with_column", [True, False])
def test_an_edf_that_states_its_unit_is_read_in_microvolts(tmp_path, unit, per_uv, with_column):
    uv, rows = noise(), channel_rows()
    rows = rows if with_column else without(rows, "units")
    # Eight characters hold the physical range of ±400 µV in volts: 0.0004.
    write_tree(tmp_path, data=uv * per_uv, unit=unit, limit=400 * per_uv, channels=rows)
    recording, recordings = read_one(tmp_path)
    np.testing.assert_allclose(recording.signal, uv[:, INTERVAL], atol=EDF_STEP_UV)
    assert recordings.audit.empty


@pytest.mark.parametrize(
    ("column", "per_uv"), [("µV", 1.0), ("μV", 1.0), ("uV", 1.0), ("mV", 1e-3), ("V", 1e-6)]
)
def test_an_edf_without_units_takes_them_from_channels(tmp_path, column, per_uv):
    uv = noise()
    rows = channel_rows(units=column)
    write_tree(tmp_path, data=uv * per_uv, unit="", limit=400 * per_uv, channels=rows)
    recording, recordings = read_one(tmp_path)
    np.testing.assert_allclose(recording.signal, uv[:, INTERVAL], atol=EDF_STEP_UV)
    assert whys(recordings, what="run") == [
        "the file states no unit for 6 channels; those of channels.tsv are used"
    ]


@pytest.mark.parametrize("column", ["n/a", "furlong"])
def test_an_edf_without_any_unit_is_taken_as_its_reader_gives_it_and_noted(tmp_path, column):
    uv = noise()
    rows = channel_rows(units=column)
    write_tree(tmp_path, data=uv * 1e-6, unit="", limit=400e-6, channels=rows)
    recording, recordings = read_one(tmp_path)
    np.testing.assert_allclose(recording.signal, uv[:, INTERVAL], atol=EDF_STEP_UV)
    assert whys(recordings, what="run") == [
        "no unit is stated for 6 channels; values are used as the reader gives them"
    ]


def test_the_unit_of_the_file_wins_over_the_one_of_channels(tmp_path):
    uv = noise()
    write_tree(tmp_path, data=uv, channels=channel_rows(units="V"))
    recording, _ = read_one(tmp_path)
    np.testing.assert_allclose(recording.signal, uv[:, INTERVAL], atol=EDF_STEP_UV)


# --- formats ---


@pytest.mark.parametrize(
    ("kind", "number", "step_uv"),
    [
        ("brainvision", "binary_int16", BRAINVISION_STEP_UV),
        ("brainvision", "binary_float32", 1e-4),
        ("fif", "", 1e-4),
        ("bdf", "", 1e-3),
    ],
)
def test_a_format_gives_the_values_that_were_written(tmp_path, kind, number, step_uv):
    uv = noise()
    write_tree(tmp_path, data=uv, kind=kind, number=number)
    recording, recordings = read_one(tmp_path)
    assert recording.channels == NAMES
    np.testing.assert_allclose(recording.signal, uv[:, INTERVAL], atol=step_uv)
    assert whys(recordings, effect="excluded", what="seizure") == []


@pytest.mark.parametrize("kind", ["edf", "bdf", "brainvision", "fif"])
def test_signals_are_single_precision_and_channel_by_time(tmp_path, kind):
    recording, _ = read_one(write_tree(tmp_path, kind=kind))
    assert recording.signal.dtype == np.float32
    assert recording.signal.shape == (6, 70 * FS)
    assert recording.missing is None


@pytest.mark.parametrize("kind", ["edf", "bdf", "brainvision", "fif"])
@pytest.mark.parametrize("fs", [200, 256])
def test_a_step_at_the_onset_is_at_zero_seconds(tmp_path, kind, fs):
    uv = noise(fs=fs)
    uv[0] = uv[0].clip(-90, 90) + np.where(np.arange(uv.shape[1]) < ONSET_S * fs, -100.0, 100.0)
    recording, _ = read_one(write_tree(tmp_path, kind=kind, data=uv, fs=fs))
    first = int(np.argmax(recording.signal[0] > 0))
    assert recording.start_s + first / recording.fs == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["brainvision", "fif"])
def test_a_fractional_rate_is_kept(tmp_path, kind):
    fs = 249.85
    uv = noise(fs=fs)
    recording, _ = read_one(write_tree(tmp_path, kind=kind, data=uv, fs=fs))
    assert recording.fs == pytest.approx(fs, rel=1e-4)
    first = round((recording.start_s + ONSET_S) * recording.fs)
    wanted = uv[:, first : first + recording.signal.shape[1]]
    np.testing.assert_allclose(recording.signal, wanted, atol=BRAINVISION_STEP_UV)


def test_reading_in_blocks_gives_what_reading_at_once_gives(tmp_path):
    """More channels than fit into one block of 8 million numbers with so many samples."""
    n = 130
    names = tuple(f"A{i}" for i in range(n))
    uv = noise(n, fs=1000)
    write_tree(tmp_path, kind="brainvision", data=uv, names=names, fs=1000)
    recording, _ = read_one(tmp_path)
    wanted = uv[:, 5000:75000]
    np.testing.assert_allclose(recording.signal, wanted, atol=BRAINVISION_STEP_UV)


# --- missing samples ---


@pytest.mark.parametrize(
    ("kind", "number", "value"),
    [
        ("fif", "", np.nan),
        ("fif", "", -np.inf),
        ("brainvision", "binary_float32", np.nan),
    ],
)
def test_samples_that_are_not_finite_are_missing(tmp_path, kind, number, value):
    uv = noise()
    uv[2, 6000:6100] = value
    recording, recordings = read_one(write_tree(tmp_path, kind=kind, number=number, data=uv))
    assert recording.missing is not None
    expected = ~np.isfinite(uv[:, INTERVAL])
    np.testing.assert_array_equal(recording.missing, expected)
    assert (recording.signal[expected] == 0).all()
    assert codes(recordings, channel="A3") == ["channel-quality"]
    assert set(recordings.audit["effect"]) == {"noted"}


def test_samples_that_are_not_finite_outside_the_interval_do_not_matter(tmp_path):
    uv = noise()
    uv[2, :10] = np.nan
    recording, recordings = read_one(write_tree(tmp_path, kind="fif", data=uv))
    assert recording.missing is None
    assert recordings.audit.empty


# --- quality flags ---


def spoilt(flag: str) -> np.ndarray:
    """Noise whose third channel deserves one flag."""
    uv = noise()
    if flag == "flat":
        uv[2] = 7.0
    if flag == "clipped":
        uv[2] = np.clip(uv[2], -15, 15)
    if flag == "out-of-scale":
        uv[2] *= 1 / 500
    if flag == "non-finite":
        uv[2, 8000:8010] = np.nan
    return uv


FLAGS = ["flat", "clipped", "out-of-scale", "non-finite"]
BROKEN = {"flat": "flat before onset", "out-of-scale": "almost flat before onset"}
"""Flags of a signal that cannot be trusted at all, and what is said of it."""
SUSPICIOUS = [flag for flag in FLAGS if flag not in BROKEN]


@pytest.mark.parametrize("flag", BROKEN)
def test_a_broken_channel_is_excluded_whatever_the_plan_drops(tmp_path, flag):
    recording, recordings = read_one(write_tree(tmp_path, kind="fif", data=spoilt(flag)))
    assert recording.channels == ("A1", "A2", "A4", "B1", "B2")
    rows = recordings.audit[["effect", "channel", "code"]].to_numpy().tolist()
    assert rows == [["excluded", "A3", "channel-quality"]]
    assert recordings.rows[0].found == BROKEN[flag]


@pytest.mark.parametrize("flag", SUSPICIOUS)
def test_a_suspicious_channel_is_noted_and_kept(tmp_path, flag):
    recording, recordings = read_one(write_tree(tmp_path, kind="fif", data=spoilt(flag)))
    assert recording.channels == NAMES
    rows = recordings.audit[["effect", "channel", "why"]].to_numpy().tolist()
    assert rows == [["noted", "A3", f"signal is {flag}"]]


@pytest.mark.parametrize("flag", SUSPICIOUS)
def test_a_suspicious_channel_is_dropped_when_the_plan_says_so(tmp_path, flag):
    plan = Plan().override(quality={"drop": [flag]})
    recording, recordings = read_one(write_tree(tmp_path, kind="fif", data=spoilt(flag)), plan)
    assert recording.channels == ("A1", "A2", "A4", "B1", "B2")
    assert recording.is_ez == (True, True, False, False, False)
    assert recording.signal.shape[0] == 5
    rows = recordings.audit[["effect", "channel", "why"]].to_numpy().tolist()
    assert rows == [["excluded", "A3", f"signal is {flag}"]]


@pytest.mark.parametrize("flag", SUSPICIOUS)
def test_a_plan_that_drops_another_flag_keeps_the_channel(tmp_path, flag):
    others = [other for other in FLAGS if other != flag]
    plan = Plan().override(quality={"drop": others})
    recording, _ = read_one(write_tree(tmp_path, kind="fif", data=spoilt(flag)), plan)
    assert recording.channels == NAMES


def test_a_run_that_loses_every_channel_is_an_audit_row(tmp_path):
    write_tree(tmp_path, runs=["01", "02"])
    write_tree(tmp_path, runs=["02"], data=np.zeros((6, 16000)))
    recordings = read_bids(tmp_path, plan=Plan().override(quality={"drop": ["flat"]}))
    assert [recording.run[-2:] for recording in recordings] == ["01"]
    assert codes(recordings, what="seizure")[0] == "channels-none"


def flags_of(uv: np.ndarray, **limits: float) -> list[tuple[str, ...]]:
    missing = ~np.isfinite(uv)
    clean = np.where(missing, 0, uv).astype(np.float32)
    return quality_flags(clean, missing, QualityPlan(**limits))


def test_clean_noise_has_no_flags():
    assert flags_of(noise()) == [()] * 6


def test_a_constant_offset_is_no_scale():
    assert flags_of(noise() + 1e4) == [()] * 6


def test_a_channel_a_thousand_times_larger_is_out_of_scale():
    uv = noise()
    uv[0] *= 1000
    assert flags_of(uv)[0] == ("out-of-scale",)


def test_a_channel_ten_times_larger_is_not_out_of_scale():
    uv = noise()
    uv[0] *= 10
    assert flags_of(uv) == [()] * 6


def test_the_scale_limit_is_the_plans():
    uv = noise()
    uv[0] *= 10
    assert flags_of(uv, scale_ratio=5)[0] == ("out-of-scale",)


def test_two_channels_cannot_tell_which_is_out_of_scale():
    uv = noise(2)
    uv[0] *= 1e6
    assert flags_of(uv) == [(), ()]


def test_one_rail_is_enough_to_be_clipped():
    uv = noise()
    uv[1] = np.minimum(uv[1], 15)
    assert flags_of(uv)[1] == ("clipped",)


def test_a_single_touch_of_the_maximum_is_not_clipping():
    uv = noise()
    uv[1, 100:103] = 380
    assert flags_of(uv)[1] == ()


def test_a_flat_channel_is_not_also_clipped():
    uv = noise()
    uv[1] = -390
    assert flags_of(uv)[1] == ("flat",)


def test_a_channel_that_is_missing_altogether_is_flat_and_not_finite():
    uv = noise()
    uv[1] = np.nan
    assert set(flags_of(uv)[1]) == {"flat", "non-finite"}


def test_missing_samples_of_a_channel_with_an_offset_are_not_clipping():
    """The zeros that stand for missing samples are not at a rail of the amplifier."""
    uv = noise() + 1000.0
    uv[1, 4000:5000] = np.nan
    assert flags_of(uv)[1] == ("non-finite",)


def test_a_constant_channel_with_missing_samples_is_still_flat():
    uv = noise()
    uv[1] = 50.0
    uv[1, 4000:4010] = np.nan
    assert set(flags_of(uv)[1]) == {"flat", "non-finite"}


def test_flags_follow_the_channels_in_any_order():
    uv = spoilt("clipped")
    uv[4] = 0
    order = np.array([5, 2, 0, 4, 1, 3])
    assert flags_of(uv[order]) == [flags_of(uv)[i] for i in order]


# --- the run that was read ---


def test_a_recording_knows_its_file(tmp_path):
    recording, _ = read_one(write_tree(tmp_path))
    assert recording.source == run_file(tmp_path, "ieeg.edf")


def test_bad_channels_are_not_read(tmp_path):
    rows = channel_rows(status={"A1": "bad"})
    recording, _ = read_one(write_tree(tmp_path, channels=rows))
    assert recording.channels == NAMES[1:]
