"""`read_bids`: a BIDS dataset → its seizures, read one at a time, with an audit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError, did_you_mean
from epilens.core.html_repr import RESEARCH, SIMULATED, bars, card
from epilens.core.provenance import digest_of
from epilens.data.audit import AuditRow, add_new, audit_frame, noted_row
from epilens.data.bids_runs import run_name, runs_of
from epilens.data.bids_scan import Patient, Scan
from epilens.data.datasets import DATASETS, recognise
from epilens.data.duplicates import without_copies
from epilens.data.labels.patient_zones import check_label_table
from epilens.data.onsets.bids_events import STIMULATION, states_seizure
from epilens.data.onsets.bids_onsets import Onsets
from epilens.data.read_seizures import read_seizures
from epilens.data.recording import Recording, SeizureRun, read_run
from epilens.data.sidecars import BidsFile, BidsTree, datasets_in
from epilens.data.user_files import natural
from epilens.io.safe_read import real_path
from epilens.plan import Plan


class Recordings:
    """The seizures of a BIDS dataset; iterating reads their signals, one run at a time.

    `audit` lists what was left out and why; reading signals can add rows to it.
    """

    def __init__(
        self, title: str, patients: Iterable[Patient], rows: Iterable[AuditRow], plan: Plan
    ):
        self.title = title
        self.patients = tuple(patients)
        self.plan = plan
        self._rows = list(rows)
        self.surveyed = self.patients
        """All patients, including those without a usable seizure if `survey_cohort` was used."""
        self.contents: tuple[dict[str, Any], ...] = ()
        """Number of recordings by task, if `survey_cohort` counted them."""

    @property
    def rows(self) -> tuple[AuditRow, ...]:
        """The audit as `AuditRow`s."""
        return tuple(self._rows)

    @property
    def audit(self) -> pd.DataFrame:
        """A table of what was left out (effect `excluded`) or is unusual (`noted`), and why."""
        return audit_frame(self._rows)

    @property
    def runs(self) -> tuple[SeizureRun, ...]:
        """Every usable seizure run, patient by patient."""
        return tuple(run for patient in self.patients for run in patient.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, which: int | str) -> Recording | list[Recording]:
        """Read the run with this index, or all runs of the patient with this name."""
        if isinstance(which, str):
            names = {patient.name: patient for patient in self.patients}
            if which not in names:
                raise DataError(
                    f"recordings: expected one of {len(names)} patients, found {which!r}. "
                    f"{did_you_mean(which, names)}"
                )
            return list(self.read(names[which]))
        recording, rows = read_run(self.runs[which], self.plan)
        add_new(self._rows, rows)
        return recording

    @property
    def table(self) -> pd.DataFrame:
        """A row per patient: center, seizures, channels, EZ channels (None: no labels)."""
        rows = [
            (p.name, p.center, len(p.runs), len(p.channels), None if p.ez is None else len(p.ez))
            for p in self.patients
        ]
        columns = ["patient", "center", "seizures", "channels", "ez_channels"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return (
            f"Recordings({self.title!r}: {len(self.patients)} patients, {len(self)} seizures, "
            f"{len(self._rows)} audit rows)"
        )

    def _repr_html_(self) -> str:
        left_out = sum(row.effect == "excluded" for row in self._rows)
        facts = {"patients": len(self.patients), "seizures": len(self), "left out": left_out}
        simulated = any(patient.simulated for patient in self.patients)
        picture = bars([len(p.runs) for p in self.patients], "seizures by patient")
        return card(self.title, facts, self.table, picture, [SIMULATED] * simulated + [RESEARCH])

    def __iter__(self) -> Iterator[Recording]:
        for patient in self.patients:
            yield from self.read(patient)

    def read(self, patient: Patient) -> Iterator[Recording]:
        """Read one patient; a run that is unreadable or repeats another becomes an audit row."""
        for result in read_seizures(patient.runs, self.plan):
            add_new(self._rows, result.rows)
            if result.recording is not None:
                yield result.recording


def read_bids(
    root: str | Path, dataset: str | None = "local", plan: Plan | None = None
) -> Recordings:
    """Find every seizure run of a BIDS tree; signals are read when the result is iterated.

    Parameters
    ----------
    root : path
        Folder with dataset_description.json.
    dataset : str
        A row of `epilens list datasets`; None: whichever row recognises the tree, else `local`.
    plan : Plan
        Interval, montage, quality checks, label and onset tables. Default: the paper's.

    Returns
    -------
    Recordings
        Iterable of `Recording` (µV, Hz, seconds from onset); `.patients`, `.table` and `.audit`
        need no signals.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from epilens.simulation import simulate
    >>> with TemporaryDirectory() as place:
    ...     _ = simulate(Path(place) / "cohort", "tiny")
    ...     recordings = read_bids(Path(place) / "cohort" / "west", "simulated")
    ...     recording = recordings[0]
    >>> len(recordings.patients), recording.signal.shape[0] == len(recording.channels)
    (2, True)
    """
    scan = _scan(root, dataset, plan)
    _check_labels([scan])
    return _recordings(scan)


def _recordings(scan: Scan) -> Recordings:
    patients = scan.patients()
    if not patients:
        _refuse_without_seizures(scan)
        raise _no_patients(scan)
    return Recordings(_title(scan.tree), patients, scan.rows, scan.plan)


def _scan(root: str | Path, dataset: str | None, plan: Plan | None) -> Scan:
    tree = BidsTree(root)
    row = recognise(tree.description) if dataset is None else DATASETS[dataset]
    return Scan(tree, row, plan or Plan())


def _no_patients(scan: Scan) -> DataError:
    reasons = Counter(row.why for row in scan.rows if row.what in ("patient", "seizure"))
    named = "; ".join(f"{n} × {why}" for why, n in reasons.most_common(2)) or "no ictal run"
    return DataError(
        f"{scan.tree.root}: expected at least one patient with a usable seizure, found none among "
        f"{len(scan.tree.participants)} ({named}). Is {scan.dataset.name!r} the right dataset?"
    )


def _title(tree: BidsTree) -> str:
    """The dataset's own name; never that of its folder, which can name a person."""
    named = str(tree.description.get("Name", "")).strip()
    return named or f"unnamed {digest_of(sorted(tree.participants))[:6]}"


