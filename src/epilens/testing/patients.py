"""Small recordings and cubes with a known EZ, for tests of EpiLENS and of methods added to it."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import xarray as xr

from epilens.data.electrodes.positions import Positions
from epilens.data.onsets.onset import Onset
from epilens.data.recording import Recording
from epilens.evaluation.protocol import run
from epilens.evaluation.run import Run, open_run
from epilens.evidence.contact_features import make_features
from epilens.evidence.cube import joined
from epilens.evidence.describe import describe
from epilens.evidence.files import SUFFIX, Cohort, open_cohort, save
from epilens.evidence.signals import make_signals
from epilens.evidence.traces import make_traces
from epilens.plan import Plan, Runtime


def make_recording(
    patient: str = "sub-01",
    run: str = "run-01",
    fs: float = 256.0,
    channels: int | Sequence[str] = 6,
    ez: int = 2,
    start_s: float = -35.0,
    stop_s: float = 35.0,
    seed: int = 0,
    **changes: Any,
) -> Recording:
    """Noise in which the first `ez` channels become fast and large at onset.

    `changes` replace any field of the recording.
    """
    if isinstance(channels, int):
        channels = [f"A{i + 1}" for i in range(channels)]
    names = tuple(channels)
    rng = np.random.default_rng(np.random.SeedSequence([seed, len(run)]))
    t = start_s + np.arange(round((stop_s - start_s) * fs)) / fs
    signal = np.cumsum(rng.normal(size=(len(names), len(t))), axis=1)
    signal = 40 * (signal - signal.mean(axis=1, keepdims=True)) / signal.std(axis=1, keepdims=True)
    signal += rng.normal(size=signal.shape)
    burst = np.where(t > 0, 60 * np.sin(2 * np.pi * 40 * t), 0)
    signal[:ez] += burst
    fields: dict[str, Any] = {
        "patient": patient,
        "center": "Test",
        "run": run,
        "signal": signal.astype(np.float32),
        "fs": fs,
        "channels": names,
        "start_s": start_s,
        "onset": Onset(-start_s, None, "onset", "onset marker"),
        "is_ez": tuple(i < ez for i in range(len(names))),
        "positions": Positions({name: (3.5 * i, 0.0, 0.0) for i, name in enumerate(names)}, "ACPC"),
        "modality": "SEEG",
        "mains_hz": 50.0,
        "source": None,
    }
    return Recording(**(fields | changes))


def make_cube(
    patient: str = "sub-01", seizures: int = 2, seed: int = 0, **about: Any
) -> xr.Dataset:
    """The cube of a patient whose EZ is its first channels."""
    return describe(_seizures(patient, seizures, seed, about))


def _seizures(patient: str, count: int, seed: int, about: dict[str, Any]) -> list[Recording]:
    runs = [f"run-{s + 1:02d}" for s in range(count)]
    return [make_recording(patient, run, seed=seed + i, **about) for i, run in enumerate(runs)]


def make_patient(
    patient: str = "sub-01", seizures: int = 2, seed: int = 0, **about: Any
) -> xr.Dataset:
    """The same patient with features, traces and signals: what any method can read."""
    parts = _seizures(patient, seizures, seed, about)
    makers = (make_features, make_traces, make_signals)
    return joined(describe(parts), *(make(parts, Plan()) for make in makers))


def make_cohort(
    folder: str | Path,
    patients: int = 8,
    centers: int = 2,
    seizures: Sequence[int] = (1, 2, 2),
    **about: Any,
) -> Cohort:
    """Cubes of several patients on disk; some have one seizure, some lack a channel in one.

    `seizures` are how many a patient has, in turn.
    """
    folder = Path(folder)
    for i in range(patients):
        name = f"sub-{i + 1:02d}"
        count = seizures[i % len(seizures)]
        cube = make_cube(name, seizures=count, seed=10 * i, fs=128.0, **about)
        if i % 4 == 3:
            valid = cube["valid"].copy()
            valid[0, :, -1] = False
            cube = cube.assign(valid=valid, x=cube["x"].where(valid, 0))
        cube.attrs |= {
            "center": f"Center {i % centers + 1}",
            "key": f"{name}-{i}",
            "ez_channels": int(cube["is_ez"].sum()),
        }
        save(cube, folder / f"{name}{SUFFIX}")
    return open_cohort(folder)


@cache
def make_run() -> Run:
    """A finished run of two quick methods on eight patients, once in a process; for examples."""
    folder = Path(mkdtemp(prefix="epilens-example-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cohort = make_cohort(folder / "cubes", channels=4, ez=1)
    plan = Plan(name="example", seeds=(1,), methods=("logistic-z", "rbf-svm"))
    made = run(plan.override(splits={"folds": 2}), cohort, Runtime(out=folder / "runs"))
    return open_run(made, folder / "cubes")
