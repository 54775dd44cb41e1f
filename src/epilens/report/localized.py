"""The verb `localize`: what the command line asks for → page and table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from epilens.data.sidecars import as_number, read_text
from epilens.errors import DataError, OnsetError
from epilens.report.derivative import KIND
from epilens.storage import check_folder
from epilens.terminal import progress, say


@dataclass(frozen=True)
class Request:
    """The command line of `epilens localize`."""

    model: str
    recordings: Sequence[Path]
    out: Path
    onsets: Sequence[str] = ()
    electrodes: Path | None = None
    space: str = ""
    patient: str = ""
    exclude: Sequence[str] = ()
    resected: str = ""
    compare: Sequence[str] = ()
    plan: Path | None = None


def run_localize(asked: Request) -> Path:
    """Localize and write; progress and cautions go to stderr. Returns the page."""
    check_folder(asked.out, KIND)
    with progress("localizing") as tick:
        tick.expect(1)  # writing; the rest is announced by what does it
        tick("starting", 0)
        # Heavy packages, after the user has seen that something happens.
        from epilens.localization import localize
        from epilens.plan import Plan
        from epilens.report.page import write_report

        found = localize(
            list(asked.recordings),
            asked.model,
            onsets=read_onset_list(asked.onsets),
            electrodes=asked.electrodes,
            space=asked.space,
            code=asked.patient,
            exclude=split_names(asked.exclude),
            plan=None if asked.plan is None else Plan.load(asked.plan),
            resected=read_resection(asked.resected),
            compare=asked.compare,
            tick=tick,
        )
        tick("writing", 1)
        page = write_report(found, asked.out)
    for problem in found.problems:
        say(problem)
    for caution in found.certainty.cautions:
        if caution.level != "note":
            say(f"{caution.level}: {caution.text}")
    return page


def read_onset_list(given: Sequence[str]) -> list[float]:
    """Onsets in seconds, `--onset 60 --onset 61.5` or `--onset 60,61.5`."""
    pieces = [piece for text in given for piece in text.replace(",", " ").split()]
    found = []
    for piece in pieces:
        onset_s = as_number(piece)
        if onset_s is None:
            raise OnsetError(
                f"--onset: expected seconds from the start of the file, found {piece!r}. Give a "
                "number such as 61.5 for every file."
            )
        found.append(onset_s)
    return found


def split_names(given: Sequence[str]) -> list[str]:
    """Names that were given one by one or with commas."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def read_resection(given: str) -> str | Collection[str] | None:
    """A list of contacts, a text file with one, the word `labels`, or nothing."""
    if not given:
        return None
    path = Path(given)
    if path.suffix in (".txt", ".tsv", ".csv"):
        if not path.is_file():
            raise DataError(f"{path}: expected a list of contacts, found nothing. Check the path.")
        return read_text(path)
    return given