def read_cohort(
    roots: str | Path | Iterable[str | Path],
    dataset: str | None = None,
    plan: Plan | None = None,
) -> list[Recordings]:
    """`read_bids` for several datasets.

    Parameters
    ----------
    roots : path or paths
        BIDS datasets, or folders that contain some; anything else in these folders is ignored.
    dataset, plan
        As for `read_bids`.
    """
    return [_recordings(scan) for scan in _scans(roots, dataset, plan)]


def _scans(
    roots: str | Path | Iterable[str | Path], dataset: str | None, plan: Plan | None
) -> list[Scan]:
    """A scan of each dataset; the user's label table is compared with all of them together."""
    scans = [_scan(folder, dataset, plan) for folder in _dataset_folders(roots)]
    _check_labels(scans)
    return scans


def _check_labels(scans: Sequence[Scan]) -> None:
    """Note patients of the user's label table who are in none of the datasets, in the first one."""
    if scans and (path := scans[0].plan.cohort.labels):
        patients = {name for scan in scans for name in scan.tree.participants}
        scans[0].rows += check_label_table(Path(path), patients)


def _dataset_folders(roots: str | Path | Iterable[str | Path]) -> list[Path]:
    given = [roots] if isinstance(roots, str | Path) else list(roots)
    by_real_path: dict[Path, Path] = {}
    for folder in (folder for root in given for folder in datasets_in(Path(root))):
        by_real_path.setdefault(real_path(folder), folder)
    return list(by_real_path.values())


def survey_cohort(
    roots: str | Path | Iterable[str | Path],
    dataset: str | None = None,
    plan: Plan | None = None,
) -> list[Recordings]:
    """List what datasets contain, with or without seizures; parameters as for `read_cohort`.

    Patients without a usable seizure are in `surveyed`, with the channels and labels of all their
    recordings; `contents` counts the recordings by task. A run that is stored twice counts once if
    its files can be compared.
    """
    return [_survey(scan) for scan in _scans(roots, dataset, plan)]


def _survey(scan: Scan) -> Recordings:
    tree, patients = scan.tree, scan.patients()
    if not patients and any(scan.dataset.is_ictal(run.entity("task")) for run in _runs(tree)):
        raise _no_patients(scan)
    others = [patient for patient in scan.without_seizure() if patient.channels]
    if not patients and not others:
        raise _no_patients(scan)
    contents = contents_of(tree)
    counted = [without_copies(patient, scan.plan) for patient in patients]
    patients = [patient for patient, _ in counted]
    copies = [row for _, repeated in counted for row in repeated]
    rows = [*scan.rows, *copies, *([] if patients else [advice(contents)])]
    recordings = Recordings(_title(tree), patients, rows, scan.plan)
    listed = sorted([*patients, *others], key=lambda patient: natural(patient.name))
    recordings.surveyed, recordings.contents = tuple(listed), tuple(contents)
    return recordings


