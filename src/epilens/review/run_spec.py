"""Specification of a run: its inputs, and where the files and the model are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from epilens.core.errors import DataError
from epilens.core.provenance import code_digest, digest_of
from epilens.data.discovery import Case, TraceFile
from epilens.localization import DEFAULT, Request
from epilens.networks.model import model_folder
from epilens.review.documents import Document
from epilens.review.marks import PatientMarks
from epilens.review.rankers import Ranker
from epilens.review.runs import RecordingOnsets, RunInputs
from epilens.review.session import PatientFacts


class RunSpec(Document):
    """Everything that the process of a run needs."""

    inputs: RunInputs
    source: str
    """Name of a method, or folder of a model; empty: the default."""
    onsets: tuple[tuple[str, float | None], ...]
    """File and onset; None: the onset of the file or its dataset."""
    names: tuple[tuple[str, str], ...]
    """File and its name in tables and addresses."""
    facts: PatientFacts = PatientFacts()
    """Positions and resection."""

    def request(self) -> Request:
        """Return the request for `localize`."""
        return Request(
            patient=[(Path(path), onset_s) for path, onset_s in self.onsets],
            model=self.source or None,
            code=self.inputs.patient,
            exclude=self.inputs.exclude,
            electrodes=self.facts.electrodes or None,
            space=self.facts.space,
            resected=self.facts.resected or None,
        )

    def hide_files(self, text: str) -> str:
        """Replace paths and names of files by their names in tables and addresses."""
        for path, name in self.names:
            for original in (path, Path(path).name):
                text = text.replace(original, name)
        return text


def make_run_spec(
    case: Case, marks: PatientMarks, ranker: Ranker, facts: PatientFacts | None = None
) -> RunSpec:
    """Return the specification of a run of a patient with its current marks.

    Recordings without a mark keep the onset of their file or dataset. Recordings of a dataset that
    are not seizures by their name are used only if an onset is marked in them.
    """
    marked = [
        (file, file.path, marks.onsets_s(file.name)) for file in case.files if file.path is not None
    ]
    used = [(file, path, onsets_s) for file, path, onsets_s in marked if onsets_s or file.ictal]
    if not used:
        raise DataError(
            f"{case.code}: expected a recording with an onset, found none. Mark one, or check that "
            "the files exist."
        )
    inputs = RunInputs(
        patient=case.code,
        recordings=tuple(RecordingOnsets(file=f.name, onsets_s=onsets) for f, _, onsets in used),
        exclude=tuple(sorted(marks.bad)),
        choice=ranker.id,
        title=ranker.title,
        facts=(facts := facts or PatientFacts()).digest,
    )
    key = _key(inputs, ranker, [file for file, _, _ in used])
    return RunSpec(
        inputs=inputs.model_copy(update={"key": key}),
        source=ranker.source,
        onsets=tuple((str(path), at) for _, path, onsets_s in used for at in onsets_s or (None,)),
        names=tuple((str(path), file.name) for file, path, _ in used),
        facts=facts,
    )


def _key(inputs: RunInputs, ranker: Ranker, files: Iterable[TraceFile]) -> str:
    """Return the digest of the inputs, the current files and the code."""
    folder = model_folder(ranker.source or DEFAULT) if ranker.kind == "model" else None
    model = folder and folder / "model.json"
    return digest_of(
        {
            "inputs": inputs.to_json(),
            "files": sorted({stamp for file in files for stamp in _stamps(file, inputs.patient)}),
            "model": model.read_text(encoding="utf-8") if model else "",
            "code": code_digest("epilens.localization.result"),
        }
    )


def _stamps(file: TraceFile, patient: str) -> set[tuple[str, int, int]]:
    """Return name, size and time of a recording's files and of all sidecars that may apply."""
    if file.tree is not None:
        below = (file.tree.root / patient).rglob("*")
        paths = [*below, *file.tree.root.glob("*")]
    else:
        assert file.path is not None
        # BrainVision has three files of one name; tables may be next to them.
        stem = file.path.name.partition(".")[0]
        paths = [path for path in file.path.parent.iterdir() if path.name.startswith(stem)]
    stats = [(path.name, path.stat()) for path in paths if path.is_file()]
    return {(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats}
