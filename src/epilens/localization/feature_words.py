"""What moves the score of a contact by its features, in clinical words and by location."""

from __future__ import annotations

import numpy as np

from epilens.core.types import Floats
from epilens.networks.explanation import Explanation

PHRASES = {
    "mean": ("is higher than in other contacts", "is lower than in other contacts"),
    "std": (
        "varies more during the seizure than in other contacts",
        "varies less during the seizure than in other contacts",
    ),
    "max": ("reaches higher values than in other contacts", "stays lower than in other contacts"),
}
"""What a summary over windows says where it is above, and where below the average contact."""
LOCATIONS = ("", "on neighbouring contacts", "on its electrode")
"""Of `contact_table.PLACES`."""
VISIBLE, SHARE = 0.005, 0.25
"""Contributions below are not listed; a location with this fraction of one is named."""
TOWARDS, AWAY = 3, 2
"""Features that are listed for and against EZ."""


def describe_features(position: int, why: Explanation) -> list[str]:
    """Sentences on one explained contact: by location, then features for and against EZ."""
    assert why.located is not None
    own, near, electrode = why.located[position].sum(axis=(1, 2))
    lines = [
        f"By location: {_signed(own)} by its own activity, {_signed(near)} by neighbouring "
        f"contacts, {_signed(electrode)} by its electrode."
    ]
    for title, sign, most in (("Towards EZ", 1, TOWARDS), ("Away from EZ", -1, AWAY)):
        if phrases := _phrases(position, why, sign, most):
            lines.append(f"{title}: {'; '.join(phrases)}.")
    return lines


def _phrases(position: int, why: Explanation, sign: int, most: int) -> list[str]:
    """The measures that push most in one direction, each by its strongest summary."""
    assert why.located is not None
    assert why.values is not None
    pushes = sign * why.located[position]  # (place, summary, measure)
    totals = pushes.sum(axis=0)
    strongest = totals.argmax(axis=0)
    size = totals.max(axis=0)
    order = [m for m in np.argsort(-size) if size[m] > VISIBLE][:most]
    return [
        _phrase(
            f"{why.words[m]} {{}} ({_signed(sign * size[m])})",
            PHRASES[why.views[strongest[m]]],
            pushes[:, strongest[m], m],
            why.values[position, :, strongest[m], m],
        )
        for m in order
    ]


def _phrase(frame: str, words: tuple[str, str], pushes: Floats, values: Floats) -> str:
    """One feature: where it is strongest, and where else.

    pushes, values : (place,), contributions in the direction, and what is there.
    """
    place = int(pushes.argmax())
    said = words[0] if values[place] > 0 else words[1]
    if place:
        said = f"{said}, {LOCATIONS[place]}"
    also = [
        LOCATIONS[other] or "in the contact itself"
        for other in range(len(pushes))
        if other != place and pushes[other] > SHARE * pushes.sum()
    ]
    return frame.format(said + (f", also {' and '.join(also)}" if also else ""))


def _signed(value: float) -> str:
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text
