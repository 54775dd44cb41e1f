"""A whole cohort → a folder of cubes: in parallel, resumable, with its audit and summary.

A cube is keyed by what it is made from: the content of its signal files, what its sidecars said,
and the plan's fields that it depends on. Same key: it is kept. Otherwise only it is made anew.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from epilens.data.audit import AuditRow, audit_frame
from epilens.data.bids import Recordings
from epilens.data.recording import Recording, SeizureRun, read_run
from epilens.data.repeats import Repeats
from epilens.data.scan import Patient
from epilens.data.sidecars import natural, read_table
from epilens.errors import DataError, EpilensError
from epilens.evidence.cube import save, save_store
from epilens.evidence.describe import describe_patient
from epilens.evidence.signals import make_signals
from epilens.evidence.traces import make_traces
from epilens.plan import Plan
from epilens.processes import work_through
from epilens.progress import StepFunction, Ticks
from epilens.storage import own_folder, write_atomically
from epilens.terminal import visible

VERSION = 1
"""Raised when the same sources and plan would give other numbers."""

STORES: dict[str, tuple[Callable[..., xr.Dataset], set[str]]] = {
    "traces": (make_traces, {"traces"}),
    "signals": (make_signals, {"filter", "windows"}),
}
"""What can lie beside the cubes: how it is made, and the sections of the plan that change it."""


@dataclass(frozen=True)
class Job:
    """One patient to be described, and where its cube goes."""

    patient: Patient
    plan: Plan
    out: Path
    stores: tuple[str, ...]
    threads: int | None


@dataclass(frozen=True)
class Outcome:
    """What became of a patient: summary (None: excluded), audit rows, whether it was kept."""

    summary: dict[str, Any] | None
    rows: tuple[AuditRow, ...]
    kept: bool


def describe_cohort(
    parts: Sequence[Recordings],
    out: str | Path,
    plan: Plan,
    jobs: int = 1,
    stores: Collection[str] = (),
    tick: Ticks | StepFunction | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Write the cubes of all patients; returns the summary that is also in `cohort.json`."""
    out = Path(out)
    patients = [patient for part in parts for patient in part.patients]
    _check_names(patients, out)
    own_folder(out, "cubes")
    tick = Ticks.of(tick)
    tick.expect(sum(len(patient.runs) for patient in patients))
    threads = 1 if jobs > 1 else threads
    work = [Job(patient, plan, out, tuple(stores), threads) for patient in patients]
    outcomes = {}
    for job, outcome in _all(work, jobs):
        outcomes[job.patient.name] = outcome
        note = "kept" if outcome.kept else "described" if outcome.summary else "left out"
        tick(f"{job.patient.name} {note}", len(job.patient.runs))
    _write_audit(out / "audit.tsv", {part.title: _rows(part, outcomes) for part in parts})
    return _write_summary(out, outcomes, plan)


def _rows(part: Recordings, outcomes: Mapping[str, Outcome]) -> list[AuditRow]:
    """What the sidecars told, then what the signals told."""
    told = [row for patient in part.patients for row in outcomes[patient.name].rows]
    return list(dict.fromkeys([*part.rows, *told]))


def _all(work: list[Job], jobs: int) -> Iterator[tuple[Job, Outcome]]:
    # The largest patients first, so that no process is left with one at the end.
    work = sorted(work, key=_size, reverse=True) if jobs > 1 else work
    yield from work_through(describe_one, work, jobs)


def _size(job: Job) -> float:
    return sum(len(run.channels) * (run.stated_fs or 1000.0) for run in job.patient.runs)


def describe_one(job: Job) -> Outcome:
    """Describe one patient, unless its cube and the stores beside it are there already."""
    sources = _digests(job)
    key = cube_key(job.patient, job.plan, sources)
    outcome = _cube(job, key, sources)
    if outcome.summary is None:
        for name in STORES:
            shutil.rmtree(_place(job, name), ignore_errors=True)
        return outcome
    made = [_make_store(job, name, key) for name in job.stores]
    return replace(outcome, kept=outcome.kept and not any(made))


def _cube(job: Job, key: str, sources: dict[str, str]) -> Outcome:
    path = job.out / f"{job.patient.name}.zarr"
    known = _known(path)
    if known.get("key") == key:
        return Outcome(_summary(known), tuple(AuditRow(**row) for row in known["audit"]), True)
    rows: list[AuditRow] = []
    try:
        cube, described = describe_patient(_recordings(job, rows), job.plan, job.threads)
    except EpilensError as error:
        shutil.rmtree(path, ignore_errors=True)
        rows.append(AuditRow("patient", str(error), job.patient.name))
        return Outcome(None, tuple(rows), False)
    rows = list(dict.fromkeys(rows + described))
    cube.attrs |= {
        "key": key,
        "sources": sources,
        "audit": [asdict(row) for row in rows],
        "channels": cube.sizes["channel"],
        "seizures": int(cube["valid"].any(["window", "channel"]).sum()),
        "ez_channels": int(cube["is_ez"].sum()) if "is_ez" in cube else None,
    }
    save(cube, path)
    return Outcome(_summary(cube.attrs), tuple(rows), False)