def _runs(tree: BidsTree) -> list[BidsFile]:
    return [run for name in sorted(tree.folders) for run in runs_of(tree, name)]


def _refuse_without_seizures(scan: Scan) -> None:
    """Refuse a dataset in which no run is a seizure and no event names one."""
    tree, runs = scan.tree, _runs(scan.tree)
    if not runs or any(states_seizure(tree, scan.dataset, run) for run in runs):
        return
    named = ", ".join(f"{n} × {task}" for task, n in Counter(map(task_of, runs)).most_common(3))
    tasks = {run.entity("task").lower() for run in runs}
    kind = "interictal ones" if all("interictal" in task for task in tasks) else "others"
    raise DataError(
        f"{tree.root}: expected runs of seizures (task-ictal, or events that name a seizure), "
        f"found {kind} only ({named}). EpiLENS ranks contacts from seizures: give a dataset that "
        "has some, or onsets with --onsets. epilens cohort shows its channels and labels."
    )


def scan_patient(
    tree: BidsTree, names: Collection[str], plan: Plan, onsets: Onsets | None = None
) -> tuple[Patient, list[AuditRow]]:
    """The one patient of a dataset among `names` (empty: of all), and its part of the audit.

    Tasks, onsets and labels are read by the dataset's rules, but no rule excludes the patient.
    """
    scan = Scan(tree, recognise(tree.description), plan, onsets, everyone=True)
    everybody = sorted(tree.participants, key=natural)
    requested = [name for name in everybody if not names or name in names]
    patients = scan.patients(requested)
    if len(patients) == 1:
        name = patients[0].name
        return patients[0], [row for row in scan.rows if row.patient in ("", name)]
    if not patients:
        _refuse_without_seizures(scan)
    reasons = [row.why for row in scan.rows if row.what in ("seizure", "patient")]
    if requested and not patients and reasons:
        raise DataError(
            f"{', '.join(requested[:5])}: expected a seizure that can be used, found none: "
            f"{reasons[0]} Correct this, or give other runs."
        )
    raise DataError(
        f"{tree.root.name}: expected one patient, found {len(patients)} of {len(everybody)} "
        f"({', '.join((requested or everybody)[:5])}). Give its folder (sub-…), or name it with "
        "--patient."
    )


_KINDS = (
    ("seizures", re.compile(r"(?<!inter)(?<!pre)(?<!post)ictal|seizure")),
    ("electrical stimulation", STIMULATION),
    ("sleep", re.compile(r"sleep|(?<![a-z])(?:sws|nrem|rem|n[1-3])(?![a-z])|slow.?wave")),
    ("rest", re.compile(r"rest(?!i)|resting|baseline|awake|eyes")),
    ("interictal", re.compile(r"interictal|monitor")),
)


def contents_of(tree: BidsTree) -> list[dict[str, Any]]:
    """Number of recordings and patients by task and kind, most frequent first."""
    patients: dict[tuple[str, str], list[str]] = {}
    for run in _runs(tree):
        key = (task_of(run), _kind_of(tree, run))
        patients.setdefault(key, []).append(run.entity("sub"))
    return [
        {"task": task, "kind": kind, "recordings": len(names), "patients": len(set(names))}
        for (task, kind), names in sorted(patients.items(), key=lambda item: -len(item[1]))
    ]


def task_of(run: BidsFile) -> str:
    """`task-…` of a run's name, or `no task`."""
    task = run.entity("task")
    return f"task-{task}" if task else "no task"


def _kind_of(tree: BidsTree, run: BidsFile) -> str:
    # The task itself first: a description may mention what the recording is not.
    texts = [run.entity("task"), run_name(run)]
    try:
        fields = tree.fields(run, "ieeg")
        texts += [str(fields.get(name, "")) for name in ("TaskName", "TaskDescription")]
    except DataError:
        pass
    kinds = (kind for text in texts for kind, p in _KINDS if p.search(text.lower()))
    return next(kinds, "another task")


def advice(contents: list[dict[str, Any]]) -> AuditRow:
    """A row that says what a dataset without seizures contains, and what the user can do."""
    kinds: Counter[str] = Counter()
    for part in contents:
        kinds[part["kind"]] += part["recordings"]
    named = ", ".join(f"{n} of {kind}" for kind, n in kinds.most_common())
    return noted_row(
        "dataset",
        f"contains no usable seizure. Recordings: {named}; they are interictal unless an onset is "
        "given. EpiLENS ranks contacts from seizures, so nothing can be described or ranked yet. "
        "Channels, labels and outcomes are listed here. Where a recording contains a seizure that "
        "no event names, find it with epilens onset or epilens review and give it with --onsets",
        "no-seizure",
    )
