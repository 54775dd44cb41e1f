"""One patient, however it is given → Recordings with an audit, by the reader of every cohort.

Files that MNE reads, open `mne.io.Raw`, runs or patients of a BIDS tree, Recordings. File names and
headers can name a person: no text of a file goes further than the names of its contacts, and
seizures of plain files are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epilens.core.errors import DataError, OnsetError
from epilens.core.progress import Progress
from epilens.data.audit import AuditRow, Note
from epilens.data.bare_files import EXCLUDED, OutsideError, plain_run
from epilens.data.bids import scan_patient
from epilens.data.contacts import ContactList, match_list
from epilens.data.duplicates import Repeats
from epilens.data.onset import APART_S, Onset
from epilens.data.positions import place_contacts
from epilens.data.readers.companions import header_of
from epilens.data.recording import Recording, SeizureRun, pick, read_run
from epilens.data.sidecars import BidsTree, with_prefix
from epilens.plan import Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw

_Source = TypeVar("_Source")

UNREADABLE = Note("could not be read (the command line says why)", "file-unreadable")


@dataclass(frozen=True)
class Given:
    """What the user says about a patient beside its recordings."""

    onsets_s: tuple[float | None, ...] = ()
    """Seconds from the start of each file, in the order of the files; None: what the file says."""
    electrodes: Path | None = None
    """electrodes.tsv (or .csv) with name, x, y, z."""
    space: str = ""
    """Coordinate system of the electrodes; empty: what coordsystem.json beside them says."""
    patient: str = ""
    """Code of the patient: letters and digits."""
    exclude: tuple[str, ...] = ()
    """Channels that are no contacts or should not count."""


@dataclass(frozen=True)
class Intake:
    """Seizures that can be read, and all that was left out or found strange."""

    recordings: tuple[Recording, ...]
    rows: tuple[AuditRow, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Seizure and reason; no free text of a file."""
    problems: tuple[str, ...] = ()
    """The same reasons in full, for the one who typed the command."""
    files: tuple[tuple[str, int], ...] = ()
    """Seizure, and the number of its file among those that were given; of plain files only."""


def take_in(patient: Any, plan: Plan, given: Given, tick: Progress | None = None) -> Intake:
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
    one = isinstance(patient, str | Path | Recording) or hasattr(patient, "get_data")
    items = [patient] if one else list(patient)
    if not items:
        raise DataError("recordings: expected seizures of one patient, found none. Name the files.")
    if all(isinstance(item, Recording) for item in items):
        taken = _from_recordings(items, plan, given)
    else:
        sources, given = _sources(items, given)
        root = _common_root(sources)
        if root is None:
            taken = _from_plain(sources, plan, given, Progress.of(tick))
        else:
            taken = _from_bids(BidsTree(root), sources, plan, given, Progress.of(tick))
    taken.check_excluded(given.exclude)
    intake = taken.intake()
    if given.electrodes is None:
        return intake
    placed, rows = place_contacts(intake.recordings, given.electrodes, given.space)
    return replace(intake, recordings=placed, rows=intake.rows + tuple(rows))


def patient_code(text: str) -> str:
    """`sub-…` with letters and digits only, so that it can be a file's name everywhere."""
    code = text.removeprefix("sub-")
    if not re.fullmatch(r"[A-Za-z0-9]{1,40}", code):
        raise DataError(
            f"patient {text!r}: expected a code of letters and digits, found other characters. "
            "Give one with --patient, and no name of a person."
        )
    return f"sub-{code}"


class _Seizures:
    """The seizures of one patient while they are read; what is left out keeps its reason."""

    def __init__(self, patient: str, plan: Plan, rows: Sequence[AuditRow] = ()):
        self.patient, self._plan, self._repeats = patient, plan, Repeats(plan)
        self._recordings: list[Recording] = []
        self._rows = list(rows)
        self._left_out: dict[str, str] = {}
        self._problems: list[str] = []
        self.files: dict[str, int] = {}
        self._names: dict[str, None] = {}

    def read(
        self, name: str, called: str, prepare: Callable[[], tuple[SeizureRun, list[AuditRow]]]
    ) -> None:
        """Prepare a run and read it; only the user sees how it is `called`."""
        try:
            run, rows = prepare()
            self.has(*run.channels, *run.listed)
            recording, more = read_run(run, self._plan)
        except OutsideError:
            raise
        except DataError as error:
            reason = error.reason if isinstance(error, OnsetError) else UNREADABLE
            self._rows.append(AuditRow.of("seizure", reason, (self.patient, name)))
            self.leave_out(name, str(reason), f"{called} is left out: {error}")
            return
        self.add(recording, called, [*rows, *more])

    def add(self, recording: Recording, called: str, rows: Sequence[AuditRow]) -> None:
        """Take a recording, unless it repeats one."""
        self._rows += rows
        if self._repeats.admit(recording, self._rows):
            self._recordings.append(recording)
        else:
            why = self._rows[-1].why
            self.leave_out(recording.run, why, f"{called} is left out: it {why}.")

    def has(self, *names: str) -> None:
        """Channels that a recording has, whether they are used or not."""
        self._names |= dict.fromkeys(names)

    def check_excluded(self, exclude: Sequence[str]) -> None:
        """Refuse a channel to leave out that no recording has: it was meant to change something."""
        known = {name.upper() for name in self._names}
        for name in exclude if known else ():
            if name.strip().upper() not in known:
                raise DataError(
                    f"--exclude: expected a channel of the recordings, found {name!r}. "
                    + _hint(name, tuple(self._names))
                )

    def leave_out(self, name: str, why: str, problem: str) -> None:
        """Keep the reason for everyone, and in full for the user."""
        self._left_out[name] = why
        self._problems.append(problem)

    def intake(self) -> Intake:
        """All that was taken in; a patient without any seizure is refused."""
        if not self._recordings:
            problem = (self._problems or ["Is the run ictal?"])[0]
            raise DataError(
                f"{self.patient}: expected a seizure that can be used, found none. {problem}"
            )
        return Intake(
            tuple(self._recordings),
            tuple(self._rows),
            tuple(self._left_out.items()),
            tuple(self._problems),
            tuple(self.files.items()),
        )


