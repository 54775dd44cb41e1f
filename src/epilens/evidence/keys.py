"""Keys: digests of all that a patient's stores are made from.

The content of its signal files, what its sidecars said, the fields of the plan that change it, and
the code that computes it. Comments, unrelated modules and other fields of the plan change no key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from epilens.core.provenance import code_digest, digest_of
from epilens.data.bids_scan import Patient
from epilens.data.channels.user_choices import kept_of
from epilens.data.readers.formats import files_of
from epilens.data.recording import SeizureRun
from epilens.evidence.descriptors import DESCRIPTORS, Descriptor
from epilens.evidence.seizures import READING, Store
from epilens.plan import Plan


def recordings_key(patient: Patient, plan: Plan, sources: Mapping[str, str]) -> str:
    """Digest of all that the recordings of a patient depend on, whatever is made of them."""
    return digest_of(
        {
            "center": patient.center,
            "sources": sources,
            "runs": [_run_facts(run) for run in patient.runs],
            "plan": _reading_plan(patient.name, plan),
            "duplicates": plan.cohort.duplicates,
            "ez": plan.cohort.ez,
            "code": code_digest("epilens.data.read_seizures"),
        }
    )


def store_key(store: Store, recordings: str, plan: Plan) -> str:
    """Digest of all that a store depends on."""
    names = plan.descriptors if "descriptors" in store.sections else ()
    # The module of the paper's rows is behind every cube; others only behind those that name them.
    others = {DESCRIPTORS.origin(name).module for name in names} - {Descriptor.__module__}
    return digest_of(
        {
            "recordings": recordings,
            "plan": plan.model_dump(mode="json", include=set(store.sections)),
            "code": code_digest(store.module, *sorted(others)),
        }
    )


def _reading_plan(patient: str, plan: Plan) -> dict[str, Any]:
    """The sections by which recordings are read, without the contacts kept of other patients."""
    kept = kept_of(patient, plan.quality.keep)
    quality = plan.quality.changed({"keep": [f"{patient}:{name}" for name in kept]})
    return plan.model_copy(update={"quality": quality}).model_dump(
        mode="json", include=set(READING)
    )


def _run_facts(run: SeizureRun) -> dict[str, Any]:
    """What the sidecars said about a run; where its file lies does not matter."""
    return vars(run) | {"source": run.source and run.source.name}


def _sources(run: SeizureRun) -> list[Path]:
    """The signal file and its companions (BrainVision and Persyst have more than one)."""
    return [] if run.source is None or not run.source.is_file() else files_of(run.source)


def source_digests(runs: Iterable[SeizureRun], threads: int | None = None) -> dict[str, str]:
    """SHA-256 of every signal file by its name."""
    files = [file for run in runs for file in _sources(run)]
    with ThreadPoolExecutor(threads or 2) as pool:
        return dict(zip((file.name for file in files), pool.map(_digest, files), strict=True))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"
