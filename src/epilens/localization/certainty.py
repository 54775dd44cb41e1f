"""How certain the scores of one patient are: calibration, agreement of the seizures, abstention.

A model has learned its certainty from its training cohort (`epilens.evaluation.certainty`).
Training-free methods and imported checkpoints have no such information; the page states that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import xarray as xr

from epilens.core.types import Bools, Floats
from epilens.data.channels.contacts import Contact, contact_of
from epilens.evaluation.certainty import Certainty, CoveringSet
from epilens.evaluation.novelty import CohortDistance
from epilens.evidence.cube import is_reference
from epilens.evidence.signals import signal_of
from epilens.localization.compare import spearman
from epilens.localization.feature_words import FAR_SD, describe_deviation
from epilens.localization.prepare import Evidence
from epilens.localization.run_metadata import SeizureFacts, overlapping
from epilens.localization.sources import Scores, Source

FEW_REFERENCE = 10
"""Below this many pre-onset windows in the median contact, mean and SD are unreliable."""
FEW_CONTACTS = 8
USUAL_UV = (2.0, 1000.0)
"""Standard deviations of intracranial signals between 1 and 150 Hz; a wrong unit lies outside."""
_REASONS = 3
"""Reasons for excluded channels that a sentence names; the list of channels has all."""
_SIGNS = {"L": -1, "R": 1}
_SIDED, _LEAST_SIDED, _MIDDLE_MM = 0.8, 4, 5.0
"""Fraction of electrodes with a side in the name, and of contacts on the other side; least number
of contacts; contacts closer to the midline do not count."""


@dataclass(frozen=True)
class Caution:
    """Something to know before reading on; `abstain` marks the whole result."""

    level: Literal["abstain", "caution", "note"]
    text: str


def most_severe_first(*cautions: Caution) -> list[Caution]:
    """Sort cautions by level: abstentions, cautions, notes; otherwise they keep their order."""
    return sorted(cautions, key=lambda caution: ("abstain", "caution", "note").index(caution.level))


@dataclass(frozen=True)
class PatientCertainty:
    """How certain the scores are; None or empty where that is unknown."""

    probability: Floats | None
    """Calibrated P(EZ), (C,)."""
    sets: tuple[tuple[CoveringSet, Bools], ...]
    """Sets that should contain a stated fraction of the EZ, and which contacts are in them (C,)."""
    distances: tuple[CohortDistance, ...]
    agreement: float | None
    """Mean rank correlation of the seizures."""
    cautions: tuple[Caution, ...]

    @property
    def abstains(self) -> bool:
        """Whether no decision should be read from the scores."""
        return any(caution.level == "abstain" for caution in self.cautions)


def assess(
    evidence: Evidence, source: Source, scores: Scores, others: Sequence[Source] = ()
) -> PatientCertainty:
    """Certainty of the scores of a patient; `others` are only compared."""
    cube, p_nez, certainty = evidence.cube, scores.p_nez, source.certainty
    overlaps = overlapping(evidence.seizures)
    agreement = seizure_agreement(scores.per_seizure, evidence.shown, overlaps)
    distances: tuple[CohortDistance, ...] = ()
    if certainty is not None:
        distances = certainty.distances(cube, p_nez, source.threshold or 0.0)
    texts = [
        *evidence.data_cautions,
        *(text for s in (source, *others) for text in s.cautions(cube)),
    ]
    if evidence.left_out:
        texts.insert(0, f"{describe_used(evidence)}. The list of seizures gives the reasons.")
    return PatientCertainty(
        probability=None if certainty is None else certainty.calibration.probability(p_nez),
        sets=tuple((s, s.contains(p_nez)) for s in (() if certainty is None else certainty.sets)),
        distances=distances,
        agreement=agreement,
        cautions=(
            *cautions_of(cube, distances, agreement),
            *_overlaps(evidence.seizures, overlaps),
            *_training_seizures(cube, certainty),
            *_odd_amplitudes(evidence),
            *_swapped_sides(evidence.channels, evidence.positions_mm),
            *(Caution("caution", text) for text in texts),
            *(Caution("note", text) for text in (*_notes(evidence), *source.notes())),
        ),
    )


def cautions_of(
    cube: xr.Dataset, distances: Sequence[CohortDistance], agreement: float | None
) -> Iterator[Caution]:
    """Cautions from the patient's own evidence, most severe first."""
    yield from (_far_from_cohort(unlike, cube) for unlike in distances if unlike.is_unusual)
    windows = (cube["valid"] & is_reference(cube)).sum("window").values
    usual = float(np.median(windows[windows > 0]))
    if usual < FEW_REFERENCE:
        yield Caution(
            "abstain",
            f"The baseline is too short: the median contact has {usual:g} windows before onset, "
            f"{FEW_REFERENCE} are needed. Changes from such a short baseline are unreliable.",
        )
    if cube.sizes["seizure"] == 1:
        yield Caution("caution", "Only one seizure: agreement between seizures is unknown.")
    if (contacts := cube.sizes["channel"]) < FEW_CONTACTS:
        text = f"Only {contacts} contacts: scores are relative to the patient's other contacts."
        yield Caution("caution", text)
    if agreement is not None and agreement < 0.3:
        text = f"The seizures disagree: mean rank correlation {agreement:.2f}."
        yield Caution("caution", text)
    covered = cube["high_gamma_covered"].values if "high_gamma_covered" in cube.coords else None
    if covered is not None and covered.min() < 1:
        yield Caution(
            "note",
            f"High gamma (80-150 Hz) is covered to {100 * covered.min():.0f} % in "
            f"{(covered < 1).sum()} of {len(covered)} seizures, because of their sampling rate.",
        )


