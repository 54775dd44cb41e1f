"""Whether the given onsets agree with the signal: proposed onsets, and activity before onset.

The limits were chosen on 49 simulated seizures of cohort 0, whose true onset is known. On the same
seizures a caution appears in 4 % with the true onset, in all with one that is 6 s early, and in
98 % with one that is 6 s late. On 15 seizures of cohort 1, which chose nothing, it appears in 7 %
(1 seizure), 87 % and 80 %; with 10 s, in 93 % and all (`python -m benchmarks onset_check tiny`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epilens.data.channels.contacts import short_names
from epilens.data.onsets.finder import OnsetCandidate
from epilens.data.onsets.texts import CLINICAL, UNCERTAIN
from epilens.evidence.descriptors import rows_of
from epilens.localization.certainty import Caution
from epilens.localization.onset_search import FAR_S, LEAST_SURE, SURE, is_near
from epilens.localization.prepare import Evidence
from epilens.localization.run_metadata import SeizureFacts
from epilens.localization.timing import Timing

LATE_S = 8.0
"""The first quarter of the contacts that change should do so before this."""
PRECEDES_SD, PRECEDES_S = 5.0, 3.0
"""Activity precedes the onset if a contact stays above the first from the second before it on."""
FEW = 0.1
"""Below this fraction of the contacts, hardly any changes; one in ten makes a proposed onset."""
MANY = 0.25
"""If this fraction of the contacts changes, a proposed onset far away is of another seizure."""


def question_onsets(evidence: Evidence, timing: Timing) -> tuple[Caution, ...]:
    """A caution for every seizure whose onset the signal questions."""
    cautions = []
    for s, facts in enumerate(evidence.seizures):
        sentences = [
            *_weak_annotation(facts),
            *_disagreement(evidence, timing, s, facts),
            *_preceding(evidence, timing, s),
        ]
        if sentences:
            text = f"Check the onset of seizure {s + 1}. {' '.join(sentences)}"
            cautions.append(Caution("caution", text))
    return tuple(cautions)


def _weak_annotation(facts: SeizureFacts) -> list[str]:
    """A sentence if the annotation questions the onset, or is about what the patient did."""
    if facts.rule in UNCERTAIN:
        return ["Its annotation is uncertain."]
    if facts.rule == CLINICAL:
        return ["Its annotation is of the clinical onset; the signal can change earlier."]
    return []


def _disagreement(evidence: Evidence, timing: Timing, s: int, facts: SeizureFacts) -> list[str]:
    """Sentences if the proposed onsets, or the first changes of contacts, are far from it."""
    given_s = facts.onset_s
    if facts.name not in evidence.proposed or given_s is None:
        return []
    changes_s = timing.recruited_s[s][timing.recruited[s] & evidence.shown[s]]
    contacts = int(evidence.shown[s].sum())
    candidates = [c for c in evidence.proposed[facts.name] if c.sure >= LEAST_SURE]
    if len(changes_s) >= MANY * contacts:
        candidates = [c for c in candidates if _is_within(c, facts)]
    if candidates:
        nearest = _nearest(candidates, given_s)
        if abs(nearest.onset_s - given_s) > FAR_S:
            return [_suggestion(given_s, nearest.onset_s, f"certainty {nearest.sure:.2f}")]
    if not candidates and len(changes_s) < FEW * contacts:
        return [_no_change(given_s, len(changes_s), contacts)]
    if not len(changes_s):
        return []
    first_s = float(np.quantile(changes_s, 0.25))
    if first_s <= LATE_S:
        return []
    return [
        _suggestion(
            given_s, given_s + first_s, "where a quarter of the active contacts have changed"
        )
    ]


def _is_within(candidate: OnsetCandidate, facts: SeizureFacts) -> bool:
    """Whether a candidate is in the interval that was described."""
    first_s, last_s = facts.interval_s
    return first_s <= candidate.onset_s - (facts.onset_s or 0.0) <= last_s


def _nearest(candidates: Sequence[OnsetCandidate], given_s: float) -> OnsetCandidate:
    """The candidate at the given onset if there is one; else the nearest of the more certain."""
    near = [c for c in candidates if is_near(c, given_s)]
    sure = [c for c in candidates if c.sure >= SURE]
    return min(near or sure or candidates, key=lambda c: abs(c.onset_s - given_s))


def _no_change(given_s: float, changed: int, contacts: int) -> str:
    if not changed:
        return f"No contact changes around {given_s:.1f} s."
    verb = "changes" if changed == 1 else "change"
    return f"Only {changed} of {contacts} contacts {verb} around {given_s:.1f} s."


def _suggestion(given_s: float, suggested_s: float, basis: str) -> str:
    return (
        f"It is given at {given_s:.1f} s of the recording, but the signal suggests "
        f"{suggested_s:.1f} s ({basis}). Look at the traces; to use the suggested time, give "
        f"--onset {suggested_s:.1f} or mark it in the review."
    )


def _preceding(evidence: Evidence, timing: Timing, s: int) -> list[str]:
    """A sentence if a contact is active before the onset and until it."""
    since_s = active_since(timing, s, evidence.cube["descriptor"].values.tolist())
    early = np.flatnonzero((since_s <= -PRECEDES_S) & evidence.shown[s])
    if not len(early):
        return []
    order = early[np.argsort(since_s[early], kind="stable")]
    names = short_names(evidence.channels)
    others = f" and {len(order) - 3} more" if len(order) > 3 else ""
    return [
        f"Activity precedes the given onset by {-since_s[order[0]]:.0f} s in "
        f"{', '.join(names[c] for c in order[:3])}{others}."
    ]


def active_since(timing: Timing, s: int, descriptors: Sequence[str]) -> np.ndarray:
    """Seconds from onset since which fast activity of a contact is up at onset (C,); inf: not."""
    fast = [row.fast for row in rows_of(descriptors)]
    middle_s = timing.middle_s[s]
    windows = np.flatnonzero((middle_s >= -9.1) & (middle_s <= 1.0))
    if not len(windows) or not any(fast):
        return np.full(timing.z.shape[2], np.inf)
    up = (timing.z[s][windows][..., fast] >= PRECEDES_SD).any(axis=-1)  # (window, contact)
    # Windows in a row that are up, counted back from onset.
    in_row = np.cumprod(up[::-1], axis=0).sum(axis=0)
    first = windows[np.minimum(len(windows) - in_row, len(windows) - 1)]
    return np.where(in_row > 0, middle_s[first], np.inf)
