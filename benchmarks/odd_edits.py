"""How odd inputs are made: edits of a seizure's signal, names and notes, and files to localize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.signal import butter, decimate, resample_poly, sosfiltfilt

from benchmarks.odd_patient import (
    ONSET_S,
    RANGE_UV,
    VICTIM,
    Edit,
    Seizure,
    Signal,
    clean_seizures,
    interrupt,
    set_header,
    write_all,
    write_bids,
    write_edf,
    write_electrodes,
    write_fif,
)

Prepare = Callable[[Path], Sequence[str]]
"""Writes files into a folder; returns the arguments of the command line."""
MNI = ("--space", "MNI152NLin2009cAsym")


def signals(change: Callable[[Signal, Seizure], object]) -> Edit:
    """All contacts, changed in place."""

    def edit(seizure: Seizure) -> Seizure:
        signal = seizure.signal.copy()
        change(signal, seizure)
        return replace(seizure, signal=signal)

    return edit


def part(
    change: Callable[[Signal], object], name: str = VICTIM, from_s: float = -99, to_s: float = 99
) -> Edit:
    """One contact's samples between two times from onset, changed in place."""

    def change_part(x: Signal, seizure: Seizure) -> None:
        start, stop = max(0, seizure.sample(from_s)), max(0, seizure.sample(to_s))
        change(x[seizure.at(name), start:stop])

    return signals(change_part)


def fill(value: float, at: int | slice = slice(None)) -> Callable[[Signal], None]:
    """Samples that have one value."""

    def change(x: Signal) -> None:
        x[at] = value

    return change


FLAT = fill(0)


def times(factor: float) -> Callable[[Signal], object]:
    """A gain."""
    return lambda x: np.multiply(x, factor, out=x)


def noisy(x: Signal) -> None:
    """White noise of 20 times the size."""
    x += 20 * x.std() * np.random.default_rng(0).normal(size=x.shape)


def loose(x: Signal) -> None:
    """White noise of six times the size, for 0.3 s every 2 s."""
    size, rng = 6 * x.std(), np.random.default_rng(0)
    for start in range(0, len(x) - 154, 1024):
        x[start : start + 154] += size * rng.normal(size=154)


def stimulated(x: Signal) -> None:
    """Biphasic pulses at 50 Hz."""
    x[:-1:10] += 1500
    x[1::10] -= 1500


def clipped(x: Signal) -> None:
    """At the amplifier's rails most of the time."""
    np.clip(20 * x, -400, 400, out=x)


def sine(x: Signal, amplitude: float, fs: float = 512) -> Signal:
    """Mains."""
    return amplitude * np.sin(2 * np.pi * 60 * np.arange(x.shape[-1]) / fs)


def moved_all(x: Signal, seizure: Seizure) -> None:
    """A movement of all contacts at onset."""
    fs, onset = seizure.rate_hz, seizure.sample(0)
    t = np.arange(3 * fs) / fs
    x[:, onset : onset + 3 * fs] += 1500 * np.sin(2 * np.pi * 1.3 * t) * np.hanning(3 * fs)


def pulsed(x: Signal, seizure: Seizure) -> None:
    """Stimulation at 1 Hz in all contacts, until onset."""
    for at in range(0, 30 * seizure.rate_hz, seizure.rate_hz):
        x[:, at : at + 3] += 1500


def copied(source: str, *targets: str) -> Edit:
    """Contacts that show the signal of another one."""

    def change(x: Signal, seizure: Seizure) -> None:
        x[[seizure.at(name) for name in targets]] = x[seizure.at(source)]

    return signals(change)


def scaled(factor: float, unit: str = "uV", contacts: str = "") -> Edit:
    """Values times a factor, in a unit; of all contacts, or of one electrode."""

    def edit(seizure: Seizure) -> Seizure:
        rows = np.array([name.startswith(contacts) for name in seizure.names])
        signal = seizure.signal * np.where(rows, factor, 1.0)[:, None]
        return replace(seizure, signal=signal, unit=unit, limit=RANGE_UV * max(factor, 1e-3))

    return edit


