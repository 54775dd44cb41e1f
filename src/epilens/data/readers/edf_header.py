"""Statements of an EDF or BDF header that cannot be true or that MNE changes silently."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from epilens.data.audit import Note
from epilens.data.channels.non_contacts import why_no_contact
from epilens.data.user_files import as_number

_FIXED, _SIGNAL = 256, 256
"""Bytes of the fixed part of a header, and of its part for every signal."""
_FIELDS = (
    *(("label", 16), ("transducer", 80), ("dimension", 8), ("physical_min", 8)),
    *(("physical_max", 8), ("digital_min", 8), ("digital_max", 8), ("filter", 80)),
    *(("samples", 8), ("reserved", 32)),
)
_MOST_SIGNALS = 4096


def header_notes(path: Path) -> list[Note]:
    """Notes about the header of an EDF or BDF file; none for other formats."""
    if path.suffix.lower() not in (".edf", ".bdf"):
        return []
    record_s, signals = _read_header(path)
    labels = [signal["label"] for signal in signals]
    others = why_no_contact(labels, ["eeg"] * len(labels))
    contacts = [signal for signal in signals if signal["label"] not in others]
    texts = []
    if signals and record_s is not None and record_s <= 0:
        texts.append(
            "the header gives data records a duration of 0 s, so times in this file are a guess"
        )
    for kind in ("physical", "digital"):
        if empty := sum(_is_empty(signal, kind) for signal in contacts):
            texts.append(
                f"the header gives {empty} contacts an empty {kind} range, so their voltage is "
                "unknown"
            )
    texts += _rates(contacts, record_s)
    return [Note(text, "header-implausible") for text in texts]


def _read_header(path: Path) -> tuple[float | None, list[dict[str, str]]]:
    """Seconds of a data record, and the fields of each signal as text."""
    with path.open("rb") as file:
        fixed = file.read(_FIXED).decode("latin-1")
        count = int(as_number(fixed[252:256]) or 0)
        if not 0 < count <= _MOST_SIGNALS:
            return None, []
        text = file.read(count * _SIGNAL).decode("latin-1")
    signals: list[dict[str, str]] = [{} for _ in range(count)]
    start = 0
    for name, width in _FIELDS:
        for signal in signals:
            signal[name] = text[start : start + width].strip()
            start += width
    return as_number(fixed[244:252]), signals


def _is_empty(signal: dict[str, str], kind: str) -> bool:
    """Whether a range is empty, so that values cannot be converted to a voltage."""
    low, high = (as_number(signal[f"{kind}_{end}"]) for end in ("min", "max"))
    return low is not None and low == high


def _rates(contacts: list[dict[str, str]], record_s: float | None) -> list[str]:
    """A note on contacts at lower rates than others, which MNE interpolates."""
    counts = Counter(signal["samples"] for signal in contacts)
    if len(counts) < 2 or not record_s or record_s < 0:
        return []
    rates = {n / record_s: k for text, k in counts.items() if (n := as_number(text))}
    highest = max(rates)
    slower = sum(k for rate, k in rates.items() if rate < highest)
    return [
        f"{slower} contacts are sampled at lower rates (down to {min(rates):g} Hz) than the others "
        f"({highest:g} Hz) and were interpolated, so they lack high frequencies"
    ]
