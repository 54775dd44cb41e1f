"""Onset candidates of files as people and programs read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epilens.core.console import print_table, progress, say
from epilens.core.errors import DataError
from epilens.data.channels.contacts import short_names
from epilens.data.chunked_reader import open_contacts
from epilens.data.onsets.finder import SUGGESTIONS, OnsetCandidate, candidates_of


@dataclass(frozen=True)
class FileOnsets:
    """The candidates of one file, and the warnings of its reader."""

    file: Path
    seconds: float
    candidates: tuple[OnsetCandidate, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FolderOnsets:
    """The candidates of all files that could be read, and why the others could not."""

    files: tuple[FileOnsets, ...]
    unreadable: tuple[tuple[Path, str], ...] = ()


def find_onsets(files: Sequence[Path], named: Collection[Path] = ()) -> FolderOnsets:
    """Candidates of every file, with progress and the warnings of readers on stderr.

    A file that cannot be read is listed, and the others are read.

    Parameters
    ----------
    named : paths
        Files that the user named one by one. They are opened before the first is read, and must
        be recordings.

    Raises
    ------
    DataError
        Where no file, or one of those that are named, cannot be read.
    """
    onsets: list[FileOnsets] = []
    unreadable: list[tuple[Path, str]] = []
    with progress("reading") as tick:
        for file in named:
            open_contacts(file)
        for file in files:
            try:
                source = open_contacts(file)
                candidates = candidates_of(source, tick)
            except DataError as error:
                if file in named:
                    raise
                unreadable.append((file, str(error)))
                continue
            onsets.append(FileOnsets(file, source.duration_s, candidates, source.notes))
    if not onsets:
        raise DataError(
            f"onset: expected recordings, found {len(files)} files, none of which can be read. The "
            f"first: {unreadable[0][1]}"
        )
    for onset in onsets:
        for note in onset.notes:
            say(f"{onset.file.name}: {note}")
    return FolderOnsets(tuple(onsets), tuple(unreadable))


def onsets_json(onsets: FolderOnsets) -> dict[str, Any]:
    """One object for programs; it states that these are suggestions."""
    files = [
        {
            "file": str(onset.file),
            "seconds": round(onset.seconds, 3),
            "candidates": [asdict(candidate) for candidate in onset.candidates],
        }
        for onset in onsets.files
    ]
    tree: dict[str, Any] = {"note": SUGGESTIONS, "files": files}
    if onsets.unreadable:
        tree["unreadable"] = [{"file": str(file), "why": why} for file, why in onsets.unreadable]
    return tree


def print_onsets(onsets: FolderOnsets) -> None:
    """A row for every candidate, and one for a file without any."""
    rows: list[tuple[Any, ...]] = []
    names = [onset.file.name for onset in onsets.files]
    for onset in onsets.files:
        # A full path leaves no room for the rest; it is needed if two files have the same name.
        file = onset.file.name if names.count(onset.file.name) == 1 else onset.file
        if not onset.candidates:
            rows.append((file, "none", None, None, ""))
        for number, candidate in enumerate(onset.candidates, start=1):
            contacts = ", ".join(short_names(candidate.contacts))
            rows.append(
                (file, number, f"{candidate.onset_s:.1f}", f"{candidate.sure:.2f}", contacts)
            )
    columns = ["file", "candidate", "seconds", "certainty", "first contacts"]
    print_table("Onset candidates", columns, rows, left=len(columns))
    say(SUGGESTIONS)


def list_unreadable(onsets: FolderOnsets) -> None:
    """The files that could not be read, with their reasons, on stderr."""
    if count := len(onsets.unreadable):
        say(f"{count} of {count + len(onsets.files)} files cannot be read:")
    for _, why in onsets.unreadable:
        say(f"  {why}")
