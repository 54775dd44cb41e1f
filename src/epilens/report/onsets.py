"""Onset candidates of files as people and programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epilens.core.console import print_table, progress, say
from epilens.core.progress import Progress
from epilens.data.chunked_reader import open_contacts
from epilens.data.onset_finder import SUGGESTIONS, OnsetCandidate, candidates_of


@dataclass(frozen=True)
class OnsetsOfFile:
    """The candidates of one file, and what its reader warned of."""

    file: Path
    seconds: float
    candidates: tuple[OnsetCandidate, ...]
    notes: tuple[str, ...] = ()


def onsets_of_files(files: Sequence[Path], tick: Progress) -> list[OnsetsOfFile]:
    """Candidates of every file; all are opened before the first is read, so bad input is quick."""
    sources = [open_contacts(file) for file in files]
    return [
        OnsetsOfFile(file, source.duration_s, candidates_of(source, tick), source.notes)
        for file, source in zip(files, sources, strict=True)
    ]


def find_onsets(files: Sequence[Path]) -> list[OnsetsOfFile]:
    """The same with progress on stderr, and with what readers warn of."""
    with progress("reading") as tick:
        found = onsets_of_files(files, tick)
    for one in found:
        for note in one.notes:
            say(f"{one.file.name}: {note}")
    return found


def onsets_json(found: Sequence[OnsetsOfFile]) -> dict[str, Any]:
    """One object for programs; says itself that these are suggestions."""
    files = [
        {
            "file": str(one.file),
            "seconds": round(one.seconds, 3),
            "candidates": [asdict(candidate) for candidate in one.candidates],
        }
        for one in found
    ]
    return {"note": SUGGESTIONS, "files": files}


def print_onsets(found: Sequence[OnsetsOfFile]) -> None:
    """A row for every candidate, and one for a file without any."""
    rows: list[tuple[Any, ...]] = []
    names = [one.file.name for one in found]
    for one in found:
        # A whole path leaves no room for the rest; it is needed where two files have one name.
        file = one.file.name if names.count(one.file.name) == 1 else one.file
        if not one.candidates:
            rows.append((file, "none", None, None, ""))
        for number, candidate in enumerate(one.candidates, start=1):
            contacts = ", ".join(candidate.contacts)
            rows.append(
                (file, number, f"{candidate.onset_s:.1f}", f"{candidate.sure:.2f}", contacts)
            )
    columns = ["file", "candidate", "seconds", "sure", "first contacts"]
    print_table("Onset candidates", columns, rows, left=len(columns))
    say(SUGGESTIONS)