def _far_from_cohort(distance: CohortDistance, cube: xr.Dataset) -> Caution:
    descriptors = [str(name) for name in cube["descriptor"].values]
    words = dict(zip(descriptors, cube["words"].values, strict=True)) if "words" in cube else {}
    reasons = "; ".join(
        f"{describe_deviation(name, z > 0, words)} ({_size(z)})" for name, z in distance.farthest
    )
    verb = "is" if distance.what == "evidence" else "are"
    return Caution(
        "abstain",
        f"The {distance.what} of this patient {verb} unlike the training cohort: distance "
        f"from training patients {distance.distance:.2f} (limit {distance.limit:.2f}). "
        f"Compared with the training patients: {reasons}.",
    )


def _size(z: float) -> str:
    return f"{abs(z):.1f} SD" if abs(z) <= FAR_SD else f"more than {FAR_SD} SD"


def _training_seizures(cube: xr.Dataset, certainty: Certainty | None) -> Iterator[Caution]:
    """Seizures that the model was trained on, or a note that this is unknown."""
    if certainty is None or (count := certainty.recognised(cube)) == 0:
        return
    if certainty.summary == "features":
        if cube.attrs.get("simulated"):
            return
        text = "If this is a patient of OpenNeuro ds003029, the model may have been trained on it: "
        yield Caution("note", text + "this cannot be checked.")
    elif count is None:
        text = "It is unknown whether the model was trained on these seizures: the model is older "
        yield Caution("note", text + "than this check. Train it again to enable the check.")
    else:
        text = f"{count} of {cube.sizes['seizure']} seizures are in the model's training cohort: "
        yield Caution("caution", text + "the scores are too optimistic.")


def _swapped_sides(
    channels: Sequence[str], positions_mm: Sequence[tuple[float, ...] | None]
) -> Iterator[Caution]:
    """Positions that contradict the sides in the names of almost all electrodes.

    Names state sides only if almost all of them begin with L or R.
    """
    sides = [(contact_of(name) or Contact("", 0)).shaft[:1].upper() for name in channels]
    shafts = {contact.shaft.upper() for name in channels if (contact := contact_of(name))}
    sided = sum(shaft[:1] in _SIGNS for shaft in shafts)
    agree = [
        at[0] * _SIGNS[side] > 0
        for side, at in zip(sides, positions_mm, strict=True)
        if side in _SIGNS and at is not None and abs(at[0]) > _MIDDLE_MM
    ]
    is_stated = sided >= _SIDED * len(shafts) and len(agree) >= _LEAST_SIDED
    if is_stated and np.mean(agree) < 1 - _SIDED:
        yield Caution(
            "caution",
            "The positions are on the other side than the names say (L: left, R: right). Left and "
            "right may be exchanged in the table of electrodes: check it before you use a region.",
        )


