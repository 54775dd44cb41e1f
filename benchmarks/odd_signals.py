"""Odd signals, names and headers of recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.odd_patient import (
    ONSET_S,
    RANGE_UV,
    VICTIM,
    Edit,
    OddInput,
    Seizure,
    set_header,
    write_all,
    write_bids,
    write_fif,
)

Prepare = Callable[[Path], Sequence[str]]
UNTRUSTED = r"signal cannot be trusted|can be trusted|not as it should be"


def files(edits, writer=None) -> Prepare:
    """Recordings changed by one function, or by one per seizure."""
    return lambda folder: write_all(folder, edits, *([] if writer is None else [writer]))


def part(change: Callable[[np.ndarray], object], name=VICTIM, from_s=-99.0, to_s=99.0) -> Edit:
    """Change one contact's samples between two times from onset, in place."""

    def edit(seizure: Seizure) -> Seizure:
        start, stop = max(0, seizure.sample(from_s)), max(0, seizure.sample(to_s))
        return seizure.changed(lambda x: change(x[seizure.at(name), start:stop]))

    return edit


def flat(x: np.ndarray) -> None:
    """Constant."""
    x[:] = 0


def noisy(x: np.ndarray) -> None:
    """White noise of 20 times the size."""
    x += 20 * x.std() * np.random.default_rng(0).normal(size=x.shape)


def clipped(x: np.ndarray) -> None:
    """At the amplifier's rails most of the time."""
    np.clip(20 * x, -400, 400, out=x)


def mains(x: np.ndarray) -> None:
    """Nothing but mains."""
    x[:] = 300 * np.sin(2 * np.pi * 60 * np.arange(len(x)) / 512)


def huge(at: int, value: float = 1e12) -> Callable[[np.ndarray], None]:
    """One impossible sample."""

    def change(x: np.ndarray) -> None:
        x[at] = value

    return change


def renamed(rename: Callable[[str], str]) -> Edit:
    """Other names of contacts."""
    return lambda seizure: replace(seizure, names=tuple(map(rename, seizure.names)))


def spelled(pattern: str) -> Edit:
    """Names by electrode and number: `{0} {1:02d}`."""
    return renamed(lambda name: pattern.format(name[:2], int(name[2:])))


def doubled(same: bool, name: str = VICTIM, label: str = "") -> Edit:
    """A second channel with the name of a contact, and the same or another contact's signal."""

    def edit(seizure: Seizure) -> Seizure:
        source = seizure.signal[seizure.at(name if same else "RB3")]
        signal = np.vstack([seizure.signal, source[None]])
        return replace(seizure, signal=signal, names=(*seizure.names, label or name))

    return edit


def scaled(factor: float, unit: str = "uV", contacts: str = "") -> Edit:
    """Values times a factor, in a unit; of all contacts, or of one electrode."""

    def edit(seizure: Seizure) -> Seizure:
        rows = np.array([name.startswith(contacts) for name in seizure.names])
        signal = seizure.signal * np.where(rows, factor, 1.0)[:, None]
        return replace(seizure, signal=signal, unit=unit, limit=RANGE_UV * max(factor, 1e-3))

    return edit


def without(prefix: str) -> Edit:
    """Without the contacts of an electrode."""

    def edit(seizure: Seizure) -> Seizure:
        keep = [not name.startswith(prefix) for name in seizure.names]
        names = tuple(n for n, kept in zip(seizure.names, keep, strict=True) if kept)
        return replace(seizure, signal=seizure.signal[keep], names=names)

    return edit


def headed(name: str, text: str, which: Sequence[int] = (), onset: bool = False) -> Prepare:
    """Another value in the header of the first file."""

    def prepare(folder: Path) -> list[str]:
        paths = write_all(folder, {})
        set_header(Path(paths[0]), name, text, which)
        return paths + ([f"--onset={ONSET_S}"] * 3 if onset else [])

    return prepare


def cut(folder: Path) -> list[str]:
    """The first file ends 4 s before its end."""
    paths = write_all(folder, {})
    content = Path(paths[0]).read_bytes()
    Path(paths[0]).write_bytes(content[: int(len(content) * 0.94)])
    return paths


def with_options(prepare: Prepare, *options: str) -> Prepare:
    """Files with further options."""
    return lambda folder: [*prepare(folder), *options]


def shuffled(seizure: Seizure) -> Seizure:
    """Channels in another order."""
    order = np.random.default_rng(1).permutation(len(seizure.names))
    names = tuple(seizure.names[i] for i in order)
    return replace(seizure, signal=seizure.signal[order], names=names)


