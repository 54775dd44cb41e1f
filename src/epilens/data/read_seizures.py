"""Read the seizures of a patient one by one; one that cannot be used becomes an audit row.

Contacts that recordings spell differently get one name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow, noted_row
from epilens.data.channels.broken_contacts import check_contacts
from epilens.data.channels.contacts import Contact, contacts_of_channel, short_names
from epilens.data.channels.export_checks import export_rows
from epilens.data.channels.user_choices import kept_of
from epilens.data.duplicates import DuplicateFilter
from epilens.data.electrodes.positions import Positions
from epilens.data.onsets.onset import OutsideError
from epilens.data.recording import Recording, SeizureRun, pick, read_run, repair
from epilens.plan import Plan


@dataclass(frozen=True)
class Pending:
    """A seizure to be read."""

    who: tuple[str, str]
    """Patient and seizure."""
    prepare: Callable[[], tuple[SeizureRun | Recording, Sequence[AuditRow]]]
    """Finds out what is to be read; a recording is in memory already."""
    title: str = ""
    """For the user alone: it can name a file. Empty: its name."""

    @classmethod
    def of(cls, run: SeizureRun) -> Pending:
        """A run that needs no preparation."""
        return cls(run.who, lambda: (run, ()))


@dataclass(frozen=True)
class Attempt:
    """The outcome for one seizure; without a recording, the last row says why."""

    seizure: Pending
    rows: tuple[AuditRow, ...]
    recording: Recording | None = None
    channels: tuple[str, ...] = ()
    """Every channel of the file, used or not, as far as it could be opened."""
    error: DataError | None = None
    """Why it could not be read, in full; None where it was read, or repeats another."""

    @property
    def name(self) -> str:
        """The seizure."""
        return self.seizure.who[1]

    @property
    def title(self) -> str:
        """The seizure and its file, for the user alone."""
        return self.seizure.title or self.name


def read_or_audit(
    seizures: Iterable[Pending],
    plan: Plan,
    ahead: bool = False,
    public: Callable[[DataError], Reason] = lambda error: error.reason,
    keep: Collection[str] = (),
) -> Iterator[Attempt]:
    """Try to read every seizure of a patient, in order.

    ahead : read the next seizure in the background while the caller works on the one before.
    public : the reason that the audit shows for an error.
    keep : channels that are used whatever the checks of their signal say.
    """
    names = NameMatcher()
    repeats, work = DuplicateFilter(plan), partial(_attempt, plan=plan, public=public, keep=keep)
    for attempt in _one_ahead(work, seizures) if ahead else map(work, seizures):
        if attempt.recording is None:
            yield attempt
            continue
        rows = list(attempt.rows)
        recording = names.match(attempt.recording, rows)
        counts = repeats.admit(recording, rows)
        yield replace(attempt, rows=tuple(rows), recording=recording if counts else None)


def _attempt(
    seizure: Pending, plan: Plan, public: Callable[[DataError], Reason], keep: Collection[str]
) -> Attempt:
    channels: tuple[str, ...] = ()
    try:
        run, rows = seizure.prepare()
        keep = (*keep, *kept_of(seizure.who[0], plan.quality.keep))
        if isinstance(run, Recording):
            channels = (*run.channels, *(row.channel for row in rows))
            run, repaired = repair(run)
            trusted, broken = check_contacts(run, plan.quality, keep)
            recording = pick(run, trusted)
            more = [*repaired, *export_rows(run), *broken.values()]
        else:
            channels = (*run.channels, *run.listed)
            recording, more = read_run(run, plan, keep)
    except OutsideError:
        raise
    except DataError as error:
        row = AuditRow.of("seizure", public(error), seizure.who)
        return Attempt(seizure, (row,), channels=channels, error=error)
    return Attempt(seizure, (*rows, *more), recording, channels)


def _one_ahead(work: Callable[[Pending], Attempt], items: Iterable[Pending]) -> Iterator[Attempt]:
    """`map`, with one result prepared in the background."""
    with ThreadPoolExecutor(1) as pool:
        waiting: list[Future[Attempt]] = []
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 1:
                yield waiting.pop(0).result()
        yield from (future.result() for future in waiting)


_EXAMPLES = 3

_Key = tuple[Contact, ...]


class NameMatcher:
    """Renames contacts to the first spelling that a recording of the patient had.

    `RB 1` and `EEG RB 01-Ref` are contact 1 of electrode RB. Names that two channels of one
    recording share (`a1` and `A1`) are matched by their exact spelling only.
    """

    def __init__(self) -> None:
        self._names: dict[str, dict[_Key, str]] = {}
        self._first: dict[str, str] = {}

    def match(self, recording: Recording, rows: list[AuditRow]) -> Recording:
        """The recording with the names of earlier ones; a row says what was matched."""
        first = self._first.setdefault(recording.patient, recording.run)
        names = self._names.setdefault(recording.patient, {})
        keys = _unique_keys(recording.channels)
        own = set(recording.channels)
        renamed = {
            name: names[key]
            for name, key in keys.items()
            if name not in names.values() and names.get(key, name) not in own
        }
        new = [name for name, key in keys.items() if first != recording.run and key not in names]
        names.update({key: name for name, key in keys.items() if key not in names})
        if not renamed:
            return recording
        rows.append(
            noted_row("run", _sentence(renamed, new, first), "names-matched", recording.who)
        )
        return _rename(recording, renamed)


def _unique_keys(channels: Sequence[str]) -> dict[str, _Key]:
    """Electrode and number of every channel that shares them with no other of its recording."""
    keys = {name: contacts_of_channel(name) for name in channels}
    times = Counter(keys.values())
    return {name: key for name, key in keys.items() if key and times[key] == 1}


def _sentence(renamed: dict[str, str], new: Sequence[str], first: str) -> str:
    pairs = [f"{old} as {name}" for old, name in list(renamed.items())[:_EXAMPLES]]
    many = "1 contact is" if len(renamed) == 1 else f"{len(renamed)} contacts are"
    text = f"{many} spelled differently than in {first}; matched by electrode and number "
    text += f"({', '.join(pairs)}{', …' if len(renamed) > _EXAMPLES else ''})"
    if new:
        names = ", ".join(short_names(list(new))[:_EXAMPLES])
        text += f"; {len(new)} have no match ({names}{', …' if len(new) > _EXAMPLES else ''})"
    return text


def _rename(recording: Recording, renamed: dict[str, str]) -> Recording:
    mm = {renamed.get(name, name): at for name, at in recording.positions.mm.items()}
    return replace(
        recording,
        channels=tuple(renamed.get(name, name) for name in recording.channels),
        positions=Positions(mm, recording.positions.space),
    )
