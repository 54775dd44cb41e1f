"""Odd exports: copied and mixed channels, filters, rates, artefacts, other people's recordings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.signal import butter, sosfiltfilt

from benchmarks.odd_patient import VICTIM, Edit, OddInput, Seizure, other_seizures, write_fif
from benchmarks.odd_signals import files, part, scaled
from benchmarks.odd_times import again, given, noted

COPY = r"show the same signal"
BAND = r"above \d+ Hz"


def copied(source: str, *targets: str) -> Edit:
    """Contacts that show the signal of another one."""

    def edit(seizure: Seizure) -> Seizure:
        return seizure.changed(
            lambda x: [x.__setitem__(seizure.at(name), x[seizure.at(source)]) for name in targets]
        )

    return edit


def filtered(kind: str, hz: float) -> Edit:
    """Low-pass or high-pass filtered when it was exported."""

    def edit(seizure: Seizure) -> Seizure:
        sos = butter(6, hz, kind, fs=seizure.rate_hz, output="sos")
        return replace(seizure, signal=sosfiltfilt(sos, seizure.signal, axis=1))

    return edit


def bipolar(seizure: Seizure) -> Seizure:
    """Differences of neighbours."""
    pairs = [
        (i, j)
        for i, name in enumerate(seizure.names)
        if (other := f"{name[:2]}{int(name[2:]) + 1}") in seizure.names
        for j in [seizure.at(other)]
    ]
    names = tuple(f"{seizure.names[i]}-{seizure.names[j]}" for i, j in pairs)
    signal = np.array([seizure.signal[i] - seizure.signal[j] for i, j in pairs])
    return replace(seizure, signal=signal, names=names)


def with_bipolar(seizure: Seizure) -> Seizure:
    """Contacts, and differences of neighbours in the same file."""
    pairs = bipolar(seizure)
    return replace(
        seizure,
        signal=np.vstack([seizure.signal, pairs.signal]),
        names=seizure.names + pairs.names,
    )


def averaged(seizure: Seizure) -> Seizure:
    """Against the common average."""
    return replace(seizure, signal=seizure.signal - seizure.signal.mean(axis=0))


def only(*prefixes: str) -> Edit:
    """Only some contacts."""

    def edit(seizure: Seizure) -> Seizure:
        keep = [name.startswith(prefixes) for name in seizure.names]
        names = tuple(n for n, k in zip(seizure.names, keep, strict=True) if k)
        return replace(seizure, signal=seizure.signal[keep], names=names)

    return edit


def at_wrong_rate(seizure: Seizure) -> Seizure:
    """A header with half the rate: the file seems to last twice as long."""
    return replace(seizure, rate_hz=seizure.rate_hz // 2)


def background(seizure: Seizure) -> Seizure:
    """Only what was recorded before the seizure, twice in a row."""
    before = seizure.signal[:, : seizure.sample(-1)]
    return replace(
        seizure, signal=np.hstack([before, before[:, ::-1]])[:, : seizure.signal.shape[1]]
    )


def moved_all(x: np.ndarray, fs: int, onset: int) -> None:
    """A movement of all contacts at onset."""
    t = np.arange(3 * fs) / fs
    x[:, onset : onset + 3 * fs] += 1500 * np.sin(2 * np.pi * 1.3 * t) * np.hanning(3 * fs)


def pulsed(x: np.ndarray, fs: int) -> None:
    """Stimulation at 1 Hz in all contacts, until onset."""
    for at in range(0, 30 * fs, fs):
        x[:, at : at + 3] += 1500


def hum(x: np.ndarray, fs: int) -> None:
    """Mains of 500 µV in all contacts."""
    x += 500 * np.sin(2 * np.pi * 60 * np.arange(x.shape[1]) / fs)


def shifted(seizure: Seizure) -> Seizure:
    """Names that are one contact off."""
    return replace(seizure, signal=np.roll(seizure.signal, 1, axis=0))


def with_scalp(seizure: Seizure) -> Seizure:
    """Scalp electrodes among the channels."""
    scalp = ("Fp1", "F3", "C3", "P3", "O1", "Fz", "Cz", "Pz")
    signal = np.vstack([seizure.signal, 3 * seizure.signal[: len(scalp)]])
    return replace(seizure, signal=signal, names=seizure.names + scalp)


def coarse(seizure: Seizure) -> Seizure:
    """Steps of 100 µV."""
    return replace(seizure, signal=100 * np.round(seizure.signal / 100))


def saturated(x: np.ndarray, onset: int) -> None:
    """All contacts at the rails after onset."""
    x[:, onset + 1024 :] = 2990


EXPORTS = (
    OddInput("a contact shows the signal of a leading one", files(copied("RB3", VICTIM)), COPY),
    OddInput("all contacts of an electrode show one signal",
             files(copied("RB3", *(f"RB{i}" for i in range(1, 13)))), COPY),
    OddInput("a contact shows another one's signal in one seizure",
             files({1: copied("RB3", VICTIM)}), COPY),
    OddInput("low-pass at 30 Hz in one recording", files({1: filtered("low", 30)}), BAND),
    OddInput("low-pass at 70 Hz in all recordings", files(filtered("low", 70)), BAND),
    OddInput("high-pass at 10 Hz in one recording",
             files({1: filtered("high", 10)}), "almost nothing slow"),
    OddInput("bipolar in one recording", files({1: bipolar}), "same contacts|not in every seizure"),
    OddInput("contacts and pairs in one file", files(with_bipolar), "differences of two contacts"),
    OddInput("common average in one recording", files({1: averaged})),
    OddInput("half the rate in one header", files({1: at_wrong_rate}), "onset|rate|unlike"),
    OddInput("names one contact off in one recording", files({1: shifted}), "disagree|unlike"),
    OddInput("background instead of seizures", files(background), "Check the onset|No contact"),
    OddInput("background instead of one seizure", files({1: background})),
    OddInput("one seizure of another person", files({1: lambda s: other_seizures()[0]}),
             "same contacts|disagree|not in every"),
    OddInput("movement of all contacts at onset",
             files(lambda s: s.changed(lambda x: moved_all(x, s.rate_hz, s.sample(0))))),
    OddInput("stimulation until onset",
             files(lambda s: s.changed(lambda x: pulsed(x, s.rate_hz)))),
    OddInput("mains of 500 µV in all contacts",
             files(lambda s: s.changed(lambda x: hum(x, s.rate_hz)))),
    OddInput("scalp electrodes among the contacts", files(with_scalp)),
    OddInput("steps of 100 µV", files(coarse), "different values"),
    OddInput("all contacts saturated after onset",
             files(lambda s: s.changed(lambda x: saturated(x, s.sample(0)))),
             "constant|clipped|flat"),
    OddInput("one electrode only", files(only("RB")), "All 12 contacts are of electrode RB"),
    OddInput("three contacts", files(only("RB3", "RB4", "RA5")), "Only 3 contacts"),
    OddInput("numbers for names",
             files(lambda s: replace(s, names=tuple(str(i) for i in range(1, 50)))), "contacts"),
    OddInput("letters for names",
             files(lambda s: replace(s, names=tuple(f"X{chr(65 + i % 26)}{chr(65 + i // 26)}"
                                                    for i in range(49)))), "contacts"),
    OddInput("the seizure again against the average", again(averaged), "exported again|repeats"),
    OddInput("the seizure again with inverted polarity",
             again(lambda s: replace(s, signal=-s.signal)), "exported again|repeats"),
    OddInput("the seizure again through a filter", again(filtered("low", 70)), "exported again"),
    OddInput("annotation: Anfallsbeginn", files(noted("Anfallsbeginn")), "onset"),
    OddInput("annotation: début de crise", files(noted("début de crise")), "onset"),
    OddInput("annotation: EEG onset at the end of the file",
             files(noted("EEG onset", 69.9)), "onset"),
    OddInput("a dropout of 10 s before onset in all contacts",
             files(lambda s: s.changed(
                 lambda x: x[:, s.sample(-15): s.sample(-5)].fill(np.nan)), write_fif),
             "all contacts are constant"),
    OddInput("one contact 8 times as large after onset",
             files(part(lambda x: np.multiply(x, 8, out=x), from_s=0)), "gain had been changed"),
    OddInput("one seizure half as large", files({1: scaled(0.5)})),
    OddInput("onset as not a number", given("nan", 36, 36), "onset|number"),
    OddInput("onset as infinity", given("inf", 36, 36), "onset|number|inside"),
)  # fmt: skip