def bids(**stated) -> Prepare:
    """A BIDS dataset whose sidecars state something else."""
    return lambda folder: [str(write_bids(folder / "bids", **stated))]


def slower(seizure: Seizure) -> Seizure:
    """Half of the contacts at a quarter of the rate."""
    return replace(seizure, slow=frozenset(seizure.names[::2]))


def halved(seizure: Seizure) -> Seizure:
    """A recording at half the rate."""
    from scipy.signal import decimate

    return replace(seizure, signal=decimate(seizure.signal, 2, axis=1), rate_hz=256)


ALL = range(49)

CLEAN = OddInput("clean recordings", files({}))

SIGNALS = (
    OddInput("noise in one seizure, flat in others",
             files({0: part(noisy), 1: part(flat), 2: part(flat)}), UNTRUSTED, "1"),
    OddInput("dead in two of three seizures",
             files({0: part(flat), 1: part(flat)}), UNTRUSTED, "1"),
    OddInput("dead before onset, alive after it", files(part(flat, to_s=0)), UNTRUSTED, "1"),
    OddInput("alive before onset, dead after it", files(part(flat, from_s=0)), UNTRUSTED, "1"),
    OddInput("dead before onset in one seizure", files({1: part(flat, to_s=0)}), UNTRUSTED, "1"),
    OddInput("dead from -10 s to onset", files(part(flat, from_s=-10, to_s=0)), UNTRUSTED, "1"),
    OddInput("noise in every seizure", files(part(noisy)), UNTRUSTED, "1"),
    OddInput("noise after onset only", files(part(noisy, from_s=0)), UNTRUSTED, "1"),
    OddInput("clipped contact", files(part(clipped)), UNTRUSTED, "1"),
    OddInput("mains only", files(part(mains)), UNTRUSTED, "1"),
    OddInput("top contact dead in one seizure", files({0: part(flat, "RB3")}), UNTRUSTED, "1"),
    OddInput("broken contact that the user keeps",
             with_options(files(part(flat, to_s=0)), "--keep", VICTIM), UNTRUSTED, "1"),
    OddInput("a sample of 1e12 µV", files(part(huge(18000)), write_fif), "impossible values", "1"),
    OddInput("a sample of 1e12 µV before onset in a leading contact",
             files(part(huge(9000), "RB3"), write_fif), "impossible values", "1"),
    OddInput("a sample of -1e12 µV in all contacts",
             files(lambda s: s.changed(lambda x: x.__setitem__((slice(None), 17000), -1e12)),
                   write_fif), "impossible values", "1"),
    OddInput("a sample that is infinite", files(part(huge(18000, np.inf)), write_fif), "", "1"),
    OddInput("a sample that is NaN", files(part(huge(18000, np.nan)), write_fif), "", "1"),
    OddInput("a contact that is NaN before onset",
             files(part(lambda x: x.fill(np.nan), to_s=0), write_fif), UNTRUSTED, "1"),
    OddInput("all contacts flat in one seizure",
             files({1: lambda s: s.changed(lambda x: x.fill(0))}), "2 of 3 seizures|flat", "1"),
    OddInput("half of the contacts flat in one seizure",
             files({1: lambda s: s.changed(lambda x: x[::2].fill(0))}), UNTRUSTED, "1"),
    OddInput("all contacts flat for 5 s before onset",
             files(lambda s: s.changed(lambda x: x[:, s.sample(-8): s.sample(-3)].fill(0))),
             "all contacts are constant", "1"),
    OddInput("inverted polarity", files(part(lambda x: np.negative(x, out=x)))),
    OddInput("offset of 1 mV", files(part(lambda x: np.add(x, 1000, out=x)))),
)  # fmt: skip

