"""An order: what a run needs beyond what is kept of it, i.e. where the files and the model lie."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from epilens.core.errors import DataError
from epilens.core.provenance import code_digest, digest_of
from epilens.data.discovery import Case, TraceFile
from epilens.localization import Request
from epilens.review.rankers import Ranker
from epilens.review.runs import RecordingOnsets, RunInputs


@dataclass(frozen=True)
class RunMarks:
    """What was marked for a patient, as it is now."""

    onsets_s: Mapping[str, tuple[float, ...]]
    """By the name of a recording; in seconds from its start."""
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSpec:
    """A run to be made."""

    asked: RunInputs
    source: str
    """Name of a method, or folder of a model."""
    pairs: tuple[tuple[str, float | None], ...]
    """File and onset; None: what the file or its dataset says."""
    called: Mapping[str, str]
    """What the review calls each file."""

    def to_json(self) -> str:
        """One line, for the process that does it."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def of(cls, text: str) -> RunSpec:
        """What `to_json` wrote."""
        tree: dict[str, Any] = json.loads(text)
        asked = tree.pop("asked")
        marked = tuple(
            RecordingOnsets(one["file"], tuple(one["onsets_s"])) for one in asked.pop("recordings")
        )
        kept = RunInputs(recordings=marked, exclude=tuple(asked.pop("exclude")), **asked)
        pairs = tuple((path, onset_s) for path, onset_s in tree.pop("pairs"))
        return cls(asked=kept, pairs=pairs, **tree)

    def request(self) -> Request:
        """What `localize` is asked for."""
        return Request(
            patient=[(Path(path), onset_s) for path, onset_s in self.pairs],
            model=self.source,
            code=self.asked.patient,
            exclude=self.asked.exclude,
        )

    def without_files(self, text: str) -> str:
        """A sentence in which files are called as the review calls them."""
        for path, name in self.called.items():
            for said in (path, Path(path).name):
                text = text.replace(said, name)
        return text


def make_run_spec(case: Case, marks: RunMarks, choice: Ranker) -> RunSpec:
    """The run of a patient with its marks as they are now.

    Recordings without a mark keep the onset of their file or dataset; those of a dataset that are
    no seizures by their name are used only if somebody marked one there.
    """
    files = [
        (file, file.path, tuple(marks.onsets_s.get(file.name, ())))
        for file in case.files
        if file.path is not None
    ]
    used = [(file, path, onsets_s) for file, path, onsets_s in files if onsets_s or file.ictal]
    if not used:
        raise DataError(
            f"{case.code}: expected a recording with an onset, found none. Mark one, or check that "
            "the files are there."
        )
    asked = RunInputs(
        patient=case.code,
        recordings=tuple(RecordingOnsets(file.name, onsets_s) for file, _, onsets_s in used),
        exclude=tuple(sorted(marks.exclude)),
        choice=choice.id,
        title=choice.title,
    )
    key = _key(asked, choice, [file for file, _, _ in used])
    return RunSpec(
        asked=replace(asked, key=key),
        source=choice.source,
        pairs=tuple((str(path), at) for _, path, onsets_s in used for at in onsets_s or (None,)),
        called={str(path): file.name for file, path, _ in used},
    )


def _key(asked: RunInputs, choice: Ranker, files: Iterable[TraceFile]) -> str:
    """Digest of what was asked, of the files as they are now, and of the code."""
    model = Path(choice.source) / "model.json" if choice.kind == "model" else None
    return digest_of(
        {
            "asked": asked,
            "files": sorted({one for file in files for one in _stamps(file, asked.patient)}),
            "model": model.read_text(encoding="utf-8") if model else "",
            "code": code_digest("epilens.localization.result"),
        }
    )


def _stamps(file: TraceFile, patient: str) -> set[tuple[str, int, int]]:
    """Name, size and time of the recording's files and of all sidecars that may count for it."""
    if file.tree is not None:
        below = (file.tree.root / patient).rglob("*")
        paths = [*below, *file.tree.root.glob("*")]
    else:
        assert file.path is not None
        # BrainVision has three files of one name; tables may lie beside them.
        stem = file.path.name.partition(".")[0]
        paths = [path for path in file.path.parent.iterdir() if path.name.startswith(stem)]
    found = {(path, path.stat()) for path in paths if path.is_file()}
    return {(path.name, stat.st_size, stat.st_mtime_ns) for path, stat in found}
