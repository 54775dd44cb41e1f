"""The onsets that a run will use for each recording: marked, annotated, or none with its reason."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from epilens.core.errors import DataError
from epilens.data.discovery import Case
from epilens.data.onsets.onset import Onset
from epilens.data.used_onsets import UsedOnsets, used_onsets
from epilens.localization.run_spec import file_stamps
from epilens.plan import Plan
from epilens.review.marks import PatientMarks

_CACHED = 256


def onsets_to_json(case: Case, marks: PatientMarks) -> list[dict[str, Any]]:
    """The onsets of every recording, and whether a run uses it: `use` is a phrase for the screen.

    They are those of the default plan; a model with other windows can need more signal.
    """
    stamps = {stamp for file in case.files for stamp in file_stamps(file, case.code)}
    used = _used(case, tuple(marks.onsets.items()), frozenset(stamps))
    return [_to_json(used.get(file.name), bool(marks.onsets.get(file.name))) for file in case.files]


def _to_json(used: UsedOnsets | None, is_marked: bool) -> dict[str, Any]:
    if used is None:
        return {"onsets_s": [], "use": "not a seizure by its name: not used", "skipped": True}
    why = " ".join(f"Excluded: {reason}" for reason in used.reasons)
    if not used.onsets_s:
        return {"onsets_s": [], "use": f"no onset: will be skipped. {why}", "skipped": True}
    use = "marked" if is_marked else "as annotated in the file or dataset"
    return {
        "onsets_s": list(used.onsets_s),
        "use": f"{use}. {why}" if why else use,
        "skipped": False,
    }


@lru_cache(_CACHED)
def _used(
    case: Case, marked: tuple[tuple[str, tuple[Onset, ...]], ...], stamps: frozenset[Any]
) -> dict[str, UsedOnsets]:
    """The onsets; looked for again if the files were changed (`stamps` are their times)."""
    try:
        return used_onsets(case, dict(marked), Plan())
    except DataError as error:
        unusable = UsedOnsets((), (str(error),))
        return {file.name: unusable for file in case.files}
