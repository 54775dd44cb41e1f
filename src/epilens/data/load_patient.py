"""One patient in any form → Recordings with an audit, by the same reader as a cohort's.

Files that MNE reads, open `mne.io.Raw`, runs or patients of a BIDS tree, Recordings. File names and
headers can name a person: no text of a file goes further than the names of its contacts, and
seizures of plain files are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epilens.core.errors import DataError, OnsetError, Reason
from epilens.core.progress import Progress
from epilens.data.audit import AuditRow, Note
from epilens.data.bare_files import plain_run
from epilens.data.bids import scan_patient
from epilens.data.contacts import meant_channels
from epilens.data.discovery import SourceOnset, common_root, patient_code, real_place, sources_of
from epilens.data.exclusions import Exclusions, excluded_channels, with_reasons
from epilens.data.onset import Onset
from epilens.data.positions import place_contacts
from epilens.data.read_seizures import Pending, read_or_audit
from epilens.data.recording import Recording, SeizureRun, pick
from epilens.data.runs import seizure_name
from epilens.data.sidecars import BidsTree, with_prefix
from epilens.plan import Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw

_Prepared = TypeVar("_Prepared")

_SHOWN_CODES = ("signal-interrupted", "band-not-covered", "channels-none")
"""Of reasons that consist of our own words and numbers."""
UNREADABLE = Note("could not be read (the command line shows the reason)", "file-unreadable")


@dataclass(frozen=True)
class Given:
    """What the user says about a patient in addition to its recordings."""

    onsets_s: tuple[float | str | None, ...] = ()
    """Seconds from the start of each file, or clock times, in the order of the files; None: what
    the file says."""
    electrodes: Path | None = None
    """Positions of the contacts: electrodes.tsv, or a file of another tool."""
    space: str = ""
    """Coordinate system of the electrodes; empty: what coordsystem.json next to them says."""
    patient: str = ""
    """Code of the patient: letters and digits."""
    exclude: Exclusions = ()
    """Channels that are not contacts or should not count; a mapping also says why."""
    keep: tuple[str, ...] = ()
    """Channels that count whatever the checks of their signal say."""


@dataclass(frozen=True)
class LoadedPatient:
    """Seizures that can be read, and all that was left out or is unusual."""

    recordings: tuple[Recording, ...]
    rows: tuple[AuditRow, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Seizure and reason; no free text of a file."""
    problems: tuple[str, ...] = ()
    """The same reasons in full, for the one who typed the command."""
    files: tuple[tuple[str, int], ...] = ()
    """Seizure, and the number of its file among those that were given; of plain files only."""


def load_patient(
    patient: Any, plan: Plan, given: Given, tick: Progress | None = None
) -> LoadedPatient:
    """The seizures of one patient.

    Parameters
    ----------
    patient : path, Raw or Recording, or a sequence of them; (path or Raw, onset) pairs too
        A path is a recording, a run or a patient's folder in a BIDS tree, or such a tree. An onset
        of None is looked for in the file; a file in two pairs has two seizures.
    plan : Plan
        Interval, montage, quality checks, whether a repeated recording counts once.
    given : Given
        Onsets, positions, the patient's code, channels to leave out.
    """
    tick = Progress.of(tick)
    single = isinstance(patient, str | Path | Recording) or hasattr(patient, "get_data")
    items = [patient] if single else list(patient)
    if not items:
        raise DataError("recordings: expected seizures of one patient, found none. Name the files.")
    if all(isinstance(item, Recording) for item in items):
        seizures = _from_recordings(items, plan, given)
    else:
        sources = sources_of(items, given.onsets_s)
        root = common_root(sources)
        if root is None:
            seizures = _from_plain(sources, plan, given, tick)
        else:
            seizures = _from_bids(BidsTree(root), sources, plan, given, tick)
    seizures.check_names("--exclude", tuple(given.exclude))
    seizures.check_names("--keep", given.keep)
    loaded = seizures.loaded()
    if given.electrodes is None:
        return loaded
    placed, rows = place_contacts(loaded.recordings, given.electrodes, given.space)
    return replace(loaded, recordings=placed, rows=loaded.rows + tuple(rows))


