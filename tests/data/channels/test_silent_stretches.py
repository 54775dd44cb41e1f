"""Stretches in which all contacts are constant are reported; one contact's are not."""

from __future__ import annotations

from epilens.data.channels.export_checks import export_rows
from epilens.testing import make_recording

FS = 256.0


def with_constant(contacts, start_s, stop_s):
    made = make_recording(fs=FS)
    signal = made.signal.copy()
    start, stop = (round((at - made.start_s) * FS) for at in (start_s, stop_s))
    signal[contacts, start:stop] = 7.0
    return make_recording(fs=FS, signal=signal)


def silent_rows(recording):
    return [row for row in export_rows(recording) if row.code == "signal-interrupted"]


def test_a_stretch_of_all_contacts_is_named():
    (row,) = silent_rows(with_constant(slice(None), -8, -3))
    assert (row.code, row.effect) == ("signal-interrupted", "noted")
    assert "all contacts are constant from -8.0 to -3.0 s from onset" in row.why


def test_contacts_that_still_record_make_it_no_interruption():
    assert not silent_rows(with_constant(slice(1, None), -8, -3))
    assert not silent_rows(with_constant(slice(None), -8, -7.9))
