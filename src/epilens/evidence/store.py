"""A whole cohort → a folder of cubes: in parallel, resumable, with its audit and summary.

A store is keyed by what it is made from: the content of its signal files, what its sidecars said,
the fields of the plan that it depends on, and the code that computes it. A store with the same key
is kept. The outdated stores of a patient are made again together: every file is read once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from epilens.compute.jobs import Job, JobResult, run_jobs
from epilens.compute.local import on_workers
from epilens.core.console import visible
from epilens.core.errors import CubeError, DataError, EpilensError, WorkerError
from epilens.core.progress import Progress, StepFunction
from epilens.data.audit import AuditRow, audit_frame
from epilens.data.bids import Recordings
from epilens.data.bids_scan import Patient
from epilens.data.cohort import participant_facts
from epilens.data.read_seizures import one_ahead, read_seizures
from epilens.data.recording import Recording
from epilens.data.user_files import read_table
from epilens.evidence.contact_features import CONTACT_FEATURES
from epilens.evidence.describe import CUBE, audit_of
from epilens.evidence.descriptors import DESCRIPTORS
from epilens.evidence.files import SUFFIX, cubes_in, open_cube, remove_stores, save, store_path
from epilens.evidence.keys import recordings_key, source_digests, store_key
from epilens.evidence.seizures import fill
from epilens.evidence.signals import SIGNALS
from epilens.evidence.traces import TRACES
from epilens.evidence.zip_store import attributes_of, first_corrupt_chunk, is_own_store, save_store
from epilens.io.atomic import load_json, write_atomically
from epilens.io.delimited import plain, to_tsv
from epilens.io.outputs import check_distinct_names, locked_output
from epilens.plan import Plan

STORES = {store.name: store for store in (CUBE, CONTACT_FEATURES, TRACES, SIGNALS)}
"""The cube, and the stores that can lie next to it."""
DAMAGED = ".damaged"
"""Suffix for a file that stands in the way of a store."""
RECOGNISE_GLOBS = (f"*{SUFFIX}", f"*{SUFFIX}{DAMAGED}", "cohort.json", "audit.tsv", *STORES)
"""Names in a folder of cubes."""
_SUMMARY = ("patient", "center", "modality", "seizures", "channels", "ez_channels", "key")
_SUMMARY += ("plan_digest",)
"""Attributes of a cube that `cohort.json` lists."""


@dataclass(frozen=True)
class DescriptionResult:
    """Summary of a patient's cube (None: excluded), and the audit of reading and describing it."""

    summary: dict[str, Any] | None
    rows: tuple[AuditRow, ...]


