"""The verb `localize`: arguments of the command line → page and table.

Marks of a review become arguments too: its onsets (--onsets) and bad contacts (--exclude).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epilens.core.console import progress, say
from epilens.core.errors import DataError, OnsetError
from epilens.data.bids_runs import SIGNALS
from epilens.data.channels.user_choices import list_exclusions, list_not_kept
from epilens.data.discovery import Case, TraceFile, cases_of, path_in_tree, patient_code
from epilens.data.onsets.onset import ClockTime, Onset
from epilens.data.onsets.onset_table import onset_key, read_onsets
from epilens.data.readers.formats import header_of
from epilens.data.user_files import as_number, read_table, read_text
from epilens.io.atomic import check_writable
from epilens.io.delimited import plain
from epilens.io.outputs import check_folder
from epilens.io.safe_read import real_path
from epilens.io.urls import url_of
from epilens.localization import Request
from epilens.report.patient.derivative import KIND, read_before

if TYPE_CHECKING:
    from epilens.localization.result import Localization

UNNAMED = "sub-patient"
"""Patient code of files whose names contain none."""
_PIECE = 2**20

MarkedRecording = tuple[Path, Onset | None]


def run_localize(request: Request, out: Path, pdf: bool = False) -> Path:
    """Localize and write; progress and cautions go to stderr. Returns the page."""
    check_folder(out, KIND)
    check_writable(out)
    with progress("localizing") as tick:
        tick.expect(1)  # writing; the other steps announce themselves
        tick("starting", 0)
        # Heavy packages, after the user has seen that something happens.
        from epilens.localization.result import assemble
        from epilens.report.patient.page import write_pdf, write_report

        localized = assemble(request, tick)
        tick("writing", 1)
        read = digests(request.patient)
        _check_unnamed(request, localized.patient, read, out)
        page = write_report(localized, out, read)
        if pdf:
            write_pdf(page)
    if request.code and localized.patient != patient_code(request.code):
        say(f"--patient {request.code} is not used: the files contain {localized.patient}")
    for sentence in (*localized.summary, *localized.problems):
        say(sentence)
    for line in _list_seizures(localized, request):
        say(line)
    for doubt in localized.doubts:
        say(f"caution: {doubt}")
    for caution in localized.certainty.cautions:
        if caution.level != "note":
            say(f"{caution.level}: {caution.text}")
    for sentence in localized.resection.unused if localized.resection else ():
        say(f"caution: {sentence}")
    for line in (
        *list_not_kept(request.keep, localized.dropped),
        *list_exclusions(localized.dropped),
    ):
        say(line)
    return page


def _list_seizures(localized: Localization, request: Request) -> list[str]:
    """A line for each of several seizures; the page numbers files, as their names can identify."""
    if len(localized.seizures) < 2:
        return []
    sources = (item[0] if isinstance(item, tuple) else item for item in request.recordings)
    files = list(dict.fromkeys(header_of(Path(source)) for source in sources))
    lines = []
    for number, facts in enumerate(localized.seizures, start=1):
        shown = facts.name if facts.file is None else files[facts.file - 1].name
        at = "" if facts.onset_s is None else f", onset {facts.onset_s:.1f} s"
        lines.append(f"seizure {number}: {shown}{at}")
    return lines


def digests(given: Any) -> list[str]:
    """Of the files among what was given: of their size, beginning and end, which is quick."""
    sources = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    files = [source[0] if isinstance(source, tuple) else source for source in sources]
    paths = dict.fromkeys(Path(file) for file in files if isinstance(file, str | Path))
    return [_digest(path) for path in paths if path.is_file()]


def _digest(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(_PIECE)
        file.seek(max(0, size - _PIECE))
        parts = (str(size).encode(), first, file.read(_PIECE))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _check_unnamed(request: Request, patient: str, read: Sequence[str], out: Path) -> None:
    """Refuse to replace the page of another patient without a code: both have the same name.

    The same files again, e.g. with another onset, are the same patient.
    """
    named = bool(request.code) or patient != UNNAMED
    if named or not (out / f"{patient}.html").exists() or read_before(patient, out) & set(read):
        return
    raise DataError(
        f"{out / patient}.html: expected a code for this patient, found none given, and the "
        "page of another patient without one is there already. Give --patient CODE (letters and "
        "digits), or another --out."
    )


def split_source(given: Sequence[str]) -> tuple[str | None, list[Path]]:
    """A model or method, if the first of what is given is one, and the recordings.

    A path that exists and is not a model is a recording, and so is a name that ends like one.
    Anything else before other arguments is read as a model or method; opening it reports the error.
    """
    from epilens.methods import METHODS
    from epilens.networks.model import shipped_models

    first, path = given[0], Path(given[0])
    is_model = (path / "model.json").exists() or (path / "MODEL_CARD.md").exists()
    is_missing = not path.exists() and not first.lower().endswith(SIGNALS)
    meant = bool(url_of(first)) or (len(given) > 1 and is_missing)
    named = first in METHODS or first in shipped_models()
    if is_model or meant or (named and not path.is_file()):
        recordings = [Path(name) for name in given[1:]]
        if not recordings:
            raise DataError(
                f"localize: expected recordings after {first}, found none. Give a patient's files, "
                "BIDS runs, or BIDS folder."
            )
        return first, recordings
    return None, [Path(name) for name in given]


def read_onset_list(given: Sequence[str]) -> list[float | str]:
    """Onsets in seconds, `--onset 60 --onset 61.5`, or with blanks or semicolons between them.

    Clock times, with or without a date, stay texts: only the file knows when it starts.
    """
    onsets_s: list[float | str] = []
    texts = [re.sub(r"(\d{4}-\d\d-\d\d) +(?=\d{1,2}:)", r"\1T", text) for text in given]
    for piece in (piece for text in texts for piece in re.split(r"[\s;]+|,\s+", text) if piece):
        if ClockTime.parse(piece) is not None:
            onsets_s.append(piece)
            continue
        onset_s = as_number(piece)
        if "," in piece and as_number(piece.replace(",", "")) is not None:
            raise OnsetError(
                f"--onset: expected seconds with a decimal point, found {piece!r}. Is "
                f"{piece.replace(',', '.', 1)} meant? If these are several onsets, repeat the "
                f"option: --onset {piece.replace(',', ' --onset ')}."
            )
        if onset_s is None:
            raise OnsetError(
                f"--onset: expected seconds from the start of the file, found {piece!r}. Give a "
                "number such as 61.5, or a clock time such as 14:03:07, for every file."
            )
        onsets_s.append(onset_s)
    return onsets_s


def read_resection(given: str) -> str | None:
    """A list of contacts, a text file with one, the word `labels`, or nothing."""
    if not given:
        return None
    path = Path(given)
    if path.suffix in (".txt", ".tsv", ".csv"):
        if not path.is_file():
            raise DataError(f"{path}: expected a list of contacts, found nothing. Check the path.")
        return read_text(path)
    return given


def marked_recordings(
    path: Path, recordings: Sequence[Path], code: str = ""
) -> list[MarkedRecording]:
    """Recordings with the onsets of a table (patient, run, onset_s); None: as the file says.

    A run is the name of a BIDS run, or the name of a plain file in the review. Recordings of a
    dataset that are not seizures by their name are used only if the table has an onset of them.
    """
    table, case = read_onsets(path), _one_case(recordings, code)
    onsets = {file.name: _onsets_of(table, case, file, bool(code)) for file in case.files}
    if not any(onsets.values()):
        raise DataError(
            f"onsets {path}: expected onsets of these recordings, found only those of others. "
            "Give the patient's code with --patient as in the review, or check the column run."
        )
    analysed = case.analysed_files(onsets)
    analysed.sort(key=lambda row: _place(row[1], recordings))
    return [(path, onset) for _, path, own in analysed for onset in own or (None,)]


def _place(file: Path, given: Sequence[Path]) -> int:
    """Index of the first of what was given that is a file, or the folder that it is in."""
    around = {file, *file.parents}
    places = [{real_path(path), path_in_tree(path)} for path in map(header_of, given)]
    return next((i for i, place in enumerate(places) if place & around), len(places))


def _one_case(recordings: Sequence[Path], code: str) -> Case:
    cases = cases_of(recordings, code)
    if len(cases) > 1:
        raise DataError(
            f"recordings: expected those of one patient, found {len(cases)} patients. Give the "
            "files or the folder of one."
        )
    return cases[0]


def _onsets_of(
    table: Mapping[tuple[str, str], Onset], case: Case, file: TraceFile, is_coded: bool
) -> tuple[Onset, ...]:
    """Onsets of a recording, in order of time.

    Plain files without --patient have no code: the only patient with such a file is meant.
    """
    patients = {case.code}
    if file.tree is None and not is_coded:
        owners = {patient for patient, run in table if _is_of(file, patient, run)}
        patients = owners if len(owners) == 1 else patients & owners
    own = [
        onset
        for (patient, run), onset in table.items()
        if patient in patients and _is_of(file, patient, run)
    ]
    return tuple(sorted(own, key=lambda onset: onset.onset_s))


def _is_of(file: TraceFile, patient: str, run: str) -> bool:
    """Whether a run of the table is this recording; `…+2` is its second seizure."""
    names = {onset_key(patient, file.name)[1], onset_key(patient, file.shown.partition(".")[0])[1]}
    return run.partition("+")[0] in names


def split_names(given: Sequence[str], code: str = "") -> dict[str, str]:
    """Names that were given one by one or with commas; a table of channels gives its bad ones.

    Values are the reasons of the table; empty where there is none.
    """
    pieces = [name.strip() for text in given for name in text.split(",") if name.strip()]
    tables = {piece for piece in pieces if Path(piece).suffix.lower() == ".tsv"}
    names: dict[str, str] = {}
    for piece in pieces:
        names |= _bad_channels(Path(piece), code) if piece in tables else {piece: ""}
    return names


def _bad_channels(path: Path, code: str) -> dict[str, str]:
    """Channels whose status is bad in a table (name, status), and why; all, without a status."""
    if not path.is_file():
        return _of_review(path, code)
    table = read_table(path)
    if "name" not in table:
        raise DataError(
            f"{path}: expected a column name, found {', '.join(table.columns)}. Is it the right "
            "table?"
        )
    rows = table if "status" not in table else table[table["status"].str.lower() == "bad"]
    reasons = rows.get("status_description", rows["name"].map(lambda _: ""))
    missing = ("", "n/a")
    return {
        plain(name): "" if why.strip().lower() in missing else why
        for name, why in zip(rows["name"], reasons, strict=True)
        if name
    }


def _of_review(path: Path, code: str) -> dict[str, str]:
    """Bad channels in the folder of a review, which has a table for each patient.

    A patient without bad channels has no table.
    """
    reviewed = sorted(file.parent for file in path.parent.glob("sub-*/review.json"))
    own = [folder for folder in reviewed if code and folder.name == patient_code(code)]
    if not reviewed:
        raise DataError(f"{path}: expected a table of channels, found nothing. Check the path.")
    if len(own or reviewed) > 1:
        raise DataError(
            f"{path}: expected the table of one patient, found a review of {len(reviewed)}. Give "
            f"--patient CODE, or the patient's own table, e.g. {reviewed[0] / path.name}."
        )
    table = (own or reviewed)[0] / path.name
    return _bad_channels(table, code) if table.is_file() else {}
