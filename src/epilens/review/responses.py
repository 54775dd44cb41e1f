"""JSON answers of the service: runs, comparisons, readings and the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from epilens.core.errors import EpilensError
from epilens.data.channels.contacts import contact_of, short_names
from epilens.data.user_files import natural
from epilens.review.batch import PatientBatch
from epilens.review.comparison import compare
from epilens.review.file_onsets import onsets_to_json
from epilens.review.reading_export import agreements, describe_agreement
from epilens.review.readings import Reading
from epilens.review.runs import ReviewRun, describe_differences
from epilens.review.service import Service


def runs_to_json(service: Service, code: str) -> dict[str, Any]:
    """Return the runs of a patient, newest last, and its current marks or their problem."""
    titles = service.file_titles(code)
    marks, problem = service.mark_store.read_or_problem(code)
    case = service.session.case(code)
    return {
        "patient": case.code,
        "problem": problem,
        "files": [
            {"name": file.name, "shown": file.shown, **onsets}
            for file, onsets in zip(case.files, onsets_to_json(case, marks), strict=True)
        ],
        "exclude": list(short_names(tuple(marks.bad))),
        "runs": [run_to_json(service, run, titles) for run in service.runs(code)],
    }


def run_to_json(service: Service, run: ReviewRun, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return one run."""
    recordings = [
        {
            "shown": titles.get(recording.file, recording.file),
            "onsets_s": [onset.onset_s for onset in recording.onsets],
        }
        for recording in run.inputs.recordings
    ]
    return {
        "number": run.number,
        "title": run.inputs.title,
        "begun_at": run.record.begun_at,
        "recordings": recordings,
        "exclude": list(short_names(run.inputs.exclude)),
        "state": (state := service.processes.state(run)).to_json(),
        "used": _seizures_used(run) if state.kind == "done" else "",
    }


def _seizures_used(run: ReviewRun) -> str:
    """How many seizures the ranking is based on; empty where it is damaged or older."""
    try:
        return run.ranking.used
    except EpilensError:
        return ""


def comparison_to_json(old: ReviewRun, new: ReviewRun, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return two runs next to each other and what differs between their inputs."""
    old_ranking, new_ranking = old.ranking, new.ranking
    comparison = compare(old_ranking, new_ranking).to_json()
    comparison["contacts"] = _add_short_names(comparison["contacts"])
    return {
        "old": old.number,
        "new": new.number,
        "titles": [old_ranking.title, new_ranking.title],
        "changed": describe_differences(old.inputs, new.inputs, titles),
        **comparison,
    }


def contacts_to_json(run: ReviewRun, hidden: bool = False) -> list[dict[str, Any]]:
    """Return the contacts of a run with their electrodes, best first; hidden: by name alone."""
    ranked = run.ranking.contacts
    contacts = sorted(ranked, key=lambda contact: natural(contact.name)) if hidden else ranked
    rows = []
    for contact in contacts:
        parsed = contact_of(contact.name)
        tree = {"name": contact.name} if hidden else contact.to_json()
        tree |= {which: getattr(parsed, which, None) for which in ("shaft", "number")}
        rows.append(tree)
    return _add_short_names(rows)


def _add_short_names(contacts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the names of the report page."""
    short = short_names([contact["name"] for contact in contacts])
    return [contact | {"short": name} for contact, name in zip(contacts, short, strict=True)]


def reading_to_json(reading: Reading) -> dict[str, Any]:
    """Return a reading and whether it is intact."""
    return reading.to_json() | {"intact": reading.is_intact}


def readings_to_json(service: Service, run: ReviewRun, reader: str) -> dict[str, Any]:
    """Return a reader's own reading; those of others only after it is signed.

    To a reader who marks before the results are sent, the contacts are listed without them.
    """
    store, ranking = service.readings(run.inputs.patient), run.ranking
    own = store.latest(reader) if reader else None
    hidden = not service.may_see_results(run.inputs.patient, reader)
    if reader and not hidden:
        store.note_seen(reader)
    has_signed, signed = store.has_signed(reader), store.last_signed()
    others = [reading for who, reading in signed.items() if has_signed and who != reader]
    return {
        "run": run.number,
        "hidden": hidden,
        "k": 0 if hidden else ranking.k,
        "contacts": contacts_to_json(run, hidden),
        "own": own and reading_to_json(own),
        "blind": own and blind_to_json(own, run),
        "others": [reading_to_json(reading) for reading in others],
        "may_export": has_signed,
        "signers": [signature_to_json(reading) for reading in signed.values()],
        "agreement": [] if hidden else agreements_to_json(signed, run.number, ranking.names),
    }


def blind_to_json(reading: Reading, run: ReviewRun) -> dict[str, Any] | None:
    """Return how a blind reading agrees with the ranking; None if it was not blind."""
    judgement, ranking = reading.judgement, run.ranking
    if not judgement.blind or judgement.run != run.number:
        return None
    top = {contact.name for contact in ranking.contacts if contact.rank <= ranking.k}
    marked = {"onset zone": judgement.zone, "plan": judgement.blind_plan}
    return {
        subject: {
            "marked": len(names),
            "shared": len(top & set(names)),
            "by_chance": ranking.k * len(names) / len(ranking.names),
        }
        for subject, names in marked.items()
    }


def signature_to_json(reading: Reading) -> dict[str, Any]:
    """Return who signed which run and when, without the judgement."""
    return {
        "reader": reading.reader,
        "signed_on": reading.signed_on,
        "version": reading.version,
        "run": reading.judgement.run,
        "intact": reading.is_intact,
    }


def agreements_to_json(
    signed: Mapping[str, Reading], run: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return each agreement on a run with its sentence."""
    return [
        agreement.to_json() | {"what": subject, "text": describe_agreement(subject, agreement)}
        for subject, agreement in agreements(signed, run, names).items()
        if agreement is not None
    ]


def queue_to_json(service: Service) -> dict[str, Any]:
    """Return the state of every patient; those that nobody has signed await review."""
    rows = {row.patient: asdict(row) for row in service.batch.rows}
    codes = [case.code for case in service.session.cases]
    patients = [_patient_to_json(service, code) | {"batch": rows.get(code)} for code in codes]
    return {
        "patients": patients,
        "unread": sum(not patient["signers"] for patient in patients),
        "batch": batch_to_json(service.batch),
    }


def batch_to_json(batch: PatientBatch) -> dict[str, Any]:
    """Return the state of the batch as a whole."""
    return {"running": batch.is_running, "choice": batch.choice, "problem": batch.problem}


def _patient_to_json(service: Service, code: str) -> dict[str, Any]:
    """Return the state of a patient; damaged files affect its own row only."""
    state: dict[str, Any] = {"code": code, "problem": "", "signers": [], "drafts": 0}
    state |= {"run": 0, "runs": 0, "running": False, "agreement": []}
    try:
        runs, store = list(service.runs(code)), service.readings(code)
        kinds = [service.processes.state(run).kind for run in runs]
        signed = store.last_signed()
        state |= {"runs": len(runs), "running": "running" in kinds}
        state["signers"] = [signature_to_json(reading) for reading in signed.values()]
        state["drafts"] = len(store.readers) - len(signed)
        if "done" in kinds:
            latest = [run for run, kind in zip(runs, kinds, strict=True) if kind == "done"][-1]
            names = latest.ranking.names
            state["run"] = latest.number
            state["agreement"] = agreements_to_json(signed, latest.number, names)
    except EpilensError as error:
        state["problem"] = str(error)
    return state