class _Seizures:
    """The seizures of one patient while they are read; one that is left out keeps its reason."""

    def __init__(self, patient: str, plan: Plan, given: Given, rows: Sequence[AuditRow] = ()):
        self.patient, self._plan, self._keep = patient, plan, given.keep
        self._recordings: list[Recording] = []
        self._rows = list(rows)
        self._left_out: dict[str, str] = {}
        self._problems: list[str] = []
        self.files: dict[str, int] = {}
        self._channels: dict[str, None] = {}

    def read(self, pending: Iterable[Pending], titles: Mapping[str, str]) -> _Seizures:
        """Read seizures; only the user sees their `titles`, which can name files."""
        for attempt in read_or_audit(pending, self._plan, public=_public_reason, keep=self._keep):
            self._channels |= dict.fromkeys(attempt.channels)
            self._rows += attempt.rows
            title = titles.get(attempt.name, attempt.name)
            if attempt.recording is not None:
                self._recordings.append(attempt.recording)
                continue
            why = self._rows[-1].why
            problem = f"it {why}." if attempt.error is None else f"{attempt.error}"
            self.leave_out(attempt.name, why, f"{title} is left out: {problem}")
        return self

    def has(self, *names: str) -> None:
        """Channels of the recordings, used or not."""
        self._channels |= dict.fromkeys(names)

    def check_names(self, option: str, names: Sequence[str]) -> None:
        """Refuse a name that no recording has: it was meant to change something."""
        channels = tuple(self._channels)
        for name in names if channels else ():
            if not meant_channels([name], channels):
                raise DataError(
                    f"{option}: expected a channel of the recordings, found {name!r}. "
                    + _hint(name, channels)
                )

    def leave_out(self, name: str, why: str, problem: str) -> None:
        """Keep the reason for everyone, and in full for the user."""
        self._left_out[name] = why
        self._problems.append(problem)

    def loaded(self) -> LoadedPatient:
        """All that was read; a patient without any seizure is refused."""
        if not self._recordings:
            problem = (self._problems or ["Is the run ictal?"])[0]
            raise DataError(
                f"{self.patient}: expected a seizure that can be used, found none. {problem}"
            )
        return LoadedPatient(
            tuple(self._recordings),
            tuple(self._rows),
            tuple(self._left_out.items()),
            tuple(self._problems),
            tuple(self.files.items()),
        )


def _hint(name: str, names: Sequence[str]) -> str:
    """Which channel was meant."""
    by_capitals = {channel.upper(): channel for channel in names}
    close = get_close_matches(name.upper(), sorted(by_capitals), n=1)
    like = by_capitals[close[0]] if close else ""
    return f"Did you mean {like!r}?" if like else f"Names are like {names[0]!r}."


def _public_reason(error: DataError) -> Reason:
    """The reason that a page may show: messages about files can name their paths."""
    shown = isinstance(error, OnsetError) or error.reason.code in _SHOWN_CODES
    return error.reason if shown else UNREADABLE


def _from_recordings(recordings: Sequence[Recording], plan: Plan, given: Given) -> _Seizures:
    pending = []
    for recording in recordings:
        who = (recording.patient, recording.run)
        keep, rows = _wanted(recording.channels, with_reasons(given.exclude), who)
        wanted = pick(recording, keep)
        pending.append(Pending(*who, partial(lambda *parts: parts, wanted, rows)))
    seizures = _Seizures(recordings[0].patient, plan, given)
    seizures.has(*(name for recording in recordings for name in recording.channels))
    return seizures.read(pending, {})


