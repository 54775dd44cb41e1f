"""`epilens bids BIDS_DIR OUT participant`: every patient of a dataset into one derivative.

A patient that fails is a row of `participants_left_out.tsv`, and the others go on. What was made of
the same files, method and code is kept, so running it again resumes. Several commands may work in
one OUT at the same time, each on patients of its own, as batch systems do it.
"""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from epilens.compute.local import map_jobs
from epilens.core.errors import DataError, EpilensError, StorageError, WorkerError, did_you_mean
from epilens.core.progress import Progress, StepFunction
from epilens.data.discovery import cases_of
from epilens.data.sidecars import BidsTree, datasets_in, natural
from epilens.io.atomic import load_json
from epilens.io.delimited import to_tsv
from epilens.io.locks import lock_path
from epilens.io.outputs import write_atomically
from epilens.localization import DEFAULT
from epilens.report.derivative import files_of, write_dataset_files
from epilens.review.marks import PatientMarks
from epilens.review.rankers import Ranker, list_rankers
from epilens.review.run_spec import RunSpec, make_run_spec

LEFT_OUT = "participants_left_out.tsv"
_RECORDS = ".participants"
"""Hidden folder in OUT: what became of each patient."""
_PLAIN = re.compile(r"sub-[A-Za-z0-9]{1,40}")
_WAIT_S = 3600.0
"""For another command that is at the same patient; what it makes is then kept."""


@dataclass(frozen=True)
class Job:
    """One patient to be localized."""

    patient: str
    root: Path
    out: Path
    choice: Ranker


@dataclass(frozen=True)
class Outcome:
    """What became of a patient."""

    patient: str
    kind: str
    """`done`, `kept` or `failed`."""
    why: str = ""
    """One sentence, of one that failed."""
    key: str = ""
    """Digest of all that the result comes from."""


def localize_all(
    root: Path,
    out: Path,
    choice: Ranker,
    labels: Sequence[str] = (),
    jobs: int = 1,
    tick: Progress | StepFunction | None = None,
) -> list[Outcome]:
    """Localize the patients of a dataset; in the order in which they are ready."""
    tree = BidsTree(_dataset(root).resolve())
    patients = patients_of(tree, labels)
    out = out.resolve()
    write_dataset_files(out)
    tick, outcomes = Progress.of(tick), []
    tick.expect(len(patients))
    work = [Job(name, tree.root, out, choice) for name in patients]
    for job, outcome in map_jobs(localize_one, work, jobs, lambda job: job.patient, _lost):
        if outcome.kind == "failed":
            _record(job, outcome)
        outcomes.append(outcome)
        tick(f"{job.patient} {outcome.kind}", 1)
    write_left_out(out)
    return outcomes


def _dataset(root: Path) -> Path:
    if (root / "dataset_description.json").is_file():
        return root
    inside = [path.name for path in datasets_in(root)] if root.is_dir() else []
    known = f"Datasets inside: {', '.join(inside[:5])}." if inside else "Check the path."
    raise DataError(
        f"{root}: expected one BIDS dataset, found no dataset_description.json there. {known}"
    )


def patients_of(tree: BidsTree, labels: Sequence[str]) -> list[str]:
    """Patients of a dataset, or those that are asked for: `01`, `sub-01`, `01,02`."""
    known = {*tree.folders, *tree.participants}
    pieces = [piece for text in labels for piece in re.split(r"[\s,]+", text) if piece]
    asked = [f"sub-{piece.removeprefix('sub-')}" for piece in pieces]
    for name in asked:
        if name not in known:
            raise DataError(
                f"--participant-label: expected a patient of the dataset, found {name!r}. "
                + did_you_mean(name, sorted(known, key=natural)[:50])
            )
    if not known:
        raise DataError(f"{tree.root}: expected patients (sub-…), found none. Check the dataset.")
    return sorted(set(asked) or known, key=natural)


