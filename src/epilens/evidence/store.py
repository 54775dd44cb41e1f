"""A whole cohort → a folder of cubes: in parallel, resumable, with its audit and summary.

A store is keyed by what it is made from: the content of its signal files, what its sidecars said,
the fields of the plan that it depends on, and the code that computes it. Same key: it is kept.
Otherwise only it is made anew, together with what else of its patient is: every file is read once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from epilens.compute.local import available_bytes, map_jobs
from epilens.core.console import visible
from epilens.core.errors import CubeError, DataError, EpilensError, PlanError, WorkerError
from epilens.core.progress import Progress, StepFunction
from epilens.data.audit import AuditRow, audit_frame
from epilens.data.bids import Recordings
from epilens.data.cohort import participant_facts
from epilens.data.read_seizures import Pending, read_or_audit
from epilens.data.recording import Recording
from epilens.data.scan import Patient
from epilens.data.sidecars import read_table
from epilens.evidence.contact_features import CONTACT_FEATURES
from epilens.evidence.describe import CUBE, audit_of
from epilens.evidence.descriptors import DESCRIPTORS
from epilens.evidence.files import (
    SUFFIX,
    attributes_of,
    cubes_in,
    first_corrupt_chunk,
    is_own_store,
    open_cube,
    remove_stores,
    save,
    save_store,
    store_path,
)
from epilens.evidence.keys import recordings_key, source_digests, store_key
from epilens.evidence.seizures import fill
from epilens.evidence.signals import SIGNALS
from epilens.evidence.traces import TRACES
from epilens.io.atomic import load_json
from epilens.io.delimited import plain, to_tsv
from epilens.io.outputs import locked_output, write_atomically
from epilens.plan import Plan

STORES = {store.name: store for store in (CUBE, CONTACT_FEATURES, TRACES, SIGNALS)}
"""The cube, and what can lie beside it."""
_SUMMARY = ("patient", "center", "modality", "seizures", "channels", "ez_channels", "key")
_SUMMARY += ("plan_digest",)
"""Attributes of a cube that `cohort.json` lists."""
DAMAGED = ".damaged"
"""What is added to the name of a file that is in the way of a store."""
RECOGNISE_GLOBS = (f"*{SUFFIX}", f"*{SUFFIX}{DAMAGED}", "cohort.json", "audit.tsv", *STORES)
"""Names in a folder of cubes."""


@dataclass(frozen=True)
class Job:
    """One patient to be described, and where its cube goes."""

    patient: Patient
    plan: Plan
    out: Path
    beside: tuple[str, ...] = ()
    """Stores that are wanted beside the cube."""
    threads: int | None = None

    def place(self, store: str) -> Path:
        """File of the cube or of a store beside it."""
        return store_path(self.out / f"{self.patient.name}{SUFFIX}", store)


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
    tick: Progress | StepFunction | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Write the cubes of all patients; returns the summary that is also in `cohort.json`."""
    out = Path(out)
    for name in plan.descriptors:
        DESCRIPTORS[name]  # a name that nobody has is refused before anything is read
    patients = [patient for part in parts for patient in part.patients]
    tick = Progress.of(tick)
    threads = 1 if jobs > 1 else threads
    # Contact features are small, and the shipped model reads them: every cube has them beside it.
    beside = tuple(dict.fromkeys((CONTACT_FEATURES.name, *stores)))
    work = [Job(patient, plan, out, beside, threads) for patient in patients]
    _check_names(patients, out)
    _check_memory(work, jobs)
    with locked_output(out, "cubes", RECOGNISE_GLOBS):
        tick.expect(sum(len(patient.runs) for patient in patients))
        outcomes = _describe_all(work, jobs, tick)
        _write_audit(out / "audit.tsv", {part.title: _rows(part, outcomes) for part in parts})
        return _write_summary(out, outcomes, plan)


