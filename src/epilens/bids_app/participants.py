"""`epilens bids BIDS_DIR OUT participant`: every patient of a dataset into one derivative.

A patient that fails is a row of `participants_left_out.tsv`, and the others go on. A result from
the same files, method and code is kept, so running the command again resumes. Several commands may
work in one OUT at the same time, each on its own patients, as batch systems do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from epilens.compute.jobs import Job, run_jobs
from epilens.core.errors import DataError, EpilensError, StorageError, did_you_mean
from epilens.core.progress import Progress
from epilens.core.provenance import digest_of
from epilens.core.redaction import describe_defect, hide_paths
from epilens.data.channels.user_choices import kept_of
from epilens.data.discovery import cases_of
from epilens.data.sidecars import BidsTree, datasets_in
from epilens.data.user_files import natural
from epilens.io.atomic import json_text, load_json, write_atomically
from epilens.io.delimited import to_tsv
from epilens.io.locks import lock_path
from epilens.io.outputs import check_distinct_names, folder_names
from epilens.localization import DEFAULT
from epilens.localization.run_spec import (
    PatientFacts,
    Ranker,
    RunSpec,
    list_rankers,
    make_run_spec,
    model_ranker,
)
from epilens.plan import Runtime
from epilens.report.patient.derivative import files_of, remove_results, write_dataset_files

LEFT_OUT = "participants_left_out.tsv"
_RECORDS = ".participants"
"""Hidden folder in OUT: the record of each patient."""
_PLAIN = re.compile(r"sub-[A-Za-z0-9]{1,40}")
_WAIT_S = 3600.0
"""How long to wait for another command that works on the same patient."""


@dataclass(frozen=True)
class ParticipantRecord:
    """Outcome of a patient, as it is stored."""

    patient: str
    kind: str
    """`done`, `kept` or `failed`."""
    why: str = ""
    """Why it failed, in one sentence."""
    key: str = ""
    """Digest of everything that the result comes from."""


@dataclass(frozen=True)
class LocalizeParticipant(Job[ParticipantRecord]):
    """One patient to be localized."""

    patient: str
    root: Path
    out: Path
    ranker: Ranker
    keep: tuple[str, ...] = ()
    """Entries `PATIENT:CHANNEL` of any patients."""

    @property
    def title(self) -> str:
        """Name of the patient."""
        return self.patient

    @cached_property
    def spec(self) -> RunSpec:
        """Specification of the analysis: recordings, onsets and ranker."""
        (case,) = cases_of([self.root / self.patient])
        facts = PatientFacts(keep=kept_of(self.patient, self.keep))
        return make_run_spec(case, self.ranker, facts=facts)

    @property
    def key(self) -> str:
        """Digest of the files, the ranker and the code, including that of the page."""
        from epilens.report.patient.page import page_digest

        return digest_of({"result": self.spec.inputs.key, "page": page_digest()})

    @contextmanager
    def locked(self) -> Generator[None]:
        """Wait for another command that works on the same patient; its result is then kept."""
        self._check()
        with lock_path(self.out / self.patient, _WAIT_S):
            yield

    def _check(self) -> None:
        """Refuse a patient listed in participants.tsv alone, or whose name is not a file name."""
        if not _PLAIN.fullmatch(self.patient):
            raise DataError(
                f"{self.patient}: expected a name of letters and digits, found other characters. "
                "Rename it in the dataset."
            )
        if not (self.root / self.patient).is_dir():
            raise DataError(
                f"{self.patient}: expected its folder in the dataset, found it in "
                "participants.tsv alone. Add its recordings."
            )

    def finished(self) -> ParticipantRecord | None:
        """The record of an earlier command with the same key, if all files are there."""
        done = ParticipantRecord(self.patient, "done", key=self.key)
        complete = all((self.out / name).is_file() for name in files_of(self.patient))
        return replace(done, kind="kept") if complete and self.record == done else None

    def work(self) -> ParticipantRecord:
        """Localize the patient and write its page and tables, then its record."""
        from epilens.localization.result import assemble
        from epilens.report.patient.page import write_report

        write_report(assemble(self.spec.request(), Progress()), self.out)
        return self.write_record(ParticipantRecord(self.patient, "done", key=self.key))

    def failed(self, error: Exception) -> ParticipantRecord:
        """Why the patient is left out; a folder that cannot be written ends everything."""
        if isinstance(error, StorageError):
            raise error
        if isinstance(error, EpilensError):
            why = self._without_paths(str(error))
        else:  # a defect that one patient's data reveals does not stop the others
            defect = describe_defect(error)
            why = f"{self.patient}: failed unexpectedly ({defect}). Please report it."
        return ParticipantRecord(self.patient, "failed", why)

    def _without_paths(self, text: str) -> str:
        spec: RunSpec | None = vars(self).get("spec")  # None: it could not be made
        return hide_paths(spec.hide_files(text) if spec else text, {self.root: "BIDS_DIR"})

    @property
    def _record_file(self) -> Path:
        plain = _PLAIN.fullmatch(self.patient)
        digest = hashlib.sha256(self.patient.encode(errors="surrogateescape")).hexdigest()
        return self.out / _RECORDS / f"{self.patient if plain else digest}.json"

    @property
    def record(self) -> ParticipantRecord | None:
        """The record of the last command that worked on the patient."""
        return _read_record(self._record_file)

    def write_record(self, record: ParticipantRecord) -> ParticipantRecord:
        """Write the record; after a failure, remove the result of an earlier command."""
        if record.kind == "failed" and (earlier := self.record) and earlier.kind == "done":
            remove_results(self.patient, self.out)
        write_atomically(self._record_file, json_text(asdict(record)))
        return record


def localize_all(
    root: Path,
    ranker: Ranker,
    runtime: Runtime,
    labels: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> list[ParticipantRecord]:
    """Localize the patients of a dataset; in the order in which they are ready."""
    tree = BidsTree(_dataset(root).resolve())
    patients = patients_of(tree, labels)
    out = Path(runtime.out).resolve()
    # One that is in participants.tsv alone gets no files.
    check_distinct_names((name for name in patients if name in tree.folders), folder_names(out))
    write_dataset_files(out)
    _check_kept(keep, patients)
    kept = tuple(keep)
    jobs = [LocalizeParticipant(name, tree.root, out, ranker, kept) for name in patients]
    records = []
    # A patient is tested where it is localized, while it is locked.
    for job, done in run_jobs(jobs, runtime.jobs, runtime.tick, check_first=False):
        if done.status == "failed":
            job.write_record(done.result)
        records.append(done.result)
    write_left_out(out)
    return records


def _check_kept(keep: Sequence[str], patients: Sequence[str]) -> None:
    """Refuse an entry of no patient; a channel that nobody has is refused with its patient."""
    for entry in keep:
        if not any(kept_of(patient, [entry]) for patient in patients):
            raise DataError(
                f"--keep: expected PATIENT:CHANNEL of a patient that is localized, such as "
                f"{patients[0].removeprefix('sub-')}:RA5, found {entry!r}."
            )


def _dataset(root: Path) -> Path:
    if (root / "dataset_description.json").is_file():
        return root
    inside = [path.name for path in datasets_in(root)] if root.is_dir() else []
    hint = f"Datasets inside: {', '.join(inside[:5])}." if inside else "Check the path."
    raise DataError(
        f"{root}: expected one BIDS dataset, found no dataset_description.json there. {hint}"
    )


def patients_of(tree: BidsTree, labels: Sequence[str]) -> list[str]:
    """Patients of a dataset, or those with the labels: `01`, `sub-01`, `01,02`."""
    patients = {*tree.folders, *tree.participants}
    pieces = [piece for text in labels for piece in re.split(r"[\s,]+", text) if piece]
    names = [f"sub-{piece.removeprefix('sub-')}" for piece in pieces]
    for name in names:
        if name not in patients:
            raise DataError(
                f"--participant-label: expected a patient of the dataset, found {name!r}. "
                + did_you_mean(name, sorted(patients, key=natural)[:50])
            )
    if not patients:
        raise DataError(f"{tree.root}: expected patients (sub-…), found none. Check the dataset.")
    return sorted(set(names) or patients, key=natural)


def choose_ranker(model: Path | None, method: str) -> Ranker:
    """What ranks contacts: a model, a method without training, or the shipped model."""
    if model is not None and method:
        raise DataError("bids: expected --model or --method, found both. Give one.")
    if model is not None:
        from epilens.networks.model import model_folder, read_model_json

        folder = model_folder(model)
        read_model_json(folder)  # raises what is wrong with it
        return model_ranker(folder.resolve())
    rankers = {ranker.id: ranker for ranker in list_rankers()}
    name = method or DEFAULT
    if name not in rankers:
        raise DataError(
            f"--method: expected one that needs no training, found {name!r}. "
            + did_you_mean(name, rankers)
        )
    if rankers[name].problem:
        raise DataError(f"--method {name}: it {rankers[name].problem}. Install it.")
    return rankers[name]


def _read_record(path: Path) -> ParticipantRecord | None:
    try:
        return ParticipantRecord(**load_json(path))
    except (OSError, ValueError, TypeError):
        return None


def left_out(out: Path) -> list[ParticipantRecord]:
    """Patients that failed when they were last tried, in natural order."""
    records = map(_read_record, (out / _RECORDS).glob("*.json"))
    failed = [record for record in records if record is not None and record.kind == "failed"]
    return sorted(failed, key=lambda record: natural(str(record.patient)))


def write_left_out(out: Path) -> Path:
    """Write the table of patients that were left out, by this command or others."""
    path = out / LEFT_OUT
    with lock_path(path, _WAIT_S):
        rows = [(record.patient, record.why) for record in left_out(out)]
        return write_atomically(path, to_tsv(["participant_id", "why"], rows))
