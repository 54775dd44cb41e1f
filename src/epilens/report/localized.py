"""The verb `localize`: arguments of the command line → page and table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epilens.core.console import progress, say
from epilens.core.errors import DataError, OnsetError
from epilens.data.clock_times import ClockTime
from epilens.data.exclusions import list_exclusions
from epilens.data.tables import as_number, read_text
from epilens.io.atomic import check_writable
from epilens.io.outputs import check_folder
from epilens.io.urls import url_of
from epilens.localization import Request
from epilens.report.derivative import KIND, read_before

UNNAMED = "sub-patient"
"""Patient code of files whose names contain none."""
_PIECE = 2**20


def run_localize(request: Request, out: Path, pdf: bool = False) -> Path:
    """Localize and write; progress and cautions go to stderr. Returns the page."""
    check_folder(out, KIND)
    check_writable(out)
    with progress("localizing") as tick:
        tick.expect(1)  # writing; the other steps announce themselves
        tick("starting", 0)
        # Heavy packages, after the user has seen that something happens.
        from epilens.data.discovery import patient_code
        from epilens.localization.result import assemble
        from epilens.report.page import write_report
        from epilens.report.pdf import write_pdf

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
    for caution in localized.certainty.cautions:
        if caution.level != "note":
            say(f"{caution.level}: {caution.text}")
    for line in list_exclusions(localized.dropped):
        say(line)
    return page


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
    from epilens.data.runs import SIGNALS
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