def _hint(name: str, names: Sequence[str]) -> str:
    """Which channel was meant: `RA3` and `RA03` are what a page calls `EEG RA 03-Ref`."""
    meant = match_list(ContactList.of_names([name]), names).channels
    by_capitals = {known.upper(): known for known in names}
    close = get_close_matches(name.upper(), sorted(by_capitals), n=1)
    like = min(meant) if meant else by_capitals[close[0]] if close else ""
    return f"Did you mean {like!r}?" if like else f"Names are like {names[0]!r}."


def _from_recordings(recordings: Sequence[Recording], plan: Plan, given: Given) -> _Seizures:
    seizures = _Seizures(recordings[0].patient, plan)
    for recording in recordings:
        who = (recording.patient, recording.run)
        keep, rows = _wanted(recording.channels, given.exclude, who)
        seizures.has(*recording.channels)
        seizures.add(pick(recording, keep), recording.run, rows)
    return seizures


def _sources(items: Sequence[Any], given: Given) -> tuple[list[Path | BaseRaw], Given]:
    """Files and open recordings; onsets that stand beside them join those of the user."""
    from mne.io import BaseRaw

    sources, onsets_s = [], list(given.onsets_s)
    for item in items:
        source, *onset = item if isinstance(item, tuple) else (item,)
        if not isinstance(source, str | Path | BaseRaw):
            raise DataError(
                "recordings: expected paths, mne.io.Raw objects, recordings or a cube, found "
                f"{type(source).__name__}. Read the files with mne.io.read_raw first."
            )
        onsets_s += [None if one is None else float(one) for one in onset]
        sources.append(source if isinstance(source, BaseRaw) else header_of(Path(source)))
        if isinstance(sources[-1], Path) and not sources[-1].exists():
            raise DataError(f"{source}: expected a recording, found nothing. Check the path.")
    return sources, replace(given, onsets_s=tuple(onsets_s))


def _with_onsets(
    sources: Sequence[_Source], onsets_s: Sequence[float | None]
) -> list[tuple[_Source, float | None]]:
    """Each recording with its onset; one file can hold several seizures."""
    if not onsets_s:
        return [(source, None) for source in sources]
    files = all(isinstance(source, Path) for source in sources)
    if files and len(sources) == 1:
        _check_apart(sources[0], onsets_s)
        return [(sources[0], onset_s) for onset_s in onsets_s]
    if len(sources) != len(onsets_s):
        raise OnsetError(
            f"recordings: expected one onset for each of {len(sources)} "
            f"{'files' if files else 'recordings'}, found {len(onsets_s)}. "
            + ("Give --onset once for every file, in their order." if files else "Give as many.")
        )
    if files:
        for source in dict.fromkeys(sources):
            _check_apart(source, [t for s, t in zip(sources, onsets_s, strict=True) if s == source])
    return list(zip(sources, onsets_s, strict=True))


def _check_apart(source: Any, onsets_s: Sequence[float | None]) -> None:
    """Onsets of one file that are closer than any two seizures are refused."""
    for before, after in pairwise(sorted(t for t in onsets_s if t is not None)):
        if after - before < APART_S:
            raise OnsetError(
                f"{source.name}: expected seizures {APART_S:g} s or more apart in one file, found "
                f"onsets at {before:g} and {after:g} s. Give one onset for each seizure, with a "
                "decimal point."
            )