def _describe_all(work: list[Job], jobs: int, tick: Progress) -> dict[str, Outcome]:
    outcomes = {}
    for job, outcome in _all(work, jobs):
        outcomes[job.patient.name] = outcome
        note = "kept" if outcome.kept else "described" if outcome.summary else "left out"
        tick(f"{job.patient.name} {note}", len(job.patient.runs))
    return outcomes


def _rows(part: Recordings, outcomes: Mapping[str, Outcome]) -> list[AuditRow]:
    """What the sidecars say, then what the signals say."""
    of_signals = [row for patient in part.patients for row in outcomes[patient.name].rows]
    return list(dict.fromkeys([*part.rows, *of_signals]))


def _all(work: list[Job], jobs: int) -> Iterator[tuple[Job, Outcome]]:
    # The largest patients first, so that no process is left with one at the end.
    work = sorted(work, key=_size, reverse=True) if jobs > 1 else work
    yield from map_jobs(describe_one, work, jobs, lambda job: job.patient.name, _lost)


def _lost(job: Job, error: WorkerError) -> Outcome:
    """A patient whose worker was killed each time is left out; the next command tries again."""
    return Outcome(None, (AuditRow.of("patient", error, (job.patient.name,)),), False)


def _size(job: Job) -> float:
    return sum(len(run.channels) * (run.stated_fs or 1000.0) for run in job.patient.runs)


def describe_one(job: Job) -> Outcome:
    """Describe one patient, unless its cube and the stores beside it are there already."""
    sources = source_digests(job.patient.runs, job.threads)
    recordings = recordings_key(job.patient, job.plan, sources)
    keys = {n: store_key(STORES[n], recordings, job.plan) for n in ("cube", *job.beside)}
    todo = [STORES[n] for n, key in keys.items() if _whole(job.place(n)).get("key") != key]
    rows: list[AuditRow] = []
    try:
        made = fill(todo, _recordings(job, rows), job.plan, job.threads) if todo else {}
    except EpilensError as error:
        remove_stores(job.place("cube"), STORES)
        rows.append(AuditRow.of("patient", error, (job.patient.name,)))
        return Outcome(None, tuple(rows), False)
    facts = participant_facts(job.patient.participant)
    if "cube" in made:
        about = _counts(made["cube"], rows) | {"sources": sources, "participant": facts}
        made["cube"].attrs |= about
    elif attributes_of(job.place("cube")).get("participant") != facts:
        _tell_participant(job.place("cube"), facts)
    for name, store in made.items():
        store.attrs |= {"key": keys[name], "recordings": recordings}
        _set_aside(job.place(name))
        save_store(store, job.place(name))
    about = {name: attributes_of(job.place(name)) for name in keys}
    audit = [AuditRow(**row) for of_store in about.values() for row in of_store.get("audit", ())]
    return Outcome(_summary(about["cube"]), tuple(audit), kept=not made)


def _attributes(path: Path) -> dict[str, Any]:
    """Attributes of a store; none where there is no store."""
    try:
        return attributes_of(path)
    except CubeError:
        return {}


def _whole(path: Path) -> dict[str, Any]:
    """Attributes of a store; none where there is no store, or a damaged one."""
    return {} if first_corrupt_chunk(path) else _attributes(path)


def _set_aside(path: Path) -> None:
    """A file in place of a store that is none, or is damaged at its start, gets another name."""
    if path.exists() and not is_own_store(path):
        path.replace(path.with_name(f"{path.name}{DAMAGED}"))


def _counts(cube: xr.Dataset, rows: Sequence[AuditRow]) -> dict[str, Any]:
    """What the summary needs of a cube, and the audit of reading and describing it."""
    audit = dict.fromkeys([*rows, *audit_of(cube)])
    return {
        "audit": [row.to_json() for row in audit],
        "channels": cube.sizes["channel"],
        "seizures": int(cube["valid"].values.any(axis=(1, 2)).sum()),
        "ez_channels": int(cube["is_ez"].sum()) if "is_ez" in cube else None,
    }