def replaced(change: Callable[[Signal], Signal]) -> Edit:
    """Another signal of all contacts."""
    return lambda seizure: replace(seizure, signal=change(seizure.signal))


def filtered(kind: str, hz: float) -> Edit:
    """Low-pass or high-pass filtered when it was exported."""
    return replaced(lambda x: sosfiltfilt(butter(6, hz, kind, fs=512, output="sos"), x, axis=1))


averaged = replaced(lambda x: x - x.mean(axis=0))


def with_noise(x: Signal) -> Signal:
    """With a little noise of another amplifier."""
    return x * 1.07 + 2.0 * np.random.default_rng(0).normal(size=x.shape)


def background(seizure: Seizure) -> Seizure:
    """Only what was recorded before the seizure, twice in a row."""
    before = seizure.signal[:, : seizure.sample(-1)]
    signal = np.hstack([before, before[:, ::-1]])[:, : seizure.signal.shape[1]]
    return replace(seizure, signal=signal)


def cut_to(before_s: float, after_s: float) -> Edit:
    """A recording from so long before to so long after onset."""

    def edit(seizure: Seizure) -> Seizure:
        signal = seizure.signal[:, seizure.sample(-before_s) : seizure.sample(after_s)]
        notes = ((before_s, "EEG onset"),)
        return replace(seizure, signal=signal, onset_s=before_s, notes=notes)

    return edit


def at_256_hz(resample: Callable[[Signal], Signal]) -> Edit:
    """A recording at half the rate."""
    return lambda seizure: replace(seizure, signal=resample(seizure.signal), rate_hz=256)


halved = at_256_hz(lambda x: decimate(x, 2, axis=1))
resampled = at_256_hz(lambda x: resample_poly(x, 256, 512, axis=1))
at_wrong_rate = at_256_hz(lambda x: x)


def renamed(rename: Callable[[str], str]) -> Edit:
    """Other names of contacts."""
    return lambda seizure: replace(seizure, names=tuple(map(rename, seizure.names)))


def spelled(pattern: str) -> Edit:
    """Names by electrode and number: `{0} {1:02d}`."""
    return renamed(lambda name: pattern.format(name[:2], int(name[2:])))


def numbered(name: Callable[[int], str]) -> Edit:
    """Names that only count."""
    return lambda seizure: replace(seizure, names=tuple(map(name, range(len(seizure.names)))))


def channels(seizure: Seizure, rows: Sequence[int]) -> Seizure:
    """Some channels, in an order."""
    names = tuple(seizure.names[i] for i in rows)
    return replace(seizure, signal=seizure.signal[list(rows)], names=names)


def where(keep: Callable[[str], bool]) -> Edit:
    """Only the contacts whose name is kept."""
    return lambda seizure: channels(
        seizure, [i for i, name in enumerate(seizure.names) if keep(name)]
    )


def shuffled(seizure: Seizure) -> Seizure:
    """Channels in another order."""
    return channels(seizure, np.random.default_rng(1).permutation(len(seizure.names)))


def joined(seizure: Seizure, signal: Signal, names: Sequence[str]) -> Seizure:
    """With further channels."""
    return replace(
        seizure, signal=np.vstack([seizure.signal, signal]), names=(*seizure.names, *names)
    )


def doubled(source: str, label: str) -> Edit:
    """A further channel with a contact's signal, under a name."""
    return lambda seizure: joined(seizure, seizure.signal[[seizure.at(source)]], [label])


def with_scalp(seizure: Seizure) -> Seizure:
    """Scalp electrodes among the channels."""
    scalp = ("Fp1", "F3", "C3", "P3", "O1", "Fz", "Cz", "Pz")
    return joined(seizure, 3 * seizure.signal[: len(scalp)], scalp)


