"""Contacts that the user keeps although the checks of their signal exclude them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from epilens.core.errors import DataError, did_you_mean
from epilens.data.contacts import meant_channels

if TYPE_CHECKING:
    from epilens.data.scan import Patient


def kept_of(patient: str, keep: Iterable[str]) -> tuple[str, ...]:
    """Names of a patient's contacts among entries `PATIENT:CHANNEL`.

    Examples
    --------
    >>> kept_of("sub-01", ["sub-01:RA5", "02:RB1", "01:RB2"])
    ('RA5', 'RB2')
    """
    entries = (entry.partition(":") for entry in keep)
    own = patient.removeprefix("sub-")
    return tuple(name.strip() for who, _, name in entries if _code(who) == own)


def _code(who: str) -> str:
    return who.strip().removeprefix("sub-")


def check_kept(keep: Collection[str], patients: Iterable[Patient]) -> None:
    """Refuse an entry whose patient or channel does not exist: it was meant to change something."""
    channels = {patient.name.removeprefix("sub-"): patient.channels for patient in patients}
    for entry in keep:
        who, colon, name = entry.partition(":")
        if not colon or not name.strip():
            raise DataError(f"--keep: expected PATIENT:CHANNEL such as 01:RA5, found {entry!r}.")
        if _code(who) not in channels:
            hint = did_you_mean(_code(who), channels)
            raise DataError(f"--keep: expected a patient of the dataset, found {who!r}. {hint}")
        if not meant_channels([name], channels[_code(who)]):
            hint = did_you_mean(name, channels[_code(who)])
            raise DataError(f"--keep: expected a channel of {who}, found {name!r}. {hint}")
