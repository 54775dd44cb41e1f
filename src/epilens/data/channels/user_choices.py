"""Channels that the user excludes, with a reason, or keeps whatever the checks say."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from epilens.core.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from epilens.data.bids_scan import Patient

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, get_args

from epilens.data.audit import AuditRow, Note, known_word
from epilens.data.channels.contacts import meant_channels, short_names

Exclusions = Collection[str] | Mapping[str, str]
"""Channels to exclude; a mapping also says why."""
OTHER = "other reason"
Choice = Literal["by eye", "artifact", "disconnected", "outside the brain", "other reason"]
CHOICES: tuple[str, ...] = get_args(Choice)
"""Reasons that a reviewer can choose."""
_EXCLUDED = "excluded by the user"
_WORDS = {choice: choice for choice in CHOICES} | {
    "flat": "flat",
    "clipped": "clipped",
    "missing": "missing samples",
    "mains": "mains noise",
    "large": "unusually large",
    "small": "unusually small",
    "rough": "fast noise",
}
"""Words for the reasons of a review; any other text could name a person."""


def with_reasons(exclude: Exclusions) -> Mapping[str, str]:
    """Excluded channels with their reasons, which are empty if the user gave none."""
    return exclude if isinstance(exclude, Mapping) else dict.fromkeys(exclude, "")


def exclusion(reason: str) -> Note:
    """The reason why the user excluded a channel, in our own words.

    Examples
    --------
    >>> str(exclusion("")), str(exclusion("Mains")), str(exclusion("ask Anna"))[24:]
    ('was excluded by the user', 'was excluded by the user (mains noise)', ' (other reason)')
    """
    if not reason.strip():
        return Note(f"was {_EXCLUDED}", "channel-excluded")
    word = _WORDS[known_word(reason, _WORDS, OTHER)]
    return Note(f"was {_EXCLUDED} ({{found}})", "channel-excluded", found=word)


def excluded_channels(exclude: Mapping[str, str], channels: Sequence[str]) -> dict[str, Note]:
    """The reason for each channel that the user excludes by its name, full or short."""
    return {
        channel: exclusion(reason)
        for name, reason in exclude.items()
        for channel in meant_channels([name], channels)
    }


def list_exclusions(rows: Iterable[AuditRow]) -> list[str]:
    """A line for each reason, with the channels that the user excluded for it.

    Examples
    --------
    >>> list_exclusions([AuditRow.of("channel", exclusion("artifact"), ("sub-1", "run-1", "A1"))])
    ['excluded by the user (artifact): A1']
    """
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.code == "channel-excluded":
            why = _EXCLUDED + (f" ({row.found})" if row.found else "")
            by_reason.setdefault(why, []).append(row.channel)
    return [f"{why}: {', '.join(short_names(names))}" for why, names in by_reason.items()]


_NO_CONTACT = ("channel-not-implanted", "channel-type", "channel-excluded", "channel-bad")


def list_not_kept(keep: Iterable[str], rows: Iterable[AuditRow]) -> list[str]:
    """A line for each channel that the user keeps and that is excluded, but not by its signal.

    Examples
    --------
    >>> ecg = Note("is not an iEEG channel by its type or name", "channel-not-implanted")
    >>> list_not_kept(["ecg", "A1"], [AuditRow.of("channel", ecg, ("sub-1", "run-1", "ECG"))])
    ['ECG is not kept: it is not an iEEG channel by its type or name.']
    """
    why = {row.channel: row.why for row in rows if row.code in _NO_CONTACT}
    kept = meant_channels(keep, list(why))
    return [f"{name} is not kept: it {why[name]}." for name in why if name in kept]


def kept_of(patient: str, keep: Iterable[str]) -> tuple[str, ...]:
    """Names of a patient's contacts among the entries `PATIENT:CHANNEL` that the user keeps.

    Examples
    --------
    >>> kept_of("sub-01", ["sub-01:RA5", "02:RB1", "01:RB2"])
    ('RA5', 'RB2')
    """
    entries = (entry.partition(":") for entry in keep)
    return tuple(name.strip() for who, _, name in entries if _code(who) == _code(patient))


def _code(who: str) -> str:
    return who.strip().removeprefix("sub-")


def check_kept(keep: Collection[str], patients: Iterable[Patient]) -> None:
    """Refuse an entry whose patient or channel does not exist."""
    channels = {_code(patient.name): patient.channels for patient in patients}
    for entry in keep:
        who, colon, name = entry.partition(":")
        if not colon or not name.strip():
            raise DataError(f"--keep: expected PATIENT:CHANNEL such as 01:RA5, found {entry!r}.")
        if _code(who) not in channels:
            hint = did_you_mean(_code(who), channels)
            raise DataError(f"--keep: expected a patient of the dataset, found {who!r}. {hint}")
        check_meant("--keep", [name], channels[_code(who)], who)


def check_meant(
    option: str, names: Iterable[str], channels: Sequence[str], whose: str = "the recordings"
) -> None:
    """Refuse a name that no channel has, because the user expects an effect."""
    for name in names:
        if not meant_channels([name], channels):
            by_capitals = {channel.upper(): channel for channel in channels}
            close = get_close_matches(name.upper(), sorted(by_capitals), n=1)
            hint = f"Did you mean {by_capitals[close[0]]!r}?" if close else ""
            raise DataError(
                f"{option}: expected a channel of {whose}, found {name!r}. "
                + (hint or f"Names are like {channels[0]!r}.")
            )
