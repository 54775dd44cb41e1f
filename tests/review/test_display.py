"""Montages, filters and decimation, against the same by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from recordings_to_review import FS, NAMES, write_edf

from epilens.core.errors import DataError
from epilens.data.discovery import bare_file
from epilens.review.display import DisplaySettings, decimate, montage_rows, render_screen
from epilens.review.recording_cache import Overview
from epilens.review.signals import open_file


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = tmp_path_factory.mktemp("display") / "x.edf"
    return open_file(bare_file(write_edf(path, seconds=90)))


@pytest.fixture(scope="module")
def whole(opened):
    return opened.read(0, opened.samples).astype(np.float64)


def shown(opened, look, start_s=20.0, seconds=2.0, columns=1000, bad=()):
    rows = montage_rows(opened, look.montage, bad)
    return rows, render_screen(opened, rows, look, (start_s, seconds), columns)


def test_as_recorded_without_filters_is_the_signal(opened, whole):
    rows, made = shown(opened, DisplaySettings())
    assert rows.names == NAMES
    assert (made.start_s, made.seconds, made.per_column) == (20.0, 2.0, 1)
    np.testing.assert_array_equal(made.values, whole[:, 10_000:11_000].astype(np.float32))


def test_bipolar_rows_are_differences_of_neighbours_on_a_shaft(opened, whole):
    rows, made = shown(opened, DisplaySettings("bipolar"))
    assert len(rows.names) == 15
    assert rows.names[:2] == ("LA1-LA2", "LA2-LA3")
    assert "LA6-LB1" not in rows.names
    i, j = NAMES.index("LB3"), NAMES.index("LB4")
    expected = whole[i, 10_000:11_000] - whole[j, 10_000:11_000]
    np.testing.assert_allclose(made.values[rows.names.index("LB3-LB4")], expected, atol=1e-3)


def test_the_average_leaves_bad_contacts_out(opened, whole):
    _, made = shown(opened, DisplaySettings("average"), bad={"LA1", "LA2", "LA3"})
    part = whole[:, 10_000:11_000]
    np.testing.assert_allclose(made.values, part - part[3:].mean(axis=0), atol=1e-3)
    with pytest.raises(DataError, match="expected two or more contacts that are not bad, found 1"):
        montage_rows(opened, "average", NAMES[1:])
    with pytest.raises(DataError, match="expected one of recorded, bipolar, average"):
        montage_rows(opened, "laplace")


def power_at(x, hz):
    f, p = scipy.signal.welch(x, FS, nperseg=2500)
    return p[:, np.argmin(np.abs(f - hz))]


@pytest.mark.parametrize(
    ("look", "gone_hz", "left_hz"),
    [
        (DisplaySettings(high_hz=10.0), 2.0, 60.0),
        (DisplaySettings(low_hz=30.0), 120.0, 10.0),
        (DisplaySettings(notch_hz=50.0), 50.0, 80.0),
        (DisplaySettings(notch_hz=50.0), 100.0, 80.0),
    ],
)
def test_a_filter_takes_what_it_should_and_leaves_the_rest(opened, whole, look, gone_hz, left_hz):
    _, made = shown(opened, look, 20, 10, 5000)
    before = whole[:, 10_000:15_000]
    assert (power_at(made.values, gone_hz) < 0.05 * power_at(before, gone_hz)).all()
    ratio = power_at(made.values, left_hz) / power_at(before, left_hz)
    assert ((ratio > 0.8) & (ratio < 1.2)).all()


def test_a_filter_moves_nothing_in_time(opened, whole):
    """A low-passed screen correlates best with the signal at no shift."""
    _, made = shown(opened, DisplaySettings(low_hz=20.0), 62, 4, 2000)
    part = whole[0, 31_000:33_000]
    shifts = range(-10, 11)
    fits = [
        np.corrcoef(made.values[0, 50:-50], part[50 + s : -50 + s or None])[0, 1] for s in shifts
    ]
    assert list(shifts)[int(np.argmax(fits))] == 0


@pytest.mark.parametrize("high_hz", [0.1, 0.5, 1.0])
def test_a_high_pass_is_the_usual_one_forwards_and_backwards(opened, whole, high_hz):
    """Against SciPy's own on the whole recording; the means of blocks are good to a few percent."""
    _, made = shown(opened, DisplaySettings(high_hz=high_hz), 40, 10, 5000)
    sections = scipy.signal.butter(2, high_hz, "high", fs=FS, output="sos")
    usual = scipy.signal.sosfiltfilt(sections, whole, axis=1)[:, 20_000:25_000]
    error = np.abs(made.values - usual).max(axis=1) / usual.std(axis=1)
    assert error.max() < (1.5 if high_hz < 0.5 else 0.15)  # 0.1 Hz settles in more than the margin