def _from_plain(
    sources: Sequence[Path | BaseRaw], plan: Plan, given: Given, tick: Progress
) -> _Seizures:
    folders = [s for s in sources if isinstance(s, Path) and s.is_dir() and s.suffix != ".mefd"]
    if folders:
        raise DataError(
            f"{folders[0]}: expected a recording or a BIDS dataset, found a folder without "
            "dataset_description.json above it. Name the files inside."
        )
    seizures = _Seizures(patient_code(given.patient or "patient"), plan)
    pairs = _with_onsets(sources, given.onsets_s)
    files = list(dict.fromkeys(s if isinstance(s, Path) else id(s) for s in sources))
    for number, (source, onset_s) in enumerate(pairs, start=1):
        who = (seizures.patient, f"seizure-{number}")
        file = files.index(source if isinstance(source, Path) else id(source))
        seizures.files[who[1]] = file + 1
        called = f"{who[1]} ({source.name})" if isinstance(source, Path) else who[1]
        tick(f"reading {who[1]}", 0)
        seizures.read(who[1], called, partial(plain_run, source, onset_s, who, given.exclude))
    return seizures


def bids_root(path: Path) -> Path | None:
    """The BIDS dataset that a BIDS name lies in, or None."""
    path = _real(path)
    if path.is_dir() and (path / "dataset_description.json").exists():
        return path
    if not path.name.startswith("sub-"):
        return None
    return next((p for p in path.parents if (p / "dataset_description.json").exists()), None)


def _real(path: Path) -> Path:
    """The real place of a name; a linked file (as datalad keeps them) keeps its own name."""
    return path.parent.resolve() / path.name if path.is_symlink() else path.resolve()


def _common_root(sources: Sequence[Path | BaseRaw]) -> Path | None:
    roots = {bids_root(source) if isinstance(source, Path) else None for source in sources}
    if len(roots) > 1:
        raise DataError(
            "recordings: expected recordings of one dataset, found files of several. Give the "
            "files of one patient."
        )
    return roots.pop()


def _from_bids(
    tree: BidsTree, sources: Sequence[Any], plan: Plan, given: Given, tick: Progress
) -> _Seizures:
    """The ictal runs of one patient: those that are named, or all of them."""
    # By the name before the dot: BrainVision has three files, and any of them may be given.
    named = {_stem(path) for path in sources if path.name.startswith("sub-") and path.suffix}
    below = [part for path in sources for part in _real(path).relative_to(tree.root).parts]
    names = {part for part in below if re.fullmatch(r"sub-[^_]+", part)}
    names |= {with_prefix(given.patient, "sub-")} if given.patient else set()
    typed = _typed_onsets(sources, given.onsets_s)
    first = None if typed is None else {run: onsets_s[0] for run, onsets_s in typed.items()}
    patient, rows = scan_patient(tree, names, plan, first)
    seizures = _Seizures(patient.name, plan, rows)
    for row in rows:
        asked_for = not named or f"{patient.name}_{row.run}_ieeg" in named
        if (row.what, row.effect) == ("seizure", "excluded") and asked_for:
            seizures.leave_out(row.run, row.why, f"{row.run} is left out: {row.why}")
    for run in patient.runs:
        if not named or (run.path is not None and _stem(run.path) in named):
            onsets_s = (typed or {}).get((patient.name, run.name), [])
            for seizure in (run, *_more_seizures(run, onsets_s[1:])):
                tick(f"reading {seizure.name}", 0)
                seizures.read(seizure.name, seizure.name, partial(_without, seizure, given.exclude))
    return seizures


def _more_seizures(run: SeizureRun, onsets_s: Sequence[float]) -> list[SeizureRun]:
    """The second and further seizures of a run, which has the first one's onset."""
    return [
        replace(run, name=f"{run.name}+{number}", onset=Onset.given(onset_s))
        for number, onset_s in enumerate(onsets_s, start=2)
    ]


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _typed_onsets(
    paths: Sequence[Path], onsets_s: Sequence[float | None]
) -> dict[tuple[str, str], list[float]] | None:
    """The user's onsets by patient and run; None: those of the dataset."""
    onsets: dict[tuple[str, str], list[float]] = {}
    for path, onset_s in _with_onsets(paths, onsets_s):
        if onset_s is None:
            continue
        patient, _, run = path.name.partition("_ieeg")[0].partition("_")
        if not run:
            raise OnsetError(
                "recordings: expected onsets for runs of a BIDS dataset, found one for a folder, "
                f"{path.name}. Name the run."
            )
        onsets.setdefault((patient, run), []).append(onset_s)
    return onsets or None


def _without(run: SeizureRun, exclude: Sequence[str]) -> tuple[SeizureRun, list[AuditRow]]:
    """The run without the channels that the user does not want."""
    keep, rows = _wanted(run.channels, exclude, (run.patient, run.name))
    return run.pick(keep), rows


def _wanted(
    channels: Sequence[str], exclude: Sequence[str], who: tuple[str, str]
) -> tuple[list[bool], list[AuditRow]]:
    unwanted = {name.strip().upper() for name in exclude}
    keep = [name.upper() not in unwanted for name in channels]
    lost = [name for name, kept in zip(channels, keep, strict=True) if not kept]
    return keep, [AuditRow.of("channel", EXCLUDED, (*who, name)) for name in lost]