def _tell_participant(path: Path, facts: dict[str, Any]) -> None:
    """No method is given these facts: the cube's numbers and key stay."""
    save(open_cube(path).assign_attrs(participant=facts), path)


def _recordings(job: Job, rows: list[AuditRow]) -> Iterator[Recording]:
    """Recordings of a patient; the next one is read while the one before is described."""
    runs = map(Pending.of, job.patient.runs)
    for attempt in read_or_audit(runs, job.plan, ahead=job.threads != 1):
        rows += attempt.rows
        if attempt.recording is not None:
            yield attempt.recording


def _summary(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: attributes[key] for key in _SUMMARY}


def _check_names(patients: Sequence[Patient], out: Path) -> None:
    cubes = cubes_in(out)
    seen: dict[str, str] = {}
    for patient in patients:
        name = patient.name
        other = seen.get(name, _attributes(cubes[name]).get("center") if name in cubes else None)
        if name in seen or other not in (None, patient.center):
            raise DataError(
                f"{name}: expected names that are unique over all datasets, found it in "
                f"{other!r} and {patient.center!r}. Give each dataset its own --out folder."
            )
        seen[name] = patient.center


def _check_memory(work: Sequence[Job], jobs: int) -> None:
    """Refuse a plan whose evidence cannot be held, before anything is allocated."""
    needed = sorted((_bytes_of(job), job.patient.name) for job in work)[-max(1, jobs) :]
    total, free = sum(size for size, _ in needed), available_bytes()
    if total > free:
        raise PlanError(
            f"describe: expected evidence that fits into the memory that is free ({free / 1e9:.1f} "
            f"GB), found {total / 1e9:.1f} GB for {needed[-1][1]} and whoever is described beside "
            "it. Use a larger windows.stride_s or a shorter interval, fewer traces.segments, or "
            "fewer --jobs."
        )


def _bytes_of(job: Job) -> float:
    """What the windows and segments of a patient take: of each seizure, and of all together."""
    plan, w = job.plan, job.plan.windows
    windows = (w.stop_s - w.start_s - w.length_s) / w.stride_s + 1
    numbers = windows * len(plan.descriptors)
    if "traces" in job.beside:
        numbers += plan.traces.segments * plan.traces.samples
    return 2 * 4 * numbers * sum(len(run.channels) for run in job.patient.runs)


def _write_audit(path: Path, rows: Mapping[str, list[AuditRow]]) -> None:
    """The audit of every dataset in the folder; those that were described now are replaced."""
    tables = [
        audit_frame(part).map(visible).assign(dataset=visible(title))
        for title, part in rows.items()
    ]
    if path.exists() and (old := _earlier(path, list(tables[0]))) is not None:
        tables.insert(0, old[~old["dataset"].isin([visible(title) for title in rows])])
    table = pd.concat(tables)
    write_atomically(path, to_tsv(list(table.columns), table.to_numpy().tolist()))


def _earlier(path: Path, columns: list[str]) -> pd.DataFrame | None:
    """The audit of earlier commands; None where it is damaged: their datasets write it anew."""
    try:
        old = read_table(path).map(plain)
    except (EpilensError, ValueError):
        return None
    return old if list(old) == columns else None


def _write_summary(out: Path, outcomes: dict[str, Outcome], plan: Plan) -> dict[str, Any]:
    """`cohort.json`: every patient of the folder, those of earlier commands too."""
    left_out = sorted(name for name, outcome in outcomes.items() if outcome.summary is None)
    earlier = _earlier_summaries(out)
    about = {
        name: earlier.get(name) if not path.exists() and name in earlier else _attributes(path)
        for name, path in cubes_in(out).items()
    }
    summary = {
        "plan_digest": plan.digest,
        "patients": [_summary(attributes) for attributes in about.values() if attributes],
        "left_out": left_out,
        "damaged": [name for name, attributes in about.items() if not attributes],
        "described": sum(o.summary is not None and not o.kept for o in outcomes.values()),
        "kept": sum(o.kept for o in outcomes.values()),
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