@dataclass(frozen=True)
class DescribePatient(Job[DescriptionResult]):
    """One patient whose cube, and stores next to it, are to be written."""

    patient: Patient
    plan: Plan
    out: Path
    stores: tuple[str, ...] = ()
    """Stores that are wanted next to the cube."""
    threads: int | None = None
    rows: list[AuditRow] = field(default_factory=list)
    """Audit of the recordings, written while they are read."""

    @property
    def title(self) -> str:
        """Name of the patient."""
        return self.patient.name

    @property
    def steps(self) -> int:
        """Number of steps: one for each recording."""
        return len(self.patient.runs)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Digest of every signal file."""
        return source_digests(self.patient.runs, self.threads)

    @cached_property
    def key(self) -> str:
        """Digest of everything that the patient's recordings depend on."""
        return recordings_key(self.patient, self.plan, self.sources)

    @cached_property
    def keys(self) -> dict[str, str]:
        """Key of the cube and of each store next to it."""
        names = ("cube", *self.stores)
        return {name: store_key(STORES[name], self.key, self.plan) for name in names}

    @cached_property
    def outdated(self) -> list[str]:
        """Stores that are missing, damaged or made from something else."""
        return [n for n, key in self.keys.items() if _intact(self.path(n)).get("key") != key]

    def path(self, store: str) -> Path:
        """File of the cube or of a store next to it."""
        return store_path(self.out / f"{self.patient.name}{SUFFIX}", store)

    def finished(self) -> DescriptionResult | None:
        """What is stored, if no store is outdated."""
        return None if self.outdated else self._stored()

    def work(self) -> DescriptionResult:
        """Fill the outdated stores in one pass over the recordings, and write each whole."""
        stores = [STORES[name] for name in self.outdated]
        try:
            filled = fill(stores, _recordings(self), self.plan, self.threads)
        except EpilensError as error:
            raise _ExcludedError(error) from error
        if "cube" in filled:
            about = {"sources": self.sources, "participant": self._participant}
            filled["cube"].attrs |= _counts(filled["cube"], self.rows) | about
        for name, store in filled.items():
            store.attrs |= {"key": self.keys[name], "recordings": self.key}
            _set_aside(self.path(name))
            save_store(store, self.path(name))
        return self._stored()

    @property
    def _participant(self) -> dict[str, Any]:
        return participant_facts(self.patient.participant)

    def _stored(self) -> DescriptionResult:
        cube = self.path("cube")
        if attributes_of(cube).get("participant") != self._participant:
            # No method is given these facts: the cube's numbers and key stay.
            save(open_cube(cube).assign_attrs(participant=self._participant), cube)
        about = {name: attributes_of(self.path(name)) for name in self.keys}
        audit = [AuditRow(**row) for attrs in about.values() for row in attrs.get("audit", ())]
        return DescriptionResult(_summary(about["cube"]), tuple(audit))

    def failed(self, error: Exception) -> DescriptionResult:
        """Exclude a patient that cannot be described, with the reason; other errors are raised.

        One whose worker was lost keeps its stores: the next command tries again.
        """
        if isinstance(error, _ExcludedError):
            reason = error.reason
            remove_stores(self.path("cube"), STORES)
        elif isinstance(error, WorkerError):
            reason = error
        else:
            raise error
        row = AuditRow.of("patient", reason, (self.patient.name,))
        return DescriptionResult(None, (*self.rows, row))


class _ExcludedError(Exception):
    """No cube can be made of a patient's recordings."""

    def __init__(self, reason: EpilensError):
        super().__init__(str(reason))
        self.reason = reason


