"""What an EDF or BDF header says that cannot be true, or that MNE changes without a word."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from epilens.data.audit import Note
from epilens.data.non_contacts import why_no_contact

_FIXED, _SIGNAL = 256, 256
"""Bytes of the header, and of every signal in it."""
_FIELDS = (
    *(("label", 16), ("transducer", 80), ("dimension", 8), ("physical_min", 8)),
    *(("physical_max", 8), ("digital_min", 8), ("digital_max", 8), ("filter", 80)),
    *(("samples", 8), ("reserved", 32)),
)
_MOST_SIGNALS = 4096


@dataclass(frozen=True)
class EdfHeader:
    """Fields of a header, as text; lists follow the signals."""

    record_s: float | None
    signals: dict[str, list[str]]

    @classmethod
    def read(cls, path: Path) -> EdfHeader | None:
        """The header of a file; None if it is not one."""
        with path.open("rb") as file:
            fixed = file.read(_FIXED).decode("latin-1")
            count = _number(fixed[252:256])
            if count is None or not 0 < count <= _MOST_SIGNALS:
                return None
            text = file.read(int(count) * _SIGNAL).decode("latin-1")
        signals, start = {}, 0
        for name, width in _FIELDS:
            cells = [text[start + i * width : start + (i + 1) * width] for i in range(int(count))]
            signals[name] = [cell.strip() for cell in cells]
            start += int(count) * width
        return cls(_number(fixed[244:252]), signals)


def header_notes(path: Path) -> list[Note]:
    """Notes about a header; none for files of other formats."""
    header = EdfHeader.read(path) if path.suffix.lower() in (".edf", ".bdf") else None
    if header is None:
        return []
    labels = header.signals["label"]
    others = why_no_contact(labels, ["eeg"] * len(labels))
    contacts = [i for i, label in enumerate(labels) if label not in others]
    texts = [*_record(header), *_ranges(header, contacts), *_rates(header, contacts)]
    return [Note(text, "header-implausible") for text in texts]


def _record(header: EdfHeader) -> list[str]:
    if header.record_s is None or header.record_s > 0:
        return []
    return ["the header gives data records a duration of 0 s, so times in this file are a guess"]


def _ranges(header: EdfHeader, contacts: list[int]) -> list[str]:
    """Contacts whose range is empty: their values cannot be converted to a voltage."""
    empty = {
        kind: [i for i in contacts if _same(header, kind, i)] for kind in ("physical", "digital")
    }
    return [
        f"the header gives {len(where)} contacts an empty {kind} range, so their voltage is unknown"
        for kind, where in empty.items()
        if where
    ]


def _same(header: EdfHeader, kind: str, i: int) -> bool:
    low, high = (_number(header.signals[f"{kind}_{end}"][i]) for end in ("min", "max"))
    return low is not None and low == high


def _rates(header: EdfHeader, contacts: list[int]) -> list[str]:
    """Contacts at lower rates than others: the reader interpolates them."""
    counts = Counter(header.signals["samples"][i] for i in contacts)
    if len(counts) < 2 or not header.record_s or header.record_s < 0:
        return []
    rates = {n / header.record_s: k for text, k in counts.items() if (n := _number(text))}
    highest = max(rates)
    slower = sum(k for rate, k in rates.items() if rate < highest)
    lowest = min(rates)
    return [
        f"{slower} contacts are sampled at lower rates (down to {lowest:g} Hz) than the others "
        f"({highest:g} Hz) and were interpolated, so they lack high frequencies"
    ]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
