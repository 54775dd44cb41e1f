"""One patient, given in any form → Recordings with an audit, by the same code that reads a cohort.

A patient is given as files that MNE reads, open `mne.io.Raw` objects, runs or a patient's folder of
a BIDS dataset, or Recordings. File names and headers can name a person. Only the names of contacts
leave a file, and the seizures of files without sidecars are numbered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError, OnsetError, Reason
from epilens.core.progress import Progress
from epilens.data.audit import AuditRow, Note
from epilens.data.bare_files import BareSeizure
from epilens.data.bids import scan_patient
from epilens.data.bids_runs import seizure_name
from epilens.data.channels.user_choices import (
    Exclusions,
    check_meant,
    with_reasons,
)
from epilens.data.discovery import SourceOnset, common_root, path_in_tree, patient_code, sources_of
from epilens.data.electrodes.positions import place_contacts
from epilens.data.onsets.bids_onsets import Onsets
from epilens.data.onsets.onset import Onset
from epilens.data.read_seizures import Seizure, SeizureResult, read_seizures
from epilens.data.recording import Recording, SeizureRun
from epilens.data.sidecars import BidsTree, with_prefix
from epilens.plan import Plan

_SHOWN_CODES = ("signal-interrupted", "band-not-covered", "channels-none")
"""Codes of reasons that consist of our own words and numbers, so that a page may show them."""
UNREADABLE = Note("could not be read (the command line shows the reason)", "file-unreadable")


@dataclass(frozen=True)
class PatientInput:
    """The seizures of one patient, and what the user says in addition to the files."""

    patient: Any
    """A path, `mne.io.Raw` or Recording, or a sequence of them; (path or Raw, onset) pairs too.

    A path is a recording, a run or a patient's folder in a BIDS tree, or such a tree. An onset of
    None is looked for in the file; a file in two pairs has two seizures.
    """
    onsets: Sequence[float | str | None] = ()
    """Seconds from the start of each file, or clock times, in the order of the files; None: what
    the file says."""
    electrodes: str | Path | None = None
    """Positions of the contacts: electrodes.tsv, or a file of another tool."""
    space: str = ""
    """Coordinate system of the electrodes; empty: what coordsystem.json next to them says."""
    code: str = ""
    """Code of the patient: letters and digits."""
    exclude: Exclusions = ()
    """Channels that are not contacts or should not count; a mapping also says why."""
    keep: Sequence[str] = ()
    """Channels that count whatever the checks of their signal say."""

    @property
    def recordings(self) -> list[Any]:
        """What was given, as a list of one or more recordings."""
        given = self.patient
        single = isinstance(given, str | Path | Recording) or hasattr(given, "get_data")
        return [given] if single else list(given)


@dataclass
class LoadedPatient:
    """The seizures of a patient that could be read, and the audit of everything else."""

    patient: str = ""
    recordings: list[Recording] = field(default_factory=list)
    rows: list[AuditRow] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Why a seizure is left out, by its name; contains no free text of a file."""
    problems: list[str] = field(default_factory=list)
    """The same reasons in full, for the user alone: they can name files."""
    files: dict[str, int] = field(default_factory=dict)
    """Number of a seizure's file among the given ones, by its name; only without sidecars."""

    def add(self, result: SeizureResult) -> None:
        """Add a seizure that was read, or the reasons why it was not."""
        self.rows += result.rows
        if result.recording is not None:
            self.recordings.append(result.recording)
            return
        name, source = result.seizure.run, result.seizure.source
        self.left_out[name] = why = result.rows[-1].why
        problem = f"it {why}." if result.error is None else f"{result.error}"
        bare_file = isinstance(result.seizure, BareSeizure) and isinstance(source, Path)
        title = f"{name} ({source.name})" if bare_file else name
        self.problems.append(f"{title} is left out: {problem}")


def load_patient(given: PatientInput, plan: Plan, tick: Progress | None = None) -> LoadedPatient:
    """Read the seizures of one patient.

    The plan has the interval, the montage, the quality checks, and whether a repeated recording
    counts once.
    """
    loaded, tick = LoadedPatient(), Progress.of(tick)
    seizures = _seizures_of(given, plan, loaded)
    channels: dict[str, None] = {}
    results = read_seizures(
        _announced(seizures, tick), plan, _public_reason, with_reasons(given.exclude), given.keep
    )
    for result in results:
        channels |= dict.fromkeys(result.file_channels)
        loaded.add(result)
    for option, names in (("--exclude", tuple(given.exclude)), ("--keep", tuple(given.keep))):
        check_meant(option, names if channels else (), tuple(channels))
    if not loaded.recordings:
        problem = (loaded.problems or ["Is the run ictal?"])[0]
        raise DataError(
            f"{loaded.patient}: expected a seizure that can be used, found none. {problem}"
        )
    if given.electrodes is not None:
        placed, rows = place_contacts(loaded.recordings, Path(given.electrodes), given.space)
        loaded.recordings, loaded.rows = list(placed), loaded.rows + rows
    return loaded


