"""Read the seizures of a patient one by one; one that cannot be used becomes an audit row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow
from epilens.data.broken_contacts import check_contacts
from epilens.data.duplicates import DuplicateFilter
from epilens.data.export_checks import export_rows
from epilens.data.kept_contacts import kept_of
from epilens.data.name_matching import NameMatcher
from epilens.data.onset import OutsideError
from epilens.data.recording import Recording, SeizureRun, pick, read_run, repair
from epilens.data.silent_stretches import silent_rows
from epilens.plan import Plan


@dataclass(frozen=True)
class Pending:
    """A seizure to be read."""

    patient: str
    name: str
    prepare: Callable[[], tuple[SeizureRun | Recording, Sequence[AuditRow]]]
    """Finds out what is to be read; a recording is in memory already."""

    @classmethod
    def of(cls, run: SeizureRun) -> Pending:
        """A run that needs no preparation."""
        return cls(run.patient, run.run, lambda: (run, ()))


@dataclass(frozen=True)
class Attempt:
    """The outcome for one seizure; without a recording, the last row says why."""

    name: str
    rows: tuple[AuditRow, ...]
    recording: Recording | None = None
    channels: tuple[str, ...] = ()
    """Every channel of the file, used or not, as far as it could be opened."""
    error: DataError | None = None
    """Why it could not be read, in full; None where it was read, or repeats another."""


def read_or_audit(
    seizures: Iterable[Pending],
    plan: Plan,
    ahead: bool = False,
    public: Callable[[DataError], Reason] = lambda error: error.reason,
    keep: Collection[str] = (),
) -> Iterator[Attempt]:
    """Try to read every seizure of a patient, in order.

    Parameters
    ----------
    ahead : bool
        Read the next seizure in the background while the caller works on the one before.
    public : callable
        The reason that the audit shows for an error.
    keep : collection of str
        Channels that are used whatever the checks of their signal say.
    """
    names = NameMatcher()
    repeats, work = DuplicateFilter(plan), partial(_attempt, plan=plan, public=public, keep=keep)
    for attempt in _one_ahead(work, list(seizures)) if ahead else map(work, seizures):
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
        keep = (*keep, *kept_of(seizure.patient, plan.quality.keep))
        if isinstance(run, Recording):
            channels = run.channels
            run, repaired = repair(run)
            trusted, broken = check_contacts(run, plan.quality, keep)
            recording = pick(run, trusted)
            more = [*repaired, *silent_rows(run), *export_rows(run), *broken.values()]
        else:
            channels = (*run.channels, *run.listed)
            recording, more = read_run(run, plan, keep)
    except OutsideError:
        raise
    except DataError as error:
        row = AuditRow.of("seizure", public(error), (seizure.patient, seizure.name))
        return Attempt(seizure.name, (row,), channels=channels, error=error)
    return Attempt(seizure.name, (*rows, *more), recording, channels)


def _one_ahead(work: Callable[[Pending], Attempt], items: Sequence[Pending]) -> Iterator[Any]:
    """`map`, with one result prepared in the background."""
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(work, item) for item in items[:1]]
        for item in [*items[1:], None]:
            if not waiting:
                return
            attempt = waiting.pop().result()
            if item is not None:
                waiting.append(pool.submit(work, item))
            yield attempt
