"""One patient in any form → Recordings with an audit, by the same reader as a cohort's.

Files that MNE reads, open `mne.io.Raw`, runs or patients of a BIDS tree, Recordings. File names and
headers can name a person: no text of a file goes further than the names of its contacts, and
seizures of plain files are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epilens.core.errors import DataError, OnsetError, Reason
from epilens.core.progress import Progress
from epilens.data.audit import AuditRow, Note
from epilens.data.bare_files import plain_run
from epilens.data.bids import scan_patient
from epilens.data.bids_runs import seizure_name
from epilens.data.channels.user_choices import (
    Exclusions,
    check_meant,
    excluded_channels,
    with_reasons,
)
from epilens.data.discovery import SourceOnset, common_root, patient_code, real_place, sources_of
from epilens.data.electrodes.positions import place_contacts
from epilens.data.onsets.onset import Onset
from epilens.data.read_seizures import Attempt, Pending, read_or_audit
from epilens.data.recording import Recording, SeizureRun, pick
from epilens.data.sidecars import BidsTree, with_prefix
from epilens.plan import Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw

_SHOWN_CODES = ("signal-interrupted", "band-not-covered", "channels-none")
"""Of reasons that consist of our own words and numbers."""
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
    """Seizures that can be read, and all that was left out or is unusual."""

    patient: str = ""
    recordings: list[Recording] = field(default_factory=list)
    rows: list[AuditRow] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Seizure and reason; no free text of a file."""
    problems: list[str] = field(default_factory=list)
    """The same reasons in full, for the one who typed the command."""
    files: dict[str, int] = field(default_factory=dict)
    """Seizure, and the number of its file among those that were given; of plain files only."""

    def add(self, attempt: Attempt) -> None:
        """A seizure that was read; or the reason for everyone, and in full for the user."""
        self.rows += attempt.rows
        if attempt.recording is not None:
            self.recordings.append(attempt.recording)
            return
        self.left_out[attempt.name] = why = attempt.rows[-1].why
        problem = f"it {why}." if attempt.error is None else f"{attempt.error}"
        self.problems.append(f"{attempt.title} is left out: {problem}")


def load_patient(given: PatientInput, plan: Plan, tick: Progress | None = None) -> LoadedPatient:
    """Read the seizures of one patient.

    The plan has the interval, the montage, the quality checks, and whether a repeated recording
    counts once.
    """
    items = given.recordings
    if not items:
        raise DataError("recordings: expected seizures of one patient, found none. Name the files.")
    loaded = LoadedPatient()
    if all(isinstance(item, Recording) for item in items):
        loaded.patient = items[0].patient
        pending = [_pending(item, given) for item in items]
    else:
        sources = sources_of(items, given.onsets)
        root = common_root(sources)
        if root is None:
            pending = _from_plain(sources, given, loaded)
        else:
            pending = _from_bids(BidsTree(root), sources, plan, given, loaded)
    channels: dict[str, None] = {}
    announced = _announced(pending, Progress.of(tick))
    for attempt in read_or_audit(announced, plan, public=_public_reason, keep=given.keep):
        channels |= dict.fromkeys(attempt.channels)
        loaded.add(attempt)
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


def _announced(pending: Sequence[Pending], tick: Progress) -> Iterator[Pending]:
    for seizure in pending:
        tick(f"reading {seizure.who[1]}", 0)
        yield seizure


def _public_reason(error: DataError) -> Reason:
    """The reason that a page may show: messages about files can name their paths."""
    shown = isinstance(error, OnsetError) or error.reason.code in _SHOWN_CODES
    return error.reason if shown else UNREADABLE


def _from_plain(
    sources: Sequence[SourceOnset], given: PatientInput, loaded: LoadedPatient
) -> list[Pending]:
    for source, _ in sources:
        if isinstance(source, Path) and source.is_dir() and source.suffix != ".mefd":
            raise DataError(
                f"{source}: expected a recording or a BIDS dataset, found a folder without "
                "dataset_description.json above it. Name the files inside."
            )
    loaded.patient = patient_code(given.code or "patient")
    pending, files = [], list(dict.fromkeys(_identity(source) for source, _ in sources))
    for number, (source, onset) in enumerate(sources, start=1):
        who = (loaded.patient, name := f"seizure-{number}")
        loaded.files[name] = files.index(_identity(source)) + 1
        title = f"{name} ({source.name})" if isinstance(source, Path) else name
        prepare = partial(plain_run, source, onset, who, with_reasons(given.exclude))
        pending.append(Pending(who, prepare, title))
    return pending


def _identity(source: Path | BaseRaw) -> Path | int:
    return source if isinstance(source, Path) else id(source)


def _from_bids(
    tree: BidsTree,
    sources: Sequence[SourceOnset],
    plan: Plan,
    given: PatientInput,
    loaded: LoadedPatient,
) -> list[Pending]:
    """The ictal runs of one patient: those that are named, or all of them."""
    paths = [source for source, _ in sources if isinstance(source, Path)]
    # By the name before the dot: BrainVision has three files, and any of them may be given.
    named = {_stem(path) for path in paths if path.name.startswith("sub-") and path.suffix}
    below = [part for path in paths for part in real_place(path).relative_to(tree.root).parts]
    names = {part for part in below if re.fullmatch(r"sub-[^_]+", part)}
    names |= {with_prefix(given.code, "sub-")} if given.code else set()
    typed = _typed_onsets(sources)
    first = None if typed is None else {run: onsets[0] for run, onsets in typed.items()}
    patient, loaded.rows = scan_patient(tree, names, plan, first)
    loaded.patient = patient.name
    for row in loaded.rows:
        asked_for = not named or f"{patient.name}_{row.run}_ieeg" in named
        if (row.what, row.effect) == ("seizure", "excluded") and asked_for:
            loaded.left_out[row.run] = row.why
            loaded.problems.append(f"{row.run} is left out: {row.why}")
    seizures: list[SeizureRun] = []
    for run in patient.runs:
        if not named or (run.source is not None and _stem(run.source) in named):
            more = enumerate((typed or {}).get((patient.name, run.run), [])[1:], start=2)
            others = (replace(run, run=seizure_name(run.run, n), onset=onset) for n, onset in more)
            seizures += [run, *others]
    return [_pending(run, given) for run in seizures]


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _typed_onsets(
    sources: Sequence[SourceOnset],
) -> dict[tuple[str, str], list[Onset]] | None:
    """The user's onsets by patient and run; None: those of the dataset."""
    onsets: dict[tuple[str, str], list[Onset]] = {}
    for path, onset in sources:
        if onset is None or not isinstance(path, Path):
            continue
        patient, _, run = path.name.partition("_ieeg")[0].partition("_")
        if not run:
            raise OnsetError(
                "recordings: expected onsets for runs of a BIDS dataset, found one for a folder, "
                f"{path.name}. Name the run."
            )
        onsets.setdefault((patient, run), []).append(onset)
    return onsets or None


def _pending(run: SeizureRun | Recording, given: PatientInput) -> Pending:
    return Pending(run.who, partial(_without, run, with_reasons(given.exclude)))


def _without(
    run: SeizureRun | Recording, exclude: Mapping[str, str]
) -> tuple[SeizureRun | Recording, list[AuditRow]]:
    """The run without the channels that the user does not want."""
    unwanted = excluded_channels(exclude, run.channels)
    keep = [name not in unwanted for name in run.channels]
    lost = [name for name in run.channels if name in unwanted]
    rows = [AuditRow.of("channel", unwanted[name], (*run.who, name)) for name in lost]
    return pick(run, keep) if isinstance(run, Recording) else run.pick(keep), rows
