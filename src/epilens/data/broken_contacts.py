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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from epilens.data.audit import AuditRow, Note
from epilens.data.channel_measures import Floats, Stretch, is_far, measure_stretch, relative_log
from epilens.data.contacts import meant_channels
from epilens.plan import QualityPlan

if TYPE_CHECKING:
    from epilens.data.recording import Recording

_PIECE_S = 2.0
_MOSTLY = 0.75
"""Fraction of the pieces in which a contact must be unlike the others."""
FLAT, STUCK, LARGE, SMALL, ROUGH = 0.2, 0.5, 10.0, 30.0, 6.0
"""Limits: constant and stuck fraction of an interval; times the median contact."""
DOUBTFUL = 0.6
"""Fraction of the limit of the size from which on a contact is used, but noted."""
MAINS = 0.95
"""Fraction of the power before onset, where the median contact has less than half of it."""
WHITE = 1.2
"""Steps between samples relative to the size, from which on a signal is almost white (√2)."""
LARGE_WHITE, WHITE_HZ = 3.0, 400.0
"""Limit of its size, and the rate below which fast activity of a seizure is almost white, too."""
INCOMPLETE = 0.75
"""Fraction of an interval in which samples are missing."""
IMPOSSIBLE_UV = 1e6
"""No electrode has a potential of one volt."""


@dataclass(frozen=True)
class Defect:
    """Why the signal of a contact cannot be trusted."""

    name: str
    """A few words, such as `flat before onset`."""
    amount: str


def check_contacts(
    recording: Recording, plan: QualityPlan, keep: Collection[str] = ()
) -> tuple[list[bool], dict[str, AuditRow]]:
    """Which contacts of a recording can be trusted, and a row for every other one by its name.

    keep : contacts that the user keeps; what is wrong with them is only noted.
    """
    signal = recording.signal
    if recording.missing is not None:
        signal = np.where(recording.missing, np.float32(np.nan), signal)
    onset = round(-recording.start_s * recording.fs)
    broken = find_broken(signal, recording.fs, onset, plan)
    kept, rows = meant_channels(keep, recording.channels), {}
    trusted = [True] * len(recording.channels)
    doubtful = find_doubtful(signal[:, : max(onset, 0)], recording.fs, plan)
    for i, defect in sorted((doubtful | broken).items()):
        name = recording.channels[i]
        trusted[i] = name in kept or i not in broken
        effect = "noted" if trusted[i] else "excluded"
        text = f"signal is {{found}} ({defect.amount})"
        if i in broken:
            text += "; kept by the user" if trusted[i] else "; not used in this seizure"
        note = Note(text, "channel-quality", found=defect.name)
        who = (recording.patient, recording.run, name)
        rows[name] = AuditRow.of("channel", note, who, effect)
    return trusted, rows


def find_broken(
    signal: NDArray[np.float32], fs: float, onset: int, plan: QualityPlan
) -> dict[int, Defect]:
    """Contacts that cannot be trusted, by their index; the first reason of each.

    Parameters
    ----------
    signal : array, (channel, time)
        In µV; NaN where a sample is missing.
    fs : float
        Sampling rate in Hz.
    onset : int
        Sample of the onset.
    plan : QualityPlan
        What is constant.
    """
    middle = min(max(onset, 0), signal.shape[1])
    broken: dict[int, Defect] = {}
    for when, part in (("before", signal[:, :middle]), ("after", signal[:, middle:])):
        if pieces := _pieces(part, fs, plan):
            checks = _incomplete(pieces) + _constant(pieces)
            checks += _unlike_others(pieces) if when == "before" else _white_noise(pieces, fs)
            for check in checks:
                for i in np.flatnonzero(check.fails):
                    amount = check.words.format(check.amounts[i])
                    broken.setdefault(int(i), Defect(f"{check.name} {when} onset", amount))
    return broken


def find_doubtful(
    before_onset: NDArray[np.float32], fs: float, plan: QualityPlan
) -> dict[int, Defect]:
    """Contacts that are almost as large as noise before onset, by their index.

    They are used: a limit that excludes must not hide those close to it.
    """
    pieces = _pieces(before_onset, fs, plan)
    if not pieces:
        return {}
    large = np.quantile(_relative(pieces, "size"), 1 - _MOSTLY, axis=0)
    dead = np.mean([piece.flat for piece in pieces], axis=0) >= FLAT
    doubtful = ~dead & (large > np.log(DOUBTFUL * LARGE)) & is_far(large, dead)
    text = "{:.1f} times the size of the median contact"
    return {
        int(i): Defect("very large before onset", text.format(np.exp(large[i])))
        for i in np.flatnonzero(doubtful)
    }


