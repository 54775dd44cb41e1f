"""The onset that a run will use for each recording: marked, annotated, or none."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from epilens.core.errors import EpilensError
from epilens.data.discovery import TraceFile
from epilens.data.onsets.annotated import find_onset
from epilens.data.onsets.onset import Onset
from epilens.review.marks import PatientMarks
from epilens.review.signals import open_file

_CACHED = 4096


def onset_to_json(file: TraceFile, marks: PatientMarks) -> dict[str, Any]:
    """The onsets of a recording, and whether a run uses it: `use` is a phrase for the screen."""
    if marked := marks.onsets.get(file.name):
        return {"onsets_s": [m.onset_s for m in marked], "use": "marked", "skipped": False}
    if not file.ictal:
        return {"onsets_s": [], "use": "not a seizure by its name: not used", "skipped": True}
    onset = annotated_onset(file)
    if onset is None:
        return {"onsets_s": [], "use": "no onset: will be skipped", "skipped": True}
    use = f"{onset.onset_s:.1f} s, as annotated in the file or dataset"
    return {"onsets_s": [], "use": use, "skipped": False}


def annotated_onset(file: TraceFile) -> Onset | None:
    """The onset that the annotations of a recording mean; None where they mean none."""
    if file.path is None:
        return None
    paths = [file.path]
    if file.tree is not None and file.file is not None:
        paths += file.tree.sidecars(file.file, "events", ".tsv")
    stamps = tuple(path.stat().st_mtime_ns for path in paths if path.exists())
    return _annotated(file, stamps)


@lru_cache(_CACHED)
def _annotated(file: TraceFile, stamps: tuple[int, ...]) -> Onset | None:
    """Annotated onset; read again if the files were changed (`stamps` are their times)."""
    try:
        return find_onset(open_file(file).events())
    except EpilensError:
        return None
