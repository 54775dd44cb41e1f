"""The verb `bids`: what is typed on the command line → the level that is asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from epilens.bids_app.group import summarise
from epilens.bids_app.participants import LEFT_OUT, choice_of, localize_all
from epilens.compute.dask import progress_on
from epilens.core.console import say
from epilens.core.errors import DataError, EpilensError, did_you_mean
from epilens.io.outputs import check_folder
from epilens.report.derivative import KIND

LEVELS = ("participant", "group")


@dataclass(frozen=True)
class Asked:
    """What was typed."""

    bids_dir: Path
    out: Path
    level: str
    labels: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Words after the level: further labels, as BIDS Apps take them."""
    model: Path | None = None
    method: str = ""
    jobs: int = 1
    cluster: str = ""


def run_level(asked: Asked) -> Path:
    """Do it; returns what to look at: the folder, or the page over all patients."""
    if asked.level not in LEVELS:
        hint = did_you_mean(asked.level, LEVELS)
        raise EpilensError(
            f"bids: expected the level participant or group, found {asked.level!r}. {hint}"
        )
    if asked.more and not asked.labels:
        raise EpilensError(
            f"bids: expected nothing after the level, found {asked.more[0]!r}. Is it a "
            "--participant-label?"
        )
    if asked.level == "group":
        if asked.labels:
            raise EpilensError(
                "bids: expected --participant-label with the level participant, found it with "
                "group, which is over all patients of OUT. Leave it out."
            )
        return summarise(asked.out)
    return _participants(asked)


def _participants(asked: Asked) -> Path:
    check_folder(asked.out, KIND)
    choice = choice_of(asked.model, asked.method)
    labels = (*asked.labels, *asked.more)
    with progress_on(asked.cluster, "localizing patients") as tick:
        outcomes = localize_all(asked.bids_dir, asked.out, choice, labels, asked.jobs, tick)
    count = Counter(outcome.kind for outcome in outcomes)
    left = f", {count['failed']} left out (see {LEFT_OUT})" if count["failed"] else ""
    say(f"{count['done']} patients localized, {count['kept']} kept{left}")
    if count["failed"] == len(outcomes):
        raise DataError(
            f"{asked.bids_dir}: expected a patient that can be localized, found none of "
            f"{len(outcomes)}; the first: {outcomes[0].why} All reasons are in "
            f"{asked.out / LEFT_OUT}."
        )
    return asked.out