def bipolar(seizure: Seizure) -> Seizure:
    """Differences of neighbours."""
    following = [f"{name[:2]}{int(name[2:]) + 1}" for name in seizure.names]
    pairs = [(i, seizure.at(n)) for i, n in enumerate(following) if n in seizure.names]
    names = tuple(f"{seizure.names[i]}-{seizure.names[j]}" for i, j in pairs)
    signal = np.array([seizure.signal[i] - seizure.signal[j] for i, j in pairs])
    return replace(seizure, signal=signal, names=names)


def with_bipolar(seizure: Seizure) -> Seizure:
    """Contacts, and differences of neighbours in the same file."""
    pairs = bipolar(seizure)
    return joined(seizure, pairs.signal, pairs.names)


def noted(text: str, at_s: float = ONSET_S) -> Edit:
    """With one annotation."""
    return lambda seizure: replace(seizure, notes=((at_s, text),))


def files(edits: Edit | Mapping[int, Edit], writer=write_edf) -> Prepare:
    """Recordings changed by one function, or by one per seizure."""
    return lambda folder: write_all(folder, edits, writer)


fif = partial(files, writer=write_fif)


def with_options(*options: str, prepare: Prepare | None = None) -> Prepare:
    """Recordings with further options."""
    return lambda folder: [*(prepare or files({}))(folder), *options]


def given(*onsets: float | str) -> Prepare:
    """Recordings with onsets that the user gives."""
    return with_options(*(f"--onset={onset}" for onset in onsets))


def first_file(
    change: Callable[[Path], object], *options: str, edit: Edit | None = None
) -> Prepare:
    """Recordings of which the first file is changed after it was written."""

    def prepare(folder: Path) -> list[str]:
        paths = write_all(folder, {0: edit} if edit else {})
        change(Path(paths[0]))
        return [*paths, *options]

    return prepare


def headed(fields: Mapping[str, str], which: Sequence[int] = (), *options: str) -> Prepare:
    """Other values in the header of the first file."""

    def change(path: Path) -> None:
        for name, text in fields.items():
            set_header(path, name, text, which)

    return first_file(change, *options)


def gapped(after_s: int, marked_s: float | None, *options: str) -> Prepare:
    """EDF+D with a gap of 8 s in the first file, whose onset counts by the clock."""
    edit = noted("EEG onset", marked_s) if marked_s else noted("nothing", 1.0)
    return first_file(lambda path: interrupt(path, after_s, 8), *options, edit=edit)


def replaced_by(content: bytes) -> Prepare:
    """Files of which the first is something else."""
    return first_file(lambda path: path.write_bytes(content))


def again(edit: Edit) -> Prepare:
    """The first seizure a second time, exported in another way."""

    def prepare(folder: Path) -> list[str]:
        repeated = write_edf(folder / "again.edf", edit(clean_seizures()[0]))
        return [*write_all(folder, {}), str(repeated)]

    return prepare


def bids(**stated) -> Prepare:
    """A BIDS dataset whose sidecars state something else."""
    return lambda folder: [str(write_bids(folder / "bids", **stated))]


def positioned(scale: float = 1.0, extra=(), space=MNI, header: str = "name\tx\ty\tz") -> Prepare:
    """Recordings with a table of electrodes."""

    def prepare(folder: Path) -> list[str]:
        table = write_electrodes(folder / "electrodes.tsv", scale, extra, header)
        return [*write_all(folder, {}), "--electrodes", str(table), *space]

    return prepare


def with_table(option: str, name: str, text: str) -> Prepare:
    """Recordings with a table that somebody wrote."""

    def prepare(folder: Path) -> list[str]:
        (folder / name).write_text(text, encoding="utf-8")
        return [*write_all(folder, {}), option, str(folder / name)]

    return prepare


def linked_in_a_circle(folder: Path) -> list[str]:
    """A link that leads to itself."""
    (folder / "a.edf").symlink_to(folder / "b.edf")
    (folder / "b.edf").symlink_to(folder / "a.edf")
    return [str(folder / "a.edf")]


def folder_with_damage(folder: Path) -> list[str]:
    """A folder with one file that is not a recording."""
    replaced_by(b"0" * 400)(folder)
    return [str(folder)]
