"""The evidence of a contact in sentences for a neurophysiologist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epilens.core.types import Bools, Floats
from epilens.localization.certainty import top_share
from epilens.localization.feature_words import CLINICAL, FAR_SD
from epilens.localization.sources import Scores
from epilens.localization.timing import CLEAR_SD, SUSTAINED, Timing
from epilens.networks.predictor import Explanation

VIEW_WORDS = {
    "abs": "its level",
    "delta": "its change",
    "z_delta": "its change relative to its own variability",
    "log_ratio": "its ratio to its baseline",
    "mean": "its mean level",
    "rest": "its level at rest",
    "level": "its size",
    "early": "its change in the first seconds",
    "middle": "its change after 5 to 15 s",
    "late": "its change after 15 to 30 s",
    "change": "its change relative to its own variability",
    "waves": "how it varies over 12 s blocks, as a ratio",
    "swells": "how it varies over 12 s blocks",
    "largest": "its largest 12 s block",
    "highest": "its highest 12 s block, as a ratio",
    "restless": "how it varies from window to window",
    "peak": "its highest window",
    "begins": "how early it rises",
    "std": "how much it varies during the seizure",
    "max": "its highest 12 s window",
}
"""Views of the networks, terms of a lens, and summaries of contact features."""
VISIBLE = 0.01
"""Scores that differ by less look the same."""
MOST, MANY = 3, 6
"""Deviations that are listed for one contact, and seizures that are listed one by one."""
PHRASES = {
    "mean": ("is higher than in other contacts", "is lower than in other contacts"),
    "std": (
        "varies more during the seizure than in other contacts",
        "varies less during the seizure than in other contacts",
    ),
    "max": ("reaches higher values than in other contacts", "stays lower than in other contacts"),
}
"""What a summary over windows says where it is above, and where below the average contact."""
LOCATIONS = ("in this contact", "in neighbouring contacts", "on its electrode")
"""Of `contact_table.PLACES`."""
LEAST_PUSH, SHARE = 0.005, 0.25
"""Contributions below are not listed; a location with this fraction of one is named."""
TOWARDS, AWAY = 3, 2
"""Features that are listed for and against EZ."""


def describe_contacts(
    scores: Scores, timing: Timing, shown: Bools, why: Explanation | None, k: int
) -> tuple[tuple[str, ...], ...]:
    """Sentences about each contact: deviations, what moves its score, agreement.

    shown : (S, C), which seizures show the contact.
    """
    per_seizure = scores.per_seizure
    share = top_share(per_seizure, shown, k)
    explained = {} if why is None else {int(c): i for i, c in enumerate(why.contacts)}
    sentences = []
    for c in range(shown.shape[1]):
        i = explained.get(c)
        descriptors = why is not None and not why.words
        weight = why.by_feature[i].sum(axis=0) if why and descriptors and i is not None else None
        lines = describe_deviations(c, timing, shown, weight)
        if why is not None and i is not None:
            lines += describe_score(i, why, timing.middle_s, timing.words)
        member_sd = None if scores.member_sd is None else float(scores.member_sd[c])
        lines += describe_agreement(float(share[c]), k, int(shown[:, c].sum()), member_sd)
        if why is not None:
            lines += describe_joint_score(
                1 - float(scores.p_nez[c]), 1 - per_seizure[shown[:, c], c]
            )
        sentences.append(tuple(lines))
    return tuple(sentences)


def describe_deviations(
    c: int, timing: Timing, shown: Bools, importance: Floats | None = None
) -> list[str]:
    """Sentences about the deviations of one contact, the most important first.

    shown : (S, C), which seizures show the contact. importance : (D,), contributions to the score.
    """
    seizures = int(shown[:, c].sum())
    count = timing.deviates[:, c].sum(axis=0)  # (D,)
    if not count.any():
        many = "the seizure" if seizures == 1 else f"any of its {seizures} seizures"
        return [
            f"Nothing changes clearly from its own baseline in {many} ({CLEAR_SD:g} SD for "
            f"{SUSTAINED} windows in a row would be clear)."
        ]
    size = [
        _median(np.abs(timing.strength[:, c, d]), timing.deviates[:, c, d])
        for d in range(len(timing.words))
    ]
    weight = count * np.array(size) if importance is None else importance
    order = sorted(np.flatnonzero(count), key=lambda d: -weight[d])
    # Deviations that lower the score are listed only if none raises it.
    order = [d for d in order if weight[d] > 0][:MOST] or order[:1]
    return [_sentence(int(d), c, timing, shown) for d in order]


def _sentence(d: int, c: int, timing: Timing, shown: Bools) -> str:
    """What one descriptor does; seizures in which it rises and falls are listed separately."""
    name, total = timing.words[d], int(shown[:, c].sum())
    deviates, rises = timing.deviates[:, c, d], timing.strength[:, c, d] > 0
    moves = [(sign, deviates & (rises == sign)) for sign in (True, False)]
    moves = [(sign, seizures) for sign, seizures in moves if seizures.any()]
    if len(moves) == 1:
        sign, seizures = moves[0]
        text = f"{_move(sign, seizures, d, c, timing)}{_lead(d, c, timing)}, in "
        text += f"{int(deviates.sum())} of {total} {'seizure' if total == 1 else 'seizures'}."
    else:
        text = " and ".join(
            f"{_move(sign, seizures, d, c, timing)} in {_seizures(seizures)}"
            for sign, seizures in sorted(moves, key=lambda move: int(move[1].argmax()))
        )
        text += f": its {total} seizures differ."
    return f"{name[0].upper()}{name[1:]} {text}"


def _move(rises: bool, seizures: Bools, d: int, c: int, timing: Timing) -> str:
    """How far and when, medians over seizures that go the same way."""
    size = abs(_median(timing.strength[:, c, d], seizures))
    moves, side = ("rises", "above") if rises else ("falls", "below")
    at_s = when(_median(timing.at_s[:, c, d], seizures))
    if size > FAR_SD:
        return f"{moves} far {side} its own baseline (more than {FAR_SD} SD) {at_s}"
    return f"{moves} {size:.1f} SD {side} its own baseline {at_s}"


def when(at_s: float) -> str:
    """A time from onset in whole seconds; there is no second minus zero."""
    return f"at {round(at_s):+d} s" if round(at_s) else "at onset"


def _seizures(which: Bools) -> str:
    """`seizure 2`, or `seizures 1, 3 and 4`."""
    numbers = [str(s + 1) for s in np.flatnonzero(which)]
    if len(numbers) == 1:
        return f"seizure {numbers[0]}"
    return f"seizures {', '.join(numbers[:-1])} and {numbers[-1]}"


def _lead(d: int, c: int, timing: Timing) -> str:
    """How long before or after the median contact that deviates too, in the same seizures."""
    leads = []
    for s in np.flatnonzero(timing.deviates[:, c, d]):
        others = timing.deviates[s, :, d].copy()
        others[c] = False
        if others.sum() >= 2:
            leads.append(float(np.median(timing.at_s[s, others, d]) - timing.at_s[s, c, d]))
    if not leads:
        return ""
    lead = float(np.median(leads))
    if abs(lead) < 1:
        return ", with the median contact"
    return f", {abs(lead):.0f} s {'before' if lead > 0 else 'after'} the median contact"


def _median(values: Floats, where: Bools) -> float:
    return float(np.median(values[where])) if where.any() else 0.0


def describe_score(
    position: int, why: Explanation, middle_s: Floats, words: Sequence[str]
) -> list[str]:
    """What moves the score of one explained contact towards and away from EZ.

    words : names of the descriptors for people.
    """
    features = why.by_feature[position]  # (view, descriptor)
    change = why.score[position] - why.baseline[position]
    lines = [
        f"With {why.average}, this contact would score {why.baseline[position]:.2f}. Its own "
        f"evidence moves the score by {signed(change)} to {why.score[position]:.2f}."
    ]
    if why.by_window.shape[1] > 1:
        lines.append(_by_seizure(why.by_seizure[position], float(why.together[position])))
    if why.words:
        return lines + describe_features(position, why)
    towards, away = (_named(words, why.views, features, sign) for sign in (1, -1))
    if towards:
        lines.append(f"Towards EZ: {towards}{_most_in(why, position, middle_s)}.")
    if away:
        lines.append(f"Away from EZ: {away}.")
    return lines


def signed(value: float) -> str:
    """A contribution with its sign; there is no minus zero."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def _by_seizure(parts: Floats, together: float) -> str:
    text = ", ".join(f"{signed(part)} from seizure {s + 1}" for s, part in enumerate(parts[:MANY]))
    if len(parts) > MANY:
        text += f", {signed(float(parts[MANY:].sum()))} from the other {len(parts) - MANY}"
    if abs(together) >= VISIBLE:
        text += f", {signed(together)} only when they are scored together"
    return f"Contributions of the seizures: {text}."


