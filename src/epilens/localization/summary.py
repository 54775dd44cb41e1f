"""The three sentences that come first: what was found, how certain it is, what to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epilens.data.channels.contacts import contact_of, short_names

if TYPE_CHECKING:
    from epilens.localization.result import Localization

NAMED = 5
"""Contacts that the first sentence names."""
WELL, PARTLY = 0.7, 0.3
"""Mean rank correlations from which seizures agree well, and partly."""
LIKELY = 0.5


def summarize(localized: Localization) -> tuple[str, str, str]:
    """What was found, how certain it is, and what to look at first."""
    return (_finding(localized), _certainty(localized), _next_step(localized))


def _finding(localized: Localization) -> str:
    flagged = localized.decisions.count("EZ")
    contacts = localized.order[: flagged or NAMED].tolist()
    start = "The contacts most similar to the epileptogenic zone (EZ) are"
    if flagged:
        verb = "is" if flagged == 1 else "are"
        start = f"{flagged} of {len(localized)} contacts {verb} flagged as possibly in the "
        start += "epileptogenic zone (EZ):"
    elif localized.certainty.abstains:
        start = "EpiLENS abstains and flags no contact; the first of the ranking are"
    elif localized.source.threshold is not None:
        start = "No contact is above the threshold; the first of the ranking are"
    return f"{start} {_named(localized, contacts)}{_electrode(localized, contacts)}."


def _named(localized: Localization, contacts: Sequence[int]) -> str:
    """Short names of contacts, and how many others there are."""
    short = short_names(localized.channels)
    names = [short[c] for c in contacts[:NAMED]]
    if len(contacts) > NAMED:
        names.append(f"{len(contacts) - NAMED} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _electrode(localized: Localization, contacts: Sequence[int]) -> str:
    """The electrode that most of several contacts are on, as a clause; empty if there is none."""
    parts = [contact_of(localized.channels[c]) for c in contacts]
    (shaft, count), *_ = Counter(part.shaft if part else None for part in parts).most_common(1)
    if shaft is None or len(contacts) < 2 or count <= len(contacts) / 2:
        return ""
    every = "both" if len(contacts) == 2 else "all"
    return f", {every if count == len(contacts) else 'most'} on electrode {shaft}"


def _certainty(localized: Localization) -> str:
    certainty, seizures = localized.certainty, _agreement(localized)
    if certainty.abstains:
        reason = "the recording before onset is too short"
        if any(distance.is_unusual for distance in certainty.distances):
            reason = "the patient is too unlike the training patients"
        return f"The scores support no decision, because {reason}."
    if certainty.probability is None:
        kind = "model" if localized.source.is_model else "method"
        return f"The {kind} gives no probabilities, and {seizures}."
    best = int(certainty.probability.argmax())
    name, highest = short_names(localized.channels)[best], certainty.probability[best]
    percent = f"{100 * highest:.0f} %"
    if highest < LIKELY:
        start = "No contact is more likely in the EZ than not"
        return f"{start} (highest probability: {name}, {percent}), and {seizures}."
    return f"{name} has the highest probability of being in the EZ, {percent}, and {seizures}."


def _agreement(localized: Localization) -> str:
    count, correlation = len(localized.seizures), localized.certainty.agreement
    if count == 1:
        return "only one seizure was analysed"
    if correlation is None:
        return f"whether the {count} seizures agree is unknown"
    level = "agree well" if correlation >= WELL else "agree partly"
    level = "disagree" if correlation < PARTLY else level
    return f"the {count} seizures {level} (mean rank correlation {correlation:.2f})"


def _next_step(localized: Localization) -> str:
    names = _named(localized, localized.order[:3].tolist())
    if (count := localized.questioned_onsets) > 0:
        onsets = "the onset of a seizure" if count == 1 else f"the onsets of {count} seizures"
        return f"First check {onsets} (see the cautions), then look at the traces of {names}."
    if localized.is_implausible:
        return (
            "First read why this ranking may be wrong, then look at the traces of "
            f"{names} and of the first contacts of the other rankings."
        )
    return f"Look first at the traces of {names}{_rise(localized)}."


def _rise(localized: Localization) -> str:
    """When the earliest of the first three contacts clearly rises; empty if none does."""
    median_s, count = localized.timing.median_s()
    rising = [c for c in localized.order[:3].tolist() if count[c] > 0]
    if not rising:
        return "; none of them rises clearly above its own baseline"
    first = min(rising, key=lambda c: median_s[c])
    at = round(float(median_s[first]))
    when = f"{abs(at)} s {'after' if at > 0 else 'before'} onset" if at else "at onset"
    return f"; {short_names(localized.channels)[first]} rises above its own baseline {when}"