def _seizures_of(given: PatientInput, plan: Plan, loaded: LoadedPatient) -> Sequence[Seizure]:
    """The seizures to read; `loaded` gets the patient's code and the audit of the sidecars."""
    items = given.recordings
    if not items:
        raise DataError("recordings: expected seizures of one patient, found none. Name the files.")
    if all(isinstance(item, Recording) for item in items):
        loaded.patient = items[0].patient
        return items
    sources = sources_of(items, given.onsets)
    root = common_root(sources)
    if root is None:
        return _bare_seizures(sources, given, loaded)
    return _bids_seizures(BidsTree(root), sources, plan, given, loaded)


def _announced(seizures: Sequence[Seizure], tick: Progress) -> Iterator[Seizure]:
    for seizure in seizures:
        tick(f"reading {seizure.run}", 0)
        yield seizure


def _public_reason(error: DataError) -> Reason:
    """The reason that a page may show; other messages about files can name their paths."""
    shown = isinstance(error, OnsetError) or error.reason.code in _SHOWN_CODES
    return error.reason if shown else UNREADABLE


def _bare_seizures(
    sources: Sequence[SourceOnset], given: PatientInput, loaded: LoadedPatient
) -> list[BareSeizure]:
    """Seizures of files without sidecars and of open recordings, numbered in their order."""
    for source, _ in sources:
        if isinstance(source, Path) and source.is_dir() and source.suffix != ".mefd":
            raise DataError(
                f"{source}: expected a recording or a BIDS dataset, found a folder without "
                "dataset_description.json above it. Name the files inside."
            )
    loaded.patient = patient_code(given.code or "patient")
    identities = [source if isinstance(source, Path) else id(source) for source, _ in sources]
    files = list(dict.fromkeys(identities))
    seizures = [
        BareSeizure(loaded.patient, f"seizure-{number}", source, onset)
        for number, (source, onset) in enumerate(sources, start=1)
    ]
    for seizure, identity in zip(seizures, identities, strict=True):
        loaded.files[seizure.run] = files.index(identity) + 1
    return seizures


def _bids_seizures(
    tree: BidsTree,
    sources: Sequence[SourceOnset],
    plan: Plan,
    given: PatientInput,
    loaded: LoadedPatient,
) -> list[SeizureRun]:
    """The seizure runs of one patient in a BIDS dataset: those that are named, or all of them."""
    paths = [source for source, _ in sources if isinstance(source, Path)]
    # By the name before the dot: BrainVision has three files, and any of them may be given.
    named_runs = {_stem(path) for path in paths if path.name.startswith("sub-") and path.suffix}
    below = [part for path in paths for part in path_in_tree(path).relative_to(tree.root).parts]
    patients = {part for part in below if re.fullmatch(r"sub-[^_]+", part)}
    patients |= {with_prefix(given.code, "sub-")} if given.code else set()
    patient, loaded.rows = scan_patient(tree, patients, plan, _typed_onsets(sources))
    loaded.patient = patient.name
    for row in loaded.rows:
        run = row.run.partition("+")[0]
        asked_for = not named_runs or f"{patient.name}_{run}_ieeg" in named_runs
        if (row.what, row.effect) == ("seizure", "excluded") and asked_for:
            loaded.left_out[row.run] = row.why
            loaded.problems.append(f"{row.run} is left out: {row.why}")
    return [
        run
        for run in patient.runs
        if not named_runs or (run.source is not None and _stem(run.source) in named_runs)
    ]


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _typed_onsets(sources: Sequence[SourceOnset]) -> Onsets | None:
    """The user's onsets by patient and seizure; None if the user gave none."""
    onsets: dict[tuple[str, str], Onset] = {}
    seizures: Counter[tuple[str, str]] = Counter()
    for path, onset in sources:
        if onset is None or not isinstance(path, Path):
            continue
        patient, _, run = path.name.partition("_ieeg")[0].partition("_")
        if not run:
            raise OnsetError(
                "recordings: expected onsets for runs of a BIDS dataset, found one for a folder, "
                f"{path.name}. Name the run."
            )
        seizures[patient, run] += 1
        onsets[patient, seizure_name(run, seizures[patient, run])] = onset
    return onsets or None
