"""One name for every contact of a patient whose recordings spell it differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from epilens.data.audit import AuditRow, noted_row
from epilens.data.channels.contacts import Contact, contacts_of_channel, short_names
from epilens.data.electrodes.positions import Positions

if TYPE_CHECKING:
    from epilens.data.recording import Recording

_EXAMPLES = 3

_Key = tuple[Contact, ...]


class NameMatcher:
    """Renames contacts to the first spelling that a recording of the patient had.

    `RB 1` and `EEG RB 01-Ref` are contact 1 of electrode RB. Names that two channels of one
    recording share (`a1` and `A1`) are matched by their exact spelling only.
    """

    def __init__(self) -> None:
        self._names: dict[str, dict[_Key, str]] = {}
        self._first: dict[str, str] = {}

    def match(self, recording: Recording, rows: list[AuditRow]) -> Recording:
        """The recording with the names of earlier recordings; adds a row about renamed contacts."""
        first = self._first.setdefault(recording.patient, recording.run)
        names = self._names.setdefault(recording.patient, {})
        keys = _unique_keys(recording.channels)
        renamed = {
            name: names[key]
            for name, key in keys.items()
            if name not in names.values() and names.get(key, name) not in recording.channels
        }
        new = [name for name, key in keys.items() if first != recording.run and key not in names]
        names.update({key: name for name, key in keys.items() if key not in names})
        if not renamed:
            return recording
        rows.append(
            noted_row("run", _sentence(renamed, new, first), "names-matched", recording.who)
        )
        return _rename(recording, renamed)


def _unique_keys(channels: Sequence[str]) -> dict[str, _Key]:
    """Electrode and number of every channel, without those that two channels share."""
    keys = {name: contacts_of_channel(name) for name in channels}
    times = Counter(keys.values())
    return {name: key for name, key in keys.items() if key and times[key] == 1}


def _sentence(renamed: dict[str, str], new: Sequence[str], first: str) -> str:
    pairs = [f"{old} as {name}" for old, name in list(renamed.items())[:_EXAMPLES]]
    many = "1 contact is" if len(renamed) == 1 else f"{len(renamed)} contacts are"
    text = f"{many} spelled differently than in {first}; matched by electrode and number "
    text += f"({', '.join(pairs)}{', …' if len(renamed) > _EXAMPLES else ''})"
    if new:
        names = ", ".join(short_names(list(new))[:_EXAMPLES])
        text += f"; {len(new)} have no match ({names}{', …' if len(new) > _EXAMPLES else ''})"
    return text


def _rename(recording: Recording, renamed: dict[str, str]) -> Recording:
    mm = {renamed.get(name, name): at for name, at in recording.positions.mm.items()}
    return replace(
        recording,
        channels=tuple(renamed.get(name, name) for name in recording.channels),
        positions=Positions(mm, recording.positions.space),
    )