def _named(words: Sequence[str], views: Sequence[str], features: Floats, sign: int) -> str:
    """The descriptors that push most in one direction, with the view that does most of it."""
    by_descriptor = features.sum(axis=0)
    order = [d for d in np.argsort(-sign * by_descriptor) if sign * by_descriptor[d] > LEAST_PUSH][
        :2
    ]
    phrases = []
    for d in order:
        view = views[int(np.argmax(sign * features[:, d]))]
        phrases.append(f"{words[d]} ({signed(by_descriptor[d])}, mostly {VIEW_WORDS[view]})")
    return ", ".join(phrases)


def _most_in(why: Explanation, position: int, middle_s: Floats) -> str:
    """The seizure and the time in which most of it happens, unless it is always present."""
    by_window, steady = why.by_window[position], float(why.steady[position].sum())
    change = float(why.by_seizure[position].sum())
    if change <= 0:
        return ""
    if by_window.sum() <= steady:
        return "; mostly present before onset as well"
    seizure = int(by_window.sum(axis=1).argmax())
    # A window alone is noise; five in a row are a stretch of time.
    smooth = np.convolve(by_window[seizure], np.ones(5), mode="same")
    around = float(middle_s[seizure, int(smooth.argmax())])
    place = f"around {round(around):+d} s" if round(around) else "around onset"
    return f"; most of it {place}" + (f" in seizure {seizure + 1}" if len(by_window) > 1 else "")


