"""Specification of an analysis of one patient: its inputs, its files, and what ranks the contacts.

The review and the BIDS App make it; the digest of its inputs says whether a result can be kept.
Contacts are ranked by a model in a known folder or by a training-free method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from epilens.core.errors import DataError, ModelError
from epilens.core.provenance import code_digest, digest_of
from epilens.core.redaction import hide_paths
from epilens.data.channels.user_choices import Exclusions, with_reasons
from epilens.data.discovery import Case, TraceFile
from epilens.data.onsets.onset import Onset
from epilens.data.readers.formats import files_of
from epilens.io.documents import Document
from epilens.io.safe_read import check_regular, read_bytes
from epilens.localization import DEFAULT, FALLBACK, Request
from epilens.methods import METHODS
from epilens.networks.model import model_folder, models_in, read_model_json
from epilens.plan import SHAFT


@dataclass(frozen=True)
class Ranker:
    """A method or model that can rank contacts."""

    id: str
    """Sent by the browser: a method's name, or `model-` and a digest of the folder."""
    title: str
    kind: str
    """`method` or `model`."""
    source: str
    """Argument of `localize`: the name of a method, or the folder of a model."""
    problem: str = ""
    """Why it cannot be used."""
    default: bool = False


SHIPPED = Ranker(DEFAULT, "model of recorded patients (comes with EpiLENS)", "model", "", "", True)
"""The default of `localize`, which uses another method where a recording is too short."""


def list_rankers(folders: Iterable[str | Path] = ()) -> tuple[Ranker, ...]:
    """Return the shipped model, models in these folders, then the training-free methods."""
    models = [model_ranker(folder) for folder in models_in(folders)]
    return (SHIPPED, *models, *_methods())


def find_ranker(rankers: Sequence[Ranker], identity: object) -> Ranker:
    """Return the method or model of this id; nothing else that was sent becomes a path."""
    for ranker in rankers:
        if ranker.id == identity and not ranker.problem:
            return ranker
    raise DataError(
        f"run: expected one of the methods and models in the list, found "
        f"{str(identity)[:60]!r}. Reload the page."
    )


def _methods() -> list[Ranker]:
    rows = [METHODS[FALLBACK], *(row for row in METHODS.values() if row.training_free)]
    return [
        Ranker(
            row.name,
            row.title,
            "method",
            row.name,
            f"needs the package {row.missing()}" if row.missing() else "",
        )
        for row in rows
        if row.name.removesuffix(SHAFT) != "random"
    ]


def model_ranker(folder: Path) -> Ranker:
    """Return the choice of a model in a folder."""
    identity = f"model-{hashlib.sha256(str(folder).encode(errors='replace')).hexdigest()[:12]}"
    ranker = Ranker(identity, f"model {folder.name}", "model", str(folder))
    try:
        about = read_model_json(folder).get("about", {})
    except ModelError:
        return replace(ranker, problem="its model.json cannot be used")
    if isinstance(about, dict) and about.get("simulated"):
        return replace(ranker, title=f"{ranker.title} (trained on simulated patients)")
    return ranker


def _as_onset(value: Any) -> Any:
    if isinstance(value, int | float):
        return Onset.given(value)
    if isinstance(value, dict) and set(value) == {"onset_s", "uncertainty_s"}:
        return Onset.given(value["onset_s"], uncertainty_s=value["uncertainty_s"])
    return value


def _onset_to_json(onset: Onset) -> float | dict[str, float]:
    if onset.uncertainty_s is None:
        return onset.onset_s
    return {"onset_s": onset.onset_s, "uncertainty_s": onset.uncertainty_s}


GivenOnset = Annotated[Onset, BeforeValidator(_as_onset), PlainSerializer(_onset_to_json)]
"""An onset that a person gave. In JSON, seconds from the start of the recording; with an
uncertainty, an object of both."""


@dataclass(frozen=True)
class PatientFacts:
    """What the user says about a patient in addition to its recordings."""

    electrodes: str = ""
    """Table of the contacts' positions; empty: those of the dataset."""
    space: str = ""
    resected: str = ""
    """Contacts of a resection; `labels`: those of the dataset."""
    keep: tuple[str, ...] = ()
    """Contacts that are used although the checks of their signal exclude them."""

    @classmethod
    def of(cls, electrodes: Path | None, space: str, resected: str | None) -> PatientFacts:
        """Return the facts, if the table of electrodes exists."""
        if electrodes is not None:
            check_regular(electrodes, f"--electrodes {electrodes}")
        path = "" if electrodes is None else str(electrodes.absolute())
        return cls(path, space, resected or "")

    @property
    def digest(self) -> str:
        """Digest of everything that changes a result; empty if nothing was said."""
        if self == PatientFacts():
            return ""
        table = read_bytes(Path(self.electrodes)) if self.electrodes else b""
        parts = (table, self.space.encode(), self.resected.encode())
        parts += tuple(name.encode() for name in sorted(self.keep))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