NAMES = (
    OddInput("name twice, same signal", files(doubled(True)), "same contact", "2"),
    OddInput("name twice, another signal", files(doubled(False)), "same contact", "2"),
    OddInput("name of a leading contact twice, same signal",
             files(doubled(True, "RB3")), "same contact", "2"),
    OddInput("contact under two spellings in one file",
             files(doubled(False, label="RA 05")), "same contact", "2"),
    OddInput("name with the reader's suffix",
             files(lambda s: renamed(lambda n: f"EEG {n[:2]} {int(n[2:]):02d}-Ref")(
                 doubled(True)(s))), "same contact", "2"),
    OddInput("RB 1 in one recording", files({1: spelled("{0} {1}")}), "spelled differently", "3"),
    OddInput("RB 01 in one recording", files({1: spelled("{0} {1:02d}")}), "spelled", "3"),
    OddInput("EEG RB 01-Ref in one recording", files({2: spelled("EEG {0} {1:02d}-Ref")}),
             "spelled", "3"),
    OddInput("rb1 in one recording", files({2: renamed(str.lower)}), "spelled", "3"),
    OddInput("RB_1 in one recording", files({2: spelled("{0}_{1}")}), "spelled", "3"),
    OddInput("RB-1 in one recording", files({2: spelled("{0}-{1}")}), "spelled", "3"),
    OddInput("POL RB1 in one recording", files({2: spelled("POL {0}{1}")}), "spelled", "3"),
    OddInput("other electrodes in one recording",
             files({1: renamed(lambda n: f"L{n[1]}X{n[2:]}")}), "same contacts", "3"),
    OddInput("names 1 to 49 in one recording",
             files({1: lambda s: replace(s, names=tuple(f"C{i}" for i in range(1, 50)))}),
             "same contacts|expected contacts", "3"),
    OddInput("one electrode renamed in one recording",
             files({1: renamed(lambda n: n.replace("RB", "RQ"))}), "not in every seizure", "3"),
    OddInput("channels in another order", files({1: shuffled})),
    OddInput("an electrode is missing in one recording", files({1: without("RB")}),
             "not in every seizure", "3"),
)  # fmt: skip

HEADERS = (
    OddInput("record duration 0", headed("record_s", "0", onset=True), "duration of 0|2 of 3", "4"),
    OddInput("physical range 0/0 of all contacts",
             lambda f: (p := headed("physical_min", "0", ALL)(f),
                        set_header(Path(p[0]), "physical_max", "0", ALL))[0],
             "physical range|2 of 3", "4"),
    OddInput("physical range 0/0 of one contact",
             lambda f: (p := headed("physical_min", "0", [4])(f),
                        set_header(Path(p[0]), "physical_max", "0", [4]))[0],
             "physical range", "4"),
    OddInput("digital range empty",
             lambda f: (p := headed("digital_min", "0", [4])(f),
                        set_header(Path(p[0]), "digital_max", "0", [4]))[0],
             "digital range|2 of 3", "4"),
    OddInput("physical range inverted",
             lambda f: (p := headed("physical_min", "3000", [4])(f),
                        set_header(Path(p[0]), "physical_max", "-3000", [4]))[0], ""),
    OddInput("mixed rates", files({0: slower}), "lower rates", "4"),
    OddInput("header says mV, values are µV", files(scaled(1.0, "mV")), "unit", "4"),
    OddInput("header says V, values are µV", files(scaled(1.0, "V")), "unit", "4"),
    OddInput("header says nV, values are µV", files(scaled(1.0, "nV")), "unit", "4"),
    OddInput("header says no unit", files(scaled(1.0, "")), "unit", "4"),
    OddInput("header says another quantity", files(scaled(1.0, "degC")), "unit", "4"),
    OddInput("one seizure 1000 times too large", files({1: scaled(1000.0)}), "unit|amplitude", "4"),
    OddInput("one seizure 1000 times too small", files({1: scaled(0.001)}), "unit|amplitude", "4"),
    OddInput("one electrode in mV", files(scaled(0.001, contacts="RB")),
             UNTRUSTED + "|amplitude", "4"),
    OddInput("one electrode 1000 times too large", files(scaled(1000.0, contacts="RB")),
             UNTRUSTED + "|amplitude", "4"),
    OddInput("sidecar states another rate", bids(recording={"SamplingFrequency": 1024}),
             "rate|Hz", "4"),
    OddInput("channels.tsv states another rate",
             bids(channels={"sampling_frequency": 256}), "", "4"),
    OddInput("channels.tsv states mV", bids(channels={"units": "mV"}), "", "4"),
    OddInput("file is cut off", cut, "does not match its header", "4"),
    OddInput("header promises more records", headed("records", "90"), "does not match", "4"),
    OddInput("header does not know how many records", headed("records", "-1"), ""),
    OddInput("filter of the header makes no sense",
             headed("filter", "HP:900Hz LP:0.1Hz", ALL), ""),
    OddInput("one recording at half the rate", files({1: halved}), ""),
    OddInput("recording in a dataset", bids(), ""),
)  # fmt: skip
