"""What MNE's readers give: an open recording, its annotations, and any stretch of it in µV."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.data.audit import Note
from epilens.data.onset import Event
from epilens.io.safe_read import check_regular, read_bytes

if TYPE_CHECKING:
    from mne.io import BaseRaw

# Eight megabytes of float64: fits a processor's cache.
_BLOCK_SAMPLES = 1_000_000
_PER_VOLT = {"v": 1.0, "mv": 1e3, "uv": 1e6, "nv": 1e9}


def open_raw(source: Path | BaseRaw | None) -> tuple[BaseRaw, list[Note]]:
    """A file, opened by MNE's reader for it without loading the signal; warnings as notes.

    An object that is open already is taken as it is.
    """
    if source is None or (isinstance(source, Path) and not source.exists()):
        raise DataError(
            "expected the signal file, found only its sidecars. Finish the download.",
            code="signal-missing",
        )
    raw, notes = _read_header(source) if isinstance(source, Path) else (source, [])
    if raw.n_times == 0:
        raise DataError("expected signal, found a recording of zero length.")
    return raw, notes


def _read_header(path: Path) -> tuple[BaseRaw, list[Note]]:
    import mne

    _check_files(path)
    # MNE also logs to stdout, which carries one thing: what the user asked for.
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            raw = mne.io.read_raw(path, preload=False, verbose="WARNING")
        except Exception as error:  # readers raise many kinds for damaged files
            raise DataError(
                f"expected a recording that MNE can read, found {_in_our_words(error)}. Check that "
                "the file is complete.",
                code="file-unreadable",
            ) from error
    warned = [str(w.message) for w in caught if w.category is RuntimeWarning]
    return raw, list(dict.fromkeys(map(_warning_in_our_words, warned)))


WRONG_LENGTH = "the length of the file does not match its header"
"""Said of a file that was cut off, or is still being written."""


def is_cut_off(notes: Iterable[Note]) -> bool:
    """Whether the reader warned of a file that ends before its header says."""
    return any(note.found == WRONG_LENGTH for note in notes)


def beyond_the_end(onset_s: float, length_s: float, notes: Iterable[Note]) -> str:
    """Why there is no signal at an onset: the file was cut off, or the time is not one of it."""
    if is_cut_off(notes):
        return (
            f"expected signal at the onset, {onset_s:.3f} s, found a file that is cut off before "
            f"it, after {length_s:.3f} s: its header promises more. Copy the file again."
        )
    return (
        f"expected an onset inside the recording of {length_s:.3f} s, found {onset_s:.3f} s. "
        "Count seconds from the start of the file."
    )


_WARNINGS = (
    ("does not match the file size", WRONG_LENGTH),
    ("physical range", "a channel's physical range is not stated or makes no sense"),
    ("highpass", "the filters that the header states make no sense"),
    ("lowpass", "the filters that the header states make no sense"),
    ("channel names", "two channels had one name, or a name had to be changed"),
    ("annotation", "some annotations could not be read, or lie outside the recording"),
    ("meas date", "the date of the recording makes no sense"),
    ("unit", "the unit of some channels is not known"),
)


def _warning_in_our_words(text: str) -> Note:
    """What a reader warns about; its own text quotes labels, annotations and paths."""
    known = (words for phrase, words in _WARNINGS if phrase in text.lower())
    words = next(known, "something in this file is unusual")
    return Note("the reader warned: {found}", "reader-warning", found=words)


_NAMES_FILES = re.compile(rb"^\s*(?:DataFile|MarkerFile|File)\s*=\s*(.*?)\s*$", re.MULTILINE)


def _check_files(path: Path) -> None:
    """Refuse pipes and devices, and a header that names files elsewhere."""
    if path.is_dir():
        for part in path.rglob("*"):
            if not part.is_dir():
                check_regular(part, "a file of the recording")
        return
    check_regular(path, "the recording")
    if path.suffix.lower() not in (".vhdr", ".ahdr", ".lay"):
        return
    for named in _NAMES_FILES.findall(read_bytes(path, "the header", most=_MOST_HEADER)):
        beside = path.parent / named.decode("utf-8", "replace").replace("\0", "")
        try:
            here, there = beside.parent.resolve() == path.parent.resolve(), beside.exists()
        except OSError:  # a name that is too long
            here = there = False
        if not here:
            raise DataError(
                "expected the files of the recording beside its header, found a header that names "
                "one elsewhere. Mend the header."
            )
        if there:
            check_regular(beside, "a file of the recording")


_MOST_HEADER = 8 * 1024**2


def _in_our_words(error: Exception) -> str:
    """What kind of error a reader met, without what it says: that quotes texts and paths."""
    kinds = (
        (FileNotFoundError, "that a file which belongs to it is missing"),
        (PermissionError, "one that may not be read (its permissions)"),
        (UnicodeError, "text in another encoding than it says"),
        (MemoryError, "one that asks for more memory than there is"),
        (NotImplementedError, "a kind of recording that it does not know"),
    )
    known = next((words for kind, words in kinds if isinstance(error, kind)), "one that it cannot")
    return f"{known} ({type(error).__name__})"


def annotations_of(source: Path | BaseRaw) -> list[Event]:
    """Annotations of a recording itself, where there is no events.tsv."""
    raw, _ = open_raw(source)
    notes = raw.annotations
    return [
        Event(float(onset), str(text), float(duration))
        for onset, duration, text in zip(
            notes.onset - raw.first_time, notes.duration, notes.description, strict=True
        )
    ]


def read_uv(
    raw: BaseRaw, names: Sequence[str], interval: tuple[int, int], stated: Mapping[str, str]
) -> NDArray[np.float32]:
    """Samples of an interval in µV, (channel, time); `stated` are the units of channels.tsv.

    Read in blocks so that no float64 copy is large. All channels are read and ours are taken: MNE
    is slower when it picks them itself, because every format that is read here keeps the channels
    of a stretch of time together.
    """
    start, stop = interval
    in_file = {name.strip(): i for i, name in enumerate(raw.ch_names)}
    index = np.array([in_file[name] for name in names])
    signal = np.empty((len(names), stop - start), np.float32)
    unstated = _without_unit(raw)
    scale = np.array([_uv_per_reader_unit(name not in unstated, stated[name]) for name in names])
    block = max(1, _BLOCK_SAMPLES // len(raw.ch_names))
    try:
        for first in range(start, stop, block):
            last = min(stop, first + block)
            part = raw.get_data(start=first, stop=last, verbose="ERROR")[index]
            np.multiply(part, scale[:, None], out=signal[:, first - start : last - start])
    except Exception as error:  # a file that ends early fails here, in many ways
        raise DataError(
            f"expected samples {start} to {stop}, found {_in_our_words(error)}. Is the file "
            "complete?",
            code="file-unreadable",
        ) from error
    return signal


def content_of(raw: BaseRaw) -> str:
    """Digest of names, rate, length and the second in the middle; headers do not matter.

    Two files with the same digest hold the same recording. Empty where nothing can be told: the
    middle cannot be read, or every channel is constant there.
    """
    fs, middle = float(raw.info["sfreq"]), raw.n_times // 2
    try:
        stop = min(raw.n_times, middle + round(fs))
        part = np.asarray(raw.get_data(start=middle, stop=stop, verbose="ERROR"))
    except Exception:  # the interval around onset may still be there
        return ""
    if (part == part[:, :1]).all():
        return ""
    digest = hashlib.sha256(repr((raw.ch_names, fs, raw.n_times)).encode())
    digest.update(part.tobytes())
    return digest.hexdigest()


def unit_notes(raw: BaseRaw, names: Sequence[str], stated: Mapping[str, str]) -> list[Note]:
    """What must be said about channels for which the file states no unit."""
    unstated = _without_unit(raw) & set(names)
    from_sidecar = [name for name in unstated if _unit(stated[name]) in _PER_VOLT]
    notes = []
    if from_sidecar:
        text = f"the file states no unit for {len(from_sidecar)} channels; taken from channels.tsv"
        notes.append(Note(text, "unit-not-stated"))
    if n := len(unstated) - len(from_sidecar):
        text = f"no unit is stated for {n} channels; taken as the reader gives it"
        notes.append(Note(text, "unit-not-stated"))
    return notes


def _unit(text: str) -> str:
    """`uv` for every spelling of µV."""
    return text.strip().lower().replace("µ", "u").replace("μ", "u")


def _uv_per_reader_unit(file_states: bool, stated: str) -> float:
    """Factor from what MNE gives to µV.

    MNE gives volts where the file states a unit. Where it states none, MNE takes the bare numbers
    for volts; if channels.tsv states the unit of these numbers, that is the better source.
    """
    if file_states or _unit(stated) not in _PER_VOLT:
        return 1e6
    return 1e6 / _PER_VOLT[_unit(stated)]


def _without_unit(raw: BaseRaw) -> set[str]:
    """Channels for which the file states no unit that is a voltage.

    Formats that need no units (FIF is in volts by definition) have no entry here.
    """
    units = raw._orig_units or {}
    return {str(name).strip() for name, unit in units.items() if _unit(str(unit)) not in _PER_VOLT}