def _pieces(part: NDArray[np.float32], fs: float, plan: QualityPlan) -> list[Stretch]:
    length = round(_PIECE_S * fs)
    starts = range(0, part.shape[1] - length + 1, length)
    return [measure_stretch(part[:, start : start + length], fs, plan) for start in starts]


@dataclass(frozen=True)
class _Check:
    name: str
    fails: NDArray[np.bool_]
    amounts: Floats
    words: str


def _incomplete(pieces: list[Stretch]) -> list[_Check]:
    """Contacts that miss samples which other contacts have."""
    missing = np.mean([piece.missing for piece in pieces], axis=0)
    fails = (missing >= INCOMPLETE) & (missing.min() < INCOMPLETE)
    return [_Check("incomplete", fails, missing, "{:.0%} of its samples are missing")]


def _white_noise(pieces: list[Stretch], fs: float) -> list[_Check]:
    """Contacts that show almost white noise, larger than the signal of the others."""
    if fs < WHITE_HZ:
        return []
    large = np.quantile(_relative(pieces, "size"), 1 - _MOSTLY, axis=0)
    rough = np.quantile([piece.rough for piece in pieces], 1 - _MOSTLY, axis=0)
    dead = np.mean([piece.flat for piece in pieces], axis=0) >= FLAT
    noise = ~dead & (large > np.log(LARGE_WHITE)) & is_far(large, dead) & (rough > WHITE)
    return [_Check("noise", noise, np.exp(large), "{:.0f} times the size of the median contact")]


def _constant(pieces: list[Stretch]) -> list[_Check]:
    """Contacts without a signal; a piece in which all contacts are flat is a gap of the file."""
    flat = np.array([piece.flat & (piece.missing == 0) for piece in pieces])
    gap = flat.all(axis=1) if not flat.all() else np.zeros(len(flat), bool)
    flat = flat[~gap].mean(axis=0)
    stuck = np.mean([piece.stuck for piece in pieces], axis=0)
    size = _relative(pieces, "size")
    small, dead = np.quantile(size, _MOSTLY, axis=0), flat >= FLAT
    tiny = ~dead & (small < -np.log(SMALL)) & is_far(-small, dead)
    return [
        _Check("flat", dead, flat, "constant for {:.0%} of the time"),
        _Check("clipped", stuck >= STUCK, stuck, "at its extremes for {:.0%} of the time"),
        _Check("almost flat", tiny, np.exp(-small), "{:.0f} times smaller than the median contact"),
    ]


def _unlike_others(pieces: list[Stretch]) -> list[_Check]:
    """Contacts that show noise: much larger or rougher than the others, or mains alone."""
    size, rough = (_relative(pieces, name) for name in ("size", "rough"))
    large, rougher = (np.quantile(logs, 1 - _MOSTLY, axis=0) for logs in (size, rough))
    dead = np.mean([piece.flat for piece in pieces], axis=0) >= FLAT
    mains = np.quantile([piece.mains for piece in pieces], 1 - _MOSTLY, axis=0)
    hums = (mains > MAINS) & (np.median(mains[~dead]) < 0.5 if not dead.all() else False)
    too_large = ~dead & (large > np.log(LARGE)) & is_far(large, dead)
    too_rough = ~dead & (rougher > np.log(ROUGH)) & is_far(rougher, dead)
    return [
        _Check("noise", too_large, np.exp(large), "{:.0f} times the size of the median contact"),
        _Check("fast noise", too_rough, np.exp(rougher), "{:.0f} times that of the median contact"),
        _Check("mains", ~dead & hums, mains, "mains are {:.0%} of its power"),
    ]


def _relative(pieces: list[Stretch], name: str) -> Floats:
    return np.array([relative_log(getattr(piece, name), piece.flat) for piece in pieces])


def repair_impossible(
    signal: NDArray[np.float32],
) -> tuple[NDArray[np.float32], dict[int, int]]:
    """The signal with samples of more than a volt interpolated, and how many of which channel.

    Nothing is replaced if the median channel is that large: then its unit is wrong.
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