def _odd_amplitudes(evidence: Evidence) -> Iterator[Caution]:
    """Recordings so small or large that their unit is likely wrong."""
    if evidence.signals is None:
        return
    low, high = USUAL_UV
    for s, shown in enumerate(evidence.shown):
        usual = float(np.median(signal_of(evidence.signals, s)[shown].std(axis=1)))
        if not low <= usual <= high:
            text = f"Seizure {s + 1} has a typical amplitude of {_rounded(usual)} µV (SD of its "
            text += f"median contact), where {low:g} to {high:g} µV are typical. Check its unit."
            yield Caution("caution", text)


def _rounded(value: float) -> str:
    """Two digits of a small value; three of a large one, without an exponent.

    Examples
    --------
    >>> _rounded(1034.2), _rounded(0.0312)
    ('1030', '0.031')
    """
    return f"{float(f'{value:.2g}'):g}" if value < 100 else f"{float(f'{value:.3g}'):.0f}"


def _notes(evidence: Evidence) -> Iterator[str]:
    """What was excluded or is missing, without making the scores less certain."""
    cube = evidence.cube
    if dropped := len(evidence.dropped):
        many = "1 channel is" if dropped == 1 else f"{dropped} channels are"
        reasons = Counter(row.why for row in evidence.dropped).most_common()
        listed = [f"{count} ({why})" for why, count in reasons[:_REASONS]]
        if others := sum(count for _, count in reasons[_REASONS:]):
            listed.append(f"{others} for other reasons")
        text = f"{many} excluded: {', '.join(listed)}."
        yield f"{text} Check that no usable contact is among them."
    if "has_position" in cube and not cube["has_position"].values.all():
        placed = f"{int(cube['has_position'].sum())} of {cube.sizes['channel']} contacts"
        yield f"{placed} have a position; the others are in the panel Electrodes only."


def describe_used(evidence: Evidence) -> str:
    """How many of the seizures were used."""
    used = evidence.cube.sizes["seizure"]
    return f"{used} of {used + len(evidence.left_out)} seizures used"


def _overlaps(
    seizures: Sequence[SeizureFacts], pairs: Collection[tuple[int, int]]
) -> Iterator[Caution]:
    for a, b in pairs:
        at = f"{seizures[a].onset_s:.1f} and {seizures[b].onset_s:.1f} s"
        yield Caution(
            "caution",
            f"Seizures {a + 1} and {b + 1} overlap in one recording (onsets at {at}): what is "
            "analysed of one is part of the other. Their agreement does not count.",
        )


def seizure_agreement(
    per_seizure: Floats, shown: Bools, overlaps: Collection[tuple[int, int]] = ()
) -> float | None:
    """Mean Spearman correlation between the scores of two seizures, over contacts in both.

    Pairs of seizures that overlap in one recording do not count. None where no two seizures share
    three contacts whose scores differ.
    """
    correlations = [
        spearman(per_seizure[a, both], per_seizure[b, both])
        for a, b in combinations(range(len(per_seizure)), 2)
        if (a, b) not in overlaps and (both := shown[a] & shown[b]).sum() >= 3
    ]
    varied = [correlation for correlation in correlations if correlation is not None]
    return float(np.mean(varied)) if varied else None


def top_share(per_seizure: Floats, shown: Bools, k: int) -> Floats:
    """Share of its seizures in which a contact is among the k lowest p_nez (C,); ties count."""
    p_nez = np.where(shown, per_seizure, np.inf)
    lower = (p_nez[:, None, :] < p_nez[:, :, None]).sum(axis=2)  # (S, C)
    return (shown & (lower < k)).sum(axis=0) / np.maximum(shown.sum(axis=0), 1)
