"""New patients for the tests: files as a recorder writes them, and a small model."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import edfio
import numpy as np
import xarray as xr

from epilens.evaluation.certainty import learn_certainty
from epilens.evidence.views import Standardizer
from epilens.localization.result import Localization
from epilens.networks.branch import NETWORKS, Branch
from epilens.networks.model import Member, Model
from epilens.networks.training import build
from epilens.plan import Plan
from epilens.report.patient.localize import localize
from epilens.testing import make_cube, make_recording

FS, ONSET_S = 128.0, 40.0
CONTACTS = tuple(f"{shaft}{i}" for shaft in "AB" for i in range(1, 6))


def write_edf(
    path: Path, names: Sequence[str] = CONTACTS, seed: int = 0, notes: Sequence[Any] = ()
) -> Path:
    """Two channels become fast at 40 s of 80; the header names a person."""
    made = make_recording(fs=FS, channels=names, ez=2, start_s=-ONSET_S, stop_s=ONSET_S, seed=seed)
    return write_signals(path, names, made.signal, FS, notes)


def write_signals(
    path: Path, names: Sequence[str], uv: np.ndarray, fs: float, notes: Sequence[Any] = ()
) -> Path:
    """An EDF+ of signals (channel, time) in µV; the header names a person."""
    signals = [
        edfio.EdfSignal(
            x.astype(np.float64),
            fs,
            label=name[:16],
            physical_dimension="uV",
            physical_range=(-999, 999),
        )
        for name, x in zip(names, uv.clip(-998, 998), strict=True)
    ]
    edfio.Edf(
        signals,
        patient=edfio.Patient(code="MRN4711", sex="F", name="Erika_Mustermann"),
        recording=edfio.Recording(
            startdate=date(1985, 1, 1), investigator_technician_code="Dr_Who"
        ),
        annotations=[edfio.EdfAnnotation(at, None, text) for at, text in notes],
        data_record_duration=1.0,
    ).write(path)
    return path


def cohort_cubes(patients: int = 8) -> list[xr.Dataset]:
    """Labelled patients of a training cohort."""
    return [make_cube(f"sub-{i}", seizures=1 + i % 2, seed=10 * i, fs=FS) for i in range(patients)]


def make_model(cubes: Sequence[xr.Dataset], members: int = 2, assured: bool = True) -> Model:
    """Random networks whose scores nobody should believe, with all that a model carries."""
    fitted = Standardizer.fit(cubes)
    made = tuple(
        Member(i, "0", {name: Branch(build(net, i), fitted) for name, net in NETWORKS.items()})
        for i in range(members)
    )
    about = {"source": "test", "simulated": True, "plan": Plan().model_dump(mode="json")}
    bare = Model(made, 0.5, 0.2, about)
    if not assured:
        return Model(made, 0.5, 0.2, {"source": "imported"})
    p_nez = [bare.predict(cube)["p_nez"].to_numpy() for cube in cubes]
    threshold = float(np.median(np.concatenate(p_nez)))
    certainty = learn_certainty(cubes, p_nez, threshold)
    return Model(made, threshold, 0.2, about, certainty.to_json())


@cache
def the_model() -> Model:
    """The model that all tests share."""
    return make_model(cohort_cubes())


_PLACE = tempfile.TemporaryDirectory()


@cache
def the_files() -> list[Path]:
    """Three seizures of ten contacts; the file names name a person."""
    return [write_edf(Path(_PLACE.name) / f"Mustermann_{i}.edf", CONTACTS, i) for i in range(3)]


@cache
def the_patient() -> Localization:
    """Those seizures, localized."""
    return localize(
        the_files(), the_model(), onsets=[40, 40, 40], resected="A1-3", compare=["random"]
    )