def describe_features(position: int, why: Explanation) -> list[str]:
    """Sentences on one explained contact: by location, then features for and against EZ."""
    assert why.located is not None
    own, near, electrode = why.located[position].sum(axis=(1, 2))
    lines = [
        f"Contributions by place: {signed(own)} from its own activity, {signed(near)} from "
        f"neighbouring contacts, {signed(electrode)} from its electrode."
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
    order = [m for m in np.argsort(-size) if size[m] > LEAST_PUSH][:most]
    return [
        _phrase(
            f"{CLINICAL.get(why.words[m], why.words[m])}{{}} ({signed(sign * size[m])})",
            PHRASES[why.views[strongest[m]]],
            pushes[:, strongest[m], m],
            why.values[position, :, strongest[m], m],
        )
        for m in order
    ]


def _phrase(frame: str, words: tuple[str, str], pushes: Floats, values: Floats) -> str:
    """One feature: where it counts, the strongest place first, and how it differs there.

    pushes, values : (place,), contributions in the direction, and what is there.
    """
    place = int(pushes.argmax())
    said = words[0] if values[place] > 0 else words[1]
    also = [
        LOCATIONS[other]
        for other in range(len(pushes))
        if other != place and pushes[other] > SHARE * pushes.sum()
    ]
    where = f" {' and '.join((LOCATIONS[place], *also))}" if place or also else ""
    return frame.format(f"{where} {said}")


def describe_agreement(share: float, k: int, seizures: int, member_sd: float | None) -> list[str]:
    """How seizures and members agree on one contact.

    share : fraction of its seizures, each alone, in which it is among the top k.
    """
    lines = []
    if seizures > 1:
        n = round(share * seizures)
        lines.append(
            f"If each seizure is scored alone, this contact is among the top {k} in {n} of "
            f"{seizures} seizures."
        )
    if member_sd is not None:
        lines.append(f"The members of the model differ by {member_sd:.2f} (SD) in its score.")
    return lines


def describe_joint_score(joint: float, alone: Floats) -> list[str]:
    """A sentence if the score of all seizures is outside the range of those of each alone.

    alone : EZ scores of the seizures that show the contact.
    """
    if len(alone) < 2 or alone.min() - VISIBLE <= joint <= alone.max() + VISIBLE:
        return []
    side = "above" if joint > alone.max() else "below"
    parts = ", ".join(f"{score:.2f}" for score in alone[:6]) + (", …" if len(alone) > 6 else "")
    return [
        f"All seizures together score {joint:.2f}, {side} each of them alone ({parts}): the model "
        "also reads how they differ, and no single seizure supports this score alone."
    ]