def describe_cohort(
    parts: Sequence[Recordings],
    out: str | Path,
    plan: Plan,
    jobs: int = 1,
    stores: Collection[str] = (),
    tick: Progress | StepFunction | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Write the cubes of all patients; returns the summary that is also in `cohort.json`."""
    out = Path(out)
    for name in plan.descriptors:
        DESCRIPTORS[name]  # an unknown name is refused before anything is read
    patients = [patient for part in parts for patient in part.patients]
    parallel = on_workers(jobs)
    threads = 1 if parallel else threads
    # Contact features are small, and the shipped model reads them: every cube has them next to it.
    wanted = tuple(dict.fromkeys((CONTACT_FEATURES.name, *stores)))
    work = [DescribePatient(patient, plan, out, wanted, threads) for patient in patients]
    if parallel:  # the largest first, so that no process is left with one at the end
        work.sort(key=_size, reverse=True)
    _check_names(patients, out)
    with locked_output(out, "cubes", RECOGNISE_GLOBS):
        # Looking for finished patients means reading all signal files: the processes do it.
        results = run_jobs(work, jobs, tick, check_first=False)
        described = {job.patient.name: result for job, result in results}
        _write_audit(out / "audit.tsv", {part.title: _rows(part, described) for part in parts})
        return _write_summary(out, described, plan)


def _rows(
    part: Recordings, described: Mapping[str, JobResult[DescriptionResult]]
) -> list[AuditRow]:
    """Audit of a dataset: of its sidecars, then of its signals."""
    of_signals = [row for p in part.patients for row in described[p.name].result.rows]
    return list(dict.fromkeys([*part.rows, *of_signals]))


def _size(job: DescribePatient) -> float:
    return sum(len(run.channels) * (run.stated_fs or 1000.0) for run in job.patient.runs)


def _attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store; empty where there is no store."""
    try:
        return attributes_of(path)
    except CubeError:
        return {}


def _intact(path: Path) -> dict[str, Any]:
    """Attributes of a store; empty where it is missing or damaged."""
    return {} if first_corrupt_chunk(path) else _attributes(path)


def _set_aside(path: Path) -> None:
    """Rename a file that stands in place of a store but is not one, or is damaged at its start."""
    if path.exists() and not is_own_store(path):
        path.replace(path.with_name(f"{path.name}{DAMAGED}"))


def _counts(cube: xr.Dataset, rows: Sequence[AuditRow]) -> dict[str, Any]:
    """Counts of a cube for the summary, and the audit of reading and describing it."""
    audit = dict.fromkeys([*rows, *audit_of(cube)])
    return {
        "audit": [row.to_json() for row in audit],
        "channels": cube.sizes["channel"],
        "seizures": int(cube["valid"].values.any(axis=(1, 2)).sum()),
        "ez_channels": int(cube["is_ez"].sum()) if "is_ez" in cube else None,
    }


def _recordings(job: DescribePatient) -> Iterator[Recording]:
    """Recordings of a patient; the next one is read while the one before is described."""
    results = read_seizures(job.patient.runs, job.plan)
    for result in results if job.threads == 1 else one_ahead(results):
        job.rows.extend(result.rows)
        if result.recording is not None:
            yield result.recording


def _summary(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: attributes[key] for key in _SUMMARY}


def _check_names(patients: Sequence[Patient], out: Path) -> None:
    cubes = cubes_in(out)
    check_distinct_names(dict.fromkeys(patient.name for patient in patients), cubes)
    centers: dict[str, str] = {}
    for patient in patients:
        name = patient.name
        other = centers.get(name, _attributes(cubes[name]).get("center") if name in cubes else None)
        if name in centers or other not in (None, patient.center):
            raise DataError(
                f"{name}: expected names that are unique over all datasets, found it in "
                f"{other!r} and {patient.center!r}. Give each dataset its own --out folder."
            )
        centers[name] = patient.center


def _write_audit(path: Path, rows: Mapping[str, list[AuditRow]]) -> None:
    """Write the audit of every dataset in the folder; those described now are replaced."""
    tables = [
        audit_frame(part).map(visible).assign(dataset=visible(title))
        for title, part in rows.items()
    ]
    if path.exists() and (old := _earlier(path, list(tables[0]))) is not None:
        tables.insert(0, old[~old["dataset"].isin([visible(title) for title in rows])])
    table = pd.concat(tables)
    write_atomically(path, to_tsv(list(table.columns), table.to_numpy().tolist()))


def _earlier(path: Path, columns: list[str]) -> pd.DataFrame | None:
    """The audit of earlier commands; None where it is damaged: their datasets write it again."""
    try:
        old = read_table(path).map(plain)
    except (EpilensError, ValueError):
        return None
    return old if list(old) == columns else None


def _write_summary(
    out: Path, described: Mapping[str, JobResult[DescriptionResult]], plan: Plan
) -> dict[str, Any]:
    """`cohort.json`: every patient of the folder, those of earlier commands too."""
    statuses = [result.status for result in described.values()]
    earlier = _earlier_summaries(out)
    about = {
        name: earlier[name] if not path.exists() and name in earlier else _attributes(path)
        for name, path in cubes_in(out).items()
    }
    summary = {
        "plan_digest": plan.digest,
        "patients": [_summary(attributes) for attributes in about.values() if attributes],
        "left_out": sorted(n for n, result in described.items() if result.status == "failed"),
        "damaged": [name for name, attributes in about.items() if not attributes],
        "described": statuses.count("done"),
        "kept": statuses.count("kept"),
    }
    write_atomically(out / "cohort.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    return summary


def _earlier_summaries(out: Path) -> dict[str, Mapping[str, Any]]:
    """Patients of the last command: a cube of a remote store is not downloaded to be listed."""
    try:
        patients = load_json(out / "cohort.json")["patients"]
        return {
            patient["patient"]: patient for patient in patients if set(_SUMMARY) <= set(patient)
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}
