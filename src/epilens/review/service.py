"""The bench: one patient's runs and readings, the queue and the batch, over what the desk knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from epilens.core.errors import DataError
from epilens.data.contacts import contact_of, short_names
from epilens.review.agreement import Agreement
from epilens.review.batch import Batch, Work
from epilens.review.comparison import compare
from epilens.review.errors import NotFoundError
from epilens.review.jobs import RunProcesses
from epilens.review.mark_store import MarkStore
from epilens.review.rankers import Ranker, find_ranker, list_rankers
from epilens.review.reading_export import agreements, in_words
from epilens.review.readings import Reading, ReadingStore
from epilens.review.run_spec import RunMarks, RunSpec, make_run_spec
from epilens.review.runs import PatientRuns, ReviewRun, differences
from epilens.review.session import Session


@dataclass(frozen=True)
class Service:
    """Everything that is run and read at a desk."""

    session: Session
    mark_store: MarkStore

    @cached_property
    def jobs(self) -> RunProcesses:
        """The processes of this server."""
        return RunProcesses()

    @cached_property
    def batch(self) -> Batch:
        """The batch of this folder."""
        return Batch(self.session.out / "batch.json", Work(self.runs, self.order), self.jobs)

    @property
    def choices(self) -> tuple[Ranker, ...]:
        """What can rank contacts, looked up anew: a model may have been trained meanwhile."""
        return list_rankers((*self.session.models, self.session.out))

    def shown(self, code: str) -> dict[str, str]:
        """What the screen calls each recording of a patient."""
        return {file.name: file.shown for file in self.session.case(code).files}

    def marks(self, code: str) -> RunMarks:
        """What is marked for a patient now."""
        marks = self.mark_store.read(code)
        onsets_s = {name: marks.onsets_s(name) for name in marks.files}
        return RunMarks(onsets_s, tuple(marks.bad))

    def runs(self, code: str) -> PatientRuns:
        """The runs of a patient."""
        return PatientRuns(self.session.folder(code) / "runs", self.session.case(code).code)

    def run(self, code: str, number: object) -> ReviewRun:
        """A run of a patient, by what a browser calls its number."""
        if not str(number).isdecimal() or len(str(number)) > 9:
            raise NotFoundError(f"{code}: expected the number of a run, found another word.")
        return self.runs(code)[int(str(number))]

    def readings(self, code: str) -> ReadingStore:
        """The readings of a patient."""
        return ReadingStore(self.session.folder(code) / "readings", self.session.case(code).code)

    def order(self, code: str, choice: Ranker) -> RunSpec:
        """The run of a patient with its marks as they are now."""
        return make_run_spec(self.session.case(code), self.marks(code), choice)

    def start(self, code: str, choice: object) -> ReviewRun:
        """Begin a run, unless this patient has one on its way."""
        runs = self.runs(code)
        if any(self.jobs.state(run).kind == "running" for run in runs):
            raise DataError(f"{code}: expected no run on its way, found one. Wait for it.")
        return self.jobs.start(runs, self.order(code, find_ranker(self.choices, choice)))

    def start_batch(self, choice: object) -> None:
        """Rank every patient at the desk."""
        codes = [case.code for case in self.session.cases]
        self.batch.start(codes, find_ranker(self.choices, choice))


def runs_to_json(service: Service, code: str) -> dict[str, Any]:
    """A patient's runs for the screen, newest last."""
    shown = service.shown(code)
    marks = service.marks(code)
    return {
        "patient": service.session.case(code).code,
        "files": [
            {"name": name, "shown": text, "onsets_s": list(marks.onsets_s.get(name, ()))}
            for name, text in shown.items()
        ],
        "exclude": list(short_names(marks.exclude)),
        "runs": [run_to_json(service, run, shown) for run in service.runs(code)],
    }


def run_to_json(service: Service, run: ReviewRun, shown: dict[str, str]) -> dict[str, Any]:
    """One run for the screen."""
    recordings = [
        {"shown": shown.get(one.file, one.file), "onsets_s": list(one.onsets_s)}
        for one in run.asked.recordings
    ]
    return {
        "number": run.number,
        "title": run.asked.title,
        "begun_at": run.begun_at,
        "recordings": recordings,
        "exclude": list(short_names(run.asked.exclude)),
        "state": asdict(service.jobs.state(run)),
    }


