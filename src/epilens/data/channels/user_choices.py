"""Channels that the user excludes, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, get_args

from epilens.data.audit import Note, known_word
from epilens.data.channels.contacts import meant_channels, short_names

Exclusions = Collection[str] | Mapping[str, str]
"""Channels to exclude; a mapping also says why."""
OTHER = "other reason"
Choice = Literal["by eye", "artifact", "disconnected", "outside the brain", "other reason"]
CHOICES: tuple[str, ...] = get_args(Choice)
"""Reasons that a reviewer can choose."""
_EXCLUDED = "was excluded by the user"
_WORDS = {choice: choice for choice in CHOICES} | {
    "flat": "flat",
    "clipped": "clipped",
    "missing": "missing samples",
    "mains": "mains noise",
    "large": "unusually large",
    "small": "unusually small",
    "rough": "fast noise",
}
"""What outputs say of a reason of a table: those of a review. Another text may contain a name."""


def with_reasons(exclude: Exclusions) -> Mapping[str, str]:
    """Excluded channels and reasons; empty where none was given."""
    return exclude if isinstance(exclude, Mapping) else dict.fromkeys(exclude, "")


def exclusion(reason: str) -> Note:
    """Why the user excluded a channel, in words of our own.

    Examples
    --------
    >>> str(exclusion("")), str(exclusion("Mains")), str(exclusion("ask Anna"))[24:]
    ('was excluded by the user', 'was excluded by the user (mains noise)', ' (other reason)')
    """
    word = known_word(reason, _WORDS, OTHER) if reason.strip() else ""
    return Note(_EXCLUDED + (f" ({_WORDS[word]})" if word else ""), "channel-excluded")


def excluded_channels(exclude: Mapping[str, str], channels: Sequence[str]) -> dict[str, Note]:
    """Channels that the user excludes, by names as they are written or said, and why."""
    return {
        channel: exclusion(reason)
        for name, reason in exclude.items()
        for channel in meant_channels([name], channels)
    }


def list_exclusions(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the channels that the user excluded for it.

    Examples
    --------
    >>> list_exclusions([("A1", str(exclusion("artifact"))), ("ECG", "type is ECG")])
    ['excluded by the user (artifact): A1']
    """
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons:
        if why.startswith(_EXCLUDED):
            by_reason.setdefault(why.removeprefix("was "), []).append(name)
    return [f"{why}: {', '.join(short_names(names))}" for why, names in by_reason.items()]