def _recordings(job: Job, rows: list[AuditRow]) -> Iterator[Recording]:
    """Recordings of a patient; the next one is read while the one before is described."""
    repeats = Repeats(job.plan)
    for result in _one_ahead(lambda run: _try_run(run, job.plan), job.patient.runs, job.threads):
        recording, noted = result
        rows += noted
        if recording is not None and repeats.admit(recording, rows):
            yield recording


def _try_run(run: SeizureRun, plan: Plan) -> tuple[Recording | None, list[AuditRow]]:
    try:
        return read_run(run, plan)
    except DataError as error:
        return None, [AuditRow("seizure", str(error), run.patient, run.name)]


def _one_ahead(
    work: Callable[[SeizureRun], Any], items: Sequence[SeizureRun], threads: int | None
) -> Iterator[Any]:
    """`map`, with one result prepared in the background where there is a thread to spare."""
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(work, item) for item in items[:1]]
        for item in [*items[1:], None]:
            ready = waiting.pop()
            result = ready.result()
            if item is not None:
                waiting.append(pool.submit(work, item))
            yield result


def _place(job: Job, name: str) -> Path:
    return job.out / name / f"{job.patient.name}.zarr"


def _make_store(job: Job, name: str, cube: str) -> bool:
    """Write the store beside a cube, unless it is there already; whether it was written."""
    make, sections = STORES[name]
    fields = job.plan.model_dump(mode="json", include=sections)
    tree = json.dumps([VERSION, cube, fields], sort_keys=True)
    key = hashlib.sha256(tree.encode()).hexdigest()[:32]
    if _known(_place(job, name)).get("key") == key:
        return False
    told: list[AuditRow] = []  # the same rows that describing the cube has told
    store = make(_recordings(job, told), job.plan)
    store.attrs["key"] = key
    save_store(store, _place(job, name))
    return True


def cube_key(patient: Patient, plan: Plan, sources: dict[str, str]) -> str:
    """Digest of all that a cube depends on."""
    fields = plan.model_dump(mode="json", include={"montage", "quality", "filter", "windows"})
    fields["duplicates"] = plan.cohort.duplicates
    tree = [VERSION, patient.center, fields, [_run_facts(run) for run in patient.runs], sources]
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:32]


def _run_facts(run: SeizureRun) -> dict[str, Any]:
    """What the sidecars said about a run; where its file lies does not matter."""
    facts = vars(run) | {"path": run.path and run.path.name, "listed": sorted(run.listed)}
    return facts | {"onset": vars(run.onset), "positions": vars(run.positions)}


def _sources(run: SeizureRun) -> list[Path]:
    """The signal file and its companions (BrainVision and Persyst have more than one)."""
    if run.path is None or not run.path.is_file():
        return []
    stem = run.path.name.partition(".")[0]
    return sorted(
        p
        for p in run.path.parent.iterdir()
        if p.name.partition(".")[0] == stem and p.suffix not in (".json", ".tsv") and p.is_file()
    )


def _digests(job: Job) -> dict[str, str]:
    files = [file for run in job.patient.runs for file in _sources(run)]
    with ThreadPoolExecutor(job.threads or 2) as pool:
        return dict(zip((file.name for file in files), pool.map(_digest, files), strict=True))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def _known(path: Path) -> dict[str, Any]:
    """Attributes of a finished cube, without reading its arrays; empty when there is none."""
    try:
        return json.loads((path / ".zattrs").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}


def _summary(attrs: dict[str, Any]) -> dict[str, Any]:
    keys = (
        "patient",
        "center",
        "modality",
        "seizures",
        "channels",
        "ez_channels",
        "key",
        "plan_digest",
    )
    return {key: attrs[key] for key in keys}


def _check_names(patients: Sequence[Patient], out: Path) -> None:
    seen: dict[str, str] = {}
    for patient in patients:
        known = _known(out / f"{patient.name}.zarr").get("center")
        other = seen.get(patient.name, known)
        if patient.name in seen or other not in (None, patient.center):
            raise DataError(
                f"{patient.name}: expected names that are unique over all datasets, found it in "
                f"{other!r} and {patient.center!r}. Give each dataset its own --out folder."
            )
        seen[patient.name] = patient.center


def _write_audit(path: Path, rows: Mapping[str, list[AuditRow]]) -> None:
    """The audit of every dataset in the folder; those that were described now are replaced."""
    tables = [
        audit_frame(part).map(visible).assign(dataset=visible(title))
        for title, part in rows.items()
    ]
    if path.exists():
        old = read_table(path)
        tables.insert(0, old[~old["dataset"].isin([visible(title) for title in rows])])
    text = io.StringIO()
    pd.concat(tables).to_csv(text, sep="\t", index=False, quoting=csv.QUOTE_NONE, escapechar="\\")
    write_atomically(path, text.getvalue())


def _write_summary(out: Path, outcomes: dict[str, Outcome], plan: Plan) -> dict[str, Any]:
    """`cohort.json`: every patient of the folder, those of earlier commands too."""
    there = {p.name.removesuffix(".zarr"): _summary(_known(p)) for p in out.glob("*.zarr")}
    left_out = sorted(name for name, outcome in outcomes.items() if outcome.summary is None)
    summary = {
        "plan_digest": plan.digest,
        "patients": [there[name] for name in sorted(there, key=natural)],
        "left_out": left_out,
        "described": sum(o.summary is not None and not o.kept for o in outcomes.values()),
        "kept": sum(o.kept for o in outcomes.values()),
    }
    write_atomically(out / "cohort.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    return summary