def comparison_to_json(old: ReviewRun, new: ReviewRun, shown: Mapping[str, str]) -> dict[str, Any]:
    """Two runs side by side, and what was asked otherwise; files by the names that are shown."""
    titles = [old.ranking.title, new.ranking.title]
    told = {"old": old.number, "new": new.number, "titles": titles}
    changed = differences(old.asked, new.asked, shown)
    found = asdict(compare(old.ranking, new.ranking))
    return told | {"changed": changed} | found | {"contacts": _with_short(found["contacts"])}


def contacts_to_json(run: ReviewRun) -> list[dict[str, Any]]:
    """The contacts of a run, best first, with the electrode that they are on."""
    rows = []
    for one in run.ranking.contacts:
        contact = contact_of(one.name)
        shaft = getattr(contact, "shaft", None)
        rows.append(asdict(one) | {"shaft": shaft, "number": getattr(contact, "number", None)})
    return _with_short(rows)


def _with_short(contacts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Contacts with the names that their page has for them."""
    short = short_names([one["name"] for one in contacts])
    return [one | {"short": name} for one, name in zip(contacts, short, strict=True)]


def reading_to_json(reading: Reading | None) -> dict[str, Any] | None:
    """A reading for the screen."""
    return None if reading is None else asdict(reading) | {"intact": reading.is_intact}


def readings_to_json(service: Service, run: ReviewRun, reader: str) -> dict[str, Any]:
    """What a reader needs: their own reading; others' verdicts only when theirs is signed."""
    readings = service.readings(run.asked.patient)
    own = readings.newest(reader) if reader else None
    signed = readings.last_signed()
    done = has_signed(readings, reader)
    others = [reading_to_json(one) for who, one in signed.items() if done and who != reader]
    return {
        "run": run.number,
        "k": run.ranking.k,
        "contacts": contacts_to_json(run),
        "own": reading_to_json(own),
        "others": others,
        "may_export": done,
        "signers": [who_signed(one) for one in signed.values()],
        "agreement": agreement_to_json(signed, run.number, run.ranking.names),
    }


def has_signed(readings: ReadingStore, reader: str) -> bool:
    """Whether a reader has said all that they will: only then they see what others said."""
    own = readings.newest(reader) if reader else None
    return own is not None and bool(own.signed_on)


def who_signed(one: Reading) -> dict[str, Any]:
    """Who, when, about which run; nothing of what was said."""
    told = {"reader": one.reader, "signed_on": one.signed_on, "version": one.version}
    return told | {"run": one.judgement.run, "intact": one.is_intact}


def agreement_to_json(
    signed: dict[str, Reading], run: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Each agreement of a run with its sentence."""
    found: dict[str, Agreement | None] = agreements(signed, run, names)
    return [
        asdict(one) | {"what": what, "text": in_words(what, one)}
        for what, one in found.items()
        if one is not None
    ]


def queue_to_json(service: Service) -> dict[str, Any]:
    """Every patient with how far it is; who is not signed by anybody is to be read."""
    rows = {row.patient: asdict(row) for row in service.batch.rows}
    patients = [
        _told_patient(service, case.code, rows.get(case.code)) for case in service.session.cases
    ]
    return {
        "patients": patients,
        "unread": sum(not one["signers"] for one in patients),
        "batch": {"running": service.batch.is_running, "choice": service.batch.choice},
    }


def _told_patient(service: Service, code: str, row: dict[str, Any] | None) -> dict[str, Any]:
    """A patient whose files are damaged costs its own row."""
    told: dict[str, Any] = {"code": code, "batch": row, "problem": "", "signers": [], "drafts": 0}
    told |= {"run": 0, "runs": 0, "running": False, "agreement": []}
    try:
        runs, readings = list(service.runs(code)), service.readings(code)
        kinds = [service.jobs.state(run).kind for run in runs]
        done = [run for run, kind in zip(runs, kinds, strict=True) if kind == "done"]
        signed = readings.last_signed()
        told |= {"runs": len(runs), "running": "running" in kinds}
        told |= {"signers": [who_signed(one) for one in signed.values()]}
        told |= {"drafts": len(readings.readers) - len(signed)}
        if done:
            names = done[-1].ranking.names
            told |= {"run": done[-1].number}
            told |= {"agreement": agreement_to_json(signed, done[-1].number, names)}
    except DataError as error:
        told |= {"problem": str(error)}
    return told
