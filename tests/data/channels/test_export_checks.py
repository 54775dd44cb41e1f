"""Copied channels, filters and coarse steps of an export are noted; plain recordings are not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from epilens.data.channels.export_checks import export_rows
from epilens.localization.data_cautions import data_cautions
from epilens.testing import make_recording

FS = 512.0


def noted(change=None):
    made = make_recording(channels=6, fs=FS)
    signal = made.signal.copy() if change is None else change(made.signal.copy())
    recording = make_recording(channels=6, fs=FS, signal=signal.astype(np.float32))
    rows = export_rows(recording)
    return [row.why for row in rows if row.code == "signal-implausible"]


def copied(x):
    x[4] = x[1]
    return x


def filtered(hz, kind):
    sos = butter(6, hz, kind, fs=FS, output="sos")
    return lambda x: sosfiltfilt(sos, x, axis=1)


def low_pass(hz):
    return filtered(hz, "low")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (copied, "A2, A5 show the same signal"),
        (filtered(10, "high"), "contains almost nothing slow"),
        (low_pass(30), "contains almost nothing above"),
        (low_pass(70), "contains almost nothing above"),
        (lambda x: 50 * np.round(x / 50), "different values, so small changes are lost"),
    ],
)
def test_what_an_export_did_is_noted(change, text):
    (why,) = noted(change)
    assert text in why


@pytest.mark.parametrize(
    "change", [None, lambda x: -x, lambda x: 0.1 * x, low_pass(200), filtered(1.6, "high")]
)
def test_a_plain_export_is_not_noted(change):
    assert noted(change) == []


def test_a_gain_that_changes_at_onset_is_noted():
    made = make_recording(channels=6, fs=FS)
    onset = round(-made.start_s * FS)
    x = np.random.default_rng(0).normal(size=made.signal.shape).cumsum(axis=1)
    x -= x.mean(axis=1, keepdims=True)
    x[4, onset:] = 8 * x[4, onset:]
    assert [why.partition(" at onset")[0] for why in noted(lambda _: x)] == [
        "A5 becomes 8 times as large"
    ]


def test_a_gain_that_drifts_before_onset_is_noted():
    made = make_recording(channels=6, fs=FS)
    x = np.random.default_rng(0).normal(size=made.signal.shape).cumsum(axis=1)
    x -= x.mean(axis=1, keepdims=True)
    x[4] *= np.linspace(1, 8, x.shape[1])
    assert any("A5 becomes" in why and "before onset" in why for why in noted(lambda _: x))


@pytest.mark.parametrize("kind", ["noise", "pulses"])
def test_short_bursts_after_onset_are_noted(kind):
    def loose(x):
        onset = round(-make_recording(channels=6, fs=FS).start_s * FS)
        size = 10 * x[4].std()
        for start in range(onset + 512, onset + 12 * 512, 1024):
            burst = np.random.default_rng(start).normal(size=154)
            if kind == "pulses":
                burst = np.tile([3.0, -3.0, 0, 0, 0, 0, 0, 0, 0, 0], 16)[:154]
            x[4, start : start + 154] += size * burst
        return x

    assert [why for why in noted(loose) if "short bursts of noise or pulses" in why]
    assert not [why for why in noted() if "bursts" in why]


def test_constant_contacts_are_no_copies():
    assert noted(lambda x: np.vstack([x[:4], 0 * x[4:]])) == []


@pytest.mark.parametrize(
    ("channels", "text"),
    [
        (["A1", "A2", "A1-A2", "B1"], "3 channels are contacts and 1 are differences of two"),
        (["A1", "A2", "A3"], "All 3 contacts are of electrode A"),
        (["A1", "A2", "B1"], ""),
    ],
)
def test_doubts_about_the_kind_of_channels(channels, text):
    cautions = data_cautions((), channels, ["run-01"], np.ones((1, len(channels)), bool))
    assert len(cautions) == bool(text)
    assert not cautions or cautions[0].startswith(text)