def choice_of(model: Path | None, method: str) -> Ranker:
    """What ranks contacts: a model, a method without training, or the usual one."""
    if model is not None and method:
        raise DataError("bids: expected --model or --method, found both. Give one.")
    if model is not None:
        from epilens.io.remote import download
        from epilens.networks.model import read_model_json

        model = download(model)
        read_model_json(model)  # says what is wrong with it
        return list_rankers([model])[0]
    known = {one.id: one for one in list_rankers()}
    name = method or DEFAULT
    if name not in known:
        raise DataError(
            f"--method: expected one that needs no training, found {name!r}. "
            + did_you_mean(name, known)
        )
    if known[name].problem:
        raise DataError(f"--method {name}: it {known[name].problem}. Install it.")
    return known[name]


def localize_one(job: Job) -> Outcome:
    """One patient; bad input is its outcome, a place that cannot be written ends everything."""
    orders: list[RunSpec] = []
    try:
        _check(job)
        with lock_path(job.out / job.patient, _WAIT_S):
            return _localize(job, orders)
    except StorageError:
        raise
    except EpilensError as error:
        return Outcome(job.patient, "failed", _without_paths(str(error), job, orders))
    except Exception as error:  # one patient's defect is not the others'
        # Its own text may hold words of a recording: what and where is enough.
        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {Path(at.filename).name}, line {at.lineno}"
        why = f"{job.patient}: failed unexpectedly ({what}). Please report it."
        return Outcome(job.patient, "failed", why)


def _check(job: Job) -> None:
    """Refuse a patient that is in participants.tsv alone, or whose name can be no file's."""
    if not _PLAIN.fullmatch(job.patient):
        raise DataError(
            f"{job.patient}: expected a name of letters and digits, found other characters. Rename "
            "it in the dataset."
        )
    if not (job.root / job.patient).is_dir():
        raise DataError(
            f"{job.patient}: expected its folder in the dataset, found it in participants.tsv "
            "alone. Add its recordings."
        )


def _localize(job: Job, orders: list[RunSpec]) -> Outcome:
    (case,) = cases_of([job.root / job.patient])
    wanted = make_run_spec(case, PatientMarks(), job.choice)
    orders.append(wanted)
    key = wanted.inputs.key
    whole = all((job.out / name).is_file() for name in files_of(job.patient))
    if whole and _recorded(job) == Outcome(job.patient, "done", key=key):
        return Outcome(job.patient, "kept", key=key)
    from epilens.localization.result import assemble
    from epilens.report.page import write_report

    write_report(assemble(wanted.request(), Progress()), job.out)
    outcome = Outcome(job.patient, "done", key=key)
    _record(job, outcome)  # last: what has a record is whole
    return outcome


def _without_paths(text: str, job: Job, orders: Sequence[RunSpec]) -> str:
    for one in orders:
        text = one.hide_files(text)
    return text.replace(str(job.root), "BIDS_DIR")


def _lost(job: Job, error: WorkerError) -> Outcome:
    return Outcome(job.patient, "failed", str(error))


def _record(job: Job, outcome: Outcome) -> None:
    """Keep what became of a patient; an earlier result of ours does not outlive a failure."""
    if outcome.kind == "failed" and (earlier := _recorded(job)) and earlier.kind == "done":
        for name in files_of(job.patient):
            (job.out / name).unlink(missing_ok=True)
    write_atomically(_record_file(job), json.dumps(asdict(outcome), ensure_ascii=False) + "\n")


def _record_file(job: Job) -> Path:
    plain = _PLAIN.fullmatch(job.patient)
    digest = hashlib.sha256(job.patient.encode(errors="surrogateescape")).hexdigest()
    return job.out / _RECORDS / f"{job.patient if plain else digest}.json"


def _recorded(job: Job) -> Outcome | None:
    return _read_record(_record_file(job))


def _read_record(path: Path) -> Outcome | None:
    try:
        return Outcome(**load_json(path))
    except (OSError, ValueError, TypeError):
        return None


def left_out(out: Path) -> list[Outcome]:
    """Patients that failed when they were tried last, in natural order."""
    records = map(_read_record, (out / _RECORDS).glob("*.json"))
    failed = [one for one in records if one is not None and one.kind == "failed"]
    return sorted(failed, key=lambda one: natural(str(one.patient)))


def write_left_out(out: Path) -> Path:
    """The table of those that were left out, also by other commands."""
    path = out / LEFT_OUT
    with lock_path(path, _WAIT_S):
        rows = [(one.patient, one.why) for one in left_out(out)]
        return write_atomically(path, to_tsv(["participant_id", "why"], rows))