def _from_plain(
    sources: Sequence[SourceOnset], plan: Plan, given: Given, tick: Progress
) -> _Seizures:
    for source, _ in sources:
        if isinstance(source, Path) and source.is_dir() and source.suffix != ".mefd":
            raise DataError(
                f"{source}: expected a recording or a BIDS dataset, found a folder without "
                "dataset_description.json above it. Name the files inside."
            )
    seizures = _Seizures(patient_code(given.patient or "patient"), plan, given)
    files = list(dict.fromkeys(_identity(source) for source, _ in sources))
    pending, titles = [], {}
    for number, (source, onset) in enumerate(sources, start=1):
        who = (seizures.patient, name := f"seizure-{number}")
        seizures.files[name] = files.index(_identity(source)) + 1
        titles[name] = f"{name} ({source.name})" if isinstance(source, Path) else name
        prepare = partial(plain_run, source, onset, who, with_reasons(given.exclude))
        pending.append(Pending(*who, partial(_announced, tick, name, prepare)))
    return seizures.read(pending, titles)


def _identity(source: Path | BaseRaw) -> Path | int:
    return source if isinstance(source, Path) else id(source)


def _announced(tick: Progress, name: str, prepare: Callable[[], _Prepared]) -> _Prepared:
    """Report which seizure is read next, then prepare it."""
    tick(f"reading {name}", 0)
    return prepare()


def _from_bids(
    tree: BidsTree, sources: Sequence[SourceOnset], plan: Plan, given: Given, tick: Progress
) -> _Seizures:
    """The ictal runs of one patient: those that are named, or all of them."""
    paths = [source for source, _ in sources if isinstance(source, Path)]
    # By the name before the dot: BrainVision has three files, and any of them may be given.
    named = {_stem(path) for path in paths if path.name.startswith("sub-") and path.suffix}
    below = [part for path in paths for part in real_place(path).relative_to(tree.root).parts]
    names = {part for part in below if re.fullmatch(r"sub-[^_]+", part)}
    names |= {with_prefix(given.patient, "sub-")} if given.patient else set()
    typed = _typed_onsets(sources)
    first = None if typed is None else {run: onsets[0] for run, onsets in typed.items()}
    patient, rows = scan_patient(tree, names, plan, first)
    seizures = _Seizures(patient.name, plan, given, rows)
    for row in rows:
        asked_for = not named or f"{patient.name}_{row.run}_ieeg" in named
        if (row.what, row.effect) == ("seizure", "excluded") and asked_for:
            seizures.leave_out(row.run, row.why, f"{row.run} is left out: {row.why}")
    pending = []
    for run in patient.runs:
        if not named or (run.source is not None and _stem(run.source) in named):
            onsets = (typed or {}).get((patient.name, run.run), [])
            for seizure in (run, *_more_seizures(run, onsets[1:])):
                prepare = partial(_without, seizure, with_reasons(given.exclude))
                prepare = partial(_announced, tick, seizure.run, prepare)
                pending.append(Pending(patient.name, seizure.run, prepare))
    return seizures.read(pending, {})


def _more_seizures(run: SeizureRun, onsets: Sequence[Onset]) -> list[SeizureRun]:
    """The second and further seizures of a run, which has the first one's onset."""
    return [
        replace(run, run=seizure_name(run.run, number), onset=onset)
        for number, onset in enumerate(onsets, start=2)
    ]


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


def _without(run: SeizureRun, exclude: Mapping[str, str]) -> tuple[SeizureRun, list[AuditRow]]:
    """The run without the channels that the user does not want."""
    keep, rows = _wanted(run.channels, exclude, (run.patient, run.run))
    return run.pick(keep), rows


def _wanted(
    channels: Sequence[str], exclude: Mapping[str, str], who: tuple[str, str]
) -> tuple[list[bool], list[AuditRow]]:
    unwanted = excluded_channels(exclude, channels)
    keep = [name not in unwanted for name in channels]
    lost = [name for name, kept in zip(channels, keep, strict=True) if not kept]
    return keep, [AuditRow.of("channel", unwanted[name], (*who, name)) for name in lost]
