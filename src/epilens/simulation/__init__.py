"""The embedded default cohort: simulated patients with a known EZ, written as real BIDS files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from epilens.compute.local import map_jobs
from epilens.core.errors import DataError
from epilens.core.progress import Progress, StepFunction
from epilens.data.datasets.simulated import VERSION
from epilens.io.outputs import replace_folder
from epilens.simulation.files import write_center, write_run
from epilens.simulation.patients import SimulatedPatient, SimulatedRun, make_patients
from epilens.simulation.shapes import shape as shape_of

KIND = "a simulated cohort"


def simulate(
    out: str | Path,
    shape: str = "demo",
    seed: int = 0,
    jobs: int = 2,
    tick: Progress | StepFunction | None = None,
) -> list[Path]:
    """Write a simulated multi-center cohort, one BIDS dataset per center below `out`.

    Same shape and seed: same bytes, whatever the number of processes. The folder appears under its
    name only when it is complete.

    Returns
    -------
    list of paths
        The datasets, one per center.
    """
    out, centers = Path(out), shape_of(shape)
    _check_target(out)
    if seed < 0:
        raise DataError(f"simulate: expected a seed of 0 or more, found {seed}.")
    with replace_folder(out, KIND) as partial:
        work: list[_RunToWrite] = []
        for index, center in enumerate(centers):
            patients = make_patients(center, index, seed)
            folder = partial / center.name.lower()
            write_center(folder, center, patients)
            work += [_RunToWrite(folder, p, run) for p in patients for run in p.runs]
        _write_all(work, jobs, Progress.of(tick))
        facts = json.dumps(simulation_facts(shape, seed))
        (partial / "simulation.json").write_text(facts + "\n")
    return [out / center.name.lower() for center in centers]


def simulation_facts(shape: str, seed: int) -> dict[str, str | int]:
    """What decides the bytes of a cohort; written to its `simulation.json`."""
    return {"shape": shape, "seed": seed, "version": VERSION}


class _RunToWrite(NamedTuple):
    """A run, its patient, and the folder of the center's dataset."""

    folder: Path
    patient: SimulatedPatient
    run: SimulatedRun


def _write_all(work: list[_RunToWrite], jobs: int, tick: Progress) -> None:
    """Write the runs; the largest first, so that no process is left with one at the end."""
    tick.expect(len(work))
    work = sorted(work, key=lambda item: -item.run.fs * len(item.patient.implant.names))
    for item, _ in map_jobs(_write_one, work, jobs):
        tick(item.patient.name)


def _write_one(item: _RunToWrite) -> None:
    write_run(item.folder, item.patient, item.run)


def _check_target(out: Path) -> None:
    """Refuse a folder that has files in it, or that cannot be created."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(
            f"simulate: expected {out} to be absent or an empty folder, found something there. "
            "Give another folder, or remove this one."
        )
    parent = next(p for p in [*out.absolute().parents] if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        what = "a folder without permission to" if parent.is_dir() else "a file there"
        raise DataError(
            f"simulate: expected to be able to write to {parent}, found {what}. Give another path."
        )
