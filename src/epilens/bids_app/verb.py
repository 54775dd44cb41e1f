"""The verb `bids`: arguments of the command line → one level of the analysis."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from epilens.bids_app.group import summarise
from epilens.bids_app.participants import LEFT_OUT, choose_ranker, localize_all
from epilens.compute.dask import progress_on
from epilens.core.console import say
from epilens.core.errors import DataError, EpilensError, did_you_mean
from epilens.io.outputs import check_folder
from epilens.plan import Runtime
from epilens.report.patient.derivative import KIND

LEVELS = ("participant", "group")


@dataclass(frozen=True)
class BidsCommand:
    """The arguments of `epilens bids`."""

    bids_dir: Path
    out: Path
    level: str
    """`participant` or `group`."""
    _: KW_ONLY
    labels: tuple[str, ...] = ()
    """Patients to localize; empty: all."""
    more: tuple[str, ...] = ()
    """Words after the level: further labels, as BIDS Apps take them."""
    model: Path | None = None
    method: str = ""
    keep: tuple[str, ...] = ()
    """Entries `PATIENT:CHANNEL`: contacts that the checks exclude and that are used."""
    jobs: int = 1
    cluster: str = ""


def run_level(command: BidsCommand) -> Path:
    """Run the level; returns the folder, or the page over all patients."""
    if command.level not in LEVELS:
        hint = did_you_mean(command.level, LEVELS)
        raise EpilensError(
            f"bids: expected the level participant or group, found {command.level!r}. {hint}"
        )
    if command.more and not command.labels:
        raise EpilensError(
            f"bids: expected nothing after the level, found {command.more[0]!r}. Is it a "
            "--participant-label?"
        )
    if command.level == "group":
        if command.labels:
            raise EpilensError(
                "bids: expected --participant-label with the level participant, found it with "
                "group, which is over all patients of OUT. Leave it out."
            )
        return summarise(command.out)
    return _participants(command)


def _participants(command: BidsCommand) -> Path:
    check_folder(command.out, KIND)
    ranker = choose_ranker(command.model, command.method)
    labels = (*command.labels, *command.more)
    with progress_on(command.cluster, "localizing patients") as tick:
        runtime = Runtime(command.out, command.jobs, tick=tick)
        records = localize_all(command.bids_dir, ranker, runtime, labels, command.keep)
    count = Counter(record.kind for record in records)
    left = f", {count['failed']} excluded (see {LEFT_OUT})" if count["failed"] else ""
    say(f"{count['done']} patients localized, {count['kept']} kept{left}")
    if count["failed"] == len(records):
        raise DataError(
            f"{command.bids_dir}: expected a patient that can be localized, found none of "
            f"{len(records)}; the first: {records[0].why} All reasons are in "
            f"{command.out / LEFT_OUT}."
        )
    return command.out
