"""Small recordings on disk that reviews are tested with."""

from __future__ import annotations

from datetime import date

import edfio
import numpy as np
import pybv

FS = 500.0
NAMES = tuple(f"{shaft}{i}" for shaft in ("LA", "LB", "RH'") for i in range(1, 7))
ONSET_S = 60.0


def signal(names=NAMES, fs=FS, seconds=120.0, seed=0):
    """µV; from 60 s on, the first four contacts are fast and large, one after the other."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * fs)) / fs
    x = np.cumsum(rng.normal(size=(len(names), len(t))), axis=1)
    x = 20 * (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    x += 5 * rng.normal(size=x.shape)
    for i in range(min(4, len(names))):
        x[i] += 80 * np.sin(2 * np.pi * 25 * t) * (t > ONSET_S + i) * (t < ONSET_S + 40)
    return x


def write_edf(path, names=NAMES, fs=FS, seconds=120.0, notes=()):
    """A plain EDF file, EDF+ with annotations."""
    x = signal(names, fs, seconds)
    signals = [
        edfio.EdfSignal(row, fs, label=name, physical_dimension="uV", physical_range=(-999, 999))
        for name, row in zip(names, x.clip(-998, 998), strict=True)
    ]
    annotations = [edfio.EdfAnnotation(at, None, text) for at, text in notes] or None
    recording = edfio.Recording(startdate=date(1985, 1, 1))
    edf = edfio.Edf(signals, recording=recording, annotations=annotations, data_record_duration=1.0)
    edf.write(path)
    return path


def write_brainvision(path, kind="int16", names=NAMES, fs=FS, seconds=120.0):
    """A BrainVision recording; returns its header."""
    pybv.write_brainvision(
        data=signal(names, fs, seconds) * 1e-6,
        sfreq=fs,
        ch_names=list(names),
        fname_base=path.stem,
        folder_out=path.parent,
        fmt=f"binary_{kind}",
        unit="µV",
        events=[
            {
                "onset": round(min(ONSET_S, seconds / 2) * fs),
                "type": "Comment",
                "description": "sz onset",
            }
        ],
    )
    return path.with_suffix(".vhdr")
