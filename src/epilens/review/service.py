"""The service behind the patient pages: runs, readings, the queue and the batch of a session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from epilens.core.errors import DataError, ReadingError
from epilens.localization.run_spec import Ranker, RunSpec, find_ranker, list_rankers, make_run_spec
from epilens.review.batch import PatientBatch
from epilens.review.errors import HiddenError, NotFoundError
from epilens.review.jobs import RunProcesses
from epilens.review.mark_store import MarkStore
from epilens.review.reading_export import write_readings
from epilens.review.reading_store import ReadingStore
from epilens.review.readings import Reading
from epilens.review.requests import ReadingRequest
from epilens.review.runs import PatientRuns, ReviewRun
from epilens.review.session import Session


@dataclass(frozen=True)
class Service:
    """Runs and readings of all patients of a session."""

    session: Session
    mark_store: MarkStore

    @cached_property
    def processes(self) -> RunProcesses:
        """The processes of this server."""
        return RunProcesses()

    @cached_property
    def batch(self) -> PatientBatch:
        """The batch of this session."""
        path = self.session.out / "batch.json"
        return PatientBatch(path, self.runs, self.run_spec, self.processes)

    @property
    def rankers(self) -> tuple[Ranker, ...]:
        """Methods and models, listed again each time: a model may have been trained meanwhile."""
        return list_rankers((*self.session.models, self.session.out))

    def file_titles(self, code: str) -> dict[str, str]:
        """Return the names of a patient's recordings on the screen."""
        return {file.name: file.shown for file in self.session.case(code).files}

    def runs(self, code: str) -> PatientRuns:
        """Return the runs of a patient."""
        return PatientRuns(self.session.folder(code) / "runs", self.session.case(code).code)

    def run(self, code: str, number: object) -> ReviewRun:
        """Return a run of a patient by a number that a browser sent."""
        if not str(number).isdecimal() or len(str(number)) > 9:
            raise NotFoundError(f"{code}: expected the number of a run, found another word.")
        return self.runs(code)[int(str(number))]

    def readings(self, code: str) -> ReadingStore:
        """Return the readings of a patient."""
        return ReadingStore(self.session.folder(code) / "readings", self.session.case(code).code)

    def may_see_results(self, code: str, reader: str) -> bool:
        """Whether rankings of a patient may be sent to a reader; empty: initials are not known.

        Every answer that contains results asks here.
        """
        if self.session.blind == "none":
            return True
        store = self.readings(code)
        others = set(store.last_signed()) - {reader}
        is_blind = self.session.blind == "all" or bool(others)
        return not is_blind or (bool(reader) and store.has_seen(reader))

    def shown_run(self, code: str, number: object, reader: str) -> ReviewRun:
        """Return a run whose results may be sent to a reader, and note that they were."""
        run = self.run(code, number)
        if not self.may_see_results(code, reader):
            raise HiddenError(
                f"run {run.number}: expected a reader who has marked an onset zone and a plan, "
                "found one who has not. Enter your initials under 'Read and sign', and mark first."
            )
        if reader:
            self.readings(code).note_seen(reader)
        return run

    def run_spec(self, code: str, ranker: Ranker) -> RunSpec:
        """Return the specification of a run with the current marks."""
        marks, facts = self.mark_store.read(code), self.session.facts
        return make_run_spec(self.session.case(code), ranker, marks.onsets, marks.bad, facts)

    def start(self, code: str, choice: object) -> ReviewRun:
        """Start a run, unless this patient has one that is running."""
        runs = self.runs(code)
        if any(self.processes.state(run).kind == "running" for run in runs):
            raise DataError(
                f"{code}: expected no run in progress, found one. Wait for its end, or stop it."
            )
        return self.processes.start(runs, self.run_spec(code, find_ranker(self.rankers, choice)))

    def start_batch(self, choice: object) -> None:
        """Rank every patient of the session."""
        codes = [case.code for case in self.session.cases]
        self.batch.start(codes, find_ranker(self.rankers, choice))

    def change_reading(self, request: ReadingRequest) -> Reading:
        """Save, sign or amend the reading of one reader."""
        run, store = self.run(request.case, request.run), self.readings(request.case)
        if request.act == "amend":
            return store.amend(request.reader, request.base)
        ranking = run.ranking
        latest = store.latest(request.reader)
        before = None if latest is None else latest.judgement
        judgement = request.judgement(ranking.names, before)
        if not judgement.blind:
            self.shown_run(request.case, request.run, request.reader)
        elif not (before and before.blind) and store.has_seen(request.reader):
            raise ReadingError(
                "reading: expected a blind reading before the ranking is shown, found one after "
                "it. Read without it."
            )
        if request.act == "save":
            return store.save(request.reader, judgement, request.base)
        signed = store.sign(request.reader, judgement, request.base, ranking.digest)
        write_readings(run.page.parent, store, run.number, ranking.names)
        return signed
