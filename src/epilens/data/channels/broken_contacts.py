"""Contacts whose signal cannot be trusted in one seizure: dead, disconnected, or only noise.

The reference and the ictal interval are checked separately: a contact that is dead before onset
and alive after it would otherwise change most of all. The limits are far stricter than those of
`suggest_channels`, because nobody looks at the signal before such a contact is excluded. Size and
noise are compared with the other contacts before onset: contacts that take part in a seizure become
large and fast, too. After onset, only what no tissue produces is noise: a signal as large that is
almost white.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.data.audit import AuditRow, excluded_row, noted_row
from epilens.data.channels.contacts import meant_channels
from epilens.data.channels.measures import (
    Floats,
    Stretch,
    Summary,
    is_beyond,
    measure_stretch,
    mostly_above,
)
from epilens.plan import QualityPlan

if TYPE_CHECKING:
    from epilens.data.recording import Recording

_PIECE_S = 2.0
FLAT, STUCK, LARGE, SMALL, ROUGH = 0.2, 0.5, 10.0, 30.0, 6.0
"""Limits: constant and clipped fraction of an interval; ratios to the median contact."""
DOUBTFUL = 0.6
"""From this fraction of the size limit, a contact is used but noted."""
MAINS = 0.95
"""Limit of the mains fraction of the power, if that of the median contact is below 0.5."""
WHITE = 1.2
"""Limit of the steps between samples relative to the size; white noise has √2."""
LARGE_WHITE, WHITE_HZ = 3.0, 400.0
"""Limit of the size of white noise, and least rate: below it, seizures look white too."""
INCOMPLETE = 0.75
"""Limit of the fraction of missing samples of an interval."""
IMPOSSIBLE_UV = 1e6
"""One volt, which no electrode has."""


def check_contacts(
    recording: Recording, plan: QualityPlan, keep: Collection[str] = ()
) -> tuple[list[bool], dict[str, AuditRow]]:
    """Whether each contact can be trusted, and audit rows about the others by name.

    keep : contacts that the user keeps, so that defects are only noted; `note_broken` of the plan
    keeps all.
    """
    signal, fs = recording.signal, recording.fs
    if recording.missing is not None:
        signal = np.where(recording.missing, np.float32(np.nan), signal)
    onset = min(max(round(-recording.start_s * fs), 0), signal.shape[1])
    before, after = (_pieces(part, fs, plan) for part in (signal[:, :onset], signal[:, onset:]))
    broken = _broken(before, after, fs)
    kept, rows = meant_channels(keep, recording.channels), {}
    trusted = [True] * len(recording.channels)
    for i, (defect, amount) in sorted((_doubtful(before) | broken).items()):
        name = recording.channels[i]
        trusted[i] = i not in broken or plan.note_broken or name in kept
        text = f"signal is {{found}} ({amount})"
        if i in broken:
            who = "plan" if plan.note_broken else "user"
            text += f"; kept by the {who}" if trusted[i] else "; not used in this seizure"
        row = noted_row if trusted[i] else excluded_row
        rows[name] = row("channel", text, "channel-quality", (*recording.who, name), defect)
    return trusted, rows


def _pieces(part: NDArray[np.float32], fs: float, plan: QualityPlan) -> list[Stretch]:
    """Measures of consecutive pieces of a signal (channel, time) in µV, NaN if missing."""
    length = round(_PIECE_S * fs)
    starts = range(0, part.shape[1] - length + 1, length)
    return [measure_stretch(part[:, start : start + length], fs, plan) for start in starts]


_Defects = dict[int, tuple[str, str]]
"""Defect (`flat before onset`) and its amount in words, by the index of a contact."""


def _broken(before: list[Stretch], after: list[Stretch], fs: float) -> _Defects:
    """Contacts that cannot be trusted before or after onset, with their first defect."""
    broken: _Defects = {}
    for when, pieces in (("before", before), ("after", after)):
        if not pieces:
            continue
        summary = Summary.of(pieces)
        checks = _incomplete(summary) + _constant(pieces, summary)
        checks += _unlike_others(summary) if when == "before" else _white_noise(pieces, summary, fs)
        for name, fails, amounts, words in checks:
            for i in np.flatnonzero(fails):
                broken.setdefault(int(i), (f"{name} {when} onset", words.format(amounts[i])))
    return broken


def _doubtful(before: list[Stretch]) -> _Defects:
    """Contacts that are almost as large as noise before onset; they are used, but noted."""
    if not before:
        return {}
    summary = Summary.of(before)
    doubtful = is_beyond(summary.large, DOUBTFUL * LARGE, summary.flat >= FLAT)
    text = "{:.1f} times the size of the median contact"
    return {
        int(i): ("very large before onset", text.format(np.exp(summary.large[i])))
        for i in np.flatnonzero(doubtful)
    }


_Check = tuple[str, NDArray[np.bool_], Floats, str]
"""Name of a defect, which contacts have it, its amount, and a text for the amount."""


def _incomplete(summary: Summary) -> list[_Check]:
    """Check for missing samples that other contacts have."""
    fails = (summary.missing >= INCOMPLETE) & (summary.missing.min() < INCOMPLETE)
    return [("incomplete", fails, summary.missing, "{:.0%} of its samples are missing")]


def _white_noise(pieces: list[Stretch], summary: Summary, fs: float) -> list[_Check]:
    """Check for almost white noise that is larger than the signal of the others."""
    if fs < WHITE_HZ:
        return []
    white = mostly_above([piece.rough for piece in pieces]) > WHITE
    noise = is_beyond(summary.large, LARGE_WHITE, summary.flat >= FLAT) & white
    return [("noise", noise, np.exp(summary.large), "{:.0f} times the size of the median contact")]


def _constant(pieces: list[Stretch], summary: Summary) -> list[_Check]:
    """Check for contacts without a signal; pieces in which all are flat do not count."""
    flat = np.array([piece.flat & (piece.missing == 0) for piece in pieces])
    gap = flat.all(axis=1) if not flat.all() else np.zeros(len(flat), bool)
    flat = flat[~gap].mean(axis=0)
    dead, times_smaller, clipped = flat >= FLAT, np.exp(-summary.small), summary.stuck
    tiny = is_beyond(-summary.small, SMALL, dead)
    return [
        ("flat", dead, flat, "constant for {:.0%} of the time"),
        ("clipped", clipped >= STUCK, clipped, "at its extremes for {:.0%} of the time"),
        ("almost flat", tiny, times_smaller, "{:.0f} times smaller than the median contact"),
    ]


def _unlike_others(summary: Summary) -> list[_Check]:
    """Check for noise: a signal much larger or rougher than the others, or only mains."""
    dead = summary.flat >= FLAT
    large, rough = is_beyond(summary.large, LARGE, dead), is_beyond(summary.rough, ROUGH, dead)
    usual = np.median(summary.mains[~dead]) if not dead.all() else 1.0
    hums = ~dead & (summary.mains > MAINS) & (usual < 0.5)
    return [
        ("noise", large, np.exp(summary.large), "{:.0f} times the size of the median contact"),
        ("fast noise", rough, np.exp(summary.rough), "{:.0f} times that of the median contact"),
        ("mains", hums, summary.mains, "mains are {:.0%} of its power"),
    ]


def repair_impossible(
    signal: NDArray[np.float32],
) -> tuple[NDArray[np.float32], dict[int, int]]:
    """Interpolate samples of more than a volt; also returns their number by channel index.

    If the median channel is that large, the unit is wrong and nothing is replaced.
    """
    if not signal.size or np.abs(signal).max() <= IMPOSSIBLE_UV:
        return signal, {}
    limit = max(IMPOSSIBLE_UV, 1e3 * float(np.median(np.median(np.abs(signal), axis=1))))
    signal, replaced = signal.copy(), {}
    for i in np.flatnonzero(np.abs(signal).max(axis=1) > limit):
        row = signal[i]
        wrong = np.abs(row - np.median(row)) > limit
        if 0 < wrong.sum() < len(row):
            at = np.arange(len(row))
            row[wrong] = np.interp(at[wrong], at[~wrong], row[~wrong])
            replaced[int(i)] = int(wrong.sum())
    return signal, replaced
