"""Read the seizures of a patient one by one; one that cannot be used becomes an audit row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import MappingProxyType

from epilens.core.errors import DataError, Reason
from epilens.data.audit import AuditRow
from epilens.data.bare_files import BareSeizure
from epilens.data.channels.broken_contacts import check_contacts
from epilens.data.channels.export_checks import export_rows
from epilens.data.channels.name_matching import NameMatcher
from epilens.data.channels.user_choices import excluded_channels, kept_of
from epilens.data.duplicates import DuplicateFilter
from epilens.data.onsets.onset import OutsideError
from epilens.data.recording import Recording, SeizureRun, pick, read_run, repair
from epilens.plan import Plan

Seizure = SeizureRun | BareSeizure | Recording
"""What can be read: a run of a BIDS dataset, a file without sidecars, a signal in memory."""


@dataclass(frozen=True)
class SeizureResult:
    """A seizure that was read, or the reason why it cannot be used."""

    seizure: Seizure
    rows: tuple[AuditRow, ...]
    """The audit of this seizure; without a recording, the last row says why."""
    recording: Recording | None = None
    file_channels: tuple[str, ...] = ()
    """Every channel of the file, used or not; empty if the file could not be opened."""
    error: DataError | None = None
    """The full reason, which can name a file; None if the seizure was read or repeats another."""


def read_seizures(
    seizures: Iterable[Seizure],
    plan: Plan,
    public_reason: Callable[[DataError], Reason] = lambda error: error.reason,
    exclude: Mapping[str, str] = MappingProxyType({}),
    keep: Collection[str] = (),
) -> Iterator[SeizureResult]:
    """Try to read every seizure of a patient, in order.

    public_reason : the reason that the audit shows for an error.
    exclude : channels that the user excludes, and why.
    keep : channels that are used whatever the checks of their signal say.
    """
    names, duplicates = NameMatcher(), DuplicateFilter(plan)
    for seizure in seizures:
        result = _read(seizure, plan, public_reason, exclude, keep)
        if result.recording is not None:
            rows = list(result.rows)
            recording = names.match(result.recording, rows)
            counts = duplicates.admit(recording, rows)
            result = replace(result, rows=tuple(rows), recording=recording if counts else None)
        yield result


def _read(
    seizure: Seizure,
    plan: Plan,
    public_reason: Callable[[DataError], Reason],
    exclude: Mapping[str, str],
    keep: Collection[str],
) -> SeizureResult:
    file_channels: tuple[str, ...] = ()
    try:
        if isinstance(seizure, BareSeizure):
            run, rows = seizure.open(exclude)
        else:
            run, rows = _without_excluded(seizure, exclude)
        keep = (*keep, *kept_of(seizure.patient, plan.quality.keep))
        if isinstance(run, Recording):
            file_channels = (*run.channels, *(row.channel for row in rows))
            recording, signal_rows = _checked(run, plan, keep)
        else:
            file_channels = (*run.channels, *run.listed)
            recording, signal_rows = read_run(run, plan, keep)
    except OutsideError:
        raise
    except DataError as error:
        row = AuditRow.of("seizure", public_reason(error), seizure.who)
        return SeizureResult(seizure, (row,), None, file_channels, error)
    return SeizureResult(seizure, (*rows, *signal_rows), recording, file_channels)


def _without_excluded(
    run: SeizureRun | Recording, exclude: Mapping[str, str]
) -> tuple[SeizureRun | Recording, list[AuditRow]]:
    """The run without the channels that the user excludes, and a row for each of them."""
    excluded = excluded_channels(exclude, run.channels)
    if not excluded:
        return run, []
    rows = [
        AuditRow.of("channel", excluded[name], (*run.who, name))
        for name in run.channels
        if name in excluded
    ]
    keep = [name not in excluded for name in run.channels]
    return pick(run, keep) if isinstance(run, Recording) else run.pick(keep), rows


def _checked(
    recording: Recording, plan: Plan, keep: Collection[str]
) -> tuple[Recording, list[AuditRow]]:
    """A recording that is in memory already, without contacts that cannot be trusted."""
    recording, repaired = repair(recording)
    trusted, broken = check_contacts(recording, plan.quality, keep)
    return pick(recording, trusted), [*repaired, *export_rows(recording), *broken.values()]


def one_ahead(results: Iterator[SeizureResult]) -> Iterator[SeizureResult]:
    """The same results; the next one is read in the background while the caller uses one."""

    def read_next() -> SeizureResult | None:
        return next(results, None)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read_next)
        while (result := waiting.result()) is not None:
            waiting = pool.submit(read_next)
            yield result