def test_the_margins_make_screens_agree_where_they_overlap(opened):
    look = DisplaySettings("recorded", 0.5, 70.0, 50.0)
    _, first = shown(opened, look, 20, 10, 5000)
    _, second = shown(opened, look, 25, 10, 5000)
    np.testing.assert_allclose(first.values[:, 2500:], second.values[:, :2500], atol=1.0)


def test_a_screen_at_the_edges_of_the_file(opened, whole):
    _, made = shown(opened, DisplaySettings(high_hz=1.0), 0, 5, 2500)
    assert np.abs(made.values).max() < 2 * np.abs(whole).max()
    _, last = shown(opened, DisplaySettings(), 88, 10, 5000)
    assert last.seconds == 2.0
    _, beyond = shown(opened, DisplaySettings(), 90, 10, 5000)
    assert beyond.values.shape == (len(NAMES), 1)


def test_a_column_keeps_its_least_and_greatest_sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 100_000)).astype(np.float32)
    x[1, 54_321] = 1000
    x[2, 7] = -1000
    made = decimate(x, 500)
    assert made.shape == (3, 1000)
    assert made.max() == 1000
    assert made.min() == -1000
    # By hand: 200 samples a column; a bucket's edges may differ by one sample.
    for column in range(1, 499):
        inner = x[0, column * 200 + 2 : column * 200 + 198]
        pair = made[0, 2 * column : 2 * column + 2]
        assert pair.min() <= inner.min()
        assert pair.max() >= inner.max()
        around = x[0, column * 200 - 2 : column * 200 + 202]
        assert np.isin(pair, around).all()


def test_few_samples_are_all_kept():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(decimate(x, 3), x)


def test_samples_that_are_not_there_are_zero(opened, monkeypatch):
    signal = opened.read(0, 1000)
    signal[0, 10:20] = np.nan
    signal[1, 5] = np.inf
    monkeypatch.setattr(type(opened), "read", lambda self, start, stop: signal[:, start:stop])
    _, made = shown(opened, DisplaySettings(high_hz=1.0), 0, 2, 1000)
    assert np.isfinite(made.values).all()


def test_the_overview_is_line_length_of_the_whole_file(opened, whole):
    overview = Overview(opened)
    assert np.isnan(overview.values()).all()
    overview.start()
    overview.wait()
    assert overview.share == pytest.approx(1.0, abs=1e-3)
    values = overview.values()
    assert values.shape == (len(NAMES), 360)
    part = whole[2, 70_000 // 2 : 70_000 // 2 + 125]
    bucket = 35_000 // 125
    assert values[2, bucket] == pytest.approx(np.abs(np.diff(part)).mean() * FS, rel=1e-4)


def test_the_overview_of_a_long_file_is_coarse_first(opened, monkeypatch):
    monkeypatch.setattr("epilens.review.recording_cache._MAX_BUCKETS", 9)
    overview = Overview(opened)
    pieces = list(overview._pieces())
    assert [bucket for bucket, _, _ in pieces[:9]] == list(range(9))
    covered = np.zeros(opened.samples, int)
    for _, start, stop in pieces:
        covered[start:stop] += 1
    assert (covered == 1).all()
