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
class FileOnsets:
    """The candidates of one file, and the warnings of its reader."""

    file: Path
    seconds: float
    candidates: tuple[OnsetCandidate, ...]
    notes: tuple[str, ...] = ()


def file_onsets(files: Sequence[Path], tick: Progress) -> list[FileOnsets]:
    """Candidates of every file; all are opened before the first is read, so bad input is quick."""
    sources = [open_contacts(file) for file in files]
    return [
        FileOnsets(file, source.duration_s, candidates_of(source, tick), source.notes)
        for file, source in zip(files, sources, strict=True)
    ]


def find_onsets(files: Sequence[Path]) -> list[FileOnsets]:
    """The same with progress and the warnings of readers on stderr."""
    with progress("reading") as tick:
        onsets = file_onsets(files, tick)
    for onset in onsets:
        for note in onset.notes:
            say(f"{onset.file.name}: {note}")
    return onsets


def onsets_json(onsets: Sequence[FileOnsets]) -> dict[str, Any]:
    """One object for programs; it states that these are suggestions."""
    files = [
        {
            "file": str(onset.file),
            "seconds": round(onset.seconds, 3),
            "candidates": [asdict(candidate) for candidate in onset.candidates],
        }
        for onset in onsets
    ]
    return {"note": SUGGESTIONS, "files": files}


def print_onsets(onsets: Sequence[FileOnsets]) -> None:
    """A row for every candidate, and one for a file without any."""
    rows: list[tuple[Any, ...]] = []
    names = [onset.file.name for onset in onsets]
    for onset in onsets:
        # A full path leaves no room for the rest; it is needed if two files have the same name.
        file = onset.file.name if names.count(onset.file.name) == 1 else onset.file
        if not onset.candidates:
            rows.append((file, "none", None, None, ""))
        for number, candidate in enumerate(onset.candidates, start=1):
            contacts = ", ".join(candidate.contacts)
            rows.append(
                (file, number, f"{candidate.onset_s:.1f}", f"{candidate.sure:.2f}", contacts)
            )
    columns = ["file", "candidate", "seconds", "sure", "first contacts"]
    print_table("Onset candidates", columns, rows, left=len(columns))
    say(SUGGESTIONS)
