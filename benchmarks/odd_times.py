"""Odd onsets, gaps, repeated seizures and short recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.odd_patient import (
    ONSET_S,
    Edit,
    OddInput,
    Seizure,
    clean_seizures,
    interrupt,
    write_all,
    write_bids,
    write_edf,
)
from benchmarks.odd_signals import Prepare, files, part

NO_ONSET = r"onset|2 of 3 seizures"
QUESTIONED = r"Check the onset of seizure"


def noted(text: str, at_s: float = ONSET_S) -> Edit:
    """With one annotation."""
    return lambda seizure: replace(seizure, notes=((at_s, text),))


def annotated(text: str) -> Prepare:
    """All recordings with one annotation."""
    return files(noted(text))


def given(*onsets: float | str) -> Prepare:
    """Recordings with onsets that the user gives."""
    return lambda folder: [*write_all(folder, {}), *(f"--onset={onset}" for onset in onsets)]


def cut_to(before_s: float, after_s: float) -> Edit:
    """A recording from so long before to so long after onset."""

    def edit(seizure: Seizure) -> Seizure:
        signal = seizure.signal[:, seizure.sample(-before_s) : seizure.sample(after_s)]
        notes = ((before_s, "EEG onset"),)
        return replace(seizure, signal=signal, onset_s=before_s, notes=notes)

    return edit


def gapped(after_s: int, marked_s: float | None, onset: Sequence[str] = ()) -> Prepare:
    """EDF+D with a gap of 8 s in the first file, whose onset counts by the clock."""

    def prepare(folder: Path) -> list[str]:
        edit = noted("EEG onset" if marked_s else "nothing", marked_s or 1.0)
        paths = write_all(folder, {0: edit})
        interrupt(Path(paths[0]), after_s, 8)
        return [*paths, *onset]

    return prepare


def backwards(folder: Path) -> list[str]:
    """A record of the first file begins before the one before it ends."""
    paths = write_all(folder, {})
    interrupt(Path(paths[0]), 10, -3)
    return paths


def again(edit: Edit) -> Prepare:
    """The first seizure a second time, exported in another way."""

    def prepare(folder: Path) -> list[str]:
        paths = write_all(folder, {})
        return [*paths, str(write_edf(folder / "again.edf", edit(clean_seizures()[0])))]

    return prepare


def at_rate(rate_hz: int) -> Edit:
    """Resampled."""

    def edit(seizure: Seizure) -> Seizure:
        from scipy.signal import resample_poly

        signal = resample_poly(seizure.signal, rate_hz, seizure.rate_hz, axis=1)
        return replace(seizure, signal=signal, rate_hz=rate_hz)

    return edit


def with_noise(seizure: Seizure) -> Seizure:
    """With a little noise of another amplifier."""
    draw = np.random.default_rng(0).normal(size=seizure.signal.shape)
    return replace(seizure, signal=seizure.signal * 1.07 + 2.0 * draw)


def early(seizure: Seizure) -> Seizure:
    """A contact whose activity quadruples 6 s before onset."""
    return part(lambda x: np.multiply(x, 4, out=x), from_s=-6)(seizure)


def stated(text: str) -> Prepare:
    """A dataset whose sidecars state a type of recording."""
    return lambda folder: [str(write_bids(folder / "bids", recording={"RecordingType": text}))]


GAPS = (
    OddInput("gap before onset, annotated by the clock", gapped(3, 44.0), "interrupted", "5"),
    OddInput("gap before onset, onset given by the clock",
             gapped(3, None, ["--onset=44", "--onset=36", "--onset=36"]), "interrupted", "5"),
    OddInput("gap before onset, onset given in recorded signal",
             gapped(3, None, ["--onset=36", "--onset=36", "--onset=36"]), "interrupted", "5"),
    OddInput("gap 10 s before onset", gapped(26, 44.0), "2 of 3 seizures|gap of 8", "5"),
    OddInput("gap 10 s after onset", gapped(46, 36.0), "2 of 3 seizures|gap of 8", "5"),
    OddInput("gap after the seizure", gapped(68, 36.0)),
    OddInput("records that overlap", backwards, "gap|interrupted|2 of 3"),
    OddInput("sidecar says discontinuous", stated("discontinuous"), "discontinuous", "5"),
    OddInput("sidecar says epoched", stated("epoched"), "epoched|continuous|seizure", "5"),
)  # fmt: skip

ONSETS = (
    OddInput("onset 12 s early", given(24, 24, 24), QUESTIONED, "6"),
    OddInput("onset 8 s early", given(28, 28, 28), QUESTIONED, "6"),
    OddInput("onset 8 s late", given(44, 44, 44), QUESTIONED, "6"),
    OddInput("onset 12 s late", given(48, 48, 48), QUESTIONED, "6"),
    OddInput("one onset of three 12 s early", given(24, 36, 36), QUESTIONED, "6"),
    OddInput("one onset of three 12 s late", given(36, 36, 48), QUESTIONED, "6"),
    OddInput("onset at 0 s", given(0, 0, 0), "onset"),
    OddInput("onset beyond the end", given(36, 36, 636), "inside the recording"),
    OddInput("negative onset", given(-36, 36, 36), "inside the recording|onset"),
    OddInput("onset in samples", given(36 * 512, 36 * 512, 36 * 512), "inside the recording"),
    OddInput("onset in milliseconds", given(36000, 36000, 36000), "inside the recording"),
    OddInput("onset with a decimal comma", given("36,0", 36, 36), "decimal point"),
    OddInput("onset as a word", given("noon", 36, 36), "expected seconds"),
    OddInput("one onset for three files", given(36), "onset"),
    OddInput("clock time from the start", given("00:00:36", "00:00:36", "00:00:36"), "", "8"),
    OddInput("clock time with a date", given(*["2026-01-05 00:00:36"] * 3), "", "8"),
    OddInput("clock time of another day", given(*["2026-01-06 00:00:36"] * 3), "clock time", "8"),
    OddInput("clock time outside the file", given("14:03:07", 36, 36), "clock time", "8"),
    OddInput("clock time that does not exist", given("25:00:00", 36, 36), "expected seconds", "8"),
    OddInput("a contact is active 6 s before onset", files(early), "precedes the given onset", "7"),
)  # fmt: skip

TEXTS = (
    *(
        OddInput(f"annotation: {text}", annotated(text), NO_ONSET, "8")
        for text in (
            *("seizure onset ruled out", "seizure onset 5 min ago", "no seizure onset"),
            *("seizure onset last night, see report", "seizure starts soon", "EEG onset unclear"),
            *("false seizure onset", "pseudo seizure onset", "seizure onset?", "onset of sleep"),
            *("test seizure onset", "possible seizure onset", "clinical onset"),
        )
    ),
    *(
        OddInput(f"annotation: {text}", annotated(text), "", "8")
        for text in ("Seizure onset", "sz onset", "SEIZURE START", "EEG Onset")
    ),
    OddInput("two onsets 1 s apart in one file",
             files(lambda s: replace(s, notes=((36.0, "EEG onset"), (37.0, "EEG onset")))),
             ""),
    OddInput("onset annotated 12 s early", files(noted("EEG onset", 24.0)), QUESTIONED, "6"),
)  # fmt: skip

REPEATS = (
    OddInput("the same file twice", again(lambda s: s), "repeats the signal|exported again", "9"),
    OddInput("exported with another quantisation", again(lambda s: replace(s, limit=20000.0)),
             "exported again|repeats", "9"),
    OddInput("exported at another rate", again(at_rate(256)), "exported again|repeats", "9"),
    OddInput("exported with another cut", again(cut_to(25, 25)), "exported again|repeats", "9"),
    OddInput("exported with another gain and noise", again(with_noise), "exported again", "9"),
    OddInput("exported with the onset 2 s later", again(noted("EEG onset", 38.0)),
             "exported again|repeats", "9"),
    OddInput("one recording without onset", files({1: noted("patient asleep")}), "2 of 3", "10"),
    OddInput("clips of 20 s", files(cut_to(10, 10)), "recorded is not used|needs", "11"),
    OddInput("clips from 2 s before onset", files(cut_to(2, 28)), "reference|needs|before onset"),
    OddInput("clips until 2 s after onset", files(cut_to(30, 2)), "after onset|needs|short"),
    OddInput("one clip of 20 s among whole recordings", files({1: cut_to(10, 10)}),
             "does not use 1 of 3"),
)  # fmt: skip