class RecordingOnsets(Document):
    """A recording of a run with its marked onsets."""

    file: str
    """Its name in tables and addresses; never the name of the file."""
    onsets: tuple[GivenOnset, ...] = Field(
        default=(),
        validation_alias=AliasChoices("onsets", "onsets_s"),
        serialization_alias="onsets_s",
    )
    """Empty: the onset of the file or dataset."""


class RunInputs(Document):
    """Inputs of a run: recordings, excluded contacts, and the method or model."""

    patient: str
    recordings: tuple[RecordingOnsets, ...]
    exclude: tuple[str, ...] = ()
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why contacts are excluded, as far as known."""
    choice: str = ""
    """Id of the method or model."""
    title: str = ""
    facts: str = ""
    """Digest of given positions and of a given resection; empty: none were given."""
    key: str = ""
    """Digest of everything that determines the result."""

    @model_serializer(mode="wrap")
    def _without_empty_reasons(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Store reasons only where there are some: other files stay as they were."""
        tree = serialize(self)
        return {field: value for field, value in tree.items() if value or field != "reasons"}


class RunSpec(Document):
    """Everything that the process of a run needs."""

    inputs: RunInputs
    source: str
    """Name of a method, or folder of a model; empty: the default."""
    onsets: tuple[tuple[str, GivenOnset | None], ...]
    """File and onset; None: the onset of the file or its dataset."""
    names: tuple[tuple[str, str], ...]
    """File and its name in tables and addresses."""
    facts: PatientFacts = PatientFacts()
    """Positions and resection."""

    def request(self) -> Request:
        """Return the request for `localize`."""
        return Request(
            patient=[(Path(path), onset) for path, onset in self.onsets],
            model=self.source or None,
            code=self.inputs.patient,
            exclude={name: self.inputs.reasons.get(name, "") for name in self.inputs.exclude},
            electrodes=self.facts.electrodes or None,
            space=self.facts.space,
            resected=self.facts.resected or None,
            keep=self.facts.keep,
        )

    def hide_files(self, text: str) -> str:
        """Replace paths and names of files by their names in tables and addresses."""
        by_path = dict(self.names)
        return hide_paths(text, {Path(path).name: by_path[path] for path in by_path} | by_path)


def make_run_spec(
    case: Case,
    ranker: Ranker,
    marked: Mapping[str, tuple[Onset, ...]] | None = None,
    exclude: Exclusions = (),
    facts: PatientFacts | None = None,
) -> RunSpec:
    """Return the specification of an analysis of a patient.

    `marked` has onsets by the names of recordings. Recordings without one keep the onset of their
    file or dataset. Recordings of a dataset that are not seizures by their name are used only if an
    onset is marked in them.
    """
    marked, facts = marked or {}, facts or PatientFacts()
    used = case.analysed_files(marked)
    if not used:
        raise DataError(
            f"{case.code}: expected a recording with an onset, found none. Mark one, or check that "
            "the files exist."
        )
    inputs = RunInputs(
        patient=case.code,
        recordings=tuple(RecordingOnsets(file=f.name, onsets=onsets) for f, _, onsets in used),
        exclude=tuple(sorted(exclude)),
        reasons={name: why for name, why in sorted(with_reasons(exclude).items()) if why},
        choice=ranker.id,
        title=ranker.title,
        facts=facts.digest,
    )
    key = _key(inputs, ranker, [file for file, _, _ in used])
    return RunSpec(
        inputs=inputs.model_copy(update={"key": key}),
        source=ranker.source,
        onsets=tuple((str(path), onset) for _, path, own in used for onset in own or (None,)),
        names=tuple((str(path), file.name) for file, path, _ in used),
        facts=facts,
    )


def _key(inputs: RunInputs, ranker: Ranker, files: Iterable[TraceFile]) -> str:
    """Return the digest of the inputs, the current files and the code of the result.

    The code of the page does not count. A review keeps a run with the page on which readings were
    signed, because another layout does not change its ranking; the BIDS App adds the page.
    """
    folder = model_folder(ranker.source or DEFAULT) if ranker.kind == "model" else None
    model = folder and folder / "model.json"
    return digest_of(
        {
            "inputs": inputs.to_json(),
            "files": sorted(
                {stamp for file in files for stamp in file_stamps(file, inputs.patient)}
            ),
            "model": model.read_text(encoding="utf-8") if model else "",
            "code": code_digest("epilens.localization.result"),
        }
    )


def file_stamps(file: TraceFile, patient: str) -> set[tuple[str, int, int]]:
    """Return name, size and time of a recording's files and of all sidecars that may apply."""
    if file.tree is not None:
        below = (file.tree.root / patient).rglob("*")
        paths = [*below, *file.tree.root.glob("*")]
    else:
        assert file.path is not None
        is_folder = file.path.is_dir()
        paths = [*file.path.rglob("*")] if is_folder else files_of(file.path)
    stats = [(path.name, path.stat()) for path in paths if path.is_file()]
    return {(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats}
